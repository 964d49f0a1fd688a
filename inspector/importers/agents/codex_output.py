"""Codex's output: `codex exec --json`, as a program receives it.

A row is an event: `thread.started`, `turn.started`, `item.completed` with an item, `turn.completed` or `turn.failed`.
Items are made from the model's answers, but are not the answers: messages, reasoning, and each call as Codex parsed it,
with its result. Consecutive items up to a result are taken as one answer.
"""

from collections.abc import Iterator

from msgspec import Struct, field

from weaklink.inspector import model
from weaklink.inspector.apis.openai.responses import API
from weaklink.inspector.importers.agents.agent_session import logs_of
from weaklink.inspector.importers.identity import place_of, text_at, text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.recorded_states import read_state
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.json_text import compact_json, object_of, text_or_json

_NOT_STORED = (
    "the output contains no prompt, tools or times; it contains usage only for whole turns, which was left out",
    "the output contains calls as Codex parsed them, not the model's text",
    "the output does not show which items belong to one request; requests are counted by the results between them",
)

_ARGUMENT_KEYS = {
    "command_execution": ("command",),
    "file_change": ("changes",),
    "mcp_tool_call": ("arguments",),
    "web_search": ("query",),
}

_RESULT_KEYS = ("aggregated_output", "result", "error")


def _is_item(value: JsonObject) -> bool:
    return value.get("type") == "item.completed" and "type" in object_of(value.get("item"))


def _begun_thread(value: JsonObject) -> str:
    """The id of the thread that an event begins; `""` for any other event."""
    return text_of(value, "thread_id") if value.get("type") == "thread.started" else ""


class _Thread(Struct):
    """The events of one thread; `parts` and `calls` are those of the unfinished answer."""

    first: Row
    place: model.ExternalId
    id: str
    turns: list[model.Turn] = field(default_factory=list)
    parts: list[model.Part] = field(default_factory=list)
    calls: list[model.CallHeader] = field(default_factory=list)
    outcome: model.Outcome | None = None

    def take(self, value: JsonObject) -> None:
        """Add an event; progress events are ignored."""
        match value.get("type"):
            case "item.completed":
                self._take_item(object_of(value.get("item")))
            case "turn.completed":
                self._close()
                self.outcome = model.Outcome(completed=True)
            case "turn.failed":
                self._fail(text_at(value, "error.message"))
                self.outcome = model.Outcome(completed=False)

    def traces(self) -> Iterator[model.Trace]:
        """The thread as a trace; empty if it has no turns."""
        self._close()
        if self.turns:
            yield model.Trace(
                turns=tuple(self.turns),
                external_ids=(model.ExternalId("thread_id", self.id) if self.id else self.place,),
                recognised_by=model.RecognisedBy.FIELD if self.id else model.RecognisedBy.FILE,
                outcome=self.outcome,
                provenance=model.Provenance(record=self.first.record, warnings=_NOT_STORED),
            )

    def _take_item(self, item: JsonObject) -> None:
        kind = text_of(item, "type")
        if kind in _ARGUMENT_KEYS:
            self._call(kind, item)
        elif kind in ("agent_message", "reasoning"):
            name = "text" if kind == "agent_message" else "reasoning"
            if any(part.name == name for part in self.parts):
                self._close()
            self.parts.append(model.Part(name, text_of(item, "text")))

    def _call(self, kind: str, item: JsonObject) -> None:
        call_id = text_of(item, "id") or None
        members: JsonObject = {key: item[key] for key in _ARGUMENT_KEYS[kind] if key in item}
        arguments = item.get("arguments", members) if kind == "mcp_tool_call" else members
        self.parts.append(model.Part("call:0", compact_json(arguments)))
        self.calls.append(model.CallHeader("call:0", text_of(item, "tool") or kind, call_id))
        self._close()
        text = text_or_json(next((item[key] for key in _RESULT_KEYS if item.get(key) not in (None, "")), ""))
        failed = True if item.get("status") in ("failed", "declined") else None
        state = read_state("codex-output", item)
        if state is None and kind == "web_search":  # the output has no more of a search than that it was made
            state = model.RecordedState(state=model.RunState.COMPLETED, field="item.completed")
        header = model.ResultHeader(call_id, text_of(item, "tool") or kind, failed, state)
        self.turns.append(model.Turn(model.Role.TOOL, (model.Part("text", text),), kind, result=header))

    def _fail(self, message: str) -> None:
        self._close()
        error = model.GenerationError(model.ErrorPhase.TRANSPORT, message or "the turn failed")
        generation = model.Generation(api=API, error=error, body=model.BodyState.NOT_STORED)
        self.turns.append(
            model.Turn(model.Role.ASSISTANT, (model.Part("text", ""),), "assistant", generation=generation)
        )

    def _close(self) -> None:
        if self.parts:
            generation = model.Generation(api=API)
            self.turns.append(
                model.Turn(
                    model.Role.ASSISTANT, tuple(self.parts), "assistant", tuple(self.calls), generation=generation
                )
            )
        self.parts, self.calls = [], []


def _threads(file: SourceFile) -> Iterator[model.Trace | Skipped]:
    """The threads in order; one whose beginning is missing may come before the first."""
    for rows in logs_of(file, _begun_thread):
        thread: _Thread | None = None
        for row in rows:
            if isinstance(row, Skipped):
                yield row
                continue
            named = _begun_thread(row.value)
            if thread and named and named != thread.id:
                yield from thread.traces()
                thread = None
            thread = thread or _Thread(row, place_of(file.path), named)
            thread.take(row.value)
        yield from thread.traces() if thread else ()


CODEX_OUTPUT = LogSource(
    name="codex-output",
    signs="events of `codex exec`: `thread.started` or `item.completed`",
    is_row=lambda row: _is_item(row) or _begun_thread(row),
    confidence=0.9,
    reader=_threads,
)
"""One trace per thread."""
