"""The stack of open brackets: opens, fills and closes them, and makes nodes of what was in them."""

from dataclasses import dataclass, replace

from inspector.diagnostics import Edit, Fault, Fix
from inspector.json_scanner import bracket_wording as say
from inspector.json_scanner.cursor import Cursor, Frame, Next
from inspector.json_scanner.strict import read_container
from inspector.json_scanner.values import JsonKind, JsonNode, Member
from inspector.text import Range


@dataclass(slots=True)
class JsonMachine:
    """The brackets open around the cursor; `result` is the value that was read once the last of them has closed.

    `call` says that the value is a tool call, whose root holds a name and arguments and nothing else.
    """

    cursor: Cursor
    call: bool = False
    result: JsonNode | None = None
    strict_until: int = -1
    """Up to here the quick road was tried and found a fault; it is not tried again for what begins before."""

    @property
    def frame(self) -> Frame:
        """The innermost open bracket."""
        return self.cursor.frames[-1]

    def report(self, fault: Fault) -> None:
        """One fault more."""
        self.cursor.found.add(fault)

    def take_strict(self, start: int) -> JsonNode | None:
        """The object or array at `start`, if it is strict: then the cursor moves behind it.

        Each attempt begins behind the place where the last one failed, so all of them together stay linear.
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
        """A new innermost bracket; `fault` is reported when it closes, its repair completed."""
        waits_for = Next.KEY if opener == "{" else Next.VALUE
        own = "}" if opener == "{" else "]"
        frame = Frame(opener, closer or own, start, waits_for, self.cursor.at, fault=fault)
        self.cursor.frames.append(frame)
        return frame

    def attach(self, node: JsonNode) -> None:
        """Give a value to the innermost bracket, or make it the result if none is open."""
        if not self.cursor.frames:
            self.result = node
            return
        frame = self.frame
        if frame.opener == "{":
            frame.members.append(Member(frame.key, frame.key_range, node))
        else:
            frame.items.append(node)
        frame.next, frame.comma, frame.last_end = Next.COMMA, -1, node.range.end

    def close(self, at: int) -> None:
        """The bracket at `at` closes the innermost one, whatever kind it is; the cursor moves behind it."""
        frame, cursor = self.frame, self.cursor
        got = cursor.text[at]
        if frame.comma >= 0 and frame.next is not Next.COMMA:
            self.report(say.trailing_comma(frame.comma, got))
        edits = [Edit(Range(at, at + 1), frame.closes_with)] if got != frame.closes_with else []
        cursor.at = at + 1
        if frame.doubled:
            edits += self._second_closer()
        self._finish(frame, cursor.at, edits)

    def closing_edit(self, at: int, following: int, closers: str) -> Edit:
        """The edit that puts missing closers at `at`, though another repair may put something in there too.

        Then they go before the comma or bracket that stands at `following`, which that repair does not touch; if a
        comma is what it puts in, they go before it.
        """
        text, found = self.cursor.text, self.cursor.found
        if not found.inserts_at(at):
            return Edit(Range(at, at), closers)
        if text[following] in ",]})":
            return Edit(Range(following, following + 1), closers + text[following])
        return Edit(Range(at - 1, at), text[at - 1] + closers)

    def close_unwritten(self, end: int) -> None:
        """The innermost bracket closes at `end`, where its closer is missing."""
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
    return replace(fault, fix=Fix((*fault.fix.edits, *edits), fault.fix.safe))


def doubled_keys(text: str, node: JsonNode) -> list[Fault]:
    """A fault for every key of an object that repeats an earlier one."""
    first: dict[str, Range] = {}
    faults = []
    for member in node.members:
        if member.key in first and len(member.key_range):
            faults.append(say.duplicate_key(text, first[member.key], member.key_range))
        first.setdefault(member.key, member.key_range)
    return faults
