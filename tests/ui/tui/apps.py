"""Runs the application without a terminal over a store made for a test, and says what its screen shows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from textual.pilot import Pilot

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from weaklink.storage.store import open_store
from weaklink.ui.tui.app import WeaklinkApp
from weaklink.ui.tui.chains.screen import ChainsScreen

LONG_AGO_S = 1_700_000_000.0
GOLDENS = Path(__file__).parents[2] / "cases" / "tui"
SIZES = ((80, 24), (120, 40))


def filled(path: Path, *, traces: int = 6) -> str:
    """A database with so many traces, a minute apart; every third one is whole, the others break at a comma."""
    path.write_bytes(_database(traces))
    return str(path)


@cache
def _database(traces: int) -> bytes:
    """The file of such a database, which takes longer to make than most tests take with it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "weaklink.db"
        with open_store(path) as store:
            store.save(
                inspected(
                    *(
                        trace(
                            f"session {number}",
                            GOOD_CALL if number % 3 == 0 else BAD_CALL,
                            words=f"what is the weather of day {number}?",
                            model="qwen3-32b" if number % 2 else "hermes-4",
                            started_s=LONG_AGO_S + number * 60,
                        )
                        for number in range(traces)
                    )
                )
            )
            store.search.index_pending()
        assert [file.name for file in Path(folder).iterdir()] == [path.name]
        return path.read_bytes()


@asynccontextmanager
async def running(
    where: str,
    *,
    size: tuple[int, int] = (80, 24),
    filter_text: str = "",
    theme: str = "dark",
    named: str | None = None,
    against: str | None = None,
    toasts: bool = False,
    is_temporary: bool = False,
) -> AsyncIterator[tuple[WeaklinkApp, Pilot[None]]]:
    """The application over a database, once it has nothing left to do; `toasts` shows what it says for a moment."""
    app = WeaklinkApp(
        where, filter_text=filter_text, theme=theme, trace=named, against=against, is_temporary=is_temporary
    )
    async with app.run_test(size=size, notifications=toasts) as pilot:
        await settled(pilot)
        yield app, pilot


_LOOKS = 2  # one after the other in which nothing is to be done


async def settled(pilot: Pilot[None]) -> None:
    """Wait until the application has done what it was told: on a loaded machine a process rests with work undone."""
    looks = 0
    while looks < _LOOKS:
        await pilot.pause()
        app = pilot.app
        is_busy = any(not worker.is_finished for worker in app.workers) or any(
            pump.message_queue_size for pump in (app, *app._registry)
        )
        looks = 0 if is_busy else looks + 1
        if is_busy:
            await asyncio.sleep(0.01)


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Press keys and wait for what they do."""
    await pilot.press(*keys)
    await settled(pilot)


def shown(app: WeaklinkApp) -> str:
    """The screen as text."""
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips()) + "\n"


async def until_shown(app: WeaklinkApp, words: str) -> None:
    """Wait until the screen has some words; TimeoutError after 20 s."""
    async with asyncio.timeout(20):
        while words not in shown(app):
            await asyncio.sleep(0.01)


def home(app: WeaklinkApp) -> ChainsScreen:
    """The home screen, wherever in the stack it is."""
    return next(screen for screen in app.screen_stack if isinstance(screen, ChainsScreen))


def names(app: WeaklinkApp) -> list[str]:
    """The names of the listed traces, as far as they were read."""
    return [row.summary.name for _, row in sorted(home(app).chains.pages.known(), key=lambda pair: pair[0])]


def told(app: WeaklinkApp) -> str:
    """Everything that was said in notifications."""
    return "\n".join(notification.message for notification in app._notifications)


def at_home(app: WeaklinkApp) -> bool:
    """Whether nothing lies above the home screen."""
    return app.screen is home(app)


def agree(name: str, got: str, *, update_goldens: bool) -> None:
    """What the screen shows is what the file of this name holds."""
    golden = GOLDENS / name
    if update_goldens:
        golden.write_text(got)
    assert got == golden.read_text(), "`make test ARGS=--update-goldens` writes what is shown now"
