"""What is said of the chain under the cursor: its minimap, and what broke it, or where the words of a search stand."""

import asyncio
from functools import partial

from inspector.errors import WeaklinkError
from storage import ListCursor, Store, TraceSummary
from ui.tui.chains.wanted import has_words
from ui.tui.line_bar import LineBar
from ui.tui.store_access import StoreAccess
from ui.tui.work import begin
from ui.views.minimap import minimap
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.search_hits import hit_lines
from ui.views.visible import visible_runs
from ui.views.wording import quoted, wrapped

_PATIENCE_S = 0.06  # a cursor that runs over a trace does not make it be read
_LONGEST, _MOST = 4_000_000, 5_000  # characters, turns and calls of a trace that is read just to be glanced at
_KEPT = 64
_GLANCE = 400


class ChainDetail(LineBar):
    """Shows what the chain under the cursor is like, once the cursor rests on it."""

    DEFAULT_CSS = """
    ChainDetail { height: 3; background: $surface; }
    """

    def __init__(self, access: StoreAccess) -> None:
        super().__init__(id="detail")
        self._access = access
        self._known: dict[tuple[object, ...], tuple[Line, ...]] = {}

    def look_at(self, summary: TraceSummary | None, wanted: str) -> None:
        """Show this trace, as the filter `wanted` found it."""
        if summary is None:
            self.say([])
            return
        key = (summary.id, summary.turns, summary.characters, summary.errors, summary.note, self.size.width, wanted)
        if key in self._known:
            self.say(self._known[key])
            self.workers.cancel_group(self, "detail")
        else:
            begin(self, partial(self._read, summary, wanted, key), "detail")

    async def _read(self, summary: TraceSummary, wanted: str, key: tuple[object, ...]) -> None:
        await asyncio.sleep(_PATIENCE_S)
        said = _said(summary)
        room = max(self.size.width - 2, 20)
        try:
            question = partial(_looked_up, summary=summary, wanted=wanted, width=room)
            found = (
                *await self._access.ask_for_trace(question),
                *(row for line in said for row in wrapped(line, room)),
            )
            lines = tuple((Run(" "), *line) for line in found)
        except WeaklinkError:
            lines = said  # what is wrong with the store is said in the status line
        if len(self._known) >= _KEPT:
            self._known.clear()
        self._known[key] = lines
        self.say(lines)


def _said(summary: TraceSummary) -> tuple[Line, ...]:
    """What broke the chain, or why it ended."""
    note = summary.note[:_GLANCE]
    noted: tuple[Line, ...] = ((Run("✎ ", Style.KEY), *visible_runs(note)),) if note else ()
    if summary.broken is not None:
        return (*noted, (Run(f"#{summary.broken.step} ", Style.ERROR), *quoted(summary.broken.message)))
    return noted


def _looked_up(store: Store, *, summary: TraceSummary, wanted: str, width: int) -> list[Line]:
    lines: list[Line] = []
    if summary.characters <= _LONGEST and summary.turns + summary.tool_calls <= _MOST:
        lines.append(minimap(*store.inspected(summary.id, in_columns=True), width))
    else:
        lines.append((Run("a long trace; open it to see its map", Style.DIM),))
    if has_words(wanted):
        just_before = ListCursor(summary.cursor.sort_at_s, summary.id + 1)
        hits = store.search(wanted, limit=1, after=just_before).hits
        lines += list(hit_lines(hits, width=width))[2:3]
    return lines
