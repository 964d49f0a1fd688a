"""The screen of rules: how often each was broken, its page, and the way to the chains."""

from pathlib import Path

import pytest

from tests.ui.tui.apps import SIZES, agree, at_home, filled, home, press, running, settled, shown, told
from weaklink.inspector.rules.catalogue import RULES
from weaklink.ui.tui.rules_screen import RulesScreen


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_rules_stand_with_their_counts_and_a_page(
    tmp_path: Path, size: tuple[int, int], update_goldens: bool
) -> None:
    async with running(filled(tmp_path / "runs.db"), size=size) as (app, pilot):
        await press(pilot, "R")
        await settled(pilot)
        agree(f"rules-{size[0]}x{size[1]}.txt", shown(app), update_goldens=update_goldens)


async def test_the_most_broken_comes_first_and_s_sorts_by_code(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db"), size=(160, 40)) as (app, pilot):
        await press(pilot, "R")
        await settled(pilot)
        screen = app.screen
        assert isinstance(screen, RulesScreen)
        assert screen.rule.code == "J104"
        await press(pilot, "s", "g")
        assert screen.rule is RULES[0]
        await press(pilot, "tab", "G")
        assert screen.rule is RULES[0]
        await press(pilot, "tab", "j")
        assert screen.rule is RULES[1]


async def test_enter_lists_the_chains_that_broke_a_rule(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db"), named="5") as (app, pilot):
        await press(pilot, "K")
        await settled(pilot)
        assert "J104 trailing-comma" in shown(app) or "error[J104]" in shown(app)
        await press(pilot, "enter")
        await settled(pilot)
        assert at_home(app)
        assert home(app).chains.filter_text == "code:J104"
        assert "4 of 6 traces" in shown(app)


async def test_a_rule_that_no_chain_broke_filters_nothing(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "R", "G", "f")
        assert "was broken in no trace of this database" in told(app)
        await press(pilot, "y")
        assert app.clipboard == f"weaklink rules {RULES[-1].code}"
        await press(pilot, "escape")
        assert at_home(app)


async def test_without_a_database_the_rules_are_there_and_the_counts_are_not(tmp_path: Path) -> None:
    async with running(str(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "R")
        await settled(pilot)
        assert "There is no database" in shown(app).splitlines()[0]
        assert RULES[0].name in shown(app)
        filled(tmp_path / "runs.db")
        await press(pilot, "ctrl+r")
        await settled(pilot)
        assert "1 broken" in shown(app).splitlines()[0]
