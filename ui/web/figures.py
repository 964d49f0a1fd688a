"""Aggregates from the database for the pages, kept until it changes: every page that asks the same is answered once."""

import streamlit as st

from inspector.chain.metrics_groups import Aspect, GroupFigures, GroupKey, Slice
from storage import Violations
from ui.web.serving import current
from ui.web.stores import WHOLE_TEXTS, store

_FRESH_S = 60
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
    """What changes when traces come or end; what only deletes is seen within a minute."""
    pulse = store().paging().pulse()
    return f"{pulse.newest_id}.{len(pulse.running)}"


def hits(group: GroupFigures, measure: str) -> int:
    """How many of a group's traces or calls a measure counts."""
    return group.tally(measure).hits


@st.cache_resource(show_spinner="Counting …", ttl=_FRESH_S, max_entries=_KEPT, hash_funcs=WHOLE_TEXTS)
def _grouped(where: str | None, wanted: str, by: tuple[GroupKey, ...], version: str) -> tuple[GroupFigures, ...]:
    return tuple(store().figures(wanted, by=by))


@st.cache_resource(show_spinner="Counting …", ttl=_FRESH_S, max_entries=_KEPT, hash_funcs=WHOLE_TEXTS)
def _sliced(where: str | None, wanted: str, aspect: Aspect, version: str) -> tuple[Slice, ...]:
    return tuple(store().breakdown(aspect, wanted))


@st.cache_resource(show_spinner="Counting …", ttl=_FRESH_S, max_entries=_KEPT, hash_funcs=WHOLE_TEXTS)
def _violated(where: str | None, wanted: str, version: str) -> tuple[Violations, ...]:
    return tuple(store().violations(wanted, limit=_MOST_VIOLATIONS))
