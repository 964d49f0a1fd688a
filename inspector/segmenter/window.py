"""The section of text that the machine searches for markers, and the span that is open there."""

import re

from weaklink.inspector.model import Span, ToolCall
from weaklink.inspector.segmenter.events import ParseEvent, SpanClosed, SpanOpened
from weaklink.inspector.segmenter.table import HERE, State, Table, Transition
from weaklink.inspector.text import Range

_SHORT_CHARS = 512  # up to here a window is searched anew each time, without a cache
_LONG_CHARS = 4_096  # above this, markers that are absent from the window are left out of every search
_MAX_FINDS = 32  # how often a first character may be found without its marker before the pattern itself searches


class SearchWindow:
    """`text` begins at `base` in the whole text. The next match of each pattern is cached: nothing is searched twice.

    The next marker of each state is cached too: the lookahead may have failed at many markers before it. A cached match
    is valid only from where its search began: states share patterns, and a marker that counts in one state may not
    count in another.

    A short window, as a stream creates for each possible marker, is searched again each time, without a cache. A long
    window is first searched for the markers of all states, by first character: if there are none, the states skip them.
    """

    __slots__ = ("_absent", "_active", "_matches", "_next", "base", "text")

    def __init__(self, text: str, base: int, table: Table) -> None:
        self.text = text
        self.base = base
        self._matches: dict[int, tuple[int, re.Match[str] | None]] = {}
        self._next: dict[tuple[str, bool], tuple[int, int, int, Transition | None]] = {}
        self._active: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
        families = table.patterns.items() if len(text) > _LONG_CHARS else ()
        self._absent = [first for first, pattern in families if pattern.search(text) is None]

    def next_transition(self, state: State, start: int, *, final: bool) -> tuple[int, Transition | None]:
        """The position of the next marker of `state` from `start` on, or up to where there is certainly none.

        `final` says that no text follows, so that nothing at the end can be the beginning of a marker.
        """
        if len(self.text) <= _SHORT_CHARS:
            pos, transition = self._search_transition(state, start, final=final)
            return pos + (transition.lead if transition is not None else 0), transition
        searched, marker_pos, pos, transition = self._next.get((state.name, final), (0, -1, 0, None))
        if not searched <= start <= marker_pos:
            marker_pos, transition = self._search_transition(state, start, final=final)
            pos = marker_pos + (transition.lead if transition is not None else 0)
            self._next[state.name, final] = start, marker_pos, pos, transition
        return pos, transition

    def _search_transition(self, state: State, start: int, *, final: bool) -> tuple[int, Transition | None]:
        """As `next_transition`, but the position of a marker is that of its lead."""
        pos = start
        while True:
            pos, transition = self._next_marker(state, pos, start, final=final)
            if transition is None or transition.ahead is None:
                return pos, transition
            for candidate in (transition, *state.shorter.get(transition.marker, ())):
                after = pos if candidate is state.other_transition else pos + len(candidate.marker)
                counts = candidate.ahead is None or candidate.ahead.counts(self.text, after, final=final)
                if counts is None:
                    return pos, None
                if counts:
                    return pos, candidate
            pos += 1

    def _next_marker(self, state: State, pos: int, start: int, *, final: bool) -> tuple[int, Transition | None]:
        """The next marker from `pos` on, without lookahead, and its position; `other` characters count from `start`."""
        if len(self.text) <= _SHORT_CHARS:
            match = state.any_marker(self.text, pos, len(self.text))
        else:
            match = self._first_match(self._active_patterns(state), pos)
        marker_pos = match.start() if match is not None else len(self.text)
        transition = state.by_marker[match[0]] if match is not None else None
        if state.other_pattern is not None:
            other = state.other_pattern.search(self.text, start, marker_pos)
            if other is not None:
                marker_pos, transition = other.start(), state.other_transition
        if not final and marker_pos + state.longest > len(self.text):
            cut = cut_short(state, self.text, pos, marker_pos)
            if cut is not None:
                return cut, None
        return marker_pos, transition

    def _active_patterns(self, state: State) -> list[tuple[str, re.Pattern[str]]]:
        active = self._active.get(state.name)
        if active is None:
            absent = self._absent if state.other_pattern is None else ()
            active = [(first, pattern) for first, pattern in state.patterns.items() if first not in absent]
            self._active[state.name] = active
        return active

    def _first_match(self, active: list[tuple[str, re.Pattern[str]]], start: int) -> re.Match[str] | None:
        """The leftmost match of several patterns; the other matches are cached for the next search."""
        best: re.Match[str] | None = None
        for first, pattern in active:
            key = id(pattern)
            searched, match = self._matches.get(key, (start + 1, None))
            if start < searched or (match is not None and match.start() < start):
                match = _search(self.text, first, pattern, start)
                self._matches[key] = start, match
            if match is not None and (best is None or match.start() < best.start()):
                best = match
        return best

    def markers(self, state: State, start: int, end: int) -> list[re.Match[str]]:
        """Every marker of `state` between `start` and `end`, in order."""
        matches = [match for pattern in state.patterns.values() for match in pattern.finditer(self.text, start, end)]
        return sorted((match for match in matches if self._counts(state, match)), key=re.Match.start)

    def _counts(self, state: State, match: re.Match[str]) -> bool:
        transition: Transition | None = state.by_marker[match[0]]
        while transition is not None and transition.target != HERE:
            if transition.ahead is None or transition.ahead.counts(self.text, match.end(), final=True):
                return True
            transition = transition.otherwise
        return False


def _search(text: str, first: str, pattern: re.Pattern[str], start: int) -> re.Match[str] | None:
    """As `pattern.search` if each match begins with `first`: searching for one character is faster if it is rare."""
    for _ in range(_MAX_FINDS):
        start = text.find(first, start)
        if start < 0:
            return None
        match = pattern.match(text, start)
        if match is not None:
            return match
        start += 1
    return pattern.search(text, start)


def cut_short(state: State, text: str, start: int, limit: int) -> int | None:
    """The position, from `start` to `limit`, of a marker of `state` that the end of `text` cuts short; or None."""
    first = max(start, len(text) - state.longest + 1)
    marker_pos: int | None = None
    for character in state.first_characters:
        pos = text.find(character, first)
        while 0 <= pos <= limit:
            if text[pos:] in state.beginnings:
                marker_pos, limit = pos, pos - 1
                break
            pos = text.find(character, pos + 1)
    return marker_pos


class OpenSpan:
    """The part of a machine that keeps the open span; offsets named `..._at` are in the whole text.

    `_window` is the section of text being read, `_pos` the position in it up to which everything is settled.
    """

    _state: State

    def __init__(self, window: SearchWindow) -> None:
        self._window = window
        self._pos = 0
        self._events: list[ParseEvent] = []
        self._is_open = False
        self._open_at = 0
        self._inner_at = 0
        self._kept: list[str] = []
        self._payload_at = 0
        self._call: ToolCall | None = None

    def _open(self, pos: int, marker: int) -> None:
        """Open a span at `pos`, whose first `marker` characters are its marker."""
        self._is_open = True
        self._open_at = self._window.base + pos
        self._inner_at = self._open_at + marker
        self._pos = pos + marker
        self._kept = []
        self._payload_at = 0
        self._events.append(SpanOpened(self._state.kind, self._open_at, self._inner_at, self._state.label))

    def _settle(self, to: int) -> None:
        """Add the window up to `to` to the open span."""
        if to > self._pos:
            if not self._is_open:
                self._open(self._pos, 0)
            self._kept.append(self._window.text[self._pos : to])
            self._pos = to

    def _inner_text(self, to: int) -> str:
        """The inner text of the open span if it ends at `to`."""
        rest = self._window.text[self._pos : to]
        return "".join([*self._kept, rest]) if self._kept else rest

    def _payload_text(self, to: int) -> str:
        """The text of the open span's payload up to `to`; the payload begins where the state was entered."""
        rest = self._window.text[self._pos : to]
        return "".join([*self._kept[self._payload_at :], rest]) if self._kept else rest

    def _is_at_payload(self) -> bool:
        """Whether nothing of the payload has been read yet."""
        return len(self._kept) == self._payload_at

    def _close(self, pos: int, marker: int, *, wanted: str = "", by: Transition | None = None) -> str:
        """Close the open span, whose inner text ends at `pos` and which ends `marker` characters later."""
        state, inner_end = self._state, self._window.base + pos
        inner = self._inner_text(pos)
        self._pos = pos + marker
        self._is_open = False
        self._kept = []
        self._payload_at = 0
        outer, inside = Range(self._open_at, inner_end + marker), Range(self._inner_at, inner_end)
        span = Span(state.kind, outer, inside, not wanted, state.label)
        call, self._call = self._call, None
        if wanted:
            ended_at = Range(inner_end, inner_end + max(by.taken, 1)) if by else None
            ended_by = by.marker if by else ""
            self._events.append(SpanClosed(span, inner, wanted, ended_by, ended_at, call, state.by_model))
        else:
            self._events.append(SpanClosed(span, inner, call=call, by_model=state.by_model))
        return inner
