"""Facets: the values that the matching traces have, with how many have each and how many of those broke."""

from collections.abc import Sequence

import streamlit as st

from inspector.chain.metrics_groups import GroupFigures, GroupKey
from ui.views.palette import Style
from ui.views.run import Run
from ui.views.stats_wording import code_title, percent
from ui.views.visible import visible_line
from ui.web.components import ListingColumn, ListingRow, Measured, listing
from ui.web.figures import grouped, hits
from ui.web.filters import field, narrowed
from ui.web.places import keep
from ui.web.sheets import sheet_of
from ui.web.waiting import put_waiting

_KEY = "weaklink_facet"
_CLOSE = "weaklink_facet_close"
_STATUS = "status"
_KEYS = (GroupKey.MODEL, GroupKey.CODE, GroupKey.TOOL, GroupKey.SOURCE, GroupKey.FORMAT, GroupKey.REASONING)
_NAMES = (_STATUS, *(key.value for key in _KEYS))
_MOST = 100
STATUSES = ("broken", "aborted", "recovered", "unknown", "ok")
"""How traces end, the worst first."""


def facets(wanted: str) -> None:
    """Draw the names of the facets, and the values of the one that is open; a click on a value narrows the filter."""
    if st.session_state.pop(_CLOSE, False):
        st.session_state[_KEY] = None
    name = st.pills("Narrow by", _NAMES, key=_KEY, label_visibility="collapsed")
    if name is None:
        return
    question = grouped(wanted) if name == _STATUS else grouped(wanted, GroupKey(name))
    sheet = sheet_of(question)
    put_waiting(sheet)
    if question not in sheet:
        return
    rows = _status_rows(sheet[question]) if name == _STATUS else _rows(GroupKey(name), sheet[question])
    if not rows:
        st.caption("None of the traces has one.")
        return
    columns = (ListingColumn(name), ListingColumn("traces", "end"), ListingColumn("broken"))
    done = listing(columns, rows, key=f"weaklink_facet_{name}", label=f"Values of {name}", is_eager=True, most_rem=18)
    if len(rows) == _MOST:
        st.caption(f"The {_MOST} most frequent.")
    if done.opened is not None:
        st.session_state[_CLOSE] = True
        keep(filter=narrowed(wanted, field(name, done.opened)), after=None, look=None)
        st.rerun()


def _rows(key: GroupKey, groups: Sequence[GroupFigures]) -> list[ListingRow]:
    named = [group for group in groups if group.keys[0]]
    return [_row(group.keys[0], _title(key, group.keys[0]), group) for group in named[:_MOST]]


def _row(value: str, title: str, group: GroupFigures) -> ListingRow:
    broken = hits(group, "broken")
    share = broken / group.traces
    said = f"{broken:,} ({percent(share)} %)" if broken else "-"
    return ListingRow(
        value,
        (
            (Run(title),),
            (Run(f"{group.traces:,}"),),
            Measured(share, (Run(said, Style.PLAIN if broken else Style.DIM),)),
        ),
    )


def _status_rows(whole: Sequence[GroupFigures]) -> list[ListingRow]:
    if not whole:
        return []
    counts = ((status, hits(whole[0], status)) for status in STATUSES)
    return [
        ListingRow(status, ((Run(status),), (Run(f"{count:,}"),), Measured(float(status == "broken"), ())))
        for status, count in counts
        if count
    ]


def _title(key: GroupKey, value: str) -> str:
    return code_title(value) if key is GroupKey.CODE else visible_line(value)
