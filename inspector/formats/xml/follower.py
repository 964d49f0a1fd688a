"""Tracks the parameters of a call chunk by chunk, as far as needed to know whether a position is inside a value.

Theory of operation. Outside values nothing is data: only tags are searched, and all other text is skipped. Within a
value, further opening tags of parameters increase the depth and closing tags decrease it. At depth 0 a closing tag ends
the value only if structure follows, so the first character after it that is not white space decides at first. If it
cannot begin a tag, the closing tag was data; if it can, the value is complete, until that tag turns out not to be one.
A tag that the end of a chunk cuts short is held back, at most the longest tag less one character. Each character is
read once.
"""

from enum import Enum, auto

from weaklink.inspector.formats.xml.syntax import XmlSyntax
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.events import Payload, read_on
from weaklink.inspector.segmenter.table import Lookahead

_SPACE = lazy_pattern(r"\s*")


class _State(Enum):
    OUTSIDE = auto()
    HEAD = auto()
    BODY = auto()
    VALUE = auto()
    AFTER_VALUE = auto()


class XmlFollower:
    """A Follower of calls with parameters in tags; it is never broken, since no text forbids a later tag."""

    def __init__(self, syntax: XmlSyntax) -> None:
        self.broken = False
        self.in_string = False
        self.completed = False
        self._syntax = syntax
        self._call_end = Lookahead(syntax.call_end) if syntax.call_end else None
        self._end = syntax.closes
        self._state = _State.HEAD if syntax.call is None else _State.OUTSIDE
        self._depth = 0
        self._kept = syntax.lead
        self._is_reported = False

    def feed(self, text: str, start: int = 0, end: int | None = None, /) -> int:
        """See Follower. Stops before the tag that seems to follow a value."""
        stop = len(text) if end is None else end
        self.completed = False
        position = start
        while position < stop and not self.completed and not self.broken:
            position = self._step_joined(text, position, stop) if self._kept else self._step(text, position, stop)
        return position

    def _step_joined(self, text: str, position: int, stop: int) -> int:
        """Step through a tag that the end of the previous chunk cut short."""
        kept, self._kept = self._kept, ""
        joined = kept + text[position : min(stop, position + self._syntax.longest)]
        offset = 0
        while offset < len(kept) and not self.completed:
            offset = self._step(joined, offset, len(joined))
        return max(position + offset - len(kept), position)

    def _step(self, text: str, position: int, stop: int) -> int:
        """Take one step from `position`; returns the position up to which everything was read."""
        match self._state:
            case _State.VALUE:
                return self._value(text, position, stop)
            case _State.AFTER_VALUE:
                return self._after_value(text, position, stop)
            case _:
                return self._structure(text, position, stop)

    def _value(self, text: str, position: int, stop: int) -> int:
        match = self._syntax.in_value.search(text, position, stop)
        if match is None:
            return self._keep_cut_short(text, position, stop, self._syntax.parameter, self._end)
        if match[1] is not None:
            self._depth += 1
        elif self._depth:
            self._depth -= 1
        else:
            self._enter(_State.AFTER_VALUE)
        return match.end()

    def _after_value(self, text: str, position: int, stop: int) -> int:
        space = _SPACE.match(text, position, stop)
        position = space.end() if space is not None else position
        if position == stop:
            return position
        if text[position] != self._syntax.first:
            self._enter(_State.VALUE)
        elif not self._is_reported:
            self._is_reported = self.completed = True
        else:
            return self._tag(text, position, stop, otherwise=_State.VALUE)
        return position

    def _structure(self, text: str, position: int, stop: int) -> int:
        tag_start = text.find(self._syntax.first, position, stop)
        if tag_start < 0:
            return stop
        if self._state is _State.HEAD:
            self._state = _State.BODY
        after = self._tag(text, tag_start, stop, otherwise=self._state)
        return after if after > tag_start else tag_start + 1

    def _tag(self, text: str, position: int, stop: int, *, otherwise: _State) -> int:
        """The position after the tag at `position`; `position` itself, in the state `otherwise`, if there is no tag."""
        syntax = self._syntax
        candidates: tuple[tuple[Lookahead | None, _State], ...] = ((syntax.call, _State.BODY),)
        if self._state is not _State.OUTSIDE:
            candidates = ((syntax.parameter, _State.VALUE), (self._call_end, _State.OUTSIDE), *candidates)
        for tag, state in candidates:
            match = tag.whole.match(text, position, stop) if tag is not None else None
            if match is not None:
                self._enter(state)
                return match.end()
        if any(tag is not None and tag.cut_short.match(text, position, stop) is not None for tag, _ in candidates):
            self._kept = text[position:stop]
            return stop
        self._enter(otherwise)
        return position

    def _keep_cut_short(self, text: str, position: int, stop: int, *tags: Lookahead) -> int:
        first = self._syntax.first
        start = text.find(first, max(position, stop - self._syntax.longest), stop)
        while start >= 0:
            if any(tag.cut_short.match(text, start, stop) is not None for tag in tags):
                self._kept = text[start:stop]
                break
            start = text.find(first, start + 1, stop)
        return stop

    def _enter(self, state: _State) -> None:
        self._state = state
        self._is_reported = False
        self.in_string = state is _State.VALUE
        if state is not _State.VALUE:
            self._depth = 0


def xml_payload(syntax: XmlSyntax) -> Payload:
    """The payload of calls in this syntax."""

    def follower() -> XmlFollower:
        return XmlFollower(syntax)

    def ends_within(text: str) -> bool:
        begins, ends = syntax.parameter_begins, syntax.parameter_end
        opened, closed, tail = text.count(begins), text.count(ends), text.rstrip()
        is_closed = tail.endswith(ends)
        if syntax.end_tag is not None:  # an opening tag begins with it too
            opened -= closed
            is_closed = tail.endswith(">") and tail.rfind(ends) == tail.rfind(begins)
        is_closed = is_closed or (bool(syntax.call_end) and tail.endswith(syntax.call_end))
        if opened == closed and (is_closed or not opened):
            return False
        reader = follower()
        read_on(reader, text)
        return reader.in_string

    return Payload(follower, ends_within)
