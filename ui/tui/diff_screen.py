"""The screen that compares runs: verdict, aligned minimaps, a row per step, and what differs in the selected one."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import ClassVar

from msgspec import Struct
from textual.app import ComposeResult
from textual.binding import BindingType

from weaklink.storage.store import Store
from weaklink.ui.tui.commands import Command, bindings
from weaklink.ui.tui.dialogs import UpperScreen
from weaklink.ui.tui.line_bar import KeyFooter, LineBar, StatusLine
from weaklink.ui.tui.line_view import LineList, LineView
from weaklink.ui.tui.store_access import StoreAccess, start_work
from weaklink.ui.views.context import request_pair_lines
from weaklink.ui.views.layers import Layer
from weaklink.ui.views.run_diff import ComparedRun, RunDiff, compare, row_diff_lines
from weaklink.ui.views.run_diff_overview import LEGEND, aligned_map_lines, grid_columns, grid_head, grid_row
from weaklink.ui.views.styled_text import Line, Run, Style, clipped, counted, quoted, wrapped
from weaklink.ui.views.trace import title_of
from weaklink.ui.views.trace_summary import fork_parent

DIFF_COMMANDS = (
    Command(
        "diff.next", "Next difference", "Go to the next row in which the runs differ.", ("]",), footer="Next difference"
    ),
    Command("diff.previous", "Previous difference", "Go to the previous row in which the runs differ.", ("[",)),
    Command(
        "diff.parting", "First difference", "Go to the first divergence of the runs.", ("f",), footer="First difference"
    ),
    Command("diff.next-run", "Next run", "Compare the first run with the next one.", ("n",), footer="Next run"),
    Command("diff.previous-run", "Previous run", "Compare the first run with the previous one.", ("N",)),
    Command("diff.open", "Open step", "Open the compared run on the selected step.", ("o",), footer="Open step"),
    Command("diff.open-first", "Open in first run", "Open the first run on the selected step.", ("O",)),
    Command("diff.whole", "Whole texts", "Show whole texts, or only the differences.", ("w",), footer="Whole texts"),
    Command("diff.asked", "Verdict", "Show the verdict and the requests of the runs.", ("a",), footer="Verdict"),
    Command("diff.requests", "Requests", "Show both requests of the row side by side.", ("r",), footer="Requests"),
    Command("diff.layer", "Layer", "Compare the calls in the next layer.", ("l",), footer="Layer"),
    Command("diff.next-pane", "Next pane", "Focus the other list.", ("tab", "shift+tab"), footer="Next pane"),
    Command("diff.reload", "Reload", "Reload the runs.", ("ctrl+r",)),
    Command("diff.back", "Back", "Go back to the previous screen.", ("escape", "q"), footer="Back"),
)
"""The scope `diff`."""

_DEBOUNCE_S = 0.06  # texts are compared only once the cursor rests on a row
_BROAD = 116  # cells; on wider screens the legend is shown
_MAX_LINES = 20_000
MAX_RUNS = 6
"""The maximum number of runs side by side."""

OpenTrace = Callable[[int, int | None], None]
"""Opens a trace on a step."""


class DiffScreen(UpperScreen):
    """Compares traces `ids` side by side; `open_trace` opens one of them on a step."""

    ACTIONS: ClassVar[tuple[Command, ...]] = DIFF_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(DIFF_COMMANDS)]
    DEFAULT_CSS = """
    DiffScreen { background: $background; }
    DiffScreen #verdict { height: auto; background: $surface; }
    DiffScreen #maps { height: auto; }
    DiffScreen #grid { height: 2; }
    DiffScreen #what { background: $surface; }
    DiffScreen #texts { height: 1fr; }
    """

    def __init__(self, access: StoreAccess, ids: Sequence[int], open_trace: OpenTrace) -> None:
        super().__init__(access, "diff")
        self._ids = tuple(ids)
        self._open_trace = open_trace
        self._diff: RunDiff | None = None
        self._chosen = len(ids) - 1
        self._is_whole = False
        self._layer: Layer | None = None

    def compose(self) -> ComposeResult:
        """The widgets, from top to bottom."""
        yield StatusLine()
        yield LineBar(id="verdict")
        yield LineBar(id="asked")
        yield LineBar(id="maps")
        yield LineBar(id="head")
        yield LineView(id="grid")
        yield LineBar(id="what")
        yield LineView(id="texts")
        yield KeyFooter()

    @property
    def grid(self) -> LineView:
        """The rows, one per step."""
        return self.query_one("#grid", LineView)

    @property
    def texts(self) -> LineView:
        """What differs in the selected row."""
        return self.query_one("#texts", LineView)

    def on_mount(self) -> None:
        """Read the runs."""
        self.grid.focus()
        start_work(self, self._read, "runs")

    def on_resize(self) -> None:
        """Lay the lines out for the new width."""
        self.call_after_refresh(self._refresh_status)

    def on_line_view_moved(self, event: LineView.Moved) -> None:
        """Show the row that is selected now."""
        if event.view is self.grid:
            self._refresh_status()

    def on_line_view_chosen(self, event: LineView.Chosen) -> None:
        """Open the selected step."""
        if event.view is self.grid:
            self.action_open()

    def action_next(self) -> None:
        """Go to the next row in which the runs differ."""
        self._to_difference(1)

    def action_previous(self) -> None:
        """Go to the previous row in which the runs differ."""
        self._to_difference(-1)

    def action_parting(self) -> None:
        """Go to the first divergence of the runs."""
        parted = self._diff.alignment.divergence if self._diff is not None else None
        if parted is not None:
            self.grid.move_to(parted.row, centred=True)
        elif self._diff is not None:
            self.toast("The runs do not diverge: they make the same steps with the same results.")

    def action_layer(self) -> None:
        """Compare the runs at the next layer: as written, as emitted, as parsed, and so on."""
        layers = (None, *Layer)
        self._layer = layers[(layers.index(self._layer) + 1) % len(layers)]
        self.toast(f"compared: {self._layer.value}" if self._layer is not None else "compared: the steps of the chains")
        self.action_reload()

    def action_next_run(self) -> None:
        """Compare the first run with the next one."""
        self._choose(1)

    def action_previous_run(self) -> None:
        """Compare the first run with the previous one."""
        self._choose(-1)

    def action_open(self) -> None:
        """Open the compared run on the selected step."""
        self._open(self._chosen)

    def action_open_first(self) -> None:
        """Open the first run on the selected step."""
        self._open(0)

    def action_whole(self) -> None:
        """Show whole texts, or only the differences."""
        self._is_whole = not self._is_whole
        self._refresh_preview()

    def action_asked(self) -> None:
        """Show the verdict and the differences between the requests, in full."""
        if self._diff is not None:
            self.query_one("#what", LineBar).show_lines([(Run(" the requests of the runs, compared", Style.STRONG),)])
            self.texts.show(LineList(list(_request_lines(self._diff, max(self.size.width - 2, 20)))))
            self.texts.focus()

    def action_requests(self) -> None:
        """Show the requests of both runs for the selected row, side by side."""
        start_work(self, self._compare_requests, "texts")

    def action_next_pane(self) -> None:
        """Focus the other list."""
        (self.grid if self.focused is self.texts else self.texts).focus()

    def action_reload(self) -> None:
        """Read the runs again."""
        self.access.forget()
        start_work(self, self._read, "runs")

    async def _read(self) -> None:
        async with self.working("comparing the runs"):
            diff = await self.fetch(partial(read_runs, ids=self._ids, layer=self._layer), of_traces=True)
        if diff is None:
            return
        self._diff = diff
        parted = diff.alignment.divergence
        self.grid.show(_Rows(self), cursor=parted.row if parted is not None else 0)
        self._refresh_status()

    def row_line(self, index: int, width: int) -> Line:
        """The line of a row."""
        assert self._diff is not None
        columns = grid_columns(len(self._ids), self._chosen, width)
        return clipped(grid_row(self._diff.alignment, index, columns, width), width)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self._diff.alignment.rows) if self._diff is not None else 0

    def _choose(self, by: int) -> None:
        self._chosen = 1 + (self._chosen - 1 + by) % (len(self._ids) - 1)
        self.grid.renew()
        self._refresh_status()

    def _open(self, run: int) -> None:
        if self._diff is None:
            return
        step = self._diff.alignment.rows[self.grid.cursor].steps[run] if self.rows else None
        if step is None and self.rows:
            self.toast("This run makes no call in the selected row.")
        else:
            self._open_trace(self._ids[run], step.number if step is not None else None)

    def _to_difference(self, by: int) -> None:
        if self._diff is None:
            return
        rows = self._diff.alignment.rows
        index = self.grid.cursor + by
        while 0 <= index < len(rows):
            if not rows.is_same(index):
                self.grid.move_to(index, centred=True)
                return
            index += by
        self.toast(f"There is no {'later' if by > 0 else 'earlier'} row in which the runs differ.")

    def _refresh_status(self) -> None:
        diff, width = self._diff, max(self.size.width, 20)
        if diff is None:
            return
        verdict = list(wrapped(quoted(diff.verdict, Style.STRONG), width - 2))
        if len(verdict) > 2:
            verdict[1:] = [clipped((*verdict[1], Run(" …")), width - 2)]
        self.query_one("#verdict", LineBar).show_lines([(Run(" "), *line) for line in verdict])
        self.query_one("#asked", LineBar).show_lines([_request_line(diff)])
        maps = aligned_map_lines(diff.alignment, len(self._ids), self.grid.cursor, width - 2)
        self.query_one("#maps", LineBar).show_lines(list(maps))
        self.grid.styles.height = max(min(self.rows, (self.size.height - len(self._ids) - 9) // 2), 2)
        room = max(self.grid.scrollable_content_region.width, 20)
        columns = grid_columns(len(self._ids), self._chosen, room)
        called = [f"{run.called} {title_of(run.trace)}" for run in diff.runs]
        self.query_one("#head", LineBar).show_lines([grid_head(columns, room, called, self._chosen)])
        self._say_where(diff)
        self._refresh_preview()

    def _say_where(self, diff: RunDiff) -> None:
        rows = diff.alignment.rows
        differ = rows.differing
        right = (
            Run(f"row {self.grid.cursor + 1 if rows else 0:,}/{len(rows):,}", Style.STRONG),
            Run(f"  {counted(differ, 'row')} {'differs' if differ == 1 else 'differ'}"),
        )
        self.update_status((Run(LEGEND, Style.DIM),) if self.size.width >= _BROAD else (), right)

    def _refresh_preview(self) -> None:
        start_work(self, self._compare, "texts")

    async def _compare(self) -> None:
        """Compare the texts of the selected row, once the cursor rests on it, in a thread: they may be long."""
        await asyncio.sleep(_DEBOUNCE_S)
        diff, pair = self._diff, (0, self._chosen)
        if diff is None:
            return
        row, width, full = self.grid.cursor, max(self.texts.scrollable_content_region.width - 1, 20), self._is_whole
        async with self.working("comparing the texts"):
            lines = await asyncio.to_thread(_texts, diff, row, pair, width, full=full)
        labels = _pair_words(self._chosen)
        self.query_one("#what", LineBar).show_lines(
            [(Run(f" {labels}", Style.STRONG), Run(f", row {row + 1:,}", Style.DIM))]
        )
        self.texts.show(LineList(lines))

    async def _compare_requests(self) -> None:
        diff, pair = self._diff, (0, self._chosen)
        if diff is None:
            return
        steps = diff.alignment.rows[self.grid.cursor].steps if self.rows else [None] * len(self._ids)
        first, second = ((diff.runs[run].trace, step.location.turn if (step := steps[run]) else 0) for run in pair)
        width, whole = max(self.texts.scrollable_content_region.width - 1, 20), self._is_whole
        async with self.working("comparing the requests"):
            lines = await asyncio.to_thread(lambda: list(request_pair_lines(first, second, width, whole=whole)))
        self.query_one("#what", LineBar).show_lines([(Run(f" requests: {_pair_words(self._chosen)}", Style.STRONG),)])
        self.texts.show(LineList(lines[:_MAX_LINES]))
        self.texts.focus()


class _Rows:
    """The rows as a source of lines."""

    def __init__(self, owner: DiffScreen) -> None:
        self._owner = owner

    @property
    def count(self) -> int:
        """The number of rows of the alignment."""
        return self._owner.rows

    def line(self, index: int, width: int) -> Line:
        """A row."""
        return self._owner.row_line(index, width)


def _pair_words(chosen: int) -> str:
    return f"A with {chr(ord('A') + chosen)}"


def _texts(diff: RunDiff, row: int, pair: tuple[int, int], width: int, *, full: bool) -> list[Line]:
    if not diff.alignment.rows:
        return [(Run(f" {diff.without_rows}; `a` shows their requests.", Style.DIM),)]
    lines = row_diff_lines(diff, row, pair, width, full=full, more="`w` shows all")
    return [(Run(" "), *line) for line in islice(lines, _MAX_LINES)]


def _request_line(diff: RunDiff) -> Line:
    first = next(iter(diff.input_differences), None)
    if first is None:
        return (Run(" ✔ ", Style.OK), Run("The runs sent the same requests, as far as these were recorded.", Style.DIM))
    times = f" in {len(diff.input_differences)} ways (`a` shows them)" if len(diff.input_differences) > 1 else ""
    lead = quoted(f" ▲ different requests{times}: ", Style.WARNING)
    return (*lead, *quoted(first.message))


def _request_lines(diff: RunDiff, width: int) -> Iterator[Line]:
    yield from wrapped(quoted(diff.verdict, Style.STRONG), width)
    yield ()
    if not diff.input_differences:
        yield _request_line(diff)
    for difference in diff.input_differences:
        yield from wrapped((Run("▲ ", Style.WARNING), *quoted(difference.message)), width, indent=2)


class ChosenRuns(Struct, frozen=True):
    """The ids of the runs to compare, that of the opened trace last; with fewer than two, `message` says what to do."""

    ids: tuple[int, ...]
    message: str = ""


def chosen_runs(store: Store, *, id: int) -> ChosenRuns:
    """The marked traces, the oldest first, and then trace `id`; if none is marked, a fork's parent and the fork."""
    marked = sorted(trace.id for trace in store.traces("marked:yes", limit=100) if trace.id != id)
    if not marked:
        parent = fork_parent(store, store.summary(id))
        if parent is not None and parent != id:
            return ChosenRuns((parent, id))
        is_marked = bool(store.marks.of([id]).get(id))
        if is_marked:
            return ChosenRuns(
                (id,), "Only this trace is marked: go to the one to compare it with, and press `d` there."
            )
        return ChosenRuns((id,), "No trace is marked. `m` marks one; `d` then compares it with another.")
    left_out = len(marked) + 1 - MAX_RUNS
    message = f"{len(marked):,} traces are marked; only {MAX_RUNS} runs are shown side by side." if left_out > 0 else ""
    return ChosenRuns((*marked[: MAX_RUNS - 1], id), message)


def read_runs(store: Store, *, ids: Sequence[int], layer: Layer | None = None) -> RunDiff:
    """Read and compare these traces at a layer; all are compared with the first. Raises StoreError."""
    runs = (ComparedRun(str(id_), *store.inspected(id_, may_lag=True)) for id_ in ids)
    return compare([run.at(layer) for run in runs])
