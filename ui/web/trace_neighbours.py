"""The traces before and after one in the list that it was opened from."""

import streamlit as st

from storage import TraceSummary
from ui.web.navigation import go_to_page, parameter
from ui.web.stores import store

_WAY = "weaklink_way"
_MOST = 1_000


def adjacent_traces(summary: TraceSummary) -> tuple[int | None, int | None]:
    """The ids of the newer and the older trace that match the filter; None at an end, or where it is not known.

    A newer one is known where the user came from it, or among the newest thousand.
    """
    wanted = parameter("filter")
    older = store().paging().page(wanted, limit=1, after=summary.cursor)
    came: list[tuple[int, int]] = st.session_state.get(_WAY, [])
    newer = came[-1][0] if came and came[-1][1] == summary.id else _newer(wanted, summary.id)
    return newer, older[0].summary.id if older else None


def go_to_adjacent(summary: TraceSummary, to: int, by: int) -> None:
    """Leave for a neighbour; `by` is 1 for the older, -1 for the newer."""
    came: list[tuple[int, int]] = st.session_state.setdefault(_WAY, [])
    if by > 0:
        came.append((summary.id, to))
    elif came:
        came.pop()
    go_to_page("trace", trace=to, filter=parameter("filter"))


def _newer(wanted: str, id_: int) -> int | None:
    found = [edge.id for edge in store().paging().stretch(wanted, limit=_MOST, page=1).edges]
    return found[found.index(id_) - 1] if id_ in found[1:] else None
