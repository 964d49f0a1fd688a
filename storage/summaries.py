"""What a list shows of a trace, without reading the trace."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from inspector.chain.endings import task_outcome
from inspector.chain.steps import Break, Reaction, Status, StepOutcome
from inspector.chain.verdict import OUTCOME_RULES
from inspector.model import Liveness, Outcome, ParentTrace, TaskOutcome
from storage import tables
from storage.groups import in_groups
from storage.liveness import liveness
from storage.marks import Mark, read_marks
from storage.packing.blobs import from_blob
from storage.packing.escapes import unescaped
from storage.packing.records import parent_from
from storage.packing.values import unpack


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a list that goes from the newest trace down: just behind this one."""

    sort_at_s: float
    id: int


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """A trace as lists show it.

    `source`, `model` and `format` are as kept for filters: beyond 400 characters cut, with a hash. `model` is the
    trace's own or else the first that answered; `format` the one it was read in. Times are seconds since 1970-01-01
    UTC; `started_at_s`, `duration_s` and the token counts are None where the source does not say. `cursor` is where
    the list goes on behind this trace. `liveness` is there while the trace is recorded: all else is what it has come
    to, and what was found in its last turns, when those were long to read, is counted some seconds later.
    `open_turns` of its turns, which the other counts leave out, have begun and not ended. `marked` says that the user
    marked it, or a turn or step of it; `note` is the newest note that a mark bears. `outcome` is the source's own;
    `parent` is the trace that it is related to, by its external id, and how; `project` and `branch` are the trace's.
    """

    id: int
    name: str
    source: str
    file: str
    record: str
    external_ids: dict[str, str]
    model: str
    format: str
    started_at_s: float | None
    imported_at_s: float
    duration_s: float | None
    turns: int
    characters: int
    chunks: int
    input_tokens: int | None
    output_tokens: int | None
    tool_calls: int
    errors: int
    warnings: int
    status: Status
    abort_reason: str | None
    broken: Break | None
    cursor: Cursor
    liveness: Liveness | None = None
    open_turns: int = 0
    marked: bool = False
    note: str = ""
    outcome: Outcome | None = None
    parent: ParentTrace | None = None
    project: str = ""
    branch: str = ""

    @property
    def task(self) -> TaskOutcome:
        """Whether the task was done, by the source's own account."""
        return task_outcome(self.outcome)

    @property
    def running(self) -> bool:
        """Whether an answer is on its way, or the last event is recent."""
        return self.liveness is Liveness.RUNNING

    @property
    def is_open(self) -> bool:
        """Whether it is still being recorded, running or idle, so that turns may follow."""
        return self.liveness is not None


_AS_THEY_ARE = (
    *("id", "started_at_s", "imported_at_s", "duration_s", "turns", "characters", "chunks"),
    *("input_tokens", "output_tokens", "tool_calls", "errors", "warnings"),
)
_TEXTS = ("name", "source", "file", "record", "model", "format")
_BREAK = ("break_step", "break_turn", "break_tool", "break_outcome", "break_code", "break_message", "break_reaction")
_COLUMNS = [
    tables.trace.c[name] for name in (*_AS_THEY_ARE, *_TEXTS, *_BREAK, "status", "abort_reason", "sort_at_s", "facts")
]


def summaries(connection: sa.Connection, ids: Sequence[int]) -> list[TraceSummary]:
    """The summaries of these traces, in this order; those that are not there are left out."""
    found: dict[int, TraceSummary] = {}
    live, piece = tables.live.c.trace_id, tables.live_piece.c
    for group in in_groups(ids):
        recorded = set(connection.scalars(sa.select(live).where(live.in_(group))))
        states = liveness(connection, recorded, time.time())
        begun = sa.select(piece.trace_id).where(piece.trace_id.in_(recorded), piece.number == 0)
        still_open = Counter(connection.scalars(begun) if recorded else ())
        marks = read_marks(connection, group)
        for row in connection.execute(sa.select(*_COLUMNS).where(tables.trace.c.id.in_(group))).mappings():
            id_ = row["id"]
            found[id_] = _summary(row, states.get(id_), still_open[id_], marks.get(id_, ()))
    return [found[id_] for id_ in ids if id_ in found]


def _summary(row: sa.RowMapping, state: Liveness | None, open_turns: int, marks: Sequence[Mark]) -> TraceSummary:
    facts = unpack(from_blob(row["facts"]))
    ids: list[tuple[str, str]] = facts.get("external_ids", [])
    outcome = facts.get("outcome")
    return TraceSummary(
        **_plain(row),
        external_ids=dict(ids),
        status=Status(row["status"]),
        abort_reason=_unescaped(row["abort_reason"]),
        broken=_break(*(row[name] for name in _BREAK)),
        cursor=Cursor(row["sort_at_s"], row["id"]),
        liveness=state,
        open_turns=open_turns,
        marked=bool(marks),
        note=next((mark.note for mark in reversed(marks) if mark.note), ""),
        outcome=Outcome(*outcome) if outcome else None,
        parent=parent_from(facts.get("parent")),
        project=facts.get("project", ""),
        branch=facts.get("branch", ""),
    )


def _plain(row: sa.RowMapping) -> dict[str, Any]:
    return {name: row[name] for name in _AS_THEY_ARE} | {name: unescaped(row[name]) for name in _TEXTS}


def _break(step: int | None, turn: int, *said: Any) -> Break | None:
    if step is None:
        return None
    tool, outcome, code, message, reaction = said
    return Break(
        step,
        turn,
        _unescaped(tool),
        StepOutcome(outcome),
        _unescaped(code) or OUTCOME_RULES[StepOutcome(outcome)].code,
        unescaped(message),
        Reaction(reaction) if reaction else None,
    )


def _unescaped(text: str | None) -> str | None:
    return None if text is None else unescaped(text)
