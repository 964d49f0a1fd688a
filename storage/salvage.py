"""Reads a damaged trace as far as it can be read, and says in sentences what could not be read.

`storage.reading` reads an intact trace fast, and stops at the first value that is not as it was written. Then this
module reads the trace again, value by value and without trust in any of them: a checksum exists to notice damage, not
to withhold what is left. The result is a trace like any other. What a turn lost is told in its part `wire:recording`,
as a recorder tells what it could not keep, and its generation counts as not stored; what the trace lost is told in the
warnings of its provenance, which every screen, page and exported file shows.

* A text is what can be unpacked of it (`salvaged_text`), and loses its chunks, whose ends no longer fit.
* A turn without its facts keeps its parts, its role and its models; calls keep their arguments.
* A turn whose row is missing is an empty turn, so that the numbers of the turns after it stay the same.
* The trace without its facts has what its row says: name, source, file, model, start.

If every value can be read and only the sum of the turns differs, rows are missing or were changed, unless the sum is
one that weaklink 0.2.0 computed: over the compact form of requests (`compacted`), though it had stored some turns in
their whole form. Such a trace is whole.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import replace

from weaklink.inspector.capture.events import with_losses
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import (
    BodyState,
    CallHeader,
    Chunks,
    ExternalId,
    Generation,
    Instant,
    Part,
    Provenance,
    RecognisedBy,
    Role,
    ToolDefinition,
    Trace,
    Turn,
)
from weaklink.inspector.model.exchange import compacted
from weaklink.storage import tables
from weaklink.storage.checksums import CHECKED_COLUMNS, check_row, turn_checksum
from weaklink.storage.engine import DAMAGE_ERRORS, first_line
from weaklink.storage.liveness import with_openness
from weaklink.storage.packing.blobs import checksum_of, from_blob, salvaged_text, text_from_bytes, to_blob, unescaped
from weaklink.storage.packing.chunks import chunks_from_blob
from weaklink.storage.packing.former_records import with_request_of
from weaklink.storage.packing.records import tool_from, trace_from, turn_from, unpack_facts
from weaklink.storage.packing.values import unpack
from weaklink.storage.reading import inspect_readable, read_facts, read_inspection, read_trace, read_turns
from weaklink.storage.summaries import row_of
from weaklink.storage.toolsets import load_toolsets

_MAX_PLACEHOLDERS = 1_000  # turns whose rows are missing; a damaged number may be any
_MAX_SENTENCES = 20  # of those that describe the trace; each turn has its own
_CALL = "call:"
_UNREADABLE = "is damaged and could not be read"

_Value = TypeVar("_Value")


class SalvagedTrace(Struct, frozen=True):
    """A trace as far as it can be read; `damage` are sentences on what is wrong, empty if nothing is lost.

    `is_complete`: all its values could be read, and only a checksum differs. `has_former_sum`: it is intact, but its
    checksum is one that weaklink 0.2.0 computed incorrectly.
    """

    trace: Trace
    damage: tuple[str, ...]
    is_complete: bool
    has_former_sum: bool = False

    @property
    def shown(self) -> Trace:
        """The trace, with the sentences among the warnings of its provenance."""
        return with_damage(self.trace, self.damage)


def with_damage(trace: Trace, sentences: Sequence[str]) -> Trace:
    """The trace with sentences on its damage among the warnings of its provenance."""
    if not sentences:
        return trace
    more = len(sentences) - _MAX_SENTENCES
    told = (*sentences[:_MAX_SENTENCES], *((f"{more:,} more values are damaged.",) if more > 0 else ()))
    return replace(trace, provenance=replace(trace.provenance, warnings=(*trace.provenance.warnings, *told)))


def salvage_trace(connection: sa.Connection, id_: int) -> SalvagedTrace:
    """The trace with this id, which must have a row, as far as it can be read."""
    return _Salvage(connection, id_).trace()


class _PartRow(NamedTuple):
    turn: Any
    number: Any
    name: Any
    text: Any
    chunks: Any


class _TurnSums(NamedTuple):
    """What the checksum of a turn covers, as it is stored."""

    number: int
    role: str
    toolset: bytes | None
    facts: bytes
    parts: list[list[int | str | None]]

    def checksum(self, facts: bytes | None = None) -> int:
        """The turn's checksum, or what it would be with other facts."""
        blob = self.facts if facts is None else to_blob(facts)
        return turn_checksum(self.number, self.role, self.toolset, checksum_of(blob), self.parts)


class _Salvage:
    """Reads one trace; `lost` are sentences on the trace, `lost_of` those on each of its turns, by number."""

    def __init__(self, connection: sa.Connection, id_: int) -> None:
        self._connection, self._id = connection, id_
        self._row = _raw_rows(connection, tables.trace, tables.trace.c.id == id_)[0]
        self._tools: dict[Any, tuple[tuple[ToolDefinition, ...], str]] = {}
        self._sums: dict[int, _TurnSums] = {}
        self.lost: list[str] = []
        self.lost_of: defaultdict[int, list[str]] = defaultdict(list)

    def trace(self) -> SalvagedTrace:
        """The trace with its turns."""
        without_turns = self._without_turns()
        turns = self.turns()
        trace = replace(without_turns, turns=turns)
        lost = [*self.lost, *(f"Turn {number}: {words}" for number, some in self.lost_of.items() for words in some)]
        if lost:
            return SalvagedTrace(trace, tuple(lost), is_complete=False)
        sentences, has_former_sum = self._check_sum(trace)
        return SalvagedTrace(trace, sentences, is_complete=True, has_former_sum=has_former_sum)

    def turns(self) -> tuple[Turn, ...]:
        """All turns by number; those whose row is missing are empty."""
        rows: dict[int, dict[str, Any]] = {}
        parts: defaultdict[int, list[_PartRow]] = defaultdict(list)
        for row in _raw_rows(self._connection, tables.turn, tables.turn.c.trace_id == self._id):
            if _is_count(row["number"]) and row["number"] not in rows:
                rows[row["number"]] = row
            else:
                self.lost.append("A turn without a valid number is left out.")
        for row in _raw_rows(self._connection, tables.part, tables.part.c.trace_id == self._id):
            part = _PartRow(*(row[name] for name in _PartRow._fields))
            if _is_count(part.turn):
                parts[part.turn].append(part)
            else:
                self.lost.append("A part without a valid turn is left out.")
        return tuple(self._turn(number, rows.get(number), parts[number]) for number in self._numbers({*rows, *parts}))

    def _numbers(self, present: set[int]) -> Iterable[int]:
        highest = max(present, default=0)
        if highest - len(present) <= _MAX_PLACEHOLDERS:
            return range(1, highest + 1)
        self.lost.append(f"{highest - len(present):,} turns are missing before the turn with number {highest}.")
        return sorted(present)

    def _check_sum(self, trace: Trace) -> tuple[tuple[str, ...], bool]:
        """A sentence if the sum of the turns is wrong, and whether it is a sum of weaklink 0.2.0."""
        stored, counted = self._row["turns_checksum"], self._row["turns"]
        if stored is None and self._row["record_checksum"] is None:
            return (), False
        if stored == sum(sum_.checksum() for sum_ in self._sums.values()):
            return (), False
        if stored == sum(self._former_sums(trace)):
            return (), True
        if _is_count(counted) and counted > len(trace.turns):
            return (f"Of {counted:,} turns only {len(trace.turns):,} are stored: the others are missing.",), False
        return ("The checksum of the turns is not the stored one: a row was lost, or a value was changed.",), False

    def _former_sums(self, trace: Trace) -> Iterator[int]:
        """The checksums of the turns with their requests in the compact form."""
        for number, (turn, short) in enumerate(zip(trace.turns, compacted(trace).turns, strict=True), 1):
            if number in self._sums:
                blob = self._sums[number].facts
                yield self._sums[number].checksum(None if short is turn else with_request_of(from_blob(blob), short))

    def _without_turns(self) -> Trace:
        row = self._row
        facts = self._value("The facts of the trace", lambda: unpack_facts(from_blob(row["facts"])))
        provenance = self._value("The provenance of the trace", lambda: unpack(from_blob(row["provenance"])))
        stored = Provenance(_text(row["source"]), _text(row["file"]), record=_text(row["record"]))
        if facts is not None:
            try:
                trace = trace_from(facts, provenance or {}, ())
            except DAMAGE_ERRORS:
                self.lost.append(f"The facts of the trace: {_UNREADABLE}.")
            else:
                return trace if provenance is not None else replace(trace, provenance=stored)
        started_s = row["started_at_s"]
        ids = _raw_rows(self._connection, tables.external_id, tables.external_id.c.trace_id == self._id)
        return Trace(
            (),
            name=_text(row["name"]),
            model=_text(row["model"]),
            format=_text(row["format"]),
            started=Instant(started_s) if isinstance(started_s, float) else None,
            external_ids=tuple(ExternalId(_text(id_["name"]), _text(id_["value"])) for id_ in ids),
            recognised_by=RecognisedBy.RECORD,
            provenance=stored,
            project=_text(row["project"]),
        )

    def _turn(self, number: int, row: dict[str, Any] | None, rows: list[_PartRow]) -> Turn:
        lost = self.lost_of[number] if row is None or rows else []
        if row is None:
            lost.append("its row is missing; only its parts are left." if rows else "it is missing.")
        rows.sort(key=lambda row: row.number if _is_count(row.number) else 0)
        gaps: list[str] = []
        parts = tuple(self._part(row, gaps) for row in rows)
        tools = self._tools_of(row, gaps)
        facts = None
        if row is not None:
            what = "its facts (ids, times, usage, request)"
            facts = self._value(what, lambda: unpack_facts(from_blob(row["facts"])), gaps)
            self._add_to_checksum(number, row, rows)
        turn = self._built(row or {}, facts, parts, tools, gaps)
        self.lost_of[number] += gaps
        lost = self.lost_of[number]
        if not lost:
            del self.lost_of[number]
            return turn
        told = [f"In the database, {words}" for words in lost]
        return with_losses(turn, told, is_gap=turn.role is Role.ASSISTANT)

    def _built(
        self,
        row: dict[str, Any],
        facts: Any,
        parts: tuple[Part, ...],
        tools: tuple[ToolDefinition, ...],
        lost: list[str],
    ) -> Turn:
        """The turn of these facts; of the other columns, if they are None or cannot be read."""
        role = next((role for role in Role if role.value == row.get("role")), None)
        if role is None:
            role = _likely_role(facts, parts)
            if row:
                lost.append(f"its role {_UNREADABLE}; it is shown as {role.value}.")
        if facts is not None:
            try:
                return turn_from(role.value, facts, parts, tools)
            except DAMAGE_ERRORS:
                lost.append(f"its facts: {_UNREADABLE}.")
        models = _text(row.get("requested_model")), _text(row.get("answered_model"))
        generation = Generation("", *models, tools=tools, body=BodyState.NOT_STORED)
        calls = tuple(CallHeader(part.name, None) for part in parts if part.name.startswith(_CALL))
        return Turn(role, parts, calls=calls, generation=generation if role is Role.ASSISTANT else None)

    def _part(self, row: _PartRow, lost: list[str]) -> Part:
        name = _text(row.name)
        try:
            text = text_from_bytes(from_blob(row.text))
        except DAMAGE_ERRORS as error:
            text = salvaged_text(row.text) if isinstance(row.text, bytes) else ""
            left = f"{len(text):,} characters of it could be unpacked" if text else "nothing of it is left"
            lost.append(f"the text of its part `{name}` is damaged ({first_line(error)}); {left}.")
            return Part(name, text)
        return Part(name, text, self._chunks(row, name, text, lost))

    def _chunks(self, row: _PartRow, name: str, text: str, lost: list[str]) -> Chunks | None:
        if row.chunks is None:
            return None
        return self._value(f"the chunks of its part `{name}` (their times)", lambda: _whole(row.chunks, text), lost)

    def _tools_of(self, row: dict[str, Any] | None, lost: list[str]) -> tuple[ToolDefinition, ...]:
        id_ = row and row["toolset_id"]
        if id_ is None:
            return ()
        if id_ not in self._tools:
            self._tools[id_] = _readable_tools(self._connection, id_)
        tools, problem = self._tools[id_]
        if problem:
            lost.append(problem)
        return tools

    def _add_to_checksum(self, number: int, row: dict[str, Any], parts: list[_PartRow]) -> None:
        toolset = sa.select(tables.toolset.c.hash).where(tables.toolset.c.id == row["toolset_id"])
        digest = None if row["toolset_id"] is None else self._connection.scalar(toolset)
        try:
            sums: list[list[int | str | None]] = [
                [
                    part.number,
                    part.name,
                    checksum_of(part.text),
                    None if part.chunks is None else checksum_of(part.chunks),
                ]
                for part in parts
            ]
            checksum_of(row["facts"])  # raises if they are damaged
        except DAMAGE_ERRORS:
            return  # what is damaged is told where it is read
        self._sums[number] = _TurnSums(
            number, row["role"], None if digest is None else bytes(digest), row["facts"], sums
        )

    def _value(self, what: str, read: Callable[[], _Value], lost: list[str] | None = None) -> _Value | None:
        """What `read` returns; None, and a sentence, if it is damaged."""
        try:
            return read()
        except DAMAGE_ERRORS as error:
            told = self.lost if lost is None else lost
            told.append(f"{what} {_UNREADABLE}: {first_line(error)}.")
            return None


def _whole(blob: bytes, text: str) -> Chunks:
    """The chunks of this text, every column of them read once."""
    chunks = chunks_from_blob(blob)
    columns = (chunks.sequences, chunks.offsets_s, chunks.token_ids, chunks.logprobs)
    ends = list(chunks.ends)
    if ends and ends[-1] != len(text):
        raise ValueError("they do not end with their text")
    if any(len(list(column)) != len(ends) for column in columns if column is not None):
        raise ValueError("their columns differ in length")
    return chunks


def _readable_tools(connection: sa.Connection, id_: Any) -> tuple[tuple[ToolDefinition, ...], str]:
    """The tools of a set that can be read, and what is wrong with the set as a sentence."""
    hash_of = sa.select(tables.toolset.c.hash).where(tables.toolset.c.id == id_)
    try:
        return load_toolsets(connection, {id_: connection.scalar(hash_of)})[id_], ""
    except DAMAGE_ERRORS as error:
        problem = f"the tools that its request offered are damaged ({first_line(error)})"
    link, tool = tables.toolset_tool, tables.tool
    joined = sa.select(_raw(tool.c.body)).join(link, link.c.tool_id == tool.c.id).where(link.c.toolset_id == id_)
    tools: list[ToolDefinition] = []
    missing = 0
    for (body,) in connection.execute(joined.order_by(link.c.number)):
        try:
            tools.append(tool_from(unpack(from_blob(bytes(body)))))
        except DAMAGE_ERRORS:
            missing += 1
    return tuple(tools), f"{problem}: {len(tools)} of {len(tools) + missing} could be read."


def _likely_role(facts: Any, parts: tuple[Part, ...]) -> Role:
    known = facts if isinstance(facts, dict) else {}
    if "generation" in known or "calls" in known or any(part.name.startswith(_CALL) for part in parts):
        return Role.ASSISTANT
    return Role.TOOL if "result" in known else Role.USER


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**31


def _text(value: Any) -> str:
    return unescaped(value) if isinstance(value, str) else ""


def _raw(column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    """A column as the driver returns it: conversions refuse what is damaged."""
    return sa.type_coerce(column, sa.types.NullType()).label(column.name)


def _raw_rows(connection: sa.Connection, table: sa.Table, where: sa.ColumnElement[bool]) -> list[dict[str, Any]]:
    """The rows of a trace in a table, in the order of its key."""
    query = sa.select(*map(_raw, table.c)).where(where).order_by(*table.primary_key.columns)
    return [dict(row) for row in connection.execute(query).mappings()]


def read_stored(connection: sa.Connection, id_: int) -> SalvagedTrace:
    """The trace with this id, which must exist; as `read_trace` if it is intact, else as far as it can be read."""
    try:
        return SalvagedTrace(read_trace(connection, id_), (), is_complete=True)
    except DAMAGE_ERRORS:
        return salvage_trace(connection, id_)


def read_stored_facts(connection: sa.Connection, id_: int) -> Trace:
    """The trace without its turns, as far as it can be read."""
    try:
        return read_facts(connection, id_)
    except DAMAGE_ERRORS:
        return replace(salvage_trace(connection, id_).shown, turns=())


def read_stored_turns(connection: sa.Connection, id_: int, *, after: int = 0) -> tuple[Turn, ...]:
    """The turns of a trace after its first `after`, as far as they can be read."""
    try:
        return read_turns(connection, id_, after=after)
    except DAMAGE_ERRORS:
        return salvage_trace(connection, id_).trace.turns[after:]


def read_stored_inspection(
    connection: sa.Connection, id_: int, stored: SalvagedTrace, *, may_lag: bool = False
) -> tuple[Inspection, str]:
    """The inspection of a trace, and a sentence if the stored one is damaged.

    What is stored refers to the texts of the intact trace: a damaged trace is inspected as it can be read, and so is
    one whose inspection is damaged.
    """
    trace = with_openness(connection, id_, stored.trace)
    if stored.damage:
        return inspect_readable(trace), ""
    try:
        return read_inspection(connection, id_, stored.trace, may_lag=may_lag), ""
    except DAMAGE_ERRORS as error:
        words = f"The stored inspection is damaged ({first_line(error)}) and was computed again"
        return inspect_readable(trace), f"{words}; `weaklink db repair {id_}` stores the new one."


def damage_of_row(connection: sa.Connection, id_: int) -> str:
    """A sentence if the row of a trace, from which lists and filters read, is damaged; else `""`."""
    try:
        row = row_of(connection, id_)
        check_row([*(row[name] for name in CHECKED_COLUMNS), row["digest"]])
    except DAMAGE_ERRORS:
        return f"The values that lists and filters have of it are damaged; `weaklink db repair {id_}` rebuilds them."
    return ""
