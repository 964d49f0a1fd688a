"""The texts of a trace, which what is said of them does not repeat."""

from typing import Protocol

from inspector.model import Trace, Turn
from inspector.model.columns import Column


class Texts(Protocol):
    """The text of each part of a trace, by turn (from 1) and name: of parts of one name in a turn that of the last."""

    def get(self, place: tuple[int, str], default: str, /) -> str:
        """The text of the part there, or what else is given where there is none."""
        ...


def texts_of(trace: Trace) -> Texts:
    """The texts that an inspection of `trace` speaks of; those of a column are looked up in it, and not held."""
    if isinstance(trace.turns, Column):
        return _InColumn(trace.turns)
    return {(number, part.name): part.text for number, turn in enumerate(trace.turns, 1) for part in turn.parts}


class _InColumn:
    """The texts of turns that are made when they are looked at."""

    def __init__(self, turns: Column[Turn]) -> None:
        self._turns = turns

    def get(self, place: tuple[int, str], default: str, /) -> str:
        """The text of the part at a turn with a name."""
        number, name = place
        if not 0 < number <= len(self._turns):
            return default
        parts = self._turns[number - 1].parts
        return next((part.text for part in reversed(parts) if part.name == name), default)
