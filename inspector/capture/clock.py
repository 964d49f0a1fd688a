"""The time for records: seconds since 1970-01-01 UTC, of a clock that never goes back."""

import time

_AHEAD_S = time.time() - time.monotonic()


def now_s() -> float:
    """The time now; as the wall clock was when the process started, and monotonic from there."""
    return _AHEAD_S + time.monotonic()
