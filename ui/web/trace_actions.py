"""Actions on a trace's page: mark, note, download, links, and going to the previous or next trace of the list."""

import shlex
from itertools import islice
from urllib.parse import urlencode

import streamlit as st

from inspector.diagnostics import Location
from storage import TraceSummary
from ui.reports.html_page import html_page
from ui.views.dissect.navigation import step_at
from ui.views.links import Link
from ui.views.styled_text import visible_line
from ui.web.asking import ask_again, ask_results
from ui.web.markup import label
from ui.web.navigation import go_to_page, parameter
from ui.web.options import current_options
from ui.web.stores import ShownTrace, store, writable
from ui.web.value_filters import filter_menu
from ui.web.visitors import READS_ONLY, require_write, visitor

_NOTE = "weaklink_note"
_MOST_IDS, _LONGEST = 4, 1_000


def trace_actions(shown: ShownTrace, at: Location | None) -> None:
    """Draw the buttons in a row; a note goes to the whole trace, or to the turn or step of the place."""
    id_ = shown.summary.id
    with st.container(horizontal=True, gap="xsmall"):
        _adjacent_links(shown)
        filter_menu(shown.summary, shown.dissection, at)
        with st.popover(_marked(shown), key="weaklink_mark", on_change="rerun"):  # for what is selected by then
            _marks(shown, at)
        with st.popover("Link", icon=":material/content_copy:", key="weaklink_copy", on_change="rerun"):
            _copies(shown, at)
        st.download_button(
            "HTML file",
            data=lambda: "".join(html_page([(id_, shown.trace, shown.inspection)], title=f"trace {id_}")).encode(),
            file_name=f"weaklink-trace-{id_}.html",
            mime="text/html",
            icon=":material/download:",
            on_click="ignore",
        )
        if st.button("Compare", icon=":material/compare_arrows:"):
            go_to_page("compare", runs=id_)
        ask_again(shown, at)
    ask_results(shown)


def _copies(shown: ShownTrace, at: Location | None) -> None:
    """What people take elsewhere, each with its button: the address, the command, and the ids."""
    one = shown.summary
    what = "the same characters" if at is not None else "this trace"
    copies = {
        f"The address that opens {what}": _address(),
        f"The command that opens {what} in a terminal": _command(one.id, at),
        **{label(name): value for name, value in islice(one.external_ids.items(), _MOST_IDS)},
    }
    for said, text in copies.items():
        st.caption(said)
        st.code(visible_line(text[:_LONGEST]), language=None, wrap_lines=True)


def _adjacent_links(shown: ShownTrace) -> None:
    newer, older = adjacent_traces(shown.summary)
    ways = ((newer, "Newer", ":material/chevron_left:", "{"), (older, "Older", ":material/chevron_right:", "}"))
    for to, way, icon, key in ways:
        said = f"The next {way.lower()} trace of this filter; key {key} in the stream"
        if st.button(way, icon=icon, disabled=to is None, help=said) and to is not None:
            go_to_page("trace", trace=to, filter=parameter("filter"))


def _marked(shown: ShownTrace) -> str:
    return ":material/bookmark: Marked" if shown.summary.marked else ":material/bookmark_border: Mark"


def _marks(shown: ShownTrace, at: Location | None) -> None:
    """The notes that are there, and a line for one more."""
    id_ = shown.summary.id
    for mark in store().marks.of([id_]).get(id_, ()):
        by = f" ({visible_line(mark.author)})" if mark.author else ""
        st.text(f"● {_where(mark.turn, mark.step)}: {visible_line(mark.note) or 'marked'}{by}")
    may_write = visitor().may_write
    step = None if at is None else step_at(shown.dissection, at)
    places: list[tuple[int | None, int | None]] = [(None, None)]
    places += [(at.turn, None)] if at is not None else []
    places += [(None, step.number)] if step is not None else []
    turn, number = st.radio(
        "On", places, format_func=lambda place: _where(*place), horizontal=True, key=f"weaklink_marked_{id_}"
    )
    note = st.text_input("Note", key=f"{_NOTE}_{id_}", placeholder="What you found")
    save, drop = st.columns(2)
    if save.button("Save", type="primary", width="stretch", disabled=not may_write):
        author = require_write().name
        with writable() as opened:
            opened.marks.put(id_, turn=turn, step=number, note=note, author=author)
        st.rerun()
    if drop.button("Remove all", disabled=not (may_write and shown.summary.marked), width="stretch"):
        require_write()
        with writable() as opened:
            opened.marks.remove(id_)
        st.rerun()
    if not may_write:
        st.caption(READS_ONLY)


def _where(turn: int | None, step: int | None) -> str:
    return f"step {step}" if step else f"turn {turn}" if turn else "whole trace"


def _address() -> str:
    base = str(st.context.url or "").partition("?")[0]
    return f"{base}?{urlencode(st.query_params.to_dict())}"


def _command(id_: int, at: Location | None) -> str:
    """The command that opens the trace in the terminal, at the characters that are selected."""
    where = current_options().where
    words = str(id_) if at is None else str(Link(str(id_), place=at))
    return shlex.join(["weaklink", "tui", words, *(("--db", where) if where else ())])


def adjacent_traces(summary: TraceSummary) -> tuple[int | None, int | None]:
    """The ids of the newer and the older trace that match the filter of the address; None at an end."""
    wanted, paging = parameter("filter"), store().paging()
    newer = paging.before(wanted, at=summary.cursor)
    older = paging.page(wanted, limit=1, after=summary.cursor)
    return newer.summary.id if newer else None, older[0].summary.id if older else None
