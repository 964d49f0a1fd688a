"""Codex's rollouts: `~/.codex/sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`.

A row is `{"timestamp", "type", "payload"}`; the first is the `session_meta`. Files from before October 2025 have no
such envelope: their first row has `id`, `timestamp` and `instructions`, and their items stand bare.
"""

from collections.abc import Iterator

from inspector.importers.codex_rollout import Rollout, is_item, written
from inspector.importers.identity import instant, place_of, text_of
from inspector.importers.rows import Row, read_rows
from inspector.importers.source import JsonObject, Sample, Skipped, SourceFile
from inspector.memory import RECORD_MEMORY, TOO_MANY_ROWS, held_memory
from inspector.model import ExternalId, ParentTrace, ParentWhy, Provenance, RecognisedBy, Trace

_NOT_STORED = "the source keeps neither the tools nor the chunks of an answer, nor an answer that did not end"
_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})


class CodexImporter:
    """One trace a session: one a file, unless files were put together."""

    name = "codex"
    signs = "rows with a `type` and a `payload`, as Codex writes its rollouts"

    def recognises(self, sample: Sample) -> float:
        """By rows in Codex's envelope, or a bare head with items behind it."""
        if any(map(_is_enveloped, sample.rows)):
            return 0.9
        has_head = any(map(_is_bare_head, sample.rows[:2]))
        return 0.8 if has_head and any(map(is_item, sample.rows)) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The sessions in order; all rows of one are in memory at once, within `RECORD_MEMORY`."""
        session: _CodexSession | None = None
        left = RECORD_MEMORY
        for row in read_rows(file):
            if isinstance(row, Skipped):
                yield row
                continue
            if _begins_another(row.value, session):
                yield from session.traces() if session else ()
                session, left = None, RECORD_MEMORY
            left -= held_memory(row.raw)
            if left < 0:
                yield Skipped(row.record, TOO_MANY_ROWS)
                break
            session = session or _CodexSession(row, place_of(file.path))
            if why := session.take(row.value):
                yield Skipped(row.record, why)
        yield from session.traces() if session else ()


def _is_enveloped(value: JsonObject) -> bool:
    return text_of(value, "type") in _TYPES and isinstance(value.get("payload"), dict)


def _is_bare_head(value: JsonObject) -> bool:
    return {"id", "timestamp"} <= value.keys() and "type" not in value


def _begins_another(value: JsonObject, session: "_CodexSession | None") -> bool:
    """Whether a row is the head of another session; a fork repeats its parent's."""
    meta = value.get("payload")
    if session is None or value.get("type") != "session_meta" or not isinstance(meta, dict):
        return False
    return bool(session.id) and text_of(meta, "id") != session.id and session.parent is None


class _CodexSession:
    """One rollout: its head, and its rows as they come."""

    def __init__(self, first: Row, place: ExternalId) -> None:
        self.id = ""
        self.parent: ParentTrace | None = None
        self._first = first
        self._place = place
        self._head: JsonObject = {}
        self._rollout = Rollout()

    def take(self, value: JsonObject) -> str:
        """Add a row; why it cannot be read comes back, `""` where it could."""
        if is_item(value):
            self._rollout.take_item(value, value.get("timestamp"))
            return ""
        if _is_bare_head(value):
            self._begin(value)
            return ""
        kind, payload = text_of(value, "type"), value.get("payload")
        if kind not in _TYPES:
            return ""
        if not isinstance(payload, dict):
            return "the row's `payload` is no object"
        match kind:
            case "session_meta":
                self._begin(payload)
            case "response_item":
                self._rollout.take_item(payload, value.get("timestamp"))
            case "event_msg":
                self._rollout.take_event(payload)
            case "turn_context":
                self._rollout.model = text_of(payload, "model") or self._rollout.model
            case "compacted":
                self._rollout.take_compaction(payload)
        return ""

    def traces(self) -> Iterator[Trace]:
        """The session as a trace; none where nothing was said."""
        turns = self._rollout.turns()
        if not turns:
            return
        models = [turn.generation.requested_model for turn in turns if turn.generation]
        yield Trace(
            turns=turns,
            model=next((model for model in models if model), self._rollout.model),
            started=instant(self._head.get("timestamp")),
            external_ids=(ExternalId("id", self.id) if self.id else self._place,),
            recognised_by=RecognisedBy.FIELD if self.id else RecognisedBy.FILE,
            parent=self.parent,
            outcome=self._rollout.outcome,
            provenance=Provenance(
                source_version=text_of(self._head, "cli_version"),
                record=self._first.record,
                warnings=(_NOT_STORED, *self._rollout.warnings),
            ),
        )

    def _begin(self, head: JsonObject) -> None:
        if self._head:
            return  # the head of the session that this one was forked from, or the same one again
        self._head = head
        self.id = text_of(head, "id")
        self.parent = _parent(head)
        began = instant(head.get("timestamp"))
        if self.parent and began:
            self._rollout.forked_at_s = began.at_s
        self._rollout.take_instructions(written(head.get("base_instructions", head.get("instructions"))))


def _parent(head: JsonObject) -> ParentTrace | None:
    source = head.get("source")
    subagent = source.get("subagent") if isinstance(source, dict) else None
    spawn = subagent.get("thread_spawn") if isinstance(subagent, dict) else None
    starter = text_of(spawn, "parent_thread_id") if isinstance(spawn, dict) else ""
    starter = starter or text_of(head, "parent_thread_id")
    if starter:
        return ParentTrace(ExternalId("id", starter), ParentWhy.SUBAGENT)
    forked = text_of(head, "forked_from_id")
    return ParentTrace(ExternalId("id", forked), ParentWhy.FORK) if forked else None
