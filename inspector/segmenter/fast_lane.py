"""Runs a format's table over a whole text in which nothing is unusual, at a fraction of the machine's cost.

Theory of operation. A whole text needs none of what makes the machine slow on short texts: nothing is held back, there
is no window, and no event before a span closes. `_EnclosedSpans` reads most of it: one expression, built from the
table, matches the words up to a marker and the whole span that this marker opens. For the rest, `_Steps` takes one
transition after the other, as `Machine` does, whose comments explain them.

Both handle only what breaks no rule. At anything else the lane gives up: a transition with a rule, a span without its
closing marker, a marker that may be in a string, a payload that does not complete. Then the machine reads the text
again from its beginning, and it alone creates diagnostics. So the lane may refuse any text, but must never read one
differently; tests/test_fast_lane.py compares both over every format.

Each character is searched for markers at most twice, and read as a payload at most twice.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

from weaklink.inspector.model import Span, SpanKind, ToolCall
from weaklink.inspector.scanning import MAX_ROUNDS
from weaklink.inspector.segmenter.events import Payload, SpanClosed
from weaklink.inspector.segmenter.machine import Machine
from weaklink.inspector.segmenter.table import HERE, HOME, ROLE, MarkerSplit, State, Table, Transition
from weaklink.inspector.text import Range

_SAMPLE_CHARS = 1_024
_SPARSE_CHARS_PER_MARKER = 1_500  # so a sample is sparse if it has no closing marker at all
_SAMPLE_EVERY_CHARS = 2_048  # only after a longer span another sample is taken
_NextMatches: TypeAlias = dict[str, re.Match[str] | int]
"""For each family of a state's markers the next one, or the position before which none begins."""


class FastLane:
    """Reads whole texts that begin in the current state of `machine`, which must not have read anything yet.

    `refuses` returns True for a text that a reader other than the machine may have to read.
    """

    def __init__(self, machine: Machine, refuses: Callable[[str], bool] | None = None) -> None:
        self.table = machine.table
        self._refuses = refuses
        self.start, self.home = machine.state, machine.home
        self._enclosed: dict[str, _EnclosedSpans] = {}

    def read(self, text: str) -> list[SpanClosed] | None:
        """The closed spans of `text`, in order, which tile it; None if the machine has to read the text."""
        if "\x00" in text or (self._refuses is not None and self._refuses(text)):
            return None
        events: list[SpanClosed] = []
        end = self.enclosed_in(self.start).read(text, 0, events) if self.start is self.home else 0
        if end == len(text):
            return events
        return _Steps(self, text, events, end).read() if end >= 0 else None

    def enclosed_in(self, home: State) -> "_EnclosedSpans":
        """The reader of the spans that begin and end in `home`, the home state of a turn."""
        spans = self._enclosed.get(home.name)
        if spans is None:
            spans = self._enclosed[home.name] = _EnclosedSpans(home, self.table)
        return spans


class _EnclosedSpans:
    """Reads the words of a home state, and the spans between them from an opening to a closing marker."""

    def __init__(self, home: State, table: Table) -> None:
        self._home = home
        self._cut_openers = table.cut_beginnings if home.kind is SpanKind.TEXT else ()
        transitions = [
            (transition, table.by_name[transition.target])
            for transition in home.transitions
            if transition.target in table.by_name
        ]
        enclosed = [
            (transition, state, closer)
            for transition, state in transitions
            if (closer := _closer(home, transition, state)) is not None
        ]
        self._states = [state for _, state, _ in enclosed]
        spans = (
            f"{re.escape(transition.marker)}({_without_markers(state)}){re.escape(closer)}"
            for transition, state, closer in enclosed
        )
        together = "|".join(spans)
        self._match = re.compile(f"({_without_markers(home)})(?:{together})?" if together else "()").match

    def read(self, text: str, pos: int, events: list[SpanClosed]) -> int:
        """Add the spans from `pos` on to `events`; returns the position of the first other text, or -1 to give up."""
        home, size = self._home, len(text)
        sampled_to = 0  # a sample is taken at the beginning and after long spans
        while pos < size:
            if pos >= sampled_to and size - pos > _SAMPLE_CHARS and self._is_sparse(text[pos : pos + _SAMPLE_CHARS]):
                return pos
            sampled_to = pos + _SAMPLE_EVERY_CHARS
            match = self._match(text, pos)
            assert match is not None
            group, end = match.lastindex, match.end(1)
            if group is None or match.end() == end:
                if end < size or home.closer or text.endswith(self._cut_openers):
                    return pos
                events.append(_closed(home, text[pos:], Range(pos, size), Range(pos, size), None))
                return size
            if end > pos:
                events.append(_closed(home, match[1], words := Range(pos, end), words, None))
            state, inner = self._states[group - 2], match[group]
            start, inner_end = match.span(group)
            call: ToolCall | None = None
            payload = state.payload
            if payload is not None:
                read_whole = payload.read_whole
                call = read_whole(inner, start) if read_whole is not None else None
                if call is None and payload.ends_within(inner):
                    return -1
            pos = match.end()
            events.append(_closed(state, inner, Range(end, pos), Range(start, inner_end), call))
        return pos

    def _is_sparse(self, sample: str) -> bool:
        """Whether markers are so rare that it is faster to search for their first characters, as `_Steps` does."""
        return sum(sample.count(state.closer) for state in self._states) * _SPARSE_CHARS_PER_MARKER < len(sample)


def _closer(home: State, transition: Transition, state: State) -> str | None:
    """The closing marker of the span that `transition` opens from a home state; None if it is not a simple span."""
    is_plain = (
        transition.cut is MarkerSplit.BEFORE
        and transition.taken == len(transition.marker)
        and transition.ahead is None
        and not transition.closes
    )
    if (
        not is_plain
        or transition.rule is not None
        or home.other
        or home.closer
        or home.then
        or state.other
        or state.then
    ):
        return None
    closes = state.by_marker.get(state.closer)
    is_closed = closes is not None and closes.cut is MarkerSplit.AFTER and closes.target == HOME
    if closes is None or not is_closed or closes.rule is not None or closes.ahead is not None or closes.lead:
        return None
    is_longest = not any(other != transition.marker and other.startswith(transition.marker) for other in home.markers)
    return closes.marker if is_longest and closes.taken == len(closes.marker) else None


def _without_markers(state: State) -> str:
    """An expression for the text up to the state's next marker, without lookahead."""
    firsts = "".join(map(re.escape, state.patterns))
    if not firsts:
        return r"[\s\S]*+"
    others = "|".join(rf"(?!{pattern.pattern}){re.escape(first)}" for first, pattern in state.patterns.items())
    return rf"[^{firsts}]*+(?:(?:{others})[^{firsts}]*+){{0,{MAX_ROUNDS}}}"


class _Steps:
    """Takes one text through the states; `_pos` is the position in it, the other attributes are as in `OpenSpan`."""

    def __init__(self, lane: FastLane, text: str, events: list[SpanClosed], start: int) -> None:
        self._lane = lane
        self._text = text
        self._events = events
        self._state, self._home = lane.start, lane.home
        self._pos = self._payload_at = self._open_at = self._inner_at = start
        self._is_open = False
        self._call: ToolCall | None = None
        self._markers: _NextMatches = {}

    def read(self) -> list[SpanClosed] | None:
        """All closed spans of the text, in order; None if the machine has to read the text."""
        while (step := self._next()) is not None:
            pos, transition = step
            if transition is None:
                return self._end()
            if not self._take(transition, pos):
                return None
            if self._state is self._home and not self._is_open:
                self._pos = self._lane.enclosed_in(self._home).read(self._text, self._pos, self._events)
                if self._pos < 0:
                    return None
        return None

    def _next(self) -> tuple[int, Transition | None] | None:
        """The next transition and its position; None to give up."""
        state, text = self._state, self._text
        payload = state.payload
        if payload is not None and state.then is not None:
            end = _value_end(state, payload, text, self._pos)
            if end < 0:
                return None
            self._settle(end)
            return end, state.then
        pos, transition = _next_transition(state, text, self._pos, self._markers)
        if payload is not None and transition is not None:
            written = text[self._payload_at : pos]
            self._call = payload.read_whole(written, self._inner_at) if payload.read_whole is not None else None
            if self._call is None and payload.ends_within(written):
                return None
        return pos, transition

    def _take(self, transition: Transition, pos: int) -> bool:
        """Take a transition, whose marker is at `pos`; False to give up."""
        if (
            transition.rule is not None
            or transition.closes
            or (transition.target == HERE and transition.cut is not MarkerSplit.NONE)
        ):
            return False
        if pos > self._pos and not self._is_open:
            self._open(self._pos, 0)
        if transition.cut is MarkerSplit.NONE:
            return self._stay(transition, pos)
        inner = ""
        if transition.cut is MarkerSplit.AFTER:
            if not self._is_open:
                self._open(self._pos, 0)
            inner = self._close(pos, transition.taken)
        elif self._is_open:
            if self._state.closer:
                return False
            inner = self._close(pos, 0)
        self._enter(transition, inner)
        if transition.cut is MarkerSplit.BEFORE and (transition.taken or self._state.kind is not SpanKind.TEXT):
            self._open(pos, transition.taken)
        self._payload_at = self._pos
        return True

    def _stay(self, transition: Transition, pos: int) -> bool:
        """Take a transition whose marker remains inside the span; False to give up."""
        if self._call is not None or (transition.target == HERE and self._state.payload is not None):
            return False
        self._settle(pos + transition.taken)
        if transition.target != HERE:
            self._enter(transition, "")
            self._payload_at = self._pos
        return True

    def _enter(self, transition: Transition, inner: str) -> None:
        if transition.target == ROLE:
            self._home = self._lane.table.home(inner)
        self._state = self._home if transition.target in (HOME, ROLE) else self._lane.table.by_name[transition.target]

    def _open(self, start: int, marker: int) -> None:
        self._is_open = True
        self._open_at = start
        self._pos = self._inner_at = start + marker

    def _settle(self, to: int) -> None:
        if to > self._pos:
            if not self._is_open:
                self._open(self._pos, 0)
            self._pos = to

    def _close(self, inner_end: int, marker: int) -> str:
        whole, inner = Range(self._open_at, inner_end + marker), Range(self._inner_at, inner_end)
        closed = _closed(self._state, inner.of(self._text), whole, inner, self._call)
        self._events.append(closed)
        self._pos = inner_end + marker
        self._is_open, self._call = False, None
        return closed.inner_text

    def _end(self) -> list[SpanClosed] | None:
        """Handle the end of the text; None if the machine has to read it."""
        state, text = self._state, self._text
        if not self._is_open and self._pos == len(text):
            return self._events
        if (
            state.closer
            or state.unfinished
            or (state.kind is SpanKind.TEXT and text.endswith(self._lane.table.cut_beginnings))
        ):
            return None
        self._settle(len(text))
        self._close(len(text), 0)
        return self._events


def _closed(state: State, text: str, whole: Range, inner: Range, call: ToolCall | None) -> SpanClosed:
    """The event of a span whose inner text is `text`."""
    return SpanClosed(
        Span(state.kind, whole, inner, label=state.label), text, "", "", None, call, by_model=state.by_model
    )


def _next_transition(state: State, text: str, start: int, markers: _NextMatches) -> tuple[int, Transition | None]:
    """As `SearchWindow.next_transition` for a final `text`."""
    pos, size = start, len(text)
    while True:
        transition: Transition | None
        if state.families:
            pos, transition = _next_marker(state, text, pos, markers)
        else:
            match = state.search(text, pos)
            if match is None:
                return size, None
            pos, transition = (
                match.start(),
                state.by_marker.get(match[0]) if match.lastindex is None else state.other_transition,
            )
        if transition is None:
            return pos, None
        counting = transition if transition.ahead is None else _counting_transition(state, transition, text, pos)
        if (
            counting is None
            and transition is not state.other_transition
            and state.other_pattern is not None
            and state.other_pattern.match(text, pos) is not None
        ):
            counting = _counting_transition(state, state.other_transition, text, pos)
        if counting is not None:
            return pos + counting.lead, counting
        pos += 1


def _counting_transition(state: State, transition: Transition | None, text: str, pos: int) -> Transition | None:
    """The transition whose lookahead matches after the marker at `pos`: `transition`, or one of its alternatives."""
    for candidate in (transition, *state.shorter.get(transition.marker, ())) if transition is not None else ():
        after = pos if candidate is state.other_transition else pos + len(candidate.marker)
        if candidate.ahead is None or candidate.ahead.whole.match(text, after) is not None:
            return candidate
    return None


def _next_marker(state: State, text: str, pos: int, next_matches: _NextMatches) -> tuple[int, Transition | None]:
    """The next marker of a state whose markers have few first characters; `next_matches` has each family's next match.

    A family is searched no further than to the next marker of the others.
    """
    first, marker = len(text), ""
    for family, search in state.families:
        known = next_matches.get(family, 0)
        if isinstance(known, int) or known.start() < pos:
            start = max(known, pos) if isinstance(known, int) else pos
            if start >= first:
                continue
            match = search(text, start, first + state.longest)
            known = next_matches[family] = match if match is not None and match.start() < first else first
        if not isinstance(known, int) and known.start() < first:
            first, marker = known.start(), known[0]
    return first, state.by_marker[marker] if marker else None


def _value_end(state: State, payload: Payload, text: str, start: int) -> int:
    """The end of the payload's value that begins at `start`; -1 if it is not complete, or may contain a marker."""
    end = payload.whole_end(text, start) if payload.whole_end is not None else -1
    if end < 0:
        follower = payload.follower()
        end = follower.feed(text, start)
        if not follower.completed:
            return -1
    match = state.any_marker(text, start, min(len(text), end + state.longest))
    return -1 if match is not None and match.start() < end else end
