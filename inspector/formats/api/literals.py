"""Strings of an API's JSON with their raw characters, and faults in what they hold put back onto those."""

from dataclasses import replace

from inspector.diagnostics import Edit, Fault, Fix, Related
from inspector.formats.api.units import Unit
from inspector.json_scanner import JsonNode
from inspector.model import Decoded, Literal


def literal(node: JsonNode, unit: Unit) -> Literal:
    """The content of a string node of a unit's value; a string that the text's end cuts off has no closing quote."""
    first, end = node.range.start, node.range.end
    raw = unit.readable
    closed = end - first >= 2 and raw[end - 1] == raw[first] and not _escaped(raw, first + 1, end - 1)
    content = raw[first + 1 : end - 1] if closed else raw[first + 1 : end]
    text = node.scalar if isinstance(node.scalar, str) else content
    return Literal(unit.base + first + 1, content, text)


def raw_fault(fault: Fault, decoded: Decoded) -> Fault:
    """A fault found in a decoded text, at the raw characters; its edits write what belongs into a JSON string."""
    return replace(
        fault,
        range=decoded.place(fault.range),
        fix=_raw_fix(fault.fix, decoded) if fault.fix is not None else None,
        related=tuple(Related(decoded.place(one.range), one.message) for one in fault.related),
        call=replace(fault.call, range=decoded.place(fault.call.range)) if fault.call is not None else None,
    )


def _raw_fix(fix: Fix, decoded: Decoded) -> Fix:
    edits: list[Edit] = []
    for edit in fix.edits:
        text = decoded.written(edit.text)
        for place in decoded.places(edit.range):
            edits.append(Edit(place, text))
            text = ""
    return Fix(tuple(edits), fix.safe)


def _escaped(text: str, start: int, at: int) -> bool:
    """Whether the character at `at` is behind an odd number of backslashes, of which none stands before `start`."""
    before = text[start:at]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1
