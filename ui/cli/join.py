"""`weaklink join`: two traces of one session become one, with what each source recorded."""

import sys

import click

from inspector.chain.joining import join_traces, without_joined
from inspector.inspection import inspect_trace
from inspector.rules.rule import Severity
from storage import open_store
from ui.cli.store_options import LOCK_TIMEOUT_S, recover_traces, trace_id
from ui.views.styled_text import visible_line
from ui.views.wording import counted


def join(first: str, second: str | None, where: str | None, *, undo: bool) -> None:
    """`weaklink join`; see its help."""
    if undo == (second is not None):
        raise click.UsageError("name two traces to join them, or one trace and --undo.")
    with open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S) as store:
        recover_traces(store)
        number = trace_id(store, first)
        trace, _ = store.inspected(number)
        if second is None:
            before = without_joined(trace)
            if before is trace:
                sys.stdout.write(f"trace {number}: nothing was joined to it\n")
                return
            store.save([(before, inspect_trace(before))])
            sys.stdout.write(f"trace {number}: it is as it was before `join`\n")
            return
        other = trace_id(store, second)
        found = join_traces(without_joined(trace), store.inspected(other)[0])
        inspection = inspect_trace(found.trace)
        store.save([(found.trace, inspection)])
    differences = sum(one.rule.layer != "" and one.rule.severity is not Severity.INFO for one in inspection.diagnostics)
    runs, missing = counted(found.runs, "run"), counted(found.left_out, "call")
    sys.stdout.write(f"trace {number}: {runs} of trace {other}, by the id {visible_line(found.shared)}; ")
    sys.stdout.write(f"{missing} without one; {counted(differences, 'difference')} between layers\n")
