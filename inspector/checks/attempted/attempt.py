"""A call that was tried in a shape that its format does not read, as the readers of shapes hand it on."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from inspector.checks.attempted.context import Position
from inspector.checks.attempted.names import NamedTool
from inspector.model import Json
from inspector.text import Range


class Evidence(IntEnum):
    """How much the written arguments say that a call is meant, and not a signature or another function."""

    NONE = 0
    EMPTY = 1  # `f()`
    WEAK = 2  # only words without quotes: `f(city)`
    MEDIUM = 3  # literals without names, or names that the tool does not know
    STRONG = 4  # arguments under names that the tool knows


class ReadArguments(NamedTuple):
    """The arguments of an attempted call: the evidence that they give, and their values, None where unreadable.

    `guessed` says that the values needed a guess.
    """

    evidence: Evidence
    values: dict[str, Json] | None
    guessed: bool


@dataclass(slots=True)
class Attempt:
    """One call in another shape.

    `range` holds its own characters, `container` what a rewrite replaces: list, fence, tags or print around it too.
    `shape` says in words how it is written, `read_by` names the format that reads exactly this, "" where none does.
    `arguments` may be a function that reads them: most places that are found turn out to be no calls by their position
    alone, so arguments are read once they matter.
    """

    named: NamedTool
    range: Range
    container: Range
    shape: str
    raw_arguments: str
    arguments: ReadArguments | Callable[[], ReadArguments]
    position: Position = Position.INLINE
    read_by: str = ""

    def read(self) -> ReadArguments:
        """The arguments, read at the first call."""
        if not isinstance(self.arguments, ReadArguments):
            self.arguments = self.arguments()
        return self.arguments

    @property
    def evidence(self) -> Evidence:
        """How much the arguments say that a call is meant."""
        return self.read().evidence
