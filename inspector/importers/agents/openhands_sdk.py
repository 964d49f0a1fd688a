"""Conversations of OpenHands from version 1 on: of its command line, its SDK and its server.

A conversation is a folder: `base_state.json` with its facts, and beside it `events/event-00000-ID.json`, one event a
file. The state is written when a run begins, and again when it ends: `folder_beside` says that its events belong to it.
`openhands --headless --json` writes the same events as lines. An answer is the `ActionEvent`s that follow each
other with one `llm_response_id`, each with a call as the model wrote it, also one that OpenHands rejected; an
`AgentErrorEvent` is the rejection. Source: `openhands.sdk.event` (1.21).
"""

from collections.abc import Iterator
from pathlib import Path

from weaklink.inspector.apis.openai.messages import call_object
from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, failure, ids_of, within_memory
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row, read_rows
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.json_text import list_of, object_of
from weaklink.inspector.model import Outcome, Trace

_NAME = "openhands-sdk"
_NOTES = ("the source stores neither the schemas of the tools, usage per answer, finish reasons nor chunks",)
_STATE = frozenset({"id", "agent", "execution_status", "workspace"})
_SOURCES = frozenset({"agent", "user", "environment", "hook"})
_KINDS = ("Event", "Observation", "Condensation", "CondensationRequest")
_ENDS = {"finished": True, "error": False, "stuck": False}
_FACTS = maps.Facts(title="title", model="agent.llm.model", folder="workspace.working_dir")


def _is_state(row: JsonObject) -> bool:
    return row.keys() >= _STATE


def _is_event(row: JsonObject) -> bool:
    is_known = text_of(row, "kind").endswith(_KINDS) and text_of(row, "source") in _SOURCES
    return is_known and {"id", "timestamp"} <= row.keys()


def _conversation(file: SourceFile) -> Iterator[Trace | Skipped]:
    """The conversation whose state or whose events the file has; its events are in memory at once, within a bound."""
    if file.content is None and file.path.match("events/event-*.json") and _state_of(file.path).is_file():
        yield Skipped("file", "it is read with the state of its conversation", is_irrelevant=True)
        return
    session: AgentSession | None = None
    actions: list[JsonObject] = []
    turns_so_far: dict[str, int] = {}  # how many turns there are after an event, by its id
    for row in within_memory(_rows(file)):
        if isinstance(row, Skipped):
            yield row
            continue
        session = session or AgentSession(_NAME, ids_of(text_of(row.value, "id"), file), row.record, _NOTES)
        if _is_state(row.value):
            _FACTS(row.value, session)
            status = text_of(row.value, "execution_status")
            session.outcome = Outcome(_ENDS[status], status) if status in _ENDS else None
            continue
        if actions and not _is_of_answer(row.value, actions[-1]):
            _answer(actions, session)
            actions = []
        turns_so_far[text_of(row.value, "id")] = len(session.turns) + 1
        match text_of(row.value, "kind"):
            case "ActionEvent":
                actions.append(row.value)
            case "Condensation":
                forgotten = (turns_so_far.get(str(id_), 0) for id_ in list_of(row.value.get("forgotten_event_ids")))
                kept = len(session.turns) - max(forgotten, default=0)
                session.summary(text_of(row.value, "summary"), kept=kept)
            case kind:
                _take(kind, row.value, session)
    if session is not None:
        _answer(actions, session)
        yield session.trace()


def _state_of(event: Path) -> Path:
    return event.absolute().parent.parent / "base_state.json"


def _rows(file: SourceFile) -> Iterator[Row | Skipped]:
    """The rows of the file, and those of the events beside it if it is the state of a conversation."""
    is_state = False
    for row in read_rows(file):
        is_state = is_state or (isinstance(row, Row) and _is_state(row.value))
        yield row
    if is_state and file.content is None:
        for path in sorted((file.path.parent / "events").glob("event-*.json")):
            yield from read_rows(SourceFile(path))


def _is_of_answer(event: JsonObject, before: JsonObject) -> bool:
    return text_of(event, "kind") == "ActionEvent" and event.get("llm_response_id") == before.get("llm_response_id")


def _answer(actions: list[JsonObject], session: AgentSession) -> None:
    """Add the answer that these actions are; the first one has its words and thoughts."""
    if not actions:
        return
    calls = [object_of(action.get("tool_call")) for action in actions]
    session.answer(
        maps.words_at(actions[0], "thought[text].text"),
        calls=[call_object(call.get("name"), call.get("arguments"), call.get("id")) for call in calls],
        reasoning=maps.words_at(actions[0], "reasoning_content thinking_blocks[].thinking"),
        model=session.model,
        ended=actions[-1].get("timestamp"),
        response_id=text_of(actions[0], "llm_response_id"),
    )


def _take(kind: str, event: JsonObject, session: AgentSession) -> None:
    session.began(event.get("timestamp"))
    match kind:
        case "SystemPromptEvent":
            session.say("system", maps.words_at(event, "system_prompt.text"))
            session.say("system", maps.words_at(event, "dynamic_context.text"))
        case "MessageEvent":
            _message(event, session)
        case "ObservationEvent":
            observation = object_of(event.get("observation"))
            is_error = True if observation.get("is_error") is True else None
            _result(event, maps.words_at(observation, "content[text].text"), session, is_error=is_error)
        case "AgentErrorEvent":
            _result(event, text_of(event, "error"), session, is_error=True)
        case "UserRejectObservation":
            _result(event, f"Action rejected: {text_of(event, 'rejection_reason')}", session)
        case "ConversationErrorEvent":
            words = text_of(event, "detail") or text_of(event, "code")
            session.answer("", model=session.model, error=failure(words, code=text_of(event, "code")))


def _message(event: JsonObject, session: AgentSession) -> None:
    words = maps.words_at(event, "llm_message.content[text].text")
    if text_of(event, "source") == "agent":
        session.answer(
            words,
            reasoning=maps.words_at(event, "llm_message.reasoning_content llm_message.thinking_blocks[].thinking"),
            model=session.model,
            ended=event.get("timestamp"),
            response_id=text_of(event, "llm_response_id"),
        )
        return
    session.say("user", words, is_injected=text_of(event, "source") != "user")
    session.say("user", maps.words_at(event, "extended_content[text].text"), is_injected=True)


def _result(event: JsonObject, words: str, session: AgentSession, *, is_error: bool | None = None) -> None:
    call_id, name = text_of(event, "tool_call_id"), text_of(event, "tool_name")
    session.result(call_id, words, name=name, is_error=is_error, recorded=event)


OPENHANDS_SDK = LogSource(
    name=_NAME,
    signs="the state of a conversation of OpenHands, or its events with their `kind`",
    is_row=lambda row: _is_state(row) or _is_event(row),
    reader=_conversation,
)
"""The conversation of a file, with the events in the folder beside it."""
