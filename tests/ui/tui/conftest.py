"""What the tests of the terminal debugger share: a test may be a coroutine."""

import asyncio
import inspect
from time import monotonic, process_time

import pytest

_LOOK_S = 0.008


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
    return True


async def _wait_for_idle(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Wait until this process has no more to do, as Textual's own does, with a look every few milliseconds."""
    end = monotonic() + max_sleep
    while monotonic() < end:
        before = process_time()
        await asyncio.sleep(_LOOK_S)
        if process_time() - before < _LOOK_S / 16:
            return


@pytest.fixture(autouse=True)
def look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the pilot of Textual look more often than every 20 ms whether the application is done."""
    for module in ("app", "pilot"):
        monkeypatch.setattr(f"textual.{module}.wait_for_idle", _wait_for_idle)


@pytest.fixture(autouse=True)
def notifications_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is said until the test ends: on a loaded machine its five seconds pass before the test looks."""
    monkeypatch.setattr("textual.app.App.NOTIFICATION_TIMEOUT", 600)
