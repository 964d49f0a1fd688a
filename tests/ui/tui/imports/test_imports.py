"""The import dialog: paths are completed, files read, and what they held is said."""

from pathlib import Path

import pytest
from textual.containers import Vertical

from tests.ui.cli.test_discovery import LOGS, environment, put_logs
from tests.ui.tui.apps import SIZES, agree, at_home, filled, names, press, running, settled, shown
from weaklink.storage.store import open_store
from weaklink.ui.importing.input_files import files_below
from weaklink.ui.tui.import_screen import (
    FileProgress,
    ImportScreen,
    PathInput,
    completions,
    import_files,
)
from weaklink.ui.tui.line_view import LineView
from weaklink.ui.views.styled_text import plain, width_of


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user without agents."""
    path = tmp_path_factory.mktemp("home")
    for name, value in environment(path).items():
        monkeypatch.setenv(name, value)
    return path


def folder(path: Path) -> Path:
    logs = path / "logs"
    (logs / "deeper").mkdir(parents=True)
    line = '{"messages": [{"role": "user", "content": "Hello %d"}, {"role": "assistant", "content": "Hi."}]}\n'
    for number in range(3):
        (logs / f"run-{number}.jsonl").write_text(line % number)
    (logs / "deeper" / "noise.txt").write_text("no log at all\x1b[2J")
    return logs


async def typed(pilot: object, app: object, path: str) -> None:
    app.screen.query_one(PathInput).value = path  # type: ignore[attr-defined]  # of the application
    await press(pilot, "enter")  # type: ignore[arg-type]  # a pilot
    await settled(pilot)  # type: ignore[arg-type]  # a pilot


async def test_what_the_dialog_does_is_said_to_its_end_in_a_narrow_terminal(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db"), size=(40, 15)) as (app, pilot):
        await press(pilot, "i")
        await settled(pilot)
        assert "anything is saved." in shown(app)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_folder_is_imported_and_the_list_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], update_goldens: bool
) -> None:
    folder(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TZ", "UTC")
    filled(Path("runs.db"))
    async with running("runs.db", size=size) as (app, pilot):
        await press(pilot, "i")
        await typed(pilot, app, "logs")
        assert "3 traces" in shown(app)
        assert "refused" in shown(app)
        box = app.screen.query_one(Vertical).region
        dialog = [line[box.x : box.right] for line in shown(app).splitlines()[box.y : box.bottom]]
        agree(f"import-{size[0]}x{size[1]}.txt", "\n".join(dialog) + "\n", update_goldens=update_goldens)
        await pilot.resize_terminal(60, 16)
        await settled(pilot)
        assert "3 files read: 3 traces" in shown(app)
        report = app.screen.query_one("#report", LineView)
        lines = [report.source.line(index, 0) for index in range(report.source.count)]
        assert max(map(width_of, lines)) < report.size.width
        await press(pilot, "escape")
        assert at_home(app)
        assert len(names(app)) == 9


async def test_a_database_is_made_where_there_is_none(tmp_path: Path) -> None:
    async with running(str(tmp_path / "new.db")) as (app, pilot):
        await press(pilot, "i")
        await typed(pilot, app, str(folder(tmp_path)))
        await press(pilot, "escape")
        await settled(pilot)
        assert len(names(app)) == 3


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", "Enter the path of a file or folder."),
        ("nowhere/x", "There is no file or folder"),
        ("e\0", "There is no"),
    ],
)
async def test_what_is_wrong_with_a_path_is_said(tmp_path: Path, path: str, said: str) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "i")
        await typed(pilot, app, path)
        assert said in shown(app)
        assert isinstance(app.screen, ImportScreen)
        await press(pilot, "escape")
        assert at_home(app)


async def test_tab_completes_a_path_and_goes_through_what_could_stand_there(tmp_path: Path) -> None:
    below = folder(tmp_path)
    async with running(filled(tmp_path / "runs.db"), size=(140, 30)) as (app, pilot):
        await press(pilot, "i")
        line = app.screen.query_one(PathInput)
        line.value = f"{tmp_path}/lo"
        await settled(pilot)
        seen = []
        for _ in range(4):
            await press(pilot, "tab")
            seen.append(line.value.removeprefix(f"{below}/"))
        assert seen == ["", "", "deeper/", "run-0.jsonl"]
        assert "4 paths:  deeper/  run-0.jsonl  run-1.jsonl  run-2.jsonl" in shown(app)
        line.value = f"{below}/nothing"
        await settled(pilot)
        await press(pilot, "tab")
        assert "No path begins with" in shown(app)


def test_hidden_files_are_offered_where_a_point_is_typed(tmp_path: Path) -> None:
    (tmp_path / ".hidden").touch()
    (tmp_path / "shown").touch()
    assert completions(f"{tmp_path}/") == [f"{tmp_path}/shown"]
    assert completions(f"{tmp_path}/.h") == [f"{tmp_path}/.hidden"]
    assert completions(f"{tmp_path}/nowhere/x") == []


def test_an_import_that_is_left_stops_behind_the_file_in_hand(tmp_path: Path) -> None:
    location, progress = folder(tmp_path), FileProgress()
    import_files(str(tmp_path / "runs.db"), files_below([str(location)]), progress, progress.stopped.set)
    assert (progress.files, progress.done) == (4, 1)
    with open_store(tmp_path / "runs.db") as store:
        assert len(store.traces()) == progress.traces


async def test_a_store_that_refuses_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "runs.db").write_text("this is no database, whatever its name says" * 100)
    async with running(str(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "i")
        await typed(pilot, app, str(folder(tmp_path)))
        assert "✖" in shown(app)
        await press(pilot, "escape")
        assert at_home(app)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_logs_of_agents_are_offered_and_imported(tmp_path: Path, home: Path, size: tuple[int, int]) -> None:
    put_logs(home)
    database = tmp_path / "runs.db"
    async with running(str(database), size=size) as (app, pilot):
        await press(pilot, "i")
        assert f"{len(LOGS)} logs of claude-code, codex, pi" in shown(app)
        assert ["pi", "harbour", "1", "1"] in [line.split()[1:5] for line in shown(app).splitlines()]
        await press(pilot, "down", "down", "down", "down")
        assert "tab returns to the path" in shown(app)
        await press(pilot, "enter")
        await settled(pilot)
        assert "1 file read: " in shown(app)
        with open_store(database, read_only=True) as store:
            assert {summary.source for summary in store.traces()} == {"pi"}
        logs = app.screen.query_one("#logs", LineView)
        logs.focus()
        await press(pilot, "g", "enter")
        await settled(pilot)
        assert plain(logs.source.line(0, 0)).endswith("; 0 new")
        with open_store(database, read_only=True) as store:
            assert {summary.source for summary in store.traces()} == set(LOGS)
        await press(pilot, "tab")
        assert app.screen.query_one(PathInput).has_focus
        await press(pilot, "escape")
        assert at_home(app)


async def test_without_logs_of_agents_there_is_no_list(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "i")
        assert not app.screen.query_one("#logs").display
        await press(pilot, "down")
        assert app.screen.query_one(PathInput).has_focus
