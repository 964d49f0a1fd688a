"""Keys that come faster than screens: none crashes, none is lost, and none takes more screens away than one."""

from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input
from textual.worker import WorkerFailed

from tests.ui.tui.apps import at_home, filled, home, press, running, settled, shown, told
from weaklink.ui.tui.app import WeaklinkApp
from weaklink.ui.tui.chains.filter_bar import FilterInput
from weaklink.ui.tui.dialogs import ChoiceDialog, DialogChoice, LineDialog
from weaklink.ui.tui.line_bar import KeyFooter
from weaklink.ui.tui.store_access import start_work


async def at_once(app: WeaklinkApp, pilot: Pilot[None], *keys: str) -> None:
    """Press keys without waiting for what each does."""
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))
    await settled(pilot)


async def test_enter_for_a_dialog_that_is_not_there_yet_is_taken_once_it_is(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, _pilot):
        answers: list[str | None] = []
        dialog = LineDialog("name", typed="as it is")
        app.push_screen(dialog, answers.append)
        assert not dialog.is_mounted
        await app.run_action("accept", dialog)
        await settled(_pilot)
        assert answers == ["as it is"]
        assert at_home(app)


async def test_a_choice_that_is_made_twice_at_once_leaves_the_screen_below(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        answers: list[str | None] = []
        app.push_screen(ChoiceDialog("copy", [DialogChoice("id", "7", "7")]), answers.append)
        await settled(pilot)
        await at_once(app, pilot, "enter", "enter", "enter")
        assert answers == ["7"]
        assert home(app) in app.screen_stack


async def test_leaving_a_trace_many_times_at_once_ends_at_the_list(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await at_once(app, pilot, "enter", "r", "escape", "escape", "escape", "escape")
        assert at_home(app)


async def test_what_still_stands_there_is_said_anew_and_not_twice(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db"), toasts=True) as (app, pilot):
        await press(pilot, "n")
        await at_once(app, pilot, "n", "n", "n")
        assert shown(app).count("No search words") == 1
        assert told(app).count("No search words") == 1


async def test_the_way_back_and_the_help_always_stand_at_the_bottom(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "enter")
        for width in (40, 60, 80):
            await pilot.resize_terminal(width, 24)
            await settled(pilot)
            assert "esc Back" in shown(app)
            assert "? Help" in shown(app)


async def test_the_keys_below_a_dialog_are_laid_out_anew_with_the_screen(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "i")
        await pilot.resize_terminal(160, 40)
        await settled(pilot)
        line = home(app).query_one(KeyFooter).render_line(0).text
        assert "⏎ Open" in line
        assert "F Follow" in line


async def test_of_a_way_that_is_too_long_the_name_of_the_screen_is_kept(tmp_path: Path) -> None:
    where = filled(tmp_path / ("long-" * 30 + ".db"))
    async with running(where) as (app, _):
        first = shown(app).splitlines()[0]
        assert first.startswith(" weaklink ▸ long-")
        assert "… ▸ traces" in first


async def test_a_filter_that_is_still_being_read_is_not_lost_to_what_reads_the_list_anew(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        home(app).action_broken()
        home(app).action_reload()
        await settled(pilot)
        assert home(app).chains.filter_text == "status:broken"
        assert "4 of 6 traces" in shown(app)
        home(app).action_clear()
        home(app).action_reload()
        await settled(pilot)
        assert home(app).chains.filter_text == ""


async def test_tab_completes_what_stands_there_by_then(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "f")
        line = app.screen.query_one(FilterInput)
        line.value = "status:bro"
        line.cursor_position = len(line.value)
        line.action_complete()
        await settled(pilot)
        assert line.value.strip() == "status:broken"


async def test_ctrl_c_says_how_one_gets_out(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "ctrl+c")
        assert "`^q` ends weaklink from anywhere." in told(app)
        assert not app._exit


async def test_work_on_a_screen_that_was_left_ends_quietly(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        app.push_screen(LineDialog("name", typed="as it is"))
        await settled(pilot)
        dialog, reached = app.screen, []

        async def work() -> None:
            await dialog.query(Input).remove()
            app.pop_screen()  # the end of the screen comes later than that of its parts
            reached.append(True)
            dialog.query_one(Input)

        start_work(dialog, work, "test")
        await pilot.pause()
        assert reached
        assert at_home(app)


async def test_work_that_misses_a_part_of_a_screen_in_use_fails(tmp_path: Path) -> None:
    async def work_at_home() -> None:
        async with running(filled(tmp_path / "runs.db")) as (app, pilot):

            async def work() -> None:
                home(app).query_one(Input.__name__ + "Missing")

            start_work(home(app), work, "test")
            await pilot.pause()

    with pytest.raises(WorkerFailed, match="NoMatches"):
        await work_at_home()


@pytest.mark.slow
async def test_in_every_narrow_width_the_way_out_and_the_help_stay_in_sight(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db"), size=(60, 15)) as (app, pilot):
        for width in range(30, 60):
            await pilot.resize_terminal(width, 15)
            await settled(pilot)
            assert "q Quit : Run ? Help" in " ".join(shown(app).splitlines()[-2:]), (width, shown(app))
