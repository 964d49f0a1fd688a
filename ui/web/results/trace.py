"""One trace of results: its verdict, its stream and the views beside it, read from its file when the page is opened."""

import streamlit as st

from inspector.diagnostics import Location
from inspector.text import Range
from ui.web.components import dissector, lines, picture
from ui.web.markup import put_sentence, put_title
from ui.web.navigation import go_to_page, parameter, set_parameters
from ui.web.pages.trace import TABS, place_of
from ui.web.pictures import location_object
from ui.web.results.opening import opened_trace
from ui.web.stores import ShownTrace, put_page_name
from ui.web.stream_data import window_notes, window_of
from ui.web.trace_api import browser_data, default_position
from ui.web.trace_listing import title_of
from ui.web.trace_views import view_data

_LONGEST = 80
_PICTURES = frozenset({"rail", "flow", "timing"})
_OF_THE_STORE = frozenset({"notes"})


def show() -> None:
    """Draw the trace that the address names by its file and record."""
    if not parameter("file") or not parameter("record"):
        st.title("Trace")
        st.info("The address names no trace. Choose one in the list of traces.")
        if st.button("To the traces"):
            go_to_page("traces")
        return
    shown = opened_trace(parameter("file"), parameter("record"))
    put_title(f"{shown.summary.record} · {title_of(shown.summary)[:_LONGEST]}")
    put_sentence(shown.summary.file)
    put_page_name(f"{shown.summary.record} {title_of(shown.summary)}")
    st.fragment(_body)()


def _body() -> None:
    shown = opened_trace(parameter("file"), parameter("record"))
    at = place_of(shown)
    _view("ending", shown, at)
    _view("rail", shown, at)
    around = at or default_position(shown)
    for sentence in window_notes(window_of(shown.trace, around.turn, around.part, around.range.start), shown.trace):
        put_sentence(sentence)
    data = {**browser_data(shown, at), "initial": None if at is None else location_object(at)}
    done = dissector(data, key=f"weaklink_dissector_{shown.summary.id}")
    if shown.trace.turns:
        _tabs(shown, at)
    if done.needed is not None:
        needed = done.needed
        location = Location(needed["turn"], needed["part"], Range(needed["start"], needed["end"]))
        places = {"start": location.range.start, "end": location.range.end}
        set_parameters(turn=location.turn, part=location.part, **places)
        st.rerun(scope="fragment")


def _tabs(shown: ShownTrace, at: Location | None) -> None:
    tabs = {title: names for title, names in TABS.items() if not _OF_THE_STORE & set(names)}
    for tab, names in zip(st.tabs(list(tabs)), tabs.values(), strict=True):
        with tab:
            for name in names:
                _view(name, shown, at)


def _view(name: str, shown: ShownTrace, at: Location | None) -> None:
    (picture if name in _PICTURES else lines)(view_data(name, shown, at), key=f"weaklink_{name}")
