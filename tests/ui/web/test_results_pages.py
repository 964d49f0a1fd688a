"""The dashboard over results in Parquet: every number opens exactly its traces, and one opens from its file."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import run_text
from tests.ui.web.dashboards import results_dashboard
from tests.ui.web.pages_walked import settled
from weaklink.ui.importing.result_tables import TABLES, ResultsFolder
from weaklink.ui.web.results.opening import (
    conditions,
    read_selection,
    run_statement,
    run_user_statement,
    selection_text,
)
from weaklink.ui.web.results.pages import _EXAMPLES
from weaklink.ui.web.stores import DashboardOptions, set_options

HOSTILE = "<img src=x onerror=alert(1)>\N{RIGHT-TO-LEFT OVERRIDE}' OR 1=1 --"


def conversation(number: int) -> dict[str, object]:
    """Every third breaks; names of models and tools are hostile."""
    arguments = '{"city": "Oslo"' + ("}" if number % 3 else "")
    name = HOSTILE[:40] if number % 2 else "weather"
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {
        "messages": [
            {"role": "user", "content": f"{number}: {HOSTILE}"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "4 degrees"},
            {"role": "assistant", "content": "It is 4 degrees."},
        ],
        "model": HOSTILE if number % 4 == 0 else f"m{number % 4}",
    }


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of results of 30 traces in several blocks."""
    home = tmp_path_factory.mktemp("results")
    log = home / "log.jsonl"
    log.write_text("".join(json.dumps(conversation(number)) + "\n" for number in range(30)), encoding="utf-8")
    done = run_text(home, "import", str(log), "--to", str(home / "out"), "--block-size", "0.003")
    assert done.returncode == 0, done.stderr
    return home / "out"


@pytest.fixture(scope="module")
def address(results: Path) -> Iterator[str]:
    with results_dashboard(results.parent, str(results)) as url:
        yield url


@pytest.fixture
def shown(results: Path) -> Iterator[None]:
    set_options(DashboardOptions(results=str(results)))
    yield
    set_options(DashboardOptions())


def number_in(text: str) -> int:
    match = re.search(r"[\d,]+", text)
    assert match, text
    return int(match[0].replace(",", ""))


# ---------------------------------------------------------------- selections


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("column", "table"),
    [("status", "traces"), ("break_code", "traces"), ("model", "traces"), ("break_tool", "traces"), ("day", "traces")],
)
def test_a_selection_counts_what_its_group_counts(shown: None, column: str, table: str) -> None:
    groups = run_statement(f"SELECT {column}, count(*) FROM {table} GROUP BY 1").rows
    for value, count in groups:
        where, parameters = conditions(read_selection(selection_text({column: value})))
        assert run_statement(f"SELECT count(*) FROM traces WHERE {where}", parameters).rows == ((count,),)


@pytest.mark.parametrize(
    ("table", "keys"),
    [("calls", {"tool": "tool", "valid": "valid"}), ("steps", {"step_tool": "tool", "outcome": "outcome"})],
)
def test_a_selection_by_rows_counts_traces_once(shown: None, table: str, keys: dict[str, str]) -> None:
    columns = ", ".join(keys.values())
    groups = run_statement(f"SELECT {columns}, count(DISTINCT (file, record)) FROM {table} GROUP BY ALL").rows
    assert len(groups) > 1
    for *values, count in groups:
        where, parameters = conditions(dict(zip(keys, values, strict=True)))
        assert run_statement(f"SELECT count(*) FROM traces WHERE {where}", parameters).rows == ((count,),)


@pytest.mark.parametrize("text", ["{", "[1]", '{"file": "x"}', '{"status": {}}', '{"1=1 --": "x"}'])
def test_other_selections_are_refused(text: str) -> None:
    with pytest.raises(Exception, match="the selection in the address"):
        read_selection(text)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("title", list(_EXAMPLES))
def test_every_example_runs(shown: None, title: str) -> None:
    assert run_statement(_EXAMPLES[title]).rows


# ---------------------------------------------------------------- in a browser


def listed(page: Page) -> int:
    """How many traces the list that a click opened says that it has, and has."""
    expect(page.get_by_role("heading", name="Traces", exact=True)).to_be_visible()
    settled(page)
    said = number_in(page.locator(".st-key-weaklink_summary").first.inner_text())
    assert page.locator("tbody tr").count() == said
    return said


def test_the_menu_has_only_pages_that_work_on_results(page: Page, address: str) -> None:
    page.goto(address)
    settled(page)
    names = page.get_by_role("navigation").get_by_role("link").all_inner_texts()
    assert names == ["What breaks", "Traces", "Tools", "SQL"]


def test_numbers_of_what_breaks_open_exactly_their_traces(page: Page, address: str) -> None:
    page.goto(address)
    settled(page)
    assert "30 traces, 10 broken" in page.locator(".st-key-weaklink_summary").first.inner_text()
    page.get_by_role("button", name=re.compile("broken")).first.click()
    assert listed(page) == 10
    page.go_back()
    settled(page)
    cell = page.locator("tbody tr").filter(has_text="img src").get_by_role("button").last
    number = number_in(cell.inner_text())
    cell.click()
    assert listed(page) == number


@pytest.mark.slow
def test_numbers_of_tools_open_exactly_their_traces(page: Page, address: str) -> None:
    page.goto(f"{address}tools")
    settled(page)
    cell = page.locator("tbody tr").filter(has_text="weather").first.get_by_role("button").first
    number = number_in(cell.inner_text())
    assert number == 15
    cell.click()
    assert listed(page) == number


@pytest.mark.slow
def test_a_trace_opens_from_its_file_and_row(page: Page, address: str, results: Path) -> None:
    page.goto(f"{address}traces?only={quote(json.dumps({'status': 'broken'}))}")
    settled(page)
    page.locator("tbody tr").first.click()
    settled(page)
    expect(page.locator("h1")).to_contain_text("line")
    expect(page.get_by_test_id("stMain")).to_contain_text("broken")
    expect(page.get_by_test_id("stMain")).to_contain_text("Oslo")
    page.reload()
    settled(page)
    expect(page.get_by_test_id("stMain")).to_contain_text("Oslo")


def test_an_address_opens_no_other_file(page: Page, address: str, results: Path) -> None:
    other = results.parent / "other.jsonl"
    other.write_text(json.dumps(conversation(1)) + "\n", encoding="utf-8")
    page.goto(f"{address}trace?file={quote(str(other))}&record=line+1")
    settled(page)
    expect(page.get_by_test_id("stAlert")).to_contain_text("the results do not contain this trace")


@pytest.mark.slow
def test_sql_runs_on_the_tables_only_when_it_is_run(page: Page, address: str) -> None:
    page.goto(f"{address}sql?sql={quote('SELECT count(*) AS n FROM traces')}")
    settled(page)
    expect(page.get_by_test_id("stAlert")).to_contain_text("choose Run")
    page.get_by_role("button", name="Run", exact=True).click()
    settled(page)
    expect(page.get_by_text("1 row.")).to_be_visible()


def test_sql_reads_nothing_else(shown: None, results: Path) -> None:
    with pytest.raises(Exception, match="DuckDB"):
        run_user_statement(f"SELECT * FROM read_text('{results.parent}/log.jsonl')")


def test_all_tables_are_documented_on_the_page(results: Path) -> None:
    assert {path.name for path in results.iterdir() if not path.name.startswith("_")} == set(TABLES)
    assert ResultsFolder(str(results)).finished()
