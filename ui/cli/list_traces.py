"""`weaklink list` and `weaklink search`: traces in the database, by filter and by words in their texts."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator

import click
from msgspec.structs import replace

from inspector.json_text import write_json
from storage import ListCursor, Order, Store, TraceSummary, open_store
from ui.cli.console import color_option, database_option, json_option, print_lines, print_notice, screen_width
from ui.cli.store_options import (
    LOCK_TIMEOUT_S,
    FilterType,
    fill_text_index,
    filter_of,
    filter_option,
    recover_traces,
    remember_list,
)
from ui.views.minimap import minimap
from ui.views.search_hits import hit_lines, hit_object
from ui.views.styled_text import Line, visible_line
from ui.views.trace_columns import (
    ORDER_WORDS,
    ORDERS_BY_WORD,
    TRACE_COLUMNS,
    ListedTrace,
    find_column,
    forks_grouped,
    summary_object,
    tab_separated,
    trace_table,
)
from ui.views.wording import counted

_WIDE = 130
_PAGE = 200


_HEADINGS = ", ".join(column.heading for column in TRACE_COLUMNS.values())
_IN_A_PIPE = tuple(key for key in TRACE_COLUMNS if key not in ("age", "map"))


class _ColumnsType(click.ParamType[tuple[str, ...]]):
    """Names of columns between commas."""

    name = "columns"

    def convert(
        self, value: str | tuple[str, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        found = [(name.strip(), find_column(name.strip())) for name in value.split(",")]
        unknown = next((name for name, column in found if column is None), None)
        if unknown is not None:
            self.fail(f"there is no column `{visible_line(unknown)}`; there are {_HEADINGS}", param, ctx)
        return tuple(column.key for _, column in found if column is not None)


@click.command("list")
@click.argument("words", metavar="[FILTER]...", nargs=-1, type=FilterType())
@filter_option
@click.option(
    "--limit", "-n", default=100, show_default=True, type=click.IntRange(min=1), help="Maximum number of results."
)
@click.option(
    "--sort",
    default="newest",
    show_default=True,
    type=click.Choice(tuple(ORDERS_BY_WORD)),
    help="Order; `broken` puts broken traces first, the newest of them on top.",
)
@click.option("--columns", type=_ColumnsType(), help=f"Columns between commas, of {_HEADINGS}.")
@click.option("--header", is_flag=True, help="Print the column names in a pipe too.")
@json_option
@database_option
@color_option
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
    """List the traces in the database, the newest first; with a FILTER, those that match.

    A filter consists of words and `key:value` terms, combined with `and`, `or`, `not` and parentheses:

    \b
    weaklink list status:broken model:hermes*
    weaklink list 'code:J104,S2 (tool:get_weather or Oslo)'
    weaklink list 'arg:$.city=Oslo not status:ok' --sort tokens
    weaklink list 'duration:>2m tokens:>4k since:3d'

    \b
    What it was    status (or running, idle), model, source, project, format,
                   name, id, session, prompt
    What it did    tool, arg, kind, calls, turns, tokens, reasoning
    What failed    code, severity, errors, warnings, step (at which it broke)
    How long       duration, first_token, gap, since, before
    What you said  marked:yes, note

    A comma is `or` between values, `*` stands for anything, numbers go with > >= < <= and units. docs/commands.md
    lists all keys. In a pipe, values are complete and separated by tabs. Later commands accept `#3` for the third
    trace of the last list, and `latest` for the newest trace that is no fork.
    """  # noqa: D301  # Click wants the backspace itself
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


@click.command("search")
@click.argument("words", metavar="WORDS...", nargs=-1, required=True, type=FilterType())
@filter_option
@click.option(
    "--limit", "-n", default=20, show_default=True, type=click.IntRange(min=1), help="Maximum number of results."
)
@json_option
@database_option
@color_option
def search(
    words: tuple[str, ...], expression: str, limit: int, where: str | None, *, as_json: bool, color: str
) -> None:
    """Find the traces that hold all of WORDS, the newest first, and show where the first of them is.

    Case and accents are ignored, and so are the borders of chunks. `word*` finds words that start so, '"two words"'
    finds a phrase, and terms of `list --filter` can be added:

    \b
    weaklink search Oslo status:broken
    weaklink search '"could not parse"' tool:get_weather

    With --json, prints one JSON line per hit.
    """  # noqa: D301  # Click wants the backspace itself
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
