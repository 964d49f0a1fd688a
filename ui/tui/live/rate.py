"""How many chunks a second come, and how that went in the last half minute."""

from collections import deque

_SECONDS = 30
_BARS = "▁▂▃▄▅▆▇█"


class Rate:
    """Counts arrivals by the second; whoever counts says what time it is, in seconds of any clock."""

    def __init__(self) -> None:
        self._seconds: deque[int] = deque([0], _SECONDS)
        self._now = 0

    def count(self, chunks: int, at_s: float) -> None:
        """So many chunks came at this time."""
        second = int(at_s)
        if self._now:
            self._seconds.extend([0] * min(max(second - self._now, 0), _SECONDS))
        self._now = max(second, self._now)
        self._seconds[-1] += chunks

    @property
    def per_second(self) -> int:
        """How many came in the last whole second."""
        return self._seconds[-2] if len(self._seconds) > 1 else self._seconds[-1]

    def bars(self, cells: int) -> str:
        """The last seconds as bars, one a second; the highest is the most of them."""
        shown = list(self._seconds)[-cells:]
        most = max(shown) or 1
        return "".join(_BARS[-(-one * (len(_BARS) - 1) // most)] for one in shown)
