"""The command line behind `:`: what it completes, what it refuses, and what each command does."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.ui.tui.apps import at_home, filled, home, names, press, running, told
from weaklink.storage.store import open_store
from weaklink.ui.tui.ask_screen import AskScreen
from weaklink.ui.tui.command_line import CommandLine
from weaklink.ui.tui.diff_screen import DiffScreen
from weaklink.ui.tui.dissector.screen import DissectorScreen
from weaklink.ui.tui.line_bar import LineBar
from weaklink.ui.tui.line_view import LineInput
from weaklink.ui.views.styled_text import plain


async def run(pilot: Pilot[None], line: str) -> None:
    """Run a command of the line."""
    await press(pilot, ":")
    pilot.app.screen.query_one(LineInput).value = line
    await press(pilot, "enter")


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return filled(tmp_path / "runs.db")


COMPLETED = {
    "expo": "export ",
    "export @m": "export @marked",
    "export @shown h": "export @shown html",
    "filter stat": "filter status:",
    "filter status:bro": "filter status:broken",
    "sort new": "sort newest",
    "next-b": "next-break",
    "vie": "view",
    "no-such": "no-such",
    "unm": "unmark ",
    "diff ": "diff @",
    "diff @": "diff @marked",
}

REFUSED = {
    "nonsense": "There is no command `nonsense`",
    "filter status:": "status",
    "sort sideways": "`sort` takes one of newest, broken, certainty, longest, errors, tokens.",
    "goto": "`goto` needs a trace",
    "export trace.zip": "The suffix selects the format",
    "export": "Enter a file name.",
    "view none": "There is no view `none`",
    "save-view": "A view needs a name.",
    "help me": "`help` takes no arguments.",
}


async def test_tab_completes_as_far_as_is_certain(where: str) -> None:
    async with running(where) as (app, pilot):
        await press(pilot, ":")
        for start, completed in COMPLETED.items():
            line = app.screen.query_one(LineInput)
            line.value = start
            line.cursor_position = len(start)
            await press(pilot, "tab")
            assert (start, line.value) == (start, completed)


async def test_what_could_be_meant_is_listed(where: str) -> None:
    async with running(where) as (app, pilot):
        await press(pilot, ":", *"sort", "space")
        said = "\n".join(map(plain, app.screen.query_one(LineBar)._lines))
        assert "newest  broken  certainty  longest  errors  tokens" in said


async def test_a_wrong_line_stays_and_says_why(where: str) -> None:
    async with running(where) as (app, pilot):
        await press(pilot, ":")
        for line, problem in REFUSED.items():
            app.screen.query_one(LineInput).value = line
            await press(pilot, "enter")
            assert isinstance(app.screen, CommandLine)
            assert problem in " ".join(map(plain, app.screen.query_one(LineBar)._lines))
        await press(pilot, "escape")
        assert at_home(app)


async def test_filter_sort_goto_and_named_commands(where: str) -> None:
    async with running(where) as (app, pilot):
        await run(pilot, "filter status:broken")
        assert home(app).chains.filter_text == "status:broken"
        assert len(names(app)) == 4
        await run(pilot, "sort newest")
        assert names(app)[0] == "session 5"
        await run(pilot, "goto 2")
        assert isinstance(app.screen, DissectorScreen)
        assert app.screen.opened is not None
        assert app.screen.opened.id == 2
        await run(pilot, "zoom")
        assert app.screen.panes.is_zoomed
        await run(pilot, "filter")
        assert at_home(app)
        assert home(app).chains.filter_text == ""


async def test_marked_and_shown_are_targets_of_mark_unmark_export_and_diff(where: str, tmp_path: Path) -> None:
    async with running(where) as (app, pilot):
        await run(pilot, "filter status:broken")
        await run(pilot, "mark @shown")
        assert "4 traces marked." in told(app)
        await run(pilot, "filter")
        await run(pilot, "export @marked jsonl")
        assert (tmp_path / "traces.jsonl").read_text().count('{"trace":') == 4
        await run(pilot, "export @shown all.json")
        assert len((tmp_path / "all.json").read_text().splitlines()) == 6
        await run(pilot, "export 3 html")
        assert (tmp_path / "trace-3.html").exists()
        await run(pilot, "diff @marked")
        assert isinstance(app.screen, DiffScreen)
        await press(pilot, "escape")
        await run(pilot, "unmark @marked")
        assert "4 traces unmarked." in told(app)
        await run(pilot, "diff 1")
        assert "`diff` compares 2 to 6 traces; got 1." in told(app)
    with open_store(where) as store:
        assert not store.traces("marked:yes")


async def test_ask_opens_each_target_one_above_the_other(where: str) -> None:
    async with running(where) as (app, pilot):
        await run(pilot, "ask 2 3")
        asked = [screen for screen in app.screen_stack if isinstance(screen, AskScreen)]
        assert [screen._trace_id for screen in asked] == [3, 2]
        await press(pilot, "escape", "escape")
        await run(pilot, "ask @marked")
        assert "There is no such trace" in told(app)


@pytest.mark.slow
async def test_a_view_is_saved_and_shown(where: str) -> None:
    async with running(where) as (app, pilot):
        await run(pilot, "filter status:broken")
        await run(pilot, "save-view bad ones")
        await run(pilot, "filter")
        await run(pilot, "view bad ones")
        assert home(app).chains.filter_text == "status:broken"
