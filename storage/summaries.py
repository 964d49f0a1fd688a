"""Trace summaries: what lists show of a trace, without reading the trace itself."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from msgspec import Struct, structs

from weaklink.inspector.chain.endings import task_outcome
from weaklink.inspector.chain.steps import OUTCOME_RULES, Break, Reaction, Status, StepOutcome, VerdictCertainty
from weaklink.inspector.model import Liveness, Outcome, ParentTrace, Role, TaskOutcome, Trace
from weaklink.inspector.rules import layers as layer_rules
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import OPENING_MESSAGES, opening_of
from weaklink.storage import tables
from weaklink.storage.checksums import CHECKED_COLUMNS, check_row
from weaklink.storage.engine import DAMAGE_ERRORS
from weaklink.storage.liveness import liveness
from weaklink.storage.marks import Mark, read_marks
from weaklink.storage.packing.blobs import from_blob, text_from_bytes, to_blob, unescaped
from weaklink.storage.packing.records import pack_facts, trace_facts, trace_from, unpack_facts
from weaklink.storage.tables import in_groups


class ListCursor(Struct, frozen=True):
    """A position in a list that is sorted from the newest trace to the oldest: right after this trace.

    In lists that show broken traces first, `rank` is 2 for one that is surely broken, 1 for another broken one, else 0.
    """

    sort_at_s: float
    id: int
    rank: int = 0


class TraceSummary(Struct, frozen=True):
    """A trace as lists show it.

    `source`, `model` and `format` are as stored for filters: beyond 400 characters truncated, with a hash. `model` is
    the trace's own, or else the first that answered; `format` is the one it was read in. Times are seconds since
    1970-01-01 UTC; `started_at_s`, `duration_s` and the token counts are None if the source does not give them.
    `cursor` is the position in the list right after this trace. `liveness` is set while the trace is recorded: all
    other fields then describe the trace so far, and diagnostics of its last turns may be counted some seconds late if
    those turns are slow to inspect. `open_turns` is the number of its turns that have begun and not ended; the other
    counts exclude them. `marked` is true if the user marked the trace, or a turn or step of it; `note` is the newest
    note of a mark, `own_note` that of the mark on the trace itself. `outcome` is the source's own; `parent` is the
    related trace, by its external id, and the kind of relation; `project` and `branch` are the trace's. `opening` is
    the beginning of the user's first message, at most 200 characters on one line; only a trace without a name has it.
    `damaged` is true if the stored columns that lists show are damaged: those that can be read are as they are stored,
    the others are empty; the trace itself may be intact. `layers` are those at which a call, a result or the history
    differs, according to warnings and errors; `codes` the rules of all diagnostics. `certainty` is how sure `status`
    is, None in a trace that an older version inspected. `abort_message` says what ended an aborted trace, `""` if that
    is not known.
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
    certainty: VerdictCertainty | None
    abort_reason: str | None
    abort_message: str
    broken: Break | None
    cursor: ListCursor
    liveness: Liveness | None = None
    open_turns: int = 0
    marked: bool = False
    note: str = ""
    own_note: str = ""
    outcome: Outcome | None = None
    parent: ParentTrace | None = None
    project: str = ""
    branch: str = ""
    opening: str = ""
    layers: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    damaged: bool = False

    @property
    def task(self) -> TaskOutcome:
        """Whether the task was done, according to the source."""
        return task_outcome(self.outcome)

    @property
    def running(self) -> bool:
        """Whether a response is in progress, or the last event is recent."""
        return self.liveness is Liveness.RUNNING

    @property
    def is_open(self) -> bool:
        """Whether the trace is still being recorded, running or idle, so that turns may follow."""
        return self.liveness is not None


_LAYER_OF = {rule.code: rule.layer for rule in layer_rules.RULES if rule.severity is not Severity.INFO}
_LAYERS = ("parsed", "executed", "read")  # from the model's text to the history
_MAX_OPENING_CHARS = 1_000_000  # of a text that is unpacked for an opening

_COUNTS = ("turns", "characters", "chunks", "tool_calls", "errors", "warnings")
_UNKNOWN = ("started_at_s", "duration_s", "input_tokens", "output_tokens")
_AS_THEY_ARE = ("id", "imported_at_s", *_UNKNOWN, *_COUNTS)
_TEXTS = ("name", "source", "file", "record", "model", "format")
_BREAK = ("break_step", "break_turn", "break_tool", "break_outcome", "break_code", "break_message", "break_reaction")
_CERTAINTIES = {certainty.value: certainty for certainty in VerdictCertainty}
_NO_FACTS = to_blob(pack_facts(trace_facts(Trace(()))))
_UNCHECKED = ("id", "imported_at_s", "sort_at_s", "certainty")  # no checksum covers them: lists are sorted by them
_NAMES = (*_UNCHECKED, *CHECKED_COLUMNS)
_ROWS = sa.select(*(tables.trace.c[name] for name in _NAMES), tables.inspection.c.digest).select_from(
    tables.trace.outerjoin(tables.inspection)
)


def summaries(connection: sa.Connection, ids: Sequence[int]) -> list[TraceSummary]:
    """The summaries of these traces, in this order; traces that do not exist are left out."""
    by_id: dict[int, TraceSummary] = {}
    live, piece = tables.live.c.trace_id, tables.live_piece.c
    for group in in_groups(ids):
        recorded = set(connection.scalars(sa.select(live).where(live.in_(group))))
        states = liveness(connection, recorded, time.time())
        openings = sa.select(piece.trace_id).where(piece.trace_id.in_(recorded), piece.number == 0)
        still_open = Counter(connection.scalars(openings) if recorded else ())
        marks = read_marks(connection, group)
        for id_, row in _rows(connection, group):
            by_id[id_] = _summary(id_, row, states.get(id_), open_turns=still_open[id_], marks=marks.get(id_, ()))
        nameless = [id_ for id_ in group if id_ in by_id and not by_id[id_].name and not by_id[id_].damaged]
        openings_of = dict(_openings(connection, nameless))
        for id_ in openings_of.keys() & nameless:  # a damaged row may have another id than its index
            by_id[id_] = structs.replace(by_id[id_], opening=openings_of[id_])
        for id_, codes in _codes(connection, [id_ for id_ in group if id_ in by_id]).items():
            names = sorted({_LAYER_OF[code] for code in codes if code in _LAYER_OF}, key=_LAYERS.index)
            by_id[id_] = structs.replace(by_id[id_], layers=tuple(names), codes=tuple(codes))
    return [by_id[id_] for id_ in ids if id_ in by_id]


def _codes(connection: sa.Connection, ids: Sequence[int]) -> dict[int, list[str]]:
    """The rules of the diagnostics of each trace that has any, sorted."""
    code = tables.trace_code.c
    rows = connection.execute(sa.select(code.trace_id, code.code).where(code.trace_id.in_(ids)).order_by(code.code))
    codes: dict[int, list[str]] = {}
    for id_, rule_code in rows:
        codes.setdefault(id_, []).append(rule_code)
    return {id_: codes[id_] for id_ in ids if id_ in codes}  # likewise


def _openings(connection: sa.Connection, ids: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The beginning of the user's first message, for each of these traces that has one."""
    if not ids:
        return
    turn, part = tables.turn.c, tables.part.c
    nth = sa.func.row_number().over(partition_by=turn.trace_id, order_by=turn.number).label("nth")
    users = sa.select(turn.trace_id, turn.number, nth)
    first = users.where(turn.trace_id.in_(ids), turn.role == Role.USER.value).subquery()
    here = sa.and_(part.trace_id == first.c.trace_id, part.turn == first.c.number, part.number == 0)
    texts = sa.select(part.trace_id, part.text).where(
        here, first.c.nth <= OPENING_MESSAGES, part.characters <= _MAX_OPENING_CHARS
    )
    rows = connection.execute(texts.order_by(part.trace_id, part.turn))
    for id_, group in groupby(rows, key=lambda row: row[0]):
        with suppress(*DAMAGE_ERRORS):  # reading the trace itself reports the damage
            yield id_, opening_of(text_from_bytes(from_blob(text)) for _, text in group)


def row_of(connection: sa.Connection, id_: int) -> sa.RowMapping:
    """The stored columns of one trace that lists read, with its checksums."""
    return connection.execute(_ROWS.where(tables.trace.c.id == id_)).mappings().one()


def _rows(connection: sa.Connection, ids: Sequence[int]) -> list[tuple[int, Sequence[Any]]]:
    """The rows of these traces with their ids."""
    rows = connection.execute(_ROWS.where(tables.trace.c.id.in_(ids)))
    return [(row[0], tuple(row)) for row in rows]


def _summary(
    id_: int, row: Sequence[Any], state: Liveness | None, *, open_turns: int, marks: Sequence[Mark]
) -> TraceSummary:
    values = dict(zip(_NAMES, row, strict=False))
    try:
        check_row(row[len(_UNCHECKED) :])
        return _whole(values, state, open_turns=open_turns, marks=marks)
    except DAMAGE_ERRORS:
        return structs.replace(
            _whole(_readable(values), state, open_turns=open_turns, marks=marks), id=id_, damaged=True
        )


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    """The values of a damaged row, those that cannot be read replaced with empty ones."""
    kinds: dict[type, Sequence[str]] = {str: _TEXTS, int: _COUNTS, float: ("imported_at_s", "sort_at_s")}
    for kind, names in kinds.items():
        row |= {name: kind() for name in names if type(row[name]) is not kind}
    row |= {name: None for name in _UNKNOWN if type(row[name]) not in (int, float)}
    if row["status"] not in list(Status):
        row |= {"status": Status.UNKNOWN.value, "abort_reason": None}
    try:
        trace_from(unpack_facts(from_blob(row["facts"])), {}, ())
    except DAMAGE_ERRORS:
        row["facts"] = _NO_FACTS
    try:
        _break(*(row[name] for name in _BREAK))
    except DAMAGE_ERRORS:
        row |= {"break_step": None, "break_message": None}
    if not isinstance(row["break_message"], str | None):
        row["break_message"] = None
    return row


def _whole(row: Mapping[str, Any], state: Liveness | None, *, open_turns: int, marks: Sequence[Mark]) -> TraceSummary:
    trace = trace_from(unpack_facts(from_blob(row["facts"])), {}, ())
    return TraceSummary(
        **_plain(row),
        external_ids={id_.name: id_.value for id_ in trace.external_ids},
        status=Status(row["status"]),
        certainty=_CERTAINTIES.get(row["certainty"]),
        abort_reason=_unescaped(row["abort_reason"]),
        abort_message=unescaped(row["break_message"] or "") if row["break_step"] is None else "",
        broken=_break(*(row[name] for name in _BREAK)),
        cursor=ListCursor(row["sort_at_s"], row["id"]),
        liveness=state,
        open_turns=open_turns,
        marked=bool(marks),
        note=next((mark.note for mark in reversed(marks) if mark.note), ""),
        own_note=next((mark.note for mark in marks if mark.turn is None and mark.step is None), ""),
        outcome=trace.outcome,
        parent=trace.parent,
        project=trace.project,
        branch=trace.branch,
    )


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in _AS_THEY_ARE} | {name: unescaped(row[name]) for name in _TEXTS}


def _break(step: int | None, turn: int, *rest: Any) -> Break | None:
    if step is None:
        return None
    tool, outcome, code, message, reaction = rest
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
