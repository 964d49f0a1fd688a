"""Continue's sessions, of the editors' extension and of its command line: one JSON object per file.

A call's result is in the state of the call; the extension writes it as a message too, which counts once. Source:
Continue's types, and a run of its command line 1.5.47.
"""

from functools import partial

from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, session_of_each_row
from weaklink.inspector.importers.generations import PARSED_ARGUMENTS, usage_of
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.json_text import object_of, objects_of

_NOTES = (PARSED_ARGUMENTS, "the source stores neither times, the system prompt, the tools nor chunks")
_ENDED = {"done": False, "errored": True, "canceled": True}
_UNTITLED = "Untitled Session"


def _session(value: JsonObject, record: str) -> AgentSession:
    session = AgentSession("continue", (("sessionId", text_of(value, "sessionId")),), record, _NOTES)
    title = text_of(value, "title")
    session.title = "" if title == _UNTITLED else title
    session.folder = text_of(value, "workspaceDirectory").removeprefix("file://")
    answered: set[str] = set()
    thought = ""
    for item in objects_of(value.get("history")):
        message = object_of(item.get("message"))
        match text_of(message, "role"):
            case "thinking":
                thought = maps.words_at(message, "content[].text")
            case "assistant":
                _answer(item, message, thought or text_of(object_of(item.get("reasoning")), "text"), session, answered)
                thought = ""
            case "tool":
                if (call_id := text_of(message, "toolCallId")) not in answered:
                    answered.add(call_id)
                    session.result(call_id, message.get("content"))
            case "user" | "system" as role:
                session.say(role, message.get("content"))
    return session


def _answer(item: JsonObject, message: JsonObject, reasoning: str, session: AgentSession, answered: set[str]) -> None:
    usage = object_of(message.get("usage"))
    is_snake = "prompt_tokens" in usage
    names = ("prompt_tokens", "completion_tokens") if is_snake else ("promptTokens", "completionTokens")
    session.answer(
        message.get("content"),
        reasoning=reasoning,
        calls=objects_of(message.get("toolCalls")),
        model=text_of(usage, "model") or text_of(next(iter(objects_of(item.get("promptLogs"))), {}), "modelTitle"),
        usage=usage_of(usage, *names),
    )
    for state in objects_of(item.get("toolCallStates")):
        failed = _ENDED.get(text_of(state, "status"))
        call_id = text_of(state, "toolCallId")
        if failed is None or call_id in answered:
            continue
        answered.add(call_id)
        name = text_of(object_of(object_of(state.get("toolCall")).get("function")), "name")
        words = maps.words_at(state, "output[].content output")
        session.result(call_id, words, name=name, is_error=failed, recorded=state)


CONTINUE = LogSource(
    name="continue",
    signs="a `sessionId` with a `history` and a `workspaceDirectory`",
    is_row=lambda row: {"sessionId", "history", "workspaceDirectory"} <= row.keys(),
    confidence=0.9,
    reader=partial(session_of_each_row, session=_session),
)
"""One trace per session."""
