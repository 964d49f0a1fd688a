"""A dashboard over the demo's database and a real browser, which the tests of a session share."""

import asyncio
import subprocess
import sys
from asyncio import AbstractEventLoop
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


@pytest.fixture(scope="session")
def chromium() -> Iterator[tuple[Browser, AbstractEventLoop]]:
    """A real, headless Chromium, and the loop in which it is driven, which only runs where `browser` lets it."""
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE_MS)
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=list(CHROMIUM_OPTIONS))
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield opened, loop
        asyncio._set_running_loop(loop)
        opened.close()


@pytest.fixture
def browser(chromium: tuple[Browser, AbstractEventLoop]) -> Iterator[Browser]:
    """The browser that all tests share; its loop counts as running in this thread only during a test that has it."""
    opened, loop = chromium
    asyncio._set_running_loop(loop)
    yield opened
    asyncio._set_running_loop(None)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh page that fails its test where it meets an error, a dialog, or a request to any other machine."""
    with watched(browser) as opened:
        yield opened
