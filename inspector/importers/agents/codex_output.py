"""Codex's output: `codex exec --json`, as a program receives it.

A row is an event: `thread.started`, `turn.started`, `item.completed` with an item, `turn.completed` or `turn.failed`.
Items are made from the model's answers, but are not the answers: messages, reasoning, and each call as Codex parsed it,
with its result. Consecutive items up to a result are taken as one answer.
"""

from collections.abc import Iterator

from weaklink.inspector import model
from weaklink.inspector.apis.openai.responses import API
from weaklink.inspector.importers.agents.session_logs import SessionLogs
from weaklink.inspector.importers.identity import place_of, text_at, text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.recorded_states import read_state
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject, SourceFile
from weaklink.inspector.json_text import compact_json, object_of, text_or_json

_NOT_STORED = (
    "the output contains no prompt, tools or times; it contains usage only for whole turns, which was left out",
    "the output contains calls as Codex parsed them, not the model's text",
    "the output does not show which items belong to one request; requests are counted by the results between them",
)
_ID = "thread_id"
_ARGUMENTS = {"command_execution": "command", "file_change": "changes", "mcp_tool_call": "", "web_search": "query"}
_RESULTS = ("aggregated_output", "result", "error")
_TEXTS = {"agent_message": "text", "reasoning": "reasoning"}
_ANSWERED = model.Generation(api=API)
_COMPLETED = model.RecordedState(state=model.RunState.COMPLETED, field="item.completed")


def _is_item(value: JsonObject) -> bool:
    return value.get("type") == "item.completed" and "type" in object_of(value.get("item"))


def _begun_thread(value: JsonObject) -> str:
    """The id of the thread that an event begins; `""` for any other event."""
    return text_of(value, _ID) if value.get("type") == "thread.started" else ""


class _ThreadLog:
    """The events of a thread; one whose beginning is missing may come before it. `_parts` are the unfinished answer."""

    def __init__(self, file: SourceFile, _: int) -> None:
        self._begin(place_of(file.path))

    def _begin(self, id_: model.ExternalId) -> None:
        self._id, self._record = id_, ""
        self._turns: list[model.Turn] = []
        self._parts: list[model.Part] = []
        self._outcome: model.Outcome | None = None

    def add(self, row: Row) -> Iterator[model.Trace]:
        named, kind = _begun_thread(row.value), row.value.get("type")
        if named and named != self._id.value:
            yield from self.traces()
            self._begin(model.ExternalId(_ID, named))
        self._record = self._record or row.record
        if kind == "item.completed":
            self._take_item(object_of(row.value.get("item")))
        elif kind in ("turn.completed", "turn.failed"):
            self._close()
            self._outcome = model.Outcome(completed=kind == "turn.completed")
            if kind == "turn.failed":
                message = text_at(row.value, "error.message") or "the turn failed"
                error = model.GenerationError(model.ErrorPhase.TRANSPORT, message)
                self._parts.append(model.Part("text", ""))
                self._close(generation=model.Generation(api=API, error=error, body=model.BodyState.NOT_STORED))

    def traces(self) -> Iterator[model.Trace]:
        """The thread as a trace; empty if it has no turns."""
        if turns := (*self._turns, *self._unfinished()):
            yield model.Trace(
                turns=turns,
                external_ids=(self._id,),
                recognised_by=model.RecognisedBy.FIELD if self._id.name == _ID else model.RecognisedBy.FILE,
                outcome=self._outcome,
                provenance=model.Provenance(record=self._record, warnings=_NOT_STORED),
            )

    def _take_item(self, item: JsonObject) -> None:
        kind = text_of(item, "type")
        if kind in _ARGUMENTS:
            self._call(kind, item)
        elif name := _TEXTS.get(kind):
            if any(part.name == name for part in self._parts):
                self._close()
            self._parts.append(model.Part(name, text_of(item, "text")))

    def _call(self, kind: str, item: JsonObject) -> None:
        name, call_id, key = text_of(item, "tool") or kind, text_of(item, "id") or None, _ARGUMENTS[kind]
        arguments = {key: item[key]} if key in item else {} if key else item.get("arguments", {})
        self._parts.append(model.Part("call:0", compact_json(arguments)))
        self._close(model.CallHeader("call:0", name, call_id))
        text = text_or_json(next((item[key] for key in _RESULTS if item.get(key) not in (None, "")), ""))
        # of a search the output has no more than that it was made
        state = read_state("codex-output", item) or (_COMPLETED if kind == "web_search" else None)
        failed = True if item.get("status") in ("failed", "declined") else None
        header = model.ResultHeader(call_id, name, failed, state)
        self._turns.append(model.Turn(model.Role.TOOL, (model.Part("text", text),), kind, result=header))

    def _close(self, *calls: model.CallHeader, generation: model.Generation = _ANSWERED) -> None:
        self._turns += self._unfinished(*calls, generation=generation)
        self._parts = []

    def _unfinished(self, *calls: model.CallHeader, generation: model.Generation = _ANSWERED) -> Iterator[model.Turn]:
        if self._parts:
            yield model.Turn(model.Role.ASSISTANT, tuple(self._parts), "assistant", calls, generation=generation)


CODEX_OUTPUT = LogSource(
    name="codex-output",
    signs="events of `codex exec`: `thread.started` or `item.completed`",
    is_row=lambda row: _is_item(row) or _begun_thread(row),
    confidence=0.9,
    reader=SessionLogs(_ThreadLog, _begun_thread),
)
"""One trace per thread."""
