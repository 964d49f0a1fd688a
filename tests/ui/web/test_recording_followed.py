"""A real recording, watched in a real browser while it runs: the list of traces and the trace itself grow quietly."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.capture.answer import Piece
from tests.capture.scripted_answers import chat_stream
from tests.capture.upstream import Pause, Upstream, running_upstream
from tests.storage.samples import GOOD_CALL, inspected, trace
from tests.ui.cli.recordings import RecordProcess, recording_process
from tests.ui.web.dashboards import dashboard
from tests.ui.web.pages_walked import settled
from weaklink.storage.store import open_store

_FIRST = "".join(f"line {number:03}\n" for number in range(200))
_SECOND = "".join(f"more {number:03}\n" for number in range(200))
_CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo",}}\n</tool_call>'
_STREAM: tuple[str | Piece, ...] = (_FIRST, Pause("first seen"), _SECOND, Pause("second seen"), _CALL)
_EARLIER = 60  # traces that were there before


@dataclass(frozen=True, slots=True)
class Recording:
    """What runs: the dashboard's address, the database, where requests go, and who answers them."""

    dashboard: str
    database: Path
    recorder: RecordProcess
    upstream: Upstream

    def ask(self, words: str) -> None:
        """Ask as a client would, and read the answer to its end."""
        said = {"model": "paced-8b", "stream": True, "messages": [{"role": "user", "content": words}]}
        headers = {"Content-Type": "application/json"}
        request = Request(f"{self.recorder.url}/v1/chat/completions", json.dumps(said).encode(), headers)
        with urlopen(request, timeout=60) as answer:
            answer.read()


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    database = tmp_path / "live.db"
    with open_store(database) as store:
        store.save(inspected(*(trace(f"earlier {number}", GOOD_CALL) for number in range(_EARLIER))))
    with (
        running_upstream(chat_stream(*_STREAM)) as upstream,
        recording_process(tmp_path, "--upstream", upstream.url, "--db", str(database)) as recorder,
        dashboard(tmp_path, database) as address,
    ):
        yield Recording(address, database, recorder, upstream)


@pytest.mark.slow
def test_the_list_gains_the_running_trace_and_its_end_and_the_reader_keeps_his_place(
    recording: Recording, page: Page
) -> None:
    page.goto(f"{recording.dashboard}traces")
    settled(page)
    rows = page.locator('tbody[aria-label^="Traces;"]')
    page.get_by_text("Follow", exact=True).click()
    rows.locator("tr").nth(40).click()
    chosen = rows.locator("tr.selected")
    name = chosen.inner_text()
    expect(page).to_have_url(re.compile("look="))
    settled(page)
    seen = _top(chosen)
    with ThreadPoolExecutor() as threads:
        asked = threads.submit(recording.ask, "What is on line one?")
        first = rows.locator("tr").first
        expect(first).to_contain_text("running")
        expect(page.locator(".stMain")).to_contain_text("1 trace being recorded now")
        _stands(chosen, name, seen)
        for pause in ("first seen", "second seen"):
            recording.upstream.release(pause)
        asked.result(60)
    recording.recorder.stop()
    expect(first).to_contain_text("J104")
    expect(page.locator(".stMain")).not_to_contain_text("being recorded now")
    _stands(chosen, name, seen)


@pytest.mark.slow
def test_the_trace_grows_at_its_end_and_the_reader_keeps_his_place(recording: Recording, page: Page) -> None:
    box = page.locator(".streambox")
    with ThreadPoolExecutor() as threads:
        asked = threads.submit(recording.ask, "What is on line one?")
        recording.upstream.wait_until(lambda: bool(recording.upstream.requests))
        page.goto(f"{recording.dashboard}traces")
        page.locator('tbody[aria-label^="Traces;"] tr', has_text="running").dblclick()
        expect(page.locator(".lines").first).to_contain_text("running")
        expect(box).to_contain_text("line 199")  # opened where it grows
        recording.upstream.release("first seen")
        expect(box).to_contain_text("more 199")
        page.locator(".words").fill("line 100")
        page.locator(".words").press("Enter")
        expect(page.locator(".piece.selected")).to_have_text("line 100")
        expect(page).to_have_url(re.compile("start="))
        settled(page)
        lit = page.locator(".piece.selected")
        seen = _top(lit) - _top(box)
        box.evaluate("(box) => { window.standing = box; }")
        recording.upstream.release("second seen")
        asked.result(60)
    expect(page.locator(".lines").first).to_contain_text("trailing-comma")
    _stands(lit, "line 100", seen + _top(box))
    recording.recorder.stop()
    expect(page.locator(".lines").first).to_contain_text("broken")
    expect(page.locator(".lines").first).not_to_contain_text("running")
    settled(page)
    _stands(lit, "line 100", seen + _top(box))
    assert box.evaluate("(box) => box === window.standing")
    page.get_by_role("tab", name="Faults").click()
    page.locator(".leftbox .item", has_text="J104 trailing-comma").click()  # a slow machine stalls the stream before it
    expect(lit).to_have_text(",")


def _top(shown: Locator) -> float:
    box = shown.bounding_box()
    assert box is not None
    return box["y"]


def _stands(shown: Locator, words: str, top: float) -> None:
    """It says the same at the same height of the screen."""
    assert shown.inner_text() == words
    assert abs(_top(shown) - top) < 2
