"""Memoized functions: what is remembered of a session while it grows, and is imported again and again.

A line may change the outcome of any step of its session, so the chain of the whole session is analysed for each line.
What makes that cheap is that nearly all texts, turns and calls are those of the round before:

    file      most importers of agents' lines read it on from where they stopped (`importers.growing_rows`);
              of the others, equal turns get the objects of the round before (`ui.importing.files`)
    turn      redaction, its rows and what a text parses to are looked up by the object
    text      its words, its numbers and why it is an error are looked up by the text, whose hash Python keeps;
              the names in the known texts are kept together (`chain.known_paths.KnownPaths`)
    call      what it does, what kind of result it got and the words of its failure are looked up by the objects;
              where the values of a call in the known turns came from is that of before (`chain.data_flow`)
    chain     is computed, from what is looked up

Remembering is off: an import reads each session once, and remembers only what the latest calls do (`of_latest`), which
the rules for a session ask again and again. `weaklink watch` switches it on for the files that grew. Each
call of `forget_unused` forgets what was not used since the call before, so memory is bounded by the sessions that grow
at a time. A session of 12.5 MB takes 63 MB more (5,133 lines of Claude Code, 2026-11-30), and a line of it 0.16 (Claude
Code, 4,414 lines) to 0.22 (Pi, 8,920 lines) of the CPU time of its first import.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar, cast

_Parameters = ParamSpec("_Parameters")
_Value = TypeVar("_Value")
_BY_VALUE = frozenset({str, bytes, int, bool})


@dataclass(frozen=True, slots=True)
class CacheKey(Generic[_Value]):
    """A value that has no hash, as an argument of a function with `lru_cache`: keys are equal if their `key` is.

    With `id(value)` as its `key` that is identity: the cache holds the value, so no other object gets its id.
    """

    key: Hashable
    value: _Value = field(compare=False)


class RecentValues(Generic[_Value]):
    """A mapping that forgets at each call of `age` what was not used since the call before."""

    def __init__(self) -> None:
        self.recent: dict[Hashable, _Value] = {}
        self._older: dict[Hashable, _Value] = {}
        _all_values.append(self)

    def get(self, key: Hashable) -> _Value | None:
        """The value of a key, None if there is none any more."""
        value = self.recent.get(key)
        if value is None and (value := self._older.pop(key, None)) is not None:
            self.recent[key] = value
        return value

    def put(self, key: Hashable, value: _Value) -> None:
        """Remember a value."""
        self.recent[key] = value

    def remove(self, key: Hashable) -> _Value | None:
        """Forget a key; returns its value, None if there was none."""
        value = self.get(key)
        self.recent.pop(key, None)
        return value

    def items(self) -> dict[Hashable, _Value]:
        """All that is remembered."""
        return {**self._older, **self.recent}

    def age(self) -> None:
        """Forget what was not used since the last call."""
        self._older = self.recent.copy()
        self.recent.clear()  # the same mapping: `memoized` looks into it


_all_values: list[RecentValues[Any]] = []
_is_on = False


def is_memoizing() -> bool:
    """Whether memoized functions remember what they return."""
    return _is_on


@contextmanager
def memoizing(*, is_on: bool = True) -> Iterator[None]:
    """Let memoized functions remember what they return, if `is_on`. Not thread-safe."""
    global _is_on  # noqa: PLW0603  # one flag for all functions
    before, _is_on = _is_on, is_on
    try:
        yield
    finally:
        _is_on = before


def forget_unused() -> None:
    """Forget all that was not used since the last call."""
    for values in _all_values:
        values.age()


_Argument = TypeVar("_Argument")
_MOST_LATEST, _MOST_REMEMBERED = 4_096, 32_768  # of a session that grows, its objects are remembered anyway


def of_latest(function: Callable[[_Argument], _Value]) -> Callable[[_Argument], _Value]:
    """Remember, while an import reads a session once, too, what a pure function returned for the latest objects.

    By identity: the rules for a session ask six times what one call does.
    """
    values: dict[int, tuple[_Argument, _Value]] = {}

    @wraps(function)
    def call(argument: _Argument) -> _Value:
        entry = values.get(id(argument))
        if entry is not None:
            return entry[1]
        if len(values) >= (_MOST_REMEMBERED if _is_on else _MOST_LATEST):
            values.clear()
        value = function(argument)
        values[id(argument)] = argument, value  # held, so that no other object gets its id
        return value

    return call


def memoized(function: Callable[_Parameters, _Value]) -> Callable[_Parameters, _Value]:
    """Remember, while `memoizing`, what a pure function returned for the same arguments, which are positional.

    Texts, bytes and numbers are the same if they are equal, anything else if it is the same object. What is returned is
    shared: it must not be changed.
    """
    kept: RecentValues[tuple[_Value, object]] = RecentValues()
    recent, by_value = kept.recent, _BY_VALUE  # a line of a long session looks up a hundred thousand

    @wraps(function)
    def call(*arguments: Any) -> _Value:  # by position only: it is called a million times for 10 MB
        if not _is_on:
            return function(*arguments)  # type: ignore[call-arg]  # the parameters of the function
        if len(arguments) == 2:  # most have two: in two thirds of the time
            first, second = arguments
            key: Hashable = (
                first if type(first) in by_value else id(first),
                second if type(second) in by_value else id(second),
            )
        elif len(arguments) == 1:
            key = arguments[0] if type(arguments[0]) in by_value else id(arguments[0])
        else:
            key = tuple([item if type(item) in by_value else id(item) for item in arguments])
        value = recent.get(key) or kept.get(key)
        if value is None:
            value = function(*arguments), arguments  # type: ignore[call-arg]  # held, so that no other object gets their ids
            kept.put(key, value)
        return value[0]

    return cast(Callable[_Parameters, _Value], call)
