"""Home: what breaks, how often and where; a click on a mark opens its traces."""

from collections.abc import Iterator, Sequence

import streamlit as st

from weaklink.inspector.chain.metrics import FEWEST, MEASURES, TASK_CASES, MeasureKind, estimate
from weaklink.inspector.chain.steps import Status
from weaklink.inspector.model import TaskOutcome
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.views.status import status_run
from weaklink.ui.views.styled_text import Run, Style, counted
from weaklink.ui.views.triage import HEADS, TaskCase, code_title, page_value_text, percent, task_cases
from weaklink.ui.web.charts import LOW
from weaklink.ui.web.components import BarCell, LinkCell, ListingCell, ListingColumn, ListingRow, MinimumWidth, listing
from weaklink.ui.web.filter_bar import STATUSES, field, filter_bar, nothing_found
from weaklink.ui.web.markup import COLOUR_NAMES, page_head
from weaklink.ui.web.navigation import go_to_page
from weaklink.ui.web.queries import hits, page_results, put_placeholder, put_progress, start_queries
from weaklink.ui.web.stores import store
from weaklink.ui.web.trace_listing import trace_list, trace_rows
from weaklink.ui.web.triage_charts import TriageFigures, breaks, charts, open_list, triage_queries

_NEWEST, _NEWEST_OF_A_RULE = 10, 100
_CHAINS = {
    "ok": "(status:ok or status:recovered)",
    "broken": "status:broken",
    "cut or not kept": "(status:aborted or status:unknown)",
}
_CHAIN_TITLES = {"ok": "ok or recovered"}  # the buttons count the two statuses apart
_OUTCOMES = (TaskOutcome.SUCCESS, TaskOutcome.FAILURE, TaskOutcome.UNKNOWN)


def show() -> None:
    """Draw the page; a click on a number opens the traces that it counts. Numbers still being counted follow later."""
    page_head("What breaks")
    filter_text = filter_bar("triage")
    if filter_text is None:
        return
    queries = triage_queries(filter_text)
    start_queries(*queries.all())
    rows = trace_rows(store().traces(filter_text, limit=_NEWEST), filter_text)
    if not rows:
        nothing_found(filter_text)
        return
    figures = TriageFigures(queries, page_results(*queries.all()))
    if figures.is_uncounted():
        st.info(
            "No figures for these traces: their derived data is missing. Run `weaklink db reinspect` to rebuild it."
        )
        _newest(rows, filter_text)
        return
    put_progress(figures.results, _summary(figures))
    _statuses(figures, filter_text)
    breaks(figures, filter_text, worst_trace)
    charts(figures, filter_text)
    _newest(rows, filter_text)
    _tasks(figures, filter_text)
    _measures(figures)


def _summary(figures: TriageFigures) -> str:
    if not figures.has(figures.queries.whole):
        return ""
    whole = figures.whole()
    broken = hits(whole, "broken")
    text = f"{counted(whole.traces, 'trace')}, {broken:,} broken ({percent(broken / whole.traces)} %)"
    codes = figures.results[figures.queries.codes] if figures.has(figures.queries.codes) else ()
    if not codes:
        return f"{text}."
    return f"{text}; most often by {code_title(codes[0].value)} ({codes[0].traces:,} of {broken:,})."


def worst_trace(filter_text: str) -> TraceSummary | None:
    """The trace with the most errors, of the newest hundred that match a filter; None if there are none."""
    return max(store().traces(filter_text, limit=_NEWEST_OF_A_RULE), key=lambda trace: trace.errors, default=None)


def _statuses(figures: TriageFigures, filter_text: str) -> None:
    """Draw a button per status, which opens its traces even before they are counted."""
    is_counted = figures.has(figures.queries.whole)
    with st.container(horizontal=True, gap="xsmall", key="weaklink_statuses"):
        for status in STATUSES:
            shown = status_run(Status(status))
            glyph, colour = shown.text.partition(" ")[0], COLOUR_NAMES[shown.style]
            words, is_empty = status, False
            if is_counted:
                count = hits(figures.whole(), status)
                words, is_empty = f"{count:,} {status} · {percent(count / figures.whole().traces)} %", not count
            text = f":{colour}[{glyph}] {words}"
            if st.button(text, key=f"weaklink_status_{status}", disabled=is_empty):
                open_list(filter_text, field("status", status))


def task_terms(chain: str, column: int) -> str:
    """The filter for the traces that a number of the table counts, by its row's name and its column."""
    return f"{_CHAINS[chain]} {field('outcome', _OUTCOMES[column].value)}"


def _tasks(figures: TriageFigures, filter_text: str) -> None:
    """Draw the chain's status against the source's outcome, if any source reports outcomes."""
    if not figures.has(figures.queries.whole):
        return
    rows = [
        ListingRow(_CHAINS[case.chain], ((Run(_CHAIN_TITLES.get(case.chain, case.chain)),), *_task_cells(case)))
        for case in task_cases(figures.whole())
    ]
    if rows:
        columns = (ListingColumn(HEADS[0]), *(ListingColumn(head, "end") for head in HEADS[1:]))
        done = listing(columns, rows, key="weaklink_tasks", label="Traces by the outcome of their tasks")
        if done.opened is not None:
            open_list(filter_text, done.opened)


def _task_cells(case: TaskCase) -> Iterator[ListingCell]:
    for column, count in enumerate(case.counts):
        number = (Run(f"{count:,}"),)
        yield LinkCell(task_terms(case.chain, column), number) if count else number


def _newest(rows: Sequence[ListingRow], filter_text: str) -> None:
    """Draw the newest of the traces that the numbers count."""
    st.subheader("Newest traces", anchor=False)
    opened = trace_list(rows, filter_text, key="weaklink_newest", label="The newest traces")
    if opened is not None:
        go_to_page("trace", trace=opened, filter=filter_text)
    if st.button("Show all", icon=":material/list:"):
        go_to_page("traces", filter=filter_text)


def _measures(figures: TriageFigures) -> None:
    st.subheader("Measures", anchor=False)
    if not figures.has(figures.queries.whole):
        put_placeholder(LOW)
        return
    whole, rows = figures.whole(), []
    for measure in (measure for measure in MEASURES if measure.name not in TASK_CASES):
        measured = estimate(measure, whole.tally(measure.name))
        is_share = measure.kind is not MeasureKind.MEAN
        text = Run(page_value_text(measured, FEWEST), Style.PLAIN if measured.value is not None else Style.DIM)
        value: ListingCell = BarCell(measured.value if is_share else None, (text,))
        meaning = measure.meaning if measured.value is not None else measure.absent
        rows.append(ListingRow(measure.name, ((Run(measure.title),), value, (Run(meaning, Style.DIM),))))
    heads = (
        ListingColumn("measure"),
        ListingColumn("value, 95 % interval"),
        ListingColumn("what is counted", room=MinimumWidth.MEDIUM),
    )
    listing(heads, rows, key="weaklink_measures", label="Measures")
