"""`weaklink show`: one trace, from its first turn to its break."""

import sys

import click

from inspector.json_text import write_json
from storage import open_store
from ui.cli.options import color_option, database_option, json_option
from ui.cli.paint import put, screen_width
from ui.views.trace import trace_lines
from ui.views.trace_json import trace_object


@click.command("show")
@click.argument("id")
@click.option("--full", is_flag=True, help="Print long texts whole, and sound calls as they were written.")
@json_option
@database_option
@color_option
def show(id: str, where: str | None, *, full: bool, as_json: bool, color: str) -> None:
    """Show one trace: its turns with what is wrong marked in place, its chain, and where that broke.

    ID is the number that `weaklink list` prints, or an id of the source's own that one trace alone bears. Long texts
    are folded in the middle; faults never are.
    """
    with open_store(where, create=False) as store:
        number = store.summary(id).id
        trace, inspection = store.inspected(number)
    if as_json:
        sys.stdout.write(write_json(trace_object(number, trace, inspection)) + "\n")
    else:
        put(trace_lines(trace, inspection, id=number, width=screen_width(), full=full), color=color)
