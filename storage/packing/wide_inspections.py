"""A wide inspection as a shelf of rows: its parts, their spans, calls and results, its steps and its diagnostics.

A part says which stretches of the spans, calls and results are its own; a step names its call and its result by
their places in these rows. Each thing is made where somebody looks, out of some kilobytes around it.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any, TypeAlias, TypeVar

from inspector.chain.steps import Chain, Status, Step
from inspector.diagnostics import Diagnostic, Location
from inspector.inspection import Inspection, PartInspection
from inspector.model import Span, ToolCall, ToolResult
from inspector.model.columns import ColumnSlice, Entries, Uneven
from storage.packing.findings import (
    LAYOUT,
    OtherLayoutError,
    break_facts,
    break_from,
    diagnostic_facts,
    diagnostic_from,
    rule_facts,
    rules_from,
    step_facts,
    step_from,
)
from storage.packing.readings import call_facts, call_from, result_facts, result_from, span_facts, span_from
from storage.packing.records import tool_facts, tool_from
from storage.packing.shelf import Shelf, shelf_blob
from storage.packing.shelf_rows import Once, RowFilling, ShelfRows
from storage.packing.spool import Read
from storage.packing.texts import Texts
from storage.packing.values import pack

_Thing = TypeVar("_Thing")
_Row: TypeAlias = Uneven[_Thing] | tuple[_Thing, ...]
_MOST = 2_000  # things of an inspection that is not wide
_LONGEST = 1 << 22  # characters of their texts, which calls and results hold once more
_DIGEST = 16  # bytes by which one call is told from all others of its trace


def is_wide(inspection: Inspection) -> bool:
    """Whether an inspection holds so much that nobody wants all of it at once."""
    count = len(inspection.parts) + len(inspection.chain.steps) + len(inspection.diagnostics)
    length = 0
    for part in inspection.parts:
        if count > _MOST or length > _LONGEST:
            break
        count += len(part.spans) + len(part.calls) + len(part.results)
        length += sum(len(call.raw_arguments) for call in part.calls)
        length += sum(len(result.content) for result in part.results)
    return count > _MOST or length > _LONGEST


def pack_wide(inspection: Inspection, texts: Texts) -> tuple[bytes, bytes]:
    """What an inspection of the trace with these texts says, in a digest of some bytes, and the shelf that holds it."""
    chain = inspection.chain
    parts, spans, calls, results = RowFilling(), RowFilling(), _PlacedRows(), _PlacedRows()
    for part in inspection.parts:
        text = texts.get((part.turn, part.part), "")
        stretches = [calls.count, len(part.calls), results.count, len(part.results), spans.count, len(part.spans)]
        parts.add([part.turn, part.part, part.format, [tool_facts(tool) for tool in part.definitions], *stretches])
        for span in part.spans:
            spans.add(span_facts(span))
        for call in part.calls:
            calls.place([part.turn, part.part, *call_facts(call, text)])
        for result in part.results:
            results.place([part.turn, part.part, *result_facts(result, text)])

    def position(thing: ToolCall | ToolResult, place: Location | None) -> int | None:
        if place is None:
            return None
        text = texts.get((place.turn, place.part), "")
        if isinstance(thing, ToolCall):
            return calls.position([place.turn, place.part, *call_facts(thing, text)])
        return results.position([place.turn, place.part, *result_facts(thing, text)])

    steps, diagnostics = RowFilling(), RowFilling()
    for step in chain.steps:
        steps.add(step_facts(step, position, texts))
    rules: dict[str, list[Any]] = {}
    for diagnostic in inspection.diagnostics:
        rules.setdefault(diagnostic.rule.code, rule_facts(diagnostic.rule))
        diagnostics.add(diagnostic_facts(diagnostic))
    rows = (spans, calls, results, parts, steps, diagnostics)
    told = [
        LAYOUT,
        inspection.version,
        inspection.format,
        chain.status.value,
        break_facts(chain.broken),
        chain.abort_reason,
        chain.caused,
        rules,
        [row.told() for row in rows],
    ]
    said = b"".join((pack(told), *(row.digest.digest() for row in rows)))
    return said, shelf_blob(told, [piece for row in rows for piece in row.pieces])


def read_wide(read: Read, texts: Texts, *, in_columns: bool) -> Inspection:
    """The inspection on a shelf that was `checked`, out of `read`: of the trace with these texts.

    OtherLayoutError for one of another layout.
    What it holds many of is in columns, out of which each thing is made where somebody looks, or all of it at once.
    """
    shelf = Shelf(read)
    layout, *packed = shelf.told
    if layout != LAYOUT:
        raise OtherLayoutError("the inspection has another layout")
    version, name, status, broken, abort_reason, caused, said, told = packed
    rules, rows = rules_from(said), ShelfRows(shelf)

    def call(facts: list[Any], _once: Once) -> ToolCall:
        turn, part, *more = facts
        return call_from(more, texts.get((turn, part), ""))

    def result(facts: list[Any], _once: Once) -> ToolResult:
        turn, part, *more = facts
        return result_from(more, texts.get((turn, part), ""))

    def step(facts: list[Any], once: Once) -> Step:
        return step_from(facts, calls, results, texts, once)

    def diagnostic(facts: list[Any], once: Once) -> Diagnostic:
        return diagnostic_from(facts, rules, once)

    def part(facts: list[Any], once: Once) -> PartInspection:
        turn, part, format_, definitions, *stretches = facts
        return PartInspection(
            turn,
            once.setdefault(part, part),
            once.setdefault(format_, format_),
            _stretch(spans, *stretches[4:]),
            _stretch(calls, *stretches[:2]),
            _stretch(results, *stretches[2:4]),
            tuple(tool_from(tool) for tool in definitions),
        )

    def row(number: int, make: Callable[[Any, Once], _Thing]) -> Uneven[_Thing] | tuple[_Thing, ...]:
        found = rows.next(told[number], make)
        return found if in_columns else tuple(found)

    spans: _Row[Span] = row(0, lambda facts, _: span_from(facts))
    calls: _Row[ToolCall] = row(1, call)
    results: _Row[ToolResult] = row(2, result)
    return Inspection(
        version,
        name,
        row(3, part),
        Chain(row(4, step), Status(status), break_from(broken), abort_reason, tuple(caused)),
        row(5, diagnostic),
    )


class _PlacedRows(RowFilling):
    """Takes calls or results, and knows the position of each by what it says and where it stands."""

    def __init__(self) -> None:
        super().__init__()
        self._positions: dict[bytes, int] = {}

    def place(self, facts: list[Any]) -> None:
        """Take one."""
        self._positions.setdefault(_digest(self.add(facts)), self.count - 1)

    def position(self, facts: list[Any]) -> int | None:
        """Where one stands that says just this; None where none does."""
        return self._positions.get(_digest(pack(facts)))


def _digest(packed: bytes) -> bytes:
    return blake2b(packed, digest_size=_DIGEST).digest()


def _stretch(row: _Row[_Thing], start: int, length: int) -> Entries[_Thing]:
    if isinstance(row, tuple) or not length:
        return row[start : start + length]
    return ColumnSlice(row, start, start + length)
