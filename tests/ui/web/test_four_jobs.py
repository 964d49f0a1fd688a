"""The four jobs of docs/four-jobs.md take at most five clicks each in the dashboard, with the words of that page."""

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.ui.web.dashboards import dashboard
from tests.ui.web.pages_walked import settled
from weaklink.storage.store import open_store

_MOST_CLICKS = 5


class _Clicks:
    """Clicks, counted; the page stands before each."""

    def __init__(self, page: Page) -> None:
        self.page, self.count = page, 0

    def on(self, target: Locator) -> None:
        settled(self.page)
        target.click()
        self.count += 1


def test_what_broke_and_why(page: Page, demo_dashboard: str) -> None:
    clicks = _Clicks(page)
    page.goto(demo_dashboard)
    clicks.on(page.get_by_role("button", name=re.compile("broken")).first)
    expect(page).to_have_url(re.compile(r"/traces\?filter=status%3Abroken"))
    clicks.on(page.locator('tbody[aria-label^="Traces;"] tr', has_text="Add a --json option").locator("td").nth(2))
    expect(page.locator(".wl-prose", has_text="broke at step 6")).to_be_visible()
    clicks.on(page.get_by_role("button", name="Open", exact=True))
    expect(page.get_by_label("Verdict", exact=True)).to_contain_text("broke at step 6")
    assert clicks.count <= _MOST_CLICKS


def test_why_one_run_failed_where_another_worked(page: Page, demo_dashboard: str) -> None:
    clicks = _Clicks(page)
    page.goto(demo_dashboard)
    clicks.on(page.get_by_role("link", name="Traces"))
    clicks.on(page.locator('tbody[aria-label^="Traces;"] tr', has_text="Add a --json option").locator("td").nth(2))
    expect(page.locator(".wl-prose", has_text="broke at step 6")).to_be_visible()
    clicks.on(page.get_by_role("button", name="Open", exact=True))
    expect(page).to_have_url(re.compile(r"/trace\?"))  # the list has a button of the same name
    clicks.on(page.get_by_role("button", name="Compare", exact=True))
    clicks.on(page.locator('tbody[aria-label^="Traces to add;"] tr').first.locator("td").nth(2))
    expect(page.locator(".wl-prose").first).to_contain_text("Runs differ first")
    assert clicks.count <= _MOST_CLICKS


def test_the_log_of_an_agent_of_my_own(page: Page, tmp_path: Path) -> None:
    open_store(tmp_path / "own.db").close()
    log = tmp_path / "own.jsonl"
    log.write_text('{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]}\n')
    with dashboard(tmp_path, tmp_path / "own.db") as address:
        clicks = _Clicks(page)
        page.goto(address)
        clicks.on(page.get_by_role("link", name="Imports"))
        settled(page)
        with page.expect_file_chooser() as chooser:
            clicks.on(page.get_by_role("button", name="Upload", exact=True).last)
        chooser.value.set_files(log)
        clicks.on(page.get_by_role("button", name="Import 1 file"))
        clicks.on(page.get_by_role("button", name="Show traces"))
        expect(page.locator('tbody[aria-label^="Traces;"] tr')).to_have_count(1)
        assert clicks.count <= _MOST_CLICKS
