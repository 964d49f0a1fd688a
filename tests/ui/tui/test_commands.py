"""Every command is reached by key, palette and help, all from one table; a user's keymap changes the keys."""

from pathlib import Path

import pytest
from textual.command import CommandList, CommandPalette

from tests.ui.tui.apps import at_home, filled, home, press, running, shown, told
from weaklink.ui.tui.app import every_command
from weaklink.ui.tui.chains.chain_list import OPEN
from weaklink.ui.tui.commands import available_commands, commands_of, key_names, keymap_of
from weaklink.ui.tui.dialogs import help_lines
from weaklink.ui.views.styled_text import plain

SCREENS = {
    "list": (),
    "filter": ("f",),
    "trace": ("enter",),
    "help": ("?",),
    "copy": ("y",),
    "note": ("semicolon",),
    "diff": ("m", "j", "d"),
    "lab": ("r",),
    "rules": ("R",),
    "import": ("i",),
}


def test_ids_are_unique_and_every_command_says_what_it_does_in_a_sentence() -> None:
    every = every_command()
    assert len({command.id for command in every}) == len(every)
    assert all(command.help[0].isupper() and command.help.endswith(".") and command.keys for command in every)


@pytest.mark.parametrize("keys", SCREENS.values(), ids=SCREENS)
async def test_every_command_of_a_screen_has_a_key_of_its_own_a_method_and_a_line_of_help(
    tmp_path: Path, keys: tuple[str, ...]
) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, *keys)
        screen = app.screen
        there = list(available_commands(screen))
        reached = key_names(screen)
        line = app.focused if app.focused is not None and app.focused.check_consume_key("a", "a") else None
        assert there
        for bound in there:
            assert hasattr(bound.node, f"action_{bound.command.action}"), bound.command.id
            assert line is not None or bound.command.id in reached, bound.command.id
        text = "\n".join(plain(line) for line in help_lines([bound.command for bound in there], reached, 400))
        assert all(bound.command.help in text for bound in there)
        commands = [bound.command for bound in there] if line is None else list(commands_of(line))
        keys_of_commands = [key for command in commands for key in command.keys]
        assert len(set(keys_of_commands)) == len(keys_of_commands)


async def test_the_palette_runs_a_command_by_its_name(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "ctrl+p")
        assert isinstance(app.screen, CommandPalette)
        await pilot.pause(0.1)
        listed = app.screen.query_one(CommandList).option_count
        await press(pilot, "escape")
        assert listed == len(list(available_commands(home(app))))
        await press(pilot, "ctrl+p", *"broken only")
        await pilot.pause(0.3)
        await press(pilot, "enter")
        await press(pilot, "enter")
        assert home(app).chains.filter_text == "status:broken"


async def test_help_is_shown_by_question_mark_and_f1_and_left_by_escape(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        for key in ("?", "f1"):
            await press(pilot, key)
            assert "Open the trace under the cursor." in shown(app)
            await press(pilot, "escape")
            assert at_home(app)


async def test_a_theme_key_goes_through_all_themes(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        seen = []
        for _ in range(3):
            await press(pilot, "T")
            seen.append(app.theme)
            assert "session 5" in shown(app)
        assert seen == ["light", "ansi", "dark"]


async def test_a_keymap_gives_other_keys_and_says_what_is_wrong_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keymap = tmp_path / "keymap.toml"
    keymap.write_text('[chains]\nbroken = "B"\nfliter = "f"\nmark = "contrl+m"\n')
    monkeypatch.setenv("WEAKLINK_KEYMAP", str(keymap))
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        assert "There is no command `chains.fliter`; did you mean `chains.filter`?" in told(app)
        assert "`contrl+m` is not a key for `chains.mark`" in told(app)
        await press(pilot, "b")
        assert home(app).chains.filter_text == ""
        await press(pilot, "B")
        assert home(app).chains.filter_text == "status:broken"
        assert "B Broken " in shown(app)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"chains": {"open": "f1"}, "app.help": 3}, "`3` is not a key for `app.help`"),
        (
            {"chains": {"open": "f"}},
            "`f` is the key of `chains.open` and of `chains.filter`; only one of them",
        ),
        ({"chains": {"open": ["slash"]}}, "`slash` is the key of `chains.open` and of `chains.search`"),
    ],
)
def test_what_a_keymap_cannot_mean_is_said(table: dict[str, object], problem: str) -> None:
    assert any(problem in said for said in keymap_of(table, every_command()).problems)


async def test_a_keymap_that_is_no_toml_is_said_and_the_keys_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "keymap.toml").write_text("chains = [")
    monkeypatch.setenv("WEAKLINK_KEYMAP", str(tmp_path / "keymap.toml"))
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        assert "is not TOML" in told(app)
        await press(pilot, "b")
        assert home(app).chains.filter_text == "status:broken"


@pytest.mark.parametrize("pane", ["1", "2", "3"])
async def test_at_80_columns_the_footer_names_every_command_that_has_a_place_in_it(tmp_path: Path, pane: str) -> None:
    async with running(filled(tmp_path / "runs.db"), size=(80, 24)) as (app, pilot):
        for keys in ((), ("enter", pane)):
            await press(pilot, *keys)
            lines = "\n".join(shown(app).splitlines()[-2:])
            for command in available_commands(app.screen):
                name = command.command.footer or command.command.title
                assert not command.command.footer or f" {name}" in lines, (command.command.id, lines)


def test_the_help_calls_the_list_one_of_traces() -> None:
    lines = [plain(line) for line in help_lines([OPEN], {}, 60)]
    assert lines[0] == "traces (`chains` in a keymap)"


def test_the_help_explains_the_map_of_a_trace() -> None:
    text = "\n".join(plain(line) for line in help_lines([], {}, 60))
    assert "[c] call" in text
    assert "recovered later" in text
    assert all(len(line) <= 60 for line in text.splitlines()[:6])
