"""Links open a trace where they lead."""

from pathlib import Path

import pytest

from tests.ui.tui.apps import running, told
from tests.ui.tui.dissector.stage import WIDE, Stage, dissecting, stored
from tests.ui.views.dissect import scenes
from weaklink.ui.views.links import Link


async def test_a_copied_link_opens_the_trace_on_the_same_characters(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press("1", "enter", "j")
        location = stage.location
        assert stage.selected == '"Oslo"'
    async with running(str(tmp_path / "runs.db"), size=WIDE, named=str(Link("1", location=location))) as (app, pilot):
        assert (Stage(app, pilot).location, Stage(app, pilot).lit) == (location, '"Oslo"')
    address = f"http://127.0.0.1:8501/trace?trace=1&turn={location.turn}&start={location.range.start}&end={location.range.end}"
    async with running(str(tmp_path / "runs.db"), size=WIDE, named=address) as (app, pilot):
        assert Stage(app, pilot).lit == '"Oslo"'


@pytest.mark.slow
async def test_a_link_to_a_place_that_is_not_there_says_so_and_opens_the_trace(tmp_path: Path) -> None:
    where = stored(tmp_path / "runs.db", scenes.streamed())
    async with running(where, size=WIDE, named="weaklink://trace/1?step=77") as (app, pilot):
        assert "The link points to step 77, which this trace does not have." in told(app)
        assert Stage(app, pilot).screen.location is not None
