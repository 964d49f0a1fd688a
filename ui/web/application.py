"""Streamlit runs this for every click: it registers the pages and draws the one in the address."""

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import streamlit as st

from weaklink.inspector.errors import WeaklinkError
from weaklink.storage.schema import NoDatabaseYetError
from weaklink.ui.web.components import header
from weaklink.ui.web.navigation import go_to_page, parameter, register_pages
from weaklink.ui.web.stores import ICON, current_options, database_name, put_page_name, visitor
from weaklink.ui.web.watching import put_error

_READ = "weaklink_database_was_read"  # by this session: a database that disappears later is an error, not a first run
_WITHOUT_DATABASE = frozenset({"rules", "data", "imports", "settings"})
_MORE = "More"
_KEYS = (
    ("Ctrl K, ?", "this search"),
    ("/", "filter; in a trace: search its text"),
    ("j k, arrows", "move in a list; Enter opens"),
    ("e E, ] [", "in a trace: faults, steps"),
    ("} {", "in a trace: older, newer trace"),
    ("n N, y", "in a trace: search hits, copy"),
)


class PageEntry(NamedTuple):
    """A page: its path in the address, its title, the function in a module that draws it, its section of the menu."""

    path: str
    title: str
    module: str
    function: str = "show"
    section: str = ""


PAGES: tuple[PageEntry, ...] = (
    PageEntry("triage", "What breaks", "weaklink.ui.web.pages.triage"),
    PageEntry("traces", "Traces", "weaklink.ui.web.pages.traces"),
    PageEntry("trace", "Trace", "weaklink.ui.web.pages.trace"),
    PageEntry("compare", "Compare", "weaklink.ui.web.pages.compare"),
    PageEntry("tools", "Tools", "weaklink.ui.web.pages.tools"),
    PageEntry("rules", "Rules", "weaklink.ui.web.pages.rules"),
    PageEntry("endpoints", "Endpoints", "weaklink.ui.web.pages.endpoints"),
    PageEntry("imports", "Imports", "weaklink.ui.web.pages.imports"),
    PageEntry("data", "Data", "weaklink.ui.web.pages.data", section=_MORE),
    PageEntry("sql", "SQL", "weaklink.ui.web.pages.sql", section=_MORE),
    PageEntry("settings", "Settings", "weaklink.ui.web.pages.settings", section=_MORE),
)
"""The pages in the order of the menu; the first is the home page."""

RESULT_PAGES: tuple[PageEntry, ...] = (
    PageEntry("triage", "What breaks", "weaklink.ui.web.results.pages", "show_triage"),
    PageEntry("traces", "Traces", "weaklink.ui.web.results.pages", "show_traces"),
    PageEntry("trace", "Trace", "weaklink.ui.web.results.opening"),
    PageEntry("tools", "Tools", "weaklink.ui.web.results.pages", "show_tools"),
    PageEntry("sql", "SQL", "weaklink.ui.web.results.pages", "show_sql"),
)
"""The pages over results in Parquet (`weaklink web --on`)."""


def show() -> None:
    """Draw the page in the address; a WeaklinkError becomes a message and a button to try again."""
    st.set_page_config(page_title="weaklink", page_icon=str(ICON), layout="wide")
    has_results = bool(current_options().results)
    entries = RESULT_PAGES if has_results else PAGES
    pages = {
        entry.path: st.Page(_drawing(entry), title=entry.title, url_path=entry.path if index else "", default=not index)
        for index, entry in enumerate(entries)
    }
    register_pages(pages)
    st.logo(str(ICON))
    chosen = st.navigation([*pages.values(), _home_by_name()], position="hidden")
    with st.container(key="weaklink_header"):
        header(
            [(entry.path, entry.title, entry.section) for entry in entries if entry.path != "trace"],
            _KEYS,
            page=chosen.url_path or entries[0].path,
            filter_text=parameter("filter"),
            database=database_name(),
            searches=not has_results,  # the palette searches the database
        )
    chosen.run()


def _home_by_name() -> st.Page:
    """A hidden page at the home page's path that redirects to the root, where Streamlit serves its default page."""

    def lead() -> None:
        go_to_page(PAGES[0].path, **st.query_params.to_dict())

    return st.Page(lead, title=PAGES[0].title, url_path=PAGES[0].path)


def _drawing(entry: PageEntry) -> Callable[[], None]:
    def draw() -> None:
        put_page_name(entry.title)
        try:
            visitor()  # raises if the visitor's token was revoked
            getattr(import_module(entry.module), entry.function)()
            if entry.path not in _WITHOUT_DATABASE:
                st.session_state[_READ] = True
        except WeaklinkError as error:
            if isinstance(error, NoDatabaseYetError) and _READ not in st.session_state:
                go_to_page("imports")
            put_error(error)

    return draw
