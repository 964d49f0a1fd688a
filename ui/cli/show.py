"""`weaklink show`: one trace, its verdict first, then its turns."""

import re
import sys
from collections.abc import Iterable

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

_SPAN = re.compile(r"\s*([1-9][0-9]{0,8})(?:\s*-\s*([1-9][0-9]{0,8}))?\s*")


class _TurnsType(click.ParamType[tuple[range, ...]]):
    """Numbers of turns, such as `3` or `2-5,9`; `none` names none."""

    name = "turns"

    def convert(
        self, value: str | tuple[range, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[range, ...]:
        if not isinstance(value, str):
            return value
        if value.strip().lower() == "none":
            return ()
        spans = [_SPAN.fullmatch(word) for word in value.split(",")]
        numbers = [(int(span[1]), int(span[2] or span[1])) for span in spans if span is not None]
        if len(numbers) < len(spans) or any(first > last for first, last in numbers):
            self.fail(f"{value!r} names no turns; write 3, or 2-5,9, or none", param, ctx)
        return tuple(range(first, last + 1) for first, last in numbers)


@click.command("show")
@click.argument("named", metavar="ID|LINK")
@click.option(
    "--turns",
    type=_TurnsType(),
    metavar="TURNS",
    help="Show only these turns, such as 3 or 2-5,9; `none` leaves them out.",
)
@click.option("--full", is_flag=True, help="Print long texts in full, and valid calls as they were written.")
@json_option
@database_option
@color_option
def show(
    named: str, where: str | None, *, turns: tuple[range, ...] | None, full: bool, as_json: bool, color: str
) -> None:
    """Show one trace: its break, its chain and its answer, then its turns with every fault marked in place.

    ID is the number that `weaklink list` prints, the beginning of an id of the source, `latest`, or '#3' for the third
    trace of the last list. A link (`weaklink://trace/12?step=4`, or the address of a trace in the web page) shows only
    the turns that it points to. Long texts are shortened in the middle, faults never.
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
        led = link.turns(inspection.chain.steps, len(trace.turns))
        if link.leads and not led:
            sys.stderr.write(
                f"weaklink: the link leads to {visible_line(link.leads)}, which this trace does not have\n"
            )
        only = led or None if turns is None else _named(turns, len(trace.turns))
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


def _named(spans: Iterable[range], turns: int) -> frozenset[int]:
    """The numbers of some turns of a trace with so many. click.ClickException for one that it does not have."""
    wanted = list(spans)
    if any(span.start > turns for span in wanted):
        highest = max(span.start for span in wanted)
        raise click.ClickException(f"the trace has no turn {highest}: its last is turn {turns}")
    return frozenset(number for span in wanted for number in range(span.start, min(span.stop, turns + 1)))
