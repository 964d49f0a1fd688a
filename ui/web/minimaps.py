"""The minimaps of the traces in a list: made for those that are quickly read, and kept."""

from collections.abc import Iterable

import streamlit as st

from storage import TraceSummary
from ui.views.minimap import minimap
from ui.views.run import Line
from ui.web.serving import current
from ui.web.stores import store

CELLS = 40
_LONGEST = 50_000  # characters of one trace
_ROOM = 1_000_000  # characters of all that are read for one page
_KEPT = 4_000
_FRESH_S = 3_600


def minimaps(traces: Iterable[TraceSummary]) -> dict[int, Line]:
    """The minimap of each trace by its number; long traces have none, nor those that there is no time for."""
    found: dict[int, Line] = {}
    room = _ROOM
    for one in traces:
        room -= min(one.characters, _LONGEST)
        if one.characters <= _LONGEST and room > 0:
            found[one.id] = _made(current().where, one.id, f"{one.turns}.{one.characters}.{one.status}.{one.is_open}")
    return found


@st.cache_resource(show_spinner=False, max_entries=_KEPT, ttl=_FRESH_S)
def _made(where: str | None, id_: int, version: str) -> Line:
    return minimap(*store().inspected(id_), CELLS)
