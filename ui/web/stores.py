"""The store behind the pages: one for all of them, opened once for reading, and one of a moment for what is noted."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from storage import Store, open_store
from ui.web.serving import current

WHOLE_TEXTS: dict[str | type[Any], Callable[[Any], Any]] = {str: lambda text: text.encode("utf-8", "surrogatepass")}
"""`hash_funcs` of a cache that texts of traces are asked of: they may hold lone surrogates."""


def store() -> Store:
    """The open store of this process, which only reads. StoreError where it cannot be opened, anew at each call."""
    opened = _opened(current().where)
    if opened.is_gone():
        _opened.clear()
        opened.close()
        opened = _opened(current().where)
    return opened


def writable() -> Store:
    """A store of a moment, for marks and notes; whoever asks closes it. StoreError where it cannot be opened."""
    return open_store(current().where, create=False)


@st.cache_resource(show_spinner=False)
def _opened(where: str | None) -> Store:
    return open_store(where, read_only=True)
