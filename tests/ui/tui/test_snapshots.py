"""Pictures of the screens, as the pinned version of Textual draws them: what changes in them was meant to change.

`make test ARGS=--update-goldens` writes them anew; look at them in a browser before they are committed.
"""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.ui.tui.apps import LONG_AGO_S, filled, press, running
from tests.ui.views.dissect import scenes
from weaklink.inspector.model import Instant
from weaklink.storage.store import open_store
from weaklink.ui.tui.app import WeaklinkApp
from weaklink.ui.tui.chains import chain_list

GOLDENS = Path(__file__).parents[2] / "cases" / "tui"
SIZES = {"80x24": (80, 24), "120x40": (120, 40)}
SCREENS = {"chains": (), "dissector": ("enter",)}
_UNIQUE = re.compile(r"terminal-\d+")


@pytest.fixture(autouse=True)
def as_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(chain_list, "_now_s", lambda: LONG_AGO_S + 400 * 86_400)


def stored(path: Path) -> str:
    """A few traces, the newest of which broke at an argument that its tool's schema does not take."""
    where = filled(path, traces=7)
    streamed = scenes.streamed()
    with open_store(where) as store:
        started = replace(streamed.trace, started=Instant(LONG_AGO_S + 900))
        store.save([(started, streamed.inspection)])
        store.marks.put("session 3", note="compare with this one")
        store.marks.put("session 2")
    return where


def picture(app: WeaklinkApp) -> str:
    """The screen as SVG; the ids that Textual makes anew each time are replaced."""
    return _UNIQUE.sub("terminal", app.export_screenshot(title="weaklink", simplify=True)) + "\n"


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("screen", SCREENS)
async def test_a_screen_looks_as_its_picture(
    tmp_path: Path, screen: str, size: tuple[int, int], update_goldens: bool
) -> None:
    async with running(stored(tmp_path / "runs.db"), size=size) as (app, pilot):
        await pilot.pause(0.15)
        await press(pilot, *SCREENS[screen])
        got = picture(app)
    golden = GOLDENS / f"{screen}-{size[0]}x{size[1]}.svg"
    if update_goldens:
        golden.write_text(got, encoding="utf-8")
    same = got == golden.read_text(encoding="utf-8")
    assert same, f"{golden.name} differs: `make test ARGS=--update-goldens` draws what is shown now"
