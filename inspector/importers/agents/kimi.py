"""Kimi CLI's sessions: `context.jsonl`, what the model sees, and `wire.jsonl`, what happened.

The context has the whole messages; the wire has times, usage and errors, and the arguments in the pieces in which they
came. Each file is a trace of its own; import one of them. Source: Kimi CLI's code, 1.49.
"""

from collections.abc import Iterator

from msgspec import structs

from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, AnswerPieces, failure, ids_of
from weaklink.inspector.importers.agents.session_logs import SessionLogs
from weaklink.inspector.importers.generations import usage_of
from weaklink.inspector.importers.identity import text_at, text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row, json_within
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.json_text import member_at, object_of
from weaklink.inspector.model import Json, Trace

_NOTES = ("the source stores neither the model's name, the tools nor chunks",)
_NO_USAGE = "the context stores neither times nor usage; `wire.jsonl` beside it does"
_COMPACTED = "the agent replaced the beginning of the session by a summary, which is not in this file"
_ARRIVING = "the log ends within the arguments of a call, which is left out: the agent still writes it, or was killed"
_ANSWER = maps.Answer(
    content="content[].text", reasoning="content[].think", calls=lambda row: maps.objects_at(row, "tool_calls[]")
)
_OWN_ROLES = ("_system_prompt", "_checkpoint", "_usage")
_ERROR = "<system>ERROR: "
_CHECKPOINT = "<system>CHECKPOINT "


def _begins(row: JsonObject) -> bool:
    """Whether a row is the first one of its file."""
    return text_of(row, "role") == "_system_prompt" or (row.get("type") == "metadata" and "protocol_version" in row)


class _KimiLog:
    """A session, from the messages of the context or from the events of the wire."""

    def __init__(self, file: SourceFile, number: int) -> None:
        self._session = AgentSession("kimi", ids_of("", file, number), "line 1", _NOTES)
        self._pieces = AnswerPieces()

    def add(self, row: Row) -> None:
        session, pieces, at = self._session, self._pieces, row.value.get("timestamp")
        session.record = row.record if _begins(row.value) else session.record
        event, payload = text_at(row.value, "message.type"), object_of(member_at(row.value, "message.payload"))
        match event:
            case _ if "role" in row.value:
                session.notes[_NO_USAGE] = None
                _message(row.value, session)
            case "CompactionBegin":
                session.notes[_COMPACTED] = None
            case "TurnBegin" | "StepBegin" | "StepInterrupted":
                if event == "StepInterrupted":
                    pieces.error = failure("interrupted", code="aborted")
                session.answer_of_pieces(pieces)
                self._pieces = AnswerPieces(started=at if event == "StepBegin" else None)
                session.began(at)
                session.say("user", payload.get("user_input"))
            case "StepRetry":
                error = failure(text_of(payload, "error_type"), status=payload.get("status_code"))
                session.answer(None, started=pieces.started, ended=at, error=error)
            case _:
                _take_piece(event, payload, at, pieces)

    def traces(self) -> Iterator[Trace | Skipped]:
        session, pieces = self._session.so_far(), structs.replace(self._pieces, calls=[*self._pieces.calls])
        arguments = text_of(pieces.calls[-1], "arguments").strip() if pieces.calls else "{}"
        if not (pieces.usage or pieces.results or arguments == "{}" or object_of(json_within(arguments))):
            pieces.calls.pop()  # not malformed, but not there yet
            session.notes[_ARRIVING] = None
        session.answer_of_pieces(pieces)
        yield session.trace()


def _take_piece(event: str, payload: JsonObject, at: Json, pieces: AnswerPieces) -> None:
    pieces.ended = at if event in ("ContentPart", "ToolCall", "ToolCallPart") else pieces.ended
    match event:
        case "ContentPart":
            pieces.words += text_of(payload, "text")
            pieces.thoughts += text_of(payload, "think")
        case "ToolCall":
            pieces.calls.append({**object_of(payload.get("function")), "id": payload.get("id")})
        case "ToolCallPart" if pieces.calls:
            last = pieces.calls[-1]
            last["arguments"] = text_of(last, "arguments") + text_of(payload, "arguments_part")
        case "StatusUpdate" if counts := object_of(payload.get("token_usage")):
            pieces.usage = usage_of(counts, "input_other", "output", cached="input_cache_read")
        case "ToolResult":
            value = object_of(payload.get("return_value"))
            failed = value.get("is_error") is True
            words = [text_of(value, "message"), maps.words_at(value, "output[].text")]
            content = "\n".join(filter(None, words if failed else words[::-1]))
            pieces.add_result(text_of(payload, "tool_call_id"), content, is_error=failed)


def _message(row: JsonObject, session: AgentSession) -> None:
    content = row.get("content")
    words = maps.words_at(row, "content[].text")
    match text_of(row, "role"):
        case "_system_prompt":
            session.say("system", words)
        case "user":
            session.say("user", content, is_injected=words.startswith(_CHECKPOINT))
        case "assistant":
            _ANSWER(row, session)
        case "tool":
            session.result(text_of(row, "tool_call_id"), content, is_error=words.startswith(_ERROR))


KIMI = LogSource(
    name="kimi",
    signs="rows with the role `_system_prompt` or `_checkpoint`, or a `protocol_version`",
    is_row=lambda row: text_of(row, "role") in _OWN_ROLES or _begins(row),
    reader=SessionLogs(_KimiLog, lambda row: _begins(row) or ""),
)
"""One trace per file."""
