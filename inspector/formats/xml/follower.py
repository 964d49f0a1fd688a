"""Follows the parameters of a call chunk by chunk, as far as needed to know whether a position is inside a value.

Theory of operation. Outside values nothing is data: tags are looked for, and whatever else is there is passed over.
Within a value, further opening tags of parameters count up and closing tags down; at depth 0 a closing tag ends the
value only if structure follows, so the first character behind it, white space passed over, decides at first: where it
begins no tag, the closing tag was data; where it may begin one, the value is complete, until that tag turns out to be
none.
A tag that a piece cuts short is kept, at most the longest tag less one character. Each character is read once.
"""

from enum import Enum, auto

from inspector.formats.xml.syntax import XmlSyntax
from inspector.scanning import lazy_pattern
from inspector.segmenter.events import Payload, read_on
from inspector.segmenter.table import Lookahead

_SPACE = lazy_pattern(r"\s*")


class _At(Enum):
    OUTSIDE = auto()
    HEAD = auto()
    BODY = auto()
    VALUE = auto()
    BEHIND_VALUE = auto()


class XmlFollower:
    """A Follower of calls with parameters in tags; it is never broken, since no text forbids a later tag."""

    def __init__(self, syntax: XmlSyntax) -> None:
        self.broken = False
        self.in_string = False
        self.completed = False
        self._syntax = syntax
        self._call_end = Lookahead(syntax.call_end) if syntax.call_end else None
        self._end = syntax.closes
        self._at = _At.HEAD if syntax.call is None else _At.OUTSIDE
        self._depth = 0
        self._kept = syntax.lead
        self._is_told = False

    def feed(self, text: str, start: int = 0, end: int | None = None, /) -> int:
        """See Follower. Stops before the tag that seems to follow a value."""
        stop = len(text) if end is None else end
        self.completed = False
        at = start
        while at < stop and not self.completed and not self.broken:
            at = self._step_joined(text, at, stop) if self._kept else self._step(text, at, stop)
        return at

    def _step_joined(self, text: str, at: int, stop: int) -> int:
        """Steps through a tag that the piece before cut short."""
        kept, self._kept = self._kept, ""
        joined = kept + text[at : min(stop, at + self._syntax.longest)]
        place = 0
        while place < len(kept) and not self.completed:
            place = self._step(joined, place, len(joined))
        return max(at + place - len(kept), at)

    def _step(self, text: str, at: int, stop: int) -> int:
        """Read on from `at`; the place up to which everything was read."""
        match self._at:
            case _At.VALUE:
                return self._value(text, at, stop)
            case _At.BEHIND_VALUE:
                return self._behind_value(text, at, stop)
            case _:
                return self._structure(text, at, stop)

    def _value(self, text: str, at: int, stop: int) -> int:
        found = self._syntax.in_value.search(text, at, stop)
        if found is None:
            return self._keep_cut_short(text, at, stop, self._syntax.parameter, self._end)
        if found[1] is not None:
            self._depth += 1
        elif self._depth:
            self._depth -= 1
        else:
            self._go(_At.BEHIND_VALUE)
        return found.end()

    def _behind_value(self, text: str, at: int, stop: int) -> int:
        at = self._past_space(text, at, stop)
        if at == stop:
            return at
        if text[at] != self._syntax.first:
            self._go(_At.VALUE)
        elif not self._is_told:
            self._is_told = self.completed = True
        else:
            return self._tag(text, at, stop, otherwise=_At.VALUE)
        return at

    def _structure(self, text: str, at: int, stop: int) -> int:
        found = text.find(self._syntax.first, at, stop)
        if found < 0:
            return stop
        if self._at is _At.HEAD:
            self._at = _At.BODY
        after = self._tag(text, found, stop, otherwise=self._at)
        return after if after > found else found + 1

    def _tag(self, text: str, at: int, stop: int, *, otherwise: _At) -> int:
        """The place behind the tag at `at`; that place itself, in the state `otherwise`, where there is none."""
        syntax = self._syntax
        ways: tuple[tuple[Lookahead | None, _At], ...] = ((syntax.call, _At.BODY),)
        if self._at is not _At.OUTSIDE:
            ways = ((syntax.parameter, _At.VALUE), (self._call_end, _At.OUTSIDE), *ways)
        for tag, state in ways:
            match = tag.whole.match(text, at, stop) if tag is not None else None
            if match is not None:
                self._go(state)
                return match.end()
        if any(tag is not None and tag.cut_short.match(text, at, stop) is not None for tag, _ in ways):
            self._kept = text[at:stop]
            return stop
        self._go(otherwise)
        return at

    def _keep_cut_short(self, text: str, at: int, stop: int, *tags: Lookahead) -> int:
        first = self._syntax.first
        place = text.find(first, max(at, stop - self._syntax.longest), stop)
        while place >= 0:
            if any(tag.cut_short.match(text, place, stop) is not None for tag in tags):
                self._kept = text[place:stop]
                break
            place = text.find(first, place + 1, stop)
        return stop

    def _go(self, state: _At) -> None:
        self._at = state
        self._is_told = False
        self.in_string = state is _At.VALUE
        if state is not _At.VALUE:
            self._depth = 0

    def _past_space(self, text: str, at: int, stop: int) -> int:
        match = _SPACE.match(text, at, stop)
        return match.end() if match is not None else at


def xml_payload(syntax: XmlSyntax) -> Payload:
    """The payload of calls in this syntax."""

    def follower() -> XmlFollower:
        return XmlFollower(syntax)

    def ends_within(text: str) -> bool:
        begins, ends = syntax.parameter_begins, syntax.parameter_end
        opened, closed, tail = text.count(begins), text.count(ends), text.rstrip()
        is_closed = tail.endswith(ends)
        if syntax.end_tag is not None:  # its beginning is that of an opening tag as well
            opened -= closed
            is_closed = tail.endswith(">") and tail.rfind(ends) == tail.rfind(begins)
        is_closed = is_closed or (bool(syntax.call_end) and tail.endswith(syntax.call_end))
        if opened == closed and (is_closed or not opened):
            return False
        reader = follower()
        read_on(reader, text)
        return reader.in_string

    return Payload(follower, ends_within)
