"""Home: what breaks, how often, where; every mark is a click away from the traces behind it."""

from collections.abc import Mapping, Sequence

import streamlit as st

from inspector.chain.metrics import FEWEST, estimate
from inspector.chain.metrics_groups import GroupFigures
from inspector.chain.metrics_measures import MEASURES
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.stats_wording import bar, code_title, percent, value_text
from ui.web.charts import bars, columns, heat_map, statuses_by_day
from ui.web.components import Column, Row, listing
from ui.web.filter_bar import filter_bar
from ui.web.filters import field, narrowed
from ui.web.markup import put_lines
from ui.web.places import go, keep
from ui.web.triage_figures import STATUSES, TriageFigures, hits, triage_figures

_MOST_BARS = 12
_MOST_MODELS, _MOST_CODES = 10, 12
_MOST_DAYS = 60
_LAST_STEP = 12


def show() -> None:
    """Draw the page; a click narrows the filter."""
    st.title("What breaks")
    wanted = filter_bar()
    if wanted is None:
        return
    figures = triage_figures(wanted)
    if figures.whole is None:
        _nothing(wanted)
        return
    put_lines([_summary(figures.whole, figures)])
    left, right = st.columns(2)
    with left:
        st.subheader("Traces by day")
        _days(figures, wanted)
    with right:
        st.subheader("First break by rule")
        _codes(figures, wanted)
    left, right = st.columns(2)
    with left:
        st.subheader("Models and rules")
        _heat(figures, wanted)
    with right:
        st.subheader("The step that broke")
        _steps(figures, wanted)
    st.subheader("Measures")
    _measures(figures.whole)
    if st.button("The traces behind these numbers", type="primary"):
        go("traces", filter=wanted)


def _summary(whole: GroupFigures, figures: TriageFigures) -> Line:
    broken = hits(whole, "broken")
    said = f"{whole.traces:,} traces, {broken:,} broken ({percent(broken / whole.traces)})"
    first = figures.codes[0] if figures.codes else None
    why = f"; most by {code_title(first.value)} ({first.traces:,})" if first else ""
    return (Run(f"{said}{why}.", Style.STRONG),)


def _days(figures: TriageFigures, wanted: str) -> None:
    days = sorted(figures.days, key=lambda group: group.keys)[-_MOST_DAYS:]
    rows = [
        {"day": group.keys[0] or "no date", "status": status, "traces": hits(group, status), "rank": rank}
        for group in days
        for rank, status in enumerate(STATUSES)
    ]
    found = statuses_by_day(rows, key=f"weaklink_days_{wanted}")
    if found is not None:
        _narrow(wanted, field("status", found[1]))


def _codes(figures: TriageFigures, wanted: str) -> None:
    if not figures.codes:
        st.caption("No chain broke.")
        return
    titles = {code_title(one.value): one.value for one in figures.codes[:_MOST_BARS]}
    rows = [{"rule": code_title(one.value), "traces": one.traces} for one in figures.codes[:_MOST_BARS]]
    found = bars(rows, label="rule", count="traces", key=f"weaklink_codes_{wanted}", order=list(titles))
    if found is not None:
        code = titles[found]
        _narrow(wanted, "status:broken", *([field("code", code)] if code[1:].isdigit() else []))


def _heat(figures: TriageFigures, wanted: str) -> None:
    totals: Mapping[str, int] = {group.keys[0]: group.traces for group in figures.models}
    models = [name for name in totals if name][:_MOST_MODELS]
    codes = _frequent_codes(figures.models_and_codes)
    rows = [
        {
            "model": group.keys[0],
            "rule": group.keys[1],
            "share": group.traces / totals[group.keys[0]],
            "traces": group.traces,
        }
        for group in figures.models_and_codes
        if group.keys[0] in models and group.keys[1] in codes
    ]
    if not rows:
        st.caption("No trace of a named model has a fault.")
        return
    rows.sort(key=lambda row: (models.index(str(row["model"])), codes.index(str(row["rule"]))))
    found = heat_map(rows, across="rule", down="model", share="share", key=f"weaklink_heat_{wanted}")
    st.caption("The share of a model's traces in which a rule found something.")
    if found is not None:
        _narrow(wanted, field("model", found[1]), field("code", found[0]))


def _frequent_codes(groups: Sequence[GroupFigures]) -> list[str]:
    counts: dict[str, int] = {}
    for group in groups:
        counts[group.keys[1]] = counts.get(group.keys[1], 0) + group.traces
    return sorted(counts, key=lambda code: (-counts[code], code))[:_MOST_CODES]


def _steps(figures: TriageFigures, wanted: str) -> None:
    if not figures.steps:
        st.caption("No chain broke.")
        return
    counts: dict[str, int] = {}
    for one in figures.steps:
        label = one.value if int(one.value) <= _LAST_STEP else f">{_LAST_STEP}"
        counts[label] = counts.get(label, 0) + one.traces
    rows = [{"step": step, "traces": traces} for step, traces in counts.items()]
    found = columns(rows, label="step", count="traces", key=f"weaklink_steps_{wanted}", title="step")
    if found is not None:
        _narrow(wanted, f"step:{found}")


def _measures(whole: GroupFigures) -> None:
    rows = []
    for measure in MEASURES:
        one = estimate(measure, whole.tally(measure.name))
        share = one.value if one.value is not None and measure.kind.value.startswith("share") else None
        drawn = (Run(bar(share, 12), Style.INFO),) if share is not None else ()
        cells: tuple[Line, ...] = (
            (Run(measure.title),),
            drawn,
            (Run(value_text(one, FEWEST), Style.PLAIN if one.value is not None else Style.DIM),),
            (Run(measure.meaning, Style.DIM),),
        )
        rows.append(Row(measure.name, cells))
    listing(
        (Column("measure"), Column("", mono=True), Column("value, 95 % interval"), Column("what is counted")),
        rows,
        key="weaklink_measures",
    )


def _narrow(wanted: str, *terms: str) -> None:
    keep(filter=narrowed(wanted, *terms))
    st.rerun()


def _nothing(wanted: str) -> None:
    if not wanted:
        st.info("The database holds no traces yet. `weaklink import PATH` or `weaklink demo` puts some in.")
        return
    st.info("No trace matches this filter.")
    if st.button("Clear the filter"):
        keep(filter=None)
        st.session_state.pop("weaklink_filter", None)
        st.rerun()
