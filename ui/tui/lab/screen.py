"""The re-read lab: formats by ways of cutting, which readings are like the stored one, and what differs in each."""

import asyncio
from collections.abc import Callable
from functools import partial
from threading import Event
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import BindingType

from inspector.diagnostics import Location
from inspector.errors import WeaklinkError
from inspector.formats.format import Format
from inspector.segmentation import Segmentation
from ui.tui.commands import Command, bindings
from ui.tui.dialogs import LineDialog
from ui.tui.footer import KeyFooter
from ui.tui.lab.commands import LAB_COMMANDS
from ui.tui.lab.cutting import Chunking, single_size
from ui.tui.lab.grid import Cells, LabGrid
from ui.tui.lab.lines import WantedReading, sample_line
from ui.tui.lab.reading import Cell, Comparing, LeftError, Likeness, read, uncut
from ui.tui.lab.sample import LabSample, sample_of
from ui.tui.lab.writing import write_reading, wrong_with
from ui.tui.line_bar import LineBar
from ui.tui.line_view import Lines, LineView
from ui.tui.status_line import StatusLine
from ui.tui.store_access import StoreAccess
from ui.tui.upper_screen import UpperScreen
from ui.tui.work import begin
from ui.views.palette import Style
from ui.views.run import Run
from ui.views.visible import visible_line
from ui.views.wording import counted, quoted

_PATIENCE_S = 0.06
_CUTS = tuple(Chunking)
_Answer = TypeVar("_Answer")


class LabScreen(UpperScreen):
    """The text at a place of trace `id`, read again. Nothing of it is kept; leaving it ends what goes on."""

    ACTIONS: ClassVar[tuple[Command, ...]] = LAB_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(LAB_COMMANDS)]
    DEFAULT_CSS = """
    LabScreen { background: $background; }
    LabScreen #grid { height: 1fr; }
    LabScreen #what { background: $surface; }
    LabScreen #unlike { height: 1fr; }
    """

    def __init__(self, access: StoreAccess, id: int, place: Location | None = None) -> None:
        super().__init__(access, f"trace {id}", "lab")
        self._trace_id = id
        self._place = place
        self._sample: LabSample | None = None
        self._formats: list[tuple[Format, float]] = []
        self._comparing: Comparing | None = None
        self._cells: Cells = {}
        self._seed = 1
        self._cut = Chunking.WHOLE
        self._is_whole = False
        self._left = Event()

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield StatusLine()
        yield LineBar(id="sample")
        yield LineBar(id="head")
        yield LineView(id="grid")
        yield LineBar(id="what")
        yield LineView(id="unlike")
        yield KeyFooter()

    @property
    def grid(self) -> LineView:
        """The formats, a row each."""
        return self.query_one("#grid", LineView)

    @property
    def unlike(self) -> LineView:
        """What differs between the stored reading and the selected one."""
        return self.query_one("#unlike", LineView)

    @property
    def cells(self) -> Cells:
        """What the readings came to, as far as they are done; by format's name and cut."""
        return self._cells

    @property
    def selected(self) -> tuple[str, Chunking]:
        """The selected reading: its format's name and how it is cut."""
        return self._formats[self.grid.cursor][0].name, self._cut

    def on_mount(self) -> None:
        """Read."""
        self.grid.focus()
        self._begin()

    def on_unmount(self) -> None:
        """Leave what goes on."""
        self._left.set()

    def on_resize(self) -> None:
        """Lines are made for a width."""
        self.call_after_refresh(self._say_all)

    def on_line_view_moved(self, event: LineView.Moved) -> None:
        """Another format is selected."""
        if event.view is self.grid:
            self._look()

    def action_next_cut(self) -> None:
        """Go to the next way of cutting."""
        self._choose(1)

    def action_previous_cut(self) -> None:
        """Go to the way of cutting before."""
        self._choose(-1)

    def action_next_unlike(self) -> None:
        """Go to the next reading that differs, row by row, and from the last to the first."""
        places = [(row, cut) for row in range(len(self._formats)) for cut in _CUTS]
        if not places:
            return
        here = places.index((self.grid.cursor, self._cut))
        for row, cut in (*places[here + 1 :], *places[:here]):
            cell = self._cells.get((self._formats[row][0].name, cut))
            if cell is not None and cell.likeness in (Likeness.DIFFERS, Likeness.ERROR):
                self._cut = cut
                self.grid.move_to(row)
                self._say_all()
                return
        self.tell("No further reading differs, as far as they are done.")

    def action_seed(self) -> None:
        """Cut the stream at other random places."""
        self._seed += 1
        self._cells = {key: cell for key, cell in self._cells.items() if key[1] is not Chunking.RANDOM}
        self._cut = Chunking.RANDOM
        self._go_on()

    def action_whole(self) -> None:
        """Show all that was read, or only what differs."""
        self._is_whole = not self._is_whole
        self._look()

    def action_write(self) -> None:
        """Ask for a file and write the selected reading to it."""
        if self._sample is None:
            return
        chosen = self._formats[self.grid.cursor][0]
        typed = f"trace-{self._trace_id}-turn-{self._sample.turn}-{chosen.name}.json"
        about = "The file gets what `weaklink segment --json` prints: spans, calls and diagnostics."
        dialog = LineDialog(f"write the reading as {chosen.name}", about=about, typed=typed, wrong=wrong_with)
        self.app.push_screen(dialog, partial(self._write, chosen, self._cut))

    def action_next_pane(self) -> None:
        """Give the keys to the other list."""
        (self.grid if self.focused is self.unlike else self.unlike).focus()

    def action_reload(self) -> None:
        """Read the trace anew."""
        self.access.forget()
        self._begin()

    def _begin(self) -> None:
        begin(self, self._read_all, "readings")

    def _go_on(self) -> None:
        self.grid.renew()
        self._say_all()
        begin(self, self._read_cells, "readings")

    async def _read_all(self) -> None:
        async with self.working("reading the trace"):
            sample = await self.answer(partial(sample_of, id=self._trace_id, place=self._place), of_traces=True)
        if sample is None:
            if not self.status.said.problem:
                said = "This trace holds no text that a format could read: its calls came as fields of an API."
                self.query_one("#sample", LineBar).say([(Run(" "), *quoted(said))])
            return
        self._sample, self._cells = sample, {}
        self.crumbs = (f"{self._trace_id} {visible_line(sample.title)}".strip(), "lab")
        self._formats = await asyncio.to_thread(sample.candidates)
        own = self._formats[0][0]
        reading = await self._thread(partial(read, sample, own, Chunking.WHOLE, self._seed, self._left.is_set))
        if reading is None:
            return
        self._comparing = Comparing(sample, reading)
        self.grid.show(LabGrid(self._formats, lambda: self._cells))
        self._say_all()
        await self._read_cells()

    async def _read_cells(self) -> None:
        """Read what is not read yet, row by row; superseded by itself, it is left between two readings."""
        sample, comparing = self._sample, self._comparing
        if sample is None or comparing is None:
            return
        left = Event()  # of this round alone: another seed begins another round
        try:
            for row, (format_, _) in enumerate(self._formats):
                for cut in _CUTS:
                    if (format_.name, cut) not in self._cells:
                        done, all_ = len(self._cells), len(self._formats) * len(_CUTS)
                        self.work(f"reading {done} of {all_}")
                        cell = await self._cell(sample, comparing, format_, cut, left)
                        if cell is None:
                            return
                        self._cells[format_.name, cut] = cell
                        self.grid.renew(row)
                        self._say_counts()
        finally:
            left.set()
            self.work("")

    async def _cell(
        self, sample: LabSample, comparing: Comparing, format_: Format, cut: Chunking, left: Event
    ) -> Cell | None:
        if uncut(sample, cut):
            return Cell(Likeness.UNCUT)

        def is_left() -> bool:
            return left.is_set() or self._left.is_set()

        def compared() -> Cell:
            return comparing.cell(read(sample, format_, cut, self._seed, is_left))

        return await self._thread(compared)

    async def _thread(self, work: Callable[[], _Answer]) -> _Answer | None:
        try:
            return await asyncio.to_thread(work)
        except LeftError:
            return None

    def _choose(self, by: int) -> None:
        self._cut = _CUTS[(_CUTS.index(self._cut) + by) % len(_CUTS)]
        self._say_all()

    def _say_all(self) -> None:
        sample = self._sample
        if sample is None:
            return
        self.query_one("#sample", LineBar).say([sample_line(sample, self._comparing, self._seed)])
        room = max(self.grid.scrollable_content_region.width, 20)
        self.query_one("#head", LineBar).say([LabGrid.head(room, self._cut, single_size(sample.text))])
        self._say_counts()
        self._look()

    def _say_counts(self) -> None:
        found = [cell.likeness for cell in self._cells.values()]
        right = [Run(f"= {found.count(Likeness.SAME)} same  ", Style.OK)]
        right += [Run(f"≠ {found.count(Likeness.DIFFERS)} differ", Style.WARNING)]
        errors = found.count(Likeness.ERROR)
        right += [Run(f"  ✖ {counted(errors, 'error')}", Style.ERROR)] if errors else []
        self.say((), tuple(right))

    def _look(self) -> None:
        if self._comparing is not None:
            begin(self, self._compare, "unlike")

    async def _compare(self) -> None:
        """Read the selected cell again and show how it differs, once the cursor rests on it."""
        await asyncio.sleep(_PATIENCE_S)
        sample, comparing = self._sample, self._comparing
        if sample is None or comparing is None:
            return
        format_, cut = self._formats[self.grid.cursor][0], self._cut
        what = f" stored ({sample.stored.format}, whole)  │  read as {format_.name}, {cut.value}"
        self.query_one("#what", LineBar).say([(Run(what, Style.STRONG),)])
        width, whole = max(self.unlike.scrollable_content_region.width - 1, 20), self._is_whole
        wanted = WantedReading(sample, comparing, format_, cut, self._seed)
        lines = await self._thread(partial(wanted.lines, width, self._left.is_set, whole=whole))
        if lines is not None:
            self.unlike.show(Lines(lines))

    def _write(self, format_: Format, cut: Chunking, path: str | None) -> None:
        if path is not None:
            begin(self, partial(self._written, format_, cut, path), "write", supersedes=False)

    async def _written(self, format_: Format, cut: Chunking, path: str) -> None:
        sample = self._sample
        assert sample is not None
        reading = await self._thread(partial(read, sample, format_, cut, self._seed, self._left.is_set))
        if not isinstance(reading, Segmentation):
            self.tell(reading or "Nothing was written.", is_error=True)
            return
        try:
            written = await asyncio.to_thread(write_reading, reading, path)
        except WeaklinkError as error:
            self.tell(str(error), is_error=True)
        else:
            self.tell(f"The reading is written to {written}.")
