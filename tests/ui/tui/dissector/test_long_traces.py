"""A long trace is let go of before another one is read; the screen says that it reads, and can be left."""

import asyncio
import gc
import threading
import weakref
from pathlib import Path

import pytest

from tests.ui.tui.apps import at_home, press, running, settled, shown, until_shown
from tests.ui.tui.dissector.stage import WIDE, Stage, dissecting
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Generation, Part, Role, Trace, Turn
from weaklink.storage.store import Store, open_store
from weaklink.ui.tui.store_access import StoreAccess
from weaklink.ui.views.dissect.dissection import Dissection

_THREADS = 64  # more than work beside a screen at a time


def _stored(path: Path, characters: int) -> str:
    with open_store(path) as store:
        for number in range(2):
            words = f"trace {number} " + "words " * (characters // 6)
            trace = Trace((Turn(Role.USER, (Part("text", words),)),), name=f"run {number}", format="hermes")
            store.save([(trace, inspect_trace(trace))])
    return str(path)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("key", ["ctrl+r", "}", "{"])
@pytest.mark.parametrize("characters", [1_200_000, 6_000], ids=["long", "short"])
async def test_a_trace_that_is_long_is_gone_while_another_is_read(tmp_path: Path, key: str, characters: int) -> None:
    where = _stored(tmp_path / "runs.db", characters)
    async with running(where, size=WIDE, named="1" if key == "{" else "2") as (app, pilot):
        stage, go_on = Stage(app, pilot), threading.Event()
        assert stage.screen.opened is not None
        before = weakref.ref(stage.screen.opened.dissection)

        def wait(_: Store) -> None:
            go_on.wait(20)

        waiting = asyncio.create_task(stage.screen.access.query_trace(wait))
        await asyncio.sleep(0.05)
        await pilot.press(key)
        await until_shown(app, "reading the trace")
        gc.collect()
        is_kept = before() is not None
        go_on.set()
        await waiting
        await settled(pilot)
        assert is_kept == (characters < 1_000_000)
        assert stage.screen.opened is not None


async def test_a_reading_can_be_left(tmp_path: Path) -> None:
    async with running(_stored(tmp_path / "runs.db", 1_200_000), size=WIDE, named="1") as (app, pilot):
        stage, go_on = Stage(app, pilot), threading.Event()
        waiting = asyncio.create_task(stage.screen.access.query_trace(lambda _: go_on.wait(20)))
        await asyncio.sleep(0.05)
        await pilot.press("ctrl+r")
        await pilot.press("e", "]", "j", "G", "escape")
        assert at_home(app)
        go_on.set()
        await waiting


async def test_of_two_traces_the_second_is_read_when_the_first_is_read_and_gone(tmp_path: Path) -> None:
    access, go_on = StoreAccess(_stored(tmp_path / "runs.db", 60)), threading.Event()
    kept, read = list[weakref.ref[Dissection]](), list[str]()

    def first(store: Store) -> Dissection:
        dissection = Dissection(*store.inspected(1))
        kept.append(weakref.ref(dissection))
        go_on.wait(20)
        return dissection

    def left(store: Store) -> None:
        read.append("left")

    def second(store: Store) -> None:
        read.append("second" if kept[0]() is None else "second beside the first")

    async with asyncio.timeout(20):
        reading, waiting = (asyncio.create_task(access.query_trace(question)) for question in (first, left))
        last = asyncio.create_task(access.query_trace(second))
        while not kept:
            await asyncio.sleep(0.01)
        reading.cancel()
        waiting.cancel()
        await asyncio.gather(reading, waiting, return_exceptions=True)
        assert not read
        go_on.set()
        await last
    assert read == ["second"]
    access.forget()


@pytest.mark.slow
async def test_the_times_of_a_long_trace_are_looked_at_while_the_screen_goes_on(tmp_path: Path) -> None:
    turns = [Turn(Role.ASSISTANT, (Part("text", "yes"),), generation=Generation()) for _ in range(300)]
    trace = Trace(tuple(turns), format="hermes")
    async with dissecting(tmp_path, Dissection(trace, inspect_trace(trace))) as (stage, pilot):
        go_on, loop = threading.Event(), asyncio.get_running_loop()
        waiting = [loop.run_in_executor(None, go_on.wait, 20) for _ in range(_THREADS)]
        await pilot.press("3", "left", "left", "left", "left")
        await pilot.pause()
        said = shown(stage.app)
        await pilot.press("left")  # looked away from before it was known
        await pilot.pause()
        elsewhere = shown(stage.app)
        go_on.set()
        await asyncio.gather(*waiting)
        await settled(pilot)
        await press(pilot, "right")
        assert "Computing the times of the answers" in said
        assert "[origins]" in elsewhere
        assert "turn 1   no times recorded" in shown(stage.app)


@pytest.mark.slow
async def test_a_search_in_a_long_trace_says_that_it_is_going_on(tmp_path: Path) -> None:
    async with running(_stored(tmp_path / "runs.db", 1_200_000), size=WIDE, named="1") as (app, pilot):
        stage, go_on, loop = Stage(app, pilot), threading.Event(), asyncio.get_running_loop()
        waiting = [loop.run_in_executor(None, go_on.wait, 20) for _ in range(_THREADS)]  # none is left for the search
        await pilot.press("slash", *"trace 0", "enter")
        await until_shown(app, "searching")
        go_on.set()
        await asyncio.gather(*waiting)
        await settled(pilot)
        assert "searching" not in shown(app)
        assert stage.selected == "trace 0"
