"""The page of one trace: its verdict and turns, the exact stream, and tabs for data flow, schema, timing and more."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from weaklink.inspector.diagnostics import Location
from weaklink.inspector.errors import StoreError
from weaklink.inspector.text import Range
from weaklink.storage.engine import ServerUnreachableError
from weaklink.storage.schema import NoDatabaseYetError
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.views.dissect.side import initial_position
from weaklink.ui.views.links import Link
from weaklink.ui.web.components import DissectorEvent, dissector, lines, picture
from weaklink.ui.web.markup import label, message, put_grey_tabs, put_sentence, put_title
from weaklink.ui.web.navigation import go_to_page, number_parameter, parameter, set_parameters
from weaklink.ui.web.pictures import location_object
from weaklink.ui.web.stores import ShownTrace, put_page_name, shown_trace, store
from weaklink.ui.web.stream_data import short_mark, stream_place, window_notes, window_of
from weaklink.ui.web.trace_actions import adjacent_traces, ask_panel, is_asking, trace_actions
from weaklink.ui.web.trace_api import browser_data, default_position, empty_views, position_of, view_data
from weaklink.ui.web.trace_listing import table_and_details, title_of
from weaklink.ui.web.watching import put_part

_NEAR, _MOST_NEAR, _OFFERED = 200, 2_000, 5
_MAX_TITLE_CHARS = 80
TABS = {
    "Data flow": ("flow", "origins"),
    "Schema": ("schema",),
    "Timeline": ("timing", "times"),
    "Request and answer": ("raw",),
    "What the model read": ("context",),
    "Notes and facts": ("notes",),
}
_PICTURES = frozenset({"rail", "flow", "timing"})


def show() -> None:
    """Draw the trace in the address, with the characters in the address highlighted; a running trace grows."""
    if not parameter("trace"):
        st.title("Trace", anchor=False)
        st.info("No trace selected. Choose one in the list of traces.")
        if st.button("Show traces"):
            go_to_page("traces")
        return
    try:
        shown = shown_trace(parameter("trace"))
    except (NoDatabaseYetError, ServerUnreachableError):
        raise
    except StoreError as error:
        _missing(str(error))
        return
    put_page_name(f"{shown.summary.id} {title_of(shown.summary)}")
    put_part(_body)


def _missing(why: str) -> None:
    """Show why there is no such trace, and offer those with the nearest ids, or the newest."""
    nearest = nearest_traces(number_parameter("trace"))  # first: a database that is gone is told once, by the page
    st.title("Trace", anchor=False)
    st.error(message(why), icon=":material/error:")
    st.caption("The traces with the nearest ids:" if number_parameter("trace") is not None else "The newest traces:")
    for trace in nearest:
        if st.button(
            f"{trace.id} {label(title_of(trace))}", key=f"weaklink_nearest_{trace.id}", icon=":material/account_tree:"
        ):
            go_to_page("trace", trace=trace.id)
    if st.button("Show traces", icon=":material/list:"):
        go_to_page("traces")


def nearest_traces(id_: int | None) -> list[TraceSummary]:
    """The traces whose ids are nearest to a number; without a number, the newest."""
    if id_ is None:
        return store().traces(limit=_OFFERED)
    newest, summaries, near = store().paging().version().newest_id, list[TraceSummary](), _NEAR
    nearest = min(id_, newest)
    while not summaries and near < 2 * max(newest, _NEAR):
        summaries = store().traces(
            f"id:>={max(nearest - near, 0)} id:<={nearest + near}", limit=min(2 * near, _MOST_NEAR)
        )
        near *= 2
    return sorted(summaries, key=lambda summary: (abs(summary.id - id_), summary.id))[:_OFFERED]


def _body() -> None:
    """Draw the trace as it is now. A running one grows through `trace_api`; the page is redrawn when it has ended."""
    shown = shown_trace(parameter("trace"))
    selected = selected_location(shown)
    put_head(f"{shown.summary.id} · {title_of(shown.summary)[:_MAX_TITLE_CHARS]}", shown, selected, trace_actions)
    if (missing := missing_place(shown)) is not None:
        put_sentence(f"The address points to {missing}, which this trace does not have.")
    done = put_stream(shown, selected, ask_panel if is_asking(shown) else None)
    put_tabs(shown, selected)
    if done.beside:
        to = adjacent_traces(shown.summary)[0 if done.beside < 0 else 1]
        if to is not None:
            go_to_page("trace", trace=to, filter=parameter("filter"))
    if done.ended:
        st.rerun()
    if done.needed is not None:
        look_at(_location(done.needed))
        st.rerun(scope="fragment")


def put_head(
    title: str,
    shown: ShownTrace,
    selected: Location | None,
    actions: Callable[[ShownTrace, Location | None], None] | None,
) -> None:
    """Draw the title with the actions in its row, how the trace ended, and the map: at most 130 pixels on a laptop."""
    with st.container(gap=None, key="weaklink_trace_head"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="weaklink_trace_bar"):
            put_title(title)
            if actions is not None:
                actions(shown, selected)
        ending = view_data("ending", shown, selected)
        sentences = ending["lines"]
        assert isinstance(sentences, list)
        with st.container(key=f"weaklink_ending_{len(sentences)}"):  # its height is reserved from the start
            lines(ending, key="weaklink_ending")
        _view("rail", shown, selected)


def put_stream(
    shown: ShownTrace, selected: Location | None, panel: Callable[[ShownTrace, Location | None], None] | None = None
) -> DissectorEvent:
    """Draw the dissector, with a panel beside it, else with the verdict if the chain broke.

    Above it are notes on a trace that is too long for one page.
    """
    around = selected or default_position(shown)
    for sentence in window_notes(window_of(shown.trace, around.turn, around.part, around.range.start), shown.trace):
        put_sentence(sentence)
    data = {**browser_data(shown, selected), "initial": None if selected is None else location_object(selected)}
    is_broken = shown.inspection.chain.broken is not None
    stream, beside = table_and_details("verdict_stream" if is_broken else "stream", is_open=panel is not None)
    with beside:
        if panel is not None:
            panel(shown, selected)
        elif is_broken:
            _view("verdict", shown, selected)
    with stream:
        return dissector(data, key=f"weaklink_dissector_{shown.summary.id}")


def put_tabs(shown: ShownTrace, selected: Location | None, *, without: frozenset[str] = frozenset()) -> None:
    """Draw the views of the selected characters, below the stream; the address has the open one.

    Tabs that are empty for every selection are grey. A view in `without` is left out.
    """
    if not shown.trace.turns:
        return
    tabs = {title: names for title, names in TABS.items() if not without & set(names)}
    empty = empty_views(shown)
    grey = [number for number, names in enumerate(tabs.values(), 1) if empty.issuperset(names)]
    with st.container(key="weaklink_tabs"):
        put_grey_tabs("weaklink_tabs", grey)
        for tab, names in zip(st.tabs(list(tabs), key="tab", bind="query-params"), tabs.values(), strict=True):
            with tab:
                for name in names if tab.open else ():
                    _view(name, shown, selected)


def _view(name: str, shown: ShownTrace, selected: Location | None) -> None:
    (picture if name in _PICTURES else lines)(view_data(name, shown, selected), key=f"weaklink_{name}")


def selected_location(shown: ShownTrace) -> Location | None:
    """The place in the address, else the break or the first fault; a running trace without a place has none."""
    named = _addressed(shown)
    location = _place_of(shown, named)
    if location is not None:
        return location
    first = None if shown.summary.is_open else initial_position(shown.inspection)
    return None if first is None else short_mark(shown.trace, stream_place(shown.trace, first))


def missing_place(shown: ShownTrace) -> str | None:
    """The place in the address, in words, if the trace does not have it; a running trace may have it soon."""
    named = _addressed(shown)
    return named.leads if named.leads and not shown.summary.is_open and _place_of(shown, named) is None else None


def _addressed(shown: ShownTrace) -> Link:
    """The address as a link: to characters, a step or a turn."""
    location = position_of(*(parameter(name) for name in ("turn", "part", "start", "end")))
    return Link(str(shown.summary.id), number_parameter("step") or None, number_parameter("turn") or None, location)


def _place_of(shown: ShownTrace, link: Link) -> Location | None:
    """The place of a link in the stream; None if it names none, or one that the trace does not have."""
    if link.location is not None and not link.location.is_in_turn:
        return stream_place(shown.trace, link.location)
    return link.find(shown.dissection)


def look_at(location: Location) -> None:
    """Select a place: write it into the address, where the dissector reads it."""
    set_parameters(turn=location.turn, part=location.part, start=location.range.start, end=location.range.end)


def _location(position: dict[str, Any]) -> Location:
    """The position that the dissector reports."""
    return Location(position["turn"], position["part"], Range(position["start"], position["end"]))
