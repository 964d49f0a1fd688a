"""`weaklink reinspect`: what is derived from traces, made again by this weaklink."""

import sys
from collections.abc import Callable

import click

from inspector.errors import StoreError, UnknownFormatError
from inspector.inspection import Inspection, inspect_trace
from inspector.model import Trace
from inspector.version import __version__
from storage import Store, open_store
from ui.cli.options import database_option
from ui.cli.progress import progress_bar
from ui.views.visible import visible_line
from ui.views.wording import counted


@click.command("reinspect")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@database_option
@click.pass_context
def reinspect(ctx: click.Context, ids: tuple[str, ...], where: str | None) -> None:
    """Inspect traces again with this version of weaklink: those named, or all.

    What was recorded stays as it is; spans, calls, steps and diagnostics are made anew from it. Ctrl-C keeps those
    that are finished. A trace of which the record is damaged is left as it is and reported; the exit code is then 1.
    """
    with open_store(where, create=False) as store:
        numbers = list(dict.fromkeys(store.summary(id).id for id in ids)) if ids else None
        total = store.stats().traces if numbers is None else len(numbers)
        damaged: list[StoreError] = []
        done = _reinspected(store, numbers, total, damaged.append)
        store.sum_pending()
    for error in damaged:
        sys.stderr.write(f"weaklink: {visible_line(str(error))}\n")
    sys.stdout.write(f"{counted(done, 'trace')} inspected again by weaklink {__version__}\n")
    if damaged:
        ctx.exit(1)


def _reinspected(store: Store, numbers: list[int] | None, total: int, on_damaged: Callable[[StoreError], None]) -> int:
    with progress_bar("inspecting", total) as advance:
        return store.reinspect(_counting(advance), numbers, on_damaged=on_damaged)


def _counting(advance: Callable[[int], None]) -> Callable[[Trace], Inspection]:
    def inspect(trace: Trace) -> Inspection:
        try:
            found = inspect_trace(trace)
        except UnknownFormatError as error:
            came = " ".join(word for word in (trace.provenance.file, trace.provenance.record) if word)
            raise UnknownFormatError(f"the trace from {came or 'an unknown source'}: {error}") from error
        advance(1)
        return found

    return inspect
