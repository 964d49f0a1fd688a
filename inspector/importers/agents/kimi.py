"""Kimi CLI's sessions: `context.jsonl`, what the model sees, and `wire.jsonl`, what happened.

The context has the whole messages; the wire has times, usage and errors, and the arguments in the pieces in which they
came. Each file is a trace of its own; import one of them. Source: Kimi CLI's code, 1.49.
"""

from collections.abc import Iterator

from msgspec import Struct, structs

from weaklink.inspector.apis.openai.messages import call_objects
from weaklink.inspector.importers.agents.agent_session import AgentSession, failure, ids_of, texts
from weaklink.inspector.importers.agents.session_logs import SessionLogs
from weaklink.inspector.importers.generations import usage_of
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.importers.sqlite_tables import object_in_text
from weaklink.inspector.json_text import object_of, objects_of
from weaklink.inspector.model import GenerationError, Json, Trace

_NOTES = ("the source stores neither the model's name, the tools nor chunks",)
_NO_USAGE = "the context stores neither times nor usage; `wire.jsonl` beside it does"
_COMPACTED = "the agent replaced the beginning of the session by a summary, which is not in this file"
_ARRIVING = "the log ends within the arguments of a call, which is left out: the agent still writes it, or was killed"
_OWN_ROLES = ("_system_prompt", "_checkpoint", "_usage")
_ERROR = "<system>ERROR: "
_CHECKPOINT = "<system>CHECKPOINT "


def _begins(row: JsonObject) -> bool:
    """Whether a row is the first one of its file."""
    is_wire = row.get("type") == "metadata" and "protocol_version" in row
    return is_wire or text_of(row, "role") == "_system_prompt"


class _Step(Struct):
    """An answer of which pieces arrived on the wire, with the results that follow it in the trace."""

    words: str = ""
    thoughts: str = ""
    calls: list[JsonObject] = []
    results: list[JsonObject] = []
    usage: JsonObject = {}
    began: Json = None
    ended: Json = None


class _KimiLog:
    """A session, from the messages of the context or from the events of the wire."""

    def __init__(self, file: SourceFile, number: int) -> None:
        self._session = AgentSession("kimi", ids_of("", file, number), "line 1", _NOTES)
        self._step = _Step()

    def add(self, row: Row) -> None:
        self._session.record = row.record if _begins(row.value) else self._session.record
        message = object_of(row.value.get("message"))
        if "role" in row.value:
            self._session.notes[_NO_USAGE] = None
            _message(row.value, self._session)
        elif message.get("type") == "CompactionBegin":
            self._session.notes[_COMPACTED] = None
        else:
            self._take(text_of(message, "type"), object_of(message.get("payload")), row.value.get("timestamp"))

    def traces(self) -> Iterator[Trace | Skipped]:
        session, step = self._session.so_far(), structs.replace(self._step, calls=[*self._step.calls])
        arguments = text_of(step.calls[-1], "arguments") if step.calls else ""
        is_whole = not step.calls or step.usage or step.results
        if not is_whole and not object_in_text(arguments) and arguments.strip() != "{}":
            step.calls.pop()  # not malformed, but not there yet
            session.notes[_ARRIVING] = None
        _end(step, session)
        yield session.trace()

    def _take(self, event: str, payload: JsonObject, at: Json) -> None:
        step = self._step
        match event:
            case "TurnBegin" | "StepBegin":
                _end(step, self._session)
                self._step = _Step(began=at if event == "StepBegin" else None)
                if event == "TurnBegin":
                    self._session.began(at)
                    self._session.say("user", payload.get("user_input"))
            case "ContentPart":
                step.words += text_of(payload, "text")
                step.thoughts += text_of(payload, "think")
                step.ended = at
            case "ToolCall":
                step.calls.append({**object_of(payload.get("function")), "id": payload.get("id")})
                step.ended = at
            case "ToolCallPart" if step.calls:
                last = step.calls[-1]
                last["arguments"] = text_of(last, "arguments") + text_of(payload, "arguments_part")
                step.ended = at
            case "StatusUpdate":
                step.usage = object_of(payload.get("token_usage")) or step.usage
            case "ToolResult":
                step.results.append(payload)
            case "StepRetry":
                error = failure(text_of(payload, "error_type"), status=payload.get("status_code"))
                self._session.answer(None, started=step.began, ended=at, error=error)
            case "StepInterrupted":
                _end(step, self._session, failure("interrupted", code="aborted"))
                self._step = _Step()


def _message(row: JsonObject, session: AgentSession) -> None:
    content = row.get("content")
    words = texts(content, "text")
    match text_of(row, "role"):
        case "_system_prompt":
            session.say("system", words)
        case "user":
            session.say("user", content, is_injected=words.startswith(_CHECKPOINT))
        case "assistant":
            session.answer(words, reasoning=texts(content, "think"), calls=objects_of(row.get("tool_calls")))
        case "tool":
            session.result(text_of(row, "tool_call_id"), content, is_error=words.startswith(_ERROR))


def _end(step: _Step, session: AgentSession, error: GenerationError | None = None) -> None:
    """Add the answer, if anything of it arrived, and its results."""
    if step.words or step.thoughts or step.calls:
        usage = usage_of(step.usage, "input_other", "output", cached="input_cache_read")
        session.answer(
            step.words,
            reasoning=step.thoughts,
            calls=call_objects(step.calls),
            usage=usage,
            started=step.began,
            ended=step.ended,
            error=error,
        )
    for payload in step.results:
        value = object_of(payload.get("return_value"))
        failed = value.get("is_error") is True
        words = [text_of(value, "message"), texts(value.get("output"), "text")]
        content = "\n".join(filter(None, words if failed else words[::-1]))
        session.result(text_of(payload, "tool_call_id"), content, is_error=failed)


KIMI = LogSource(
    name="kimi",
    signs="rows with the role `_system_prompt` or `_checkpoint`, or a `protocol_version`",
    is_row=lambda row: text_of(row, "role") in _OWN_ROLES or _begins(row),
    reader=SessionLogs(_KimiLog, lambda row: _begins(row) or ""),
)
"""One trace per file."""
