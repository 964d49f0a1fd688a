"""The page that runs a user's SQL, and the page that imports, without a browser."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.scenes import broken_trace
from weaklink.storage.console import ask
from weaklink.storage.engine import DatabaseLocation
from weaklink.storage.store import open_store
from weaklink.ui.web.pages.sql import _EXAMPLES
from weaklink.ui.web.stores import DashboardOptions, set_options


@pytest.fixture
def served(tmp_path: Path) -> Iterator[DatabaseLocation]:
    """Where the store is that the pages show; it holds one broken trace."""
    with open_store(tmp_path / "w.db") as store:
        store.save([broken_trace()])
        location = store.location
    set_options(DashboardOptions(str(tmp_path / "w.db")))
    yield location
    set_options(DashboardOptions())


def _sql() -> None:
    from weaklink.ui.web.pages.sql import show  # noqa: PLC0415  # AppTest runs this function's text as a file

    show()


def _imports() -> None:
    from weaklink.ui.web.pages.imports import show  # noqa: PLC0415  # as above

    show()


def _page(script: Callable[[], None], **asked: str) -> AppTest:
    app = AppTest.from_function(script, default_timeout=30)
    for key, value in asked.items():
        app.query_params[key] = value
    return app.run()


@pytest.mark.parametrize("title", list(_EXAMPLES))
def test_every_example_runs(served: DatabaseLocation, title: str) -> None:
    assert ask(served, _EXAMPLES[title]).columns


def _run(statement: str) -> AppTest:
    page = _page(_sql, sql=statement)
    return page.button[0].click().run()


def test_the_statement_of_the_address_waits_until_it_is_run(served: DatabaseLocation) -> None:
    page = _page(_sql, sql="select status, errors from traces")
    assert not page.exception
    assert page.text_area[0].value == "select status, errors from traces"
    assert "choose Run" in page.info[0].value
    views = len(page.dataframe)
    page.button[0].click().run()
    assert len(page.dataframe) == views + 1
    assert not page.info
    assert page.dataframe[0].value.to_dict("records") == [{"status": "broken", "errors": 2}]


def test_an_example_runs_when_it_is_chosen(served: DatabaseLocation) -> None:
    page = _page(_sql, sql="select 1")
    page.button_group[0].select("Rules by traces").run()
    assert page.text_area[0].value == _EXAMPLES["Rules by traces"]
    assert list(page.dataframe[0].value.columns) == ["code", "traces", "times"]


def test_a_statement_that_would_write_is_refused_in_words(served: DatabaseLocation) -> None:
    page = _run("delete from traces")
    assert not page.exception
    assert "SELECT" in page.error[0].value


@pytest.mark.parametrize("statement", ["delete from traces", "select nothing from nowhere", "selec"])
def test_beside_an_error_the_views_are_still_listed(served: DatabaseLocation, statement: str) -> None:
    page = _run(statement)
    assert page.error
    assert [expander.label for expander in page.expander] == [expander.label for expander in _page(_sql).expander]


def test_two_columns_of_one_name_are_told_apart(served: DatabaseLocation) -> None:
    page = _run("select 1 as n, 2 as n")
    assert page.dataframe[0].value.to_dict("records") == [{"0 n": 1, "1 n": 2}]


def test_what_was_left_out_is_said_below_the_rows(served: DatabaseLocation) -> None:
    page = _run("with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000) select i from n")
    assert [warning.value for warning in page.warning] == [
        "There are more rows; only the first 1,000 are shown. Use LIMIT to choose which."
    ]


def test_what_can_be_read_is_said_before_anything_is_imported(served: DatabaseLocation) -> None:
    page = _page(_imports)
    assert not page.exception
    assert [expander.label for expander in page.expander] == ["Supported sources"]
