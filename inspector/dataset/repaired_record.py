"""Writes repairs into the very record that a trace came from: what is not repaired stays character for character."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from inspector.dataset.record_edits import between_quotes, edits_of_literal
from inspector.dataset.record_slots import find_slots
from inspector.dataset.repair import Change, Place, Repair, edited
from inspector.diagnostics import Edit
from inspector.json_scanner import JsonKind, JsonNode, decode_string, read_json
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
    changes = repair.changes
    reading = read_json(text)
    slots = find_slots(reading.nodes[0], trace) if reading.strict and reading.nodes else {}
    placed = tuple(change for change in changes if change.place in slots)
    by_place: dict[Place, list[Change]] = {}
    for change in placed:
        by_place.setdefault(change.place, []).append(change)
    edits = [Edit(*_rewritten(text, slots[place], mine)) for place, mine in by_place.items()]
    edits.sort(key=lambda edit: edit.range)
    rewritten = edited(text, edits)
    if edits and not read_json(rewritten).strict:  # arguments that are no string were left half repaired
        return RewrittenRecord(text, (), changes)
    return RewrittenRecord(rewritten, placed, tuple(change for change in changes if change.place not in slots))


def _rewritten(record: str, slot: JsonNode, changes: Iterable[Change]) -> tuple[Range, str]:
    """What is to be replaced in the record, and by what."""
    rounds = [_edits_of(group) for _, group in groupby(changes, key=_round)]
    if slot.kind is not JsonKind.STRING:
        first = next(iter(changes))
        text = first.text
        for edits in rounds:
            text = edited(text, edits)
        return slot.range, text
    content = Range(slot.range.start + 1, slot.range.end - 1)
    raw, text = content.of(record), str(slot.scalar)
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


def _edits_of(changes: Iterable[Change]) -> list[Edit]:
    return sorted((edit for change in changes for edit in change.edits), key=lambda edit: edit.range)


def _round(change: Change) -> int:
    return change.round
