"""`weaklink list`: the traces in the database."""

import sys
from collections.abc import Iterable, Iterator

import click

from inspector.json_text import write_json
from storage import ListCursor, Store, TraceSummary, open_store
from ui.cli.filtering import FilterType, filter_of, filter_option
from ui.cli.options import color_option, database_option, json_option
from ui.cli.paint import put, screen_width
from ui.cli.upkeep import PATIENCE_S, end_broken_off, fill_text_index
from ui.views.minimap import minimap
from ui.views.run import Line
from ui.views.trace_json import summary_object
from ui.views.trace_list import trace_table

_ROOMY = 130
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
    with open_store(where, create=False, busy_timeout_s=PATIENCE_S) as store:
        end_broken_off(store)
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
        shown = minimaps(store, summaries, width // 4) if width >= _ROOMY else None
        put(trace_table(summaries, width=width, minimaps=shown), color=color)
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
