"""`weaklink reinspect`: what is derived from traces, made again by this weaklink."""

import sys
from collections.abc import Callable

import click

from inspector.errors import UnknownFormatError
from inspector.inspection import Inspection, inspect_trace
from inspector.model import Trace
from inspector.version import __version__
from storage import Store, open_store
from ui.cli.options import database_option
from ui.cli.progress import progress_bar
from ui.views.wording import counted


@click.command("reinspect")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@database_option
def reinspect(ids: tuple[str, ...], where: str | None) -> None:
    """Inspect traces again with this version of weaklink: those named, or all.

    What was recorded stays as it is; spans, calls, steps and diagnostics are made anew from it. Ctrl-C keeps those
    that are finished.
    """
    with open_store(where, create=False) as store:
        numbers = list(dict.fromkeys(store.summary(id).id for id in ids)) if ids else None
        total = store.stats().traces if numbers is None else len(numbers)
        done = _reinspected(store, numbers, total)
        store.sum_pending()
    sys.stdout.write(f"{counted(done, 'trace')} inspected again by weaklink {__version__}\n")


def _reinspected(store: Store, numbers: list[int] | None, total: int) -> int:
    with progress_bar("inspecting", total) as advance:
        return store.reinspect(_counting(advance), numbers)


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
