r"""Writes repairs into the original record of a trace; every other character of the record stays unchanged.

Theory of operation. A repair edits the text of a part; the record has that text as one of its values, its slot:

    record    {"id": 7, "text": "{\"name\": \"f\", \"arguments\": {\"a\": True,}}"}
    part      {"name": "f", "arguments": {"a": True,}}                    the text of turn 1
    slot      the string after "text"                                     (`find_slots`)
    edits     33..37 -> true, 37..38 -> deleted                           in the part's text
    record    {"id": 7, "text": "{\"name\": \"f\", \"arguments\": {\"a\": true}}"}

Which value a part was read from is not recorded: it is found again by its place among the messages and its text, which
must be equal. Positions are mapped through the string's escapes (`Decoded`). An edit that would split an escape writes
the whole string anew, and a part without a slot is left as it was and reported.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from weaklink.inspector.apis.openai.located import read_calls
from weaklink.inspector.apis.openai.messages import TEXT_BLOCKS
from weaklink.inspector.dataset.repair import AppliedRepair, PartKey, Repair
from weaklink.inspector.diagnostics import Edit, edit_range, edited
from weaklink.inspector.json_scanner import JsonKind, JsonNode, decode_string, read_json
from weaklink.inspector.json_text import compact_json, write_json
from weaklink.inspector.model import Decoded, Literal, Role, Trace
from weaklink.inspector.text import Range, lone_surrogates

_LISTS = ("messages", "conversations", "conversation", "items")
_ANSWERS = ("completion", "chosen")  # lists of messages: the last turns
_MIN_UNIQUE_CHARS = 8
_TEXTS = ("text", "completion", "output", "response", "generated_text", "result")


class Slot(Struct, frozen=True):
    """The JSON value that contains a part's text: a string, or an object of arguments.

    The first `before` code points of the part are elsewhere: a completion continues a prompt in a chat template. A
    negative number is the position of the part within a longer string: arguments in the text of a call.
    """

    node: JsonNode
    before: int = 0


def find_slots(row: JsonNode, trace: Trace) -> dict[PartKey, Slot]:
    """The slot of each part that has one.

    `row` is the record, and `trace` the trace that its importer built from it. A value is a slot only if its text is
    the part's text or the end of it, so a part that an importer built from several values has none. In a shape that is
    not known here, the slot of an answer's text or arguments is the only string that contains them, once.
    """
    slots: dict[PartKey, Slot] = {}
    for number, message in _messages(row, trace):
        turn = trace.turns[number - 1]
        for name, value in _values(message):
            part = turn.part(name)
            before = _before(value, part.text, is_end=number == len(trace.turns)) if part is not None else None
            if before is not None:
                slots[number, name] = Slot(value, before)
    strings: list[JsonNode] | None = None
    for number, turn in enumerate(trace.turns, 1):
        for part in turn.parts if turn.role is Role.ASSISTANT else ():
            if (number, part.name) not in slots and len(part.text) >= _MIN_UNIQUE_CHARS:
                strings = list(_strings(row)) if strings is None else strings
                slot = _only_slot(strings, part.text)
                if slot is not None:
                    slots[number, part.name] = slot
    return slots


def _strings(node: JsonNode) -> Iterator[JsonNode]:
    """The strings in a record."""
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current.scalar, str):
            yield current
        pending += (*current.items, *(member.value for member in current.members))


def _only_slot(strings: Iterable[JsonNode], text: str) -> Slot | None:
    holders = [string for string in strings if text in str(string.scalar)]
    if len(holders) != 1 or str(holders[0].scalar).count(text) != 1:
        return None
    return Slot(holders[0], -str(holders[0].scalar).index(text))


def _messages(row: JsonNode, trace: Trace) -> Iterator[tuple[int, JsonNode]]:
    """The number of each turn, and the message or the value from which it was read."""
    if row.kind is JsonKind.ARRAY:
        yield from _numbered(row.items, trace)
        return
    listed = next((member.value for key in _LISTS if (member := row.member(key)) is not None), None)
    if listed is not None:
        system = row.member("system")
        if system is not None and len(trace.turns) == len(listed.items) + 1:
            yield 1, system.value
        yield from _numbered(listed.items, trace)
        return
    answers = next((member for key in _ANSWERS if (member := row.member(key)) is not None), None)
    if answers is not None and 0 < len(answers.value.items) <= len(trace.turns):
        yield from enumerate(answers.value.items, len(trace.turns) - len(answers.value.items) + 1)
        return
    answer = next((member.value for key in _TEXTS if (member := row.member(key)) is not None), None)
    if answer is not None and trace.turns:
        yield len(trace.turns), answer


def _numbered(messages: tuple[JsonNode, ...], trace: Trace) -> Iterator[tuple[int, JsonNode]]:
    """The messages are the last turns, in order: a separate system prompt is a turn before them."""
    before = len(trace.turns) - len(messages)
    if before in (0, 1):
        yield from enumerate(messages, before + 1)


def _values(message: JsonNode) -> Iterator[tuple[str, JsonNode]]:
    """The names of a message's parts, and the values that may contain their texts."""
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
    for index, call in enumerate(read_calls(message)):
        if call.arguments is not None:
            yield f"call:{index}", call.arguments


def _texts(value: JsonNode) -> Iterator[tuple[str, JsonNode]]:
    """A text, or the only text among a message's blocks."""
    if value.kind is not JsonKind.ARRAY:
        yield "text", value
        return
    kinds = ((block.member("type"), block.member("text")) for block in value.items)
    texts = [
        text.value for kind, text in kinds if kind is not None and text is not None and kind.value.scalar in TEXT_BLOCKS
    ]
    if len(texts) == 1:
        yield "text", texts[0]


def _bare_calls(listed: JsonNode) -> Iterator[tuple[str, JsonNode]]:
    """The arguments of calls in BFCL's form: `[{"name": "{...}"}]`."""
    calls = [member.value for item in listed.items for member in item.members]
    yield from ((f"call:{index}", value) for index, value in enumerate(calls))


def _before(value: JsonNode, text: str, *, is_end: bool) -> int | None:
    """The number of code points of a part's text before the value's text; None if the value has another text."""
    if value.kind is JsonKind.OBJECT:
        return 0 if compact_json(value.value()) == text else None
    value_text = value.scalar if value.kind is JsonKind.STRING else None
    if not isinstance(value_text, str) or not (
        text.endswith(value_text) if is_end and value_text else text == value_text
    ):
        return None
    return len(text) - len(value_text)


class RewrittenRecord(Struct, frozen=True):
    """A record's text after its repairs, the repairs that were made, and those without a slot in the record."""

    text: str
    changes: tuple[AppliedRepair, ...]
    unplaced: tuple[AppliedRepair, ...] = ()


def rewrite_record(text: str, trace: Trace, repair: Repair) -> RewrittenRecord:
    """A record's JSON with the repairs of `trace`, which its importer built from it.

    Only the characters that an edit touches change, and the escaping follows the record: an ASCII record stays ASCII. A
    repair of a part whose text is not a single value of the record is unplaced.
    """
    reading = read_json(text)
    slots = find_slots(reading.nodes[0], trace) if reading.strict and reading.nodes else {}
    by_part: dict[PartKey, list[AppliedRepair]] = {}
    for change in repair.changes:
        by_part.setdefault(change.part_key, []).append(change)
    located = {
        part_key
        for part_key, part_changes in by_part.items()
        if part_key in slots and _all_within(slots[part_key], part_changes)
    }
    edits = [Edit(*_rewritten(text, slots[part_key], by_part[part_key])) for part_key in located]
    rewritten = edited(text, sorted(edits, key=edit_range))
    if edits and not read_json(rewritten).strict:  # arguments that are not a string were only partly repaired
        return RewrittenRecord(text, (), repair.changes)
    applied = tuple(change for change in repair.changes if change.part_key in located)
    return RewrittenRecord(
        rewritten, applied, tuple(change for change in repair.changes if change.part_key not in located)
    )


def _all_within(slot: Slot, changes: Iterable[AppliedRepair]) -> bool:
    """Whether no change touches the text before the slot's value."""
    return all(edit.range.start >= slot.before for change in changes for edit in change.edits)


def _rewritten(record: str, slot: Slot, changes: Sequence[AppliedRepair]) -> tuple[Range, str]:
    """The range of the record to replace, and its new text."""
    rounds = [_edits_of(group, slot.before) for _, group in groupby(changes, key=lambda change: change.round)]
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
    """A string's raw content and its value after these edits of the value."""
    new_raw = edited(raw, edits_of_literal(Literal(0, raw, text), edits, ascii_only=ascii_only))
    new_text = edited(text, edits)
    if decode_string(new_raw) != new_text:  # an edit split an escape, or a surrogate pair
        new_raw = between_quotes(new_text, ascii_only=ascii_only)
    return new_raw, new_text


def _edits_of(changes: Iterable[AppliedRepair], before: int) -> list[Edit]:
    edits = (Edit(edit.range.moved(-before), edit.text) for change in changes for edit in change.edits)
    return sorted(edits, key=edit_range)


class RecordPart:
    """Maps positions in one part's text to positions in the record; the decoded string is kept for later calls."""

    def __init__(self, record: str, slot: Slot) -> None:
        content = Range(slot.node.range.start + 1, slot.node.range.end - 1)
        self._before, self._ascii_only = slot.before, record.isascii()
        self._literal: Literal | None = None
        if slot.node.kind is JsonKind.STRING:
            self._literal = Literal(content.start, content.of(record), str(slot.node.scalar))
            self._decoded = Decoded([self._literal])

    def record_range(self, within: Range) -> Range | None:
        """The position of a range of the text in the record; None if the slot is not a string or begins later."""
        if self._literal is None or within.start < self._before:
            return None
        return self._decoded.place(within.moved(-self._before))

    def edits(self, edits: Sequence[Edit]) -> tuple[Edit, ...]:
        """Edits of the text as edits of the record; empty if one of them would split an escape."""
        record_edits: list[Edit] = []
        for edit in edits:
            record_range = self.record_range(edit.range)
            if record_range is None or self._literal is None or not self._is_whole(record_range, edit.range):
                return ()
            record_edits.append(Edit(record_range, between_quotes(edit.text, ascii_only=self._ascii_only)))
        return tuple(record_edits)

    def _is_whole(self, record_range: Range, within: Range) -> bool:
        """Whether the raw characters decode to exactly the text of the range."""
        assert self._literal is not None
        raw = record_range.moved(-self._literal.start).of(self._literal.raw)
        return decode_string(raw) == within.moved(-self._before).of(self._literal.text)


def edits_of_literal(literal: Literal, edits: Sequence[Edit], *, ascii_only: bool) -> list[Edit]:
    """Edits of a string's value as edits of the text that contains the string."""
    decoded = Decoded([literal])
    return [Edit(decoded.place(edit.range), between_quotes(edit.text, ascii_only=ascii_only)) for edit in edits]


def between_quotes(text: str, *, ascii_only: bool) -> str:
    """A text as the content of a JSON string; if it has lone surrogates, all non-ASCII characters are escaped."""
    return write_json(text, ascii_only=ascii_only or any(lone_surrogates(text)))[1:-1]
