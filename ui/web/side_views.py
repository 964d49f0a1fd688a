"""What stands beside the stream of a trace: schema, origins, timing, request, steps and notes, a tab each."""

from collections.abc import Iterator

import streamlit as st

from inspector.chain.data_flow import DataFlow
from inspector.diagnostics import Location
from inspector.inspection import data_flow_of
from inspector.text import Range
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.origins import origins
from ui.views.dissect.raw import raw
from ui.views.dissect.schema import schema
from ui.views.dissect.selection import step_at
from ui.views.dissect.side import SideSource
from ui.views.dissect.timing import timing
from ui.views.run import Line
from ui.web.components import picture
from ui.web.flow_picture import flow_picture
from ui.web.markup import put_lines
from ui.web.timing_picture import timing_picture

_WIDTH = 160
_MOST_LINES = 400
_TABS = ("Data flow", "Schema", "Where values came from", "Timing", "Request and answer")


def side_views(dissection: Dissection, at: Location | None) -> Location | None:
    """Draw the tabs for the place that is selected; where a click in them leads."""
    if at is None or at.turn > len(dissection.trace.turns):
        at = Location(1, "text", Range(0, 0))
    if not dissection.trace.turns:
        return None
    flow, schema_, origins_, timing_, raw_ = st.tabs(_TABS)
    with flow:
        led = _flow(dissection, at)
    with schema_:
        put_lines(_lines(schema(dissection, at, _WIDTH)))
    with origins_:
        put_lines(_lines(origins(_data_flow(dissection), step_at(dissection, at))))
    with timing_:
        led = _timing(dissection) or led
    with raw_:
        put_lines(_lines(raw(dissection, at.turn, _WIDTH)))
    return led


def _flow(dissection: Dissection, at: Location) -> Location | None:
    """The chain as a picture; the call of the step that was clicked."""
    chain = dissection.inspection.chain
    if not chain.steps:
        st.caption("This trace has no tool calls, so nothing flows.")
        return None
    step = step_at(dissection, at)
    drawn = flow_picture(chain, _data_flow(dissection))
    key = picture(drawn, key="weaklink_flow", selected=str(step.number) if step else None)
    st.caption(f"{drawn.label}. The thick way is the longest; a click leads to the step.")
    return chain.steps[int(key) - 1].location if key is not None else None


def _timing(dissection: Dissection) -> Location | None:
    """When the answers came; the beginning of the one that was clicked."""
    drawn = timing_picture(dissection.trace)
    key = None
    if drawn is not None:
        key = picture(drawn, key="weaklink_timing")
        st.caption(f"{drawn.label}. A chunk is not a token.")
    put_lines(_lines(timing(dissection)))
    parts = dissection.parts_of(int(key)) if key is not None else ()
    return parts[0].location(Range(0, 0)) if parts else None


def _data_flow(dissection: Dissection) -> DataFlow:
    return data_flow_of(dissection.trace, dissection.inspection)


def _lines(source: SideSource) -> Iterator[Line]:
    for index in range(min(source.count, _MOST_LINES)):
        yield source.line(index, _WIDTH)
