"""Tables that sort by a click on a column, and numbers in them that open the traces that they count."""

from itertools import product
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.ui.web.pages_walked import settled
from weaklink.inspector.chain.metrics_groups import GroupKey
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Outcome, Part, Role, Trace, Turn
from weaklink.inspector.rules.catalogue import RULES
from weaklink.storage.store import open_store
from weaklink.ui.views.triage import task_cases
from weaklink.ui.web.components import LinkCell, ListingColumn, ListingRow
from weaklink.ui.web.pages.rules import FoundRule, rule_row
from weaklink.ui.web.pages.tools import violation_row
from weaklink.ui.web.pages.triage import task_terms
from weaklink.ui.web.queries import hits
from weaklink.ui.web.trace_listing import SortedColumn, sorted_items

_Item = tuple[str, float | None]
_COLUMNS: tuple[SortedColumn[_Item], ...] = (
    SortedColumn(ListingColumn("name", order="name"), lambda row: row[0]),
    SortedColumn(ListingColumn("size", order="size"), lambda row: row[1]),
)
_ITEMS: list[_Item] = [("b", 2.0), ("C", None), ("a", 0.0), ("d", 10.0)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("name", "abCd"),
        ("-name", "dCba"),
        ("size", "dbaC"),
        ("-size", "abdC"),
        ("", "bCad"),
        ("nothing", "bCad"),
    ],
)
def test_numbers_begin_with_the_largest_words_with_a_and_what_has_no_value_is_last(order: str, names: str) -> None:
    assert "".join(name for name, _ in sorted_items(_ITEMS, _COLUMNS, order)) == names


def test_numbers_of_the_tables_open_as_many_traces_as_they_say(demo_database: Path) -> None:
    with open_store(demo_database, create=False) as store:
        counted = store.paging().count
        figures = {figure.keys[0]: figure for figure in store.statistics.figures(by=(GroupKey.CODE,))}
        rules = [
            FoundRule(rule, figures[rule.code].traces, hits(figures[rule.code], "broken"))
            for rule in RULES
            if rule.code in figures
        ]
        links = [*(rule_row(rule, 1) for rule in rules), *map(violation_row, store.statistics.violations())]
        led = [link for row in links for link in _links(row)]
        assert len(led) > len(rules)
        assert [(wanted, counted(wanted)) for wanted, _ in led] == led


def test_numbers_of_the_outcomes_open_as_many_traces_as_they_say(tmp_path: Path) -> None:
    call = '<tool_call>\n{"name": "f", "arguments": {}%s}\n</tool_call>'
    answers = [call % ",", "Done.", call % ""]
    outcomes = [Outcome(reward=1.0), Outcome(completed=False), None]
    with open_store(tmp_path / "tasks.db") as store:
        for number, (answer, outcome) in enumerate(product(answers, outcomes)):
            turns = (Turn(Role.USER, (Part("text", f"{number}"),)), Turn(Role.ASSISTANT, (Part("text", answer),)))
            trace = Trace(turns, name=f"task {number}", format="hermes", outcome=outcome)
            store.save([(trace, inspect_trace(trace))])
        cases = task_cases(store.statistics.figures()[0])
        led = [(task_terms(case.chain, index), count) for case in cases for index, count in enumerate(case.counts)]
        assert sum(count for _, count in led) == len(answers) * len(outcomes)
        assert {case.chain for case in cases if any(case.counts)} >= {"ok", "broken"}
        assert [(wanted, store.paging().count(wanted)) for wanted, _ in led] == led


def _links(row: ListingRow) -> list[tuple[str, int]]:
    """The filters that a row's numbers open, with the numbers."""
    return [(cell.key, int(cell.line[0].text.replace(",", ""))) for cell in row.cells if isinstance(cell, LinkCell)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("path", ["tools", "rules"])
def test_a_click_on_a_title_sorts_a_second_the_other_way_and_back_restores_it(
    demo_dashboard: str, page: Page, path: str
) -> None:
    page.goto(f"{demo_dashboard}{path}")
    settled(page)
    heading = page.locator(".listing").first.locator("th", has_text="traces")
    if path == "rules":
        heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    settled(page)
    assert _traces(page) == sorted(_traces(page), reverse=True)
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    expect(page).to_have_url(f"{demo_dashboard}{path}?order=-traces")
    settled(page)
    assert _traces(page) == sorted(_traces(page))
    page.reload()
    settled(page)
    expect(heading).to_have_attribute("aria-sort", "ascending")
    page.go_back()
    expect(heading).to_have_attribute("aria-sort", "descending")


def _traces(page: Page) -> list[int]:
    """The numbers of the column of traces of the first table."""
    table = page.locator(".listing").first
    column = [text.strip(" ▾▴") for text in table.locator("th").all_inner_texts()].index("traces")
    cells = table.locator(f"tbody td:nth-child({column + 1})").all_inner_texts()
    return [int(cell.replace(",", "")) if cell.strip("- ·–") else 0 for cell in cells]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("label", "term"), [("Tools", "tool"), ("Schema violations", "code")])
def test_the_funnel_of_a_value_opens_the_traces_that_have_it(
    demo_dashboard: str, demo_database: Path, page: Page, label: str, term: str
) -> None:
    page.goto(f"{demo_dashboard}tools")
    settled(page)
    row = page.locator(f'tbody[aria-label^="{label};"] tr').first
    row.hover()
    funnel = row.get_by_role("button", name=f"Filter by {term}:")
    wanted = (funnel.get_attribute("aria-label") or "").removeprefix("Filter by ")
    funnel.click()
    expect(page).to_have_url(f"{demo_dashboard}traces?filter={quote(wanted)}")
    settled(page)
    with open_store(demo_database, create=False) as store:
        assert store.paging().count(wanted) > 0
