"""What stands in the place of figures that are being counted; it looks by itself whether there are more by now."""

from time import monotonic, time
from typing import TypeVar

import streamlit as st

from ui.views.amounts import short_time
from ui.web.counter import CountQuery
from ui.web.markup import put_sentence
from ui.web.places import asked
from ui.web.sheets import Sheet, sheet_of

T = TypeVar("T")

_EVERY_S = 0.5
_LONG_S = 2.0  # from here on the seconds are told


def put_waiting(sheet: Sheet, said: str = "") -> None:
    """Say that figures are being counted, behind the sentence that tells them; where none are, the sentence alone.

    The page is drawn anew when there are more.
    """
    if not sheet.is_settled():
        st.fragment(_look, run_every=_EVERY_S)(sheet, said)
    elif said:
        put_sentence(said, is_strong=True)


def put_room(height: int) -> None:
    """Keep the room, of so many CSS pixels, of what is being counted: what stands below it does not move."""
    st.html(f'<div class="wl-room" style="height: {height}px">counting …</div>')


def answer_to(question: CountQuery[T]) -> T:
    """The answer, waited for where there is not even an older one; says so meanwhile, and can be left."""
    place = st.empty()
    while question not in (sheet := sheet_of(question)):
        with place.container():  # a place where Streamlit ends the run of a page that was left
            put_sentence("", aside=_counting(sheet))
        sheet.wait(monotonic() + _EVERY_S)
    place.empty()
    with place.container():
        put_waiting(sheet)
    return sheet[question]


def _look(sheet: Sheet, said: str) -> None:
    if sheet.has_more():
        st.rerun()
    put_sentence(said, is_strong=True, aside=_counting(sheet))


def _counting(sheet: Sheet) -> str:
    if sheet.as_of_s:
        return f"as of {short_time(sheet.as_of_s, time())}, counting anew …"
    waited_s = monotonic() - sheet.began_s
    told = f" {waited_s:.0f} s" if waited_s >= _LONG_S else ""
    return f"Counting {'what the filter lets through' if asked('filter') else 'all traces'} …{told}"
