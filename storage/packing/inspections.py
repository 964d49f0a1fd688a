"""An inspection as bytes: one blob per trace, from which every derived value can be restored.

Theory of operation. An inspection is disposable: it can be computed again from its trace at any time. So its blob has
no versions and no upgrade steps. It begins with LAYOUT, a checksum of the fields of all Structs in it; another one
raises OtherLayoutError, and the reader inspects the trace instead. After it come the rules and the inspection, as
MessagePack:

    [3405691582, {"J104": ["trailing-comma", "error"]}, ["0.3.0", "hermes", parts, chain, diagnostics]]

* What the trace's texts have already is not stored again (`derived_values`), and neither is an object that is in the
  inspection twice: a step has the position of its call and its result among those of all parts, in order. Positions are
  found by identity, since `inspect_trace` puts the very objects of the parts into the steps; any other is stored whole.
* The blob is compressed as a whole: parts, steps and faults of one trace resemble each other.
* It is read item by item: an item's plain values are dropped as soon as its Struct is built.

There is no second form for large inspections, since opening a trace passes over all of its turns, steps and faults
anyway. That of 10,000 turns with 5,000 calls takes 78 kB, is packed in 0.05 s of CPU time and read in 0.08 s (November
2026, `benchmarks.large_traces`).
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

import msgspec
from msgspec import structs

from weaklink.inspector.chain.steps import Chain
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.model import ToolCall, ToolResult
from weaklink.storage.packing import derived_values
from weaklink.storage.packing.blobs import from_blob, to_blob
from weaklink.storage.packing.values import pack, unpack, unpack_list

_DIGEST = 16  # bytes
_PAGED = (b"\x5a", b"\2")  # the first bytes of the blobs in which weaklink 0.2.0 stored large inspections


class PackedInspection(NamedTuple):
    """An inspection in the form of its column, and a digest that is equal for equal inspections."""

    digest: bytes
    body: bytes


def pack_inspection(inspection: Inspection, texts: derived_values.Texts) -> PackedInspection:
    """An inspection of the trace with these texts, as bytes."""
    placed = _placed(inspection.parts)  # held until all is packed: the id() of an object is valid only while it lives
    indices = {id(value): index for index, value in enumerate(placed)}

    def position(item: ToolCall | ToolResult) -> int | None:
        return indices.get(id(item))

    parts = [derived_values.part_facts(part, texts.get((part.turn, part.part), "")) for part in inspection.parts]
    steps = [derived_values.step_facts(step, position, texts) for step in inspection.chain.steps]
    diagnostics = [derived_values.diagnostic_facts(diagnostic) for diagnostic in inspection.diagnostics]
    met = (diagnostic.rule for diagnostic in inspection.diagnostics)
    rules = {derived_values.rule_key(rule): derived_values.rule_facts(rule) for rule in met}
    chain = structs.replace(inspection.chain, steps=steps)
    stored = structs.replace(inspection, parts=parts, chain=chain, diagnostics=diagnostics)
    content = pack([derived_values.LAYOUT, rules, stored])
    return PackedInspection(blake2b(content, digest_size=_DIGEST).digest(), to_blob(content))


def unpack_inspection(body: bytes, texts: derived_values.Texts) -> Inspection:
    """The inverse of `pack_inspection`, with the same texts; stores equal strings once.

    OtherLayoutError for another layout; DamagedBlobError, or another ValueError, for bytes that `pack_inspection` did
    not return.
    """
    if body[:1] in _PAGED:
        raise derived_values.OtherLayoutError("the inspection has the layout of weaklink 0.2.0")
    layout, *packed = unpack_list(from_blob(body))
    if unpack(layout) != derived_values.LAYOUT:
        raise derived_values.OtherLayoutError("the inspection has the layout of another version")
    rules = derived_values.rules_from(unpack(packed[0]))
    version, format_, parts, chain, diagnostics = unpack_list(packed[1])
    steps, *verdict = unpack_list(chain)
    pool: derived_values.StringPool = {}
    built_parts = tuple([derived_values.part_from(unpack(part), texts, pool) for part in unpack_list(parts)])
    placed = _placed(built_parts)
    return Inspection(
        unpack(version),
        unpack(format_),
        built_parts,
        structs.replace(
            msgspec.convert([(), *map(unpack, verdict)], Chain),
            steps=tuple([derived_values.step_from(unpack(step), placed, texts) for step in unpack_list(steps)]),
        ),
        tuple([derived_values.diagnostic_from(unpack(item), rules, pool) for item in unpack_list(diagnostics)]),
    )


def _placed(parts: Iterable[PartInspection]) -> list[ToolCall | ToolResult]:
    """The calls and results of all parts in one list; steps refer to them by position."""
    placed: list[ToolCall | ToolResult] = []
    for part in parts:
        placed += part.calls
        placed += part.results
    return placed
