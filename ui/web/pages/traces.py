"""The traces that match the filter, page by page, with a preview of the selected one."""

from collections.abc import Sequence
from time import time

import streamlit as st

from weaklink.storage.listing import Listed, Order
from weaklink.storage.summaries import ListCursor, TraceSummary
from weaklink.ui.views.styled_text import counted
from weaklink.ui.web.components import listing
from weaklink.ui.web.filter_bar import filter_bar, narrowed, nothing_found
from weaklink.ui.web.markup import page_head
from weaklink.ui.web.navigation import go_to_page, parameter, set_parameters
from weaklink.ui.web.queries import counted_traces, page_results, put_progress
from weaklink.ui.web.stores import store
from weaklink.ui.web.trace_listing import (
    SORTED_COLUMNS,
    filled_columns,
    is_preview_open,
    set_preview,
    table_and_details,
    trace_preview,
    trace_rows,
)
from weaklink.ui.web.watching import put_part, watch

_PAGE = 100
_LIVE_S = 0.5  # a recorder's text is in the database after 0.25 s: so it is on the screen within a second
_FOLLOW_S = 2.0
_AGES_S = 60.0
_MAX_ID_DIGITS = 15  # digits: databases have no larger number
_FOLLOWS = "weaklink_follows"
_LOOKED = "weaklink_looked"


def show() -> None:
    """Draw the page; while traces are being recorded, or *Follow* is on, the list is read again when it changes.

    While none is being recorded, the page only looks whether a recording has begun.
    """
    head = page_head("Traces")
    filter_text = filter_bar("traces")
    if filter_text is None:
        return
    query = counted_traces(filter_text)
    total = page_results(query)
    with head:
        with st.container(width="stretch"):
            put_progress(total, counted(total[query], "trace") if query in total else "")
        follows = st.toggle("Follow", key=_FOLLOWS, help="Refresh the list when it changes.")
    is_live = _running() > 0
    every_s = _LIVE_S if is_live else _FOLLOW_S if follows else None
    put_part(_list, filter_text, is_live=is_live, every_s=every_s)
    if not is_live:
        put_part(_await_recording)


def _running() -> int:
    """How many traces are being recorded now."""
    return len(store().paging().version().open)


def _await_recording() -> None:
    """Draw nothing; redraw the page once a trace is being recorded."""
    if _running():
        st.rerun()
    watch(lambda: str(_running() > 0), str(False), key="recording", every_s=_LIVE_S)


def _list(filter_text: str, *, is_live: bool, every_s: float | None) -> None:
    """Draw the list as it is now; the page is redrawn when the first recording begins or the last one has ended."""
    order, cursor = _order(), _cursor()

    def read() -> tuple[int, list[Listed]]:
        return _running(), store().paging().page(filter_text, order, limit=_PAGE + 1, after=cursor)

    running, listed = read()
    if is_live is not (running > 0):
        st.rerun()
    _put_list(filter_text, listed, running)
    if every_s is not None:
        # What arrives changes no summary, and ages grow: so the time decides, too.
        period_s = _LIVE_S if is_live else _AGES_S

        def state(drawn: tuple[int, list[Listed]]) -> str:
            return f"{time() // period_s}\n{drawn!r}"

        watch(lambda: state(read()), state((running, listed)), key="list", every_s=every_s)


def _put_list(filter_text: str, listed: Sequence[Listed], running: int) -> None:
    summaries = [row.summary for row in listed]
    if not summaries:
        nothing_found(filter_text)
        return
    has_preview = is_preview_open()
    list_, look = table_and_details("traces", is_open=has_preview)
    with list_:
        chosen = _chosen(summaries[:_PAGE], filter_text, has_preview=has_preview)
        _pager(filter_text, listed, running)
    if has_preview:
        with look:
            trace_preview(chosen)


def _chosen(summaries: Sequence[TraceSummary], filter_text: str, *, has_preview: bool) -> TraceSummary:
    """Draw the table; return the selected trace. A new trace above it does not change the selection.

    Without a preview, a click on a row opens its trace.
    """
    rows = trace_rows(summaries, filter_text)
    here = {row.key for row in rows}
    page = (parameter("filter"), parameter("after"), parameter("order"))
    previous: tuple[tuple[str, ...], str] = st.session_state.get(_LOOKED, (page, ""))
    candidates = (parameter("look"), previous[1] if previous[0] == page else "", rows[0].key)
    selected = next(candidate for candidate in candidates if candidate in here)
    order = _order()
    columns, shown = filled_columns(SORTED_COLUMNS, rows, order.value)
    done = listing(
        columns,
        shown,
        key="weaklink_traces",
        selected=selected,
        label="Traces",
        order=order.value,
        is_eager=not has_preview,
        has_focus=True,
    )
    if done.order is not None and done.order != order:
        set_parameters(order=None if done.order == Order.TIME else done.order, after=None, look=None)
        st.rerun()
    if done.filtered is not None:
        set_parameters(filter=narrowed(parameter("filter"), done.filtered), after=None, look=None)
        st.rerun()
    if done.opened is not None:
        go_to_page("trace", trace=done.opened, filter=parameter("filter"))
    if done.picked is not None:
        set_parameters(look=done.picked)
        selected = done.picked
    st.session_state[_LOOKED] = (page, selected)
    return next((summary for summary in summaries if str(summary.id) == selected), summaries[0])


def _order() -> Order:
    """The order of the list, from the address."""
    named = parameter("order")
    return Order(named) if named in set(Order) else Order.TIME


def _cursor() -> ListCursor | None:
    """The start of the page, from the address: `after=VALUE_ID`, or `VALUE_ID_RANK`; None for the first page."""
    sorted_by, _, rest = parameter("after").partition("_")
    id_, _, rank = rest.partition("_")
    try:
        return (
            ListCursor(float(sorted_by), int(id_), int(rank) if rank in ("1", "2") else 0)
            if len(id_) <= _MAX_ID_DIGITS
            else None
        )
    except ValueError:
        return None


def _pager(filter_text: str, rows: Sequence[Listed], running: int) -> None:
    """Draw the buttons to other pages; they depend on the address alone, so that Back and a reload change nothing."""
    here = _cursor()
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        if st.button("Newest", icon=":material/first_page:", disabled=here is None):
            _turn_to(None)
        if st.button("Newer", icon=":material/chevron_left:", disabled=here is None) and here is not None:
            first = store().paging().before(filter_text, _order(), start=here, steps=_PAGE)
            _turn_to(first.cursor if first is not None else None)
        if st.button("Older", icon=":material/chevron_right:", disabled=len(rows) <= _PAGE):
            _turn_to(rows[_PAGE - 1].cursor)
        recorded = f"; {counted(running, 'trace')} being recorded now" if running else ""
        if not is_preview_open():
            key = "weaklink_preview_shows_details"
            st.button("Preview", key=key, icon=":material/right_panel_open:", on_click=set_preview, args=(True,))
        st.caption(f"{counted(min(len(rows), _PAGE), 'trace')} on this page{recorded}")


def _turn_to(after: ListCursor | None) -> None:
    """Show the page that begins after this cursor; None shows the first page."""
    named = f"{after.sort_at_s!r}_{after.id}{f'_{after.rank}' if after.rank else ''}" if after is not None else None
    set_parameters(after=named, look=None)
    st.rerun()
