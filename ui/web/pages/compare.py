"""Compare: two to six runs step by step, or whole groups of traces measure by measure."""

import streamlit as st

from ui.web.group_comparison import compare_groups
from ui.web.places import asked, keep
from ui.web.run_comparison import compare_runs

_WHAT = "what"
_RUNS, _GROUPS = "runs", "groups"
_TITLES = {_RUNS: "Runs", _GROUPS: "Groups of traces"}


def show() -> None:
    """Draw what the address asks for."""
    st.title("Compare")
    asked_for = asked(_WHAT) if asked(_WHAT) in _TITLES else _RUNS
    chosen = st.segmented_control(
        "What is compared",
        list(_TITLES),
        default=asked_for,
        format_func=lambda what: _TITLES[what],
        key=f"weaklink_compare_{asked_for}",
        label_visibility="collapsed",
    )
    if chosen is not None and chosen != asked_for:
        keep(what=None if chosen == _RUNS else chosen)
        st.rerun()
    if asked_for == _GROUPS:
        compare_groups()
    else:
        compare_runs()
