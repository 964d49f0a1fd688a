"""Stories of users: an agent on some SDK runs, is recorded in some way, and is looked at afterwards.

In the gate, each SDK is recorded by a proxy and in its own process, every story in every way, and everything that can
be done afterwards is done with recordings of every way; an agent tells its stories one after the other. `make
test-slow` runs every story on every SDK in every way, each in a process of its own, and does everything after each.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.journeys import afterwards
from tests.journeys.model_server import ANSWER
from tests.journeys.screens import BEGUN, PAGES, Recordings, dashboard, opens_downloads, opens_list, opens_trace
from tests.journeys.story import LOGGER, SDKS, STORIES, WAYS, Recorded, record_stories
from tests.ui.web.dashboards import CHROMIUM, CHROMIUM_OPTIONS
from tests.ui.web.downloads import WITHOUT_PICKER
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
_ALL_AFTERWARDS = (*_AFTERWARDS, *_DASHBOARDS)
_ONLY_WITH_REQUESTS = ("replay", "doctor")  # a proxy repeats them, and a logger has none


def _selected() -> dict[tuple[str, str], list[tuple[str, str]]]:
    """The stories and what is done after each, for an SDK and a way to record it."""
    ways_of_sdks = [(WAYS[index % 2], WAYS[2 + index // 2 % 2]) for index in range(len(SDKS))]
    selected = defaultdict(list)
    for shift, way in enumerate(WAYS):
        sdks = [sdk for sdk, ways in zip(SDKS, ways_of_sdks, strict=True) if way in ways]
        for index, story in enumerate(STORIES):
            after = _ALL_AFTERWARDS[(index + 3 * shift) % len(_ALL_AFTERWARDS)]
            selected[sdks[index % len(sdks)], way].append((story, after))
    return selected


_SELECTED = _selected()


class Desk:
    """A database that the stories of a process of tests share, a dashboard over it, and a browser.

    Recordings that a look at the dashboard wanted go on until another look wants fewer.
    """

    def __init__(self, home: Path, model_url: str, address: str, browser: Browser) -> None:
        self.database = home / "shared.db"
        self.recordings = Recordings(home, self.database)
        self.model_url = model_url
        self.address = address
        self.browser = browser
        self._last_id = 0

    def record(self, home: Path, sdk: str, way: str, *stories: str) -> dict[str, Recorded]:
        """Stories of one agent, each as its user expects it."""
        recorded = record_stories(
            home, self.database, self.model_url, sdk=sdk, stories=stories, way=way, last_id=self._last_id
        )
        self._last_id = max(trace["id"] for recording in recorded.values() for trace in recording.traces)
        return recorded

    def look(self, recorded: Recorded, after: str) -> None:
        """Do what a user does after a story."""
        if after in _AFTERWARDS:
            _AFTERWARDS[after](recorded)
            return
        self.recordings.keep(_DASHBOARDS[after])
        with watched(self.browser) as page:
            for trace in recorded.traces:
                is_answered = recorded.expected.is_answered
                opens_trace(page, self.address, str(trace["id"]), trace["title"], is_answered=is_answered)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, model_url: str) -> Iterator[Desk]:
    """Started when the first story wants it."""
    home = tmp_path_factory.mktemp("desk")
    with dashboard(home, home / "shared.db") as address, sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE_MS)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(CHROMIUM_OPTIONS))
        desk = Desk(home, model_url, address, browser)
        yield desk
        desk.recordings.keep(0)
        browser.close()


@pytest.mark.parametrize(
    ("sdk", "way"), [pytest.param(sdk, way, marks=pytest.mark.xdist_group(sdk)) for sdk, way in _SELECTED]
)
def test_stories_one_after_the_other(sdk: str, way: str, desk: Desk, tmp_path: Path, subtests: pytest.Subtests) -> None:
    recorded = desk.record(tmp_path, sdk, way, *(story for story, _ in _SELECTED[sdk, way]))
    for story, recording in recorded.items():
        with subtests.test(story=story):
            _is_as_expected(recording)
    for story, after in _SELECTED[sdk, way]:
        with subtests.test(story=story, after=after):
            desk.look(recorded[story], after)


@pytest.mark.parametrize("way", ["in-process", pytest.param("trace-file", marks=pytest.mark.slow)])
def test_an_agent_that_writes_everything_down_itself(
    way: str, desk: Desk, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    recorded = desk.record(tmp_path, LOGGER, way, *STORIES)
    afters = [after for after in _ALL_AFTERWARDS if after not in _ONLY_WITH_REQUESTS]
    for index, (story, recording) in enumerate(recorded.items()):
        with subtests.test(story=story):
            _is_as_expected(recording)
        if index < len(afters):
            with subtests.test(story=story, after=afters[index]):
                desk.look(recording, afters[index])


@pytest.mark.slow
@pytest.mark.parametrize(("sdk", "story", "way"), list(product(SDKS, STORIES, WAYS)))
def test_everything_after_a_story(  # noqa: PLR0917 - three are values, three fixtures
    sdk: str, story: str, way: str, desk: Desk, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    recorded = desk.record(tmp_path, sdk, way, story)[story]
    _is_as_expected(recorded)
    for after in _ALL_AFTERWARDS:
        with subtests.test(after=after):
            desk.look(recorded, after)


def test_the_selection_has_each_way_of_recording_with_everything() -> None:
    rows = [(sdk, way, *row) for (sdk, way), selected in _SELECTED.items() for row in selected]
    assert {(way, story) for _, way, story, _ in rows} == set(product(WAYS, STORIES))
    assert {(way, after) for _, way, _, after in rows} == set(product(WAYS, _ALL_AFTERWARDS))
    for ways in (WAYS[:2], WAYS[2:]):
        assert {sdk for sdk, way in _SELECTED if way in ways} == set(SDKS)


# The gate opens them all here and not in tests/ui/web/test_downloads.py.
@pytest.mark.parametrize("running", [*(pytest.param(count, marks=pytest.mark.slow) for count in (0, 1)), 2])
def test_every_page_and_every_download_beside_recordings(running: int, desk: Desk, tmp_path: Path) -> None:
    recorded = desk.record(tmp_path, "openai_chat", "run", "malformed")["malformed"]
    title, id_ = recorded.traces[0]["title"], recorded.ids[0]
    kinds: set[str] = set()
    running_ids = desk.recordings.keep(running)
    with watched(desk.browser) as page:
        page.add_init_script(WITHOUT_PICKER)
        for path in (*PAGES, f"trace?trace={id_}", f"compare?runs={id_}"):
            kinds |= opens_downloads(page, desk.address, path, title=title, model="malformed")
        opens_list(page, desk.address, title)
        for running_id in running_ids:
            opens_downloads(page, desk.address, f"trace?trace={running_id}", title=BEGUN, model="")
    assert kinds == {".html", ".csv", ".png"}


def _is_as_expected(recorded: Recorded) -> None:
    """The agent met nothing unusual, and `list` and `run` say what happened."""
    expected, agent = recorded.expected, recorded.agent
    assert len(recorded.traces) == expected.traces, (recorded.traces, agent.stderr)
    if expected.is_answered:
        assert recorded.said == f"{ANSWER}\n" * expected.traces, agent.stderr
    for trace in recorded.traces:
        assert (trace["status"], trace["tool_calls"]) == (expected.status, expected.calls), (trace, agent.stderr)
        assert not trace["running"]
        assert not trace["damaged"]
        assert expected.code in (trace["break"] or {}).get("code", "") + (trace["abort_message"] or "")
        assert expected.status == "ok" or expected.reason in str(trace)
    if recorded.way == "run":
        assert agent.returncode == int(any(STORIES[story].status != "ok" for story in recorded.stories)), agent.stderr
        for trace in recorded.traces:
            (line,) = (line for line in agent.stderr.splitlines() if f" {trace['id']}  " in line[:20])
            assert expected.status == "ok" or expected.code in line
            assert expected.status in ("ok", "broken") or expected.reason in agent.stderr
