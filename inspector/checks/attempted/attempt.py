"""A call that was tried in a shape that its format does not read, as the readers of shapes hand it on."""

from dataclasses import dataclass
from enum import IntEnum

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


@dataclass(slots=True)
class Attempt:
    """One call in another shape.

    `range` holds its own characters, `container` what a rewrite replaces: list, fence, tags or print around it too.
    `arguments` are None where they could not be read. `guessed` says that the arguments needed a guess. `shape` says in
    words how it is written, `read_by` names the format that reads exactly this, "" where none does.
    """

    named: NamedTool
    range: Range
    container: Range
    shape: str
    arguments: dict[str, Json] | None
    raw_arguments: str
    evidence: Evidence
    position: Position = Position.INLINE
    guessed: bool = False
    read_by: str = ""
