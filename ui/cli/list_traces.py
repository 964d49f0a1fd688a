"""`weaklink list` and `weaklink search`: traces in the database, by filter and by words in their texts."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack

from msgspec.structs import replace

from inspector.json_text import write_json
from storage import Listed, Order, ScanStep, Store, TraceSummary, open_store
from ui.cli.console import print_lines, print_notice, progress_bar, screen_width
from ui.cli.store_options import LOCK_TIMEOUT_S, fill_text_index, filter_of, recover_traces, remember_list
from ui.views.minimap import minimap
from ui.views.search_hits import hit_lines, hit_object
from ui.views.styled_text import Line, counted
from ui.views.trace_columns import (
    ORDER_WORDS,
    ORDERS_BY_WORD,
    TRACE_COLUMNS,
    FittedColumns,
    ListedTrace,
    fitted,
    forks_grouped,
    summary_object,
    tab_separated,
)

_WIDE = 130
_MOST_COUNTED = 100_000  # traces; in a larger store, counting matches without an index takes longer than the list
_SCREEN, _PATIENCE_S = 20, 0.5  # rows that a table's columns are fitted to, and how long to wait for them
_IN_A_PIPE = tuple(key for key in TRACE_COLUMNS if key not in ("age", "map"))


def list_traces(
    words: tuple[str, ...],
    expression: str,
    limit: int,
    *,
    sort: str,
    columns: tuple[str, ...] | None,
    where: str | None,
    header: bool,
    as_json: bool,
    color: str,
) -> None:
    """`weaklink list`; see its help."""
    expression = filter_of(words, expression)
    order = ORDERS_BY_WORD[sort]
    with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
        recover_traces(store)
        if expression:
            fill_text_index(store)
        steps = _ShownSteps(store, expression, order, limit)
        shown: list[int] = []
        try:
            if as_json:
                _write(store, steps, shown, lambda one: write_json(summary_object(one.summary)))
            elif sys.stdout.isatty() or color == "always":
                print_lines(_table(store, steps, shown, columns, order), color=color)
            else:
                keys = columns or _IN_A_PIPE
                if header:
                    sys.stdout.write("\t".join(keys) + "\n")
                _write(store, steps, shown, lambda one: tab_separated(one, keys))
        except KeyboardInterrupt:
            print_notice(f"interrupted; {steps.progress_text()}")
            raise
        finally:
            remember_list(store, shown)
        if not shown and not as_json:
            sys.stderr.write(_nothing(expression))
        elif len(shown) == limit and steps.is_scan and store.paging().pulse().newest_id > _MOST_COUNTED:
            print_notice(f"{limit:,} are shown, {ORDER_WORDS[order]}; --limit shows more")
        elif len(shown) == limit and (total := store.paging().count(expression)) > limit:
            print_notice(f"{limit:,} of {total:,}, {ORDER_WORDS[order]}; --limit shows more")


class _ShownSteps:
    """The steps of a scan that found something; a progress bar on a terminal shows how much of the list was read.

    `is_scan` says whether all traces must be read, because no index finds those that match.
    """

    def __init__(self, store: Store, expression: str, order: Order, limit: int) -> None:
        self.is_scan = False
        self._steps = store.paging().scan(expression, order, limit=limit)
        self._looked_at = self._total = 0

    def __iter__(self) -> Iterator[ScanStep]:
        with ExitStack() as bar:
            advance: Callable[[int], None] | None = None
            for step in self._steps:
                if step.found:
                    bar.close()
                    advance = None
                    yield step
                if step.next is None or not step.next.width:
                    continue
                self.is_scan, before = True, self._looked_at
                self._looked_at, self._total = step.next.looked_at, step.next.total
                if advance is not None:
                    advance(self._looked_at - before)
                elif self._total:
                    advance = bar.enter_context(progress_bar("traces scanned", self._total))
                    advance(self._looked_at)

    def progress_text(self) -> str:
        """How far the scan has come, for a message."""
        if not self._total:
            return "the list is not complete"
        return f"{self._looked_at:,} of {counted(self._total, 'trace')} were scanned"


def _write(store: Store, steps: Iterable[ScanStep], shown: list[int], line: Callable[[ListedTrace], str]) -> None:
    """Print a line for each trace as it arrives, and append its id to `shown`."""
    for step in steps:
        for one in _listed(store, step.found):
            sys.stdout.write(line(one) + "\n")
            shown.append(one.summary.id)
        sys.stdout.flush()


def _table(
    store: Store, steps: "_ShownSteps", shown: list[int], columns: tuple[str, ...] | None, order: Order
) -> Iterator[Line]:
    """A header, and one line per trace: all at once, or as they arrive if the list is scanned."""
    width = screen_width()
    keys = columns or tuple(key for key in TRACE_COLUMNS if key != "map" or width >= _WIDE)
    layout: FittedColumns | None = None
    rows: list[ListedTrace] = []
    began_s = time.monotonic()

    def lines() -> Iterator[Line]:
        nonlocal layout, rows
        rows = _with_maps(store, forks_grouped(rows), width // 5) if "map" in keys else forks_grouped(rows)
        if layout is None and rows:
            layout = fitted(width, rows, keys, are_chosen=bool(columns))
            yield layout.head(order)
        if layout is not None:
            yield from map(layout.row, rows)
        shown.extend(row.summary.id for row in rows)
        rows = []

    try:
        for step in steps:
            rows += _listed(store, step.found)
            is_due = layout is not None or len(rows) >= _SCREEN or time.monotonic() - began_s > _PATIENCE_S
            if steps.is_scan and is_due:
                yield from lines()
    except KeyboardInterrupt:
        yield from lines()
        raise
    yield from lines()


def minimaps(store: Store, summaries: Iterable[TraceSummary], width: int) -> dict[int, Line]:
    """A minimap of each trace, `width` cells wide, by its id."""
    return {one.id: minimap(*store.inspected(one.id), width) for one in summaries}


def _listed(store: Store, found: Sequence[Listed]) -> list[ListedTrace]:
    """The rows that the columns are drawn from: traces with their counts of good calls."""
    now_s, counts = time.time(), store.paging().call_counts([one.summary.id for one in found])
    return [ListedTrace(one.summary, now_s, counts.get(one.summary.id, (None, 0))[0]) for one in found]


def _with_maps(store: Store, rows: Sequence[ListedTrace], width: int) -> list[ListedTrace]:
    maps = minimaps(store, [row.summary for row in rows], width)
    return [replace(row, minimap=maps[row.summary.id]) for row in rows]


def _nothing(expression: str) -> str:
    if expression:
        return "weaklink: no trace matches this filter\n"
    return "weaklink: the database contains no traces yet; `weaklink import PATH` or `weaklink demo` adds some\n"


def search(
    words: tuple[str, ...], expression: str, limit: int, where: str | None, *, as_json: bool, color: str
) -> None:
    """`weaklink search`; see its help."""
    combined = filter_of(words, expression)
    found = 0
    with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
        fill_text_index(store)
        if waiting := store.search.waiting():
            print_notice(f"{_so_far(store, waiting)}; the others are not searched")
        steps = _ShownSteps(store, combined, Order.TIME, limit)
        try:
            for step in steps:
                hits = store.search.hits(combined, [one.summary for one in step.found])
                if as_json:
                    sys.stdout.writelines(write_json(hit_object(hit)) + "\n" for hit in hits)
                else:
                    print_lines(hit_lines(hits, width=screen_width()), color=color)
                sys.stdout.flush()
                found += len(hits)
        except KeyboardInterrupt:
            print_notice(f"interrupted; {steps.progress_text()}")
            raise
    if not found and not as_json:
        print_notice("no trace contains these words")
    if found == limit:
        print_notice(f"the newest {limit:,} are shown; --limit shows more")


def _so_far(store: Store, waiting: int) -> str:
    traces = store.maintenance.stats().traces
    return f"the text index contains {traces - waiting:,} of {counted(traces, 'trace')}"
