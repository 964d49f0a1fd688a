"""The filter that every page obeys: a line of text that the address holds, with what could stand in it offered."""

import re
from dataclasses import replace

import streamlit as st

from storage import FilterCompletion, FilterError, check_filter
from ui.views.palette import Style
from ui.views.run import Run
from ui.views.visible import visible_line
from ui.web.facets import facets
from ui.web.labels import label
from ui.web.markup import put_lines
from ui.web.places import asked, keep
from ui.web.stores import store
from ui.web.views_menu import views_menu

_KEY = "weaklink_filter_text"
_LINE = "weaklink_filter_line"
_OFFERED = "weaklink_filter_offered"
_EXAMPLE = "status:broken model:hermes* code:J104 Oslo"
_MOST_OFFERED = 12
_WORD_BEGUN = re.compile(r"(?:\A|[\s(-])(\w{2,})\Z")
_END_OF_TERM = re.compile(r"\s|\Z")


def filter_bar(page: str) -> str | None:
    """Draw the line for the page of that path; the filter it holds, or None where it cannot be read, which is said."""
    said = asked("filter")
    with st.container(horizontal=True, gap="small"):
        _field(page, said)
        if said:
            st.button("Clear", icon=":material/close:", on_click=clear_filter, help="Take the filter away")
        views_menu(page)
    error = check_filter(said)
    if error is not None:
        _explain(said, error)
        _offer(said, _instead(said, error.position))
        return None
    if _WORD_BEGUN.search(said):
        _offer(said, [one for one in store().complete(said) if one.text.endswith(":")])
    facets(said)
    return said


def clear_filter() -> None:
    """Take the filter away, here and on the pages that are gone to next."""
    keep(filter=None, after=None, look=None)
    st.session_state.pop("weaklink_filter", None)


def nothing_found(wanted: str) -> None:
    """Say that there is nothing to show: the filter lets nothing through, or the store holds nothing yet."""
    if not wanted:
        st.info("The database holds no traces yet. `weaklink import PATH` or `weaklink demo` puts some in.")
        return
    st.info("No trace matches this filter.")
    st.button("Clear the filter", on_click=clear_filter)


def _field(page: str, said: str) -> None:
    """The line: another one whenever something else than the user changed what it says.

    A page that looks by itself whether figures are there sends what its fields held a moment ago. Of the line that says
    the filter now, that would be taken for what the user typed.
    """
    line: tuple[str, str, int] = st.session_state.get(_LINE, ("", "", 0))
    if line[:2] != (page, said):
        line = (page, said, line[2] + 1)
        st.session_state[_LINE] = line
        st.session_state[f"{_KEY}_{line[2]}"] = said
    st.text_input(
        "Filter",
        key=f"{_KEY}_{line[2]}",
        placeholder=_EXAMPLE,
        on_change=_changed,
        args=line,
        label_visibility="collapsed",
        width="stretch",
    )


def _changed(page: str, _before: str, number: int) -> None:
    text = st.session_state[f"{_KEY}_{number}"].strip()
    if not text:
        clear_filter()
    keep(filter=text, after=None, look=None)
    st.session_state[_LINE] = (page, text, number)


def _explain(said: str, error: FilterError) -> None:
    """The filter again, a caret below the character at which it goes wrong, and why."""
    before = visible_line(said[: error.position])
    put_lines(((Run(visible_line(said)),), (Run(f"{' ' * len(before)}^", Style.ERROR),)))
    st.error(label(str(error), most=1_000))


def _instead(said: str, position: int) -> list[FilterCompletion]:
    """What could stand where the filter goes wrong: what goes on from there, else anything that may stand there."""
    found = _END_OF_TERM.search(said, min(position, len(said)))
    end = found.start() if found else len(said)
    return store().complete(said, end) or [replace(one, end=end) for one in store().complete(said, position)]


def _offer(said: str, found: list[FilterCompletion]) -> None:
    """What could stand there, each a click."""
    offered = found[:_MOST_OFFERED]
    if not offered:
        return
    chosen = st.pills(
        "What could stand here",
        range(len(offered)),
        format_func=lambda index: label(offered[index].text),
        key=f"{_OFFERED}_{said}",
        label_visibility="collapsed",
    )
    if chosen is not None:
        one = offered[chosen]
        keep(filter=said[: one.start] + one.text + said[one.end :], after=None)
        st.rerun()
