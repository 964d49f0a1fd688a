"""An inspection as bytes: one blob a trace, from which every derived value comes back as it was."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from inspector.chain.steps import Chain, Status
from inspector.diagnostics import Location
from inspector.inspection import Inspection, PartInspection
from inspector.model import ToolCall, ToolResult
from storage.packing.blobs import from_blob, to_blob
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
from storage.packing.readings import part_from, part_reading
from storage.packing.shelf import is_shelf, reads
from storage.packing.shelf_rows import Once
from storage.packing.texts import Texts
from storage.packing.values import pack, unpack, unpack_list
from storage.packing.wide_inspections import is_wide, pack_wide, read_wide

_DIGEST = 16  # bytes


class PackedInspection(NamedTuple):
    """An inspection as it lies in the database, and a digest that is equal for those that say the same."""

    digest: bytes
    body: bytes


def pack_inspection(inspection: Inspection, texts: Texts) -> PackedInspection:
    """An inspection of the trace with these texts, as bytes."""
    if is_wide(inspection):
        said, body = pack_wide(inspection, texts)
    else:
        said = _in_one_piece(inspection, texts)
        body = to_blob(said)
    return PackedInspection(blake2b(said, digest_size=_DIGEST).digest(), body)


def unpack_inspection(body: bytes, texts: Texts, *, in_columns: bool = False) -> Inspection:
    """The inspection that `pack_inspection` was given with the same texts.

    What a wide inspection holds is made where somebody looks, where it is wanted `in_columns`. OtherLayoutError for one
    of another layout; DamagedBlobError, or another ValueError, for bytes that `pack_inspection` never made.
    """
    if is_shelf(body):
        return read_wide(reads(body), texts, in_columns=in_columns)
    return _from_one_piece(from_blob(body), texts)


def _in_one_piece(inspection: Inspection, texts: Texts) -> bytes:
    chain = inspection.chain
    placed = _placed(inspection.parts)  # held until all is packed: an id is that of a thing that is there
    places = {id(value): at for at, value in enumerate(placed)}

    def position(thing: ToolCall | ToolResult, _place: Location | None) -> int | None:
        return places.get(id(thing))

    return pack(
        [
            LAYOUT,
            inspection.version,
            inspection.format,
            [part_reading(part, texts.get((part.turn, part.part), "")) for part in inspection.parts],
            [step_facts(step, position, texts) for step in chain.steps],
            chain.status.value,
            break_facts(chain.broken),
            chain.abort_reason,
            {one.rule.code: rule_facts(one.rule) for one in inspection.diagnostics},
            [diagnostic_facts(diagnostic) for diagnostic in inspection.diagnostics],
            chain.caused,
        ]
    )


def _from_one_piece(raw: bytes, texts: Texts) -> Inspection:
    """Each thing is unpacked by itself, and equal words are kept once."""
    layout, *packed = unpack_list(raw)
    if unpack(layout) != LAYOUT:
        raise OtherLayoutError("the inspection has another layout")
    version, name, parts, steps, status, broken, abort_reason, rules, diagnostics, caused = packed
    read = tuple(part_from(part, texts) for part in unpack_list(parts))
    placed = _placed(read)
    by_code = rules_from(unpack(rules))
    once: Once = {}
    return Inspection(
        unpack(version),
        unpack(name),
        read,
        Chain(
            tuple(step_from(unpack(step), placed, placed, texts, once) for step in unpack_list(steps)),
            Status(unpack(status)),
            break_from(unpack(broken)),
            unpack(abort_reason),
            tuple(unpack(caused)),
        ),
        tuple(diagnostic_from(unpack(diagnostic), by_code, once) for diagnostic in unpack_list(diagnostics)),
    )


def _placed(parts: Iterable[PartInspection]) -> list[ToolCall | ToolResult]:
    """The calls and results of all parts in one row, as steps name them: by position."""
    placed: list[ToolCall | ToolResult] = []
    for part in parts:
        placed += part.calls
        placed += part.results
    return placed
