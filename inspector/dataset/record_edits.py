"""Edits of a value that a JSON text holds, as edits of that text: escapes stay as they are written."""

from collections.abc import Sequence

from inspector.dataset.record_slots import Slot
from inspector.dataset.repair import edited
from inspector.diagnostics import Edit
from inspector.json_scanner import JsonKind, decode_string
from inspector.json_text import write_json
from inspector.model import Decoded, Literal
from inspector.text import Range, lone_surrogates


def place_in_record(record: str, slot: Slot, place: Range) -> Range | None:
    """Where in a record a range of a part's text stands; None where its value is no string, or it stands before it."""
    if slot.node.kind is not JsonKind.STRING or place.start < slot.before:
        return None
    return Decoded([_literal(record, slot)]).place(place.moved(-slot.before))


def edits_in_record(record: str, slot: Slot, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Edits of a part's text as edits of the record; none where one of them would cut an escape in two."""
    literal = _literal(record, slot)
    inner = [Edit(edit.range.moved(-slot.before), edit.text) for edit in edits]
    if any(edit.range.start < 0 for edit in inner):
        return ()
    raw_edits = edits_of_literal(literal, inner, ascii_only=record.isascii())
    inside = [Edit(edit.range.moved(-literal.start), edit.text) for edit in raw_edits]
    agrees = decode_string(edited(literal.raw, inside)) == edited(literal.text, inner)
    return tuple(raw_edits) if agrees else ()


def edits_of_literal(literal: Literal, edits: Sequence[Edit], *, ascii_only: bool) -> list[Edit]:
    """Edits of a string's value as edits of the text that it stands in."""
    decoded = Decoded([literal])
    return [Edit(decoded.place(edit.range), between_quotes(edit.text, ascii_only=ascii_only)) for edit in edits]


def between_quotes(text: str, *, ascii_only: bool) -> str:
    """A text as a JSON string spells it; what no encoding can hold becomes an escape."""
    return write_json(text, ascii_only=ascii_only or any(lone_surrogates(text)))[1:-1]


def _literal(record: str, slot: Slot) -> Literal:
    content = Range(slot.node.range.start + 1, slot.node.range.end - 1)
    return Literal(content.start, content.of(record), str(slot.node.scalar))
