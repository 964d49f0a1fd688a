"""Leaves the traces of weaklink's own experiments out of lists and sums, unless the filter asks for them.

`weaklink ask`, `doctor` and `replay` record what they send and receive. Hundreds of answers to one request would change
every rate of the sessions that were recorded for their own sake. A filter that names traces (by `session`, `id`,
`source`, `marked` or `note`) or has `forks:` decides itself. A database without such traces costs one look-up.
"""

from collections.abc import Iterator
from typing import assert_never

import sqlalchemy as sa

from weaklink.inspector.model.trace import EXPERIMENT_SOURCES
from weaklink.storage import tables
from weaklink.storage.filter.terms import (
    AllTerms,
    AnyTerm,
    ArgumentTerm,
    Field,
    Filter,
    FilterKey,
    NotTerm,
    NumberTerm,
    PhraseTerm,
    Term,
    TimeTerm,
)

_EXPLICIT = frozenset(
    {FilterKey.FORKS, FilterKey.SOURCE, FilterKey.SESSION, FilterKey.ID, FilterKey.MARKED, FilterKey.NOTE}
)
_WITHOUT_FORKS = Field(FilterKey.FORKS, ("no",))


def with_default_terms(connection: sa.Connection, terms: Filter) -> Filter:
    """The filter, without the traces of experiments if it does not decide about them and there are any."""
    keys = {key for term in terms for key in _keys(term)}
    return terms if keys & _EXPLICIT or not _has_experiments(connection) else (*terms, _WITHOUT_FORKS)


def _has_experiments(connection: sa.Connection) -> bool:
    source = tables.trace.c.source
    return connection.scalar(sa.select(sa.literal(1)).where(source.in_(EXPERIMENT_SOURCES)).limit(1)) is not None


def _keys(term: Term) -> Iterator[FilterKey]:
    match term:
        case Field(key) | NumberTerm(key):
            yield key
        case NotTerm(inner):
            yield from _keys(inner)
        case AllTerms(terms) | AnyTerm(terms):
            for one in terms:
                yield from _keys(one)
        case PhraseTerm() | ArgumentTerm() | TimeTerm():
            return
        case _:
            assert_never(term)
