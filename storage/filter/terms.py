"""The terms of a filter, their errors, and equivalent forms of a filter: `not` moved inwards, one branch a choice."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeAlias, assert_never

from msgspec import Struct

from inspector.errors import WeaklinkError

MOST_BRANCHES = 8
"""So many filters are made of one, and no more: what would make more stays a condition."""


class FilterKey(StrEnum):
    """What a filter can ask of a trace."""

    STATUS = "status"
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


class PhraseTerm(Struct, frozen=True):
    """Words that the text holds one behind the other; `prefix` lets the last word go on."""

    phrase: str
    prefix: bool = False


class Field(Struct, frozen=True):
    """What a key must be, one of these, without regard to case; `*` in it stands for anything.

    A code may be cut short: `J1`. A note holds the value somewhere within.
    """

    key: FilterKey
    values: tuple[str, ...]


class NumberTerm(Struct, frozen=True):
    """How a number of a trace stands to this one; seconds for times. A number that is not known fits none."""

    key: FilterKey
    comparison: ComparisonOperator
    number: float


class ArgumentTerm(Struct, frozen=True):
    """That some call has such an argument.

    `path` begins with `$` and leads to the value from the call's arguments, or is the name alone under which it stands,
    at any depth; `*` in it stands for anything. Without `comparison` any value will do. `values` are compared without
    regard to case, with `*` for anything where they shall be equal or other; `number` is what the others compare with.
    """

    path: str
    comparison: ComparisonOperator | None = None
    values: tuple[str, ...] = ()
    number: float = 0.0


class TimeTerm(Struct, frozen=True):
    """That a trace started at or after a moment (`since`), or before it; one whose start is unknown did neither.

    `at_s` is seconds since 1970-01-01 UTC; or, where `is_ago`, seconds before now.
    """

    key: FilterKey
    at_s: float
    is_ago: bool = False


class NotTerm(Struct, frozen=True):
    """That this does not hold."""

    term: "Term"


class AllTerms(Struct, frozen=True):
    """That all of these hold; of none, always."""

    terms: tuple["Term", ...]


class AnyTerm(Struct, frozen=True):
    """That one of these holds at least; of none, never."""

    terms: tuple["Term", ...]


Term: TypeAlias = PhraseTerm | Field | NumberTerm | ArgumentTerm | TimeTerm | NotTerm | AllTerms | AnyTerm
Filter: TypeAlias = tuple[Term, ...]
"""All of which must hold."""


def negations_inward(term: Term, *, negated: bool = False) -> Term:
    """The term with `not` before its leaves alone; `negated`, the contrary of it. Fields of one key are one field."""
    match term:
        case NotTerm(inner):
            return negations_inward(inner, negated=not negated)
        case AllTerms(terms) | AnyTerm(terms):
            every = isinstance(term, AllTerms) is not negated
            moved = [negations_inward(one, negated=negated) for one in terms]
            return AllTerms(_flat(moved, AllTerms)) if every else _either(_flat(moved, AnyTerm))
        case PhraseTerm() | Field() | NumberTerm() | ArgumentTerm() | TimeTerm():
            return NotTerm(term) if negated else term
        case _:
            assert_never(term)


def branches(wanted: Filter) -> list[Filter]:
    """Filters without a choice at their top that together let through what this one does; `not` stands inwards."""
    every = negations_inward(AllTerms(wanted))
    assert isinstance(every, AllTerms)
    found: list[list[Term]] = [[]]
    for term in every.terms:
        ways = term.terms if isinstance(term, AnyTerm) and len(found) * len(term.terms) <= MOST_BRANCHES else (term,)
        found = [[*branch, way] for branch in found for way in ways]
    return [_flat(branch, AllTerms) for branch in found]


def words_in(wanted: Iterable[Term]) -> Iterator[PhraseTerm]:
    """The words that a filter asks for, in any place and manner, in their order."""
    for term in wanted:
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


def required_words(wanted: Iterable[Term]) -> Iterator[PhraseTerm]:
    """The words that a trace may have to hold, in their order: those under no `not`."""
    for term in wanted:
        inner = negations_inward(term)
        if isinstance(inner, PhraseTerm):
            yield inner
        elif isinstance(inner, AllTerms | AnyTerm):
            yield from required_words(inner.terms)


def with_known_words(wanted: Filter, held: Mapping[PhraseTerm, bool]) -> Filter:
    """The filter for one trace of which it is known which words it holds."""
    return tuple(_replaced(term, lambda words: AllTerms(()) if held[words] else AnyTerm(())) for term in wanted)


def _replaced(term: Term, said: Callable[[PhraseTerm], Term]) -> Term:
    match term:
        case PhraseTerm():
            return said(term)
        case NotTerm(inner):
            return NotTerm(_replaced(inner, said))
        case AllTerms(terms):
            return AllTerms(tuple(_replaced(one, said) for one in terms))
        case AnyTerm(terms):
            return AnyTerm(tuple(_replaced(one, said) for one in terms))
        case Field() | NumberTerm() | ArgumentTerm() | TimeTerm():
            return term
        case _:
            assert_never(term)


def _flat(terms: Iterable[Term], kind: type[AllTerms] | type[AnyTerm]) -> tuple[Term, ...]:
    return tuple(inner for term in terms for inner in (term.terms if isinstance(term, kind) else (term,)))


def _either(terms: tuple[Term, ...]) -> Term:
    """One of these; the fields of one key are one, which the database finds by one index."""
    fields: dict[str, Field] = {}
    others: list[Term] = []
    for term in terms:
        if isinstance(term, Field):
            before = fields.get(term.key)
            fields[term.key] = Field(term.key, (*(before.values if before else ()), *term.values))
        else:
            others.append(term)
    whole = (*fields.values(), *others)
    return whole[0] if len(whole) == 1 else AnyTerm(whole)


class FilterError(WeaklinkError):
    """A filter cannot be read; `position` is the character, from 0, at which it goes wrong, its length at the end."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"filter, character {position + 1}: {message}")
        self.position = position


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that this one seems to mean."""
    return next(iter(get_close_matches(word.lower(), list(known), n=1)), None)


def one_of(known: Iterable[str]) -> str:
    """The words in backticks, for a sentence."""
    *others, last = (f"`{word}`" for word in known)
    return f"{', '.join(others)} or {last}" if others else last
