"""Claude Code's output: `claude -p --output-format stream-json`, and `json`, as a program receives it.

Rows have a `type` and `session_id`: `system` (`init` names the model and the tools), `assistant` and `user` as in a
session's file, `result` at the end. With `--include-partial-messages` the rows `stream_event` contain Anthropic's own
events: the answer is then decoded from these, with its chunks and the raw text of its calls, even if it is incomplete.
Rows with a `parent_tool_use_id` belong to a sub-agent, which is a separate session.
"""

from collections.abc import Iterator

from msgspec import structs

from weaklink.inspector.apis.anthropic.messages import MessagesReader
from weaklink.inspector.importers.agents import claude_code
from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, SessionIds, rows_of
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.json_text import compact_json, list_of
from weaklink.inspector.model import (
    Json,
    Outcome,
    ParentTrace,
    ParentWhy,
    ToolDefinition,
    ToolsOrigin,
    Trace,
    Turn,
    TurnFlag,
)
from weaklink.inspector.wire.decoder import Decoder, Framing, new_decoder
from weaklink.inspector.wire.events import TurnAssembly

_NOT_STORED = (
    "the output contains no system prompt, and the user's prompt only if Claude Code was configured to repeat it",
    "the output contains the names of the tools but not their schemas",
    "the output contains no times",
)

_REWRITTEN = "the arguments of calls are stored parsed; their original text is lost"
_FACTS = maps.Facts(model="model", version="claude_code_version")
_TYPES = frozenset({"system", "assistant", "user", "result", "stream_event"})
_INJECTED = frozenset({TurnFlag.INJECTED})


def _is_output(value: JsonObject) -> bool:
    if not isinstance(value.get("session_id"), str):
        return False
    match text_of(value, "type"):
        case "assistant" | "user":
            return isinstance(value.get("message"), dict)
        case "stream_event":
            return isinstance(value.get("event"), dict)
        case "system" | "result":
            return isinstance(value.get("subtype"), str)
    return False


def _ids(value: JsonObject) -> SessionIds:
    return tuple((name, text_of(value, name)) for name in ("session_id", "parent_tool_use_id"))


class _StreamedAnswer:
    """An answer that is decoded from its events."""

    def __init__(self) -> None:
        self._decoder: Decoder = new_decoder(Framing.LINES, MessagesReader)
        self._assembly = TurnAssembly(self._decoder.api)

    def feed(self, event: Json) -> None:
        self._assembly.extend(self._decoder.feed(compact_json(event).encode("utf-8", "surrogatepass") + b"\n"))

    def turn(self) -> Turn:
        self._assembly.extend(self._decoder.close())
        return structs.replace(self._assembly.decoded().turn, source_role="assistant")


class _ClaudeOutputSession:
    """The rows of one agent, in order."""

    def __init__(self, first: Row) -> None:
        self.session = AgentSession("claude-code-output", _ids(first.value), first.record, _NOT_STORED)
        self.turns: list[Turn | claude_code.PartialClaudeAnswer | _StreamedAnswer] = []
        self._answers: dict[str, claude_code.PartialClaudeAnswer] = {}
        self._streamed: dict[str, _StreamedAnswer] = {}
        self._open: _StreamedAnswer | None = None

    def take(self, value: JsonObject) -> str:
        """Add a row. Returns the reason if it cannot be read, else `""`."""
        match text_of(value, "type"):
            case "system":
                self._system(value)
            case "stream_event":
                return self._event(value.get("event"))
            case "assistant":
                return self._answer(value)
            case "user":
                message = value.get("message")
                if not isinstance(message, dict | str):
                    return "the row's `message` is neither an object nor a string"
                flags = _INJECTED if value.get("isSynthetic") is True else frozenset()
                self.turns += claude_code.with_run(
                    list(claude_code.user_turns(message, flags)), value.get("tool_use_result")
                )
            case "result":
                self._result(value)
        return ""

    def trace(self) -> Trace | Skipped:
        session, ids = self.session, self.session.ids
        session.notes |= {_REWRITTEN: None} if self._answers else {}
        session.turns = [turn if isinstance(turn, Turn) else self._with_tools(turn.turn()) for turn in self.turns]
        session.model = session.model or claude_code.answering_model(session.turns)
        session.parent = ParentTrace(ids[0], ParentWhy.SUBAGENT) if len(ids) > 1 else None
        return session.trace()

    def _system(self, value: JsonObject) -> None:
        match value.get("subtype"):
            case "init":
                names = [name for name in list_of(value.get("tools")) if isinstance(name, str)]
                self.session.tools = tuple(ToolDefinition(name, raw=compact_json(name)) for name in names)
                _FACTS(value, self.session)
            case "api_retry":
                failed: JsonObject = {"apiErrorStatus": value.get("error_status"), "error": value.get("error")}
                self.turns.append(claude_code.PartialClaudeAnswer(error=claude_code.error_of(failed, "")))

    def _event(self, event: Json) -> str:
        if not isinstance(event, dict):
            return "the row's `event` is not an object"
        message = event.get("message")
        if self._open is None or event.get("type") == "message_start":
            self._open = _StreamedAnswer()
            self.turns.append(self._open)
            if isinstance(message, dict) and (response_id := text_of(message, "id")):
                self._streamed[response_id] = self._open
        self._open.feed(event)
        if event.get("type") == "message_stop":
            self._open = None
        return ""

    def _answer(self, value: JsonObject) -> str:
        message = value.get("message")
        if not isinstance(message, dict):
            return "the row's `message` is not an object"
        response_id = text_of(message, "id")
        if response_id in self._streamed:
            return ""
        answer = self._answers.get(response_id)
        if answer is None:
            answer = claude_code.PartialClaudeAnswer()
            self.turns.append(answer)
            self._answers[response_id or self.session.record + str(len(self.turns))] = answer
        answer.take(message, value.get("timestamp"))
        if value.get("error") and answer.model in ("", claude_code.SYNTHETIC_MODEL):
            answer.error = claude_code.error_of(value, claude_code.content_text(message.get("content")))
        return ""

    def _result(self, value: JsonObject) -> None:
        """Record the end of a run; with `--output-format json` this row is the only one and contains the answer."""
        subtype = text_of(value, "subtype")
        self.session.outcome = Outcome(subtype == "success" and value.get("is_error") is not True, subtype or None)
        if not self.turns and isinstance(value.get("result"), str):
            answer = claude_code.PartialClaudeAnswer()
            answer.take({"content": value["result"], "usage": value.get("usage")})
            self.turns.append(answer)

    def _with_tools(self, turn: Turn) -> Turn:
        generation = turn.generation
        if generation is None or not self.session.tools:
            return turn
        with_tools = structs.replace(generation, tools=self.session.tools, tools_origin=ToolsOrigin.REQUEST)
        return structs.replace(turn, generation=with_tools)


def _sessions(file: SourceFile) -> Iterator[Trace | Skipped]:
    """The sessions in the order of their first rows; all rows of a file are in memory, within a bound."""
    sessions: dict[SessionIds, _ClaudeOutputSession] = {}
    for row in rows_of(file):
        if isinstance(row, Skipped):
            yield row
            continue
        if text_of(row.value, "type") not in _TYPES:
            continue
        if (ids := _ids(row.value)) not in sessions:
            sessions[ids] = _ClaudeOutputSession(row)
        if why := sessions[ids].take(row.value):
            yield Skipped(row.record, why)
    yield from (session.trace() for session in sessions.values() if session.turns)


CLAUDE_CODE_OUTPUT = LogSource(
    name="claude-code-output",
    signs="rows of Claude Code's streamed output, each with a `session_id`",
    is_row=_is_output,
    confidence=0.9,
    reader=_sessions,
)
"""One trace per session, and one for each of its sub-agents."""
