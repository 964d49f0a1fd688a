"""Navigation between pages: the address holds the whole state, so that a copied link opens the same view."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

_PAGES = "weaklink_pages"


def register_pages(pages: Mapping[str, Any]) -> None:
    """Keep the pages of this run, by path, for `go_to_page`."""
    st.session_state[_PAGES] = dict(pages)


def go_to_page(path: str, /, **state: object) -> None:
    """End this run and open the page with this path and this state in its address, without None and empty values.

    A state that names no filter has that of the address.
    """
    state.setdefault("filter", parameter("filter"))
    st.switch_page(st.session_state[_PAGES][path], query_params=_texts(state))


def is_page(path: str) -> bool:
    """Whether there is a page with this path."""
    return path in st.session_state.get(_PAGES, {})


def parameter(key: str) -> str:
    """The value of a key in the address; empty if it is not there."""
    return str(st.query_params.get(key, ""))


def number_parameter(key: str) -> int | None:
    """The value of a key in the address as a number; None unless it is one, of at most 15 decimal digits."""
    word = parameter(key)
    return int(word) if word.isascii() and word.isdecimal() and len(word) < 16 else None


def set_parameters(**state: object) -> None:
    """Set these keys in the address, without changing others; None and empty values delete a key.

    The new values are set at once: each change is an entry of the browser's history.
    """
    texts = _texts(state)
    for key in st.query_params.keys() & state.keys() - texts.keys():
        del st.query_params[key]
    if any(st.query_params.get(key) != text for key, text in texts.items()):
        st.query_params.update(texts)


def address_toggle(title: str, name: str, on: str, *, key: str, hint: str | None = None) -> bool:
    """Draw a switch whose state is in the address (`name=on`), so that Back, Forward and a reload restore it."""
    is_on = parameter(name) == on
    if st.toggle(title, value=is_on, key=f"{key}_{is_on}", help=hint) != is_on:
        set_parameters(**{name: None if is_on else on})
        st.rerun()
    return is_on


def address_choice(
    title: str,
    options: Sequence[str],
    name: str,
    default: str,
    *,
    titles: Callable[[str], str],
    hint: str | None = None,
) -> str:
    """Draw a select box whose choice is in the address; the default is chosen if the address has none."""
    named = parameter(name) if parameter(name) in options else default
    index = list(options).index(named)
    key = f"weaklink_{name}_{named}"
    chosen = st.selectbox(title, options, index=index, format_func=titles, key=key, help=hint)
    if chosen != named:
        set_parameters(**{name: None if chosen == default else chosen})
        st.rerun()
    return named


def _texts(state: Mapping[str, object]) -> dict[str, str]:
    return {key: str(value) for key, value in state.items() if value is not None and value != ""}
