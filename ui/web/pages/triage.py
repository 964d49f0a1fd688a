"""Home: what breaks, how often, where; every mark is a click away from the traces behind it."""

import streamlit as st

from inspector.chain.metrics import FEWEST, estimate
from inspector.chain.metrics_groups import GroupFigures
from inspector.chain.metrics_measures import MEASURES, Kind
from inspector.chain.steps import Status
from ui.views.palette import Style
from ui.views.run import Run
from ui.views.stats_wording import percent, value_text
from ui.views.status import status_run
from ui.views.wording import counted
from ui.web.charts import HIGH, LOW, columns, heat_map, pareto, statuses_by_day
from ui.web.components import Cell, Column, Measured, Room, Row, listing
from ui.web.facets import STATUSES
from ui.web.figures import hits
from ui.web.filter_bar import filter_bar, nothing_found
from ui.web.filters import field, narrowed, on_day
from ui.web.markup import put_sentence
from ui.web.places import asked, go, keep
from ui.web.stores import store
from ui.web.trace_listing import TRACE_COLUMNS, trace_rows
from ui.web.triage_figures import (
    TriageFigures,
    code_of,
    code_rows,
    day_rows,
    heat_rows,
    rule_title,
    step_rows,
    triage_figures,
)

_NEWEST = 10
_COLOURS = {"broken": "red", "aborted": "orange", "recovered": "violet", "ok": "green"}
_FEW = 4
_SHARES = "shares"


def show() -> None:
    """Draw the page; a click narrows the filter."""
    st.title("What breaks")
    wanted = filter_bar("triage")
    if wanted is None:
        return
    figures = triage_figures(wanted)
    if figures is None:
        nothing_found(wanted)
        return
    put_sentence(_summary(figures), is_strong=True)
    _statuses(figures.whole, wanted)
    left, right = st.columns(2, gap="medium")
    height = HIGH if len(figures.codes) > _FEW else LOW
    with left:
        _days(figures, wanted, height)
    with right:
        _codes(figures, wanted, height)
    left, right = st.columns([3, 2], gap="medium")
    height = HIGH if len(figures.models) > _FEW else LOW
    with left:
        _heat(figures, wanted, height)
    with right:
        _steps(figures, wanted, height)
    _newest(wanted)
    _measures(figures.whole)


def _summary(figures: TriageFigures) -> str:
    whole, broken = figures.whole, hits(figures.whole, "broken")
    said = f"{counted(whole.traces, 'trace')}, {broken:,} broken ({percent(broken / whole.traces)} %)"
    if not figures.codes:
        return f"{said}."
    first = figures.codes[0]
    return f"{said}; most by {rule_title(first.value)} ({first.traces:,} of {broken:,})."


def _statuses(whole: GroupFigures, wanted: str) -> None:
    """How traces ended, each a click."""
    with st.container(horizontal=True, gap="small"):
        for status in STATUSES:
            count = hits(whole, status)
            glyph = status_run(Status(status)).text.partition(" ")[0]
            words = f":{_COLOURS[status]}[{glyph}] {count:,} {status} · {percent(count / whole.traces)} %"
            if st.button(words, key=f"weaklink_status_{status}", disabled=not count):
                _narrow(wanted, field("status", status))


def _days(figures: TriageFigures, wanted: str, height: int) -> None:
    st.subheader("Traces by day", anchor=False)
    rows = day_rows(figures.days)
    if not rows:
        st.caption("No trace says when it was recorded.")
        return
    is_share = asked("days") == _SHARES
    found = statuses_by_day(rows, key=f"weaklink_days_{is_share}_{wanted}", is_share=is_share, height=height)
    if st.toggle("As shares of the day", value=is_share, key="weaklink_day_shares") != is_share:
        keep(days=None if is_share else _SHARES)
        st.rerun()
    if figures.undated is not None:
        broken = hits(figures.undated, "broken")
        st.caption(f"{counted(figures.undated.traces, 'more trace')} without a date, {broken:,} broken.")
    if found is not None:
        _narrow(wanted, *on_day(found).split())


def _codes(figures: TriageFigures, wanted: str, height: int) -> None:
    st.subheader("First break by rule", anchor=False)
    if not figures.codes:
        st.caption("No chain broke.")
        return
    rows = code_rows(figures.codes)
    found = pareto(rows, label="rule", count="traces", key=f"weaklink_codes_{wanted}", height=height)
    left_out = len(figures.codes) - len(rows)
    more = f" {counted(left_out, 'more rule')} broke some." if left_out else ""
    st.caption(f"How many chains it broke, and the share of all breaks down to it.{more}")
    if found is not None:
        code = next(code_of(str(row["value"])) for row in rows if row["rule"] == found)
        _narrow(wanted, "status:broken", field("code", code) if code else "")


def _heat(figures: TriageFigures, wanted: str, height: int) -> None:
    st.subheader("Models and rules", anchor=False)
    rows = heat_rows(figures)
    if not rows:
        st.caption("No trace of a named model has a fault.")
        return
    found = heat_map(rows, across="rule", down="model", share="share", key=f"weaklink_heat_{wanted}", height=height)
    unnamed = next((group.traces for group in figures.models if not group.keys[0]), 0)
    left_out = f" {counted(unnamed, 'trace')} of no known model left out." if unnamed else ""
    st.caption(f"In how many of 100 traces of a model a rule found something.{left_out}")
    if found is not None:
        cell = next(row for row in rows if (row["rule"], row["model"]) == found)
        if cell["traces"]:
            _narrow(wanted, field("model", str(cell["value"])), field("code", found[0]))


def _steps(figures: TriageFigures, wanted: str, height: int) -> None:
    st.subheader("The step that broke", anchor=False)
    if not figures.steps:
        st.caption("No chain broke.")
        return
    rows = step_rows(figures.steps)
    found = columns(rows, label="step", count="traces", key=f"weaklink_steps_{wanted}", title="step", height=height)
    st.caption("Broken chains by the number of the step at which they broke.")
    if found is not None:
        _narrow(wanted, f"step:{found}")


def _newest(wanted: str) -> None:
    """The newest of the traces behind the numbers."""
    st.subheader("The newest of them", anchor=False)
    rows = trace_rows(store().traces(wanted, limit=_NEWEST))
    done = listing(TRACE_COLUMNS, rows, key="weaklink_newest", label="The newest traces", is_eager=True)
    if done.opened is not None:
        go("trace", trace=done.opened, filter=wanted)
    if st.button("All of them", icon=":material/list:"):
        go("traces", filter=wanted)


def _measures(whole: GroupFigures) -> None:
    st.subheader("Measures", anchor=False)
    rows = []
    for measure in MEASURES:
        one = estimate(measure, whole.tally(measure.name))
        is_share = measure.kind is not Kind.MEAN
        said = Run(value_text(one, FEWEST), Style.PLAIN if one.value is not None else Style.DIM)
        value: Cell = Measured(one.value if is_share else None, (said,))
        meaning = measure.meaning if one.value is not None else measure.absent
        rows.append(Row(measure.name, ((Run(measure.title),), value, (Run(meaning, Style.DIM),))))
    heads = (Column("measure"), Column("value, 95 % interval"), Column("what is counted", room=Room.MEDIUM))
    listing(heads, rows, key="weaklink_measures", label="Measures")


def _narrow(wanted: str, *terms: str) -> None:
    """Add terms to the filter; where it says them already nothing happens, or the click would never end."""
    said = narrowed(wanted, *terms)
    if said != wanted:
        keep(filter=said)
        st.rerun()
