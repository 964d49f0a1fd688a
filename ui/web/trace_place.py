"""Which characters of a trace a page looks at: the address says it, and the browser is told when it does not know."""

from typing import Any

import streamlit as st

from inspector.diagnostics import Location
from inspector.model import Json
from inspector.text import Range
from ui.views.dissect.verdict import landing
from ui.web.places import asked, asked_number, keep
from ui.web.shown_trace import ShownTrace
from ui.web.stream_data import place

_TOLD = "weaklink_told"


def place_of(shown: ShownTrace, key: str) -> Location | None:
    """The place that the address names, else the break, else the first fault.

    Who watches the trace grow in the dissector of that key is not carried away to a fault that comes up, nor at its
    end to the break.
    """
    turn, start, end = asked_number("turn"), asked_number("start"), asked_number("end")
    if turn and start is not None and end is not None and start <= end:
        return Location(turn, asked("part") or "text", Range(start, end))
    if shown.summary.is_open or _told(key).get("grew"):
        _told(key)["grew"] = True
        return None
    return landing(shown.inspection)


def look_at(location: Location) -> None:
    """Go to a place: into the address, and from the next drawing on the dissector shows it."""
    keep(turn=location.turn, part=location.part, start=location.range.start, end=location.range.end)


def told_place(key: str, location: Location | None) -> dict[str, Json] | None:
    """The place as the dissector of that key is told it: the same as before where it knows, having chosen it itself.

    Its data thereby stay the same from click to click, and are sent once.
    """
    told = _told(key)
    if location != told.get("known"):
        told.update(known=location, said=location, number=told["number"] + 1)
    told["drawn"] = True
    said: Location | None = told.get("said")
    return None if said is None else {**place(said.turn, said.part, said.range), "number": told["number"]}


def picked_place(picked: dict[str, Any]) -> Location:
    """The place that was gone to in the dissector, which need not be told of it."""
    location = Location(picked["turn"], picked["part"], Range(picked["start"], picked["end"]))
    st.session_state[_TOLD]["known"] = location
    look_at(location)
    return location


def _told(key: str) -> dict[str, Any]:
    """What the dissector of that key knows: nothing where another trace was here, or the page was left meanwhile."""
    told: dict[str, Any] = st.session_state.setdefault(_TOLD, {})
    if told.get("key") != key or (told["drawn"] and key not in st.session_state):
        told.clear()
        told.update(key=key, number=0, drawn=False)
    return told
