"""`weaklink show`: one trace, from its first turn to its break."""

import sys

import click

from inspector.json_text import write_json
from storage import open_store
from ui.cli.console import color_option, database_option, json_option, print_lines, screen_width
from ui.cli.store_options import LOCK_TIMEOUT_S, recover_traces, trace_id
from ui.views.links import read_link
from ui.views.styled_text import visible_line
from ui.views.trace import trace_lines
from ui.views.trace_json import trace_object
from ui.views.turn import unfinished_turns


@click.command("show")
@click.argument("named", metavar="ID|LINK")
@click.option("--full", is_flag=True, help="Print long texts in full, and valid calls as they were written.")
@json_option
@database_option
@color_option
def show(named: str, where: str | None, *, full: bool, as_json: bool, color: str) -> None:
    """Show one trace: its turns with faults marked in place, its chain, and where the chain broke.

    ID is the number that `weaklink list` prints, or an id from the source that belongs to one trace only. Long texts
    are shortened in the middle, faults never. A turn that is still being recorded is shown as far as it got. Of a link
    (`weaklink://trace/12?step=4`, or the address of a trace in the web page), only the turns that it points to are
    shown.
    """
    link = read_link(named)
    with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
        recover_traces(store)
        summary = store.summary(trace_id(store, link.trace))
        number, liveness = summary.id, summary.liveness
        trace, inspection = store.inspected(number)
        open_turns = unfinished_turns(store.open_turns(number), trace, inspection) if summary.open_turns else ()
    if as_json:
        value = trace_object(number, trace, inspection, liveness=liveness, open_turns=open_turns)
        sys.stdout.write(write_json(value) + "\n")
    else:
        only = link.turns(inspection.chain.steps, len(trace.turns))
        if link.leads and not only:
            sys.stderr.write(
                f"weaklink: the link leads to {visible_line(link.leads)}, which this trace does not have\n"
            )
        lines = trace_lines(
            trace,
            inspection,
            id=number,
            width=screen_width(),
            full=full,
            liveness=liveness,
            open_turns=open_turns,
            only=only,
        )
        print_lines(lines, color=color)
