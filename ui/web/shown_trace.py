"""The trace that a page looks at, read and inspected once for all the clicks on it."""

from dataclasses import dataclass

import streamlit as st

from inspector.chain.data_flow import DataFlow
from inspector.inspection import Inspection, data_flow_of
from inspector.model import Trace
from storage import TraceSummary
from ui.views.dissect.dissection import Dissection
from ui.views.open_turns import continued
from ui.web.serving import current
from ui.web.stores import store

_KEPT = 8  # traces; each may be large
_FRESH_S = 600


@dataclass(frozen=True, slots=True)
class ShownTrace:
    """A trace with what lists say of it; `version` changes when anything about it does."""

    summary: TraceSummary
    dissection: Dissection
    version: str

    @property
    def trace(self) -> Trace:
        """The trace."""
        return self.dissection.trace

    @property
    def inspection(self) -> Inspection:
        """What was found in it."""
        return self.dissection.inspection


def shown_trace(id_: int | str) -> ShownTrace:
    """The trace of that id, as it is now. StoreError where there is none."""
    summary = store().summary(id_)
    version = f"{summary.id}.{summary.turns}.{summary.characters}.{summary.status}.{summary.liveness}"
    dissection = _read(current().where, summary.id, version)
    begun = store().open_turns(summary.id) if summary.open_turns else {}
    if begun:
        version += f".{sum(len(part.text) for turn in begun.values() for part in turn.parts)}"
        dissection = Dissection(*continued(dissection.trace, dissection.inspection, begun))
    return ShownTrace(summary, dissection, f"{version}.{dissection.inspection.version}")


def data_flow(shown: ShownTrace) -> DataFlow:
    """Where the values of its calls came from: found once, for a long chain takes a while."""
    return _flow(current().where, shown.version, shown.dissection)


@st.cache_resource(show_spinner="Reading the trace …", max_entries=_KEPT, ttl=_FRESH_S)
def _read(where: str | None, id_: int, version: str) -> Dissection:
    return Dissection(*store().inspected(id_))


@st.cache_resource(show_spinner="Looking where values came from …", max_entries=_KEPT, ttl=_FRESH_S)
def _flow(where: str | None, version: str, _dissection: Dissection) -> DataFlow:
    return data_flow_of(_dissection.trace, _dissection.inspection)
