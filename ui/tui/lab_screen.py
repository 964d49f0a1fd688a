"""The re-read lab: a grid of formats by chunkings, which results equal the stored one, and what differs in each."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Event
from typing import ClassVar, TypeVar

from msgspec import Struct
from textual.app import ComposeResult
from textual.binding import BindingType

from weaklink.inspector.atomic_write import whole_file
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.formats.format import Format
from weaklink.inspector.json_text import write_json
from weaklink.inspector.segmentation import Segmentation
from weaklink.ui.tui.commands import Command, bindings
from weaklink.ui.tui.dialogs import LineDialog, UpperScreen
from weaklink.ui.tui.exporting import write_problem
from weaklink.ui.tui.lab_readings import (
    Chunking,
    LabSample,
    ResultComparison,
    ResultCounts,
    ResultMatch,
    ResultNotNeededError,
    has_no_chunks,
    read_sample,
    sample_of,
    single_size,
)
from weaklink.ui.tui.line_bar import KeyFooter, LineBar, StatusLine
from weaklink.ui.tui.line_view import LineList, LineView
from weaklink.ui.tui.store_access import StoreAccess, start_work
from weaklink.ui.views.segment_json import segmentation_object
from weaklink.ui.views.styled_text import (
    Line,
    Run,
    Style,
    clipped,
    counted,
    padded,
    quoted,
    visible_line,
    width_of,
    wrapped,
)
from weaklink.ui.views.text_diff import ReadingFacts, reading_diff_lines

LAB_COMMANDS = (
    Command(
        "lab.next-cut", "Next chunking", "Go to the next chunking of the stream.", ("]", "l"), footer="Next chunking"
    ),
    Command("lab.previous-cut", "Previous chunking", "Go to the previous chunking.", ("[", "h")),
    Command(
        "lab.next-unlike", "Next difference", "Go to the next reading that differs.", ("n",), footer="Next difference"
    ),
    Command("lab.seed", "New seed", "Cut the stream at other random positions.", ("s",), footer="New seed"),
    Command("lab.whole", "All lines", "Show the whole reading, or only the differences.", ("w",), footer="All lines"),
    Command("lab.write", "Write JSON", "Write the selected reading to a file.", ("S",), footer="Write JSON"),
    Command("lab.next-pane", "Next pane", "Focus the other list.", ("tab", "shift+tab"), footer="Next pane"),
    Command("lab.reload", "Reload", "Reload the trace.", ("ctrl+r",)),
    Command("lab.back", "Back", "Leave the lab and stop its work.", ("escape", "q"), footer="Back"),
)
"""The scope `lab`."""

_NAME, _SURE = 18, 5
_MAX_WIDTH = 42

_SIGNS = {
    ResultMatch.SAME: ("=", Style.OK),
    ResultMatch.DIFFERS: ("≠", Style.WARNING),
    ResultMatch.ERROR: ("✖", Style.ERROR),
    ResultMatch.UNCUT: ("–", Style.DIM),
}

_DEBOUNCE_S = 0.06
_CHUNKINGS = tuple(Chunking)
_MAX_LINES = 20_000
GridCells = dict[tuple[str, Chunking], ResultCounts]
"""The results of readings, by the format's name and the chunking."""


class LabGrid:
    """The formats as a source of lines; cells that are not read yet are `…`."""

    def __init__(
        self, formats: Sequence[tuple[Format, float]], cells: Callable[[], Mapping[tuple[str, Chunking], ResultCounts]]
    ) -> None:
        self._formats, self._cells = formats, cells

    @property
    def count(self) -> int:
        """The number of formats."""
        return len(self._formats)

    def line(self, index: int, width: int) -> Line:
        """A format, its confidence, and its cells."""
        format_, confidence = self._formats[index]
        lead: Line = (*padded((Run(f" {format_.name}", Style.STRONG if not index else Style.PLAIN),), _NAME),)
        line = [*lead, Run(f"{confidence:>4.0%} " if confidence else " " * _SURE, Style.DIM)]
        for cut in Chunking:
            cell = self._cells().get((format_.name, cut))
            line += (*padded(_cell(cell, _room(width)), _room(width)), Run(" "))
        return clipped(line, width)

    @staticmethod
    def head(width: int, cut: Chunking, single: int) -> Line:
        """The names of the columns; the chosen one in brackets."""
        line = [*padded((Run(" format", Style.DIM),), _NAME), Run(f"{'conf':>4} ", Style.DIM)]
        for chunking in Chunking:
            name = f"{single:,} characters" if chunking is Chunking.SINGLE and single > 1 else chunking.value
            label = Run(f"[{name}]", Style.STRONG) if chunking is cut else Run(f" {name}", Style.DIM)
            line += (*padded((label,), _room(width)), Run(" "))
        return clipped(line, width)


def _room(width: int) -> int:
    return min(max((width - _NAME - _SURE) // len(Chunking) - 1, 8), _MAX_WIDTH)


def _cell(cell: ResultCounts | None, room: int) -> Line:
    if cell is None:
        return (Run(" …", Style.DIM),)
    sign, style = _SIGNS[cell.likeness]
    if cell.likeness is ResultMatch.DIFFERS:
        return (Run(f" {sign} ", style), *_fitting(cell, style, room - 4))
    return (Run(f" {sign} {cell.likeness.value}" if len(cell.likeness.value) + 4 <= room else f" {sign}", style),)


def _fitting(cell: ResultCounts, style: Style, room: int) -> Line:
    return next((line for line in _difference_lines(cell, style) if width_of(line) <= room), ())


def _difference_lines(cell: ResultCounts, style: Style) -> Iterator[Line]:
    """The result of a reading that differs, in fewer and fewer words."""
    word = Run(cell.likeness.value, style)
    spans, calls = counted(cell.spans, "span"), counted(cell.calls, "call")
    faults = counted(cell.diagnostics, "fault")
    yield (word, Run(f"  {spans}, {calls}, {faults}", Style.DIM))
    yield (Run(f"{calls}, {faults}", Style.DIM),)
    yield (Run(calls, Style.DIM),)


_Answer = TypeVar("_Answer")


class LabScreen(UpperScreen):
    """Reads the text at a place of trace `id` again. Nothing is stored; closing the screen stops its work."""

    ACTIONS: ClassVar[tuple[Command, ...]] = LAB_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(LAB_COMMANDS)]
    DEFAULT_CSS = """
    LabScreen { background: $background; }
    LabScreen #grid { height: 1fr; }
    LabScreen #what { background: $surface; }
    LabScreen #unlike { height: 1fr; }
    """

    def __init__(self, access: StoreAccess, id: int, location: Location | None = None) -> None:
        super().__init__(access, f"trace {id}", "lab")
        self._trace_id = id
        self._location = location
        self._sample: LabSample | None = None
        self._formats: list[tuple[Format, float]] = []
        self._comparing: ResultComparison | None = None
        self._cells: GridCells = {}
        self._seed = 1
        self._cut = Chunking.WHOLE
        self._is_whole = False
        self._left = Event()

    def compose(self) -> ComposeResult:
        """The widgets, from top to bottom."""
        yield StatusLine()
        yield LineBar(id="sample")
        yield LineBar(id="head")
        yield LineView(id="grid")
        yield LineBar(id="what")
        yield LineView(id="unlike")
        yield KeyFooter()

    @property
    def grid(self) -> LineView:
        """The formats, one per row."""
        return self.query_one("#grid", LineView)

    @property
    def unlike(self) -> LineView:
        """What differs between the stored reading and the selected one."""
        return self.query_one("#unlike", LineView)

    @property
    def cells(self) -> GridCells:
        """The results of the finished readings, by format name and chunking."""
        return self._cells

    @property
    def selected(self) -> tuple[str, Chunking]:
        """The selected reading: its format's name and how it is cut."""
        return self._formats[self.grid.cursor][0].name, self._cut

    def on_mount(self) -> None:
        """Begin to read."""
        self.grid.focus()
        self._begin()

    def on_unmount(self) -> None:
        """Stop running work."""
        self._left.set()

    def on_resize(self) -> None:
        """Lay the lines out for the new width."""
        self.call_after_refresh(self._refresh_status)

    def on_line_view_moved(self, event: LineView.Moved) -> None:
        """Show the reading that is selected now."""
        if event.view is self.grid:
            self._refresh_preview()

    def action_next_cut(self) -> None:
        """Go to the next chunking."""
        self._choose(1)

    def action_previous_cut(self) -> None:
        """Go to the previous chunking."""
        self._choose(-1)

    def action_next_unlike(self) -> None:
        """Go to the next reading that differs, row by row; after the last comes the first."""
        cells = [(row, cut) for row in range(len(self._formats)) for cut in _CHUNKINGS]
        if not cells:
            return
        here = cells.index((self.grid.cursor, self._cut))
        for row, cut in (*cells[here + 1 :], *cells[:here]):
            cell = self._cells.get((self._formats[row][0].name, cut))
            if cell is not None and cell.likeness in (ResultMatch.DIFFERS, ResultMatch.ERROR):
                self._cut = cut
                self.grid.move_to(row)
                self._refresh_status()
                return
        self.toast("No other finished reading differs.")

    def action_seed(self) -> None:
        """Cut the stream at other random positions."""
        self._seed += 1
        self._cells = {key: cell for key, cell in self._cells.items() if key[1] is not Chunking.RANDOM}
        self._cut = Chunking.RANDOM
        self._go_on()

    def action_whole(self) -> None:
        """Show the whole reading, or only the differences."""
        self._is_whole = not self._is_whole
        self._refresh_preview()

    def action_write(self) -> None:
        """Ask for a file and write the selected reading to it."""
        if self._sample is None:
            return
        chosen = self._formats[self.grid.cursor][0]
        typed = f"trace-{self._trace_id}-turn-{self._sample.turn}-{chosen.name}.json"
        about = "The file contains what `weaklink segment --json` prints: spans, calls and diagnostics."
        dialog = LineDialog(f"write the reading as {chosen.name}", about=about, typed=typed, wrong=write_problem)
        self.app.push_screen(dialog, partial(self._write, chosen, self._cut))

    def action_next_pane(self) -> None:
        """Focus the other list."""
        (self.grid if self.focused is self.unlike else self.unlike).focus()

    def action_reload(self) -> None:
        """Read the trace again."""
        self.access.forget()
        self._begin()

    def _begin(self) -> None:
        start_work(self, self._read_all, "readings")

    def _go_on(self) -> None:
        self.grid.renew()
        self._refresh_status()
        start_work(self, self._read_cells, "readings")

    async def _read_all(self) -> None:
        async with self.working("reading the trace"):
            sample = await self.fetch(partial(sample_of, id=self._trace_id, location=self._location), of_traces=True)
        if sample is None:
            if not self.status.status_text.problem:
                reason = (
                    "This trace contains no text that a format could read: its calls are fields of an API response."
                )
                self.query_one("#sample", LineBar).show_lines([(Run(" "), *quoted(reason))])
            return
        self._sample, self._cells = sample, {}
        self.crumbs = (f"{self._trace_id} {visible_line(sample.title)}".strip(), "lab")
        self._formats = await asyncio.to_thread(sample.candidates)
        own = self._formats[0][0]
        reading = await self._thread(partial(read_sample, sample, own, Chunking.WHOLE, self._seed, self._left.is_set))
        if reading is None:
            return
        self._comparing = ResultComparison(sample, reading)
        self.grid.show(LabGrid(self._formats, lambda: self._cells))
        self._refresh_status()
        await self._read_cells()

    async def _read_cells(self) -> None:
        """Read the missing cells, row by row; a newer call cancels this one between two readings."""
        sample, comparing = self._sample, self._comparing
        if sample is None or comparing is None:
            return
        left = Event()  # for this round alone: another seed begins another round
        try:
            for row, (format_, _) in enumerate(self._formats):
                for cut in _CHUNKINGS:
                    if (format_.name, cut) not in self._cells:
                        done, all_ = len(self._cells), len(self._formats) * len(_CHUNKINGS)
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
        self, sample: LabSample, comparing: ResultComparison, format_: Format, cut: Chunking, left: Event
    ) -> ResultCounts | None:
        if has_no_chunks(sample, cut):
            return ResultCounts(ResultMatch.UNCUT)

        def is_left() -> bool:
            return left.is_set() or self._left.is_set()

        def compared() -> ResultCounts:
            return comparing.cell(read_sample(sample, format_, cut, self._seed, is_left))

        return await self._thread(compared)

    async def _thread(self, work: Callable[[], _Answer]) -> _Answer | None:
        try:
            return await asyncio.to_thread(work)
        except ResultNotNeededError:
            return None

    def _choose(self, by: int) -> None:
        self._cut = _CHUNKINGS[(_CHUNKINGS.index(self._cut) + by) % len(_CHUNKINGS)]
        self._refresh_status()

    def _refresh_status(self) -> None:
        sample = self._sample
        if sample is None:
            return
        self.query_one("#sample", LineBar).show_lines([sample_line(sample, self._comparing, self._seed)])
        room = max(self.grid.scrollable_content_region.width, 20)
        self.query_one("#head", LineBar).show_lines([LabGrid.head(room, self._cut, single_size(sample.text))])
        self._say_counts()
        self._refresh_preview()

    def _say_counts(self) -> None:
        likenesses = [cell.likeness for cell in self._cells.values()]
        right = [Run(f"= {likenesses.count(ResultMatch.SAME)} same  ", Style.OK)]
        right += [Run(f"≠ {likenesses.count(ResultMatch.DIFFERS)} differ", Style.WARNING)]
        errors = likenesses.count(ResultMatch.ERROR)
        right += [Run(f"  ✖ {counted(errors, 'error')}", Style.ERROR)] if errors else []
        self.update_status((), tuple(right))

    def _refresh_preview(self) -> None:
        if self._comparing is not None:
            start_work(self, self._compare, "unlike")

    async def _compare(self) -> None:
        """Read the selected cell again and show how it differs, once the cursor rests on it."""
        await asyncio.sleep(_DEBOUNCE_S)
        sample, comparing = self._sample, self._comparing
        if sample is None or comparing is None:
            return
        format_, cut = self._formats[self.grid.cursor][0], self._cut
        what = f" stored ({sample.stored.format}, whole)  │  read as {format_.name}, {cut.value}"
        self.query_one("#what", LineBar).show_lines([(Run(what, Style.STRONG),)])
        width, whole = max(self.unlike.scrollable_content_region.width - 1, 20), self._is_whole
        selected = SelectedResult(sample, comparing, format_, cut, self._seed)
        lines = await self._thread(partial(selected.lines, width, self._left.is_set, whole=whole))
        if lines is not None:
            self.unlike.show(LineList(lines))

    def _write(self, format_: Format, cut: Chunking, path: str | None) -> None:
        if path is not None:
            start_work(self, partial(self._written, format_, cut, path), "write", supersedes=False)

    async def _written(self, format_: Format, cut: Chunking, path: str) -> None:
        sample = self._sample
        assert sample is not None
        reading = await self._thread(partial(read_sample, sample, format_, cut, self._seed, self._left.is_set))
        if not isinstance(reading, Segmentation):
            self.toast(reading or "Nothing was written.", is_error=True)
            return
        try:
            written = await asyncio.to_thread(write_reading, reading, path)
        except WeaklinkError as error:
            self.toast(str(error), is_error=True)
        else:
            self.toast(f"The reading is written to {written}.")


class SelectedResult(Struct, frozen=True):
    """A reading to compare with the stored one."""

    sample: LabSample
    comparing: ResultComparison
    format: Format
    cut: Chunking
    seed: int

    def read(self, is_left: Callable[[], bool]) -> Segmentation | str:
        """The reading, or a sentence if its reader raised. Raises ResultNotNeededError once `is_left`."""
        return read_sample(self.sample, self.format, self.cut, self.seed, is_left)

    def lines(self, width: int, is_left: Callable[[], bool], *, whole: bool) -> list[Line]:
        """The differences, as lines. Raises ResultNotNeededError once `is_left`."""
        if has_no_chunks(self.sample, self.cut):
            reason = " The source did not record the chunks of this text."
            return list(wrapped(quoted(reason), width))
        result = self.read(is_left)
        if isinstance(result, str):
            return list(wrapped((Run(" ✖ ", Style.ERROR), *quoted(result)), width, indent=3))
        if self.comparing.cell(result).likeness is ResultMatch.SAME and not whole:
            return [(Run(" ✔ the same reading; `w` shows it whole", Style.OK),)]
        stored = self.comparing.stored
        facts = ReadingFacts(stored.spans, stored.calls, stored.diagnostics)
        other = ReadingFacts(result.spans, result.calls, result.diagnostics)
        lines = reading_diff_lines(self.sample.text, facts, other, width - 1, whole=whole)
        return [(Run(" "), *line) for line in islice(lines, _MAX_LINES)]


def sample_line(sample: LabSample, comparing: ResultComparison | None, seed: int) -> Line:
    """The facts of the sample, and its stored format."""
    chunks = sample.part.chunks
    chunk_count = counted(len(chunks.ends), "chunk") if chunks is not None else "chunks not recorded"
    stored = f"stored as {sample.stored.format}"
    facts = [f" turn {sample.turn}", counted(len(sample.text), "character"), chunk_count, stored, f"seed {seed}"]
    if comparing is not None and comparing.beyond:
        facts.append(f"{counted(comparing.beyond, 'diagnostic')} of the whole trace left out")
    return (Run(" · ".join(facts), Style.DIM),)


def write_reading(reading: Segmentation, path: str) -> Path:
    """Write what `weaklink segment --json` prints, completely or not at all; return the path.

    Raises UnwritableFileError.
    """
    target = Path(path).expanduser().absolute()
    with whole_file(target) as out:
        out.write(write_json(segmentation_object(reading)) + "\n")
    return target
