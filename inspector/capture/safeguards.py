"""What keeps recording harmless to the recorded program: errors are counted and never raised, time never goes back.

A recorder closes when its owner is gone or when the process ends.
"""

import atexit
import logging
import os
import time
import weakref
from collections.abc import Callable
from functools import wraps
from threading import Lock, Thread
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from weaklink.inspector.errors import SinkError

_log = logging.getLogger("weaklink")
_Params = ParamSpec("_Params")


class ErrorCounters:
    """Counts errors, and logs the first of each kind to the logger `weaklink`."""

    def __init__(self) -> None:
        self.count = 0
        self.last: Exception | None = None
        self._reported: set[tuple[str, type[Exception]]] = set()

    def note(self, doing: str, error: Exception) -> None:
        """Count an error; `doing` is the operation that the caller requested."""
        self.count += 1
        self.last = error
        kind = (doing, type(error))
        if kind not in self._reported and len(self._reported) < 100:
            self._reported.add(kind)
            _log.warning(
                "weaklink could not record `%s` (%s: %s); the agent continues.", doing, type(error).__name__, error
            )


class CountsErrors(Protocol):
    """An object that counts its errors."""

    @property
    def mistakes(self) -> ErrorCounters:
        """The error counters."""
        ...


_Self = TypeVar("_Self", bound=CountsErrors)


def guarded(
    method: Callable[Concatenate[_Self, _Params], None],
) -> Callable[Concatenate[_Self, _Params], None]:
    """Decorate a method so that it counts its errors instead of raising them."""
    return guarded_as(method.__name__)(method)


def guarded_as(
    doing: str,
) -> Callable[[Callable[Concatenate[_Self, _Params], None]], Callable[Concatenate[_Self, _Params], None]]:
    """The same, for a helper method of the operation that the caller knows as `doing`."""

    def decorate(method: Callable[Concatenate[_Self, _Params], None]) -> Callable[Concatenate[_Self, _Params], None]:
        @wraps(method)
        def call(self: _Self, /, *args: _Params.args, **kwargs: _Params.kwargs) -> None:
            try:
                method(self, *args, **kwargs)
            except Exception as error:  # noqa: BLE001  # the caller is the agent's code; the error is counted
                self.mistakes.note(doing, error)

        return call

    return decorate


class Clock:
    """Reads the time of day when something begins, and continues from there with a monotonic clock.

    So if the system clock is set back, no chunk moves before an earlier one; after a machine slept, the time is right
    again with the next exchange.
    """

    def __init__(self) -> None:
        self._last_s = 0.0

    def start(self) -> Callable[[], float]:
        """A clock for an exchange that begins now; it never returns a time before an earlier start."""
        monotonic = time.monotonic
        self._last_s = max(self._last_s, time.time())
        offset = self._last_s - monotonic()
        return lambda: offset + monotonic()


now_s = Clock().start()
"""The current time, from a clock that began with the process."""


class OwnProcess:
    """The process that opened a recording; one that is forked from it has neither its threads nor its connections."""

    def __init__(self) -> None:
        self._id = os.getpid()

    @property
    def is_current(self) -> bool:
        """Whether this is that process."""
        return os.getpid() == self._id

    def check(self) -> None:
        """SinkError in a forked process."""
        if not self.is_current:
            raise SinkError(f"The recording belongs to process {self._id}; a process forked from it must open its own.")


class CloseOnce:
    """Calls `close`, which must not reference `owner`, exactly once, on whichever event comes first.

    `now` and the end of the process wait for it, also where another thread has begun it. If the owner was
    garbage-collected, a thread calls it, since the garbage collector may run in the middle of anything; a daemon thread
    where it runs in one. A forked process never calls it.
    """

    def __init__(self, owner: object, close: Callable[[], None]) -> None:
        self._close = close
        self.process = OwnProcess()
        self._begun = False
        self._lock = Lock()
        finalizer = weakref.finalize(owner, self._forgotten)
        finalizer.atexit = False
        atexit.register(self.now)

    def now(self) -> None:
        """Close; where another thread has begun that, return when it has ended."""
        if not self.process.is_current:
            return
        with self._lock:
            if self._begun:
                return
            self._begun = True
            self._close()
        atexit.unregister(self.now)

    def _forgotten(self) -> None:
        if not self._begun:
            Thread(target=self.now, name="weaklink-close").start()
