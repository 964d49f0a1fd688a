"""The stack of open brackets: builds nodes from them, and repairs missing, extra and mismatched ones.

Theory of operation. Each open bracket is a `Frame`, which collects the members or items that were read. A closing
bracket that fits turns the innermost frame into a node, which is attached to the frame around it. If it does not fit,
two numbers decide which bracket is wrong (`mismatched`): the depth of the frame that waits for it, and the balance,
by how many the rest of the text closes more brackets than it opens. With `n` brackets open, each of these texts ends
with the one that does not fit, or with the rest after it:

    {"a": [1, 2}      `{` waits, and nothing else comes     a closer is missing before it: `]`
    {"a": [1, 2}}     `{` waits, but the rest closes n - 1  it is of the wrong kind: `]` was meant
    {"a": 1]          none waits, and the rest closes n - 1 it is of the wrong kind: `}` was meant
    {"a": 1]}         none waits, and the rest closes n     it is surplus

Missing and wrong openers show later, at what follows them:

    ["a": 1]                 a colon after the first item    `[` is an object's (`_becomes_object`)
    {"a": [1, "b": 2}        a colon after a later item      `]` is missing before that key (`_ended_before_key`)
    {"a": 1, 2], "b": 3}     a value where a key belongs     `[` is missing before the last value (`gather_into_array`)
    {{"a": 1}}               a bracket where a key belongs   the braces are doubled (`bracket_for_key`)

The repair of a wrong opener needs an edit at its closer too, so its fault waits in the frame until that closes.
"""

from msgspec import Struct, structs

from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.json_scanner import messages
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
        self.cursor.faults.add(fault)

    def take_strict(self, start: int) -> JsonNode | None:
        """The object or array at `start` if it is strict JSON; the cursor then moves after it.

        Each attempt begins after the position where the last one failed, so all of them together stay linear.
        """
        cursor = self.cursor
        if start <= self.strict_until:
            return None
        doubled: list[JsonNode] = []
        node, end = read_container(cursor.text, start, cursor.end, doubled, depth=len(cursor.frames))
        if node is None:
            self.strict_until = end
            return None
        cursor.position = node.range.end
        for each in doubled:
            for fault in doubled_keys(cursor.text, each):
                self.report(fault)
        return node

    def open(self, opener: str, start: int, *, closer: str = "", fault: Fault | None = None) -> Frame:
        """Open a new innermost bracket; `fault` is reported, with its repair completed, when the bracket closes."""
        expected = ExpectedToken.KEY if opener == "{" else ExpectedToken.VALUE
        usual_closer = "}" if opener == "{" else "]"
        frame = Frame(opener, closer or usual_closer, start, expected, self.cursor.position, fault=fault)
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

    def close(self, position: int) -> None:
        """Close the innermost bracket with the one at `position`, whatever its kind; the cursor moves after it."""
        frame, cursor = self.frame, self.cursor
        got = cursor.text[position]
        if frame.comma >= 0 and frame.next is not ExpectedToken.COMMA:
            self.report(messages.trailing_comma.at_position(frame.comma, got))
        edits = [Edit(Range(position, position + 1), frame.closes_with)] if got != frame.closes_with else []
        cursor.position = position + 1
        if frame.doubled:
            edits += self._second_closer()
        self._finish(frame, cursor.position, edits)

    def closing_edit(self, position: int, following: int, closers: str) -> Edit:
        """The edit that inserts missing closers at `position`, where another repair may insert something too.

        In that case the closers go before the comma or bracket at `following`, which the other repair does not touch;
        if the other repair inserts a comma, they go before that comma.
        """
        text, faults = self.cursor.text, self.cursor.faults
        if not faults.inserts_at(position):
            return Edit(Range(position, position), closers)
        if text[following] in ",]})":
            return Edit(Range(following, following + 1), closers + text[following])
        return Edit(Range(position - 1, position), text[position - 1] + closers)

    def close_unwritten(self, end: int) -> None:
        """Close the innermost bracket at `end`, where its closer is missing."""
        self._finish(self.frame, end, [])

    def _second_closer(self) -> list[Edit]:
        self.cursor.skip_blank()
        if self.cursor.peek() != "}":
            return []
        self.cursor.position += 1
        return [Edit(Range(self.cursor.position - 1, self.cursor.position), "")]

    def _finish(self, frame: Frame, end: int, edits: list[Edit]) -> None:
        self.cursor.frames.pop()
        if frame.fault:
            self.report(_with_edits(frame.fault, edits))
        node_range = Range(frame.start, end)
        if frame.opener == "[":
            self.attach(JsonNode(JsonKind.ARRAY, node_range, None, (), tuple(frame.items)))
            return
        node = JsonNode(JsonKind.OBJECT, node_range, None, tuple(frame.members))
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
            faults.append(messages.duplicate_key(text, first[member.key], member.key_range))
        first.setdefault(member.key, member.key_range)
    return faults


def balance(machine: JsonMachine, position: int, openers: str, closers: str) -> int:
    """How many more closing than opening brackets the text has from `position` on, those within strings included."""
    text, end = machine.cursor.text, machine.cursor.end
    closing = sum(text.count(bracket, position, end) for bracket in closers)
    return closing - sum(text.count(bracket, position, end) for bracket in openers)


def mismatched(machine: JsonMachine) -> None:
    """Handle a closing bracket that does not match the innermost open one."""
    cursor, frame = machine.cursor, machine.frame
    position, got = cursor.position, cursor.peek()
    depth = _waiting_for(machine, got)
    rest = 0 if cursor.faults.full else balance(machine, position + 1, "{[(", "}])")
    if depth >= 0 and not (depth < len(cursor.frames) - 1 and rest == len(cursor.frames) - 1):
        _close_down_to(machine, depth, position)
    elif rest < len(cursor.frames) and (depth >= 0 or rest == len(cursor.frames) - 1):
        machine.report(messages.wrong_kind(position, got, frame.closes_with, Range(frame.start, frame.start + 1)))
        _close_as_if_right(machine, position)
    else:
        machine.report(messages.closer_without_opener.at_position(position, got))
        cursor.position += 1


def _waiting_for(machine: JsonMachine, closer: str) -> int:
    frames = machine.cursor.frames
    return next((index for index in range(len(frames) - 1, -1, -1) if frames[index].closer == closer), -1)


def _close_as_if_right(machine: JsonMachine, position: int) -> None:
    frame = machine.frame
    if frame.comma >= 0 and frame.next is not ExpectedToken.COMMA:
        machine.report(messages.trailing_comma.at_position(frame.comma, frame.closes_with))
    machine.cursor.position = position + 1
    machine.close_unwritten(position + 1)


def _close_down_to(machine: JsonMachine, depth: int, position: int) -> None:
    """Close the brackets inside `depth`, whose closers are missing before that at `position`, which is read next."""
    frames = machine.cursor.frames
    inner = frames[depth + 1 :]
    if inner[-1].comma >= 0 and inner[-1].next is not ExpectedToken.COMMA:
        machine.report(messages.trailing_comma.at_position(inner[-1].comma, machine.cursor.text[position]))
    insert_at = inner[-1].last_end
    closers = "".join(frame.closes_with for frame in reversed(inner))
    opener = Range(inner[-1].start, inner[-1].start + 1)
    edit = machine.closing_edit(insert_at, position, closers)
    machine.report(messages.missing_closers(machine.cursor.text, Range(position, position + 1), edit, closers, opener))
    for _ in inner:
        machine.close_unwritten(insert_at)


def colon_after_value(machine: JsonMachine) -> None:
    """Handle a colon where a comma or a closing bracket was expected: the string before it was a key."""
    frame, cursor = machine.frame, machine.cursor
    last = frame.items[-1] if frame.items else None
    if frame.opener == "{" or last is None or last.kind is not JsonKind.STRING:
        machine.report(messages.unescaped_colon(cursor.text, cursor.position))
        cursor.position += 1
        return
    if len(frame.items) == 1 and not frame.fault:
        _becomes_object(frame, cursor.text)
    elif len(cursor.frames) > 1 and cursor.frames[-2].opener == "{" and len(frame.items) > 1:
        _ended_before_key(machine)
    else:
        machine.report(messages.unescaped_colon(cursor.text, cursor.position))
        cursor.position += 1


def _becomes_object(frame: Frame, text: str) -> None:
    key = frame.items.pop()
    frame.key, frame.key_range, frame.next, frame.opener = str(key.scalar), key.range, ExpectedToken.COLON, "{"
    frame.fault = messages.object_in_square_brackets.at_position(frame.start, key.range.of(text))


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
    machine.report(messages.missing_closers(cursor.text, key.range, edit, closers, opener))
    for _ in range(count):
        machine.close_unwritten(insert_at)
    outer = machine.frame
    outer.key, outer.key_range, outer.next = str(key.scalar), key.range, ExpectedToken.COLON


def _is_call_name(machine: JsonMachine, key: str) -> bool:
    cursor = machine.cursor
    root = cursor.frames[0]
    if not machine.call or key != "name" or root.opener != "{" or cursor.faults.full:
        return False
    return all(member.key != "name" for member in root.members) and not _NAME_LATER.search(
        cursor.text, cursor.position, cursor.end
    )


def lacks_opening_bracket(machine: JsonMachine) -> bool:
    """Whether the member before the cursor's comma begins an array whose `[` is missing.

    That is the case if the rest of the text closes more square brackets than are open.
    """
    frame, cursor = machine.frame, machine.cursor
    if not frame.members or frame.comma < 0 or cursor.faults.full:
        return False
    open_arrays = sum(frame.closer == "]" for frame in cursor.frames)
    return balance(machine, cursor.position, "[", "]") > open_arrays


def gather_into_array(machine: JsonMachine) -> Frame:
    """Open the array whose `[` is missing before the innermost object's last value, and move that value into it."""
    frame = machine.frame
    member = frame.members.pop()
    frame.key, frame.key_range, frame.next = member.key, member.key_range, ExpectedToken.VALUE
    comma, frame.comma = frame.comma, -1
    return open_missing_array(machine, member.value.range.start, comma, member.value)


def open_missing_array(machine: JsonMachine, start: int, comma: int, first: JsonNode) -> Frame:
    """Open an array whose `[` is missing at `start`; the comma after its first value was read already."""
    fault = messages.missing_opener(machine.cursor.text, start, "[")
    array = machine.open("[", start, fault=fault)
    machine.attach(first)
    array.next, array.comma = ExpectedToken.VALUE, comma
    return array


def bracket_for_key(machine: JsonMachine) -> None:
    """Handle an opening bracket where a key was expected."""
    frame, cursor = machine.frame, machine.cursor
    position, got = cursor.position, cursor.peek()
    directly = not frame.members and frame.comma < 0
    if got == "{" and directly and cursor.text[position - 1] == "{" and not frame.doubled and not frame.fault:
        frame.doubled, frame.fault = True, messages.doubled_brace.at_position(position)
        cursor.position += 1
    elif lacks_opening_bracket(machine):
        gather_into_array(machine)
    elif got == "{" and len(cursor.frames) == 1 and frame.comma >= 0 and balance(machine, position, "{[", "}]") == 0:
        _root_ended_before(machine)
    else:
        machine.report(messages.no_key(cursor.text, Range(position, position + 1)))
        frame.key, frame.key_range, frame.next = "", Range(position, position), ExpectedToken.VALUE


def _root_ended_before(machine: JsonMachine) -> None:
    """In `{"name": "f", "arguments": {}, {"name": ...` the root's closer is missing before the comma."""
    frame, cursor = machine.frame, machine.cursor
    opener = Range(frame.start, frame.start + 1)
    fault_range = Range(cursor.position, cursor.position + 1)
    edit = machine.closing_edit(frame.last_end, frame.comma, "}")
    machine.report(messages.missing_closers(cursor.text, fault_range, edit, "}", opener))
    cursor.position = frame.comma
    machine.close_unwritten(frame.last_end)
