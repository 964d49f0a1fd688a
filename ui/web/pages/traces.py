"""The traces that match the filter, a page at a time, with a look at the one that is chosen."""

import time
from collections.abc import Sequence

import streamlit as st

from inspector.chain.steps import Status
from storage import Cursor, TraceSummary
from ui.views.amounts import short_count, short_duration, short_time
from ui.views.break_story import break_lines
from ui.views.minimap import LEGEND, minimap
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.status import RUNNING, status_run
from ui.views.trace_list import break_words, trace_title
from ui.views.visible import visible_line
from ui.web.components import Column, Row, listing
from ui.web.filter_bar import filter_bar
from ui.web.markup import put_lines
from ui.web.places import asked, go, keep
from ui.web.shown_trace import shown_trace
from ui.web.stores import store

_PAGE = 100
_WIDTH = 100
_MAP_CELLS = 90
_BACK = "weaklink_pages_before"
_COLUMNS = (
    *(Column("status"), Column("id", "end"), Column("time"), Column("name"), Column("model"), Column("calls", "end")),
    *(Column("break"), Column("tokens", "end"), Column("took", "end")),
)


def show() -> None:
    """Draw the page."""
    st.title("Traces")
    wanted = filter_bar()
    if wanted is None:
        return
    found = store().traces(wanted, limit=_PAGE + 1, after=_cursor())
    if not found:
        _nothing(wanted)
        return
    list_, look = st.columns([5, 2])
    with list_:
        chosen = _chosen(found[:_PAGE])
        _pager(found)
    with look:
        _look(chosen)


def _chosen(found: Sequence[TraceSummary]) -> TraceSummary:
    """Draw the table; the trace that is looked at."""
    named = asked("look")
    chosen = next((one for one in found if str(one.id) == named), found[0])
    done = listing(_COLUMNS, [_row(one) for one in found], key="weaklink_traces", selected=str(chosen.id))
    if done.opened is not None:
        go("trace", trace=done.opened, filter=asked("filter"))
    if done.picked is not None:
        keep(look=done.picked)
        chosen = next((one for one in found if str(one.id) == done.picked), chosen)
    return chosen


def _row(one: TraceSummary) -> Row:
    status = RUNNING if one.running else status_run(Status(one.status), one.broken.outcome if one.broken else None)
    at_s = one.started_at_s if one.started_at_s is not None else one.imported_at_s
    tokens = [count for count in (one.input_tokens, one.output_tokens) if count is not None]
    cells: tuple[Line, ...] = (
        (status,),
        (Run(str(one.id), Style.DIM),),
        (Run(short_time(at_s, time.time()), Style.DIM),),
        (*((Run("● ", Style.KEY),) if one.marked else ()), Run(visible_line(trace_title(one)[:200]))),
        (Run(visible_line(one.model)),),
        (Run(short_count(one.tool_calls)),),
        break_words(one.broken) if one.broken else (Run("-", Style.DIM),),
        (Run(short_count(sum(tokens)) if tokens else "-"),),
        (Run(short_duration(one.duration_s) if one.duration_s is not None else "-"),),
    )
    return Row(str(one.id), cells)


def _look(one: TraceSummary) -> None:
    """The trace that is chosen, at a glance."""
    shown = shown_trace(one.id)
    put_lines(
        (
            (Run(f"trace {one.id} ", Style.DIM), Run(visible_line(trace_title(one)[:200]), Style.STRONG)),
            minimap(shown.trace, shown.inspection, _MAP_CELLS),
            *((Run(words, Style.DIM),) for words in LEGEND),
            (),
            *break_lines(shown.trace, shown.inspection, _WIDTH),
        )
    )
    if st.button("Open", key="weaklink_open", type="primary"):
        go("trace", trace=one.id, filter=asked("filter"))


def _cursor() -> Cursor | None:
    """Where the page begins, as the address says it: `after=TIME_ID`."""
    at, _, id_ = asked("after").partition("_")
    try:
        return Cursor(float(at), int(id_))
    except ValueError:
        return None


def _pager(found: Sequence[TraceSummary]) -> None:
    """Forward along the keys, and back the way that was come."""
    before: list[str] = st.session_state.setdefault(_BACK, [])
    first, back, on, said = st.columns([1, 1, 1, 3])
    if asked("after") and first.button("Newest", width="stretch"):
        before.clear()
        keep(after=None)
        st.rerun()
    if before and back.button("Newer", width="stretch"):
        keep(after=before.pop())
        st.rerun()
    if len(found) > _PAGE and on.button("Older", width="stretch"):
        before.append(asked("after"))
        last = found[_PAGE - 1].cursor
        keep(after=f"{last.sort_at_s!r}_{last.id}")
        st.rerun()
    said.caption(f"{min(len(found), _PAGE):,} traces of this page")


def _nothing(wanted: str) -> None:
    if wanted:
        st.info("No trace matches this filter.")
        if st.button("Clear the filter"):
            keep(filter=None)
            st.session_state.pop("weaklink_filter", None)
            st.rerun()
    else:
        st.info("The database holds no traces yet. `weaklink import PATH` or `weaklink demo` puts some in.")
