"""A filter that no index leads to: all that it finds can be reached, in its order."""

import pytest

from tests.ui.tui.apps import filled, home, press, running, settled
from weaklink.ui.tui.chains.chain_list import PAGE

_TRACES = 2 * PAGE + 31
_STEP = 30
_FOUND = [number for number in reversed(range(_TRACES)) if "7" in str(number)]
_NEWEST = [f"session {number}" for number in reversed(range(_TRACES))]


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
        collected: list[str] = []
        for index in range(0, len(wanted), 20):
            home(app).chains.move_to(index)
            await settled(pilot)
            collected += [
                row.summary.name
                for position in range(20)
                if index + position < len(wanted) and (row := pages.row(index + position))
            ]
        assert collected == wanted
        await press(pilot, "G")
        current = home(app).chains.current
        assert current is not None
        assert current.name == wanted[-1]
