"""Where the telling values of a trace, words with a digit in them, first appeared: from outside or from the agent."""

import re
from collections.abc import Iterator
from typing import Any

from inspector.chain.steps import Step
from inspector.chain.words import folded_names
from inspector.model import Role, Trace

_WORD = re.compile(r"\w+")
_THOUSANDS = re.compile(r",(?<=\d,)(?=\d{3})")
_RUN = re.compile(r"\d+")
_NUMBER = re.compile(r"(?<![\d.\w])\d{2,15}(?!\w)")
_DATE = re.compile(r"\d{4}-\d\d|\d{1,2}[:/.]\d\d")
_NO_ID = re.compile(r"[\s/]|\.[A-Za-z]{1,5}$")
_MOST_NUMBERS = 200


class Appearances:
    """The first turn of every telling value; made once for a trace, in time linear in its text."""

    def __init__(self, trace: Trace) -> None:
        self._outside: dict[str, int] = {}
        self._agent: dict[str, int] = {}
        for number, turn in enumerate(trace.turns, 1):
            seen = self._agent if turn.role is Role.ASSISTANT else self._outside
            for part in turn.parts:
                for value in telling(part.text):
                    seen.setdefault(value, number)

    def origin(self, value: str) -> int | None:
        """The first turn that is not the agent's and holds this value."""
        return self._outside.get(value)

    def invented(self, values: Iterator[str], *, turn: int, since: int) -> str | None:
        """The first of `values`, said in `turn`, that stood neither outside before nor with the agent up to `since`."""
        for value in values:
            outside, agent = self._outside.get(value), self._agent.get(value)
            if (outside is None or outside >= turn) and (agent is None or agent > since):
                return value
        return None


def telling(text: str) -> Iterator[str]:
    """The words with a digit, in lower case, and the numbers within them."""
    for word in [name for name in folded_names(_THOUSANDS.sub("", text)) if not name.isalpha()]:
        if word.isdigit():
            yield word
        elif runs := _RUN.findall(word):
            yield word
            yield from runs


def numbers(text: str) -> Iterator[str]:
    """The whole parts of the numbers in an answer, but for those of one digit."""
    found = _NUMBER.finditer(_THOUSANDS.sub("", text[:20_000]))
    return (match[0] for match, _ in zip(found, range(_MOST_NUMBERS), strict=False))


def identifiers(step: Step) -> Iterator[str]:
    """The ids among a call's arguments: short strings without white space that hold letters and a longer number."""
    arguments = step.call.arguments
    stack: list[Any] = [arguments] if isinstance(arguments, dict) else []
    for _ in range(_MOST_NUMBERS):
        if not stack:
            return
        value = stack.pop()
        if isinstance(value, dict):
            stack += reversed(list(value.values())[:_MOST_NUMBERS])
        elif isinstance(value, list):
            stack += reversed(value[:_MOST_NUMBERS])
        elif isinstance(value, str) and len(value) <= 64 and not _NO_ID.search(value):
            yield from _ids_within(value)


def _ids_within(value: str) -> Iterator[str]:
    if _DATE.match(value):
        return
    for word in _WORD.findall(value):
        runs = _RUN.findall(word)
        if runs and (max(map(len, runs)) >= 4 or (len(word) >= 5 and not word.isdigit() and max(map(len, runs)) >= 2)):
            yield word.casefold()
