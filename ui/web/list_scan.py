"""One page of a list, found step by step over several drawings: what is found so far is shown, and the rest follows."""

from time import monotonic
from typing import NamedTuple

import streamlit as st
from msgspec import Struct, field

from storage import ListCursor, Listed, Order, ScanPlace, scan_from
from ui.web.stores import store

STEPS_EVERY_S = 0.2
"""How long a page rests between two drawings of a list that is being looked through."""

_DRAWN_AFTER_S = 0.3  # the steps of one drawing
_FRESH_S = 10.0  # so long what took more than a drawing to find is shown again
_KEPT = "weaklink_list_scan"


class ScannedPage(NamedTuple):
    """The traces of a page as far as they are known; `place` is where the scan goes on, None where all are found."""

    found: list[Listed]
    place: ScanPlace | None


class _ListScan(Struct):
    """The scan of one page, kept in the session; `shown` is what the last complete one found."""

    key: tuple[str, Order, ListCursor | None, int]
    place: ScanPlace | None
    found: list[Listed] = field(default_factory=list)
    shown: list[Listed] | None = None
    ended_s: float = 0.0
    is_long: bool = False


def is_scanning() -> bool:
    """Whether the page that was drawn last is still being looked for."""
    scan: _ListScan | None = st.session_state.get(_KEPT)
    return scan is not None and scan.place is not None


def scanned_page(wanted: str, order: Order, after: ListCursor | None, *, limit: int) -> ScannedPage:
    """Look on for the page for a moment. To be called with each drawing; another page or filter ends the scan."""
    key = (wanted, order, after, limit)
    scan: _ListScan | None = st.session_state.get(_KEPT)
    if scan is None or scan.key != key:
        scan = _ListScan(key, scan_from(order, after))
    elif scan.place is None and not (scan.is_long and monotonic() - scan.ended_s < _FRESH_S):
        scan = _ListScan(key, scan_from(order, after), shown=scan.shown)
    st.session_state[_KEPT] = scan
    until_s = monotonic() + _DRAWN_AFTER_S
    while scan.place is not None:
        step = store().paging().scan_step(wanted, order, limit=limit - len(scan.found), place=scan.place)
        scan.found += step.found
        scan.place = step.next if len(scan.found) < limit else None
        if monotonic() >= until_s:
            break
    if scan.place is None:
        scan.shown, scan.ended_s = scan.found, monotonic()
        return ScannedPage(scan.found, None)
    scan.is_long = True
    return ScannedPage(scan.found if scan.shown is None else scan.shown, scan.place)
