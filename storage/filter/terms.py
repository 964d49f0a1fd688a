"""The terms of a filter, the words in them, and their errors."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeAlias, assert_never

from msgspec import Struct

from weaklink.inspector.errors import WeaklinkError


class FilterKey(StrEnum):
    """The keys of filter terms."""

    STATUS = "status"
    CERTAINTY = "certainty"
    MODEL = "model"
    SOURCE = "source"
    FORMAT = "format"
    TOOL = "tool"
    CODE = "code"
    LAYER = "layer"
    CONTEXT = "context"
    ARG = "arg"
    KIND = "kind"
    SEVERITY = "severity"
    STEP = "step"
    BREAK = "break"
    BREAK_TOOL = "break_tool"
    VIOLATES = "violates"
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
    PROJECT = "project"
    SESSION = "session"
    NAME = "name"
    ID = "id"
    FORKS = "forks"
    MARKED = "marked"
    NOTE = "note"
    SINCE = "since"
    BEFORE = "before"


KEYS = tuple(key.value for key in FilterKey)
ALIASES = {"ttft": FilterKey.FIRST_TOKEN}
"""Aliases of keys."""


class ComparisonOperator(StrEnum):
    """How a value is compared with the one in the filter; `~` means that it contains it."""

    EQUAL = "="
    OTHER = "!="
    HOLDS = "~"
    MORE = ">"
    AT_LEAST = ">="
    LESS = "<"
    AT_MOST = "<="


class PhraseTerm(Struct, frozen=True):
    """Consecutive words in the text; with `prefix`, the last one may be only the beginning of a word."""

    phrase: str
    prefix: bool = False


class Field(Struct, frozen=True):
    """A key whose value must be one of these, case-insensitively; `*` matches anything.

    A code may be shortened to its beginning: `J1`. A note must contain the value.
    """

    key: FilterKey
    values: tuple[str, ...]


class NumberTerm(Struct, frozen=True):
    """A comparison of a number of a trace; times are in seconds. An unknown number never matches."""

    key: FilterKey
    comparison: ComparisonOperator
    number: float


class ArgumentTerm(Struct, frozen=True):
    """Matches traces with a call that has such an argument.

    `path` is a path from the call's arguments to the value, beginning with `$`, or just the name of its key at any
    depth; `*` matches anything. Without `comparison`, any value matches. `values` are compared case-insensitively; for
    `=` and `!=`, `*` matches anything. `number` is for the other comparisons.
    """

    path: str
    comparison: ComparisonOperator | None = None
    values: tuple[str, ...] = ()
    number: float = 0.0


class TimeTerm(Struct, frozen=True):
    """Matches traces that started at or after a moment (`since`), or before it; an unknown start never matches.

    `at_s` is in seconds since 1970-01-01 UTC or, with `is_ago`, in seconds before now.
    """

    key: FilterKey
    at_s: float
    is_ago: bool = False


class NotTerm(Struct, frozen=True):
    """Matches if this term does not match."""

    term: "Term"


class AllTerms(Struct, frozen=True):
    """Matches if all of these terms match; always, without terms."""

    terms: tuple["Term", ...]


class AnyTerm(Struct, frozen=True):
    """Matches if at least one of these terms matches; never, without terms."""

    terms: tuple["Term", ...]


Term: TypeAlias = PhraseTerm | Field | NumberTerm | ArgumentTerm | TimeTerm | NotTerm | AllTerms | AnyTerm
Filter: TypeAlias = tuple[Term, ...]
"""Terms that must all match."""


def words_in(filter_terms: Iterable[Term]) -> Iterator[PhraseTerm]:
    """All words in a filter, in order, including those under `not` and `or`."""
    for term in filter_terms:
        match term:
            case PhraseTerm():
                yield term
            case NotTerm(inner):
                yield from words_in((inner,))
            case AllTerms(terms) | AnyTerm(terms):
                yield from words_in(terms)
            case Field() | NumberTerm() | ArgumentTerm() | TimeTerm():
                pass
            case _:
                assert_never(term)


def required_words(terms: Iterable[Term], *, negated: bool = False) -> Iterator[PhraseTerm]:
    """The words that are not negated, in order; those that are, if the terms are `negated` themselves."""
    for term in terms:
        match term:
            case PhraseTerm():
                if not negated:
                    yield term
            case NotTerm(inner):
                yield from required_words((inner,), negated=not negated)
            case AllTerms(inner_terms) | AnyTerm(inner_terms):
                yield from required_words(inner_terms, negated=negated)
            case Field() | NumberTerm() | ArgumentTerm() | TimeTerm():
                pass
            case _:
                assert_never(term)


def with_known_words(terms: Filter, contained: Mapping[PhraseTerm, bool]) -> Filter:
    """The filter for one trace, with its words replaced by whether the trace contains them."""
    return tuple(_replaced(term, lambda words: AllTerms(()) if contained[words] else AnyTerm(())) for term in terms)


def _replaced(term: Term, replacement: Callable[[PhraseTerm], Term]) -> Term:
    match term:
        case PhraseTerm():
            return replacement(term)
        case NotTerm(inner):
            return NotTerm(_replaced(inner, replacement))
        case AllTerms(terms):
            return AllTerms(tuple(_replaced(old, replacement) for old in terms))
        case AnyTerm(terms):
            return AnyTerm(tuple(_replaced(old, replacement) for old in terms))
        case Field() | NumberTerm() | ArgumentTerm() | TimeTerm():
            return term
        case _:
            assert_never(term)


class FilterError(WeaklinkError):
    """A filter is invalid; `position` is the offset of the wrong character, from 0, or the length of the filter."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"filter, character {position + 1}: {message}")
        self.position = position


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most similar to this one; None if none is similar."""
    return next(iter(get_close_matches(word.lower(), list(known), n=1)), None)


def one_of(known: Iterable[str]) -> str:
    """The words in backticks, joined with commas and `or`, for a sentence."""
    *others, last = (f"`{word}`" for word in known)
    return f"{', '.join(others)} or {last}" if others else last
