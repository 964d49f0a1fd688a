"""The numbers of the triage page: aggregates from the database, kept until it changes."""

from dataclasses import dataclass

import streamlit as st

from inspector.chain.metrics_groups import Aspect, GroupFigures, GroupKey, Slice
from ui.web.serving import current
from ui.web.stores import store

_FRESH_S = 30
_KEPT = 64
STATUSES = ("broken", "aborted", "recovered", "ok")


@dataclass(frozen=True, slots=True)
class TriageFigures:
    """What the triage page shows of the traces that a filter lets through; `whole` is None where there are none."""

    whole: GroupFigures | None
    days: tuple[GroupFigures, ...]
    models_and_codes: tuple[GroupFigures, ...]
    models: tuple[GroupFigures, ...]
    codes: tuple[Slice, ...]
    steps: tuple[Slice, ...]


def triage_figures(wanted: str) -> TriageFigures:
    """The figures for a filter, at most half a minute old, and never older than the newest trace. FilterError."""
    pulse = store().paging().pulse()
    return _read(current().where, wanted, f"{pulse.newest_id}.{len(pulse.running)}")


@st.cache_resource(show_spinner="Counting …", ttl=_FRESH_S, max_entries=_KEPT)
def _read(where: str | None, wanted: str, version: str) -> TriageFigures:
    opened = store()
    whole = opened.figures(wanted)
    return TriageFigures(
        whole[0] if whole else None,
        tuple(opened.figures(wanted, by=(GroupKey.DAY,))),
        tuple(opened.figures(wanted, by=(GroupKey.MODEL, GroupKey.CODE))),
        tuple(opened.figures(wanted, by=(GroupKey.MODEL,))),
        tuple(opened.breakdown(Aspect.CODE, wanted)),
        tuple(opened.breakdown(Aspect.STEP, wanted)),
    )


def hits(group: GroupFigures, measure: str) -> int:
    """How many of a group's traces or calls a measure counts."""
    return group.tally(measure).hits
