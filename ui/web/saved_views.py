"""Saved views: a page and the state of its address under a name, in a file of the user's data folder, and their menu.

The file is beside the default database and not in one, since a view belongs to the user and works with every database.
"""

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import platformdirs
import streamlit as st

from inspector.errors import WeaklinkError
from ui.views.styled_text import visible_line
from ui.web.markup import label
from ui.web.navigation import go_to_page, is_page

MOST = 200
"""So many views are kept."""

_LONGEST_NAME = 80
_NAME = "weaklink_view_name"
_CHOSEN = "weaklink_view_chosen"
_FAULT = "weaklink_view_fault"


@dataclass(frozen=True, slots=True)
class SavedView:
    """A page by its path, and what its address held."""

    name: str
    page: str
    state: dict[str, str]


def views_file() -> Path:
    """Where the views lie."""
    return platformdirs.user_data_path("weaklink", appauthor=False) / "views.json"


def saved_views() -> list[SavedView]:
    """The views by name; none where none were saved. WeaklinkError where the file cannot be read."""
    file = views_file()
    try:
        return msgspec.json.decode(file.read_bytes(), type=list[SavedView])
    except FileNotFoundError:
        return []
    except OSError as error:
        raise WeaklinkError(f"the saved views in {file} cannot be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise WeaklinkError(f"the saved views in {file} are damaged; move that file away to begin anew") from error


def save_view(view: SavedView) -> None:
    """Keep a view, in the place of the one of its name. WeaklinkError where that cannot be."""
    name = view.name.strip()[:_LONGEST_NAME]
    if not name:
        raise WeaklinkError("a view is saved under a name")
    others = [one for one in saved_views() if one.name != name]
    if len(others) >= MOST:
        raise WeaklinkError(f"{MOST} views are saved already; forget one first")
    _write([*others, SavedView(name, view.page, view.state)])


def forget_view(name: str) -> None:
    """Drop the view of this name, if there is one."""
    _write([one for one in saved_views() if one.name != name])


def _write(views: list[SavedView]) -> None:
    """Put the new file in the place of the old in one step: whoever reads finds either."""
    file = views_file()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, written = tempfile.mkstemp(prefix="views-", dir=file.parent)
        try:
            with os.fdopen(handle, "wb") as opened:
                opened.write(msgspec.json.encode(sorted(views, key=lambda one: one.name.casefold())))
            Path(written).replace(file)
        except BaseException:
            with suppress(FileNotFoundError):
                Path(written).unlink()
            raise
    except OSError as error:
        raise WeaklinkError(f"the views cannot be saved in {file}: {error.strerror}") from error


def views_menu(page: str) -> None:
    """Draw the menu for the page of that path."""
    with st.popover("Views", icon=":material/bookmarks:"):
        try:
            views = [view for view in saved_views() if is_page(view.page)]
        except WeaklinkError as error:
            st.error(label(str(error), most=1_000))
            return
        if views:
            _choose(views)
        st.text_input("Save this view as", key=_NAME, max_chars=80)
        st.button("Save", icon=":material/bookmark_add:", on_click=_save, args=(page,))
        if fault := st.session_state.pop(_FAULT, ""):
            st.error(label(fault, most=1_000))


def _choose(views: list[SavedView]) -> None:
    chosen = st.selectbox(
        "Saved views", views, format_func=lambda view: visible_line(f"{view.name} ({view.page})"), key=_CHOSEN
    )
    with st.container(horizontal=True):
        if st.button("Open", type="primary", key="weaklink_view_open"):
            go_to_page(chosen.page, **chosen.state)
        st.button("Forget", on_click=_forget, args=(chosen.name,))


def _save(page: str) -> None:
    try:
        save_view(SavedView(st.session_state[_NAME], page, st.query_params.to_dict()))
    except WeaklinkError as error:
        st.session_state[_FAULT] = str(error)
        return
    st.session_state[_NAME] = ""
    st.toast("The view is saved.")


def _forget(name: str) -> None:
    try:
        forget_view(name)
    except WeaklinkError as error:
        st.session_state[_FAULT] = str(error)
