"""`weaklink show`: print one trace, its verdict first."""

import re
import sys
from collections.abc import Set

import click

from weaklink.inspector.errors import StoreError
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model.exchange import expanded
from weaklink.storage.store import Store, open_store
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_lines, print_notice, screen_width
from weaklink.ui.cli.store_options import LOCK_TIMEOUT_S, recover_traces, trace_id
from weaklink.ui.views.brief import brief
from weaklink.ui.views.context import context_diff_lines, context_lines
from weaklink.ui.views.links import read_link
from weaklink.ui.views.redactions import redaction_lines
from weaklink.ui.views.styled_text import counted
from weaklink.ui.views.trace import trace_lines
from weaklink.ui.views.trace_json import trace_object
from weaklink.ui.views.trace_summary import trace_title
from weaklink.ui.views.turn import unfinished_turns
from weaklink.ui.views.why import why_lines

_NEWEST = "latest"
_RANGE = re.compile(r"(\d{1,9})(-(\d{0,9}))?", re.ASCII)


@declaring.command("show")
@click.argument("named", metavar="[ID|LINK]", default="latest")
@click.option("--last-broken", is_flag=True, help="Show the newest trace whose chain broke, instead of ID.")
@click.option("--turns", "ranges", metavar="RANGES", help="Print only these turns, such as `4`, `2-5` or `1,7-`.")
@click.option("--full", is_flag=True, help="Print long texts in full, and valid calls as they were written.")
@click.option("--brief", "in_brief", is_flag=True, help="Print the verdict as Markdown of at most 2 kB, for an agent.")
@click.option("--why", is_flag=True, help="Print which facts, words and places decided the verdict.")
@click.option(
    "--context",
    is_flag=False,
    flag_value=0,
    type=click.IntRange(min=0),
    metavar="[TURN]",
    help="Print the request that this turn answers, as the model read it; without TURN the last one.",
)
@click.option(
    "--context-diff",
    is_flag=False,
    flag_value=0,
    type=click.IntRange(min=0),
    metavar="[TURN]",
    help="Print what changed in that request since the previous one.",
)
@click.option("--redactions", is_flag=True, help="Print where secrets were replaced, and which rule finds them.")
@declaring.json_option
@declaring.database_option
@declaring.color_option
def show(
    named: str,
    where: str | None,
    ranges: str | None,
    context: int | None,
    context_diff: int | None,
    *,
    last_broken: bool,
    full: bool,
    redactions: bool,
    why: bool,
    in_brief: bool,
    as_json: bool,
    color: str,
) -> None:
    """Show one trace (the newest): its verdict, break and answer, its chain, and its turns with faults marked in place.

    ID is the number that `weaklink list` prints, the beginning of an id from its source, `latest`, or `@3` for the
    third trace of the last list. A trace without a time is as new as its import. A link
    (`weaklink://trace/12?step=4`, or the address of a trace in the web page) shows only the turns that it points to.
    Long texts are shortened in the middle, faults never.
    """
    has_context = context is not None or context_diff is not None
    others = {
        "--json": as_json,
        "--turns": ranges is not None,
        "--context": has_context,
        "--redactions": redactions,
        "--why": why,
    }
    _refuse_together({name for name, is_given in others.items() if is_given}, in_brief=in_brief)
    if last_broken and named != _NEWEST:
        raise click.UsageError("--last-broken names a trace; leave out ID.")
    link = read_link(named)
    with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
        recover_traces(store)
        summary = _last_broken(store) if last_broken else store.summary(trace_id(store, link.trace))
        number, liveness = summary.id, summary.liveness
        trace, inspection = store.inspected(number)
        open_turns = unfinished_turns(store.open_turns(number), trace, inspection) if summary.open_turns else ()
    if redactions:
        print_lines(redaction_lines(expanded(trace)), color=color)
    elif has_context:
        render = context_diff_lines if context is None else context_lines
        turn = context_diff if context is None else context
        print_lines(render(trace, turn or 0, width=screen_width()), color=color)
    elif in_brief:
        sys.stdout.write(brief(number, trace_title(summary), trace, inspection, where=where or ""))
    elif why:
        print_lines(why_lines(trace, inspection, width=screen_width()), color=color)
    elif as_json:
        value = trace_object(number, trace, inspection, liveness=liveness, open_turns=open_turns)
        sys.stdout.write(write_json(value) + "\n")
    else:
        count = len(trace.turns)
        linked = link.turns(inspection.chain.steps, count)
        only = linked if ranges is None else _turns_in(ranges, count)
        if ranges is None and link.leads and not only:
            print_notice(f"the link points to {link.leads}, which this trace does not have")
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


def _turns_in(ranges: str, count: int) -> set[int]:
    """The numbers, from 1 to `count`, that `ranges` names; `2-5` includes both ends, `7-` goes up to the last turn.

    Raises click.BadParameter if `ranges` is malformed or names no turn of the trace.
    """
    turns: set[int] = set()
    for text in ranges.split(","):
        match = _RANGE.fullmatch(text.strip())
        if match is None:
            raise click.BadParameter(
                f"{text!r} is not a turn or a range of turns, such as 4, 2-5 or 7-", param_hint="--turns"
            )
        first = int(match[1])
        last = first if match[2] is None else int(match[3] or count)
        turns.update(range(max(first, 1), min(last, count) + 1))
    if not turns:
        raise click.BadParameter(
            f"{ranges!r} selects none of the {counted(count, 'turn')} of this trace", param_hint="--turns"
        )
    return turns


def _refuse_together(given: Set[str], *, in_brief: bool) -> None:
    """Raise UsageError for options of which one would be ignored."""
    if in_brief and given:
        raise click.UsageError("--brief prints the verdict alone; leave out the other options.")
    if given >= {"--turns", "--json"}:
        raise click.UsageError("--turns selects what is printed as text; --json always contains the whole trace.")
    if "--redactions" in given and given & {"--json", "--turns", "--context"}:
        raise click.UsageError("--redactions lists places of the whole trace as text; give it alone.")
    if given >= {"--json", "--context"}:
        raise click.UsageError("--context and --context-diff print text; --json always contains the whole trace.")
    if "--why" in given and given & {"--json", "--turns", "--context"}:
        raise click.UsageError("--why prints the reasons of the verdict alone; leave out the other options.")


def _last_broken(store: Store) -> TraceSummary:
    """The newest broken trace. Raises StoreError if no trace is broken."""
    summary = store.newest("status:broken")
    if summary is None:
        raise StoreError("no trace in this database is broken")
    return summary
