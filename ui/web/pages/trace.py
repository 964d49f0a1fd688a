"""One trace: its verdict, the stream with everything that was read from it, and what else is known of it."""

import streamlit as st

from inspector.diagnostics import Location
from inspector.model import Json
from ui.web.components import dissector
from ui.web.places import asked, go
from ui.web.serving import current
from ui.web.shown_trace import ShownTrace, shown_trace
from ui.web.side_views import side_views
from ui.web.stream_data import TurnWindow, stream_data, turns_shown, window_of
from ui.web.trace_actions import trace_actions
from ui.web.trace_head import rail_of, trace_title, verdict_line
from ui.web.trace_neighbours import go_beside, neighbours
from ui.web.trace_place import look_at, picked_place, place_of, told_place
from ui.web.value_rows import NEAR, value_rows

_EVERY_S = 1.0
_KEPT = 4  # windows of traces, as the browser takes them
_FRESH_S = 600


def show() -> None:
    """Draw the trace that the address names, with the characters lit that it names; a running one every second."""
    if not asked("trace"):
        st.title("Trace")
        st.info("The address names no trace. Choose one in the list of traces.")
        if st.button("To the traces"):
            go("traces")
        return
    shown = shown_trace(asked("trace"))
    trace_title(shown)
    running = shown.summary.is_open
    st.fragment(_follow, run_every=_EVERY_S if running else None)(was_running=running)


def _follow(*, was_running: bool) -> None:
    """The trace as it is now; the whole page anew when it has ended.

    One that has ended stands in the same place of the page, so that the reader's own place in it is kept.
    """
    shown = shown_trace(asked("trace"))
    _body(shown)
    if was_running and not shown.summary.is_open:
        st.rerun()


def _body(shown: ShownTrace) -> None:
    above = st.container()  # filled when it is known what was chosen in the stream
    key = f"weaklink_dissector_{shown.summary.id}"
    at = _stream(shown, place_of(shown, key), key)
    with above:
        led = verdict_line(shown)
        led = rail_of(shown, at) or led
        trace_actions(shown, at)
    led = side_views(shown, at) or led
    if led is not None:
        look_at(led)
        st.rerun()


def _stream(shown: ShownTrace, at: Location | None, key: str) -> Location | None:
    """The dissector; the place that is selected after what was done in it."""
    window = window_of(shown.trace, at.turn if at else 1)
    for sentence in turns_shown(window, len(shown.trace.turns)):
        st.caption(sentence)
    middle = ((at.turn if at else 1) // NEAR * 2 + 1) * NEAR // 2
    data = _data(current().where, f"{shown.version}.{window.first}.{middle}", window, middle, shown)
    told = {"selected": told_place(key, at), "grows": shown.summary.is_open}
    done = dissector({**data, **told}, key=key)
    if done.beside:
        to = neighbours(shown.summary)[0 if done.beside < 0 else 1]
        if to is not None:
            go_beside(shown.summary, to, done.beside)
    return at if done.picked is None else picked_place(done.picked)


@st.cache_resource(show_spinner=False, max_entries=_KEPT, ttl=_FRESH_S)
def _data(where: str | None, version: str, window: TurnWindow, turn: int, _shown: ShownTrace) -> dict[str, Json]:
    data = stream_data(_shown.trace, _shown.inspection, window)
    return {**data, "values": value_rows(_shown.dissection, window, turn), "version": version}
