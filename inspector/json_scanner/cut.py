"""The end of the text within a value: what was open there, and whether closing it is an honest repair."""

from inspector.diagnostics import Edit, Fix
from inspector.json_scanner import bracket_wording as say
from inspector.json_scanner.cursor import Frame, Next, Truncation
from inspector.json_scanner.machine import JsonMachine
from inspector.json_scanner.quoting import shown
from inspector.json_scanner.slipped_name import move_name_out
from inspector.json_scanner.values import JsonKind, JsonNode
from inspector.text import Range

_ARGUMENTS = ("arguments", "parameters")


def close_all(machine: JsonMachine) -> None:
    """The text has ended: close every open bracket, and say what was open."""
    cursor = machine.cursor
    if machine.call and not cursor.cut and move_name_out(machine):
        return
    frame = machine.frame
    last = _last_character(machine)
    what = _what_was_open(machine)
    openers = tuple(Range(each.start, each.start + 1) for each in reversed(cursor.frames))
    closers = "".join(each.closes_with for each in reversed(cursor.frames))
    lost = _what_was_lost(machine)
    tail = (cursor.cut.tail if cursor.cut else "") + closers
    edits = [*_edits_for_unfinished(machine, frame)]
    edits.append(Edit(Range(cursor.end, cursor.end), tail))
    fix = None if lost else Fix(tuple(edits), safe=False)
    machine.report(say.truncated(last, what, tail, openers=openers, fix=fix, lost=lost))
    end = max(last.end, frame.last_end)
    while cursor.frames:
        machine.close_unwritten(end)


def report_cut_scalar(machine: JsonMachine) -> None:
    """The text has ended within a string that stands in no bracket."""
    cursor = machine.cursor
    cut = cursor.cut
    if not cut:
        return
    place = cut.range
    fix = (
        None if cut.what == "escaped" else Fix((*cut.edits, Edit(Range(cursor.end, cursor.end), cut.tail)), safe=False)
    )
    what = f"within the string {shown(cursor.text, place.start, place.end)}"
    last = Range(max(place.end - 1, place.start), place.end)
    machine.report(say.truncated(last, what, cut.tail, openers=(), fix=fix))


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
    if frame.next is Next.COLON:
        return f"behind the key {key}, before its colon"
    if frame.next is Next.VALUE and frame.opener == "{":
        return f"behind the colon of {key}, before its value"
    if frame.comma >= 0:
        return (
            "behind a comma, before the next member"
            if frame.opener == "{"
            else "behind a comma, before the next element"
        )
    opener = shown(text, frame.start, min(frame.start + 20, machine.cursor.end))
    return f"although the bracket that opens {opener} is not closed"


def _edits_for_unfinished(machine: JsonMachine, frame: Frame) -> list[Edit]:
    """What must go (a key without its value, a comma) before the brackets can be closed."""
    cursor, cut = machine.cursor, machine.cursor.cut
    edits: list[Edit] = []
    if frame.comma >= 0 and frame.next is not Next.COMMA:
        edits.append(Edit(Range(frame.comma, frame.comma + 1), ""))
    if frame.opener == "{" and frame.next is not Next.COMMA and frame.comma < 0 and frame.members:
        cursor.found.forget(frame.last_end)  # the comma that was missing before what goes is not missed any more
    if cut and cut.what == "key":
        return [*edits, *cut.edits]
    if frame.opener == "{" and frame.next in (Next.COLON, Next.VALUE):
        start = frame.key_range.start
        cursor.found.forget(start)
        return [*edits, Edit(Range(start, cursor.end), "")]
    return [*edits, *(cut.edits if cut else [])]


def _what_was_lost(machine: JsonMachine) -> str:
    """Why closing the brackets would be no honest repair; empty where it is one.

    A call whose name is missing or cut, or whose arguments have not begun, is never closed (FAULTS.md, point 10).
    """
    frames, cut = machine.cursor.frames, machine.cursor.cut
    if cut and cut.what in ("nothing", "escaped"):
        return "too little of the value is there to be mended"
    root = next((frame for frame in frames[:2] if frame.opener == "{"), None)
    if not machine.call or (root is None and frames[0].items):
        return ""
    if root is None:
        return "no call has begun"
    name = next((member.value for member in reversed(root.members) if member.key == "name"), None)
    if name is None:
        return "the call's name is missing, so there is nothing to mend"
    if not _is_whole(name, cut) or name.kind is not JsonKind.STRING:
        return "the call's name is cut, so there is nothing to mend"
    return (
        "" if _has_arguments(root, frames, cut) else "the call's arguments have not begun, so there is nothing to mend"
    )


def _is_whole(node: JsonNode, cut: Truncation | None) -> bool:
    return not (cut and cut.range.start == node.range.start)


def _has_arguments(root: Frame, frames: list[Frame], cut: Truncation | None) -> bool:
    for member in root.members:
        if member.key in _ARGUMENTS and _is_whole(member.value, cut):
            return True
    return root is not frames[-1] and root.key in _ARGUMENTS
