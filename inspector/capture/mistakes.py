"""What goes wrong in recording is counted and told once; it never reaches the agent that is recorded."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

_log = logging.getLogger("weaklink")

_Given = ParamSpec("_Given")


class Mistakes:
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


class HasMistakes(Protocol):
    """Counts its own mistakes."""

    @property
    def mistakes(self) -> Mistakes:
        """Where they are counted."""
        ...


_Self = TypeVar("_Self", bound=HasMistakes)


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
