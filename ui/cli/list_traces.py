"""`weaklink list` and `weaklink search`: traces in the database, by filter and by words in their texts."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import click
from msgspec.structs import replace

from weaklink.inspector.json_text import write_json
from weaklink.inspector.rules.catalogue import RULES
from weaklink.storage.listing import Listed, Order
from weaklink.storage.store import Store, open_store
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_lines, print_notice, screen_width
from weaklink.ui.cli.store_options import LOCK_TIMEOUT_S, fill_text_index, filter_of, recover_traces, remember_list
from weaklink.ui.cli.suggestions import suggested
from weaklink.ui.views.minimap import minimap
from weaklink.ui.views.search_hits import hit_lines, hit_object
from weaklink.ui.views.styled_text import Line, counted, visible_line
from weaklink.ui.views.trace_columns import (
    ORDER_WORDS,
    ORDERS_BY_WORD,
    TRACE_COLUMNS,
    ListedTrace,
    find_column,
    fitted,
    forks_grouped,
    summary_object,
    tab_separated,
)

_WIDE = 130
_NOT_COMPLETE = "interrupted; the list is not complete"
_IN_A_PIPE = tuple(key for key in TRACE_COLUMNS if key not in ("age", "map"))

_COLUMN_NAMES = ", ".join(column.heading for column in TRACE_COLUMNS.values())


class ColumnsType(click.ParamType[tuple[str, ...]]):
    """Names of columns, separated by commas."""

    name = "columns"

    def convert(
        self, value: str | tuple[str, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """The keys of the columns. Raises BadParameter."""
        if isinstance(value, tuple):
            return value
        columns = [(name.strip(), find_column(name.strip())) for name in value.split(",")]
        unknown = next((name for name, column in columns if column is None), None)
        if unknown is not None:
            self.fail(f"there is no column `{visible_line(unknown)}`; the columns are {_COLUMN_NAMES}", param, ctx)
        return tuple(column.key for _, column in columns if column is not None)


@declaring.command("list")
@click.argument("words", metavar="[FILTER]...", nargs=-1, type=declaring.FilterType())
@declaring.filter_option
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
@click.option("--columns", type=ColumnsType(), help=f"Columns, separated by commas, of {_COLUMN_NAMES}.")
@click.option("--header", is_flag=True, help="Print the column names in a pipe too.")
@declaring.json_option
@declaring.database_option
@declaring.color_option
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
    Your marks     marked:yes, note

    A comma is `or` between values, `*` matches anything, numbers take > >= < <= and units. docs/commands.md
    lists all keys. In a pipe, values are complete and separated by tabs. Later commands accept `@3` for the third
    trace of the last list, and `latest` for the newest trace that is not a fork.
    """
    expression = filter_of(words, expression)
    order = ORDERS_BY_WORD[sort]
    with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
        recover_traces(store)
        if expression:
            fill_text_index(store)
        pages = store.paging().scan(expression, order, limit=limit)
        shown: list[int] = []
        try:
            if as_json:
                _write(store, pages, shown, lambda trace: write_json(summary_object(trace.summary)))
            elif sys.stdout.isatty() or color == "always":
                print_lines(_table(store, pages, shown, columns, order), color=color)
            else:
                keys = columns or _IN_A_PIPE
                if header:
                    sys.stdout.write("\t".join(keys) + "\n")
                _write(store, pages, shown, lambda trace: tab_separated(trace, keys))
        except KeyboardInterrupt:
            print_notice(_NOT_COMPLETE)
            raise
        finally:
            remember_list(store, shown)
        if not shown and not as_json:
            print_notice(_nothing(expression))
        elif len(shown) == limit and (total := store.paging().count(expression)) > limit:
            print_notice(f"{limit:,} of {total:,}, {ORDER_WORDS[order]}; --limit shows more")


def _write(
    store: Store, pages: Iterable[Sequence[Listed]], shown: list[int], line: Callable[[ListedTrace], str]
) -> None:
    """Print a line for each trace as it arrives, and append its id to `shown`."""
    for page in pages:
        for trace in _listed(store, page):
            sys.stdout.write(line(trace) + "\n")
            shown.append(trace.summary.id)
        sys.stdout.flush()


def _table(
    store: Store, pages: Iterable[Sequence[Listed]], shown: list[int], columns: tuple[str, ...] | None, order: Order
) -> Iterator[Line]:
    """A header, and one line per trace; after Ctrl-C, those that were found before it."""
    width = screen_width()
    keys = columns or tuple(key for key in TRACE_COLUMNS if key != "map" or width >= _WIDE)
    rows: list[ListedTrace] = []

    def lines() -> Iterator[Line]:
        grouped = forks_grouped(rows)
        if "map" in keys:
            maps = minimaps(store, [row.summary for row in grouped], width // 5)
            grouped = [replace(row, minimap=maps[row.summary.id]) for row in grouped]
        if grouped:
            layout = fitted(width, grouped, keys, are_chosen=bool(columns))
            yield layout.head(order)
            yield from map(layout.row, grouped)
        shown.extend(row.summary.id for row in grouped)

    try:
        for page in pages:
            rows += _listed(store, page)
    except KeyboardInterrupt:
        yield from lines()
        raise
    yield from lines()


def minimaps(store: Store, summaries: Iterable[TraceSummary], width: int) -> dict[int, Line]:
    """A minimap of each trace, `width` cells wide, by its id."""
    return {summary.id: minimap(*store.inspected(summary.id), width) for summary in summaries}


def _listed(store: Store, entries: Sequence[Listed]) -> list[ListedTrace]:
    """The rows that the columns are drawn from: traces with their counts of good calls."""
    now_s, counts = time.time(), store.paging().call_counts([entry.summary.id for entry in entries])
    return [ListedTrace(entry.summary, now_s, counts.get(entry.summary.id, (None, 0))[0]) for entry in entries]


def _nothing(expression: str) -> str:
    if expression:
        return "no trace matches this filter"
    return (
        "the database contains no traces yet; `weaklink run -- COMMAND` or "
        "`weaklink import` (`--discover` lists what that would read) adds some"
    )


@declaring.command("search")
@click.argument("words", metavar="WORDS...", nargs=-1, required=True, type=declaring.FilterType())
@declaring.filter_option
@click.option(
    "--limit", "-n", default=20, show_default=True, type=click.IntRange(min=1), help="Maximum number of results."
)
@declaring.json_option
@declaring.database_option
@declaring.color_option
def search(
    words: tuple[str, ...], expression: str, limit: int, where: str | None, *, as_json: bool, color: str
) -> None:
    """Find the traces that contain all of WORDS, the newest first, and show the first match of each.

    Case and accents are ignored, and so are chunk boundaries. `word*` finds words with this prefix, '"two words"'
    finds a phrase, and terms of `list --filter` can be added:

    \b
    weaklink search Oslo status:broken
    weaklink search '"could not parse"' tool:get_weather

    With --json, prints one JSON line per hit.
    """
    combined = filter_of(words, expression)
    count = 0
    with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
        fill_text_index(store)
        if waiting := store.search.waiting():
            traces = store.maintenance.stats().traces
            indexed = f"{traces - waiting:,} of {counted(traces, 'trace')}"
            print_notice(f"the text index contains {indexed}; the others are not searched")
        try:
            for page in store.paging().scan(combined, limit=limit):
                hits = store.search.hits(combined, [listed.summary for listed in page])
                if as_json:
                    sys.stdout.writelines(write_json(hit_object(hit)) + "\n" for hit in hits)
                else:
                    print_lines(hit_lines(hits, width=screen_width()), color=color)
                sys.stdout.flush()
                count += len(hits)
        except KeyboardInterrupt:
            print_notice(_NOT_COMPLETE)
            raise
    if not count and not as_json:
        print_notice("no trace contains these words")
    for rule in (rule for rule in RULES if {rule.code.lower(), rule.name}.intersection(map(str.lower, words))):
        command = suggested(f"list code:{rule.code}", where)
        print_notice(f"{rule} is a rule: `{command}` lists the traces that break it")
    if count == limit:
        print_notice(f"the newest {limit:,} are shown; --limit shows more")
