"""*What breaks*, *Tools*, *Traces* and *SQL* over results: every number opens the list of exactly its traces."""

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from weaklink.inspector.chain.steps import Status
from weaklink.storage.console import QueryResult
from weaklink.storage.console.sql_executor import Value
from weaklink.ui.importing.result_tables import TABLES
from weaklink.ui.views.status import status_run
from weaklink.ui.views.styled_text import Line, Run, Style, counted, visible_line
from weaklink.ui.views.triage import code_title, percent
from weaklink.ui.web.charts import HIGH, statuses_over_time
from weaklink.ui.web.components import BarCell, LinkCell, ListingCell, ListingColumn, ListingRow, MinimumWidth, listing
from weaklink.ui.web.filter_bar import STATUSES
from weaklink.ui.web.markup import COLOUR_NAMES, label, put_summary
from weaklink.ui.web.navigation import go_to_page, number_parameter, parameter, set_parameters
from weaklink.ui.web.pages.sql import TraceLink, put_statement
from weaklink.ui.web.results.opening import (
    Selection,
    conditions,
    query_rows,
    read_selection,
    run_user_statement,
    selection_text,
)

_MAX_ROWS = 100
_ON_A_PAGE = 100
_MAX_CELL_CHARS = 200
_NO_NAME = "(no name)"
_EXAMPLES = {
    "Models by broken traces": """SELECT model, count(*) AS traces, count(*) FILTER (status = 'broken') AS broken
FROM traces GROUP BY model ORDER BY broken DESC""",
    "Rules by traces": """SELECT code, count(DISTINCT (file, record)) AS traces, count(*) AS times
FROM diagnostics GROUP BY code ORDER BY traces DESC""",
    "Tools by outcomes": "SELECT tool, outcome, count(*) AS steps FROM steps GROUP BY ALL ORDER BY 3 DESC",
    "Broken traces": """SELECT file, record, break_turn AS turn, break_code, break_message
FROM traces WHERE status = 'broken' ORDER BY errors DESC""",
}


def show_triage() -> None:
    """Draw how many traces broke, by rule, model, tool, step and day."""
    st.title("What breaks", anchor=False)
    statuses = {str(status): _count(traces) for status, traces in _rows_of("status", "true")}
    total = sum(statuses.values())
    broken = statuses.get(Status.BROKEN.value, 0)
    if not total:
        st.info("There are no traces in these results yet.")
        return
    put_summary(f"{counted(total, 'trace')}, {broken:,} broken ({percent(broken / total)} %).")
    _statuses(statuses, total)
    is_broken = {"status": Status.BROKEN.value}
    _groups("First break by rule", "break_code", is_broken, broken, _code_words)
    _groups("Tools at the break", "break_tool", is_broken, broken, _text_words)
    _groups("Steps of the break", "break_step", is_broken, broken, _text_words)
    _models()
    _days()


def show_tools() -> None:
    """Draw every tool: traces that call it, its calls, those not valid as written, and the outcomes of its steps."""
    st.title("Tools", anchor=False)
    calls = query_rows(
        """SELECT tool, count(DISTINCT (file, record)), count(*), count(*) FILTER (NOT valid),
        count(DISTINCT (file, record)) FILTER (NOT valid) FROM calls GROUP BY tool ORDER BY 2 DESC, 1""",
        limit=_MAX_ROWS,
    )
    columns = (
        ListingColumn("tool", is_elastic=True),
        ListingColumn("traces", "end"),
        ListingColumn("calls", "end", room=MinimumWidth.MEDIUM),
        ListingColumn("calls not valid as written", "end", room=MinimumWidth.MEDIUM),
        ListingColumn("traces with such calls", "end"),
    )
    rows = []
    for tool, traces, number, invalid, in_traces in calls.rows:
        calling, failing = selection_text({"tool": tool}), selection_text({"tool": tool, "valid": False})
        cells: tuple[ListingCell, ...] = (
            _text_words(tool),
            LinkCell(calling, _number(traces)),
            _number(number),
            BarCell(_count(invalid) / _count(number), _number(invalid)),
            LinkCell(failing, _number(in_traces)) if in_traces else _number(in_traces),
        )
        rows.append(ListingRow(calling, cells))
    _put_listing(columns, rows, "Tools", calls)
    st.subheader("Outcomes of steps", anchor=False)
    steps = query_rows(
        """SELECT tool, outcome, count(*), count(DISTINCT (file, record)) FROM steps
        GROUP BY tool, outcome ORDER BY 4 DESC, 1, 2""",
        limit=_MAX_ROWS,
    )
    heads = (
        ListingColumn("tool", is_elastic=True),
        ListingColumn("outcome"),
        ListingColumn("steps", "end"),
        ListingColumn("traces", "end"),
    )
    rows = [
        ListingRow(chosen, (_text_words(tool), _text_words(outcome), _number(n), LinkCell(chosen, _number(traces))))
        for tool, outcome, n, traces in steps.rows
        for chosen in (selection_text({"step_tool": tool, "outcome": outcome}),)
    ]
    _put_listing(heads, rows, "Outcomes of steps", steps)


def show_traces() -> None:
    """Draw the traces of a selection, those with the most errors first."""
    st.title("Traces", anchor=False)
    selection = read_selection(parameter("only"))
    where, parameters = conditions(selection)
    total = _count(query_rows(f"SELECT count(*) FROM traces WHERE {where}", *parameters).rows[0][0])  # no user input
    first = min(number_parameter("from") or 0, max(total - 1, 0)) // _ON_A_PAGE * _ON_A_PAGE
    terms = ", ".join(f"{key.replace('_', ' ')} {_shown(value)}" for key, value in selection.items())
    put_summary(f"{counted(total, 'trace')}{f' with {terms}' if terms else ''}.")
    if selection and st.button("All traces", icon=":material/close:"):
        go_to_page("traces")
    result = query_rows(
        f"""SELECT file, record, status, model, name, break_code, break_message, errors, calls FROM traces
        WHERE {where} ORDER BY errors DESC, file, record LIMIT {_ON_A_PAGE} OFFSET {first}""",  # as above
        *parameters,
    )
    columns = (
        ListingColumn("status"),
        ListingColumn("record", mono=True),
        ListingColumn("file", room=MinimumWidth.MEDIUM, is_elastic=True),
        ListingColumn("model", room=MinimumWidth.WIDE),
        ListingColumn("break", is_elastic=True),
        ListingColumn("errors", "end"),
        ListingColumn("calls", "end", room=MinimumWidth.WIDE),
    )
    rows = []
    for number, row in enumerate(result.rows):
        file, record, status, model, _, code, message, errors, calls = row
        what = f"{code or ''} {message or ''}".strip()
        cells = (
            (status_run(Status(str(status))),),
            *map(_words, (record, file, model, what)),
            _number(errors),
            _number(calls),
        )
        rows.append(ListingRow(str(number), cells))
    done = listing(columns, rows, key="weaklink_results_traces", label="Traces", is_eager=True)
    _put_pages(first, total)
    if done.opened is not None and done.opened.isdecimal() and int(done.opened) < len(result.rows):
        file, record = result.rows[int(done.opened)][:2]
        go_to_page("trace", file=file, record=record)


def show_sql() -> None:
    """Draw the page for a SELECT over the five tables."""
    st.title("SQL", anchor=False)
    put_statement(_EXAMPLES, "One SELECT over the tables below", run_user_statement, _trace_link)
    st.subheader("Tables", anchor=False)
    for table, columns in TABLES.items():
        with st.expander(table):
            st.dataframe([{"column": name, "type": kind} for name, kind in columns.items()], hide_index=True)


def _trace_link(row: Mapping[str, Value]) -> TraceLink | None:
    if not {"file", "record"} <= row.keys():
        return None
    title = f"{label(str(row['record']))} of {label(str(row['file']))}"
    return TraceLink(title, {"file": row["file"], "record": row["record"]})


# ---------------------------------------------------------------- parts of pages


def _statuses(statuses: Mapping[str, int], total: int) -> None:
    with st.container(horizontal=True, gap="small"):
        for status in STATUSES:
            shown, count = status_run(Status(status)), statuses.get(status, 0)
            text = f":{COLOUR_NAMES[shown.style]}[{shown.text.partition(' ')[0]}] {count:,} {status}"
            text += f" · {percent(count / total)} %"
            if st.button(text, key=f"weaklink_status_{status}", disabled=not count):
                _open({"status": status})


def _rows_of(column: str, where: str, *parameters: Value, limit: int = _MAX_ROWS) -> tuple[tuple[Value, ...], ...]:
    statement = f"SELECT {column}, count(*) FROM traces WHERE {where} GROUP BY 1 ORDER BY 2 DESC, 1"  # no user input
    return query_rows(statement, *parameters, limit=limit).rows


def _groups(title: str, column: str, within: Selection, total: int, words: Callable[[Value], Line]) -> None:
    """Draw traces by a column; a click on a number opens its traces."""
    where, parameters = conditions(within)
    counted_rows = _rows_of(column, where, *parameters)
    if not counted_rows:
        return
    st.subheader(title, anchor=False)
    rows = []
    for value, traces in counted_rows:
        chosen = selection_text({**within, column: value})
        rows.append(ListingRow(chosen, (words(value), LinkCell(chosen, _number(traces), _count(traces) / total))))
    columns = (ListingColumn(column.replace("break_", ""), is_elastic=True), ListingColumn("traces"))
    done = listing(columns, rows, key=f"weaklink_results_{column}", label=title, is_eager=True)
    if done.opened is not None:
        _open(read_selection(done.opened))


def _models() -> None:
    st.subheader("Models", anchor=False)
    result = query_rows(
        """SELECT model, count(*), count(*) FILTER (status = 'broken') FROM traces
        GROUP BY 1 ORDER BY 3 DESC, 2 DESC, 1""",
        limit=_MAX_ROWS,
    )
    rows = []
    for model, traces, broken in result.rows:
        of_model, of_broken = selection_text({"model": model}), selection_text({"model": model, "status": "broken"})
        share, number = _count(broken) / _count(traces), _number(broken)
        broken_cell: ListingCell = LinkCell(of_broken, number, share) if broken else BarCell(0.0, number)
        rows.append(ListingRow(of_model, (_text_words(model), LinkCell(of_model, _number(traces)), broken_cell)))
    columns = (ListingColumn("model", is_elastic=True), ListingColumn("traces", "end"), ListingColumn("broken"))
    _put_listing(columns, rows, "Models", result)


def _days() -> None:
    """Draw traces by day and status; undated traces are left out."""
    result = query_rows(
        """SELECT day, CAST(CAST(day AS DATE) + 1 AS VARCHAR), status, count(*) FROM traces
        WHERE TRY_CAST(day AS DATE) IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1 DESC""",
        limit=_MAX_ROWS * len(STATUSES),
    )
    if not result.rows:
        return
    rows = [
        {
            "start": f"{day}T00:00:00Z",
            "end": f"{end}T00:00:00Z",
            "time": str(day),
            "status": status,
            "traces": traces,
            "rank": STATUSES.index(str(status)),
            "key": selection_text({"day": day, "status": status}),
        }
        for day, end, status, traces in result.rows
    ]
    st.subheader("By day", anchor=False)
    picked = statuses_over_time(rows, key="weaklink_results_days", is_share=False, height=HIGH)
    if picked is not None:
        _open(read_selection(picked))


def _put_listing(columns: Sequence[ListingColumn], rows: Sequence[ListingRow], title: str, result: QueryResult) -> None:
    done = listing(columns, rows, key=f"weaklink_results_{title}", label=title, is_eager=True)
    left_out = " Only the rows with the most traces are shown." if result.notes else ""
    st.caption(f"Click a number of traces to list them.{left_out}")
    if done.opened is not None:
        _open(read_selection(done.opened))


def _put_pages(first: int, total: int) -> None:
    with st.container(horizontal=True, gap="small"):
        if first and st.button("Previous", icon=":material/chevron_left:"):
            set_parameters(**{"from": max(first - _ON_A_PAGE, 0) or None})
            st.rerun()
        if first + _ON_A_PAGE < total and st.button("Next", icon=":material/chevron_right:"):
            set_parameters(**{"from": first + _ON_A_PAGE})
            st.rerun()


def _open(selection: Selection) -> None:
    go_to_page("traces", only=selection_text(selection))


def _code_words(value: Value) -> Line:
    return (Run(code_title(str(value))),) if value is not None else (Run("no rule", Style.DIM),)


def _text_words(value: Value) -> Line:
    """A value of a trace; a missing or invisible one becomes a placeholder."""
    if value is None or not (shown := _shown(value)):
        return (Run(_NO_NAME, Style.DIM),)
    return (Run(shown),)


def _words(value: Value) -> Line:
    return (Run(_shown(value)),)


def _shown(value: Value) -> str:
    return "none" if value is None else visible_line(str(value)[:_MAX_CELL_CHARS])


def _number(value: Value) -> Line:
    return (Run(f"{_count(value):,}"),)


def _count(value: Value) -> int:
    return int(value or 0)
