"""A dashboard over the demo's database and a real browser, which the tests of a session share."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.ui.conftest import START, environment
from tests.ui.web.dashboards import CHROMIUM, CHROMIUM_OPTIONS, dashboard
from tests.ui.web.pages_walked import PATIENCE_MS, watched


@pytest.fixture(autouse=True)
def main_as_it_was() -> Iterator[None]:
    """The module that Python began with; Streamlit puts the page's script in its place, and new processes run that."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


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
        expect.set_options(timeout=PATIENCE_MS)
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=list(CHROMIUM_OPTIONS))
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh page that fails its test where it meets an error, a dialog, or a request to any other machine."""
    with watched(browser) as opened:
        yield opened
