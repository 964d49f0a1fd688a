"""The screen that asks a turn again: nothing is sent before it was shown, the table fills, and a trace is served."""

import asyncio
import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.capture.upstream import running_upstream
from tests.ui.experiments.asking import database, server
from tests.ui.tui.apps import press, running, settled, shown, told
from weaklink.storage.store import open_store
from weaklink.ui.tui.app import WeaklinkApp
from weaklink.ui.tui.ask_screen import AskScreen

_WIDE = (120, 40)


def _type(app: WeaklinkApp, **fields: str) -> AskScreen:
    screen = app.screen
    assert isinstance(screen, AskScreen)
    for name, text in fields.items():
        screen.query_one(f"#{name}").value = text  # type: ignore[attr-defined]  # an input
    return screen


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


async def test_a_turn_is_asked_again_after_a_look_at_what_is_sent(tmp_path: Path) -> None:
    where = database(tmp_path)
    with running_upstream(server("openai", lambda body: 0.0 if body.get("temperature") == 0 else 1.0)) as upstream:
        async with running(where, size=_WIDE, named="1") as (app, pilot):
            await press(pilot, "a")
            assert "⏎ Preview" in shown(app)
            _type(app, server=upstream.url, times="6", settings="temperature=0")
            await press(pilot, "ctrl+s")
            assert not upstream.requests
            await press(pilot, "enter")
            assert "will be sent 12 times (6 per setting; " in shown(app)
            assert "/temperature  0.7 → 0" in shown(app)
            assert not upstream.requests
            await press(pilot, "ctrl+s")
            assert "6 pairs of 6 counted; 12 answers saved as forks." in shown(app)
            assert "any error" in shown(app)
            assert "-100 points" in shown(app)
            await press(pilot, "escape")
            assert not isinstance(app.screen, AskScreen)
    with open_store(where) as store:
        assert len(store.traces("forks:yes", limit=6000)) == 13


@pytest.mark.slow
async def test_fields_that_cannot_be_read_are_named_and_nothing_is_sent(tmp_path: Path) -> None:
    where = database(tmp_path)
    async with running(where, size=_WIDE, named="1") as (app, pilot):
        await press(pilot, "a", "enter")
        assert "A server URL is required" in shown(app)
        for fields, said in (
            ({"server": "http://127.0.0.1:1", "settings": "nonsense"}, "is not of the form NAME=VALUE"),
            ({"settings": "", "times": "many"}, "`many` is not a valid number of times"),
            ({"times": "3", "bounds": "x"}, "`x` is not a valid bound"),
        ):
            _type(app, **fields)
            await press(pilot, "enter")
            assert said in shown(app)


@pytest.mark.slow
async def test_advice_is_chosen_and_what_was_previewed_without_it_is_not_sent(tmp_path: Path) -> None:
    async with running(database(tmp_path), size=(80, 24), named="1") as (app, pilot):
        await press(pilot, "a")
        screen = _type(app, server="http://127.0.0.1:1", times="3")
        await press(pilot, "enter")
        assert "will be sent 3 times" in shown(app)
        await press(pilot, *["tab"] * 5, "enter", "down", "enter")
        assert "yes" in shown(app)
        assert screen.form.is_advised
        await press(pilot, "ctrl+s")
        assert "Preview the requests first" in told(app)


async def test_a_trace_is_served_until_it_is_stopped(tmp_path: Path) -> None:
    where = database(tmp_path)
    async with running(where, size=_WIDE, named="1") as (app, pilot):
        await press(pilot, "a")
        await pilot.press("ctrl+r")
        address = await _address(app, pilot)
        body = {"messages": [{"role": "user", "content": "Is it warm in Oslo?"}]}
        request = urllib.request.Request(f"{address}/chat/completions", json.dumps(body).encode())

        def asked() -> str:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return str(json.load(answer)["choices"][0]["message"]["tool_calls"][0]["function"]["name"])

        assert await asyncio.to_thread(asked) == "weather"
        await _until_shown(app, pilot, "1 of 1 recorded request answered.")
        await press(pilot, "ctrl+t")
        assert "The server has stopped." in shown(app)
        assert address not in shown(app)
        with pytest.raises(urllib.error.URLError):
            await asyncio.to_thread(asked)


async def _address(app: WeaklinkApp, pilot: Pilot[None]) -> str:
    await _until_shown(app, pilot, "OPENAI_BASE_URL=")
    return next(line.split("=")[1].split()[0] for line in shown(app).splitlines() if "OPENAI_BASE_URL=" in line)


async def _until_shown(app: WeaklinkApp, pilot: Pilot[None], words: str) -> None:
    for _ in range(400):
        if words in shown(app):
            return
        await pilot.pause(0.05)
    raise AssertionError(shown(app))


async def test_leaving_the_screen_stops_the_experiment_and_keeps_what_came(tmp_path: Path) -> None:
    where = database(tmp_path)
    with running_upstream(server("openai", lambda body: 1.0)) as upstream:
        async with running(where, size=_WIDE, named="1") as (app, pilot):
            await press(pilot, "a")
            _type(app, server=upstream.url, times="5000")
            await press(pilot, "enter")
            await pilot.press("ctrl+s")
            await _until_shown(app, pilot, "any error")
            await pilot.press("ctrl+t")
            await settled(pilot)
            assert "Stopped: interrupted." in shown(app)
    assert len(upstream.requests) < 5000
    with open_store(where) as store:
        assert 1 < len(store.traces("forks:yes", limit=6000)) <= len(upstream.requests) + 1
