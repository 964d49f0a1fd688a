"""What the home screen says: counts by status, where there is nothing to show, and what of a chain can be copied."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from inspector.chain.steps import Status
from inspector.errors import WeaklinkError
from inspector.model import Liveness
from storage import NoDatabaseYetError, Order, Pulse, TraceSummary
from ui.tui.chains.pages import Pages
from ui.tui.dialogs import Choice, copied
from ui.tui.line_bar import ClickTarget
from ui.tui.store_access import sentence
from ui.views.links import Link
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.status import LIVENESS, status_run
from ui.views.trace_list import trace_title
from ui.views.visible import visible_line
from ui.views.wording import quoted, wrapped

_MOST_IDS = 8


def status_spots(counts: Mapping[str, int], pulse: Pulse, wanted: str) -> list[ClickTarget]:
    """How many chains ended in each status; each can be clicked, and that of the filter stands in brackets."""
    spots = []
    for status in Status:
        count = counts.get(status.value, 0)
        if count:
            run = status_run(status)
            line: Line = (Run(f"{run.text[0]} {count:,} {status.value}", run.style),)
            if f"status:{status.value}" in wanted.split():
                line = (Run("[", Style.STRONG), *line, Run("]", Style.STRONG))
            spots.append(ClickTarget(f"status:{status.value}", line))
    for state, ids in ((Liveness.RUNNING, pulse.running), (Liveness.IDLE, pulse.idle)):
        if ids:
            run = LIVENESS[state]
            spots.append(ClickTarget("", (Run(f"{run.text[0]} {len(ids):,} {state.value}", run.style),)))
    return spots


ORDERS = MappingProxyType(
    {
        Order.TIME: "the newest first",
        Order.DURATION: "the longest first",
        Order.TOKENS: "the most tokens first",
        Order.ERRORS: "the most errors first",
    }
)
"""By what a list can be sorted, and what then comes first."""
COLUMN_OF = MappingProxyType({Order.TIME: "", Order.DURATION: "dur", Order.TOKENS: "tok", Order.ERRORS: "break"})
"""The column whose head shows an order; the order of every day needs none."""


def shown_of(pages: Pages, wanted: str, counts: Mapping[str, int], order: Order) -> Line:
    """How many chains are shown of how many; `+` while the list is still being walked over."""
    if not (pages.count or pages.is_complete):
        return ()  # nothing was read yet, or could be
    more = "" if pages.is_complete else "+"
    total = sum(counts.values())
    if not (wanted or pages.is_complete) and total > pages.count:
        return (Run(f"{total:,}", Style.STRONG), Run(f" {_chains(total)}"))
    of = f" of {total:,}" if wanted and total else ""
    sorted_ = f", {ORDERS[order]}" if order is not Order.TIME else ""
    what = _chains(total if of else pages.count)
    return (Run(f"{pages.count:,}{more}", Style.STRONG), Run(f"{of} {what}{sorted_}"))


def _chains(count: int) -> str:
    return "chain" if count == 1 else "chains"


def nothing_lines(place: str, wanted: str, problem: WeaklinkError | None, width: int) -> list[Line]:
    """What stands in the place of a list without lines, and what to do about it."""
    said = _nothing(place, wanted, problem)
    return [(), *((Run("  "), *line) for one in said for line in wrapped(quoted(one), width - 4))]


def _nothing(place: str, wanted: str, problem: WeaklinkError | None) -> Sequence[str]:
    if isinstance(problem, NoDatabaseYetError):
        return (
            f"There is no database at `{place}` yet.",
            "`weaklink demo` shows samples, `weaklink import PATH` reads logs, `weaklink record` records agents.",
            "What they bring appears here by itself. `weaklink tui --db PATH` opens another database.",
        )
    if problem is not None:
        said = sentence(problem).removesuffix(" `ctrl+r` tries again.")
        return (said, "`ctrl+r` tries again, `q` quits.")
    if wanted:
        return (f"No chain matches the filter `{wanted}`.", "`esc` clears it, `f` changes it.")
    return (
        f"The database `{place}` holds no traces yet.",
        "`weaklink import PATH` reads logs, `weaklink record` records agents; what they bring appears here by itself.",
    )


def copies_of(summary: TraceSummary, place: str | None, step: int | None = None) -> Sequence[Choice]:
    """What of a chain can be copied."""
    option = f" --db {shlex.quote(place)}" if place else ""
    ours = {
        "command": f"weaklink show {summary.id}{option}",
        "link": str(Link(str(summary.id), step=step)),
        "id": str(summary.id),
        "name": trace_title(summary),
        "file": summary.file,
    }
    theirs = [
        copied(f"source's {name}" if name in ours else name, value)
        for name, value in list(summary.external_ids.items())[:_MOST_IDS]
    ]
    *before, file = (copied(name, value) for name, value in ours.items())
    about = visible_line(f"{summary.file} {summary.record}".strip())
    return [*before, *theirs, *([replace(file, about=about)] if summary.file else ())]
