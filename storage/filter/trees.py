"""Filters put another way, meaning the same: `not` moved inwards, and a choice at the top made a filter of each."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import assert_never

from storage.filter.terms import All, Any, Argument, Field, Figure, Filter, Not, PhraseTerm, Term, When

MOST_BRANCHES = 8
"""So many filters are made of one, and no more: what would make more stays a condition."""


def inwards(term: Term, *, negated: bool = False) -> Term:
    """The term with `not` before its leaves alone; `negated`, the contrary of it. Fields of one key are one field."""
    match term:
        case Not(inner):
            return inwards(inner, negated=not negated)
        case All(terms) | Any(terms):
            every = isinstance(term, All) is not negated
            moved = [inwards(one, negated=negated) for one in terms]
            return All(_flat(moved, All)) if every else _either(_flat(moved, Any))
        case PhraseTerm() | Field() | Figure() | Argument() | When():
            return Not(term) if negated else term
        case _:
            assert_never(term)


def branches(wanted: Filter) -> list[Filter]:
    """Filters without a choice at their top that together let through what this one does; `not` stands inwards."""
    every = inwards(All(wanted))
    assert isinstance(every, All)
    found: list[list[Term]] = [[]]
    for term in every.terms:
        ways = term.terms if isinstance(term, Any) and len(found) * len(term.terms) <= MOST_BRANCHES else (term,)
        found = [[*branch, way] for branch in found for way in ways]
    return [_flat(branch, All) for branch in found]


def words_in(wanted: Iterable[Term]) -> Iterator[PhraseTerm]:
    """The words that a filter asks for, in any place and manner, in their order."""
    for term in wanted:
        match term:
            case PhraseTerm():
                yield term
            case Not(inner):
                yield from words_in((inner,))
            case All(terms) | Any(terms):
                yield from words_in(terms)
            case Field() | Figure() | Argument() | When():
                pass
            case _:
                assert_never(term)


def wanted_words(wanted: Iterable[Term]) -> Iterator[PhraseTerm]:
    """The words that a trace may have to hold, in their order: those under no `not`."""
    for term in wanted:
        inner = inwards(term)
        if isinstance(inner, PhraseTerm):
            yield inner
        elif isinstance(inner, All | Any):
            yield from wanted_words(inner.terms)


def with_known_words(wanted: Filter, held: Mapping[PhraseTerm, bool]) -> Filter:
    """The filter for one trace of which it is known which words it holds."""
    return tuple(_replaced(term, lambda words: All(()) if held[words] else Any(())) for term in wanted)


def _replaced(term: Term, said: Callable[[PhraseTerm], Term]) -> Term:
    match term:
        case PhraseTerm():
            return said(term)
        case Not(inner):
            return Not(_replaced(inner, said))
        case All(terms):
            return All(tuple(_replaced(one, said) for one in terms))
        case Any(terms):
            return Any(tuple(_replaced(one, said) for one in terms))
        case Field() | Figure() | Argument() | When():
            return term
        case _:
            assert_never(term)


def _flat(terms: Iterable[Term], kind: type[All] | type[Any]) -> tuple[Term, ...]:
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
    return whole[0] if len(whole) == 1 else Any(whole)
