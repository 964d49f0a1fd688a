"""The stack of open brackets: builds nodes from them, and repairs missing, extra and mismatched ones."""

from msgspec import Struct, structs

from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.json_scanner import messages as say
from weaklink.inspector.json_scanner.cursor import ExpectedToken, Frame, JsonCursor
from weaklink.inspector.json_scanner.values import JsonKind, JsonMember, JsonNode, read_container
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

_NAME_LATER = lazy_pattern(r"""["']name["']\s*:""")


class JsonMachine(Struct):
    """The brackets open around the cursor; `result` is the value read, set once the last bracket has closed.

    `call` says that the value is a tool call, whose root contains a name and arguments and nothing else.
    """

    cursor: JsonCursor
    call: bool = False
    result: JsonNode | None = None
    strict_until: int = -1
    """The strict reader was tried up to here and found a fault; it is not tried again on what begins before."""

    @property
    def frame(self) -> Frame:
        """The innermost open bracket."""
        return self.cursor.frames[-1]

    def report(self, fault: Fault) -> None:
        """Report a fault."""
        self.cursor.found.add(fault)

    def take_strict(self, start: int) -> JsonNode | None:
        """The object or array at `start` if it is strict JSON; the cursor then moves after it.

        Each attempt begins after the position where the last one failed, so all of them together stay linear.
        """
        cursor = self.cursor
        if start <= self.strict_until:
            return None
        doubled: list[JsonNode] = []
        node, at = read_container(cursor.text, start, cursor.end, doubled, depth=len(cursor.frames))
        if node is None:
            self.strict_until = at
            return None
        cursor.at = node.range.end
        for each in doubled:
            for fault in doubled_keys(cursor.text, each):
                self.report(fault)
        return node

    def open(self, opener: str, start: int, *, closer: str = "", fault: Fault | None = None) -> Frame:
        """Open a new innermost bracket; `fault` is reported, with its repair completed, when the bracket closes."""
        expected = ExpectedToken.KEY if opener == "{" else ExpectedToken.VALUE
        usual_closer = "}" if opener == "{" else "]"
        frame = Frame(opener, closer or usual_closer, start, expected, self.cursor.at, fault=fault)
        self.cursor.frames.append(frame)
        return frame

    def attach(self, node: JsonNode) -> None:
        """Append a value to the innermost bracket, or make it the result if none is open."""
        if not self.cursor.frames:
            self.result = node
            return
        frame = self.frame
        if frame.opener == "{":
            frame.members.append(JsonMember(frame.key, frame.key_range, node))
        else:
            frame.items.append(node)
        frame.next, frame.comma, frame.last_end = ExpectedToken.COMMA, -1, node.range.end

    def close(self, at: int) -> None:
        """Close the innermost bracket with the one at `at`, whatever its kind; the cursor moves after it."""
        frame, cursor = self.frame, self.cursor
        got = cursor.text[at]
        if frame.comma >= 0 and frame.next is not ExpectedToken.COMMA:
            self.report(say.trailing_comma.at(frame.comma, got))
        edits = [Edit(Range(at, at + 1), frame.closes_with)] if got != frame.closes_with else []
        cursor.at = at + 1
        if frame.doubled:
            edits += self._second_closer()
        self._finish(frame, cursor.at, edits)

    def closing_edit(self, at: int, following: int, closers: str) -> Edit:
        """The edit that inserts missing closers at `at`, where another repair may insert something too.

        In that case the closers go before the comma or bracket at `following`, which the other repair does not touch;
        if the other repair inserts a comma, they go before that comma.
        """
        text, faults = self.cursor.text, self.cursor.found
        if not faults.inserts_at(at):
            return Edit(Range(at, at), closers)
        if text[following] in ",]})":
            return Edit(Range(following, following + 1), closers + text[following])
        return Edit(Range(at - 1, at), text[at - 1] + closers)

    def close_unwritten(self, end: int) -> None:
        """Close the innermost bracket at `end`, where its closer is missing."""
        self._finish(self.frame, end, [])

    def _second_closer(self) -> list[Edit]:
        self.cursor.skip_blank()
        if self.cursor.peek() != "}":
            return []
        self.cursor.at += 1
        return [Edit(Range(self.cursor.at - 1, self.cursor.at), "")]

    def _finish(self, frame: Frame, end: int, edits: list[Edit]) -> None:
        self.cursor.frames.pop()
        if frame.fault:
            self.report(_with_edits(frame.fault, edits))
        place = Range(frame.start, end)
        if frame.opener == "[":
            self.attach(JsonNode(JsonKind.ARRAY, place, None, (), tuple(frame.items)))
            return
        node = JsonNode(JsonKind.OBJECT, place, None, tuple(frame.members))
        for fault in doubled_keys(self.cursor.text, node):
            self.report(fault)
        self.attach(node)


def _with_edits(fault: Fault, edits: list[Edit]) -> Fault:
    if not fault.fix or not edits:
        return fault
    return structs.replace(fault, fix=Fix((*fault.fix.edits, *edits), fault.fix.safe))


def doubled_keys(text: str, node: JsonNode) -> list[Fault]:
    """A fault for every key of an object that repeats an earlier one."""
    first: dict[str, Range] = {}
    faults = []
    for member in node.members:
        if member.key in first and len(member.key_range):
            faults.append(say.duplicate_key(text, first[member.key], member.key_range))
        first.setdefault(member.key, member.key_range)
    return faults


def balance(machine: JsonMachine, at: int, openers: str, closers: str) -> int:
    """How many more closing than opening brackets the text has from `at` on, those within strings included."""
    text, end = machine.cursor.text, machine.cursor.end
    closing = sum(text.count(bracket, at, end) for bracket in closers)
    return closing - sum(text.count(bracket, at, end) for bracket in openers)


def mismatched(machine: JsonMachine) -> None:
    """Handle a closing bracket that does not match the innermost open one."""
    cursor, frame = machine.cursor, machine.frame
    at, got = cursor.at, cursor.peek()
    depth = _waiting_for(machine, got)
    rest = 0 if cursor.found.full else balance(machine, at + 1, "{[(", "}])")
    if depth >= 0 and not (depth < len(cursor.frames) - 1 and rest == len(cursor.frames) - 1):
        _close_down_to(machine, depth, at)
    elif rest < len(cursor.frames) and (depth >= 0 or rest == len(cursor.frames) - 1):
        machine.report(say.wrong_kind(at, got, frame.closes_with, Range(frame.start, frame.start + 1)))
        _close_as_if_right(machine, at)
    else:
        machine.report(say.closer_without_opener.at(at, got))
        cursor.at += 1


def _waiting_for(machine: JsonMachine, closer: str) -> int:
    frames = machine.cursor.frames
    return next((index for index in range(len(frames) - 1, -1, -1) if frames[index].closer == closer), -1)


def _close_as_if_right(machine: JsonMachine, at: int) -> None:
    frame = machine.frame
    if frame.comma >= 0 and frame.next is not ExpectedToken.COMMA:
        machine.report(say.trailing_comma.at(frame.comma, frame.closes_with))
    machine.cursor.at = at + 1
    machine.close_unwritten(at + 1)


def _close_down_to(machine: JsonMachine, depth: int, at: int) -> None:
    """Close the brackets inside `depth`, whose closers are missing before `at`; the closer at `at` is read next."""
    frames = machine.cursor.frames
    inner = frames[depth + 1 :]
    if inner[-1].comma >= 0 and inner[-1].next is not ExpectedToken.COMMA:
        machine.report(say.trailing_comma.at(inner[-1].comma, machine.cursor.text[at]))
    insert_at = inner[-1].last_end
    closers = "".join(frame.closes_with for frame in reversed(inner))
    opener = Range(inner[-1].start, inner[-1].start + 1)
    edit = machine.closing_edit(insert_at, at, closers)
    machine.report(say.missing_closers(machine.cursor.text, Range(at, at + 1), edit, closers, opener))
    for _ in inner:
        machine.close_unwritten(insert_at)


def colon_after_value(machine: JsonMachine) -> None:
    """Handle a colon where a comma or a closing bracket was expected: the string before it was a key."""
    frame, cursor = machine.frame, machine.cursor
    last = frame.items[-1] if frame.items else None
    if frame.opener == "{" or last is None or last.kind is not JsonKind.STRING:
        machine.report(say.unescaped_colon(cursor.text, cursor.at))
        cursor.at += 1
        return
    if len(frame.items) == 1 and not frame.fault:
        _becomes_object(frame, cursor.text)
    elif len(cursor.frames) > 1 and cursor.frames[-2].opener == "{" and len(frame.items) > 1:
        _ended_before_key(machine)
    else:
        machine.report(say.unescaped_colon(cursor.text, cursor.at))
        cursor.at += 1


def _becomes_object(frame: Frame, text: str) -> None:
    key = frame.items.pop()
    frame.key, frame.key_range, frame.next, frame.opener = str(key.scalar), key.range, ExpectedToken.COLON, "{"
    frame.fault = say.object_in_square_brackets.at(frame.start, key.range.of(text))


def _ended_before_key(machine: JsonMachine) -> None:
    """In `[1, 2, "b": 3` the array must end before its last string; in a call, `"name"` ends the arguments too."""
    cursor, frame = machine.cursor, machine.frame
    key = frame.items.pop()
    insert_at = frame.items[-1].range.end
    count = 1
    if _is_call_name(machine, str(key.scalar)):
        count = len(cursor.frames) - 1
    closers = "".join(frame.closes_with for frame in reversed(cursor.frames[-count:]))
    opener = Range(frame.start, frame.start + 1)
    comma = cursor.text.find(",", insert_at, key.range.start)
    edit = machine.closing_edit(insert_at, comma if comma >= 0 else key.range.start, closers)
    machine.report(say.missing_closers(cursor.text, key.range, edit, closers, opener))
    for _ in range(count):
        machine.close_unwritten(insert_at)
    outer = machine.frame
    outer.key, outer.key_range, outer.next = str(key.scalar), key.range, ExpectedToken.COLON


def _is_call_name(machine: JsonMachine, key: str) -> bool:
    cursor = machine.cursor
    root = cursor.frames[0]
    if not machine.call or key != "name" or root.opener != "{" or cursor.found.full:
        return False
    return all(member.key != "name" for member in root.members) and not _NAME_LATER.search(
        cursor.text, cursor.at, cursor.end
    )


def lacks_opening_bracket(machine: JsonMachine) -> bool:
    """Whether the member before the cursor's comma begins an array whose `[` is missing.

    That is the case if the rest of the text closes more square brackets than are open.
    """
    frame, cursor = machine.frame, machine.cursor
    if not frame.members or frame.comma < 0 or cursor.found.full:
        return False
    open_arrays = sum(frame.closer == "]" for frame in cursor.frames)
    return balance(machine, cursor.at, "[", "]") > open_arrays


def gather_into_array(machine: JsonMachine) -> Frame:
    """Open the array whose `[` is missing before the innermost object's last value, and move that value into it."""
    frame = machine.frame
    member = frame.members.pop()
    frame.key, frame.key_range, frame.next = member.key, member.key_range, ExpectedToken.VALUE
    comma, frame.comma = frame.comma, -1
    return open_missing_array(machine, member.value.range.start, comma, member.value)


def open_missing_array(machine: JsonMachine, start: int, comma: int, first: JsonNode) -> Frame:
    """Open an array whose `[` is missing at `start`; the comma after its first value was read already."""
    fault = say.missing_opener(machine.cursor.text, start, "[")
    array = machine.open("[", start, fault=fault)
    machine.attach(first)
    array.next, array.comma = ExpectedToken.VALUE, comma
    return array


def bracket_for_key(machine: JsonMachine) -> None:
    """Handle an opening bracket where a key was expected."""
    frame, cursor = machine.frame, machine.cursor
    at, got = cursor.at, cursor.peek()
    directly = not frame.members and frame.comma < 0
    if got == "{" and directly and cursor.text[at - 1] == "{" and not frame.doubled and not frame.fault:
        frame.doubled, frame.fault = True, say.doubled_brace.at(at)
        cursor.at += 1
    elif lacks_opening_bracket(machine):
        gather_into_array(machine)
    elif got == "{" and len(cursor.frames) == 1 and frame.comma >= 0 and balance(machine, at, "{[", "}]") == 0:
        _root_ended_before(machine)
    else:
        machine.report(say.no_key(cursor.text, Range(at, at + 1)))
        frame.key, frame.key_range, frame.next = "", Range(at, at), ExpectedToken.VALUE


def _root_ended_before(machine: JsonMachine) -> None:
    """In `{"name": "f", "arguments": {}, {"name": ...` the root's closer is missing before the comma."""
    frame, cursor = machine.frame, machine.cursor
    opener = Range(frame.start, frame.start + 1)
    place = Range(cursor.at, cursor.at + 1)
    edit = machine.closing_edit(frame.last_end, frame.comma, "}")
    machine.report(say.missing_closers(cursor.text, place, edit, "}", opener))
    cursor.at = frame.comma
    machine.close_unwritten(frame.last_end)
