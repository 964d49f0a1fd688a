"""A dashboard over the demo's database and a real browser, which the tests of a session share."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from tests.ui.conftest import START, environment
from tests.ui.web.dashboards import CHROMIUM, CHROMIUM_OPTIONS, dashboard

# Streamlit looks for these below the path of a page before it finds them at the root.
_PROBED = ("/_stcore/health", "/_stcore/host-config")


@pytest.fixture(scope="session")
def demo_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the sample traces."""
    home = tmp_path_factory.mktemp("demo")
    database = home / "demo.db"
    command = [*START, "demo", "--db", str(database)]
    subprocess.run(command, check=True, capture_output=True, cwd=home, env=environment(home), timeout=300)
    return database


@pytest.fixture(scope="session")
def demo_dashboard(demo_database: Path) -> Iterator[str]:
    """The address of a dashboard over the sample traces."""
    with dashboard(demo_database.parent, demo_database) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real, headless Chromium; for one module: its loop runs in this thread, where other tests begin their own."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=list(CHROMIUM_OPTIONS))
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh page that fails its test where it meets an error, a dialog, or a request to any other machine."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    wrong = watched(opened)
    yield opened
    context.close()
    assert not wrong


def watched(page: Page) -> list[str]:
    """A list that grows with all that goes wrong in a page: errors, dialogs, requests to any other machine."""
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("console", lambda message: wrong.extend(_complaints(message)))
    page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
    page.on("request", lambda request: wrong.extend(_foreign(request.url)))
    return wrong


def _complaints(message: ConsoleMessage) -> Iterator[str]:
    if message.type == "error" and not message.location["url"].endswith(_PROBED):
        yield f"console: {message.text} ({message.location['url']})"


def _foreign(url: str) -> Iterator[str]:
    if not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:http://127.0.0.1:")):
        yield f"request: {url}"
