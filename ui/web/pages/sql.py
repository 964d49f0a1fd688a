"""SQL statements of the user over the documented views, and the columns of these views."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import streamlit as st

from weaklink.inspector.errors import StoreError
from weaklink.storage.console import VIEWS, QueryResult, View, ask
from weaklink.storage.console.sql_executor import Value
from weaklink.ui.views.styled_text import counted, visible
from weaklink.ui.web.markup import label, message
from weaklink.ui.web.navigation import go_to_page, parameter, set_parameters
from weaklink.ui.web.stores import store

_KEY = "weaklink_sql"
_RAN = "weaklink_sql_ran"  # the last statement that was run in this session
_EXAMPLES = {
    "Models by broken traces": """SELECT model, count(*) AS traces,
  sum(CASE WHEN status = 'broken' THEN 1 ELSE 0 END) AS broken
FROM traces GROUP BY model ORDER BY broken DESC""",
    "Rules by traces": """SELECT code, count(DISTINCT trace_id) AS traces, count(*) AS times
FROM diagnostics GROUP BY code ORDER BY traces DESC""",
    "Tools by failed calls": """SELECT tool, outcome, count(*) AS calls
FROM calls GROUP BY tool, outcome ORDER BY calls DESC""",
    "Faults with their positions": """SELECT code, trace_id, turn, part, start, "end"
FROM diagnostics ORDER BY trace_id DESC, turn""",
    "Longest waits": """SELECT id AS trace_id, name, model, first_token, max_gap
FROM traces WHERE max_gap IS NOT NULL ORDER BY max_gap DESC""",
}
_PLACE = ("turn", "part", "start", "end")


class TraceLink(NamedTuple):
    """The trace that a row names: its title, and the parameters of the page that shows it."""

    title: str
    parameters: Mapping[str, Value]


def show() -> None:
    """Draw the page: a statement, the rows of the one that was run, and the views below."""
    st.title("SQL", anchor=False)
    location = store().location
    put_statement(
        _EXAMPLES, "One statement that reads the views below", lambda statement: ask(location, statement), _trace_link
    )
    st.subheader("Views", anchor=False)
    for view in VIEWS:
        _documented(view)


def put_statement(
    examples: Mapping[str, str],
    title: str,
    run: Callable[[str], QueryResult],
    link: Callable[[Mapping[str, Value]], TraceLink | None],
) -> None:
    """Draw a box with a `title` for a statement, the `examples` by their titles, and the rows of the one that was run.

    A statement in the address fills the box and runs only on *Run*: an address may come from anybody. A row that names
    a trace, for which `link` returns a link, can be selected to open it.
    """
    st.session_state.setdefault(_KEY, parameter("sql") or next(iter(examples.values())))
    st.pills("Examples", list(examples), key="weaklink_sql_example", on_change=_take, args=(examples,))
    with st.container(key="weaklink_sql_room"), st.form("weaklink_sql_form", border=False):
        statement = st.text_area(f"{title}; Ctrl+Enter runs it", key=_KEY, height=130)
        ran = st.form_submit_button("Run", type="primary")
    if ran:
        st.session_state[_RAN] = statement
        set_parameters(sql=statement)
    if st.session_state.get(_RAN) is not None:
        try:
            _rows(run(st.session_state[_RAN]), link)
        except StoreError as error:  # what is below says what can be read
            st.error(message(str(error)), icon=":material/error:")
    elif parameter("sql"):
        st.info("This statement comes from the address. Read it, then choose Run.", icon=":material/info:")


def _take(examples: Mapping[str, str]) -> None:
    chosen = st.session_state["weaklink_sql_example"]
    if chosen:
        st.session_state[_KEY] = st.session_state[_RAN] = examples[chosen]
        set_parameters(sql=examples[chosen])


def _rows(answer: QueryResult, link: Callable[[Mapping[str, Value]], TraceLink | None]) -> None:
    """Draw the rows as a table; a row that names a trace can be selected."""
    rows = [_row(answer, row) for row in answer.rows]
    has_traces = link(dict.fromkeys(answer.columns)) is not None
    if not has_traces:
        st.dataframe(rows, hide_index=True)
    else:
        event = st.dataframe(rows, hide_index=True, on_select="rerun", selection_mode="single-row", key="weaklink_rows")
        for index in event.selection.rows[:1]:
            chosen = link(dict(zip(answer.columns, answer.rows[index], strict=True)))
            if chosen and st.button(f"Open {chosen.title}", type="primary", icon=":material/account_tree:"):
                go_to_page("trace", **chosen.parameters)
    row_count = counted(len(rows), "row")
    st.caption(f"{row_count}.{' Select one to open its trace.' if has_traces and rows else ''}")
    for note in answer.notes:
        st.warning(note, icon=":material/content_cut:")


def _row(answer: QueryResult, row: tuple[Value, ...]) -> dict[str, Value]:
    """A row by the names of its columns; a repeated name gets the number of its column."""
    shown = (visible(value) if isinstance(value, str) else value for value in row)
    return {
        f"{index} {name}" if answer.columns.count(name) > 1 else name: value
        for index, (name, value) in enumerate(zip(answer.columns, shown, strict=True))
    }


def _trace_link(row: Mapping[str, Value]) -> TraceLink | None:
    """The trace of a row, at the row's characters if it names some."""
    if "trace_id" not in row:
        return None
    where = {name: row[name] for name in _PLACE if name in row}
    position = where if len(where) == len(_PLACE) else {}
    return TraceLink(f"trace {label(str(row['trace_id']))}", {"trace": row["trace_id"], **position})


def _documented(view: View) -> None:
    with st.expander(f"{view.name}: each row is {view.says}"):
        st.dataframe([{"column": column.name, "description": column.says} for column in view.columns], hide_index=True)
