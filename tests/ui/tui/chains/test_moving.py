"""Going from chain to chain: to breaks and hits wherever they are, in a list that changes meanwhile."""

from pathlib import Path

import pytest

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from tests.ui.tui.apps import (
    LONG_AGO_S,
    at_home,
    filled,
    home,
    names,
    press,
    running,
    settled,
    shown,
    told,
    until_shown,
)
from weaklink.inspector.capture.events import TraceStarted, TurnEnded, with_losses
from weaklink.inspector.model import Instant, Part, Role, Trace, Turn
from weaklink.storage.listing import Order
from weaklink.storage.live import StoreSink
from weaklink.storage.store import open_store
from weaklink.ui.tui.app import WeaklinkApp
from weaklink.ui.tui.chains import chain_list as pages_module
from weaklink.ui.tui.chains.actions import _POLLS_PER_COUNT
from weaklink.ui.tui.chains.chain_list import ChainList


def current(app: WeaklinkApp) -> str:
    """The name of the chain under the cursor."""
    row = home(app).chains.current
    return row.name if row is not None else ""


async def beat(app: WeaklinkApp) -> None:
    """As many beats as it takes until all traces are counted."""
    for _ in range(_POLLS_PER_COUNT):
        await home(app).beat()


async def test_n_goes_from_hit_to_hit_and_capital_n_back(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "t")
        await press(pilot, "n")
        assert "No search words" in told(app)
        await press(pilot, "/", *"weather", "enter")
        await press(pilot, "g", "n", "n")
        assert current(app) == "session 3"
        await press(pilot, "N")
        assert current(app) == "session 4"
        await press(pilot, "g", "N")
        assert "No earlier trace contains the words." in told(app)


def _many(folder: Path) -> Path:
    """A database with five pages of traces; only one of the second page is broken."""
    where = folder / "runs.db"
    many = [trace(f"ok {number}", GOOD_CALL, started_s=LONG_AGO_S - number) for number in range(450)]
    with open_store(where) as store:
        store.save(inspected(trace("broken", BAD_CALL, started_s=LONG_AGO_S - 149.5), *many))
    return where


@pytest.mark.slow
@pytest.mark.one_in(2)
@pytest.mark.parametrize(("order", "last"), [(Order.TIME, "ok    451"), (Order.ERRORS, "2  ok 0")])
async def test_a_break_far_above_is_found_though_its_page_is_no_longer_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: Order, last: str
) -> None:
    monkeypatch.setattr(pages_module, "_CACHE_SIZE", 1)
    where = _many(tmp_path)
    async with running(str(where)) as (app, pilot):
        home(app).order = order
        await press(pilot, "ctrl+r", "G")
        await until_shown(app, last)
        await press(pilot, "ctrl+e", "escape")
        assert current(app) == "broken"
        await press(pilot, "ctrl+e")
        assert "No trace before this one is broken." in told(app)


async def _unread(chains: ChainList) -> None:
    """A page that is never read because it is visible, as on a slow disk."""


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("key", "says"), [("ctrl+e", "broken"), ("enter", "ok 449")])
async def test_a_key_on_a_trace_whose_page_is_still_being_read_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, says: str
) -> None:
    monkeypatch.setattr(ChainList, "_fill", _unread)
    where = _many(tmp_path)
    async with running(str(where)) as (app, pilot):
        home(app).order = Order.TIME
        await press(pilot, "ctrl+r", "G")
        assert current(app) == ""
        await press(pilot, key)
        assert not at_home(app)
        await press(pilot, "escape")
        assert current(app) == says


@pytest.mark.slow
async def test_chains_that_were_deleted_elsewhere_go_from_the_list_by_themselves(tmp_path: Path) -> None:
    where = filled(tmp_path / "runs.db")
    async with running(where) as (app, pilot):
        await press(pilot, "t")
        with open_store(where) as store:
            store.delete(["session 2"])
        await beat(app)
        await settled(pilot)
        assert names(app) == ["session 5", "session 4", "session 3", "session 1", "session 0"]
        with open_store(where) as store:
            store.delete(["session 5"])
        await beat(app)
        await settled(pilot)
        assert names(app)[0] == "session 4"


@pytest.mark.slow
async def test_a_sorted_list_takes_what_comes_when_it_follows(tmp_path: Path) -> None:
    where = filled(tmp_path / "runs.db")
    async with running(where) as (app, pilot):
        await press(pilot, "s", "G", "enter")
        with open_store(where) as store:
            store.save(inspected(trace("worst", *[BAD_CALL] * 3, started_s=LONG_AGO_S - 1_000)))
        await beat(app)
        await settled(pilot)
        assert "worst" not in names(app)
        await press(pilot, "F")
        with open_store(where) as store:
            store.save(inspected(trace("bad", *[BAD_CALL] * 2, started_s=LONG_AGO_S - 1_000)))
        await beat(app)
        await settled(pilot)
        assert names(app)[:2] == ["worst", "bad"]


async def test_what_a_recorder_could_not_keep_of_running_traces_is_counted_and_nothing_else(tmp_path: Path) -> None:
    where = filled(tmp_path / "runs.db")
    with open_store(where) as store:
        sink = StoreSink(store)
        sink.accept(TraceStarted("run", Trace((), name="running", started=Instant(LONG_AGO_S + 9_000))))
        sink.accept(TurnEnded("run", 1, Turn(Role.USER, (Part("text", "Hello?"),))))
        sink.flush()
        async with running(where) as (app, pilot):
            await home(app).beat()
            await settled(pilot)
            assert "shown in part" not in shown(app)
            short = with_losses(Turn(Role.ASSISTANT, (Part("text", "Well"),)), ["12 bytes were dropped."], is_gap=True)
            sink.accept(TurnEnded("run", 2, short))
            sink.flush()
            await home(app).beat()
            await settled(pilot)
            assert "… 1 turn shown in part" in shown(app).splitlines()[0]
            sink.close()
            await home(app).beat()
            await settled(pilot)
            assert "shown in part" not in shown(app)
