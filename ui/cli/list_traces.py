"""`weaklink list` and `weaklink search`: traces in the database, by filter and by words in their texts."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from inspector.json_text import write_json
from storage import ListCursor, Order, Store, TraceSummary, open_store
from ui.cli.console import print_lines, print_notice, screen_width
from ui.cli.store_options import LOCK_TIMEOUT_S, fill_text_index, filter_of, recover_traces, remember_list
from ui.views.minimap import minimap
from ui.views.search_hits import hit_lines, hit_object
from ui.views.styled_text import Line
from ui.views.trace_columns import (
    ORDER_WORDS,
    ORDERS_BY_WORD,
    TRACE_COLUMNS,
    ListedTrace,
    forks_grouped,
    summary_object,
    tab_separated,
    trace_table,
)
from ui.views.wording import counted

_WIDE = 130
_PAGE = 200
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
    """`weaklink list_traces`; see its help."""
    expression = filter_of(words, expression)
    order = ORDERS_BY_WORD[sort]
    with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
        recover_traces(store)
        if expression:
            fill_text_index(store)
        found = _pages(store, expression, order, limit)
        if as_json:
            shown = _written(found, lambda one: write_json(summary_object(one.summary)))
        elif sys.stdout.isatty() or color == "always":
            rows = forks_grouped(list(found))
            print_lines(_table(store, rows, columns, order), color=color)
            shown = [row.summary.id for row in rows]
        else:
            keys = columns or _IN_A_PIPE
            if header:
                sys.stdout.write("\t".join(keys) + "\n")
            shown = _written(found, lambda one: tab_separated(one, keys))
        remember_list(store, shown)
        if not shown and not as_json:
            sys.stderr.write(_nothing(expression))
        elif len(shown) == limit and (total := store.paging().count(expression)) > limit:
            print_notice(f"{limit:,} of {total:,}, {ORDER_WORDS[order]}; --limit shows more")


def _written(found: Iterable[ListedTrace], line: Callable[[ListedTrace], str]) -> list[int]:
    """Print a line for each trace as it comes; their ids."""
    shown: list[int] = []
    for one in found:
        sys.stdout.write(line(one) + "\n")
        shown.append(one.summary.id)
    return shown


def _table(store: Store, rows: list[ListedTrace], columns: tuple[str, ...] | None, order: Order) -> Iterator[Line]:
    width = screen_width()
    keys = columns or tuple(key for key in TRACE_COLUMNS if key != "map" or width >= _WIDE)
    if "map" in keys:
        maps = minimaps(store, [row.summary for row in rows], width // 5)
        rows = [replace(row, minimap=maps[row.summary.id]) for row in rows]
    return trace_table(rows, width=width, keys=keys, are_chosen=bool(columns), order=order) if rows else iter(())


def minimaps(store: Store, summaries: Iterable[TraceSummary], width: int) -> dict[int, Line]:
    """A minimap of each trace, in so many cells, by its id."""
    return {one.id: minimap(*store.inspected(one.id), width) for one in summaries}


def _pages(store: Store, expression: str, order: Order, limit: int) -> Iterator[ListedTrace]:
    """The first traces that match, read a page at a time."""
    after: ListCursor | None = None
    paging, now_s = store.paging(), time.time()
    while limit > 0:
        page = paging.page(expression, order, limit=min(limit, _PAGE), after=after)
        counts = paging.call_counts([one.summary.id for one in page])
        for one in page:
            ok_calls, _ = counts.get(one.summary.id, (None, 0))
            yield ListedTrace(one.summary, now_s, ok_calls)
        if len(page) < _PAGE:
            return
        limit -= len(page)
        after = page[-1].cursor


def _nothing(expression: str) -> str:
    if expression:
        return "weaklink: no trace matches this filter\n"
    return "weaklink: the database holds no traces yet; `weaklink import PATH` or `weaklink demo` puts some in\n"


def search(
    words: tuple[str, ...], expression: str, limit: int, where: str | None, *, as_json: bool, color: str
) -> None:
    """`weaklink search`; see its help."""
    wanted = filter_of(words, expression)
    with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
        fill_text_index(store)
        found = store.search.find(wanted, limit=limit)
        if found.waiting:
            print_notice(f"{_so_far(store, found.waiting)}; what waits was not searched")
    if as_json:
        sys.stdout.writelines(write_json(hit_object(hit)) + "\n" for hit in found.hits)
    elif found.hits:
        print_lines(hit_lines(found.hits, width=screen_width()), color=color)
    else:
        print_notice("no trace holds these words")
    if len(found.hits) == limit:
        print_notice(f"the newest {limit:,} are shown; --limit shows more")


def _so_far(store: Store, waiting: int) -> str:
    traces = store.maintenance.stats().traces
    return f"the text index holds {traces - waiting:,} of {counted(traces, 'trace')}"
