"""An inspection as bytes: one blob per trace, from which every derived value can be restored.

A large inspection is a blob of pages whose rows are read only when they are accessed.
"""

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Struct, structs

from weaklink.inspector.chain.steps import Chain, Step
from weaklink.inspector.diagnostics import Diagnostic, Location
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.memoized import RecentValues, is_memoizing
from weaklink.inspector.model import Span, ToolCall, ToolResult
from weaklink.inspector.model.columns import ColumnSlice, Entries, Uneven
from weaklink.storage.packing import derived_values, paged_blobs
from weaklink.storage.packing.blobs import from_blob, to_blob
from weaklink.storage.packing.records import tool_facts, tool_from
from weaklink.storage.packing.values import pack, unpack, unpack_list

_DIGEST = 16  # bytes
_MOST = 2_000  # maximum number of items in an inspection that is not wide
_LONGEST = 1 << 22  # maximum characters of the texts in its calls and results


class PackedInspection(NamedTuple):
    """An inspection in the form of its column, and a digest that is equal for equal inspections."""

    digest: bytes
    body: bytes


def pack_inspection(inspection: Inspection, texts: derived_values.Texts) -> PackedInspection:
    """An inspection of the trace with these texts, as bytes."""
    if is_wide(inspection):
        content, body = pack_wide(inspection, texts)
    else:
        content = _in_one_piece(inspection, texts)
        body = to_blob(content)
    return PackedInspection(blake2b(content, digest_size=_DIGEST).digest(), body)


def unpack_inspection(body: bytes, texts: derived_values.Texts, *, in_columns: bool = False) -> Inspection:
    """The inverse of `pack_inspection`, with the same texts.

    With `in_columns`, the items of a wide inspection are built when they are accessed. OtherLayoutError for another
    layout; DamagedBlobError, or another ValueError, for bytes that `pack_inspection` did not return.
    """
    if paged_blobs.is_paged(body):
        return read_wide(paged_blobs.page_reader(body), texts, in_columns=in_columns)
    return _from_one_piece(from_blob(body), texts)


def _in_one_piece(inspection: Inspection, texts: derived_values.Texts) -> bytes:
    placed = _placed(inspection.parts)  # held until all is packed: the id() of an object is valid only while it lives
    places = {id(value): at for at, value in enumerate(placed)}

    def position(item: ToolCall | ToolResult, _place: Location | None) -> int | None:
        return places.get(id(item))

    parts = [derived_values.part_facts(part, texts.get((part.turn, part.part), "")) for part in inspection.parts]
    steps = [derived_values.step_facts(step, position, texts) for step in inspection.chain.steps]
    diagnostics = [derived_values.diagnostic_facts(diagnostic) for diagnostic in inspection.diagnostics]
    rules = {diagnostic.rule.code: derived_values.rule_facts(diagnostic.rule) for diagnostic in inspection.diagnostics}
    chain = structs.replace(inspection.chain, steps=steps)
    stored = structs.replace(inspection, parts=parts, chain=chain, diagnostics=diagnostics)
    return pack([derived_values.LAYOUT, rules, stored])


def _from_one_piece(raw: bytes, texts: derived_values.Texts) -> Inspection:
    """The inspection of an unpaged blob; stores equal strings once."""
    layout, *packed = unpack_list(raw)
    if unpack(layout) != derived_values.LAYOUT:
        raise derived_values.OtherLayoutError("the inspection has the layout of another version")
    by_code = derived_values.rules_from(unpack(packed[0]))
    version, format_, parts, chain, diagnostics = unpack(packed[1])
    built_parts = tuple([derived_values.part_from(part, texts) for part in parts])
    placed = _placed(built_parts)
    pool: paged_blobs.StringPool = {}
    chain[0] = [derived_values.step_from(step, placed, placed, texts) for step in chain[0]]
    return Inspection(
        version,
        format_,
        built_parts,
        msgspec.convert(chain, Chain),
        tuple([derived_values.diagnostic_from(diagnostic, by_code, pool) for diagnostic in diagnostics]),
    )


def _placed(parts: Iterable[PartInspection]) -> list[ToolCall | ToolResult]:
    """The calls and results of all parts in one list; steps refer to them by position."""
    placed: list[ToolCall | ToolResult] = []
    for part in parts:
        placed += part.calls
        placed += part.results
    return placed


_Item = TypeVar("_Item")
_Row: TypeAlias = Uneven[_Item] | tuple[_Item, ...]


def is_wide(inspection: Inspection) -> bool:
    """Whether an inspection is too large to be built at once."""
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
    """An inspection of the trace with these texts: a short byte string for its digest, and a paged blob."""
    chain = inspection.chain
    rows = _packed_parts(inspection.parts, texts)
    calls, results = rows.calls, rows.results

    def position(item: ToolCall | ToolResult, place: Location | None) -> int | None:
        if place is None:
            return None
        text = texts.get((place.turn, place.part), "")
        return calls.position(item, place, text) if isinstance(item, ToolCall) else results.position(item, place, text)

    steps, diagnostics = paged_blobs.PagedRowWriter(), paged_blobs.PagedRowWriter()
    for step in chain.steps:
        steps.add(derived_values.step_facts(step, position, texts))
    rules: dict[str, list[Any]] = {}
    for diagnostic in inspection.diagnostics:
        rules.setdefault(diagnostic.rule.code, derived_values.rule_facts(diagnostic.rule))
        diagnostics.add(derived_values.diagnostic_facts(diagnostic))
    writers = (rows.spans, calls, results, rows.parts, steps, diagnostics)
    header = [
        derived_values.LAYOUT,
        inspection.version,
        inspection.format,
        structs.replace(chain, steps=()),
        rules,
        [row.lengths() for row in writers],
    ]
    digest_source = b"".join((pack(header), *(row.digest.digest() for row in writers)))
    return digest_source, paged_blobs.paged_blob(header, [piece for row in writers for piece in row.pieces])


def read_wide(read: paged_blobs.Read, texts: derived_values.Texts, *, in_columns: bool) -> Inspection:
    """The inspection of a paged blob whose checksum was verified, for the trace with these texts.

    With `in_columns`, its items are in lazy columns and are built when they are accessed; otherwise all are built at
    once. OtherLayoutError for another layout.
    """
    blob = paged_blobs.PagedBlob(read)
    layout, *packed = blob.header
    if layout != derived_values.LAYOUT:
        raise derived_values.OtherLayoutError("the inspection has the layout of another version")
    version, name, chain, rule_values, lengths = packed
    rules, rows = derived_values.rules_from(rule_values), paged_blobs.PagedRows(blob)

    def call(facts: list[Any], _pool: paged_blobs.StringPool) -> ToolCall:
        turn, part, call = facts
        return derived_values.call_from(call, texts.get((turn, part), ""))

    def result(facts: list[Any], _pool: paged_blobs.StringPool) -> ToolResult:
        turn, part, result = facts
        return derived_values.result_from(result, texts.get((turn, part), ""))

    def step(facts: list[Any], _pool: paged_blobs.StringPool) -> Step:
        return derived_values.step_from(facts, calls, results, texts)

    def diagnostic(facts: list[Any], pool: paged_blobs.StringPool) -> Diagnostic:
        return derived_values.diagnostic_from(facts, rules, pool)

    def part(facts: list[Any], pool: paged_blobs.StringPool) -> PartInspection:
        turn, part, format_, definitions, *ranges = facts
        return PartInspection(
            turn,
            pool.setdefault(part, part),
            pool.setdefault(format_, format_),
            _slice(spans, *ranges[4:]),
            _slice(calls, *ranges[:2]),
            _slice(results, *ranges[2:4]),
            tuple(tool_from(tool) for tool in definitions),
        )

    def row(number: int, make: Callable[[Any, paged_blobs.StringPool], _Item]) -> Uneven[_Item] | tuple[_Item, ...]:
        uneven = rows.next(lengths[number], make)
        return uneven if in_columns else tuple(uneven)

    spans: _Row[Span] = row(0, lambda facts, _: msgspec.convert(facts, Span))
    calls: _Row[ToolCall] = row(1, call)
    results: _Row[ToolResult] = row(2, result)
    return Inspection(
        version,
        name,
        row(3, part),
        structs.replace(msgspec.convert(chain, Chain), steps=row(4, step)),
        row(5, diagnostic),
    )


class _PartRows:
    """The rows of the parts so far, and of their spans, calls and results."""

    def __init__(self) -> None:
        self.parts, self.spans = paged_blobs.PagedRowWriter(), paged_blobs.PagedRowWriter()
        self.calls = _PlacedRows[ToolCall](derived_values.call_facts)
        self.results = _PlacedRows[ToolResult](derived_values.result_facts)

    def add(self, part: PartInspection, text: str) -> None:
        """Add a part with this text."""
        ranges = [self.calls.count, len(part.calls), self.results.count, len(part.results), self.spans.count]
        definitions = [tool_facts(tool) for tool in part.definitions]
        self.parts.add([part.turn, part.part, part.format, definitions, *ranges, len(part.spans)])
        for span in part.spans:
            self.spans.add(span)
        self.calls.place(part.calls, part, text)
        self.results.place(part.results, part, text)

    def copy(self) -> "_PartRows":
        """The same rows, to which others are added."""
        rows = _PartRows()
        rows.parts, rows.spans = self.parts.copy(), self.spans.copy()
        rows.calls, rows.results = self.calls.copy(), self.results.copy()
        return rows


class _PackedParts(Struct, frozen=True):
    """The rows of a session's first parts, with the parts and their texts."""

    parts: Sequence[PartInspection]
    texts: Sequence[str]
    rows: _PartRows


_packed_before: RecentValues[_PackedParts] = RecentValues()  # by the first part, which each of them holds
_LAST_PARTS, _MORE_PARTS = 64, 512  # those that a further line may change, those after which more are remembered


def _packed_parts(parts: Sequence[PartInspection], texts: derived_values.Texts) -> _PartRows:
    """The rows of all parts; those of a session that grows are copied as far as they are those of before."""
    key = id(parts[0]) if parts and is_memoizing() else None
    before = _packed_before.get(key) if key is not None else None
    if before is not None and not _begins_with(parts, texts, before):
        before = None
    rows, first = (_PartRows(), 0) if before is None else (before.rows.copy(), len(before.parts))
    last = len(parts) - _LAST_PARTS if key is not None and len(parts) - first > _MORE_PARTS else -1
    for number, part in enumerate(parts[first:] if first else parts, first):
        if number == last:
            held = tuple(parts[:last])
            said = tuple(texts.get((part.turn, part.part), "") for part in held)
            _packed_before.put(key, _PackedParts(held, said, rows.copy()))
        rows.add(part, texts.get((part.turn, part.part), ""))
    return rows


def _begins_with(parts: Sequence[PartInspection], texts: derived_values.Texts, before: _PackedParts) -> bool:
    """Whether a session begins with the very parts and texts of before."""
    return len(before.parts) <= len(parts) and all(
        part is old and texts.get((part.turn, part.part), "") is text
        for part, old, text in zip(parts, before.parts, before.texts, strict=False)
    )


class _PlacedRows(paged_blobs.PagedRowWriter, Generic[_Item]):
    """Packs calls or results, and finds the position of each by its packed values, which include its location.

    Most steps refer to the very object that the inspection holds: that one is found by its identity.
    """

    def __init__(self, facts_of: Callable[[_Item, str], _Item]) -> None:
        super().__init__()
        self._facts_of = facts_of
        self._positions: dict[bytes, int] = {}
        self._held: dict[tuple[int, int, str], int] = {}

    def place(self, items: Sequence[_Item], part: PartInspection, text: str) -> None:
        """Add the items of a part with this text."""
        is_held = isinstance(items, tuple)  # a column builds its items when they are accessed
        for item in items:
            packed = self.add([part.turn, part.part, self._facts_of(item, text)])
            position = self._positions.setdefault(_digest(packed), self.count - 1)
            if is_held:
                self._held[id(item), part.turn, part.part] = position

    def position(self, item: _Item, place: Location, text: str) -> int | None:
        """The position of the first with exactly these values; None if there is none."""
        held = self._held.get((id(item), place.turn, place.part))
        if held is not None:
            return held
        return self._positions.get(_digest(pack([place.turn, place.part, self._facts_of(item, text)])))


def _digest(packed: bytes) -> bytes:
    return blake2b(packed, digest_size=_DIGEST).digest()


def _slice(row: _Row[_Item], start: int, length: int) -> Entries[_Item]:
    if isinstance(row, tuple) or not length:
        return row[start : start + length]
    return ColumnSlice(row, start, start + length)
