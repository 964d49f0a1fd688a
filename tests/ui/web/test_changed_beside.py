"""Pages that stay open while other commands delete, mark and inspect traces, or remove the database."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copy
from time import time

import pytest
from playwright.sync_api import Page, expect

from tests.ui.web.dashboards import dashboard
from tests.ui.web.pages_walked import settled
from weaklink.storage.maintenance import Retention
from weaklink.storage.store import open_store

_ROWS = 'tbody[aria-label^="Traces;"] tr'


@pytest.fixture
def own_database(demo_database: Path, tmp_path: Path) -> Path:
    """A copy of the demo's database for one test, which changes it."""
    return Path(copy(demo_database, tmp_path / "own.db"))


@pytest.fixture
def address(own_database: Path) -> Iterator[str]:
    """A dashboard over it."""
    with dashboard(own_database.parent, own_database) as opened:
        yield opened


def _delete(database: Path, *ids: int) -> None:
    with open_store(database) as store:
        store.delete(ids)


@pytest.mark.slow
def test_an_open_trace_that_was_deleted_says_so_at_the_next_click(address: str, own_database: Path, page: Page) -> None:
    page.goto(f"{address}trace?trace=22")
    settled(page)
    _delete(own_database, 22)
    page.get_by_role("button", name="Mark").first.click()
    expect(page.get_by_text("no trace 22; weaklink list lists the traces")).to_be_visible()
    expect(page.get_by_text("The traces with the nearest ids:")).to_be_visible()


@pytest.mark.slow
def test_an_open_list_whose_database_was_deleted_says_so_at_the_next_click(
    address: str, own_database: Path, page: Page
) -> None:
    page.goto(f"{address}traces")
    settled(page)
    for file in own_database.parent.glob(f"{own_database.name}*"):
        file.unlink()
    page.locator(_ROWS).nth(1).click()
    expect(page.get_by_text("the database was removed or renamed while it was open")).to_be_visible()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


@pytest.mark.slow
def test_figures_are_those_of_today_after_others_deleted_traces(address: str, own_database: Path, page: Page) -> None:
    page.goto(f"{address}traces")
    settled(page)
    rows = page.locator(_ROWS).count()
    expect(page.get_by_text(f"{rows} traces", exact=True)).to_be_visible()
    _delete(own_database, 22)
    with open_store(own_database) as store:
        deleted = 1 + store.maintenance.prune(Retention(before_s=time(), keep_broken=True))
    page.reload()
    settled(page)
    expect(page.locator(_ROWS)).to_have_count(rows - deleted)
    expect(page.get_by_text(f"{rows - deleted} traces", exact=True)).to_be_visible()


@pytest.mark.slow
def test_a_trace_marked_elsewhere_is_counted_at_once(address: str, own_database: Path, page: Page) -> None:
    page.goto(f"{address}traces?filter=marked:yes")
    settled(page)
    expect(page.get_by_text("No trace matches this filter.")).to_be_visible()
    with open_store(own_database) as store:
        store.marks.put(19)
    page.reload()
    settled(page)
    expect(page.get_by_text("1 trace", exact=True)).to_be_visible()
