"""The time for records: seconds since 1970-01-01 UTC that never go back, although the machine's own clock may."""

import time
from collections.abc import Callable


class Clock:
    """Takes the time of day when something begins, and counts on from there by a clock that only goes forward.

    So a clock that is set back moves no chunk before an earlier one, and a machine that slept has the right time again
    with the next exchange.
    """

    def __init__(self) -> None:
        self._last_s = 0.0

    def start(self) -> Callable[[], float]:
        """The clock of what begins now; what it gives never lies before the start of anything earlier."""
        monotonic = time.monotonic
        self._last_s = max(self._last_s, time.time())
        offset = self._last_s - monotonic()
        return lambda: offset + monotonic()


now_s = Clock().start()
"""The time now, by a clock that began with the process."""
