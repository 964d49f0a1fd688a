"""A stretch of a text in which a state's markers are looked for, from left to right."""

import re

from inspector.segmenter.table import State, Table, Transition

_LONG = 4_096
_HOPS = 32


class Window:
    """`text` begins at `base` in the whole text. Each pattern keeps its next match, so nothing is searched twice.

    A long window is searched first for the markers of all states, by first character: where there are none, no state
    need look for its own.
    """

    __slots__ = ("_absent", "_matches", "base", "text")

    def __init__(self, text: str, base: int, table: Table) -> None:
        self.text = text
        self.base = base
        self._matches: dict[int, re.Match[str] | None] = {}
        families = table.patterns.items() if len(text) > _LONG else ()
        self._absent = [first for first, pattern in families if pattern.search(text) is None]

    def next_transition(self, state: State, start: int, *, final: bool) -> tuple[int, Transition | None]:
        """The place of the next marker of `state` from `start` on, or how far the window is certain to hold none.

        `final` says that no text follows, so that nothing at the end can be the beginning of a marker.
        """
        text, matches = self.text, self._matches
        best: re.Match[str] | None = None
        at = len(text)
        absent = self._absent if state.other_pattern is None else ()
        for first, pattern in state.patterns.items():
            if first in absent:
                continue
            match = matches.get(id(pattern), best)
            if id(pattern) not in matches or (match is not None and match.start() < start):
                match = matches[id(pattern)] = _search(text, first, pattern, start)
            if match is not None and match.start() < at:
                best, at = match, match.start()
        transition = state.by_marker[best[0]] if best else None
        if state.other_pattern is not None:
            other = state.other_pattern.search(text, start, at)
            if other is not None:
                at, transition = other.start(), state.other_goes
        if not final and at + state.longest > len(text):
            cut = cut_short(state, text, start, at)
            if cut is not None:
                return cut, None
        return at, transition

    def markers(self, state: State, start: int, end: int) -> list[re.Match[str]]:
        """Every marker of `state` between `start` and `end`, in order."""
        found = [match for pattern in state.patterns.values() for match in pattern.finditer(self.text, start, end)]
        return sorted(found, key=re.Match.start)


def _search(text: str, first: str, pattern: re.Pattern[str], start: int) -> re.Match[str] | None:
    """`pattern.search`, where `first` begins each match: finding one character is far faster where it is rare."""
    for _ in range(_HOPS):
        start = text.find(first, start)
        if start < 0:
            return None
        match = pattern.match(text, start)
        if match is not None:
            return match
        start += 1
    return pattern.search(text, start)


def cut_short(state: State, text: str, start: int, limit: int) -> int | None:
    """Where, from `start` to `limit`, a marker of `state` begins that the end of `text` cuts short."""
    first = max(start, len(text) - state.longest + 1)
    cuts = []
    for character in state.first_characters:
        at = text.find(character, first)
        while 0 <= at <= limit:
            if text[at:] in state.beginnings:
                cuts.append(at)
                break
            at = text.find(character, at + 1)
    return min(cuts, default=None)
