"""Every page stands still and shows its traces, however many of them are being recorded."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.storage.samples import GOOD_CALL, inspected, trace
from tests.ui.web.dashboards import dashboard
from tests.ui.web.pages_walked import settled
from tests.ui.web.recorded import Runs, begin, counted_runs, finish, open_recordings
from weaklink.storage.store import open_store
from weaklink.ui.web.application import PAGES

_ENDED = 2
_MAX_WHOLE_RUNS = 6  # of a page that has just been opened: the first, and one whenever a figure has been counted
_PARTS = 4  # runs of the list while something is being recorded, before the page counts as standing still
_QUIET_MS = 1_500  # several times as long as a page waits before it asks again


def _stands_still(page: Page, runs: Runs, *, is_redrawn: bool) -> None:
    """The page is complete, and runs again only in parts."""
    settled(page)
    whole, parts = runs.whole, runs.parts
    while is_redrawn and runs.parts < parts + _PARTS and runs.whole <= whole + _MAX_WHOLE_RUNS:
        page.wait_for_timeout(100)
    assert runs.whole <= _MAX_WHOLE_RUNS
    assert runs.whole == whole


@pytest.fixture
def running(request: pytest.FixtureRequest) -> int:
    count: int = request.param
    return count


@pytest.fixture
def address(tmp_path: Path, running: int) -> Iterator[str]:
    """A dashboard over two traces that have ended, and so many that are being recorded."""
    database = tmp_path / "several.db"
    with open_store(database) as store:
        store.save(inspected(*(trace(f"ended {number}", GOOD_CALL) for number in range(_ENDED))))
    with open_recordings(str(database), running), dashboard(tmp_path, database) as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.one_in(3)
@pytest.mark.parametrize("running", [0, 1, 2, pytest.param(3, marks=pytest.mark.slow)], indirect=True)
def test_the_list_is_shown_and_stands_still(address: str, running: int, page: Page) -> None:
    runs = counted_runs(page)
    page.goto(f"{address}traces")
    rows = page.locator('tbody[aria-label^="Traces;"] tr')
    expect(rows).to_have_count(_ENDED + running)
    expect(rows.filter(has_text="running")).to_have_count(running)
    _stands_still(page, runs, is_redrawn=running > 0)
    if not running:
        whole = runs.whole
        page.wait_for_timeout(_QUIET_MS)
        assert runs.whole == whole
    expect(rows).to_have_count(_ENDED + running)
    if running:
        expect(page.locator(".stMain")).to_contain_text(f"{running} trace{'s' * (running > 1)} being recorded now")


@pytest.mark.slow
@pytest.mark.parametrize(
    "running", [2, *(pytest.param(count, marks=pytest.mark.slow) for count in (0, 1, 3))], indirect=True
)
def test_every_other_page_stands_still(address: str, running: int, page: Page) -> None:
    for entry in PAGES:
        if entry.path == "traces":
            continue
        runs = counted_runs(page)
        page.goto(f"{address}{'' if entry.path == 'triage' else entry.path}?{_state(entry.path, running)}")
        _stands_still(page, runs, is_redrawn=False)


def test_a_recording_that_begins_is_shown_and_its_answer_runs_until_it_ends(tmp_path: Path, page: Page) -> None:
    database = str(tmp_path / "begins.db")
    with open_recordings(database, 0) as sink, dashboard(tmp_path, Path(database)) as opened:
        with open_store(database, create=False) as store:
            store.save(inspected(trace("ended", GOOD_CALL)))
        page.goto(f"{opened}traces")
        rows = page.locator('tbody[aria-label^="Traces;"] tr')
        expect(rows).to_have_count(1)
        settled(page)
        begin(sink, "1")
        expect(rows.first).to_contain_text("running")
        begin(sink, "2")
        expect(rows.filter(has_text="running")).to_have_count(2)
        finish(sink, "2", "the whole answer")
        expect(rows.filter(has_text="waiting")).to_have_count(1)
        expect(rows.filter(has_text="running")).to_have_count(1)


def _state(path: str, running: int) -> str:
    """What the address holds of a page that needs something: the newest trace, or the two newest."""
    newest = _ENDED + running
    return f"trace={newest}" if path == "trace" else f"runs={newest}+{newest - 1}" if path == "compare" else ""
