"""Follows Gemma's dicts piece by piece: enough to know whether a place is in a string, and where a dict ends.

A delimiter within a string ends it only where the dict can go on behind it, as in gemma_dict: so the tracker is still
in the string behind a delimiter, until the next character that is no white space tells. Each character is read once.
"""

import re
from functools import cache, partial

from inspector.scanning import end_of_repeats, repeated
from inspector.segmenter.payload import Payload, read_on

_CLOSERS = {"{": "}", "[": "]"}
_SPACE = re.compile(r"[ \t\n\r]*+")


@cache
def _plain(delimiter: str) -> re.Pattern[str]:
    """What lies between brackets, with every string that is plain and whole."""
    first, rest, written = re.escape(delimiter[0]), re.escape(delimiter[1:]), re.escape(delimiter)
    content = rf"[^{first}]*+(?:{first}(?!{rest})[^{first}]*+){{0,64}}"
    return repeated(rf"[^{first}{{}}\[\]]++|{written}{content}{written}(?=[,}}\]:])")


class GemmaTracker:
    """A Follower of dicts whose strings stand between `delimiter`; only a bracket of the wrong kind breaks one."""

    def __init__(self, delimiter: str) -> None:
        self.broken = self.in_string = self.completed = False
        self._delimiter = delimiter
        self._plain = _plain(delimiter)
        self._open: list[str] = []
        self._seen = 0
        """How many characters of a delimiter were read."""
        self._may_end = False

    def feed(self, text: str, start: int = 0, end: int | None = None) -> int:
        """Read on; see Follower."""
        stop = len(text) if end is None else end
        self.completed = False
        while start < stop and not self.broken and not self.completed:
            start = self._within(text, start, stop) if self.in_string else self._outside(text, start, stop)
        return start

    def _outside(self, text: str, start: int, stop: int) -> int:
        if self._seen:
            return self._delimiter_goes_on(text, start)
        start = end_of_repeats(self._plain, text, start, stop)
        if start == stop:
            return start
        character = text[start]
        if character == self._delimiter[0]:
            self._seen = 1
        elif character in _CLOSERS:
            self._open.append(_CLOSERS[character])
        elif character in "}]":
            if not self._open or self._open.pop() != character:
                self.broken = True
                return start
            self.completed = not self._open
        return start + 1

    def _within(self, text: str, start: int, stop: int) -> int:
        if self._may_end:
            match = _SPACE.match(text, start, stop)
            start = match.end() if match is not None else start
            if start < stop:
                self._may_end = False
                self.in_string = text[start] not in ",}]:"
            return start
        if self._seen:
            return self._delimiter_goes_on(text, start)
        at = text.find(self._delimiter[0], start, stop)
        if at < 0:
            return stop
        self._seen = 1
        return at + 1

    def _delimiter_goes_on(self, text: str, start: int) -> int:
        if text[start] != self._delimiter[self._seen]:
            self._seen = 0
            return start
        self._seen += 1
        if self._seen == len(self._delimiter):
            self._seen = 0
            self._may_end, self.in_string = self.in_string, True
        return start + 1


def gemma_payload(delimiter: str) -> Payload:
    """The payload of dicts with these delimiters."""

    def ends_within_string(text: str) -> bool:
        tracker = GemmaTracker(delimiter)
        read_on(tracker, text)
        return tracker.in_string

    return Payload(partial(GemmaTracker, delimiter), ends_within_string, ends="}]")
