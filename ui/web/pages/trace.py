"""One trace: its verdict, the stream with everything that was read from it, and what else is known of it."""

import streamlit as st

from inspector.diagnostics import Location
from inspector.text import Range
from ui.views.break_story import break_lines
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.verdict import landing
from ui.views.status import status_run
from ui.views.trace import title_of, trace_facts
from ui.views.visible import visible_line
from ui.web.components import dissector
from ui.web.markup import plain, put_lines
from ui.web.places import asked, asked_number, go, keep
from ui.web.shown_trace import ShownTrace, shown_trace
from ui.web.side_views import side_views
from ui.web.stream_data import place, stream_data, turns_shown, window_of
from ui.web.trace_actions import trace_actions
from ui.web.value_rows import value_rows

_WIDTH = 96


def show() -> None:
    """Draw the trace that the address names, with the characters lit that it names."""
    id_ = asked("trace")
    if not id_:
        st.title("Trace")
        st.info("The address names no trace. Choose one in the list of traces.")
        if st.button("To the traces"):
            go("traces")
        return
    shown = shown_trace(id_)
    _head(shown)
    trace_actions(shown)
    _stream(shown)


def _head(shown: ShownTrace) -> None:
    summary, chain = shown.summary, shown.inspection.chain
    status = status_run(chain.status, chain.broken.outcome if chain.broken else None)
    st.title(plain(f"{summary.id} · {title_of(shown.trace)[:80]}"), anchor=False)
    st.text(
        f"{status.text} · " + " · ".join(visible_line(said) for _, said in trace_facts(shown.trace, shown.inspection))
    )
    if chain.broken is not None:
        put_lines(break_lines(shown.trace, shown.inspection, _WIDTH))


def _stream(shown: ShownTrace) -> None:
    dissection = Dissection(shown.trace, shown.inspection)
    selected = _asked_place(shown)
    turn = selected[0] if selected else 1
    window = window_of(shown.trace, turn)
    data = stream_data(shown.trace, shown.inspection, window)
    data |= {
        "values": value_rows(dissection, window),
        "selected": place(*selected) if selected else None,
        "version": f"{shown.version}.{window.first}",
    }
    for sentence in turns_shown(window, len(shown.trace.turns)):
        st.caption(sentence)
    picked = dissector(data, key=f"weaklink_dissector_{shown.summary.id}")
    if picked is not None:
        keep(turn=picked["turn"], part=picked["part"], start=picked["start"], end=picked["end"])
        selected = _asked_place(shown)
    led = side_views(dissection, None if selected is None else Location(*selected))
    if led is not None:
        keep(turn=led.turn, part=led.part, start=led.range.start, end=led.range.end)
        st.rerun()


def _asked_place(shown: ShownTrace) -> tuple[int, str, Range] | None:
    """The place that the address names, else the break, else the first fault."""
    turn, start, end = asked_number("turn"), asked_number("start"), asked_number("end")
    if turn is not None and start is not None and end is not None and start <= end:
        return turn, asked("part") or "text", Range(start, end)
    found = landing(shown.inspection)
    return None if found is None else (found.turn, found.part, found.range)
