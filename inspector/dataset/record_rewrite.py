"""Writes repairs into the original record of a trace; everything that is not repaired stays character for character."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from inspector.apis.openai.located import call_arguments
from inspector.apis.openai.messages import TEXT_BLOCKS
from inspector.dataset.repair import AppliedRepair, PartPlace, Repair
from inspector.diagnostics import Edit, edited
from inspector.json_scanner import JsonKind, JsonNode, decode_string, read_json
from inspector.json_text import write_json
from inspector.model import Decoded, Literal, Trace
from inspector.text import Range, lone_surrogates
from inspector.wire.provider_json import compact_json

_LISTS = ("messages", "conversations", "conversation", "items")
_TEXTS = ("text", "completion", "output", "response", "generated_text", "result")


class Slot(Struct, frozen=True):
    """The value that holds a part's text: a string, or an object of arguments.

    `before` code points of the part stand elsewhere: a completion goes on where a prompt in a chat template ends.
    """

    node: JsonNode
    before: int = 0


def find_slots(row: JsonNode, trace: Trace) -> dict[PartPlace, Slot]:
    """The value of each part, as far as there is one.

    `row` is the record, `trace` what its importer made of it. A value counts only where its text is the part's, or the
    end of it, so a part that an importer has put together of several values has none.
    """
    found: dict[PartPlace, Slot] = {}
    for number, message in _messages(row, trace):
        turn = trace.turns[number - 1]
        for name, value in _values(message):
            part = turn.part(name)
            before = _before(value, part.text, is_end=number == len(trace.turns)) if part is not None else None
            if before is not None:
                found[number, name] = Slot(value, before)
    return found


def _messages(row: JsonNode, trace: Trace) -> Iterator[tuple[int, JsonNode]]:
    """The number of each turn, and the message or the value that it was made of."""
    if row.kind is JsonKind.ARRAY:
        yield from _numbered(row.items, trace)
        return
    listed = next((one.value for key in _LISTS if (one := row.member(key)) is not None), None)
    if listed is not None:
        system = row.member("system")
        if system is not None and len(trace.turns) == len(listed.items) + 1:
            yield 1, system.value
        yield from _numbered(listed.items, trace)
        return
    answer = next((one.value for key in _TEXTS if (one := row.member(key)) is not None), None)
    if answer is not None and trace.turns:
        yield len(trace.turns), answer


def _numbered(messages: tuple[JsonNode, ...], trace: Trace) -> Iterator[tuple[int, JsonNode]]:
    """Messages in order are the last turns: a system prompt beside them is a turn before."""
    before = len(trace.turns) - len(messages)
    if before in (0, 1):
        yield from enumerate(messages, before + 1)


def _values(message: JsonNode) -> Iterator[tuple[str, JsonNode]]:
    """The names of a message's parts, and the values that may hold their texts."""
    if message.kind is JsonKind.STRING:
        yield "text", message
    elif message.kind is JsonKind.ARRAY:
        yield from _bare_calls(message)
    for key in ("value", "content"):
        member = message.member(key)
        if member is not None:
            yield from _texts(member.value)
            if key == "value":
                yield "call:0", member.value
    for at, arguments in call_arguments(message):
        yield f"call:{at}", arguments


def _texts(value: JsonNode) -> Iterator[tuple[str, JsonNode]]:
    """A text, or the only text among a message's blocks."""
    if value.kind is not JsonKind.ARRAY:
        yield "text", value
        return
    kinds = ((block.member("type"), block.member("text")) for block in value.items)
    texts = [text.value for kind, text in kinds if kind is not None and text is not None and _is_text(kind.value)]
    if len(texts) == 1:
        yield "text", texts[0]


def _is_text(kind: JsonNode) -> bool:
    return isinstance(kind.scalar, str) and kind.scalar in TEXT_BLOCKS


def _bare_calls(listed: JsonNode) -> Iterator[tuple[str, JsonNode]]:
    """The arguments of calls as BFCL has them: `[{"name": "{...}"}]`."""
    calls = [member.value for item in listed.items for member in item.members]
    yield from ((f"call:{at}", value) for at, value in enumerate(calls))


def _before(value: JsonNode, text: str, *, is_end: bool) -> int | None:
    """How much of a part's text stands before what a value says; None where the value does not say the part's text."""
    if value.kind is JsonKind.OBJECT:
        return 0 if compact_json(value.value()) == text else None
    said = value.scalar if value.kind is JsonKind.STRING else None
    if not isinstance(said, str) or not (text.endswith(said) if is_end and said else text == said):
        return None
    return len(text) - len(said)


class RewrittenRecord(Struct, frozen=True):
    """A record's text with repairs in it, those repairs, and those for which no place was found in it."""

    text: str
    changes: tuple[AppliedRepair, ...]
    unplaced: tuple[AppliedRepair, ...] = ()


def rewrite_record(text: str, trace: Trace, repair: Repair) -> RewrittenRecord:
    """A record's JSON with the repairs of `trace`, which its importer made of it.

    Only the characters that an edit touches change, in the spelling that the record itself uses: escapes stay ASCII
    where the record is. A repair of a part whose text stands nowhere in the record as one value is unplaced.
    """
    reading = read_json(text)
    slots = find_slots(reading.nodes[0], trace) if reading.strict and reading.nodes else {}
    by_place: dict[PartPlace, list[AppliedRepair]] = {}
    for change in repair.changes:
        by_place.setdefault(change.place, []).append(change)
    placed = {place for place, mine in by_place.items() if place in slots and _all_within(slots[place], mine)}
    edits = [Edit(*_rewritten(text, slots[place], by_place[place])) for place in placed]
    rewritten = edited(text, sorted(edits, key=_range))
    if edits and not read_json(rewritten).strict:  # arguments that are no string were left half repaired
        return RewrittenRecord(text, (), repair.changes)
    made = tuple(change for change in repair.changes if change.place in placed)
    return RewrittenRecord(rewritten, made, tuple(change for change in repair.changes if change.place not in placed))


def _all_within(slot: Slot, changes: Iterable[AppliedRepair]) -> bool:
    """Whether no change touches what stands before the slot's value."""
    return all(edit.range.start >= slot.before for change in changes for edit in change.edits)


def _rewritten(record: str, slot: Slot, changes: Sequence[AppliedRepair]) -> tuple[Range, str]:
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


def _edits_of(changes: Iterable[AppliedRepair], before: int) -> list[Edit]:
    edits = (Edit(edit.range.moved(-before), edit.text) for change in changes for edit in change.edits)
    return sorted(edits, key=_range)


def _range(edit: Edit) -> Range:
    return edit.range


def _round(change: AppliedRepair) -> int:
    return change.round


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
