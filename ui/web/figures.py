"""Aggregates from the database for the pages, kept until it changes: every page that asks the same is answered once.

Where counting took long, what came meanwhile waits: a store that is being filled is not counted all the time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

import streamlit as st

from inspector.chain.metrics_groups import Aspect, GroupFigures, GroupKey, Slice
from storage import Violations
from ui.web.serving import current
from ui.web.stores import WHOLE_TEXTS, store

_FRESH_S = 600
_LONG_S, _PATIENCE = 0.5, 20.0  # counting for longer than this keeps the numbers for so many times as long
_KEPT = 256
_MOST_VIOLATIONS = 200


def grouped(wanted: str, *by: GroupKey) -> tuple[GroupFigures, ...]:
    """What the traces that a filter lets through come to, group by group; one group of all where `by` is empty."""
    return _grouped(current().where, wanted, by, data_version())


def sliced(wanted: str, aspect: Aspect) -> tuple[Slice, ...]:
    """How many of the traces that a filter lets through show which value of an aspect."""
    return _sliced(current().where, wanted, aspect, data_version())


def violated(wanted: str) -> tuple[Violations, ...]:
    """Which places of which tools' schemas were broken, the most frequent first."""
    return _violated(current().where, wanted, data_version())


def data_version() -> str:
    """What changes when traces come or end; what only deletes is seen within ten minutes."""
    where = current().where
    version, until_s = _HELD.get(where, ("", 0.0))
    if monotonic() < until_s:
        return version
    pulse = store().paging().pulse()
    version = f"{pulse.newest_id}.{len(pulse.running)}"
    _HELD[where] = (version, 0.0)
    return version


def hits(group: GroupFigures, measure: str) -> int:
    """How many of a group's traces or calls a measure counts."""
    return group.tally(measure).hits


_HELD: dict[str | None, tuple[str, float]] = {}
"""The version of a database that is taken for its newest, and until when."""


@contextmanager
def _counting(where: str | None, version: str) -> Iterator[None]:
    began_s = monotonic()
    yield
    took_s = monotonic() - began_s
    if took_s > _LONG_S:
        _HELD[where] = (version, monotonic() + _PATIENCE * took_s)


@st.cache_resource(show_spinner="Counting …", ttl=_FRESH_S, max_entries=_KEPT, hash_funcs=WHOLE_TEXTS)
def _grouped(where: str | None, wanted: str, by: tuple[GroupKey, ...], version: str) -> tuple[GroupFigures, ...]:
    with _counting(where, version):
        return tuple(store().figures(wanted, by=by))


@st.cache_resource(show_spinner="Counting …", ttl=_FRESH_S, max_entries=_KEPT, hash_funcs=WHOLE_TEXTS)
def _sliced(where: str | None, wanted: str, aspect: Aspect, version: str) -> tuple[Slice, ...]:
    with _counting(where, version):
        return tuple(store().breakdown(aspect, wanted))


@st.cache_resource(show_spinner="Counting …", ttl=_FRESH_S, max_entries=_KEPT, hash_funcs=WHOLE_TEXTS)
def _violated(where: str | None, wanted: str, version: str) -> tuple[Violations, ...]:
    with _counting(where, version):
        return tuple(store().violations(wanted, limit=_MOST_VIOLATIONS))
