"""A look at the trace that a list has chosen: where it broke and why, and what can be done with it."""

import time
from collections.abc import Iterator

import streamlit as st

from storage import TraceSummary
from ui.views.amounts import short_count, short_duration, short_time
from ui.views.break_story import break_lines
from ui.views.minimap import LEGEND, minimap
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.trace_list import listed_status
from ui.views.visible import visible_line
from ui.views.wording import counted, wrapped
from ui.web.markup import put_lines
from ui.web.places import asked, go, keep
from ui.web.shown_trace import ShownTrace, shown_trace
from ui.web.trace_listing import title_of

_WIDTH = 37
_RUNS = "runs"
MOST_RUNS = 6
"""So many traces are compared at most."""


def trace_look(one: TraceSummary) -> None:
    """Draw the look and its buttons."""
    with st.container(horizontal=True):
        if st.button("Open", key="weaklink_open", type="primary", icon=":material/open_in_full:"):
            go("trace", trace=one.id, filter=asked("filter"))
        _compare(one)
    put_lines(_lines(shown_trace(one.id), one))


def _lines(shown: ShownTrace, one: TraceSummary) -> Iterator[Line]:
    yield from wrapped((Run(f"{one.id}  ", Style.DIM), Run(title_of(one), Style.STRONG)), _WIDTH)
    yield (listed_status(one),)
    yield ()
    yield minimap(shown.trace, shown.inspection, _WIDTH)
    yield ()
    yield from break_lines(shown.trace, shown.inspection, _WIDTH)
    yield ()
    for name, said in _facts(one):
        yield from wrapped((Run(f"{name:8}", Style.DIM), Run(visible_line(said))), _WIDTH, indent=8)
    yield ()
    for words in LEGEND:
        yield from wrapped((Run(words, Style.DIM),), _WIDTH)


def _facts(one: TraceSummary) -> Iterator[tuple[str, str]]:
    if one.note:
        yield "note", one.note
    yield "model", one.model or "not known"
    yield "source", f"{one.source} {one.file[-200:]}".strip()
    if one.started_at_s is not None:
        yield "began", short_time(one.started_at_s, time.time())
    if one.duration_s is not None:
        yield "took", short_duration(one.duration_s)
    yield "size", f"{counted(one.turns, 'turn')}, {short_count(one.characters)} characters"


def _compare(one: TraceSummary) -> None:
    """Traces are chosen one by one, and compared together."""
    chosen = asked(_RUNS).split()
    if str(one.id) in chosen:
        if st.button("Not this one", key="weaklink_less", icon=":material/remove:"):
            _choose([id_ for id_ in chosen if id_ != str(one.id)])
    elif st.button("To compare", key="weaklink_more", icon=":material/add:", disabled=len(chosen) >= MOST_RUNS):
        _choose([*chosen, str(one.id)])
    if len(chosen) > 1 and st.button(
        f"Compare {len(chosen)}", key="weaklink_compare", icon=":material/compare_arrows:"
    ):
        go("compare", runs=" ".join(chosen))
    if chosen:
        st.caption(f"To compare: {', '.join(id_ for id_ in chosen if id_.isdecimal())}")


def _choose(ids: list[str]) -> None:
    keep(**{_RUNS: " ".join(ids)})
    st.rerun()
