"""What keeps recording harmless to the recorded program: errors are counted and never raised, time never goes back.

A recorder closes when its owner is gone or when the process ends.
"""

import atexit
import logging
import time
import weakref
from collections.abc import Callable
from functools import wraps
from threading import Lock, Thread
from typing import Concatenate, ParamSpec, Protocol, TypeVar

_log = logging.getLogger("weaklink")
_Given = ParamSpec("_Given")


class ErrorCounters:
    """Counts what went wrong, and says the first of each kind to the logger `weaklink`."""

    def __init__(self) -> None:
        self.count = 0
        self.last: Exception | None = None
        self._told: set[tuple[str, type[Exception]]] = set()

    def note(self, doing: str, error: Exception) -> None:
        """One more; `doing` is what was asked for."""
        self.count += 1
        self.last = error
        kind = (doing, type(error))
        if kind not in self._told and len(self._told) < 100:
            self._told.add(kind)
            _log.warning(
                "weaklink could not record `%s` (%s: %s); the agent goes on.", doing, type(error).__name__, error
            )


class CountsErrors(Protocol):
    """Counts its own mistakes."""

    @property
    def mistakes(self) -> ErrorCounters:
        """Where they are counted."""
        ...


_Self = TypeVar("_Self", bound=CountsErrors)


def guarded(
    method: Callable[Concatenate[_Self, _Given], None],
) -> Callable[Concatenate[_Self, _Given], None]:
    """A method that notes what goes wrong in it instead of raising it."""
    return guarded_as(method.__name__)(method)


def guarded_as(
    doing: str,
) -> Callable[[Callable[Concatenate[_Self, _Given], None]], Callable[Concatenate[_Self, _Given], None]]:
    """The same, for a part of what the caller knows as `doing`."""

    def decorate(method: Callable[Concatenate[_Self, _Given], None]) -> Callable[Concatenate[_Self, _Given], None]:
        @wraps(method)
        def call(self: _Self, /, *given: _Given.args, **named: _Given.kwargs) -> None:
            try:
                method(self, *given, **named)
            except Exception as error:  # noqa: BLE001  # the agent's code is above us; it is noted
                self.mistakes.note(doing, error)

        return call

    return decorate


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


class CloseOnce:
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
