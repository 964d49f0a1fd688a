"""The store behind the pages: one for all of them, opened once."""

import streamlit as st

from storage import Store, open_store
from ui.web.serving import current


def store() -> Store:
    """The open store of this process. StoreError where it cannot be opened, anew at each call."""
    return _opened(current().where)


@st.cache_resource(show_spinner=False)
def _opened(where: str | None) -> Store:
    return open_store(where, create=False)
