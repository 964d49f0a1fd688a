"""Kimi CLI's sessions: `context.jsonl`, what the model sees, and `wire.jsonl`, what happened.

The context has the whole messages; the wire has times, usage and errors, and the arguments in the pieces in which they
came. Each file is a trace of its own; import one of them. Source: Kimi CLI's code, 1.49.
"""

from collections.abc import Iterator
from itertools import count

from weaklink.inspector.apis.openai.messages import call_objects
from weaklink.inspector.importers.agents.agent_session import AgentSession, failure, ids_of, logs_of, texts
from weaklink.inspector.importers.generations import usage_of
from weaklink.inspector.importers.identity import text_at, text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.importers.sqlite_tables import object_in_text
from weaklink.inspector.json_text import object_of, objects_of
from weaklink.inspector.model import Json, Trace

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


class _Step:
    """An answer, while its pieces arrive on the wire; its results follow it in the trace."""

    def __init__(self, session: AgentSession) -> None:
        self._session = session
        self._begin()

    def _begin(self) -> None:
        self._words = self._thoughts = ""
        self._calls: list[JsonObject] = []
        self._results: list[JsonObject] = []
        self._usage: JsonObject = {}
        self._began: Json = None
        self._ended: Json = None

    def take(self, row: JsonObject) -> None:
        """Take a line of the wire."""
        message = object_of(row.get("message"))
        payload = object_of(message.get("payload"))
        at = row.get("timestamp")
        match text_of(message, "type"):
            case "TurnBegin":
                self.end()
                self._session.began(at)
                self._session.say("user", payload.get("user_input"))
            case "StepBegin":
                self.end()
                self._began = at
            case "ContentPart":
                self._words += text_of(payload, "text")
                self._thoughts += text_of(payload, "think")
                self._ended = at
            case "ToolCall":
                function = object_of(payload.get("function"))
                self._calls.append({**function, "id": payload.get("id")})
                self._ended = at
            case "ToolCallPart" if self._calls:
                last = self._calls[-1]
                last["arguments"] = text_of(last, "arguments") + text_of(payload, "arguments_part")
                self._ended = at
            case "StatusUpdate":
                self._usage = object_of(payload.get("token_usage")) or self._usage
            case "ToolResult":
                self._results.append(payload)
            case "StepRetry":
                error = failure(text_of(payload, "error_type"), status=payload.get("status_code"))
                self._session.answer(None, started=self._began, ended=at, error=error)
            case "StepInterrupted":
                self.end(is_interrupted=True)

    def drop_arriving_call(self) -> None:
        """Leave out the last call if the log ends within its arguments: it is not malformed, but not there yet."""
        arguments = text_of(self._calls[-1], "arguments") if self._calls else ""
        is_whole = not self._calls or self._usage or self._results
        if not is_whole and not object_in_text(arguments) and arguments.strip() != "{}":
            self._calls.pop()
            self._session.notes[_ARRIVING] = None

    def end(self, *, is_interrupted: bool = False) -> None:
        """Add the answer that was arriving, if there is one, and its results."""
        if self._words or self._thoughts or self._calls:
            self._session.answer(
                self._words,
                reasoning=self._thoughts,
                calls=call_objects(self._calls),
                usage=usage_of(self._usage, "input_other", "output", cached="input_cache_read"),
                started=self._began,
                ended=self._ended,
                error=failure("interrupted", code="aborted") if is_interrupted else None,
            )
        for payload in self._results:
            value = object_of(payload.get("return_value"))
            words = [text_of(value, "message"), texts(value.get("output"), "text")]
            self._session.result(
                text_of(payload, "tool_call_id"),
                "\n".join(filter(None, words if value.get("is_error") is True else words[::-1])),
                is_error=value.get("is_error") is True,
            )
        self._begin()


def _sessions(file: SourceFile) -> Iterator[Trace | Skipped]:
    """The session, from the context or from the wire; several if the user has joined files."""
    numbers = count(1)
    for log, rows in enumerate(logs_of(file, lambda row: str(next(numbers)) if _begins(row) else "")):
        session = AgentSession("kimi", ids_of("", file, log), "line 1", _NOTES)
        step = _Step(session)
        for row in rows:
            if isinstance(row, Skipped):
                yield row
                continue
            session.record = row.record if _begins(row.value) else session.record
            if "role" in row.value:
                session.notes[_NO_USAGE] = None
                _message(row.value, session)
            elif text_at(row.value, "message.type") == "CompactionBegin":
                session.notes[_COMPACTED] = None
            else:
                step.take(row.value)
        step.drop_arriving_call()
        step.end()
        yield session.trace()


KIMI = LogSource(
    name="kimi",
    signs="rows with the role `_system_prompt` or `_checkpoint`, or a `protocol_version`",
    is_row=lambda row: text_of(row, "role") in _OWN_ROLES or _begins(row),
    reader=_sessions,
)
"""One trace per file."""
