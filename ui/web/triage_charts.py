"""The charts of the triage page: their queries, their rows, and the filter that a click on a mark narrows."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from inspector.chain.metrics_groups import Aspect, GroupFigures, GroupKey, Slice
from inspector.errors import UnknownRuleError
from inspector.rules.catalogue import find_rule
from ui.views.stats_wording import code_title, percent
from ui.views.styled_text import visible_line
from ui.views.wording import counted
from ui.web.charts import HIGH, LOW, Rows, columns, heat_map, pareto, statuses_by_day
from ui.web.filter_bar import STATUSES, field, narrowed, on_day
from ui.web.navigation import parameter, set_parameters
from ui.web.queries import CountQuery, grouped, hits, sliced
from ui.web.query_results import PageResults, put_placeholder

_MOST_BARS = 10
_MOST_MODELS, _MOST_CODES = 10, 12
_MOST_DAYS = 60
_LAST_STEP = 12
_FEW = 4
_SHARES = "shares"
_DRAWN_HIGH = "weaklink_drawn_high"
Groups: TypeAlias = tuple[GroupFigures, ...]
Slices: TypeAlias = tuple[Slice, ...]


@dataclass(frozen=True, slots=True)
class TriageQueries:
    """What the triage page asks of the traces that a filter lets through, the soonest wanted first."""

    whole: CountQuery[Groups]
    codes: CountQuery[Slices]
    days: CountQuery[Groups]
    models: CountQuery[Groups]
    models_and_codes: CountQuery[Groups]
    steps: CountQuery[Slices]

    def all(self) -> tuple[CountQuery[Any], ...]:
        """Each of them."""
        return (self.whole, self.codes, self.days, self.models, self.models_and_codes, self.steps)


@dataclass(frozen=True, slots=True)
class TriageFigures:
    """The questions, and the answers that are there."""

    asked: TriageQueries
    sheet: PageResults

    def has(self, *questions: CountQuery[Any]) -> bool:
        """Whether all of these are answered."""
        return all(one in self.sheet for one in questions)

    def whole(self) -> GroupFigures:
        """What all the traces together come to, where that is answered and there are any."""
        return self.sheet[self.asked.whole][0]

    def is_uncounted(self) -> bool:
        """Whether no trace is in any figure."""
        return self.has(self.asked.whole) and not self.sheet[self.asked.whole]


def triage_queries(wanted: str) -> TriageQueries:
    """The questions for a filter."""
    return TriageQueries(
        whole=grouped(wanted),
        codes=sliced(wanted, Aspect.CODE),
        days=grouped(wanted, GroupKey.DAY),
        models=grouped(wanted, GroupKey.MODEL),
        models_and_codes=grouped(wanted, GroupKey.MODEL, GroupKey.CODE),
        steps=sliced(wanted, Aspect.STEP),
    )


def day_rows(days: Sequence[GroupFigures]) -> Rows:
    """A row for each status of each of the last days; traces without a date are in none."""
    dated = sorted((group for group in days if group.keys[0]), key=lambda group: group.keys)
    return [
        {"day": group.keys[0], "status": status, "traces": hits(group, status), "rank": rank}
        for group in dated[-_MOST_DAYS:]
        for rank, status in enumerate(STATUSES)
        if hits(group, status)
    ]


def code_rows(codes: Sequence[Slice]) -> Rows:
    """A row for each of the most frequent reasons of breaks: its share of them, and that with those above."""
    total = sum(one.traces for one in codes)
    sums = list(accumulate(one.traces for one in codes))
    return [
        {
            "rule": rule_title(one.value),
            "value": one.value,
            "traces": one.traces,
            "cumulated": upto / total,
            "said": f"{one.traces:,} · {percent(one.traces / total)} %",
        }
        for one, upto in zip(codes[:_MOST_BARS], sums, strict=False)
    ]


def heat_rows(by_model: Sequence[GroupFigures], by_model_and_code: Sequence[GroupFigures]) -> Rows:
    """A row for each pair of a frequent model and a frequent rule, also for those that never met."""
    totals = {group.keys[0]: group.traces for group in by_model if group.keys[0]}
    found = {(group.keys[0], group.keys[1]): group.traces for group in by_model_and_code if group.keys[0]}
    codes = _frequent_codes(found)
    met = {model for model, code in found if code in codes}
    models = [model for model in totals if model in met][:_MOST_MODELS]
    return [
        {
            "model": visible_line(model),
            "value": model,
            "rule": code,
            "title": code_title(code),
            "traces": found.get((model, code), 0),
            "share": found.get((model, code), 0) / totals[model],
        }
        for model in models
        for code in codes
    ]


def step_rows(steps: Sequence[Slice]) -> Rows:
    """A row for each step at which chains broke; the late ones are one."""
    counts: dict[str, int] = {}
    for one in steps:
        label = one.value if int(one.value) <= _LAST_STEP else f">{_LAST_STEP}"
        counts[label] = counts.get(label, 0) + one.traces
    return [{"step": step, "traces": traces} for step, traces in counts.items()]


def code_of(value: str) -> str | None:
    """The code of the rule that a reason of breaks stands for: of the rule's code, or of an outcome that it names."""
    try:
        return find_rule(value).code
    except UnknownRuleError:
        return None


def rule_title(value: str) -> str:
    """A reason of breaks with code and name, an outcome by the rule that says it."""
    return code_title(code_of(value) or value)


def _frequent_codes(found: dict[tuple[str, str], int]) -> list[str]:
    counts: dict[str, int] = {}
    for (_, code), traces in found.items():
        counts[code] = counts.get(code, 0) + traces
    return sorted(counts, key=lambda code: (-counts[code], code))[:_MOST_CODES]


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
        set_parameters(filter=said)
        st.rerun()


def _days(figures: TriageFigures, wanted: str, height: int) -> None:
    st.subheader("Traces by day", anchor=False)
    if not figures.has(figures.asked.days):
        put_placeholder(height)
        return
    days = figures.sheet[figures.asked.days]
    rows = day_rows(days)
    if not rows:
        st.caption("No trace says when it was recorded.")
        return
    is_share = parameter("days") == _SHARES
    found = statuses_by_day(rows, key=f"weaklink_days_{is_share}_{wanted}", is_share=is_share, height=height)
    if st.toggle("As shares of the day", value=is_share, key="weaklink_day_shares") != is_share:
        set_parameters(days=None if is_share else _SHARES)
        st.rerun()
    for undated in (group for group in days if not group.keys[0]):
        broken = hits(undated, "broken")
        st.caption(f"{counted(undated.traces, 'more trace')} without a date, {broken:,} broken.")
    if found is not None:
        narrow(wanted, *on_day(found).split())


def _codes(figures: TriageFigures, wanted: str, height: int) -> None:
    st.subheader("First break by rule", anchor=False)
    if not figures.has(figures.asked.codes):
        put_placeholder(height)
        return
    codes = figures.sheet[figures.asked.codes]
    if not codes:
        st.caption("No chain broke.")
        return
    rows = code_rows(codes)
    found = pareto(rows, label="rule", count="traces", key=f"weaklink_codes_{wanted}", height=height)
    left_out = len(codes) - len(rows)
    more = f" {counted(left_out, 'more rule')} broke some." if left_out else ""
    st.caption(f"How many chains each rule broke, and its share of all breaks.{more}")
    if found is not None:
        code = next(code_of(str(row["value"])) for row in rows if row["rule"] == found)
        narrow(wanted, "status:broken", field("code", code) if code else "")


def _heat(figures: TriageFigures, wanted: str, height: int) -> None:
    st.subheader("Models and rules", anchor=False)
    if not figures.has(figures.asked.models, figures.asked.models_and_codes):
        put_placeholder(height)
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
        put_placeholder(height)
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
