"""The filter that every page obeys: a line of text that the address holds."""

import streamlit as st

from storage import FilterError
from ui.views.palette import Style
from ui.views.run import Run
from ui.views.visible import visible_line
from ui.web.markup import put_lines
from ui.web.places import asked, keep
from ui.web.stores import store

_KEY = "weaklink_filter_text"
_EXAMPLE = "status:broken model:hermes* code:J104 Oslo"


def filter_bar() -> str | None:
    """Draw the line; the filter it holds, or None where it cannot be read, which is then said below it."""
    said = asked("filter")
    if st.session_state.get(_KEY) != said:
        st.session_state[_KEY] = said
    st.text_input("Filter", key=_KEY, placeholder=_EXAMPLE, on_change=_changed, label_visibility="collapsed")
    try:
        store().traces(said, limit=1)
    except FilterError as error:
        put_lines(
            (
                (Run(visible_line(said)),),
                (
                    Run(" " * len(visible_line(said[: error.position]))),
                    Run("^ ", Style.ERROR),
                    Run(str(error), Style.ERROR),
                ),
            )
        )
        return None
    return said


def _changed() -> None:
    keep(filter=st.session_state[_KEY].strip(), after=None)
