"""Each file that a page offers is downloaded in a real browser and opened: it holds what the page shows."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.ui.web.downloads import WITHOUT_PICKER, content_of, downloaded, name_of, offers
from tests.ui.web.pages_walked import settled, watched
from weaklink.storage.store import open_store
from weaklink.ui.web.application import PAGES


@pytest.fixture
def state_of(demo_database: Path) -> Callable[[str], str]:
    """The address of each page, with what it needs to show something."""
    with open_store(demo_database, create=False) as store:
        first, second = (summary.id for summary in store.traces("status:broken", limit=2))
    states = {"trace": f"trace?trace={first}", "compare": f"compare?runs={first}+{second}", "triage": ""}
    return lambda path: states.get(path, path)


@pytest.mark.slow
def test_every_download_of_every_page_is_opened(
    browser: Browser, demo_dashboard: str, state_of: Callable[[str], str]
) -> None:
    checks: dict[str, Callable[[Page, bytes], bool]] = {
        "trace": _is_the_trace,
        "triage": lambda _, content: content.startswith(b"\x89PNG\r\n") and content.endswith(b"IEND\xaeB`\x82"),
        "sql": _is_the_table,
    }
    offering = set()
    with watched(browser) as page:
        page.add_init_script(WITHOUT_PICKER)
        for entry in PAGES:
            page.goto(demo_dashboard + state_of(entry.path))
            settled(page)
            expect(page.locator("[data-testid=stException]")).to_have_count(0)
            if entry.path == "sql":
                page.get_by_role("button", name="Run").click()
                page.locator("[data-testid=stDataFrame]").first.wait_for()
                settled(page)
            for offer in offers(page):
                offering.add(entry.path)
                content = content_of(downloaded(page, offer))
                assert checks[entry.path](page, content), (entry.path, name_of(offer), content[:200])
    assert offering == set(checks)


def _is_the_trace(page: Page, content: bytes) -> bool:
    """Whether this is a report of the trace on the page, with its answers, and nothing of the dashboard's page."""
    text = content.decode()
    title = page.locator("h1").first.inner_text().partition("·")[2].strip().removeprefix("subagent: ")
    return title in text and "Written by weaklink" in text and "tool_call" in text and "<script" not in text


def _is_the_table(_: Page, content: bytes) -> bool:
    lines = content.decode("utf-8-sig").splitlines()
    return lines[0] == "model,traces,broken" and len(lines) > 2


def test_a_file_of_a_page_is_saved_and_never_shown(page: Page, demo_dashboard: str) -> None:
    page.goto(f"{demo_dashboard}trace?trace=1")
    settled(page)
    (offer,) = offers(page)
    download = downloaded(page, offer)
    assert download.suggested_filename == "weaklink-trace-1.html"
    assert urlsplit(download.url).path.startswith("/media/")
    answer = page.request.get(download.url)
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.body() == content_of(download)
