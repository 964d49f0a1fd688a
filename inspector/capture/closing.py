"""What is closed once: by hand, when nobody holds its owner any more, or when the process ends."""

import atexit
import weakref
from collections.abc import Callable
from threading import Lock, Thread


class Closing:
    """Calls `close`, which must not hold `owner`, once, whatever comes first.

    `now` and the end of the process wait for it; where the owner was merely forgotten, a thread does it, since the
    collector of garbage strikes in the middle of anything.
    """

    def __init__(self, owner: object, close: Callable[[], None]) -> None:
        self._close = close
        self._begun = False
        self._lock = Lock()
        forgotten = weakref.finalize(owner, self._forgotten)
        forgotten.atexit = False
        atexit.register(self.now)

    def now(self) -> None:
        """Close, if that has not begun."""
        with self._lock:
            if self._begun:
                return
            self._begun = True
        self._close()
        atexit.unregister(self.now)

    def _forgotten(self) -> None:
        if not self._begun:
            Thread(target=self.now, name="weaklink-close").start()
