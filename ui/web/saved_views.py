"""The menu of saved views on the pages of the dashboard."""

import streamlit as st

from inspector.errors import WeaklinkError
from ui.views.links import SavedView, forget_view, save_view, saved_views
from ui.views.styled_text import visible_line
from ui.web.markup import label
from ui.web.navigation import go_to_page, is_page
from ui.web.visitors import require_write, visitor

_NAME = "weaklink_view_name"
_CHOSEN = "weaklink_view_chosen"
_FAULT = "weaklink_view_fault"


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
        may_write = visitor().may_write
        st.text_input("Save this view as", key=_NAME, max_chars=80, disabled=not may_write)
        st.button("Save", icon=":material/bookmark_add:", on_click=_save, args=(page,), disabled=not may_write)
        if fault := st.session_state.pop(_FAULT, ""):
            st.error(label(fault, most=1_000))


def _choose(views: list[SavedView]) -> None:
    chosen = st.selectbox(
        "Saved views", views, format_func=lambda view: visible_line(f"{view.name} ({view.page})"), key=_CHOSEN
    )
    with st.container(horizontal=True):
        if st.button("Open", type="primary", key="weaklink_view_open"):
            go_to_page(chosen.page, **chosen.state)
        st.button("Forget", on_click=_forget, args=(chosen.name,), disabled=not visitor().may_write)


def _save(page: str) -> None:
    try:
        require_write()
        save_view(SavedView(st.session_state[_NAME], page, st.query_params.to_dict()))
    except WeaklinkError as error:
        st.session_state[_FAULT] = str(error)
        return
    st.session_state[_NAME] = ""
    st.toast("The view is saved.")


def _forget(name: str) -> None:
    try:
        require_write()
        forget_view(name)
    except WeaklinkError as error:
        st.session_state[_FAULT] = str(error)
