"""Finds calls drafted in reasoning: between a dialect's markers, or bare, known by what such a call begins with."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from inspector.segmenter.payload import Payload
from inspector.text import Range


@dataclass(frozen=True, slots=True)
class BareCall:
    """A call that no marker opens: an expression for its beginning, and the kind of payload that it is.

    Without a payload it ends with the line.
    """

    begins: re.Pattern[str]
    payload: Payload | None = None


@dataclass(frozen=True, slots=True)
class DraftedCall:
    """A draft's places in the text: the whole of it, what opens it, its content; and whether it is closed."""

    range: Range
    opener: Range
    inner: Range
    is_closed: bool


class DraftFinder:
    """Finds drafts: `openers` and `closers` are the markers of the dialect's calls, `bare` its calls without one."""

    def __init__(self, openers: Iterable[str], closers: Iterable[str], bare: Iterable[BareCall]) -> None:
        self._openers = frozenset(openers)
        self._bare = tuple(bare)
        markers = sorted({*self._openers, *closers}, key=lambda marker: (-len(marker), marker))
        self._markers = re.compile("|".join(map(re.escape, markers)) or r"(?!)")

    def drafts(self, text: str) -> list[DraftedCall]:
        """Every draft in `text`, in order; none lies within another."""
        found = list(self._marked(text)) if any(opener in text for opener in self._openers) else []
        for bare in self._bare:
            found += _outside(found, _bare(bare, text))
            found.sort(key=_start)
        return found

    def _marked(self, text: str) -> Iterator[DraftedCall]:
        """Drafts between markers, each up to its closing marker, the next opening one, or the end."""
        opener: re.Match[str] | None = None
        for match in self._markers.finditer(text):
            is_opener = match[0] in self._openers
            if opener is not None:
                yield _between(opener, match.start(), match.start() if is_opener else match.end())
            opener = match if is_opener else None
        if opener is not None:
            yield _between(opener, len(text), len(text))


def _between(opener: re.Match[str], inner_end: int, end: int) -> DraftedCall:
    inner = Range(opener.end(), inner_end)
    return DraftedCall(Range(opener.start(), end), Range(*opener.span()), inner, is_closed=inner_end < end)


def _bare(call: BareCall, text: str) -> Iterator[DraftedCall]:
    """Drafts without a marker, each up to its value's end, or to what breaks it: so each character is read once."""
    match = call.begins.search(text)
    while match is not None:
        end, is_whole = _end(call, text, match)
        whole = Range(match.start(), end)
        yield DraftedCall(whole, Range(*match.span()), whole, is_closed=is_whole)
        match = call.begins.search(text, end)


def _end(call: BareCall, text: str, match: re.Match[str]) -> tuple[int, bool]:
    """Where the draft ends, and whether it is whole there."""
    if call.payload is None:
        line_end = text.find("\n", match.end())
        return (line_end if line_end >= 0 else len(text)), True
    follower = call.payload.follower()
    end = follower.feed(text, match.start())
    return max(end, match.end()), follower.completed


def _outside(others: list[DraftedCall], drafts: Iterator[DraftedCall]) -> Iterator[DraftedCall]:
    """Those of `drafts` that overlap none of the `others`; both are in order."""
    ends = iter([*others, None])
    other = next(ends)
    for draft in drafts:
        while other is not None and other.range.end <= draft.range.start:
            other = next(ends)
        if other is None or other.range.start >= draft.range.end:
            yield draft


def _start(draft: DraftedCall) -> int:
    return draft.range.start
