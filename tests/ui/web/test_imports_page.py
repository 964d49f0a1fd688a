"""The page *Imports*: the logs of agents on this machine are offered, and imported with a click."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.ui.cli.test_discovery import LOGS, put_logs
from tests.ui.web.dashboards import dashboard
from tests.ui.web.pages_walked import watched
from weaklink.storage.store import open_store


@pytest.mark.slow
def test_the_logs_of_agents_are_offered_and_imported(browser: Browser, tmp_path: Path) -> None:
    put_logs(tmp_path)
    database = tmp_path / "runs.db"
    with dashboard(tmp_path, database) as address, watched(browser) as page:
        page.goto(f"{address}imports")
        expect(page.get_by_text(f"{len(LOGS)} logs of claude-code, codex, pi")).to_be_visible()
        assert not database.exists()
        rows = page.get_by_label("Logs on this machine").get_by_role("row")
        rows.filter(has_text="harbour").filter(has_text=".pi/agent").click()
        page.get_by_role("button", name="Import only pi, harbour").click()
        expect(page.get_by_text(f"; {len(LOGS) - 1} new.")).to_be_visible()
        with open_store(database, read_only=True) as store:
            assert {summary.source for summary in store.traces()} == {"pi"}
        page.get_by_role("button", name="Import what is new").click()
        expect(page.get_by_text("; 0 new.")).to_be_visible()
        with open_store(database, read_only=True) as store:
            assert {summary.source for summary in store.traces()} == set(LOGS)
        page.get_by_role("button", name="Show traces").click()
        expect(page).to_have_url(f"{address}traces")


@pytest.mark.slow
def test_without_logs_of_agents_the_page_does_not_mention_any(browser: Browser, tmp_path: Path) -> None:
    with dashboard(tmp_path, tmp_path / "none.db") as address, watched(browser) as page:
        page.goto(f"{address}imports")
        expect(page.get_by_role("button", name="Import the sample traces")).to_be_visible()
        expect(page.get_by_text("on this machine")).to_have_count(0)


@pytest.mark.slow
def test_an_address_of_a_trace_without_a_database_leads_to_the_page_that_says_so(
    browser: Browser, tmp_path: Path
) -> None:
    database = tmp_path / "mistyped.db"
    with dashboard(tmp_path, database) as address, watched(browser) as page:
        page.goto(f"{address}trace?trace=10")
        sentence = page.get_by_text("There is no database at").first
        expect(sentence).to_contain_text(f"{database} yet; the first import creates it.")
        page.get_by_role("button", name="Import the sample traces").click()
        expect(page.get_by_role("button", name="Show traces")).to_be_visible()
        expect(sentence).to_have_count(0)
