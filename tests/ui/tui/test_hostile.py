"""Text of a trace does nothing to the terminal and means nothing to Textual, on whatever it stands."""

import asyncio
import shlex
import unicodedata
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.ui.tui.apps import filled, home, press, running, settled, shown
from tests.ui.tui.dissector.stage import stored
from tests.ui.views.dissect import scenes
from weaklink.storage.store import open_store
from weaklink.ui.tui.app import WeaklinkApp
from weaklink.ui.tui.chains.filter_bar import FilterInput
from weaklink.ui.tui.dialogs import LineDialog
from weaklink.ui.tui.line_bar import ClickTarget, LineBar
from weaklink.ui.views.styled_text import Run

HOSTILE = (
    "[red]\x1b[2J\x1b]52;c;aGk=\x07\u202eleft\u2066 a\u200db\u200c\ufe0f\u200b\x9b31m [@click=app.leave()]x[/]\tz\x00"
)
_UNSEEN = {"\u200c", "\u200d", "\ufe0e", "\ufe0f"}
_WIDTH = 120

SCREENS = {
    "list": (),
    "copies": ("y",),
    "note": ("semicolon",),
    "export": ("S",),
    "sort": ("s",),
    "help": ("?",),
    "palette": (":",),
    "copied": ("y", "j", "j", "j", "enter"),
    "marked": ("m",),
    "trace": ("enter",),
    "tree": ("enter", "1", "enter", "j", "enter", "j", "z"),
    "sides": ("enter", "3", "z", *["4"] * 7),
    "copies of a place": ("enter", "y"),
    "copied place": ("enter", "y", "enter"),
    "note in a trace": ("enter", "semicolon"),
    "origin": ("enter", "1", "o"),
    "search": ("enter", "slash"),
    "palette of a trace": ("enter", ":"),
}


def harmless(app: WeaklinkApp) -> bool:
    """Whether nothing that stands on the screen is obeyed by a terminal or was by Textual; every line is as wide."""
    strips = app.screen._compositor.render_strips()
    text = "".join(strip.text for strip in strips)
    bad = {character for character in text if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")} | (
        _UNSEEN & set(text)
    )
    assert not bad, [hex(ord(character)) for character in bad]
    assert {strip.cell_length for strip in strips} == {app.size.width}
    metas = [segment.style.meta for strip in strips for segment in strip if segment.style is not None]
    return not any("@click" in meta for meta in metas)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("keys", SCREENS.values(), ids=SCREENS)
async def test_hostile_traces_are_shown_on_every_screen(tmp_path: Path, keys: tuple[str, ...]) -> None:
    where = stored(tmp_path / "runs.db", scenes.hostile())
    with open_store(where) as store:
        store.marks.put(1, note=HOSTILE + "\nand more")
        store.marks.put(1, step=1, note=HOSTILE)
        store.search.index_pending()
    async with running(where, size=(_WIDTH, 40), toasts=True) as (app, pilot):
        for key in keys:
            await press(pilot, key)
            assert harmless(app)
        await _looked_at(pilot)
        assert harmless(app)
        assert app.is_running


async def _looked_at(pilot: Pilot[None]) -> None:
    """Wait for what comes a moment later."""
    await asyncio.sleep(0.15)
    await settled(pilot)


async def test_markup_of_a_trace_is_shown_as_it_is_written(tmp_path: Path) -> None:
    where = stored(tmp_path / "runs.db", scenes.dissected(scenes.hostile().trace))
    async with running(where, size=(_WIDTH, 40), toasts=True) as (app, pilot):
        home(app).toast(HOSTILE)
        await _looked_at(pilot)
        assert "[red]␛[2J␛]52" in shown(app)
        assert "1 trace, the broken first" in shown(app)
        assert app.is_running
        assert harmless(app)
        app.push_screen(LineDialog(HOSTILE, about=HOSTILE, typed=HOSTILE))
        await _looked_at(pilot)
        assert "[red]␛[2J" in next(line for line in shown(app).splitlines() if "╭" in line)
        assert harmless(app)


async def test_filters_from_the_command_line_and_from_real_values_are_shown_as_they_are(tmp_path: Path) -> None:
    where = stored(tmp_path / "runs.db", scenes.hostile())
    async with running(where, size=(_WIDTH, 24), filter_text=f"model:{shlex.quote(HOSTILE)}") as (app, pilot):
        assert harmless(app)
        await press(pilot, "escape", "f", *"model:", "tab")
        await _looked_at(pilot)
        assert harmless(app)
        app.screen.query_one(FilterInput).value = HOSTILE + "\n" + HOSTILE
        await _looked_at(pilot)
        assert harmless(app)
        assert app.screen.query_one(FilterInput).value.startswith(HOSTILE)


@pytest.mark.parametrize(
    "named", [HOSTILE.replace("\x00", ""), "weaklink://trace/1?turn=1&part=%1b%5B2J&start=0&end=1"]
)
async def test_hostile_names_on_the_command_line_are_said_as_they_are(tmp_path: Path, named: str) -> None:
    async with running(filled(tmp_path / "runs.db"), size=(_WIDTH, 24), named=named, toasts=True) as (app, pilot):
        await _looked_at(pilot)
        assert "␛" in shown(app)
        assert harmless(app)


async def test_what_is_typed_into_a_dialog_stays_what_it_is(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        given: list[str | None] = []
        app.push_screen(LineDialog("note", typed=f"a\u202eb {HOSTILE}"), given.append)
        await settled(pilot)
        assert app.screen.query_one(Input).value == f"a\u202eb {HOSTILE}"
        await press(pilot, "enter")
        assert given == [f"a\u202eb {HOSTILE}"]


@pytest.mark.parametrize("gap", [1, 2, 5])
async def test_a_spot_is_pressed_where_it_stands_whatever_the_gap(tmp_path: Path, gap: int) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        names = ("status:broken", "status:ok", "status:aborted")
        app.screen.query_one("#statuses", LineBar).offer([ClickTarget(name, (Run(name),)) for name in names], gap=gap)
        await pilot.pause()
        column = shown(app).splitlines()[1].index(names[2])
        await pilot.click("#statuses", offset=(column - 1, 0))
        await settled(pilot)
        assert home(app).chains.filter_text == ""
        await pilot.click("#statuses", offset=(column, 0))
        await settled(pilot)
        assert home(app).chains.filter_text == names[2]
