"""Edits of a value that a JSON text holds, as edits of that text: escapes stay as they are written."""

from collections.abc import Sequence

from inspector.dataset.record_slots import Slot
from inspector.diagnostics import Edit
from inspector.json_scanner import JsonKind, decode_string
from inspector.json_text import write_json
from inspector.model import Decoded, Literal
from inspector.text import Range, lone_surrogates


class RecordPart:
    """One part's text and where in the record its characters stand; what was found out once is kept for the next."""

    def __init__(self, record: str, slot: Slot) -> None:
        content = Range(slot.node.range.start + 1, slot.node.range.end - 1)
        self._before, self._ascii_only = slot.before, record.isascii()
        self._literal: Literal | None = None
        if slot.node.kind is JsonKind.STRING:
            self._literal = Literal(content.start, content.of(record), str(slot.node.scalar))
            self._decoded = Decoded([self._literal])

    def place(self, within: Range) -> Range | None:
        """Where a range of the text stands; None where the value is no string, or the range begins before it."""
        if self._literal is None or within.start < self._before:
            return None
        return self._decoded.place(within.moved(-self._before))

    def edits(self, edits: Sequence[Edit]) -> tuple[Edit, ...]:
        """Edits of the text as edits of the record; none where one of them would cut an escape in two."""
        made: list[Edit] = []
        for edit in edits:
            place = self.place(edit.range)
            if place is None or self._literal is None or not self._is_whole(place, edit.range):
                return ()
            made.append(Edit(place, between_quotes(edit.text, ascii_only=self._ascii_only)))
        return tuple(made)

    def _is_whole(self, place: Range, within: Range) -> bool:
        """Whether the raw characters say exactly what stands in the range."""
        assert self._literal is not None
        raw = place.moved(-self._literal.start).of(self._literal.raw)
        return decode_string(raw) == within.moved(-self._before).of(self._literal.text)


def edits_of_literal(literal: Literal, edits: Sequence[Edit], *, ascii_only: bool) -> list[Edit]:
    """Edits of a string's value as edits of the text that it stands in."""
    decoded = Decoded([literal])
    return [Edit(decoded.place(edit.range), between_quotes(edit.text, ascii_only=ascii_only)) for edit in edits]


def between_quotes(text: str, *, ascii_only: bool) -> str:
    """A text as a JSON string spells it; what no encoding can hold becomes an escape."""
    return write_json(text, ascii_only=ascii_only or any(lone_surrogates(text)))[1:-1]
