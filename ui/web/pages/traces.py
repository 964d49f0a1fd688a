"""The traces that match the filter, a page at a time."""

import streamlit as st

from ui.views.visible import visible_line
from ui.web.places import asked
from ui.web.stores import store

_PAGE = 100


def show() -> None:
    """Draw the page."""
    st.title("Traces")
    found = store().traces(asked("filter"), limit=_PAGE)
    rows = [{"id": one.id, "name": visible_line(one.name), "status": one.status.value} for one in found]
    st.dataframe(rows, hide_index=True)
