"""Runs side by side on the screen: which are compared, what is shown of a row, where its keys lead."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.chain.building import trace_of
from tests.ui.tui.apps import SIZES, agree, at_home, filled, press, running, settled, shown, told
from weaklink.inspector.inspection import inspect_trace
from weaklink.storage.store import open_store
from weaklink.ui.tui.app import WeaklinkApp
from weaklink.ui.tui.diff_screen import DiffScreen
from weaklink.ui.tui.dissector.screen import DissectorScreen
from weaklink.ui.views.styled_text import plain

ORDER = (
    "user: Give me back what I paid for order 17.",
    'call: get_order {"id": 17}',
    'result: {"id": 17, "state": "shipped"}',
)
REFUND = ('call: refund {"order": 17, "amount": 45, "reason": "never came"}', 'result: {"refund": "R-1"}')
WRONG = ('call: refund {"order": 71, "amount": 45, "reason": "never came"}', 'result: {"error": "no such order"}')
LATER = ('call: tell {"who": "customer"}', "result: told")
RUNS = ((*ORDER, *REFUND, *LATER, "say: Done."), (*ORDER, *WRONG, "say: I could not."), (*ORDER, *REFUND, "say: Done."))


def stored(path: Path, *runs: tuple[str, ...], marked: tuple[int, ...] = (1,)) -> str:
    with open_store(path) as store:
        for lines in runs:
            trace = trace_of(*lines)
            store.save([(trace, inspect_trace(trace))])
        for id_ in marked:
            store.marks.put(id_)
    return str(path)


@asynccontextmanager
async def comparing(
    where: str, *, id: int = 2, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[WeaklinkApp, Pilot[None], DiffScreen]]:
    """The diff of the marked traces and another one, opened from that one."""
    async with running(where, size=size, named=str(id)) as (app, pilot):
        await press(pilot, "d")
        await settled(pilot)
        screen = app.screen
        assert isinstance(screen, DiffScreen)
        yield app, pilot, screen


def row(screen: DiffScreen) -> str:
    return plain(screen.row_line(screen.grid.cursor, 116))


def texts(screen: DiffScreen) -> str:
    view = screen.texts
    return "\n".join(plain(view.source.line(index, 100)) for index in range(view.source.count))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_runs_stand_side_by_side(tmp_path: Path, size: tuple[int, int], update_goldens: bool) -> None:
    async with comparing(stored(tmp_path / "runs.db", *RUNS), size=size) as (app, _, _):
        agree(f"diff-{size[0]}x{size[1]}.txt", shown(app), update_goldens=update_goldens)


async def test_the_cursor_begins_where_the_runs_part_and_shows_what_differs_there(tmp_path: Path) -> None:
    async with comparing(stored(tmp_path / "runs.db", *RUNS)) as (app, _, screen):
        assert "»" in row(screen)
        assert "- A" in texts(screen)
        assert "order: 71" in texts(screen)
        assert "Runs differ first at step 2" in shown(app)


async def test_brackets_go_from_difference_to_difference_and_f_to_the_first(tmp_path: Path) -> None:
    async with comparing(stored(tmp_path / "runs.db", *RUNS)) as (app, pilot, screen):
        seen, said = [], []
        for key in ("]", "]", "[", "[", "g", "f"):
            await press(pilot, key)
            seen.append(screen.grid.cursor)
            said.append(told(app))
        assert seen == [2, 2, 1, 1, 0, 1]
        assert "no later row in which the runs differ" in said[1]
        assert "no earlier row in which the runs differ" in said[3]
        await press(pilot, "g")
        assert "A and B make the same call with the same result." in texts(screen)


@pytest.mark.slow
async def test_n_compares_with_another_run_and_capital_n_back(tmp_path: Path) -> None:
    async with comparing(stored(tmp_path / "runs.db", *RUNS, marked=(1, 3))) as (app, pilot, _):
        assert "[C] 2" in shown(app)
        await press(pilot, "n")
        assert "[B] 3" in shown(app)
        await press(pilot, "N")
        assert "[C] 2" in shown(app)


async def test_enter_opens_the_step_in_the_compared_run_and_capital_o_in_the_first(tmp_path: Path) -> None:
    async with comparing(stored(tmp_path / "runs.db", *RUNS)) as (app, pilot, _):
        for key, expected in (("enter", 2), ("o", 2), ("O", 1)):
            await press(pilot, key)
            opened = app.screen
            assert isinstance(opened, DissectorScreen)
            step = opened.selected_step()
            assert opened.opened is not None
            assert (opened.opened.id, step.number if step else None) == (expected, 2)
            await press(pilot, "escape")
        await press(pilot, "]", "enter")
        assert "This run makes no call in the selected row." in told(app)


@pytest.mark.slow
async def test_a_shows_how_the_runs_were_asked_and_w_the_texts_whole(tmp_path: Path) -> None:
    otherwise = ("user: Please give me back what I paid.", *RUNS[1][1:])
    long = "\\n".join(f"line {number}" for number in range(40))
    runs = (
        (*RUNS[0][:3], f'call: write {{"text": "{long}\\nend"}}', "result: ok"),
        (otherwise[0], *RUNS[0][1:3], f'call: write {{"text": "{long}\\nstop"}}', "result: ok"),
    )
    async with comparing(stored(tmp_path / "runs.db", *runs)) as (app, pilot, screen):
        assert "▲ different requests" in shown(app)
        assert "equal lines" in texts(screen)
        await press(pilot, "w")
        assert "line 7" in texts(screen)
        await press(pilot, "a")
        assert "The first user message differs" in texts(screen)
        assert app.focused is screen.texts
        await press(pilot, "tab")
        assert app.focused is screen.grid


@pytest.mark.slow
async def test_without_a_mark_it_says_how_to_mark(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "d")
        await settled(pilot)
        assert "No trace is marked. `m` marks one" in told(app)
        await press(pilot, "m")
        await press(pilot, "d")
        assert "Only this trace is marked" in told(app)
        assert at_home(app)
        await press(pilot, "j", "d")
        await settled(pilot)
        assert isinstance(app.screen, DiffScreen)
        await press(pilot, "escape")
        assert at_home(app)


@pytest.mark.slow
async def test_of_many_marked_traces_six_are_compared(tmp_path: Path) -> None:
    where = filled(tmp_path / "runs.db", traces=9)
    with open_store(where) as store:
        for id_ in range(1, 9):
            store.marks.put(id_)
    async with running(where, size=(120, 40), named="9") as (app, pilot):
        await press(pilot, "d")
        await settled(pilot)
        assert "only 6 runs are shown side by side" in told(app)
        assert "[F] 9" in shown(app)


@pytest.mark.slow
async def test_runs_without_calls_and_runs_that_are_alike_are_said(tmp_path: Path) -> None:
    where = stored(tmp_path / "runs.db", ("user: Hello.", "say: Hi."), ("user: Hello.", "say: Good day."))
    async with comparing(where) as (app, pilot, screen):
        assert "No run calls a tool" in texts(screen)
        await press(pilot, "f", "o")
        assert "The runs do not diverge" in told(app)
        assert isinstance(app.screen, DissectorScreen)


@pytest.mark.slow
async def test_a_layer_that_is_not_recorded_is_named(tmp_path: Path) -> None:
    async with comparing(stored(tmp_path / "runs.db", *RUNS)) as (app, pilot, screen):
        await press(pilot, "l")
        await settled(pilot)
        assert "No run calls a tool" not in shown(app)
        assert "No run has a call recorded as emitted" in texts(screen)


@pytest.mark.slow
async def test_two_thousand_steps_and_long_texts_are_compared(tmp_path: Path) -> None:
    steps = [line for number in range(2_000) for line in (f'call: look {{"at": {number}}}', f"result: {number}")]
    long = "word " * 100_000
    runs = tuple(("user: Look.", *steps, 'call: read {"name": "x"}', f"result: {long}{end}") for end in ("one", "two"))
    async with comparing(stored(tmp_path / "runs.db", *runs)) as (app, pilot, screen):
        assert screen.grid.cursor == 2_000
        assert "one" in texts(screen)
        await press(pilot, "g", "]")
        assert screen.grid.cursor == 2_000
        assert "row 2,001/2,001" in shown(app)


async def test_hostile_texts_stay_in_their_places(tmp_path: Path) -> None:
    evil = "\\u001b[31m[red]\\u202e\\u0000"
    runs = tuple(("user: x", f'call: do {{"a": "{evil}{end}"}}', f"result: \x1b]52;c;aGk=\x07{end}") for end in "12")
    async with comparing(stored(tmp_path / "runs.db", *runs)) as (app, _, _):
        assert not {"\x1b", "\u202e", "\x00", "\x07"} & set(shown(app))
        assert "[red]" in shown(app)


@pytest.mark.slow
async def test_a_database_that_vanishes_is_said_and_found_again(tmp_path: Path) -> None:
    where = Path(stored(tmp_path / "runs.db", *RUNS))
    async with comparing(str(where)) as (app, pilot, _):
        where.rename(tmp_path / "away.db")
        await press(pilot, "ctrl+r")
        assert "was removed or renamed" in shown(app).splitlines()[0]
        (tmp_path / "away.db").rename(where)
        await press(pilot, "ctrl+r")
        assert "was removed or renamed" not in shown(app)


async def test_r_shows_the_requests_of_the_row_side_by_side(tmp_path: Path) -> None:
    asked_otherwise = ("user: Give me back what I paid for order 71.", *RUNS[1][1:])
    async with comparing(stored(tmp_path / "runs.db", RUNS[0], asked_otherwise)) as (app, pilot, screen):
        await press(pilot, "r")
        rows = [line for line in texts(screen).splitlines() if "order 17." in line or "order 71." in line]
        assert rows
        assert any(line.lstrip().startswith("-") and " │ +" in line for line in rows)
        assert "requests: A with B" in shown(app)


@pytest.mark.slow
async def test_a_trace_is_compared_at_once_with_one_that_was_named(tmp_path: Path) -> None:
    where = stored(tmp_path / "runs.db", *RUNS, marked=())
    async with running(where, size=(120, 40), named="2", against="1") as (app, pilot):
        kinds = [type(app.screen)]
        assert "Runs differ first at step 2" in shown(app)
        await press(pilot, "escape")
        assert [*kinds, type(app.screen)] == [DiffScreen, DissectorScreen]
    async with running(where, size=(120, 40), named="2", against="9", toasts=True) as (app, _):
        assert at_home(app)
        assert "no trace `9`" in told(app)
