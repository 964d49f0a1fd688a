"""Traces as rows of a list with minimaps, and the preview of the selected one."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from weaklink.inspector.chain.steps import VerdictCertainty
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.views import trace_summary
from weaklink.ui.views.diagnostic import break_lines
from weaklink.ui.views.minimap import LEGEND, minimap
from weaklink.ui.views.styled_text import (
    Line,
    Run,
    Style,
    counted,
    short_age,
    short_count,
    short_duration,
    short_time,
    visible_line,
)
from weaklink.ui.views.trace_columns import NOTHING, TRACE_COLUMNS, ListedTrace, forks_grouped
from weaklink.ui.views.trace_summary import listed_status, listed_title
from weaklink.ui.web.components import (
    FilterCell,
    HintCell,
    ListingCell,
    ListingColumn,
    ListingEvent,
    ListingRow,
    MinimumWidth,
    listing,
)
from weaklink.ui.web.filter_bar import column_terms, filter_menu, narrowed
from weaklink.ui.web.markup import UNWRAPPED, put_lines, put_prose
from weaklink.ui.web.navigation import go_to_page, parameter, set_parameters
from weaklink.ui.web.prices import cost_of, cost_text
from weaklink.ui.web.stores import current_options, shown_trace, store

_WIDTH_CELLS = 37
_RUNS = "runs"
_PREVIEW, _CLOSED = "preview", "closed"
MAX_RUNS = 6
"""The maximum number of traces in a comparison."""

_MAX_TITLE_CHARS = 200

_ELASTIC = {"title", "break"}
_ROOMS = {
    "status": MinimumWidth.ANY,
    "title": MinimumWidth.ANY,
    "break": MinimumWidth.ANY,
    "map": MinimumWidth.WIDEST,
    "duration_s": MinimumWidth.MEDIUM,
    "tool_calls": MinimumWidth.MEDIUM,
    "started_at": MinimumWidth.SMALL,
    "tokens": MinimumWidth.MEDIUM,
    "cost": MinimumWidth.MEDIUM,
    "outcome": MinimumWidth.MEDIUM,
    "model": MinimumWidth.WIDE,
    "id": MinimumWidth.WIDE,
}
_LEGEND = "; ".join(LEGEND)

_COST = "cost"
_STATUS, _CERTAINTY = "status", "certainty"
_CERTAINTY_HINT = "The sure verdicts first; a certainty that is not high is beside the status"
_COST_HINT = "At the prices of weaklink.toml; tokens from the provider's cache count as input"


def _column(key: str, room: MinimumWidth) -> ListingColumn:
    if key == _STATUS:
        order = TRACE_COLUMNS[_CERTAINTY].order or ""
        return ListingColumn("status, certainty", room=room, order=order, is_broad=True, hint=_CERTAINTY_HINT)
    if key == _COST:
        return ListingColumn(_COST, "end", room=room, hint=_COST_HINT)
    column = TRACE_COLUMNS[key]
    return ListingColumn(
        column.heading,
        "end" if column.is_number else "",
        key == "map",
        room,
        column.order or "",
        key in _ELASTIC,
        key == "title",
        _LEGEND if key == "map" else "",
    )


SORTED_COLUMNS = tuple(_column(key, room) for key, room in _ROOMS.items())
"""The columns of `trace_rows`, the most important first, with the orders that a list of traces can have."""

LISTING_COLUMNS = tuple(column._replace(order="") for column in SORTED_COLUMNS)
"""The same without orders."""

MINIMAP_CELLS = 40
_MAX_CHARACTERS = 50_000  # characters of one trace, for a minimap
_ROOM = 1_000_000  # characters of all traces that are read for one page
_CACHED_MINIMAPS = 4_000
_FRESH_S = 3_600

T = TypeVar("T")
SortValue: TypeAlias = float | str | None
_REVERSED = "-"


def table_and_details(name: str, *, is_open: bool) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Containers for a table, or the stream, and for details, beside it if they are open, else below it.

    The browser gives the details their room at the click on a row, or on a button whose key ends in `_shows_details`,
    `_hides_details` or `_toggles_details`: a late answer of the server moves nothing.
    """
    with st.container(key=f"weaklink_details_{'open' if is_open else 'shut'}_{name}"):
        return st.container(), st.container()


def trace_preview(trace: TraceSummary) -> None:
    """Draw the preview of a trace, with its buttons; one of them closes the preview."""
    with st.container(horizontal=True, gap="xsmall", key="weaklink_preview_bar"):
        if st.button("Open", key="weaklink_open", type="primary", icon=":material/open_in_full:"):
            go_to_page("trace", trace=trace.id, filter=parameter("filter"))
        _compare(trace)
        filter_menu(trace)
        st.button(
            "Close", key="weaklink_preview_hides_details", icon=":material/close:", on_click=set_preview, args=(False,)
        )
    shown = shown_trace(trace.id)
    put_prose(_heading(trace))
    put_lines([minimap(shown.trace, shown.inspection, _WIDTH_CELLS)], hint=_LEGEND)
    put_prose([*break_lines(shown.trace, shown.inspection, UNWRAPPED, quote_width=_WIDTH_CELLS), *_facts(trace)])


def is_preview_open() -> bool:
    """Whether the list has a preview beside it: until the user closes it, in the address or in this session."""
    return not (parameter(_PREVIEW) == _CLOSED or st.session_state.get(_PREVIEW) == _CLOSED)


def set_preview(is_open: bool) -> None:  # noqa: FBT001  # a callback of Streamlit
    """Open or close the preview."""
    st.session_state[_PREVIEW] = "" if is_open else _CLOSED
    set_parameters(**{_PREVIEW: None if is_open else _CLOSED})


def _heading(trace: TraceSummary) -> Iterator[Line]:
    yield (Run(f"{trace.id} ", Style.DIM), Run(title_of(trace), Style.STRONG))
    yield (listed_status(trace),)
    if trace.certainty is VerdictCertainty.LOW:
        yield (Run("certainty low: the rules had to guess", Style.WARNING),)


def _facts(trace: TraceSummary) -> Iterator[Line]:
    facts = {
        "note": trace.note,
        "model": trace.model or "unknown",
        "source": f"{trace.source} {trace.file[-200:]}".strip(),
        "began": "" if trace.started_at_s is None else short_time(trace.started_at_s, time.time()),
        "took": "" if trace.duration_s is None else short_duration(trace.duration_s),
        "size": f"{counted(trace.turns, 'turn')}, {short_count(trace.characters)} characters",
    }
    for name, text in facts.items():
        if text:
            yield (Run(f"{name}: ", Style.DIM), Run(visible_line(text)))


def _compare(trace: TraceSummary) -> None:
    """Draw the buttons that choose traces one by one, and compare them."""
    chosen = parameter(_RUNS).split()
    if str(trace.id) in chosen:
        if st.button(
            "Compare", key="weaklink_less", icon=":material/remove:", help="Take this trace from those to compare"
        ):
            _choose([id_ for id_ in chosen if id_ != str(trace.id)])
    elif st.button(
        "Compare",
        key="weaklink_more",
        icon=":material/add:",
        disabled=len(chosen) >= MAX_RUNS,
        help="Add this trace to those to compare",
    ):
        _choose([*chosen, str(trace.id)])
    if len(chosen) > 1 and st.button(
        f"Compare {len(chosen)}", key="weaklink_compare", icon=":material/compare_arrows:"
    ):
        go_to_page("compare", runs=" ".join(chosen))
    if chosen:
        st.caption(f"To compare: {', '.join(id_ for id_ in chosen if id_.isdecimal())}")


def _choose(ids: list[str]) -> None:
    set_parameters(**{_RUNS: " ".join(ids)})
    st.rerun()


def trace_rows(traces: Sequence[TraceSummary], filter_text: str = "") -> list[ListingRow]:
    """Traces as rows, with forks below their parent if both are listed; the key of a row is the trace's id.

    The address of a row opens the trace in the list that `filter_text` matches.
    """
    maps = minimaps(traces)
    now_s = time.time()
    listed = [ListedTrace(trace, now_s, minimap=maps.get(trace.id, ())) for trace in traces]
    return [_listing_row(trace, filter_text) for trace in forks_grouped(listed)]


def _listing_row(listed: ListedTrace, filter_text: str = "") -> ListingRow:
    terms = column_terms(listed.summary)
    cells = ((key, _cell(key, listed)) for key in _ROOMS)
    return ListingRow(
        str(listed.summary.id),
        tuple(
            FilterCell(terms[key], cell) if key in terms and not isinstance(cell, HintCell) else cell
            for key, cell in cells
        ),
        f"trace?{urlencode({'trace': listed.summary.id, **({'filter': filter_text} if filter_text else {})})}",
    )


def _cell(key: str, listed: ListedTrace) -> Line | HintCell:
    """The cell of a column. The time is the age, which takes little room, with the date and time of day as its hint.

    A trace without a time has the time of its import, marked as such.
    """
    if key == _COST:
        cost = cost_of(listed.summary, current_options().prices)
        return NOTHING if cost is None else (Run(cost_text(cost)),)
    if key == _STATUS:
        return _status_and_certainty(listed)
    if key != "started_at":
        return TRACE_COLUMNS[key].cell(listed, TRACE_COLUMNS[key].most)
    started_s, imported_s = listed.summary.started_at_s, listed.summary.imported_at_s
    if started_s is not None:
        return HintCell(trace_summary.moment(started_s) or "", TRACE_COLUMNS["age"].cell(listed, 4))
    age = short_age(max(listed.now_s - imported_s, 0))
    return HintCell(
        f"No time was recorded. Imported {trace_summary.moment(imported_s)}", (Run(f"imp. {age}", Style.DIM),)
    )


def _status_and_certainty(listed: ListedTrace) -> Line:
    status, certainty = TRACE_COLUMNS[_STATUS], TRACE_COLUMNS[_CERTAINTY]
    words = status.cell(listed, status.most)
    if listed.summary.certainty is VerdictCertainty.HIGH:
        return words
    sure = certainty.cell(listed, certainty.most)
    return words if sure == NOTHING else (*words, Run(", "), *sure)


def filled_columns(
    columns: Sequence[ListingColumn], rows: Sequence[ListingRow], order: str = ""
) -> tuple[list[ListingColumn], list[ListingRow]]:
    """The columns, and their cells, that are not empty in every row, or that are always shown, or sort the rows."""
    kept = [
        index
        for index, column in enumerate(columns)
        if column.room is MinimumWidth.ANY
        or (order and column.order == order)
        or any(_is_filled(row.cells[index]) for row in rows)
    ]
    fewer = [row._replace(cells=[row.cells[index] for index in kept]) for row in rows]
    return [columns[index] for index in kept], fewer


def _is_filled(cell: ListingCell) -> bool:
    return (cell.line if isinstance(cell, FilterCell | HintCell) else cell) not in ((), NOTHING)


def trace_list(rows: Sequence[ListingRow], filter_text: str, *, key: str, label: str, most_rem: int = 40) -> str | None:
    """Draw rows of traces; return the id of the one that was clicked, or None.

    A click on the funnel beside a value opens the traces that match `filter_text` and have this value.
    """
    columns, shown = filled_columns(LISTING_COLUMNS, rows)
    done = listing(columns, shown, key=key, label=label, is_eager=True, most_rem=most_rem)
    if done.filtered is not None:
        go_to_page("traces", filter=narrowed(filter_text, done.filtered))
    return done.opened


def title_of(trace: TraceSummary) -> str:
    """The title of a trace, on one line."""
    return visible_line(listed_title(trace)[:_MAX_TITLE_CHARS])


def minimaps(traces: Iterable[TraceSummary]) -> dict[int, Line]:
    """The minimaps of traces, by id; a long trace has none, nor has a trace after the limit of one page."""
    maps: dict[int, Line] = {}
    room = _ROOM
    for trace in traces:
        room -= min(trace.characters, _MAX_CHARACTERS)
        if trace.characters <= _MAX_CHARACTERS and room > 0:
            maps[trace.id] = _minimap_of(
                current_options().where, trace.id, f"{trace.turns}.{trace.characters}.{trace.status}.{trace.is_open}"
            )
    return maps


@st.cache_resource(show_spinner=False, max_entries=_CACHED_MINIMAPS, ttl=_FRESH_S)
def _minimap_of(where: str | None, id_: int, version: str) -> Line:
    return minimap(*store().inspected(id_), MINIMAP_CELLS)


class SortedColumn(NamedTuple, Generic[T]):
    """A column and the value by which it sorts rows; the column's `order` is its name in the address."""

    column: ListingColumn
    value: Callable[[T], SortValue]


def sorted_items(items: Sequence[T], columns: Sequence[SortedColumn[T]], order: str) -> list[T]:
    """The items sorted by the column with this order (reversed after a `-`); unchanged if there is no such column."""
    by = next((column.value for column in columns if column.column.order == order.removeprefix(_REVERSED)), None)
    if by is None:
        return list(items)
    known = [(value, item) for item in items if (value := by(item)) is not None]
    numbers = all(not isinstance(value, str) for value, _ in known)
    is_descending = numbers is not order.startswith(_REVERSED)
    ordered = sorted(known, key=lambda row: _key(row[0]), reverse=is_descending)
    return [*(item for _, item in ordered), *(item for item in items if by(item) is None)]


def _key(value: SortValue) -> tuple[str, float]:
    return (value.casefold(), 0.0) if isinstance(value, str) else ("", value or 0.0)


def sorted_listing(
    columns: Sequence[SortedColumn[T]],
    items: Sequence[T],
    row: Callable[[T], ListingRow],
    *,
    name: str,
    default: str,
    key: str,
    label: str,
    selected: str | None = None,
    is_eager: bool = False,
    most_rem: int = 40,
    has_details: bool = False,
) -> ListingEvent:
    """Draw a row per item; `name` is the address parameter with the order, `default` the order without it.

    `default` is the order of a column; the other arguments are those of `listing`.
    """
    orders = {column.column.order for column in columns}
    named = parameter(name)
    order = named if named.removeprefix(_REVERSED) in orders else default
    shown = sorted_items(items, columns, order)
    done = listing(
        [column.column for column in columns],
        [row(item) for item in shown],
        key=key,
        selected=selected,
        label=label,
        is_eager=is_eager,
        most_rem=most_rem,
        order=order.removeprefix(_REVERSED),
        is_ascending=bool(shown) and _is_ascending(shown[0], columns, order),
        has_details=has_details,
    )
    if done.order is not None:
        chosen = f"{_REVERSED}{done.order}" if done.order == order else done.order
        set_parameters(**{name: None if chosen == default else chosen})
        st.rerun()
    return done


def _is_ascending(item: T, columns: Sequence[SortedColumn[T]], order: str) -> bool:
    by = next(column.value for column in columns if column.column.order == order.removeprefix(_REVERSED))
    return isinstance(by(item), str) is not order.startswith(_REVERSED)
