"""The page of one trace: its verdict and turns, the exact stream, and tabs for data flow, schema, timing and more."""

from typing import Any

import streamlit as st

from weaklink.inspector.diagnostics import Location
from weaklink.inspector.errors import StoreError
from weaklink.inspector.text import Range
from weaklink.storage import NoDatabaseYetError, TraceSummary
from weaklink.ui.views.dissect.side import initial_position
from weaklink.ui.web.components import DissectorEvent, dissector, lines, picture
from weaklink.ui.web.markup import label, put_sentence, put_title
from weaklink.ui.web.navigation import go_to_page, number_parameter, parameter, set_parameters
from weaklink.ui.web.pictures import location_object
from weaklink.ui.web.stores import ShownTrace, put_page_name, shown_trace, store
from weaklink.ui.web.stream_data import stream_place, window_notes, window_of
from weaklink.ui.web.trace_actions import adjacent_traces, trace_actions
from weaklink.ui.web.trace_api import browser_data, default_position, position_of, view_data
from weaklink.ui.web.trace_listing import title_of

_NEAR, _MOST_NEAR, _OFFERED = 200, 2_000, 5
_LONGEST = 80
TABS = {
    "Data flow": ("flow", "origins"),
    "Verdict": ("verdict",),
    "Schema": ("schema",),
    "Timing": ("timing", "times"),
    "Request and answer": ("raw",),
    "What the model read": ("context",),
    "Notes and facts": ("notes",),
}
_PICTURES = frozenset({"rail", "flow", "timing"})


def show() -> None:
    """Draw the trace in the address, with the characters in the address highlighted; a running trace grows."""
    if not parameter("trace"):
        st.title("Trace")
        st.info("No trace selected. Choose one in the list of traces.")
        if st.button("Show traces"):
            go_to_page("traces")
        return
    try:
        shown = shown_trace(parameter("trace"))
    except NoDatabaseYetError:
        raise
    except StoreError as error:
        _missing(str(error))
        return
    trace_title(shown)
    put_page_name(f"{shown.summary.id} {title_of(shown.summary)}")
    st.fragment(_body)()


def _missing(why: str) -> None:
    """Show why there is no such trace, and offer those with the nearest ids, or the newest."""
    st.title("Trace")
    st.error(label(why, most=1_000), icon=":material/error:")
    st.caption("The traces with the nearest ids:" if number_parameter("trace") is not None else "The newest traces:")
    for one in nearest_traces(number_parameter("trace")):
        if st.button(
            f"{one.id} {label(title_of(one))}", key=f"weaklink_nearest_{one.id}", icon=":material/account_tree:"
        ):
            go_to_page("trace", trace=one.id)
    if st.button("Show traces", icon=":material/list:"):
        go_to_page("traces")


def nearest_traces(id_: int | None) -> list[TraceSummary]:
    """The traces whose ids are nearest to a number; without a number, the newest."""
    if id_ is None:
        return store().traces(limit=_OFFERED)
    newest, found, near = store().paging().pulse().newest_id, list[TraceSummary](), _NEAR
    at = min(id_, newest)
    while not found and near < 2 * max(newest, _NEAR):
        found = store().traces(f"id:>={max(at - near, 0)} id:<={at + near}", limit=min(2 * near, _MOST_NEAR))
        near *= 2
    return sorted(found, key=lambda one: (abs(one.id - id_), one.id))[:_OFFERED]


def _body() -> None:
    """Draw the trace as it is now. A running one grows through `trace_api`; the page is redrawn when it has ended."""
    shown = shown_trace(parameter("trace"))
    at = place_of(shown)
    _view("ending", shown, at)
    _view("rail", shown, at)
    trace_actions(shown, at)
    done = _stream(shown, at)
    if shown.trace.turns:
        _tabs(shown, at)
    if done.ended:
        st.rerun()
    if done.needed is not None:
        look_at(_location(done.needed))
        st.rerun(scope="fragment")


def _stream(shown: ShownTrace, at: Location | None) -> DissectorEvent:
    """Draw the dissector, and the notes on a trace that is too long for one page."""
    around = at or default_position(shown)
    for sentence in window_notes(window_of(shown.trace, around.turn, around.part, around.range.start), shown.trace):
        put_sentence(sentence)
    initial = None if at is None else location_object(at)
    data = {**browser_data(shown, at), "initial": initial}
    done = dissector(data, key=f"weaklink_dissector_{shown.summary.id}")
    if done.beside:
        to = adjacent_traces(shown.summary)[0 if done.beside < 0 else 1]
        if to is not None:
            go_to_page("trace", trace=to, filter=parameter("filter"))
    return done


def _tabs(shown: ShownTrace, at: Location | None) -> None:
    """Draw the views of the selected characters, below the stream."""
    for tab, names in zip(st.tabs(list(TABS)), TABS.values(), strict=True):
        with tab:
            for name in names:
                _view(name, shown, at)


def _view(name: str, shown: ShownTrace, at: Location | None) -> None:
    (picture if name in _PICTURES else lines)(view_data(name, shown, at), key=f"weaklink_{name}")


def trace_title(shown: ShownTrace) -> None:
    """Draw the heading."""
    put_title(f"{shown.summary.id} · {title_of(shown.summary)[:_LONGEST]}")


def place_of(shown: ShownTrace) -> Location | None:
    """The place in the address, else the break or the first fault; a running trace without a place has none."""
    named = position_of(*(parameter(name) for name in ("turn", "part", "start", "end")))
    if named is None and not shown.summary.is_open:
        named = initial_position(shown.inspection)
    return named if named is None else stream_place(shown.trace, named)


def look_at(location: Location) -> None:
    """Select a place: write it into the address, where the dissector reads it."""
    set_parameters(turn=location.turn, part=location.part, start=location.range.start, end=location.range.end)


def _location(position: dict[str, Any]) -> Location:
    """The position that the dissector reports."""
    return Location(position["turn"], position["part"], Range(position["start"], position["end"]))
