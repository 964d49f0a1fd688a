"""Every number of every page opens exactly the traces that it counts: each is clicked, and the list behind it read."""

import re
from collections.abc import Iterator
from pathlib import Path
from time import time

import pytest
from msgspec.structs import replace
from playwright.sync_api import Locator, Page, expect

from tests.ui.web.dashboards import dashboard
from tests.ui.web.pages_walked import settled
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Instant, Outcome, Trace
from weaklink.storage.store import open_store

_DAY_S = 86_400
_PATHS = ("", "tools", "rules?rule=J104", "settings?age=7d", "compare?what=groups&by=model")
_MORE_PATHS = (
    *("?filter=name%3A%2A", "tools?tool=get_weather", "rules", "settings?age=7d&keep_broken=yes"),
    *(f"compare?what=groups&by={key}" for key in ("format", "source", "prompt", "reasoning")),
)
_FACETS = ("status", "model", "tool", "source", "reasoning")
_EAGER = ("First breaks by rule", "Breaks by tool", "Rules that got worse", "Values of")
_NUMBERED = re.compile(r"^\D*?([\d,]+)\b")
_MARKS = 'svg.marks path[aria-roledescription="bar"], svg.marks path[aria-roledescription="rect mark"]'
_COUNT_OF_MARK = re.compile(r"traces: ([\d,]+)")


@pytest.fixture(scope="module")
def counted_dashboard(demo_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard over the sample traces: of two weeks, some without a date, some with an outcome."""
    home = tmp_path_factory.mktemp("counted")
    now_s = time()
    with open_store(demo_database, read_only=True) as demo, open_store(home / "counted.db") as store:
        traces = [demo.trace(summary.id) for summary in demo.traces(limit=1_000)]
        made = [_dated(trace, index, now_s) for index, trace in enumerate(sorted(traces, key=lambda path: path.name))]
        store.save([(trace, inspect_trace(trace)) for trace in made])
        store.search.index_pending()
    with dashboard(home, home / "counted.db") as address:
        yield address


def _dated(trace: Trace, index: int, now_s: float) -> Trace:
    """The same, of one of the last thirteen days; each fourth without a date."""
    outcome = (None, Outcome(reward=1.0), Outcome(reward=0.0))[index % 3]
    started = None if index % 4 == 3 else Instant(now_s - (index % 13 + 0.5) * _DAY_S)
    return replace(trace, started=started, outcome=outcome, external_ids=())


def _some(count: int, *, all_of_them: bool) -> list[int]:
    """Which of so many are clicked: all, or the last."""
    return list(range(count)) if all_of_them or not count else [count - 1]


def _opens(page: Page, click: Locator, number: int) -> None:
    """A click leads to a list of so many traces; Back leads to the page again."""
    before = page.url
    click.click()
    expect(page).to_have_url(re.compile(r"/traces\?filter="))
    counted = f"{number:,} trace" if number == 1 else f"{number:,} traces"
    expect(page.locator(".st-key-weaklink_summary").filter(has_text=re.compile(rf"^{counted}$"))).to_be_visible()
    page.go_back()
    expect(page).to_have_url(before)
    settled(page)


def _number(words: str) -> int:
    match = _NUMBERED.match(words)
    assert match, words
    return int(match[1].replace(",", ""))


def _walk(page: Page, address: str, *, all_of_them: bool) -> int:
    """Click the numbers of a page; how many they were."""
    page.goto(address)
    settled(page)
    if "settings" not in address:
        page.locator(".listing tbody tr").first.wait_for()
    clicked = 0
    for table in range(page.locator(".listing").count()):
        listing = page.locator(".listing").nth(table)
        label = listing.locator("tbody").get_attribute("aria-label") or ""
        buttons = listing.locator("td button:not(.funnel)")
        for index in _some(buttons.count(), all_of_them=all_of_them):
            _opens(page, buttons.nth(index), _number(buttons.nth(index).inner_text()))
            clicked += 1
        if label.startswith(_EAGER):
            rows = listing.locator("tbody tr")
            for index in _some(rows.count(), all_of_them=all_of_them):
                cell = rows.nth(index).locator("td").nth(1)
                _opens(page, cell, _number(cell.inner_text()))
                clicked += 1
    named = page.locator(
        '[class*="st-key-weaklink_status_"], [class*="st-key-weaklink_undated"], .st-key-weaklink_unnamed'
    )
    buttons = named.get_by_role("button").and_(page.locator(":enabled"))
    for index in range(buttons.count()):
        _opens(page, buttons.nth(index), _number(buttons.nth(index).inner_text()))
        clicked += 1
    shown = page.get_by_role("button", name="Show these traces")
    if shown.count():
        _opens(page, shown, _number(page.locator(".st-key-weaklink_summary", has_text="would be deleted").inner_text()))
        clicked += 1
    explained = page.get_by_role("button", name=re.compile("^Traces with "))
    if explained.count():
        _opens(page, explained, int(explained.inner_text().rpartition(" ")[2]))
        clicked += 1
    return clicked


@pytest.mark.slow
@pytest.mark.parametrize("path", _PATHS)
def test_the_last_number_of_each_table_and_each_button_with_a_number_opens_its_traces(
    counted_dashboard: str, page: Page, path: str
) -> None:
    assert _walk(page, f"{counted_dashboard}{path}", all_of_them=False)


@pytest.mark.slow
@pytest.mark.timeout(1_800)  # some pages have a hundred numbers
@pytest.mark.parametrize("path", [*_PATHS, *_MORE_PATHS])
def test_every_number_opens_its_traces(counted_dashboard: str, page: Page, path: str) -> None:
    assert _walk(page, f"{counted_dashboard}{path}", all_of_them=True)


def _marks(page: Page) -> list[tuple[str, int]]:
    """The marks of the charts that count traces, by what is read aloud of them."""
    labels = [mark.get_attribute("aria-label") or "" for mark in page.locator(_MARKS).all()]
    collected = [(label, _COUNT_OF_MARK.search(label)) for label in labels]
    return [(label, int(count[1].replace(",", ""))) for label, count in collected if count and count[1] != "0"]


@pytest.mark.slow
def test_every_mark_of_a_chart_opens_its_traces(counted_dashboard: str, page: Page) -> None:
    page.goto(counted_dashboard)
    settled(page)
    page.wait_for_function("() => document.querySelectorAll('svg.marks').length >= 3")
    marks = _marks(page)
    kinds = {label.partition(":")[0] for label, _ in marks}
    assert len(kinds) == 3, kinds
    chosen = [end for kind in sorted(kinds) for end in _ends([mark for mark in marks if mark[0].startswith(kind)])]
    for label, number in chosen:
        _opens(page, page.locator(f'svg.marks path[aria-label="{label}"]'), number)


def _ends(marks: list[tuple[str, int]]) -> list[tuple[str, int]]:
    return [marks[index] for index in _some(len(marks), all_of_them=False)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["code", *(pytest.param(facet, marks=pytest.mark.slow) for facet in _FACETS)])
def test_the_values_of_a_facet_narrow_to_as_many_traces_as_they_count(
    counted_dashboard: str, page: Page, name: str
) -> None:
    for column in (1, 2):
        page.goto(f"{counted_dashboard}traces")
        settled(page)
        page.get_by_role("radio", name=name, exact=True).click()
        rows = page.locator(f'tbody[aria-label^="Values of {name};"] tr')
        rows.first.wait_for()
        settled(page)
        cell = next(
            rate_cell
            for rate_cell in (row.locator("td").nth(column) for row in rows.all())
            if _NUMBERED.match(rate_cell.inner_text())
        )
        number = _number(cell.inner_text())
        (cell if column == 1 else cell.get_by_role("button")).click()
        expect(page).to_have_url(re.compile(r"/traces\?filter="))
        counted = f"{number:,} trace" if number == 1 else f"{number:,} traces"
        expect(page.locator(".st-key-weaklink_summary").filter(has_text=re.compile(rf"^{counted}$"))).to_be_visible()
