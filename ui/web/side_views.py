"""What stands beside the stream of a trace: schema, origins, timing, request, steps and notes, a tab each."""

from collections.abc import Callable, Iterator

import streamlit as st

from inspector.chain.data_flow import trace_values
from inspector.diagnostics import Location
from inspector.text import Range
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.origins import origins
from ui.views.dissect.raw import raw
from ui.views.dissect.schema import schema
from ui.views.dissect.selection import step_at
from ui.views.dissect.side import SideSource
from ui.views.dissect.timing import timing
from ui.views.run import Line
from ui.web.markup import put_lines

_WIDTH = 160
_MOST_LINES = 400


def side_views(dissection: Dissection, at: Location | None) -> None:
    """Draw the tabs for the place that is selected."""
    if at is None or at.turn > len(dissection.trace.turns):
        at = Location(1, "text", Range(0, 0)) if dissection.trace.turns else None
    if at is None:
        return
    views: tuple[tuple[str, Callable[[], SideSource]], ...] = (
        ("Schema", lambda: schema(dissection, at, _WIDTH)),
        ("Where values came from", lambda: _origins(dissection, at)),
        ("Timing", lambda: timing(dissection)),
        ("Request and answer", lambda: raw(dissection, at.turn, _WIDTH)),
    )
    for tab, (_, view) in zip(st.tabs([name for name, _ in views]), views, strict=True):
        with tab:
            put_lines(_lines(view()))


def _origins(dissection: Dissection, at: Location) -> SideSource:
    return origins(trace_values(dissection.trace, dissection.inspection.chain.steps), step_at(dissection, at))


def _lines(source: SideSource) -> Iterator[Line]:
    for index in range(min(source.count, _MOST_LINES)):
        yield source.line(index, _WIDTH)
