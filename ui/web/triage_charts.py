"""The charts of the triage page: a click on a mark narrows the filter."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.views.wording import counted
from ui.web.charts import HIGH, LOW, columns, heat_map, pareto, statuses_by_day
from ui.web.counter import CountQuery
from ui.web.figures import hits
from ui.web.filters import field, narrowed, on_day
from ui.web.places import asked, keep
from ui.web.triage_figures import TriageFigures, code_of, code_rows, day_rows, heat_rows, step_rows
from ui.web.waiting import put_room

_FEW = 4
_SHARES = "shares"
_DRAWN_HIGH = "weaklink_drawn_high"


def charts(figures: TriageFigures, wanted: str) -> None:
    """Draw those that are counted, and the room of the others."""
    if not figures.has(figures.asked.codes, figures.asked.models):
        st.session_state[_DRAWN_HIGH] = wanted
    left, right = st.columns(2, gap="medium")
    height = _height(figures, figures.asked.codes, wanted)
    with left, _place("days", height):
        _days(figures, wanted, height)
    with right, _place("codes", height):
        _codes(figures, wanted, height)
    left, right = st.columns([3, 2], gap="medium")
    height = _height(figures, figures.asked.models, wanted)
    with left, _place("heat", height):
        _heat(figures, wanted, height)
    with right, _place("steps", height):
        _steps(figures, wanted, height)


def _height(figures: TriageFigures, rows: CountQuery[tuple[Any, ...]], wanted: str) -> int:
    """Low for few rows; but where room was kept for more, what stands below it shall not move."""
    return HIGH if st.session_state.get(_DRAWN_HIGH) == wanted or len(figures.sheet[rows]) > _FEW else LOW


def _place(name: str, height: int) -> DeltaGenerator:
    """Where a chart stands, never lower than it will be: the browser draws it late, and what is below would jump."""
    return st.container(key=f"weaklink_{'low' if height == LOW else 'high'}_{name}")


def narrow(wanted: str, *terms: str) -> None:
    """Add terms to the filter; where it says them already nothing happens, or the click would never end."""
    said = narrowed(wanted, *terms)
    if said != wanted:
        keep(filter=said)
        st.rerun()


def _days(figures: TriageFigures, wanted: str, height: int) -> None:
    st.subheader("Traces by day", anchor=False)
    if not figures.has(figures.asked.days):
        put_room(height)
        return
    days = figures.sheet[figures.asked.days]
    rows = day_rows(days)
    if not rows:
        st.caption("No trace says when it was recorded.")
        return
    is_share = asked("days") == _SHARES
    found = statuses_by_day(rows, key=f"weaklink_days_{is_share}_{wanted}", is_share=is_share, height=height)
    if st.toggle("As shares of the day", value=is_share, key="weaklink_day_shares") != is_share:
        keep(days=None if is_share else _SHARES)
        st.rerun()
    for undated in (group for group in days if not group.keys[0]):
        broken = hits(undated, "broken")
        st.caption(f"{counted(undated.traces, 'more trace')} without a date, {broken:,} broken.")
    if found is not None:
        narrow(wanted, *on_day(found).split())


def _codes(figures: TriageFigures, wanted: str, height: int) -> None:
    st.subheader("First break by rule", anchor=False)
    if not figures.has(figures.asked.codes):
        put_room(height)
        return
    codes = figures.sheet[figures.asked.codes]
    if not codes:
        st.caption("No chain broke.")
        return
    rows = code_rows(codes)
    found = pareto(rows, label="rule", count="traces", key=f"weaklink_codes_{wanted}", height=height)
    left_out = len(codes) - len(rows)
    more = f" {counted(left_out, 'more rule')} broke some." if left_out else ""
    st.caption(f"How many chains it broke, and the share of all breaks down to it.{more}")
    if found is not None:
        code = next(code_of(str(row["value"])) for row in rows if row["rule"] == found)
        narrow(wanted, "status:broken", field("code", code) if code else "")


def _heat(figures: TriageFigures, wanted: str, height: int) -> None:
    st.subheader("Models and rules", anchor=False)
    if not figures.has(figures.asked.models, figures.asked.models_and_codes):
        put_room(height)
        return
    models = figures.sheet[figures.asked.models]
    rows = heat_rows(models, figures.sheet[figures.asked.models_and_codes])
    if not rows:
        st.caption("No trace of a named model has a fault.")
        return
    found = heat_map(rows, across="rule", down="model", share="share", key=f"weaklink_heat_{wanted}", height=height)
    unnamed = next((group.traces for group in models if not group.keys[0]), 0)
    left_out = f" {counted(unnamed, 'trace')} of no known model left out." if unnamed else ""
    st.caption(f"In how many of 100 traces of a model a rule found something.{left_out}")
    if found is not None:
        cell = next(row for row in rows if (row["rule"], row["model"]) == found)
        if cell["traces"]:
            narrow(wanted, field("model", str(cell["value"])), field("code", found[0]))


def _steps(figures: TriageFigures, wanted: str, height: int) -> None:
    st.subheader("The step that broke", anchor=False)
    if not figures.has(figures.asked.steps):
        put_room(height)
        return
    steps = figures.sheet[figures.asked.steps]
    if not steps:
        st.caption("No chain broke.")
        return
    found = columns(
        step_rows(steps), label="step", count="traces", key=f"weaklink_steps_{wanted}", title="step", height=height
    )
    st.caption("Broken chains by the step at which they broke.")
    if found is not None:
        narrow(wanted, f"step:{found}")
