"""Stories of users: an agent on some SDK runs, is recorded in some way, and is looked at afterwards.

In the gate, a selection in which every pair of values meets once. `make test-slow` runs all stories on all SDKs in all
ways; what is done afterwards takes turns there, since all of it after each would take hours.
"""

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.journeys import afterwards
from tests.journeys.covering import covering_rows
from tests.journeys.model_server import ANSWER
from tests.journeys.screens import PAGES, dashboard, opens_list, opens_page, opens_trace, recordings
from tests.journeys.story import SDKS, STORIES, WAYS, Recorded, record_story
from tests.ui.web.dashboards import CHROMIUM, CHROMIUM_OPTIONS
from tests.ui.web.pages_walked import PATIENCE_MS, watched

_AFTERWARDS: dict[str, Callable[[Recorded], None]] = {
    "show": afterwards.read_it,
    "db-check-and-stats": afterwards.measure_it,
    "export-to-read": afterwards.export_it_to_read,
    "export-and-check": afterwards.pass_it_on,
    "replay": afterwards.replay_it,
    "doctor": afterwards.run_it_again,
    "terminal": afterwards.open_in_terminal,
}
_DASHBOARDS = {"dashboard": 0, "dashboard-beside-a-recording": 1, "dashboard-beside-two-recordings": 2}
_VALUES = {"sdk": SDKS, "story": tuple(STORIES), "way": WAYS, "after": (*_AFTERWARDS, *_DASHBOARDS)}
_SELECTED = [tuple(row.values()) for row in covering_rows(_VALUES)]


def _stories() -> list[Any]:
    rows = dict.fromkeys(_SELECTED)
    for index, recorded in enumerate(product(SDKS, STORIES, WAYS)):
        turn = index + index // (len(STORIES) * len(WAYS))
        rows[*recorded, _VALUES["after"][turn % len(_VALUES["after"])]] = None
    marks = {False: [pytest.mark.slow], True: []}
    return [pytest.param(row, id="-".join(row), marks=marks[row in _SELECTED]) for row in rows]


class Screens:
    """A dashboard over one database, to which stories are added, and a browser."""

    def __init__(self, home: Path, address: str, browser: Browser) -> None:
        self.home = home
        self.database = home / "shared.db"
        self.address = address
        self.browser = browser


@pytest.fixture(scope="module")
def screens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screens]:
    """Started when the first story wants it."""
    home = tmp_path_factory.mktemp("screens")
    with dashboard(home, home / "shared.db") as address, sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE_MS)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(CHROMIUM_OPTIONS))
        yield Screens(home, address, browser)
        browser.close()


@pytest.mark.parametrize("row", _stories())
def test_story(row: tuple[str, ...], model_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    sdk, story, way, after = row
    if after in _AFTERWARDS:
        recorded = record_story(tmp_path, tmp_path / "w.db", model_url, sdk=sdk, story=story, way=way)
        _is_as_expected(recorded)
        _AFTERWARDS[after](recorded)
        return
    screens: Screens = request.getfixturevalue("screens")
    recorded = record_story(tmp_path, screens.database, model_url, sdk=sdk, story=story, way=way)
    _is_as_expected(recorded)
    with recordings(tmp_path, screens.database, _DASHBOARDS[after]), watched(screens.browser) as page:
        for trace in recorded.traces:
            is_answered = recorded.expected.is_answered
            opens_trace(page, screens.address, str(trace["id"]), trace["name"], is_answered=is_answered)


@pytest.mark.parametrize("running", [0, 1, 2])
def test_every_page_shows_its_content_beside_recordings(
    running: int, screens: Screens, model_url: str, tmp_path: Path
) -> None:
    recorded = record_story(tmp_path, screens.database, model_url, sdk="openai_chat", story="malformed", way="run")
    with recordings(tmp_path, screens.database, running), watched(screens.browser) as page:
        for path in PAGES:
            opens_page(page, screens.address, path)
        opens_page(page, screens.address, f"compare?runs={recorded.ids[0]}")
        opens_list(page, screens.address, recorded.traces[0]["name"])


def _is_as_expected(recorded: Recorded) -> None:
    """The agent met nothing unusual, and `list` and `run` say what happened."""
    expected, agent = recorded.expected, recorded.agent
    assert len(recorded.traces) == expected.traces, (recorded.traces, agent.stderr)
    if expected.is_answered:
        assert agent.stdout == f"{ANSWER}\n" * expected.traces, agent.stderr
    for trace in recorded.traces:
        assert (trace["status"], trace["tool_calls"]) == (expected.status, expected.calls), (trace, agent.stderr)
        assert not trace["running"]
        assert not trace["damaged"]
        assert expected.code in (trace["break"] or {}).get("code", "") + (trace["abort_message"] or "")
        assert expected.status == "ok" or expected.reason in str(trace)
    if recorded.way == "run":
        assert agent.returncode == (0 if expected.status == "ok" else 1), agent.stderr
        if expected.status != "ok":
            assert expected.code in agent.stderr
            assert expected.status == "broken" or expected.reason in agent.stderr
