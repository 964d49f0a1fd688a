"""`weaklink export`: write traces of the database in formats for people and other tools."""

import sys
import time
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import TextIO

import click

from weaklink.inspector.exporters import messages_row, otlp_request
from weaklink.inspector.json_text import write_json
from weaklink.storage import TraceSummary, open_store
from weaklink.ui.cli.files import open_output
from weaklink.ui.cli.store_options import trace_ids
from weaklink.ui.reports.trace_files import TRACE_WRITERS, NumberedTrace, TraceWriter, form_of, write_traces


def export(ids: tuple[str, ...], form: str | None, tool: str | None, output: str | None, where: str | None) -> None:
    """`weaklink export`; see its help."""
    if form and tool:
        raise click.UsageError(
            "--as and --to exclude each other: --as is for weaklink and people, --to for other tools."
        )
    chosen = form or tool or form_of(output or "") or "trace"
    with open_store(where, create=False) as store:
        chosen_ids = trace_ids(store, ids)
        with open_output(output) as out:
            write_traces(out, store, chosen_ids, _WRITERS[chosen])


def _otlp(out: TextIO, _: Sequence[TraceSummary], traces: Iterable[NumberedTrace]) -> None:
    now_s = time.time()
    requests = (otlp_request(trace, inspection, unknown_at_s=now_s) for _, trace, inspection in traces)
    out.writelines(write_json(request) + "\n" for request in requests)


def _messages(out: TextIO, _: Sequence[TraceSummary], traces: Iterable[NumberedTrace]) -> None:
    for id_, trace, _inspection in traces:
        row = messages_row(trace)
        out.write(write_json(row.value) + "\n")
        for sentence in row.dropped:
            sys.stderr.write(f"weaklink: trace {id_}: {sentence}\n")


_WRITERS: MappingProxyType[str, TraceWriter] = MappingProxyType({**TRACE_WRITERS, "otlp": _otlp, "messages": _messages})
