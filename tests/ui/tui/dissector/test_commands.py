"""What each command of the dissector does, by its key."""

import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.storage.samples import GOOD_CALL, trace
from tests.ui.tui.apps import at_home, running, settled, shown, told
from tests.ui.tui.dissector.stage import SMALL, WIDE, Stage, dissecting, stored
from tests.ui.views.dissect import scenes
from weaklink.inspector.capture.events import ChunksArrived, TraceEnded, TraceStarted, TurnStarted
from weaklink.inspector.model import Chunk, Role
from weaklink.storage.live import StoreSink
from weaklink.storage.marks import Mark
from weaklink.storage.store import open_store
from weaklink.ui.tui.commands import available_commands, key_names
from weaklink.ui.tui.dialogs import ChoiceDialog, jump_labels
from weaklink.ui.tui.dissector.actions import TraceCallbacks
from weaklink.ui.tui.dissector.commands import DISSECTOR_COMMANDS, SIDE_COMMANDS, STREAM_COMMANDS, TREE_COMMANDS
from weaklink.ui.tui.dissector.side_pane import SideKind, SideView
from weaklink.ui.views.links import Link, read_link


@pytest.mark.one_in(3)
@pytest.mark.parametrize("pane", ["1", "2", "3"])
async def test_every_command_has_a_method_and_a_key_that_means_nothing_else(tmp_path: Path, pane: str) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press(pane)
        there = list(available_commands(stage.screen))
        assert all(hasattr(bound.node, f"action_{bound.command.action}") for bound in there)
        assert {bound.command.id for bound in there} <= set(key_names(stage.screen))
        keys = [key for bound in there for key in bound.command.keys]
        assert len(set(keys)) == len(keys)
        wanted = {"1": TREE_COMMANDS, "2": STREAM_COMMANDS, "3": SIDE_COMMANDS}[pane]
        assert {summary.id for summary in wanted} <= {bound.command.id for bound in there}


def test_ids_are_unique() -> None:
    ids = [command.id for command in DISSECTOR_COMMANDS]
    assert len(set(ids)) == len(ids)


async def test_e_goes_from_fault_to_fault_and_capital_e_back(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press("2", "g", "e")
        assert stage.selected.startswith('{"city"')
        await stage.press("e")
        assert stage.selected == '"kelvin"'
        await stage.press("e")
        assert "No later fault." in told(stage.app)
        await stage.press("ctrl+e")
        assert stage.selected.startswith('{"city"')


async def test_brackets_go_from_call_to_call(tmp_path: Path) -> None:
    async with dissecting(tmp_path, scenes.broken()) as (stage, _):
        await stage.press("2", "g")
        seen = []
        for key in ("]", "]", "]", "]", "["):
            await stage.press(key)
            step = stage.screen.selected_step()
            seen.append(step.number if step else None)
        assert seen == [1, 2, 3, 3, 2]
        assert "No later call." in told(stage.app)


@pytest.mark.slow
async def test_braces_open_the_neighbours_of_the_list(tmp_path: Path) -> None:
    async with dissecting(tmp_path, scenes.streamed(), scenes.of_text("The other one.")) as (stage, _):
        await stage.press("}")
        assert "The other one." in shown(stage.app)
        await stage.press("{", "{")
        assert "streamed" in shown(stage.app)
        assert "No more traces" in told(stage.app)


async def test_words_are_found_forwards_and_backwards_round_the_end(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press("2", "g", "/", *"oslo", "enter")
        places = [stage.location]
        for key in ("n", "n", "N"):
            await stage.press(key)
            places.append(stage.location)
        assert [location.turn for location in places] == [1, 2, 1, 2]
        assert stage.lit == "Oslo"
        await stage.press("/", *["backspace"] * 4, *"Nowhere", "enter")
        assert "`Nowhere` was not found in this trace." in told(stage.app)


@pytest.mark.slow
async def test_n_without_words_asks_for_them(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press("n")
        assert "search in this trace" in shown(stage.app)
        await stage.press("escape")


async def test_o_goes_to_where_a_value_stood_first_and_ctrl_o_back(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press("1", "enter", "j", "o")
        assert (stage.location.turn, stage.selected) == (1, "Oslo")
        assert "came from a user message" in told(stage.app)
        await stage.press("ctrl+o")
        assert stage.selected == '"Oslo"'
        await stage.press("ctrl+o")
        assert "No jump to return from." in told(stage.app)


@pytest.mark.slow
async def test_o_says_that_a_value_was_made_up_and_that_there_is_none(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press("1", "enter", "j", "j", "o")
        assert "`/unit` was not found earlier: the model invented it." in told(stage.app)
        await stage.press("g", "o")
        assert "Select an argument of a call" in told(stage.app)


async def test_tab_and_numbers_give_the_keys_to_panes(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        seen = []
        for key in ("1", "tab", "tab", "tab", "shift+tab", "2", "4"):
            await stage.press(key)
            seen.append(stage.screen.panes.current)
        assert seen == ["tree", "stream", "side", "tree", "side", "stream", "side"]
        assert stage.screen.panes.side.kind is SideKind.DIAGNOSTICS


@pytest.mark.slow
async def test_minus_goes_through_the_layouts_and_comes_back(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        seen = []
        for _ in range(5):
            seen.append(stage.screen.panes.layout_name)
            await stage.press("-")
            assert stage.app.focused is not None
        assert seen == ["stacked", "rows", "pair", "tabs", "stacked"]


@pytest.mark.slow
async def test_z_shows_the_focused_pane_alone_and_escape_all_again(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press("1", "z")
        assert stage.screen.panes.branches.size.width > 130
        assert not stage.screen.panes.stream.size.width
        zoomed = []
        for key in ("escape", "z", "z"):
            await stage.press(key)
            zoomed.append(stage.screen.panes.is_zoomed)
        assert zoomed == [False, True, False]
        await stage.press("escape")
        assert at_home(stage.app)


async def test_on_a_small_screen_panes_are_tabs_and_keep_together(tmp_path: Path) -> None:
    async with dissecting(tmp_path, size=SMALL) as (stage, pilot):
        assert "[2 stream]" in shown(stage.app)
        await stage.press("1", "enter", "j")
        assert "[1 tree]" in shown(stage.app)
        await stage.press("2")
        assert stage.lit == '"Oslo"'
        assert "error[S201]" in shown(stage.app)
        await pilot.click("#tabs", offset=(25, 0))
        await settled(pilot)
        assert isinstance(stage.app.focused, SideView)
        assert "broken at step 1 of 1" in shown(stage.app)


@pytest.mark.slow
async def test_w_leaves_long_lines_whole_and_the_cursor_draws_them_aside(tmp_path: Path) -> None:
    async with dissecting(tmp_path, scenes.of_text("a" * 300 + "END")) as (stage, _):
        await stage.press("2", "G", "w", "$")
        assert stage.selected == "D"
        assert "END" in shown(stage.app)
        await stage.press("0")
        assert "END" not in shown(stage.app)
        await stage.press("w")
        assert "END" in shown(stage.app)


@pytest.mark.slow
async def test_v_shows_blanks_as_glyphs(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press("v")
        assert '{"city":·"Oslo"' in shown(stage.app)
        await stage.press("v")
        assert '{"city": "Oslo"' in shown(stage.app)


async def test_lanes_show_chunks_ids_and_log_probabilities_and_say_what_a_chunk_is(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press("C")
        assert "890ms!" in shown(stage.app)
        assert "not a token" in told(stage.app)
        await stage.press("i", "l")
        assert "│101 7" in shown(stage.app)
        assert "-4.50!" in shown(stage.app)
        await stage.press("C", "i", "l")
        assert "890ms!" not in shown(stage.app)


@pytest.mark.slow
async def test_a_lane_that_the_recording_has_not_says_so(tmp_path: Path) -> None:
    async with dissecting(tmp_path, scenes.of_text("No chunks.")) as (stage, _):
        for key in ("C", "i", "l"):
            await stage.press(key)
            assert told(stage.app).count("The recording has only text") == 1  # said anew, not twice
            stage.app.clear_notifications()


async def test_y_copies_text_path_value_and_link(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press("1", "enter", "j")
        copied = []
        for down in range(7):
            await stage.press("y")
            assert isinstance(stage.app.screen, ChoiceDialog)
            await stage.press(*["j"] * down, "enter")
            copied.append(stage.app.clipboard)
        assert copied[:3] == ['"Oslo"', "/city", '"Oslo"']
        assert copied[3].startswith('{"name": "get_weather"')
        assert copied[4] == "weaklink://trace/1?step=1"
        assert copied[5].startswith("weaklink tui 'weaklink://trace/1?turn=")
        assert read_link(copied[6]) == Link("1", location=stage.location)
        await stage.press("y", "escape")


@pytest.mark.slow
async def test_what_no_terminal_takes_is_copied_all_the_same(tmp_path: Path) -> None:
    async with dissecting(tmp_path, scenes.hostile()) as (stage, _):
        await stage.press("1", "g", "y", "enter")
        assert "?" in stage.app.clipboard


@pytest.mark.slow
async def test_m_marks_the_step_and_takes_the_mark_away(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press("m")
        assert "Step 1 is marked." in told(stage.app)
        assert [(mark.step, mark.note) for mark in _marks(tmp_path)] == [(1, "")]
        await stage.press("2", "g", "m")
        assert [mark.step for mark in _marks(tmp_path)] == [1, None]
        await stage.press("m")
        assert [mark.step for mark in _marks(tmp_path)] == [1]
        await stage.press("]", "m")
        assert _marks(tmp_path) == []


async def test_a_note_is_kept_shown_and_taken_away(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press(";", *"odd unit", "enter")
        assert [(mark.step, mark.note) for mark in _marks(tmp_path)] == [(1, "odd unit")]
        stage.screen.panes.side.turn_to(SideKind.NOTES)
        await settled(stage.pilot)
        assert "step 1  odd unit" in stage.side
        await stage.press("m")
        assert "This mark has a note" in told(stage.app)
        await stage.press(";", *["backspace"] * 8, "enter")
        assert _marks(tmp_path) == []


@pytest.mark.slow
async def test_a_note_that_is_left_empty_leaves_the_mark(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press("m", ";", "enter")
        assert [(mark.step, mark.note) for mark in _marks(tmp_path)] == [(1, "")]


def _marks(path: Path) -> list[Mark]:
    with open_store(path / "runs.db") as store:
        return list(store.marks.of([1]).get(1, ()))


async def test_x_writes_the_trace_to_a_file(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        target = tmp_path / "out.json"
        await stage.press("S", *["backspace"] * 20, *_typed(str(target)), "enter")
        assert "is written to" in told(stage.app)
        assert target.read_text(encoding="utf-8").startswith("{")


def _typed(text: str) -> list[str]:
    names = {"/": "slash", ".": "full_stop", "-": "minus", "_": "underscore"}
    return [names.get(character, character) for character in text]


@pytest.mark.slow
async def test_other_screens_are_offered_where_there_is_a_door_to_them(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        stage.screen.callbacks = TraceCallbacks()
        further = {"dissector.diff", "dissector.reread", "dissector.rule"}
        assert not further & {command.command.id for command in available_commands(stage.screen)}
        opened: list[tuple[str, object]] = []
        stage.screen.callbacks = TraceCallbacks(
            diff=lambda id, location: opened.append(("diff", id)),
            reread=lambda id, location: opened.append(("reread", id)),
            rule=lambda code: opened.append(("rule", code)),
        )
        await stage.press("d", "r", "2", "g", "K", "4", "G", "enter")
        last = stage.side.splitlines()[-1]
        assert opened[:3] == [("diff", 1), ("reread", 1), ("rule", "S201")]
        assert f" {opened[3][1]} " in last


@pytest.mark.slow
async def test_a_trace_that_was_deleted_says_so_and_comes_back_with_a_reload(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        with open_store(tmp_path / "runs.db") as store:
            store.delete([1])
        await stage.press("ctrl+r")
        assert "✖" in shown(stage.app).splitlines()[0]
        await stage.press("e", "j", "o", "y", "m", "F", "n", "1", "2", "3", "-")
        with open_store(tmp_path / "runs.db") as store:
            dissection = scenes.streamed()
            store.save([(dissection.trace, dissection.inspection)])
        await stage.press("escape")
        assert at_home(stage.app)


@pytest.mark.slow
async def test_a_database_that_vanishes_says_so(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        for file in list(tmp_path.iterdir()):
            file.unlink()
        await stage.press("ctrl+r")
        assert "✖" in shown(stage.app).splitlines()[0]
        await stage.press("m", "S", "escape")


@pytest.mark.slow
async def test_f_says_that_an_ended_trace_does_not_grow(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press("F")
        assert "This trace has ended" in told(stage.app)


async def test_a_running_trace_grows_and_f_stays_at_its_end(tmp_path: Path) -> None:
    sink = StoreSink(str(tmp_path / "runs.db"))
    sink.accept(TraceStarted("k", trace("a", GOOD_CALL)))
    sink.accept(TurnStarted("k", 3, Role.ASSISTANT))
    sink.accept(ChunksArrived("k", 3, (Chunk(0, "text", "Well, "),)))
    sink.flush()
    async with running(str(tmp_path / "runs.db"), size=WIDE, named="1") as (app, pilot):
        stage = Stage(app, pilot)
        assert "▸ running" in shown(app)
        assert "▸ running so far · 1 step · no faults yet" in stage.side
        assert "F Follow" in shown(app)
        stage.screen.callbacks = TraceCallbacks()  # where there is no live view to go to
        await stage.press("F")
        assert "F following" in shown(app)
        assert stage.location.turn == 3
        for number, words in enumerate(("it is ", "warm: <tool_call>"), 1):
            sink.accept(ChunksArrived("k", 3, (Chunk(number, "text", words),)))
        sink.flush()
        await _until(stage, lambda: "warm: " in shown(app))
        assert stage.selected == ">"
        assert "error[" not in shown(app)
        await stage.press("F", "g")
        before = stage.location
        sink.accept(TraceEnded("k"))
        sink.close()
        await _until(stage, lambda: "▸ running" not in shown(app))
        assert "F Follow" not in shown(app)
        assert stage.location == before


async def test_marking_while_another_program_writes_says_that_it_waits_and_can_be_left(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, pilot):
        connection = sqlite3.connect(tmp_path / "runs.db", isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        await pilot.press("m")
        await _until(stage, lambda: "writing the mark" in shown(stage.app))
        await pilot.press("escape")
        await _until(stage, lambda: at_home(stage.app))
        connection.execute("ROLLBACK")
        connection.close()


async def _until(stage: Stage, is_so: Callable[[], bool]) -> None:
    for _ in range(600):
        if is_so():
            return
        await stage.pilot.pause(0.05)
    assert is_so(), shown(stage.app)


async def test_capital_e_opens_the_raw_text_in_the_editor_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "one\ntwo\x1b[2J\nthree \udc80"
    started: list[list[str]] = []

    def run(command: list[str], *, check: bool) -> subprocess.CompletedProcess[bytes]:
        started.append([*command[:-1], Path(command[-1]).read_bytes().decode()])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "missing" else name)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "nano -w")
    async with dissecting(tmp_path, scenes.of_text(text)) as (stage, _):
        await stage.press("2", "G", "E")
        assert "cannot run an editor" in told(stage.app)
        monkeypatch.setattr(stage.app, "suspend", nullcontext)
        await stage.press("E")
        assert started == [["nano", "-w", "+3", "one\ntwo\x1b[2J\nthree \\udc80"]]
        monkeypatch.setenv("EDITOR", "missing")
        await stage.press("E")
        assert "set the environment variable EDITOR" in told(stage.app)


@pytest.mark.slow
async def test_toasts_are_above_the_keys_and_cover_two_rows(tmp_path: Path) -> None:
    where = stored(tmp_path / "runs.db", scenes.streamed())
    async with running(where, size=SMALL, named="1", toasts=True) as (app, pilot):
        before = shown(app).splitlines()
        for said in ("short", "a longer sentence " * 40, "the last"):
            app.notify(said, severity="error")
            await pilot.pause(0.1)
            after = shown(app).splitlines()
            assert (after[:-4], after[-2:]) == (before[:-4], before[-2:])
        assert "the last" in shown(app)


async def test_f_gives_each_fault_in_sight_a_letter_that_goes_there(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press("2", "g")
        await stage.press("f")
        assert _labels(stage) == ["a", "b"]
        await stage.press("b")
        assert stage.selected == '"kelvin"'
        assert _labels(stage) == []
        await stage.press("f", "a")
        assert stage.selected.startswith('{"city"')
        await stage.press("ctrl+o")
        assert stage.selected == '"kelvin"'
        for key in ("escape", "Q", "z"):
            await stage.press("f", key)
            assert (stage.app.screen, stage.selected, _labels(stage)) == (stage.screen, '"kelvin"', [])


def _labels(stage: Stage) -> list[str]:
    """The letters on the screen: the labels as they are drawn at the beginnings of faults."""
    stream = stage.screen.panes.stream
    labels = stream._labels
    assert all(stream.render_line(spot.y).text[spot.cell :].startswith(label) for label, spot in labels.items())
    return list(labels)


@pytest.mark.slow
async def test_f_without_a_fault_in_sight_names_the_key_that_goes_to_one(tmp_path: Path) -> None:
    async with dissecting(tmp_path, scenes.of_text("Nothing is wrong.")) as (stage, _):
        await stage.press("f")
        assert "No fault is visible" in told(stage.app)


@pytest.mark.parametrize("count", [1, 26, 27, 700, 20_000])
def test_no_label_is_the_beginning_of_another(count: int) -> None:
    labels = jump_labels(count)
    assert len(set(labels)) == count
    assert len({len(label) for label in labels}) == 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_a_trace_without_faults_opens_with_its_selection_in_sight(tmp_path: Path, size: tuple[int, int]) -> None:
    async with dissecting(tmp_path, scenes.of_text("Nothing is wrong.\n" * 60), size=size) as (stage, _):
        port = stage.screen.panes.stream._port
        assert port is not None
        assert stage.location == stage.screen.opened.end()  # type: ignore[union-attr]  # it is open
        assert port.spot in [spot for spot, _ in port.rows[: port.height]]
