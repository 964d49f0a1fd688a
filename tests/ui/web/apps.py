"""Pages run without a browser: what they draw, and what comes of a click, by Streamlit's own test runner."""

from pathlib import Path

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextInput

from weaklink.ui.web.stores import DashboardOptions, set_options

_TIMEOUT_S = 120
_SCRIPT = """
import streamlit as st
from importlib import import_module
from weaklink.ui.web.navigation import register_pages
from unittest.mock import patch
from weaklink.ui.web.application import PAGES
def leave(path, query_params=None):
    st.session_state["left_for"] = (path, query_params)
    st.stop()
register_pages({{one.path: one.path for one in PAGES}})
st.session_state["left_for"] = None
with patch.object(st, "switch_page", leave):
    import_module("weaklink.ui.web.pages.{name}").show()
"""


def page(name: str, database: Path, patience_s: float = _TIMEOUT_S, /, **state: str) -> AppTest:
    """The page of that module over a database, its address holding this state; run once without an exception.

    So long it waits for figures before it is drawn without them.
    """
    set_options(DashboardOptions(str(database), patience_s=patience_s))
    app = AppTest.from_string(_SCRIPT.format(name=name), default_timeout=_TIMEOUT_S)
    for key, value in state.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception, [exception.value for exception in app.exception]
    return app


def field_of(app: AppTest) -> TextInput:
    """The line that the filter is typed into."""
    return next(text_input for text_input in app.text_input if text_input.label == "Filter")


def address(app: AppTest) -> dict[str, str]:
    """What the address holds."""
    return {key: value[0] if isinstance(value, list) else value for key, value in app.query_params.items()}


def left_for(app: AppTest) -> tuple[str, dict[str, str]] | None:
    """The page that a click led to, with the state of its address; None where the page was not left."""
    went: tuple[str, dict[str, str]] | None = app.session_state["left_for"]
    return went


def said_in(app: AppTest) -> str:
    """The HTML of our own that the page drew, in which every text is escaped, and its plain texts."""
    return "".join([*(html.proto.body for html in app.get("html")), *(text.value for text in app.text)])
