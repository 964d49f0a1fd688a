"""An inspection as bytes: one blob a trace, which restores every derived value.

A large inspection is a blob of pages whose rows are read only when they are accessed.
"""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias, TypeVar

from inspector.chain.steps import Chain, Status, Step
from inspector.diagnostics import Diagnostic, Location
from inspector.inspected import Inspection, PartInspection
from inspector.model import Span, ToolCall, ToolResult
from inspector.model.columns import ColumnSlice, Entries, Uneven
from storage.packing import derived_values, paged_blobs
from storage.packing.blobs import from_blob, to_blob
from storage.packing.records import tool_facts, tool_from
from storage.packing.values import pack, unpack, unpack_list

_DIGEST = 16  # bytes
_MOST = 2_000  # things of an inspection that is not wide
_LONGEST = 1 << 22  # characters of their texts, which calls and results hold once more


class PackedInspection(NamedTuple):
    """An inspection as it lies in the database, and a digest that is equal for those that say the same."""

    digest: bytes
    body: bytes


def pack_inspection(inspection: Inspection, texts: derived_values.Texts) -> PackedInspection:
    """An inspection of the trace with these texts, as bytes."""
    if is_wide(inspection):
        said, body = pack_wide(inspection, texts)
    else:
        said = _in_one_piece(inspection, texts)
        body = to_blob(said)
    return PackedInspection(blake2b(said, digest_size=_DIGEST).digest(), body)


def unpack_inspection(body: bytes, texts: derived_values.Texts, *, in_columns: bool = False) -> Inspection:
    """The inspection that `pack_inspection` was given with the same texts.

    What a wide inspection holds is made where somebody looks, where it is wanted `in_columns`. OtherLayoutError for one
    of another layout; DamagedBlobError, or another ValueError, for bytes that `pack_inspection` never made.
    """
    if paged_blobs.is_paged(body):
        return read_wide(paged_blobs.page_reader(body), texts, in_columns=in_columns)
    return _from_one_piece(from_blob(body), texts)


def _in_one_piece(inspection: Inspection, texts: derived_values.Texts) -> bytes:
    chain = inspection.chain
    placed = _placed(inspection.parts)  # held until all is packed: an id is that of a thing that is there
    places = {id(value): at for at, value in enumerate(placed)}

    def position(thing: ToolCall | ToolResult, _place: Location | None) -> int | None:
        return places.get(id(thing))

    return pack(
        [
            derived_values.LAYOUT,
            inspection.version,
            inspection.format,
            [derived_values.part_facts(part, texts.get((part.turn, part.part), "")) for part in inspection.parts],
            [derived_values.step_facts(step, position, texts) for step in chain.steps],
            chain.status.value,
            derived_values.break_facts(chain.broken),
            chain.abort_reason,
            {one.rule.code: derived_values.rule_facts(one.rule) for one in inspection.diagnostics},
            [derived_values.diagnostic_facts(diagnostic) for diagnostic in inspection.diagnostics],
            chain.caused,
        ]
    )


def _from_one_piece(raw: bytes, texts: derived_values.Texts) -> Inspection:
    """Each thing is unpacked by itself, and equal words are kept once."""
    layout, *packed = unpack_list(raw)
    if unpack(layout) != derived_values.LAYOUT:
        raise derived_values.OtherLayoutError("the inspection has another layout")
    version, name, parts, steps, status, broken, abort_reason, rules, diagnostics, caused = packed
    read = tuple(derived_values.part_from(part, texts) for part in unpack_list(parts))
    placed = _placed(read)
    by_code = derived_values.rules_from(unpack(rules))
    once: paged_blobs.Once = {}
    return Inspection(
        unpack(version),
        unpack(name),
        read,
        Chain(
            tuple(derived_values.step_from(unpack(step), placed, placed, texts, once) for step in unpack_list(steps)),
            Status(unpack(status)),
            derived_values.break_from(unpack(broken)),
            unpack(abort_reason),
            tuple(unpack(caused)),
        ),
        tuple(
            derived_values.diagnostic_from(unpack(diagnostic), by_code, once) for diagnostic in unpack_list(diagnostics)
        ),
    )


def _placed(parts: Iterable[PartInspection]) -> list[ToolCall | ToolResult]:
    """The calls and results of all parts in one row, as steps name them: by position."""
    placed: list[ToolCall | ToolResult] = []
    for part in parts:
        placed += part.calls
        placed += part.results
    return placed


_Thing = TypeVar("_Thing")
_Row: TypeAlias = Uneven[_Thing] | tuple[_Thing, ...]


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


def pack_wide(inspection: Inspection, texts: derived_values.Texts) -> tuple[bytes, bytes]:
    """What an inspection of the trace with these texts says, in a digest of some bytes, and the shelf that holds it."""
    chain = inspection.chain
    parts, spans, calls, results = (
        paged_blobs.PagedRowWriter(),
        paged_blobs.PagedRowWriter(),
        _PlacedRows(),
        _PlacedRows(),
    )
    for part in inspection.parts:
        text = texts.get((part.turn, part.part), "")
        stretches = [calls.count, len(part.calls), results.count, len(part.results), spans.count, len(part.spans)]
        parts.add([part.turn, part.part, part.format, [tool_facts(tool) for tool in part.definitions], *stretches])
        for span in part.spans:
            spans.add(derived_values.span_facts(span))
        for call in part.calls:
            calls.place([part.turn, part.part, *derived_values.call_facts(call, text)])
        for result in part.results:
            results.place([part.turn, part.part, *derived_values.result_facts(result, text)])

    def position(thing: ToolCall | ToolResult, place: Location | None) -> int | None:
        if place is None:
            return None
        text = texts.get((place.turn, place.part), "")
        if isinstance(thing, ToolCall):
            return calls.position([place.turn, place.part, *derived_values.call_facts(thing, text)])
        return results.position([place.turn, place.part, *derived_values.result_facts(thing, text)])

    steps, diagnostics = paged_blobs.PagedRowWriter(), paged_blobs.PagedRowWriter()
    for step in chain.steps:
        steps.add(derived_values.step_facts(step, position, texts))
    rules: dict[str, list[Any]] = {}
    for diagnostic in inspection.diagnostics:
        rules.setdefault(diagnostic.rule.code, derived_values.rule_facts(diagnostic.rule))
        diagnostics.add(derived_values.diagnostic_facts(diagnostic))
    rows = (spans, calls, results, parts, steps, diagnostics)
    told = [
        derived_values.LAYOUT,
        inspection.version,
        inspection.format,
        chain.status.value,
        derived_values.break_facts(chain.broken),
        chain.abort_reason,
        chain.caused,
        rules,
        [row.told() for row in rows],
    ]
    said = b"".join((pack(told), *(row.digest.digest() for row in rows)))
    return said, paged_blobs.paged_blob(told, [piece for row in rows for piece in row.pieces])


def read_wide(read: paged_blobs.Read, texts: derived_values.Texts, *, in_columns: bool) -> Inspection:
    """The inspection on a shelf that was `checked`, out of `read`: of the trace with these texts.

    OtherLayoutError for one of another layout.
    What it holds many of is in columns, out of which each thing is made where somebody looks, or all of it at once.
    """
    shelf = paged_blobs.PagedBlob(read)
    layout, *packed = shelf.told
    if layout != derived_values.LAYOUT:
        raise derived_values.OtherLayoutError("the inspection has another layout")
    version, name, status, broken, abort_reason, caused, said, told = packed
    rules, rows = derived_values.rules_from(said), paged_blobs.PagedRows(shelf)

    def call(facts: list[Any], _once: paged_blobs.Once) -> ToolCall:
        turn, part, *more = facts
        return derived_values.call_from(more, texts.get((turn, part), ""))

    def result(facts: list[Any], _once: paged_blobs.Once) -> ToolResult:
        turn, part, *more = facts
        return derived_values.result_from(more, texts.get((turn, part), ""))

    def step(facts: list[Any], once: paged_blobs.Once) -> Step:
        return derived_values.step_from(facts, calls, results, texts, once)

    def diagnostic(facts: list[Any], once: paged_blobs.Once) -> Diagnostic:
        return derived_values.diagnostic_from(facts, rules, once)

    def part(facts: list[Any], once: paged_blobs.Once) -> PartInspection:
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

    def row(number: int, make: Callable[[Any, paged_blobs.Once], _Thing]) -> Uneven[_Thing] | tuple[_Thing, ...]:
        found = rows.next(told[number], make)
        return found if in_columns else tuple(found)

    spans: _Row[Span] = row(0, lambda facts, _: derived_values.span_from(facts))
    calls: _Row[ToolCall] = row(1, call)
    results: _Row[ToolResult] = row(2, result)
    return Inspection(
        version,
        name,
        row(3, part),
        Chain(row(4, step), Status(status), derived_values.break_from(broken), abort_reason, tuple(caused)),
        row(5, diagnostic),
    )


class _PlacedRows(paged_blobs.PagedRowWriter):
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
