"""What can be done with a trace: mark it, note something, take it along, show it to somebody, open it elsewhere."""

import shlex
from urllib.parse import urlencode

import streamlit as st

from ui.reports.html_page import html_page
from ui.views.visible import visible_line
from ui.web.places import go
from ui.web.serving import current
from ui.web.shown_trace import ShownTrace
from ui.web.stores import store, writable

_NOTE = "weaklink_note"


def trace_actions(shown: ShownTrace) -> None:
    """Draw the buttons in a row."""
    id_ = shown.summary.id
    mark, share, take, compare = st.columns(4)
    with mark.popover(_marked(shown), width="stretch"):
        _marks(shown)
    with share.popover("Link", icon=":material/link:", width="stretch"):
        st.caption("This address opens the same characters")
        st.code(_address(), language=None, wrap_lines=True)
        st.caption("In a terminal")
        st.code(_command(id_), language=None, wrap_lines=True)
    take.download_button(
        "One HTML file",
        data=lambda: "".join(html_page([(id_, shown.trace, shown.inspection)], title=f"trace {id_}")).encode(),
        file_name=f"weaklink-trace-{id_}.html",
        mime="text/html",
        icon=":material/download:",
        on_click="ignore",
        width="stretch",
    )
    if compare.button("Compare", icon=":material/compare_arrows:", width="stretch"):
        go("compare", runs=id_)


def _marked(shown: ShownTrace) -> str:
    return ":material/bookmark: Marked" if shown.summary.marked else ":material/bookmark_border: Mark"


def _marks(shown: ShownTrace) -> None:
    """The notes that are there, and a line for one more."""
    id_ = shown.summary.id
    for mark in store().marks([id_]).get(id_, ()):
        where = f"step {mark.step}: " if mark.step else f"turn {mark.turn}: " if mark.turn else ""
        st.text(f"● {where}{visible_line(mark.note) or 'marked'}")
    note = st.text_input("Note on the whole trace", key=f"{_NOTE}_{id_}")
    if st.button("Mark", type="primary"):
        with writable() as opened:
            opened.mark(id_, note=note)
        st.rerun()
    if shown.summary.marked and st.button("Take the marks away"):
        with writable() as opened:
            opened.unmark(id_)
        st.rerun()


def _address() -> str:
    base = str(st.context.url or "").partition("?")[0]
    return f"{base}?{urlencode(st.query_params.to_dict())}"


def _command(id_: int) -> str:
    where = current().where
    return shlex.join(["weaklink", "tui", str(id_), *(("--db", where) if where else ())])
