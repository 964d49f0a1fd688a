"""`weaklink list`: the traces in the database."""

import sys

import click

from inspector.json_text import write_json
from storage import Store, TraceSummary
from ui.cli.database import opened
from ui.cli.options import color_option, database_option, json_option
from ui.cli.paint import put, screen_width
from ui.views.minimap import minimap
from ui.views.run import Line
from ui.views.trace_json import summary_object
from ui.views.trace_list import trace_table

_ROOMY = 120


@click.command("list")
@click.option("--filter", "-f", "expression", default="", metavar="EXPR", help="Only traces that match; see below.")
@click.option("--limit", "-n", default=100, show_default=True, type=click.IntRange(min=1), help="At most so many.")
@json_option
@database_option
@color_option
def list_traces(expression: str, limit: int, where: str | None, *, as_json: bool, color: str) -> None:
    """List the traces in the database, the newest first.

    A filter is words to be found in the text, and `key:value` for status, model, source, format, tool and code:

    \b
    weaklink list --filter status:broken
    weaklink list --filter "code:J104 tool:get_weather Oslo"

    With --json, one line of JSON a trace.
    """
    with opened(where) as store:
        summaries = store.traces(expression, limit)
        if as_json:
            for summary in summaries:
                sys.stdout.write(write_json(summary_object(summary)) + "\n")
            return
        if not summaries:
            sys.stderr.write(_nothing(expression))
            return
        width = screen_width()
        put(trace_table(summaries, width=width, minimaps=_minimaps(store, summaries, width)), color=color)
    if len(summaries) == limit:
        sys.stderr.write(f"weaklink: the newest {limit:,} are shown; --limit shows more\n")


def _minimaps(store: Store, summaries: list[TraceSummary], width: int) -> dict[int, Line]:
    """A minimap for each trace where the screen has room for it."""
    if width < _ROOMY:
        return {}
    return minimaps(store, summaries, width)


def minimaps(store: Store, summaries: list[TraceSummary], width: int) -> dict[int, Line]:
    """A minimap of each trace, by its id."""
    return {one.id: minimap(store.trace(one.id), store.inspection(one.id), width - 16) for one in summaries}


def _nothing(expression: str) -> str:
    if expression:
        return "weaklink: no trace matches this filter\n"
    return "weaklink: the database holds no traces yet; `weaklink import PATH` or `weaklink demo` puts some in\n"
