"""Writes repairs into the very record that a trace came from: what is not repaired stays character for character."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from inspector.dataset.record_edits import between_quotes, edits_of_literal
from inspector.dataset.record_slots import Slot, find_slots
from inspector.dataset.repair import Change, Place, Repair
from inspector.diagnostics import Edit, edited
from inspector.json_scanner import JsonKind, decode_string, read_json
from inspector.model import Literal, Trace
from inspector.text import Range


@dataclass(frozen=True, slots=True)
class RewrittenRecord:
    """A record's text with repairs in it, those repairs, and those for which no place was found in it."""

    text: str
    changes: tuple[Change, ...]
    unplaced: tuple[Change, ...] = ()


def rewrite_record(text: str, trace: Trace, repair: Repair) -> RewrittenRecord:
    """A record's JSON with the repairs of `trace`, which its importer made of it.

    Only the characters that an edit touches change, in the spelling that the record itself uses: escapes stay ASCII
    where the record is. A repair of a part whose text stands nowhere in the record as one value is unplaced.
    """
    reading = read_json(text)
    slots = find_slots(reading.nodes[0], trace) if reading.strict and reading.nodes else {}
    by_place: dict[Place, list[Change]] = {}
    for change in repair.changes:
        by_place.setdefault(change.place, []).append(change)
    placed = {place for place, mine in by_place.items() if place in slots and _all_within(slots[place], mine)}
    edits = [Edit(*_rewritten(text, slots[place], by_place[place])) for place in placed]
    rewritten = edited(text, sorted(edits, key=_range))
    if edits and not read_json(rewritten).strict:  # arguments that are no string were left half repaired
        return RewrittenRecord(text, (), repair.changes)
    made = tuple(change for change in repair.changes if change.place in placed)
    return RewrittenRecord(rewritten, made, tuple(change for change in repair.changes if change.place not in placed))


def _all_within(slot: Slot, changes: Iterable[Change]) -> bool:
    """Whether no change touches what stands before the slot's value."""
    return all(edit.range.start >= slot.before for change in changes for edit in change.edits)


def _rewritten(record: str, slot: Slot, changes: Sequence[Change]) -> tuple[Range, str]:
    """What is to be replaced in the record, and by what."""
    rounds = [_edits_of(group, slot.before) for _, group in groupby(changes, key=_round)]
    node = slot.node
    if node.kind is not JsonKind.STRING:
        text = changes[0].text
        for edits in rounds:
            text = edited(text, edits)
        return node.range, text
    content = Range(node.range.start + 1, node.range.end - 1)
    raw, text = content.of(record), str(node.scalar)
    for edits in rounds:
        raw, text = _edited_string(raw, text, edits, ascii_only=record.isascii())
    return content, raw


def _edited_string(raw: str, text: str, edits: Sequence[Edit], *, ascii_only: bool) -> tuple[str, str]:
    """A string's raw content and its value after edits of the value."""
    new_raw = edited(raw, edits_of_literal(Literal(0, raw, text), edits, ascii_only=ascii_only))
    new_text = edited(text, edits)
    if decode_string(new_raw) != new_text:  # an edit has cut an escape, or a pair of surrogates
        new_raw = between_quotes(new_text, ascii_only=ascii_only)
    return new_raw, new_text


def _edits_of(changes: Iterable[Change], before: int) -> list[Edit]:
    edits = (Edit(edit.range.moved(-before), edit.text) for change in changes for edit in change.edits)
    return sorted(edits, key=_range)


def _range(edit: Edit) -> Range:
    return edit.range


def _round(change: Change) -> int:
    return change.round
