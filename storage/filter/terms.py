"""What a filter says, once it is read."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class FilterKey(StrEnum):
    """What a filter can ask of a trace."""

    STATUS = "status"
    MODEL = "model"
    SOURCE = "source"
    FORMAT = "format"
    TOOL = "tool"
    CODE = "code"
    ARG = "arg"
    KIND = "kind"
    SEVERITY = "severity"
    STEP = "step"
    ERRORS = "errors"
    WARNINGS = "warnings"
    DURATION = "duration"
    FIRST_TOKEN = "first_token"
    GAP = "gap"
    TOKENS = "tokens"
    TURNS = "turns"
    CALLS = "calls"
    REASONING = "reasoning"
    PROMPT = "prompt"
    OUTCOME = "outcome"
    REWARD = "reward"
    SESSION = "session"
    NAME = "name"
    ID = "id"
    MARKED = "marked"
    NOTE = "note"
    SINCE = "since"
    BEFORE = "before"


KEYS = tuple(key.value for key in FilterKey)
ALIASES = {"ttft": FilterKey.FIRST_TOKEN}
"""Other names of keys."""


class ComparisonOperator(StrEnum):
    """How a value stands to the one that a filter names; `~` is: holds it somewhere within."""

    EQUAL = "="
    OTHER = "!="
    HOLDS = "~"
    MORE = ">"
    AT_LEAST = ">="
    LESS = "<"
    AT_MOST = "<="


@dataclass(frozen=True, slots=True)
class PhraseTerm:
    """Words that the text holds one behind the other; `prefix` lets the last word go on."""

    phrase: str
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """What a key must be, one of these, without regard to case; `*` in it stands for anything.

    A code may be cut short: `J1`. A note holds the value somewhere within.
    """

    key: FilterKey
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """How a number of a trace stands to this one; seconds for times. A number that is not known fits none."""

    key: FilterKey
    comparison: ComparisonOperator
    number: float


@dataclass(frozen=True, slots=True)
class Argument:
    """That some call has such an argument.

    `path` begins with `$` and leads to the value from the call's arguments, or is the name alone under which it stands,
    at any depth; `*` in it stands for anything. Without `comparison` any value will do. `values` are compared without
    regard to case, with `*` for anything where they shall be equal or other; `number` is what the others compare with.
    """

    path: str
    comparison: ComparisonOperator | None = None
    values: tuple[str, ...] = ()
    number: float = 0.0


@dataclass(frozen=True, slots=True)
class When:
    """That a trace started at or after a moment (`since`), or before it; one whose start is unknown did neither.

    `at_s` is seconds since 1970-01-01 UTC; or, where `is_ago`, seconds before now.
    """

    key: FilterKey
    at_s: float
    is_ago: bool = False


@dataclass(frozen=True, slots=True)
class Not:
    """That this does not hold."""

    term: "Term"


@dataclass(frozen=True, slots=True)
class All:
    """That all of these hold; of none, always."""

    terms: tuple["Term", ...]


@dataclass(frozen=True, slots=True)
class Any:
    """That one of these holds at least; of none, never."""

    terms: tuple["Term", ...]


Term: TypeAlias = PhraseTerm | Field | Figure | Argument | When | Not | All | Any

Filter: TypeAlias = tuple[Term, ...]
"""All of which must hold."""
