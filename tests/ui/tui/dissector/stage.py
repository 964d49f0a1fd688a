"""Opens the dissector on a trace of a test, without a terminal."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from tests.storage.templates import put_empty_database
from tests.ui.tui.apps import press, running, settled
from tests.ui.views.dissect import scenes
from weaklink.inspector.diagnostics import Location
from weaklink.storage.store import open_store
from weaklink.ui.tui.app import WeaklinkApp
from weaklink.ui.tui.dissector.screen import DissectorScreen
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.styled_text import plain

WIDE, SMALL = (140, 44), (80, 24)


def stored(path: Path, *dissections: Dissection) -> str:
    """A database with these traces."""
    with open_store(put_empty_database(path)) as store:
        store.save((dissection.trace, dissection.inspection) for dissection in dissections)
    return str(path)


@asynccontextmanager
async def dissecting(
    path: Path, *dissections: Dissection, size: tuple[int, int] = WIDE, theme: str = "dark"
) -> AsyncIterator[tuple["Stage", Pilot[None]]]:
    """The dissector on the first of these traces, or on the streamed one."""
    where = stored(path / "runs.db", *(dissections or (scenes.streamed(),)))
    async with running(where, size=size, named="1", theme=theme) as (app, pilot):
        await settled(pilot)
        yield Stage(app, pilot), pilot


class Stage:
    """What a test asks of the dissector."""

    def __init__(self, app: WeaklinkApp, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def screen(self) -> DissectorScreen:
        """The dissector, wherever in the stack it is."""
        return next(screen for screen in self.app.screen_stack if isinstance(screen, DissectorScreen))

    @property
    def location(self) -> Location:
        """What is selected."""
        assert self.screen.location is not None
        return self.screen.location

    @property
    def selected(self) -> str:
        """The characters that are selected."""
        assert self.screen.opened is not None
        return self.screen.opened.dissection.text_of(self.location)

    @property
    def row(self) -> str:
        """The row of the tree under the cursor."""
        row = self.screen.panes.branches.row
        return plain(row.label) if row is not None else ""

    @property
    def lit(self) -> str:
        """The characters that are lit in the stream."""
        lit = self.screen.panes.stream.lit
        assert self.screen.opened is not None
        return self.screen.opened.dissection.text_of(lit) if lit is not None else ""

    @property
    def side(self) -> str:
        """The lines of the view beside the stream."""
        view = self.screen.panes.side.view
        return "\n".join(plain(view.source.line(index, 200)) for index in range(view.source.count))

    async def press(self, *keys: str) -> None:
        """Press keys and wait for what they do."""
        await press(self.pilot, *keys)
