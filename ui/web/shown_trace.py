"""The trace that a page looks at, read and inspected once for all the clicks on it."""

from dataclasses import dataclass

import streamlit as st

from inspector.inspection import Inspection
from inspector.model import Trace
from storage import TraceSummary
from ui.web.serving import current
from ui.web.stores import store

_KEPT = 8  # traces; each may be large
_FRESH_S = 600


@dataclass(frozen=True, slots=True)
class ShownTrace:
    """A trace with what lists say of it; `version` changes when anything about it does."""

    summary: TraceSummary
    trace: Trace
    inspection: Inspection
    version: str


def shown_trace(id_: int | str) -> ShownTrace:
    """The trace of that id, as it is now. StoreError where there is none."""
    summary = store().summary(id_)
    version = f"{summary.id}.{summary.turns}.{summary.characters}.{summary.status}.{summary.running}"
    trace, inspection = _read(current().where, summary.id, version)
    return ShownTrace(summary, trace, inspection, f"{version}.{inspection.version}")


@st.cache_resource(show_spinner="Reading the trace …", max_entries=_KEPT, ttl=_FRESH_S)
def _read(where: str | None, id_: int, version: str) -> tuple[Trace, Inspection]:
    return store().inspected(id_)
