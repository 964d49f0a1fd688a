"""What stands below the stream of a trace: data flow, verdict, schema, timing, request and notes, a tab each."""

from collections.abc import Iterator

import streamlit as st

from inspector.diagnostics import Location
from inspector.model import Role
from inspector.text import Range
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.notes import notes
from ui.views.dissect.origins import origins
from ui.views.dissect.raw import raw
from ui.views.dissect.schema import schema
from ui.views.dissect.selection import step_at
from ui.views.dissect.side import SideLine, SideSource
from ui.views.dissect.timing import timing
from ui.views.dissect.verdict import verdict
from ui.views.palette import Style
from ui.views.run import Run
from ui.views.wording import counted
from ui.web.components import lines, picture
from ui.web.flow_picture import flow_picture
from ui.web.shown_trace import ShownTrace, data_flow
from ui.web.stores import store
from ui.web.timing_picture import timing_picture

_WIDTH = 110
_MOST_LINES = 400
_TABS = ("Data flow", "Verdict", "Schema", "Timing", "Request and answer", "Notes and facts")


def side_views(shown: ShownTrace, at: Location | None) -> Location | None:
    """Draw the tabs for the place that is selected; where a click in them leads."""
    dissection = shown.dissection
    if not dissection.trace.turns:
        return None
    if at is None or at.turn > len(dissection.trace.turns):
        at = _first_answer(dissection)
    marks = store().marks([shown.summary.id]).get(shown.summary.id, ())
    flow, verdict_, schema_, timing_, raw_, notes_ = st.tabs(_TABS)
    with flow:
        led = _flow(shown, at)
    with verdict_:
        led = _lines(verdict(dissection, _WIDTH), "Verdict") or led
    with schema_:
        led = _lines(schema(dissection, at, _WIDTH), "Schema") or led
    with timing_:
        led = _timing(dissection) or led
    with raw_:
        led = _lines(raw(dissection, at.turn, _WIDTH), "Request and answer") or led
    with notes_:
        return _lines(notes(dissection, marks, _WIDTH), "Notes and facts") or led


def _first_answer(dissection: Dissection) -> Location:
    """What is looked at where nothing is selected: the first call, else the first words of the model."""
    if dissection.inspection.chain.steps:
        return dissection.inspection.chain.steps[0].location
    turns = enumerate(dissection.trace.turns, 1)
    return Location(next((number for number, turn in turns if turn.role is Role.ASSISTANT), 1), "text", Range(0, 0))


def _flow(shown: ShownTrace, at: Location) -> Location | None:
    """The chain as a picture, and the origins of the values of the step that is selected."""
    chain = shown.inspection.chain
    if not chain.steps:
        st.caption("This trace has no tool calls, so nothing flows.")
        return None
    step = step_at(shown.dissection, at)
    drawn = flow_picture(chain, data_flow(shown), step.number if step else 1)
    key = picture(drawn, key="weaklink_flow", selected=str(step.number) if step else None)
    st.caption(f"{drawn.label}. The thick way is the longest; a click leads to the step.")
    led = _lines(origins(data_flow(shown), step), "Where values came from")
    return chain.steps[int(key) - 1].location if key is not None and key.isdecimal() else led


def _timing(dissection: Dissection) -> Location | None:
    """When the answers came; the beginning of the one that was clicked."""
    drawn = timing_picture(dissection.trace)
    key = None
    if drawn is not None:
        key = picture(drawn, key="weaklink_timing")
        st.caption(f"{drawn.label}. A chunk is not a token.")
    led = _lines(timing(dissection), "Times of the answers")
    parts = dissection.parts_of(int(key)) if key is not None and key.isdecimal() else ()
    return parts[0].location(Range(0, 0)) if parts else led


def _lines(source: SideSource, label: str) -> Location | None:
    return lines(list(_first(source)), key=f"weaklink_lines_{label}", label=label)


def _first(source: SideSource) -> Iterator[SideLine]:
    for index in range(min(source.count, _MOST_LINES)):
        yield SideLine(source.line(index, _WIDTH), source.location(index))
    if source.count > _MOST_LINES:
        yield SideLine((Run(f"… {counted(source.count - _MOST_LINES, 'further line')}", Style.DIM),))
