"""Streamlit runs this for every click: it registers the pages and draws the one in the address."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import NamedTuple

import streamlit as st
from streamlit.runtime.scriptrunner_utils.script_run_context import get_script_run_ctx

from weaklink.inspector.errors import WeaklinkError
from weaklink.storage import NoDatabaseYetError
from weaklink.ui.web.components import palette
from weaklink.ui.web.markup import message, put_styles
from weaklink.ui.web.navigation import go_to_page, parameter, register_pages, set_parameters
from weaklink.ui.web.stores import ICON, current_options, database_name, put_page_name, visitor

_FILTER = "filter"
_KEPT_FILTER = "weaklink_filter"
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
    """A page: its path in the address, its title, its icon, the function in a module that draws it, and its submenu."""

    path: str
    title: str
    icon: str
    module: str
    function: str = "show"
    section: str = ""


PAGES: tuple[PageEntry, ...] = (
    PageEntry("triage", "What breaks", ":material/troubleshoot:", "weaklink.ui.web.pages.triage"),
    PageEntry("traces", "Traces", ":material/list:", "weaklink.ui.web.pages.traces"),
    PageEntry("trace", "Trace", ":material/account_tree:", "weaklink.ui.web.pages.trace"),
    PageEntry("compare", "Compare", ":material/compare_arrows:", "weaklink.ui.web.pages.compare"),
    PageEntry("tools", "Tools", ":material/build:", "weaklink.ui.web.pages.tools"),
    PageEntry("rules", "Rules", ":material/rule:", "weaklink.ui.web.pages.rules"),
    PageEntry("endpoints", "Endpoints", ":material/dns:", "weaklink.ui.web.pages.endpoints"),
    PageEntry("imports", "Imports", ":material/upload:", "weaklink.ui.web.pages.imports"),
    PageEntry("data", "Data", ":material/dataset:", "weaklink.ui.web.pages.data", section=_MORE),
    PageEntry("sql", "SQL", ":material/database:", "weaklink.ui.web.pages.sql", section=_MORE),
    PageEntry("settings", "Settings", ":material/settings:", "weaklink.ui.web.pages.settings", section=_MORE),
)
"""The pages in the order of the menu; the first is the home page."""

RESULT_PAGES: tuple[PageEntry, ...] = (
    PageEntry("triage", "What breaks", ":material/troubleshoot:", "weaklink.ui.web.results.pages", "show_triage"),
    PageEntry("traces", "Traces", ":material/list:", "weaklink.ui.web.results.pages", "show_traces"),
    PageEntry("trace", "Trace", ":material/account_tree:", "weaklink.ui.web.results.opening"),
    PageEntry("tools", "Tools", ":material/build:", "weaklink.ui.web.results.pages", "show_tools"),
    PageEntry("sql", "SQL", ":material/database:", "weaklink.ui.web.results.pages", "show_sql"),
)
"""The pages over results in Parquet (`weaklink web --on`)."""


def show() -> None:
    """Draw the page in the address; a WeaklinkError becomes a message and a button to try again."""
    st.set_page_config(page_title="weaklink", page_icon=str(ICON), layout="wide", initial_sidebar_state="locked")
    has_results = bool(current_options().results)
    entries = RESULT_PAGES if has_results else PAGES
    pages = {
        entry.path: st.Page(
            _drawing(entry),
            title=entry.title,
            icon=entry.icon,
            url_path=entry.path if index else "",
            default=not index,
            visibility="hidden" if entry.path == "trace" else "visible",
        )
        for index, entry in enumerate(entries)
    }
    register_pages(pages)
    put_styles()
    st.logo(str(ICON))
    sections: dict[str, list[st.Page]] = {"": []}
    for entry in entries:
        sections.setdefault(entry.section, []).append(pages[entry.path])
    sections[""].append(_home_by_name())
    chosen = st.navigation(sections, position="sidebar", expanded=True)
    shown = [(entry.path, entry.title) for entry in entries if entry.path != "trace"]
    with st.container(key="weaklink_header"):  # the palette searches the database: there is none over results
        choice = palette([] if has_results else shown, _KEYS, database=database_name())
    if choice is not None:
        _go(choice)
    if not has_results:
        _keep_filter()
    chosen.run()


def _go(chosen: Mapping[str, str]) -> None:
    """Open what was chosen in the palette; words become a filter for that phrase."""
    if "page" in chosen:
        go_to_page(chosen["page"])
    if "trace" in chosen:
        go_to_page("trace", trace=chosen["trace"])
    words = chosen.get("words", "").replace("\\", "\\\\").replace('"', '\\"')
    go_to_page("traces", filter=f'"{words}"' if words else chosen.get("filter", ""))


def _home_by_name() -> st.Page:
    """A hidden page at the home page's path that redirects to the root, where Streamlit serves its default page."""

    def lead() -> None:
        go_to_page(PAGES[0].path, **st.query_params.to_dict())

    return st.Page(lead, title=PAGES[0].title, url_path=PAGES[0].path, visibility="hidden")


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
            st.error(message(str(error)), icon=":material/error:")
            st.button("Try again")

    return draw


def _keep_filter() -> None:
    """Keep the filter from page to page, although a click in the menu empties the address.

    After Back or Forward in the browser, the address decides, even without a filter.
    """
    context = get_script_run_ctx()
    if parameter(_FILTER) or (context is not None and context.is_history_navigation):
        st.session_state[_KEPT_FILTER] = parameter(_FILTER)
    elif st.session_state.get(_KEPT_FILTER):
        set_parameters(filter=st.session_state[_KEPT_FILTER])
