"""The figures of the first page: their queries, rows and charts; a click on a number opens the traces it counts."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, TypeAlias

import streamlit as st
from msgspec import Struct
from streamlit.delta_generator import DeltaGenerator

from weaklink.inspector.chain.metrics_groups import Aspect, GroupFigures, GroupKey, Slice
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.views.styled_text import Run, Style, counted, visible_line
from weaklink.ui.views.trace_summary import trace_title
from weaklink.ui.views.triage import code_title, percent
from weaklink.ui.web.charts import HIGH, LOW, TALL, Rows, columns, heat_map, statuses_over_time
from weaklink.ui.web.components import BarCell, LinkCell, ListingCell, ListingColumn, ListingRow
from weaklink.ui.web.filter_bar import STATUSES, field, narrowed
from weaklink.ui.web.markup import label
from weaklink.ui.web.navigation import address_toggle, go_to_page, parameter
from weaklink.ui.web.queries import CountQuery, PageResults, grouped, hits, put_placeholder, sliced
from weaklink.ui.web.trace_listing import SortedColumn, sorted_listing

_MAX_BARS = 10
_MAX_MODELS, _MAX_CODES = 10, 12
_MAX_TOOLS, _MAX_WORSE, _EXAMPLES = 10, 5, 1
_MAX_TIME_BARS = 60
LAST_WEEK, WEEK_BEFORE = "since:7d", "since:14d before:7d"
"""The last seven days, and the seven before them, as filters."""
_BEFORE = "before "
UNDATED = "not since:1970-01-01 not before:1970-01-01"
"""The filter for traces without a time of recording."""
_LAST_STEP = 12
_FEW = 4
_SHARES = "shares"
_DRAWN_HIGH, _DRAWN_TALL = "weaklink_drawn_high", "weaklink_drawn_tall"
Groups: TypeAlias = tuple[GroupFigures, ...]
Slices: TypeAlias = tuple[Slice, ...]


class TriageQueries(Struct, frozen=True):
    """The queries of the triage page over the traces that match a filter."""

    whole: CountQuery[Groups]
    codes: CountQuery[Slices]
    days: CountQuery[Groups]
    models: CountQuery[Groups]
    models_and_codes: CountQuery[Groups]
    steps: CountQuery[Slices]
    tools: CountQuery[Slices]
    last_week: CountQuery[Groups]
    last_week_codes: CountQuery[Slices]
    week_before: CountQuery[Groups]
    week_before_codes: CountQuery[Slices]

    def all(self) -> tuple[CountQuery[Any], ...]:
        """All queries, the most urgent first."""
        charts = (self.models, self.models_and_codes, self.tools, self.days, self.steps)
        return (self.whole, self.codes, *self.weeks(), *charts)

    def weeks(self) -> tuple[CountQuery[Any], ...]:
        """The queries of the last week and of the week before."""
        return (self.last_week, self.last_week_codes, self.week_before, self.week_before_codes)


class TriageFigures(Struct, frozen=True):
    """The queries, and the results that are available."""

    queries: TriageQueries
    results: PageResults

    def has(self, *queries: CountQuery[Any]) -> bool:
        """Whether all of these queries have results."""
        return all(query in self.results for query in queries)

    def whole(self) -> GroupFigures:
        """The figures of all traces together; requires a result of `queries.whole` that is not empty."""
        return self.results[self.queries.whole][0]

    def is_uncounted(self) -> bool:
        """Whether no trace is counted in any figure."""
        return self.has(self.queries.whole) and not self.results[self.queries.whole]


def triage_queries(filter_text: str) -> TriageQueries:
    """The queries for a filter."""
    return TriageQueries(
        whole=grouped(filter_text),
        codes=sliced(filter_text, Aspect.CODE),
        days=grouped(filter_text, GroupKey.DAY),
        models=grouped(filter_text, GroupKey.MODEL),
        models_and_codes=grouped(filter_text, GroupKey.MODEL, GroupKey.CODE),
        steps=sliced(filter_text, Aspect.STEP),
        tools=sliced(filter_text, Aspect.TOOL),
        last_week=grouped(narrowed(filter_text, LAST_WEEK)),
        last_week_codes=sliced(narrowed(filter_text, LAST_WEEK), Aspect.CODE),
        week_before=grouped(narrowed(filter_text, WEEK_BEFORE)),
        week_before_codes=sliced(narrowed(filter_text, WEEK_BEFORE), Aspect.CODE),
    )


def time_rows(days: Sequence[GroupFigures]) -> Rows:
    """A row for each status of each day, or of each week or month of a long span; undated traces are left out.

    `key` is the filter for the traces that the row counts.
    """
    counts: dict[tuple[date, date, str], int] = {}
    dated = [(date.fromisoformat(group.keys[0]), group) for group in days if group.keys[0]]
    span = (max(day for day, _ in dated) - min(day for day, _ in dated)).days if dated else 0
    for day, group in dated:
        start, end = _bucket(day, span)
        for status in STATUSES:
            counts[start, end, status] = counts.get((start, end, status), 0) + hits(group, status)
    return [
        {
            "start": f"{start}T00:00:00Z",
            "end": f"{end}T00:00:00Z",
            "time": str(start) if (end - start).days == 1 else f"{start} to {end - timedelta(days=1)}",
            "status": status,
            "traces": traces,
            "rank": STATUSES.index(status),
            "key": f"since:{start} before:{end} status:{status}",
        }
        for (start, end, status), traces in sorted(counts.items())
        if traces
    ]


def _bucket(day: date, span: int) -> tuple[date, date]:
    """The day, week or month that contains a day: its first day, and the day after its last."""
    if span <= _MAX_TIME_BARS:
        return day, day + timedelta(days=1)
    if span <= 7 * _MAX_TIME_BARS:
        monday = day - timedelta(days=day.weekday())
        return monday, monday + timedelta(days=7)
    first = day.replace(day=1)
    return first, (first + timedelta(days=32)).replace(day=1)


def code_rows(codes: Sequence[Slice]) -> Rows:
    """A row for each of the most frequent reasons of breaks, with its share of all breaks."""
    total = sum(code.traces for code in codes)
    return [
        {
            "rule": code_title(code.value),
            "value": code.value,
            "traces": code.traces,
            "share": code.traces / total,
            "said": f"{code.traces:,} · {percent(code.traces / total)} %",
        }
        for code in codes[:_MAX_BARS]
    ]


class WorseRule(Struct, frozen=True):
    """A rule that broke a larger share of the traces of the last seven days than of the seven before."""

    value: str
    now: int
    traces_now: int
    before: int
    traces_before: int

    @property
    def increase(self) -> float:
        """The increase of the share."""
        return self.now / self.traces_now - self.before / self.traces_before


def worse_rules(now: Sequence[Slice], traces_now: int, before: Sequence[Slice], traces_before: int) -> list[WorseRule]:
    """The rules with an increased share, the largest increase first; none if either week has no traces."""
    if not traces_now or not traces_before:
        return []
    known = {slice_.value: slice_.traces for slice_ in before}
    rules = [
        WorseRule(slice_.value, slice_.traces, traces_now, known.get(slice_.value, 0), traces_before) for slice_ in now
    ]
    return sorted((rule for rule in rules if rule.increase > 0), key=lambda rule: (-rule.increase, rule.value))


def heat_rows(by_model: Sequence[GroupFigures], by_model_and_code: Sequence[GroupFigures]) -> Rows:
    """A row for each pair of a frequent model and a frequent rule, even if they never occur together."""
    totals = {group.keys[0]: group.traces for group in by_model if group.keys[0]}
    counts = {(group.keys[0], group.keys[1]): group.traces for group in by_model_and_code if group.keys[0]}
    codes = _frequent_codes(counts)
    met = {model for model, code in counts if code in codes}
    models = [model for model in totals if model in met][:_MAX_MODELS]
    return [
        {
            "model": visible_line(model),
            "value": model,
            "rule": code,
            "title": code_title(code),
            "traces": counts.get((model, code), 0),
            "share": counts.get((model, code), 0) / totals[model],
        }
        for model in models
        for code in codes
    ]


def step_rows(steps: Sequence[Slice]) -> Rows:
    """A row for each step at which chains broke; late steps share one row."""
    counts: dict[str, int] = {}
    for slice_ in steps:
        label = slice_.value if int(slice_.value) <= _LAST_STEP else f">{_LAST_STEP}"
        counts[label] = counts.get(label, 0) + slice_.traces
    return [{"step": step, "traces": traces} for step, traces in counts.items()]


def _frequent_codes(traces_by_cell: dict[tuple[str, str], int]) -> list[str]:
    counts: dict[str, int] = {}
    for (_, code), traces in traces_by_cell.items():
        counts[code] = counts.get(code, 0) + traces
    return sorted(counts, key=lambda code: (-counts[code], code))[:_MAX_CODES]


def charts(figures: TriageFigures, filter_text: str) -> None:
    """Draw the charts with results, and placeholders for the others: models and tools, then time and steps."""
    if not figures.has(figures.queries.models):
        st.session_state[_DRAWN_HIGH] = filter_text
    left, right = st.columns([3, 2], gap="medium")
    height = _height(figures, figures.queries.models, filter_text)
    with left, _chart_container("heat", height):
        _heat(figures, filter_text, height)
    with right, _chart_container("tools", height):
        _tools(figures, filter_text, height)
    left, right = st.columns([3, 2], gap="medium")
    with left, _chart_container("days", LOW):
        _days(figures, filter_text, LOW)
    with right, _chart_container("steps", LOW):
        _steps(figures, filter_text, LOW)


def _height(figures: TriageFigures, rows: CountQuery[tuple[Any, ...]], filter_text: str) -> int:
    """Low for few rows; but after a higher placeholder it stays high, so that the page below does not move."""
    return HIGH if st.session_state.get(_DRAWN_HIGH) == filter_text or len(figures.results[rows]) > _FEW else LOW


_HEIGHTS = {LOW: "low", HIGH: "high", TALL: "tall"}


def _chart_container(name: str, height: int) -> DeltaGenerator:
    """A container with the height of its chart: the browser draws the chart late, and the page below would jump."""
    return st.container(key=f"weaklink_{_HEIGHTS[height]}_{name}")


def open_list(filter_text: str, *terms: str) -> None:
    """Open the list of the traces that match a filter and these terms."""
    go_to_page("traces", filter=narrowed(filter_text, *terms))


def breaks(figures: TriageFigures, filter_text: str, worst_of: Callable[[str], TraceSummary | None]) -> None:
    """Draw what breaks most, with the worst trace of the first rule, and what got worse.

    Room is kept only for figures that are still counted: below a short list there is nothing empty.
    """
    queries = figures.queries
    if not figures.has(queries.codes, *queries.weeks()):
        st.session_state[_DRAWN_TALL] = filter_text
    is_drawn_tall = st.session_state.get(_DRAWN_TALL) == filter_text
    left, right = st.columns([3, 2], gap="medium")
    with left, _chart_container("codes", TALL) if is_drawn_tall else st.container():
        _what_breaks(figures, filter_text, worst_of)
    with right, _chart_container("worse", TALL) if is_drawn_tall else st.container():
        _what_got_worse(figures, filter_text)


def _what_breaks(figures: TriageFigures, filter_text: str, worst_of: Callable[[str], TraceSummary | None]) -> None:
    st.subheader("What breaks most", anchor=False)
    if not figures.has(figures.queries.codes):
        put_placeholder(TALL)
        return
    codes = figures.results[figures.queries.codes]
    if not codes:
        st.caption("No chain broke.")
        return
    rows = code_rows(codes)
    done = sorted_listing(
        _BREAK_COLUMNS,
        rows,
        _code_row,
        name="breaks",
        default="chains",
        key=f"weaklink_codes_{filter_text}",
        label="First breaks by rule",
        is_eager=True,
        most_rem=23,
    )
    left_out = f" {counted(len(codes) - len(rows), 'more rule')} broke other traces." if len(codes) > len(rows) else ""
    st.caption(f"Click a rule to list its traces.{left_out}")
    if done.opened is not None:
        open_list(filter_text, field("break", done.opened))
    for row in rows[:_EXAMPLES]:
        narrower = narrowed(filter_text, field("break", str(row["value"])))
        worst = worst_of(narrower)
        if worst is not None and st.button(
            f"Worst by {label(str(row['value']))}: {worst.id} {label(trace_title(worst), most=60)}",
            key=f"weaklink_worst_{row['value']}",
            type="tertiary",
            icon=":material/open_in_new:",
            help="The trace with the most errors, of the newest hundred that this rule broke.",
        ):
            go_to_page("trace", trace=worst.id, filter=narrower)


_BREAK_COLUMNS: tuple[SortedColumn[Mapping[str, Any]], ...] = (
    SortedColumn(ListingColumn("first break", order="rule"), lambda row: str(row["rule"])),
    SortedColumn(ListingColumn("traces, share of all breaks", order="chains"), lambda row: float(row["traces"])),
)


def _code_row(row: Mapping[str, object]) -> ListingRow:
    share = float(str(row["share"]))
    return ListingRow(
        str(row["value"]), ((Run(str(row["rule"]), Style.STRONG),), BarCell(share, (Run(str(row["said"])),)))
    )


def _what_got_worse(figures: TriageFigures, filter_text: str) -> None:
    st.subheader("Worse than the week before", anchor=False)
    queries = figures.queries
    if not figures.has(*queries.weeks()):
        put_placeholder(TALL)
        return
    now, before = (
        sum(group.traces for group in figures.results[query]) for query in (queries.last_week, queries.week_before)
    )
    weeks = f"{counted(now, 'trace')} in the last 7 days, {before:,} in the 7 days before"
    rules = worse_rules(
        figures.results[queries.last_week_codes], now, figures.results[queries.week_before_codes], before
    )
    if not rules:
        st.caption(f"{'Nothing got worse' if now and before else 'Nothing to compare'}: {weeks}.")
        return
    done = sorted_listing(
        _WORSE_COLUMNS,
        rules[:_MAX_WORSE],
        _worse_row,
        name="worse",
        default="increase",
        key=f"weaklink_worse_{filter_text}",
        label="Rules that got worse",
        is_eager=True,
    )
    st.caption(f"Broken traces, and their share of all traces: {weeks}.")
    if done.opened is not None:
        week = WEEK_BEFORE if done.opened.startswith(_BEFORE) else LAST_WEEK
        open_list(filter_text, week, field("break", done.opened.removeprefix(_BEFORE)))


_WORSE_COLUMNS: tuple[SortedColumn[WorseRule], ...] = (
    SortedColumn(ListingColumn("first break", order="rule"), lambda rule: code_title(rule.value)),
    SortedColumn(ListingColumn("last 7 days", "end", order="now"), lambda rule: rule.now / rule.traces_now),
    SortedColumn(ListingColumn("before", "end", order="before"), lambda rule: rule.before / rule.traces_before),
    SortedColumn(ListingColumn("increase", "end", order="increase"), lambda rule: rule.increase),
)


def _worse_row(rule: WorseRule) -> ListingRow:
    now, before = rule.now / rule.traces_now, rule.before / rule.traces_before
    before_cell = (Run(f"{rule.before:,} · {percent(before)} %"),)
    cells: tuple[ListingCell, ...] = (
        (Run(code_title(rule.value), Style.STRONG),),
        (Run(f"{rule.now:,} · {percent(now)} %", Style.ERROR),),
        LinkCell(f"{_BEFORE}{rule.value}", before_cell) if rule.before else before_cell,
        (Run(f"+{percent(rule.increase)} %"),),
    )
    return ListingRow(rule.value, cells)


def _tools(figures: TriageFigures, filter_text: str, height: int) -> None:
    st.subheader("The tool that broke", anchor=False)
    if not figures.has(figures.queries.tools):
        put_placeholder(height)
        return
    tools = figures.results[figures.queries.tools]
    if not tools:
        st.caption("No chain broke.")
        return
    total = sum(tool.traces for tool in tools)
    done = sorted_listing(
        _TOOL_COLUMNS,
        tools[:_MAX_TOOLS],
        lambda tool: _tool_row(tool, total),
        name="broken",
        default="chains",
        key=f"weaklink_broken_tools_{filter_text}",
        label="Breaks by tool",
        is_eager=True,
        most_rem=23,
    )
    if done.opened is not None:
        open_list(filter_text, field("break_tool", done.opened))


_TOOL_COLUMNS: tuple[SortedColumn[Slice], ...] = (
    SortedColumn(ListingColumn("first break at", order="tool"), lambda tool: tool.value),
    SortedColumn(ListingColumn("traces, share of all breaks", order="chains"), lambda tool: tool.traces),
)


def _tool_row(tool: Slice, total: int) -> ListingRow:
    """A row for a tool at whose calls chains broke first; its key is the tool's name."""
    bar = BarCell(tool.traces / total, (Run(f"{tool.traces:,} · {percent(tool.traces / total)} %"),))
    return ListingRow(tool.value, ((Run(visible_line(tool.value) or "(no readable name)", Style.STRONG),), bar))


def _days(figures: TriageFigures, filter_text: str, height: int) -> None:
    st.subheader("Traces over time", anchor=False)
    if not figures.has(figures.queries.days):
        put_placeholder(height)
        return
    days = figures.results[figures.queries.days]
    rows = time_rows(days)
    if not rows:
        st.caption("No trace has a recording time.")
        return
    is_share = parameter("days") == _SHARES
    clicked = statuses_over_time(rows, key=f"weaklink_days_{is_share}_{filter_text}", is_share=is_share, height=height)
    address_toggle("As percentages", "days", _SHARES, key="weaklink_day_shares")
    for undated in (group for group in days if not group.keys[0]):
        broken = hits(undated, "broken")
        text = f"{counted(undated.traces, 'more trace')} without a date"
        with st.container(horizontal=True, gap="small"):
            if st.button(text, key="weaklink_undated", type="tertiary"):
                open_list(filter_text, UNDATED)
            if broken and st.button(f"{broken:,} of them broken", key="weaklink_undated_broken", type="tertiary"):
                open_list(filter_text, UNDATED, field("status", "broken"))
    if clicked is not None:
        open_list(filter_text, *clicked.split())


def _heat(figures: TriageFigures, filter_text: str, height: int) -> None:
    st.subheader("Models and rules", anchor=False)
    if not figures.has(figures.queries.models, figures.queries.models_and_codes):
        put_placeholder(height)
        return
    models = figures.results[figures.queries.models]
    rows = heat_rows(models, figures.results[figures.queries.models_and_codes])
    if not rows:
        st.caption("No trace with a known model has a fault.")
        return
    clicked = heat_map(
        rows, across="rule", down="model", share="share", key=f"weaklink_heat_{filter_text}", height=height
    )
    unnamed = next((group.traces for group in models if not group.keys[0]), 0)
    st.caption("The share of a model's traces in which a rule reported a fault.")
    if unnamed and st.button(
        f"{counted(unnamed, 'more trace')} without a known model", key="weaklink_unnamed", type="tertiary"
    ):
        open_list(filter_text, field("model", ""))
    if clicked is not None:
        cell = next(row for row in rows if (row["rule"], row["model"]) == clicked)
        if cell["traces"]:
            open_list(filter_text, field("model", str(cell["value"])), field("code", clicked[0]))


def _steps(figures: TriageFigures, filter_text: str, height: int) -> None:
    st.subheader("The step that broke", anchor=False)
    if not figures.has(figures.queries.steps):
        put_placeholder(height)
        return
    steps = figures.results[figures.queries.steps]
    if not steps:
        st.caption("No chain broke.")
        return
    clicked = columns(
        step_rows(steps), label="step", count="traces", key=f"weaklink_steps_{filter_text}", title="step", height=height
    )
    st.caption("Broken traces by the step at which they broke.")
    if clicked is not None:
        open_list(filter_text, f"step:{clicked}")
