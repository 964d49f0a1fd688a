"""A call whose arguments were not closed before `, "name"`: the name is found inside them and moved out.

A call's root holds a name and arguments and nothing else. So if the text ends with brackets open, the root has no
name, and the object at just that depth ends with a `name`, the missing brackets belong before it (FAULTS.md, 13).
"""

from inspector.json_scanner.bracket_wording import missing_before_name
from inspector.json_scanner.cursor import Next
from inspector.json_scanner.machine import JsonMachine
from inspector.json_scanner.values import JsonKind, JsonNode, Member
from inspector.text import Range


def move_name_out(machine: JsonMachine) -> bool:
    """Whether the missing brackets were found to belong before `, "name"`; then the reading is complete."""
    frames = machine.cursor.frames
    root, last = frames[0], frames[-1]
    if root.opener != "{" or last.next is not Next.COMMA or any(member.key == "name" for member in root.members):
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


def _report(machine: JsonMachine, end: int, closers: str, name: Member) -> None:
    text, frames = machine.cursor.text, machine.cursor.frames
    comma = text.find(",", end, name.key_range.start)
    place = Range(comma if comma >= 0 else name.key_range.start, name.key_range.end)
    edit = machine.closing_edit(end, place.start, closers)
    machine.report(missing_before_name(place, edit, closers, frames[0].key_range.of(text)))


def _replace_last(machine: JsonMachine, node: JsonNode) -> None:
    frame = machine.frame
    if frame.opener == "{":
        last = frame.members[-1]
        frame.members[-1] = Member(last.key, last.key_range, node)
    else:
        frame.items[-1] = node
