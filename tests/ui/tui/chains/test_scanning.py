"""A filter that no index leads to: what is found is shown while the list is looked through, and it can be left."""

from collections.abc import Iterator
from threading import Semaphore

import pytest

from storage import ListCursor, Order, ScanPlace, Store
from tests.ui.tui.apps import filled, home, names, press, running, settled, shown
from ui.tui.app import WeaklinkApp
from ui.tui.chains import chain_list
from ui.tui.chains.chain_list import PAGE, TraceListRow

_TRACES = 2 * PAGE + 31
_STEP = 30
_FOUND = [number for number in reversed(range(_TRACES)) if "7" in str(number)]
_NEWEST = [f"session {number}" for number in reversed(range(_TRACES))]


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_STEP", "_NARROWEST", "_WIDEST"):
        monkeypatch.setattr(f"storage.finding.{name}", _STEP)


class _Held:
    """Lets one step of a scan go on for each permit."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._steps, self._step = Semaphore(0), chain_list._step
        monkeypatch.setattr(chain_list, "_step", self._held_up)

    def _held_up(
        self, store: Store, *, filter_text: str, order: Order, limit: int, place: ScanPlace | None
    ) -> tuple[list[TraceListRow], ScanPlace | None]:
        if filter_text == "name:*7*":
            self._steps.acquire(timeout=60)
        return self._step(store, filter_text=filter_text, order=order, limit=limit, place=place)

    def permit(self, steps: int = 1) -> None:
        """Let so many steps go on."""
        self._steps.release(steps)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Held]:
    """Steps wait for a permit; none is left waiting behind the test."""
    made = _Held(monkeypatch)
    yield made
    made.permit(1_000)


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database of more than two pages."""
    return filled(tmp_path_factory.mktemp("scanned") / "runs.db", traces=_TRACES)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("filter_text", ["name:*ss*on*", "-name:*zzz*", "name:*7*"])
async def test_the_whole_list_is_reached_in_its_order(where: str, filter_text: str) -> None:
    async with running(where, filter_text=filter_text) as (app, pilot):
        await press(pilot, "t")
        wanted = [f"session {number}" for number in _FOUND] if "7" in filter_text else _NEWEST
        pages = home(app).chains.pages
        assert (pages.count, pages.is_complete) == (len(wanted), True)
        found: list[str] = []
        for index in range(0, len(wanted), 20):
            home(app).chains.move_to(index)
            await settled(pilot)
            found += [
                row.summary.name for at in range(20) if index + at < len(wanted) and (row := pages.row(index + at))
            ]
        assert found == wanted
        await press(pilot, "G")
        current = home(app).chains.current
        assert current is not None
        assert current.name == wanted[-1]


async def test_what_is_found_is_shown_at_once_with_how_far_it_came(where: str, held: _Held) -> None:
    app = WeaklinkApp(where, filter_text="name:*7*")
    async with app.run_test(size=(120, 24)) as pilot:
        held.permit(2)
        while (place := home(app).chains.scanned) is None or not place.total:
            await pilot.pause(0.01)
        assert home(app).chains.pages.count > 0
        assert not home(app).chains.pages.is_complete
        while f"of {_TRACES} traces" not in shown(app):
            await pilot.pause(0.01)
        assert "scanned" in shown(app)
        held.permit(100)
        await settled(pilot)
        assert home(app).chains.pages.is_complete
        assert "scanned" not in shown(app)


@pytest.mark.parametrize("way", ["escape", "another filter"])
async def test_a_scan_is_left_by_escape_and_by_another_filter(where: str, held: _Held, way: str) -> None:
    app = WeaklinkApp(where, filter_text="name:*7*")
    async with app.run_test(size=(120, 24)) as pilot:
        held.permit(2)
        while not home(app).chains.pages.count:
            await pilot.pause(0.01)
        if way == "escape":
            await pilot.press("escape")
        else:
            home(app).load('name:"session 3"')
        await settled(pilot)
        assert "scanned" not in shown(app)
        assert home(app).chains.pages.is_complete
        assert home(app).chains.pages.count == (_TRACES if way == "escape" else 1)
        assert way == "escape" or names(app) == ["session 3"]


def test_a_page_that_grows_is_read_again() -> None:
    pages = chain_list.TracePages()
    pages.begin([], is_last=False)
    assert (pages.count, pages.is_complete, pages.edges) == (0, False, [])
    cursors = [ListCursor(float(-number), number) for number in range(PAGE + PAGE // 2)]
    pages.take(cursors[: PAGE + 10], is_last=False)
    assert (pages.edges, pages.length(0), pages.length(1)) == ([cursors[PAGE - 1]], PAGE, 10)
    pages.put(1, [])
    pages.take([], is_last=False)
    assert pages.has(1)
    pages.take(cursors[PAGE + 10 :], is_last=True)
    assert not pages.has(1)
    assert pages.edges == [cursors[PAGE - 1], cursors[-1]]
