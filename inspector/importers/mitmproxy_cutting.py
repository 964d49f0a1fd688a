"""mitmproxy's flow files cut into their flows: bytes in, one flow after another out."""

import re

from inspector.importers.lines import too_long
from inspector.importers.source import Skipped
from inspector.memory import RECORD_BYTES

_LENGTH = re.compile(rb"(\d{1,12}):")
_MOST_DIGITS = 12
_NO_FLOW = "no flow begins here: the file is damaged, or several wrote it at once; the rest was not read"


class FlowCutter:
    """Cuts a file of tnetstrings one behind the other; never raises.

    A flow's bytes are its dictionary, length and sign included. At most `limit` bytes of a flow, and what was fed last,
    are held; a longer flow is a Skipped and passed over. Nothing can be found behind bytes that no flow begins with,
    so that is where a file ends. `number` is the last flow's, from 1; `starts` are the places of all flows, in bytes.
    """

    def __init__(self, *, limit: int = RECORD_BYTES) -> None:
        self._limit = limit
        self._held = bytearray()
        self._length = 0  # what is still to come of the flow that has begun, its digits and its sign included
        self._is_kept = True
        self._is_over = False
        self._base = 0  # the place in the file of the first byte that is held
        self.starts: list[int] = []

    def feed(self, raw: bytes) -> list[bytes | Skipped]:
        """The flows that end in these bytes."""
        found: list[bytes | Skipped] = []
        self._held += b"" if self._is_over else raw
        at = 0
        while (self._length or self._begins(at, found)) and at + self._length <= len(self._held):
            end = at + self._length
            if self._is_kept:
                found.append(bytes(self._held[at:end]))
            at, self._length, self._is_kept = end, 0, True
        self._drop(at)
        if self._is_over or not self._is_kept:
            self._length -= len(self._held) if self._length else 0
            self._drop(len(self._held))
        return found

    @property
    def number(self) -> int:
        """How many flows began."""
        return len(self.starts)

    def close(self) -> list[bytes | Skipped]:
        """The end of the file: a flow that was cut off."""
        if self._is_over or not (self._held or self._length) or not self._is_kept:
            return []
        if not self._length:
            self.starts.append(self._base)
        there = f": {len(self._held)} of its {self._length} bytes are there" if self._length else ""
        return [Skipped(f"flow {self.number}", f"the file ends in the middle of this flow{there}")]

    def _begins(self, at: int, found: list[bytes | Skipped]) -> bool:
        """Whether a flow begins at `at`, whose length is known now."""
        length = _LENGTH.match(self._held, at)
        if length is None:
            rest = self._held[at : at + _MOST_DIGITS + 1]
            if rest and (len(rest) > _MOST_DIGITS or not rest.isdigit()):
                self.starts.append(self._base + at)
                self._is_over = True
                found.append(Skipped(f"flow {self.number}", _NO_FLOW))
            return False
        self.starts.append(self._base + at)
        self._length = length.end() - at + int(length[1]) + 1
        self._is_kept = int(length[1]) <= self._limit
        if not self._is_kept:
            found.append(Skipped(f"flow {self.number}", too_long(self._limit)))
        return True

    def _drop(self, count: int) -> None:
        """Hold so many of the first bytes no longer."""
        del self._held[:count]
        self._base += count
