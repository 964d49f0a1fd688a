"""Text that ends within a value: which brackets and tokens were open, and whether closing them is a safe repair.

A call's root contains a name and arguments and nothing else. So if the text ends with brackets open, the root has no
name, and the object at just that depth ends with a `name`, the missing brackets belong before it.
"""

from weaklink.inspector.diagnostics import Edit, Fix
from weaklink.inspector.json_scanner import messages
from weaklink.inspector.json_scanner.brackets import JsonMachine
from weaklink.inspector.json_scanner.cursor import ExpectedToken, Frame, Truncation
from weaklink.inspector.json_scanner.messages import missing_before_name
from weaklink.inspector.json_scanner.values import JsonKind, JsonMember, JsonNode
from weaklink.inspector.text import Range, shown

KNOWN_ARGUMENT_KEYS = ("arguments", "parameters", "args")
"""The keys under which a call, whose name is under `name`, may have its arguments."""


def close_all(machine: JsonMachine) -> None:
    """Close every open bracket at the end of the text, and report what was open."""
    cursor = machine.cursor
    if machine.call and not cursor.cut and move_name_out(machine):
        return
    frame = machine.frame
    last = _last_character(machine)
    what = _what_was_open(machine)
    openers = tuple(Range(frame.start, frame.start + 1) for frame in reversed(cursor.frames))
    closers = "".join(frame.closes_with for frame in reversed(cursor.frames))
    lost = _what_was_lost(machine)
    tail = (cursor.cut.tail if cursor.cut else "") + closers
    edits = [*_edits_for_unfinished(machine, frame)]
    edits.append(Edit(Range(cursor.end, cursor.end), tail))
    fix = None if lost else Fix(tuple(edits), safe=False)
    machine.report(messages.truncated(last, what, tail, openers=openers, fix=fix, lost=lost))
    end = max(last.end, frame.last_end)
    while cursor.frames:
        machine.close_unwritten(end)


def report_cut_scalar(machine: JsonMachine) -> None:
    """Report a text that ends within a string outside any bracket."""
    cursor = machine.cursor
    cut = cursor.cut
    if not cut:
        return
    cut_range = cut.range
    fix = (
        None if cut.what == "escaped" else Fix((*cut.edits, Edit(Range(cursor.end, cursor.end), cut.tail)), safe=False)
    )
    what = f"within the string {shown(cursor.text, cut_range.start, cut_range.end)}"
    last = Range(max(cut_range.end - 1, cut_range.start), cut_range.end)
    machine.report(messages.truncated(last, what, cut.tail, openers=(), fix=fix))


def _last_character(machine: JsonMachine) -> Range:
    cursor = machine.cursor
    end = cursor.end
    while end > machine.frame.start + 1 and cursor.text[end - 1].isspace():
        end -= 1
    return Range(end - 1, end)


def _what_was_open(machine: JsonMachine) -> str:
    frame, cut, text = machine.frame, machine.cursor.cut, machine.cursor.text
    key = shown(frame.key_range.of(text))
    if cut and cut.what != "key":
        of_key = f", the value of {key}" if frame.opener == "{" else ""
        noun = {"string": "string", "number": "number", "escaped": "string"}.get(cut.what, "value")
        return f"within the {noun} {shown(text, cut.range.start, cut.range.end)}{of_key}"
    if cut:
        return f"within the key {shown(text, cut.range.start, cut.range.end)}"
    if frame.next is ExpectedToken.COLON:
        return f"after the key {key}, before its colon"
    if frame.next is ExpectedToken.VALUE and frame.opener == "{":
        return f"after the colon of {key}, before its value"
    if frame.comma >= 0:
        return (
            "after a comma, before the next member" if frame.opener == "{" else "after a comma, before the next element"
        )
    opener = shown(text, frame.start, min(frame.start + 20, machine.cursor.end))
    return f"although the bracket that opens {opener} is not closed"


def _edits_for_unfinished(machine: JsonMachine, frame: Frame) -> list[Edit]:
    """The edits that delete what is unfinished (a key without its value, a comma), so that the brackets can close."""
    cursor, cut = machine.cursor, machine.cursor.cut
    edits: list[Edit] = []
    if frame.comma >= 0 and frame.next is not ExpectedToken.COMMA:
        edits.append(Edit(Range(frame.comma, frame.comma + 1), ""))
    if frame.opener == "{" and frame.next is not ExpectedToken.COMMA and frame.comma < 0 and frame.members:
        cursor.faults.forget(frame.last_end)  # no comma is missing before a key that is deleted
    if cut and cut.what == "key":
        return [*edits, *cut.edits]
    if frame.opener == "{" and frame.next in (ExpectedToken.COLON, ExpectedToken.VALUE):
        start = frame.key_range.start
        cursor.faults.forget(start)
        return [*edits, Edit(Range(start, cursor.end), "")]
    return [*edits, *(cut.edits if cut else [])]


def _what_was_lost(machine: JsonMachine) -> str:
    """Why closing the brackets would not be an honest repair; "" if it is one.

    A call whose name is missing or cut off, or whose arguments have not begun, is never closed.
    """
    frames, cut = machine.cursor.frames, machine.cursor.cut
    if cut and cut.what in ("nothing", "escaped"):
        return "too little of the value is present to repair it"
    root = next((frame for frame in frames[:2] if frame.opener == "{"), None)
    if not machine.call or (root is None and frames[0].items):
        return ""
    if root is None:
        return "no call has begun"
    name = next((member.value for member in reversed(root.members) if member.key == "name"), None)
    if name is None:
        return "the call's name is missing, so no repair is possible"
    if not _is_whole(name, cut) or name.kind is not JsonKind.STRING:
        return "the call's name is truncated, so no repair is possible"
    return "" if _has_arguments(root, frames, cut) else "the call's arguments have not begun, so no repair is possible"


def _is_whole(node: JsonNode, cut: Truncation | None) -> bool:
    return not (cut and cut.range.start == node.range.start)


def _has_arguments(root: Frame, frames: list[Frame], cut: Truncation | None) -> bool:
    for member in root.members:
        if member.key in KNOWN_ARGUMENT_KEYS and _is_whole(member.value, cut):
            return True
    return root is not frames[-1] and root.key in KNOWN_ARGUMENT_KEYS


def move_name_out(machine: JsonMachine) -> bool:
    """Close the brackets before `, "name"` if they belong there; True if so: then the whole value is read."""
    frames = machine.cursor.frames
    root, last = frames[0], frames[-1]
    if (
        root.opener != "{"
        or last.next is not ExpectedToken.COMMA
        or any(member.key == "name" for member in root.members)
    ):
        return False
    child = last.members[-1].value if last.members else (last.items[-1] if last.items else None)
    if child is None or not _ends_with_name(child):
        return False
    *kept, name = child.members
    trimmed_end = kept[-1].value.range.end
    closers = "}" + "".join(frame.closes_with for frame in reversed(frames[1:]))
    _report(machine, trimmed_end, closers, name)
    trimmed = JsonNode(JsonKind.OBJECT, Range(child.range.start, trimmed_end), None, tuple(kept))
    _replace_last(machine, trimmed)
    while len(frames) > 1:
        machine.close_unwritten(trimmed_end)
    root.members.append(name)
    machine.close_unwritten(child.range.end)
    return True


def _ends_with_name(node: JsonNode) -> bool:
    if node.kind is not JsonKind.OBJECT or len(node.members) < 2:
        return False
    last = node.members[-1]
    return last.key == "name" and last.value.kind is JsonKind.STRING


def _report(machine: JsonMachine, end: int, closers: str, name: JsonMember) -> None:
    text, frames = machine.cursor.text, machine.cursor.frames
    comma = text.find(",", end, name.key_range.start)
    fault_range = Range(comma if comma >= 0 else name.key_range.start, name.key_range.end)
    edit = machine.closing_edit(end, fault_range.start, closers)
    machine.report(missing_before_name(fault_range, edit, closers, frames[0].key_range.of(text)))


def _replace_last(machine: JsonMachine, node: JsonNode) -> None:
    frame = machine.frame
    if frame.opener == "{":
        last = frame.members[-1]
        frame.members[-1] = JsonMember(last.key, last.key_range, node)
    else:
        frame.items[-1] = node
