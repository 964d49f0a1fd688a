"""SQL of a user's own over the documented views, and what those hold."""

import streamlit as st

from storage.console import VIEWS, Answer, View, ask
from ui.views.visible import visible
from ui.web.places import asked, keep
from ui.web.stores import store

_KEY = "weaklink_sql"
_FIRST = """SELECT model, count(*) AS traces, sum(status = 'broken') AS broken
FROM traces GROUP BY model ORDER BY broken DESC"""
_FIRST_POSTGRESQL = _FIRST.replace("sum(status = 'broken')", "count(*) FILTER (WHERE status = 'broken')")


def show() -> None:
    """Draw the page: the statement that the address holds, its rows, and the views below."""
    st.title("SQL")
    place = store().place
    st.session_state.setdefault(_KEY, asked("sql") or (_FIRST if place.path else _FIRST_POSTGRESQL))
    with st.form("weaklink_sql_form", border=False):
        statement = st.text_area("Statement", key=_KEY, height=160, help="One statement that reads the views below.")
        ran = st.form_submit_button("Run", type="primary")
    if ran or asked("sql"):
        keep(sql=statement)
        _rows(ask(place, statement))
    for view in VIEWS:
        _documented(view)


def _rows(answer: Answer) -> None:
    rows = [
        {f"{index} {name}" if answer.columns.count(name) > 1 else name: value for index, (name, value) in found}
        for found in (
            enumerate(zip(answer.columns, (visible(one) if isinstance(one, str) else one for one in row), strict=True))
            for row in answer.rows
        )
    ]
    st.dataframe(rows, hide_index=True)
    said = f"{len(answer.rows):,} rows"
    st.caption(f"{said}, the first of more; write LIMIT to choose which." if answer.is_cut else said)


def _documented(view: View) -> None:
    with st.expander(f"{view.name}: a row is {view.says}"):
        st.dataframe([{"column": one.name, "holds": one.says} for one in view.columns], hide_index=True)
