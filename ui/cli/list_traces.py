"""`weaklink list` and `weaklink search`: traces in the database, by filter and by words in their texts."""

import sys
from collections.abc import Iterable, Iterator

import click

from inspector.json_text import write_json
from storage import ListCursor, Store, TraceSummary, open_store
from ui.cli.console import color_option, database_option, json_option, print_lines, screen_width
from ui.cli.store_options import (
    LOCK_TIMEOUT_S,
    FilterType,
    fill_text_index,
    filter_of,
    filter_option,
    print_notice,
    recover_traces,
)
from ui.views.minimap import minimap
from ui.views.search_hits import hit_lines, hit_object
from ui.views.styled_text import Line
from ui.views.trace_json import summary_object
from ui.views.trace_list import trace_table
from ui.views.wording import counted

_WIDE = 130
_PAGE = 200


@click.command("list")
@click.argument("words", metavar="[FILTER]...", nargs=-1, type=FilterType())
@filter_option
@click.option("--limit", "-n", default=100, show_default=True, type=click.IntRange(min=1), help="At most so many.")
@json_option
@database_option
@color_option
def list_traces(
    words: tuple[str, ...], expression: str, limit: int, where: str | None, *, as_json: bool, color: str
) -> None:
    """List the traces in the database, the newest first; with a FILTER, those that match.

    A filter is words to be found in the text, and `key:value`, under `and`, `or`, `not` and parentheses:

    \b
    weaklink list status:broken model:hermes*
    weaklink list 'code:J104,S2 (tool:get_weather or Oslo)'
    weaklink list 'arg:$.city=Oslo not status:ok'
    weaklink list 'duration:>2m tokens:>4k since:3d'

    \b
    What it was    status (or running, idle), model, source, format, name, id, session, prompt
    What it did    tool, arg, kind, calls, turns, tokens, reasoning
    What failed    code, severity, errors, warnings, step (at which it broke)
    How long       duration, first_token, gap, since, before
    What you said  marked:yes, note

    A comma is `or` between values, `*` stands for anything, numbers go with > >= < <= and units (2s, 500ms, 4k). An
    argument is named by its path, `$.to[0].city`, or by its name alone, with = != ~ (holds) > or <.

    A trace that is still being recorded is listed as `running`, and as `idle` when nothing came for long. With --json,
    one line of JSON a trace.
    """  # noqa: D301  # Click wants the backspace itself
    expression = filter_of(words, expression)
    with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
        recover_traces(store)
        if expression:
            fill_text_index(store)
        found = _pages(store, expression, limit)
        if as_json:
            for summary in found:
                sys.stdout.write(write_json(summary_object(summary)) + "\n")
            return
        summaries = list(found)
        if not summaries:
            sys.stderr.write(_nothing(expression))
            return
        width = screen_width()
        shown = minimaps(store, summaries, width // 4) if width >= _WIDE else None
        print_lines(trace_table(summaries, width=width, minimaps=shown), color=color)
    if len(summaries) == limit:
        sys.stderr.write(f"weaklink: the newest {limit:,} are shown; --limit shows more\n")


def minimaps(store: Store, summaries: Iterable[TraceSummary], width: int) -> dict[int, Line]:
    """A minimap of each trace, in so many cells, by its id."""
    return {one.id: minimap(*store.inspected(one.id), width) for one in summaries}


def _pages(store: Store, expression: str, limit: int) -> Iterator[TraceSummary]:
    """The newest traces that match, read a page at a time."""
    after: ListCursor | None = None
    while limit > 0:
        page = store.traces(expression, limit=min(limit, _PAGE), after=after)
        yield from page
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
@click.option("--limit", "-n", default=20, show_default=True, type=click.IntRange(min=1), help="At most so many.")
@json_option
@database_option
@color_option
def search(words: tuple[str, ...], limit: int, where: str | None, *, as_json: bool, color: str) -> None:
    """Find the traces that hold all of WORDS, the newest first, and show where the first of them stands.

    Words are found without regard to case and accents, however the stream was cut. `word*` finds what begins so,
    '"two words"' finds both in a row, and what `list --filter` takes may stand beside:

    \b
    weaklink search Oslo status:broken
    weaklink search '"could not parse"' tool:get_weather

    With --json, one line of JSON a hit.
    """  # noqa: D301  # Click wants the backspace itself
    wanted = filter_of(words)
    with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
        fill_text_index(store)
        found = store.search(wanted, limit=limit)
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
    traces = store.stats().traces
    return f"the text index holds {traces - waiting:,} of {counted(traces, 'trace')}"
