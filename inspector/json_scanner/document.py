"""Reads a whole payload: the values in it, and what surrounds them (fences, prose, surplus brackets).

Theory of operation. A payload should be one value. `_Document` reads what may be before it, then the value, then what
may follow, and each of these parts is a fault of its own, with an edit that deletes it:

    Here it is: {"a": 1}        prose up to the first character that begins a value; if it may name the tool, it stays
    ```json {"a": 1} ```        a fence, in one or two halves
    {"a": 1}}                   surplus closing brackets
    {"a": 1} Done.              prose up to the next object or fence
    {"a": 1} {"b": 2}           another object: a second call, no fault
    {"a": 1}, "b": 2}           the object closed too early: it is opened again (`_reopened`)
    1, 2]   "a": 1}             an opening bracket is missing before the first value (`_continues`)
"""

import re
from collections.abc import Sequence

from msgspec import Struct, field

from weaklink.inspector.diagnostics import Edit, Fault
from weaklink.inspector.json_scanner import messages
from weaklink.inspector.json_scanner.brackets import JsonMachine, balance, doubled_keys, open_missing_array
from weaklink.inspector.json_scanner.cursor import ExpectedToken, Frame, JsonCursor, PayloadFaults
from weaklink.inspector.json_scanner.reader import read_on, read_value, skip_trivia
from weaklink.inspector.json_scanner.values import NUMBER, JsonKind, JsonNode, JsonResult, read_strict
from weaklink.inspector.json_scanner.words import result_of
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import Range

_FENCE = re.compile(r"`{1,3}(?:[A-Za-z]\w{0,11}\b)?")
_BEGINS = re.compile(r"""\{\s*+(?:["'“‘\\}{]|[\w$]{1,64}\s*+:|//|/\*|\Z)|\[\s*+(?:[{\["'\]]|-?\d)|```""")
_OBJECT_OR_FENCE = re.compile(r"""\{\s*+(?:["'“\\]|\w{1,64}\s*+:)|```""")
_NEXT_OBJECT = re.compile(r"[,;]?\s*+\{")
_NEXT_ARRAY = re.compile(r"(?:[,;]\s*+)?\[(?=\s*+\{)")
_NEXT_MEMBER = re.compile(r"""\s*+,\s*+(["'“][^"'”\n]{0,100}["'”])\s*+:""")
_EXTRA_CLOSERS = re.compile(r"[}\])][}\])\s]*+")
_SCALAR = re.compile(
    rf"""
      (?: {NUMBER} | [-+]?(?:NaN|Infinity) | true | false | null | True | False | None ) \s*+ (?![\w.])
    | \( (?! \s*[A-Za-z] )                                      # a tuple, not a remark in parentheses
    """,
    re.VERBOSE,
)
# `f({...})`, `f {...}`, `<function=f>{...}`: the text before may be the tool's name, which must not be deleted.
_MAY_NAME = re.compile(r"[\w.-]++\s*+|.*[^\s:]", re.DOTALL)


def read_json(
    text: str, within: Range | None = None, *, call: bool = False, several_arrays: bool = False
) -> JsonResult:
    """Read all JSON in `text`, or in its range `within`: values with their positions, faults with their repairs.

    Never raises and takes linear time, whatever the text; ranges are relative to the beginning of `text`. `call` says
    that the payload is a tool call, whose root contains just a name and arguments: that locates most missing brackets.
    Consecutive objects are all read; with `several_arrays` consecutive arrays of objects are too. At most 100 faults
    are listed; one more then gives the number of the rest.
    """
    payload_range = within if within is not None else Range(0, len(text))
    node, doubled = read_strict(text, payload_range.start, payload_range.end)
    if node:
        findings = PayloadFaults(text)
        for each in doubled:
            for fault in doubled_keys(text, each):
                findings.add(fault)
        return JsonResult(payload_range, (node,), findings.finished(), strict=True, repairable=True)
    nodes, faults = _read_tolerantly(text, payload_range, call=call, several_arrays=several_arrays)
    return JsonResult(
        payload_range, nodes, faults, strict=False, repairable=_is_repairable(text, payload_range, nodes, faults)
    )


def read_values(text: str, within: Range | None = None, *, call: bool = False) -> Sequence[JsonNode]:
    """The values that `read_json` reads, without the faults; takes two thirds of its time."""
    payload_range = within if within is not None else Range(0, len(text))
    node, _ = read_strict(text, payload_range.start, payload_range.end)
    return (node,) if node else _document(text, payload_range, call=call, several_arrays=False).nodes


def _read_tolerantly(
    text: str, payload_range: Range, *, call: bool, several_arrays: bool
) -> tuple[tuple[JsonNode, ...], tuple[Fault, ...]]:
    document = _document(text, payload_range, call=call, several_arrays=several_arrays)
    return tuple(document.nodes), document.cursor.faults.finished()


def _document(text: str, payload_range: Range, *, call: bool, several_arrays: bool) -> "_Document":
    cursor = JsonCursor(text, payload_range.start, payload_range.end, PayloadFaults(text))
    document = _Document(JsonMachine(cursor, call), several_arrays)
    document.read()
    return document


def _is_repairable(text: str, payload_range: Range, nodes: Sequence[JsonNode], faults: Sequence[Fault]) -> bool:
    """Whether all repairs together give strict JSON with exactly the values that were read."""
    wrong = [fault for fault in faults if fault.rule.severity is Severity.ERROR]
    if not nodes or not all(fault.fix for fault in wrong):
        return False
    edits = sorted((edit for fault in wrong if fault.fix for edit in fault.fix.edits), key=lambda edit: edit.range)
    fixed = _edited(text, payload_range, edits)
    if fixed is None:
        return False
    if len(nodes) == 1:
        node, _ = read_strict(fixed, 0, len(fixed))
        return node is not None and node.value() == nodes[0].value()
    again, left = _read_tolerantly(fixed, Range(0, len(fixed)), call=False, several_arrays=True)
    if any(fault.rule.severity is Severity.ERROR for fault in left) or len(again) != len(nodes):
        return False
    return all(repaired.value() == other.value() for repaired, other in zip(again, nodes, strict=True))


def _edited(text: str, payload_range: Range, edits: Sequence[Edit]) -> str | None:
    """The text with all edits applied; None if two of them overlap or insert at the same position."""
    pieces: list[str] = []
    position, before = payload_range.start, None
    for edit in edits:
        if edit.range.start < position or edit.range == before:
            return None
        pieces += (text[position : edit.range.start], edit.text)
        position, before = edit.range.end, edit.range
    return "".join([*pieces, text[position : payload_range.end]])


class _Document(Struct):
    """The consecutive values of a payload, and the fence around them."""

    machine: JsonMachine
    several_arrays: bool
    nodes: list[JsonNode] = field(default_factory=list)
    fence: Range | None = None

    @property
    def cursor(self) -> JsonCursor:
        return self.machine.cursor

    def read(self) -> None:
        cursor = self.cursor
        start = cursor.position
        self._lead_in()
        while self._more() and not cursor.faults.hopeless:
            if self.nodes:
                self._after_value()
            else:
                self._value_or_text()
        if self.fence:
            cursor.faults.add(messages.fence(cursor.text, self.fence, None))
        if not self.nodes and cursor.position >= cursor.end and not cursor.text[start : cursor.end].strip():
            last = max(cursor.end - 1, start)
            cursor.faults.add(messages.empty(Range(last, cursor.end)))

    def _more(self) -> bool:
        skip_trivia(self.cursor, before_value=True)
        return self.cursor.position < self.cursor.end

    def _lead_in(self) -> None:
        """Read the fence before the value, if there is one."""
        cursor = self.cursor
        skip_trivia(cursor, before_value=True)
        match = _FENCE.match(cursor.text, cursor.position, cursor.end)
        if match:
            if self.fence:
                cursor.faults.add(messages.fence(cursor.text, self.fence, None))
            self.fence = Range(*match.span())
            cursor.position = match.end()

    def _value_or_text(self) -> None:
        """Read the first value, or the prose before it."""
        cursor = self.cursor
        start = cursor.position
        if not self._value_begins():
            begin = _BEGINS.search(cursor.text, start, cursor.end)
            if not begin:
                cursor.position = cursor.end
                cursor.faults.add(messages.only_text(cursor.text, self._trimmed(start, cursor.end)))
                return
            stop = begin.start() if begin.start() > start else begin.end()
            prose = self._trimmed(start, stop)
            named = bool(_MAY_NAME.fullmatch(cursor.text, max(start, stop - 200), stop))
            cursor.faults.add(messages.leading_text(cursor.text, prose, cut=not named))
            cursor.position = stop
            self._lead_in()
            return
        node = read_value(self.machine)
        if node:
            self.nodes.append(node)
        else:
            cursor.position += 1
            cursor.faults.add(messages.only_text(cursor.text, Range(start, cursor.position)))

    def _value_begins(self) -> bool:
        cursor = self.cursor
        character = cursor.peek()
        if character == "[":
            return self._array_begins()
        if character in "{\"'“‘\\":
            return True
        if _SCALAR.match(cursor.text, cursor.position, cursor.end):
            return True
        return result_of(cursor.text[cursor.position : min(cursor.end, cursor.position + 201)].strip()) is not None

    def _array_begins(self) -> bool:
        """Whether the `[` at the cursor begins an array, not a remark like `[see above]`."""
        cursor, text = self.cursor, self.cursor.text
        following = cursor.position + 1
        if not text[following : following + 1].isalpha() or _SCALAR.match(text, following, cursor.end):
            return True
        return (
            text[self._trimmed(cursor.position, cursor.end).end - 1] == "]"
            and text.find("{", following, cursor.end) < 0
        )

    def _trimmed(self, start: int, end: int) -> Range:
        text = self.cursor.text
        while end > start + 1 and text[end - 1].isspace():
            end -= 1
        return Range(start, end)

    def _after_value(self) -> None:
        """Read what follows a complete value: another object, half a fence, surplus brackets, or prose."""
        cursor, text = self.cursor, self.cursor.text
        if text.startswith("`", cursor.position):
            self._closing_fence()
        elif self._continues():
            return
        elif self._another_object() or self._another_array():
            node = read_value(self.machine)
            if node:
                self.nodes.append(node)
        else:
            closers = _EXTRA_CLOSERS.match(text, cursor.position, cursor.end)
            if closers:
                closers_range = Range(cursor.position, cursor.position + len(closers[0].rstrip()))
                cursor.position = closers_range.end
                cursor.faults.add(messages.extra_closers(text, closers_range))
            else:
                self._trailing_text()

    def _closing_fence(self) -> None:
        cursor = self.cursor
        match = _FENCE.match(cursor.text, cursor.position, cursor.end)
        end = match.end() if match else cursor.position + 1
        cursor.faults.add(messages.fence(cursor.text, self.fence, Range(cursor.position, end)))
        self.fence = None
        cursor.position = end

    def _continues(self) -> bool:
        """Whether the seemingly complete value continues, because a bracket is missing or one closed too early."""
        cursor, machine = self.cursor, self.machine
        if cursor.faults.full:
            return False
        text, last, position = cursor.text, self.nodes[-1], cursor.position
        if text[position] == ":" and len(self.nodes) == 1 and last.kind is JsonKind.STRING:
            frame = machine.open("{", last.range.start, fault=messages.missing_opener(text, last.range.start, "{"))
            frame.key, frame.key_range, frame.next = str(last.scalar), last.range, ExpectedToken.COLON
        elif text[position] == "," and len(self.nodes) == 1 and balance(machine, position, "[", "]") > 0:
            open_missing_array(machine, last.range.start, position, last)
            cursor.position = position + 1
        elif last.kind is JsonKind.OBJECT and text[last.range.end - 1] == "}":
            return self._reopened(last)
        else:
            return False
        self._read_on()
        return True

    def _reopened(self, last: JsonNode) -> bool:
        cursor = self.cursor
        match = _NEXT_MEMBER.match(cursor.text, cursor.position, cursor.end)
        if not match:
            return False
        cursor.faults.add(messages.closed_too_early(cursor.text, last.range.end - 1, Range(*match.span(1))))
        frame: Frame = self.machine.open("{", last.range.start)
        frame.members, frame.last_end = list(last.members), last.range.end
        frame.next = ExpectedToken.COMMA
        self._read_on()
        return True

    def _read_on(self) -> None:
        self.nodes.pop()
        node = read_on(self.machine)
        if node:
            self.nodes.append(node)

    def _another_object(self) -> bool:
        cursor = self.cursor
        match = _NEXT_OBJECT.match(cursor.text, cursor.position, cursor.end)
        if not match or self.nodes[-1].kind is not JsonKind.OBJECT:
            return False
        cursor.position = match.end() - 1
        return True

    def _another_array(self) -> bool:
        last, cursor = self.nodes[-1], self.cursor
        if not self.several_arrays or last.kind is not JsonKind.ARRAY or not last.items:
            return False
        match = _NEXT_ARRAY.match(cursor.text, cursor.position, cursor.end)
        if match is None or last.items[0].kind is not JsonKind.OBJECT:
            return False
        cursor.position = match.end() - 1
        return True

    def _trailing_text(self) -> None:
        cursor, text = self.cursor, self.cursor.text
        start = cursor.position
        match = _OBJECT_OR_FENCE.search(text, start + 1, cursor.end)
        end = match.start() if match else cursor.end
        if match and self.nodes[-1].kind is not JsonKind.OBJECT and text[end] == "{":
            end = cursor.end
        cursor.position = end
        say_it = messages.trailing_text if text.find('":', start, end) < 0 else messages.trailing_members
        cursor.faults.add(say_it(text, self._trimmed(start, end)))
