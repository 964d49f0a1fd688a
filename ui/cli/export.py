"""`weaklink export`: write traces of the database in formats for people and other tools."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from types import MappingProxyType
from typing import TextIO

import click

from weaklink.inspector.exporters import messages_row, otlp_protobuf, otlp_request
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json
from weaklink.storage.store import open_store
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_notice
from weaklink.ui.cli.files import open_output
from weaklink.ui.cli.store_options import trace_ids
from weaklink.ui.reports.trace_files import TRACE_WRITERS, NumberedTrace, TraceWriter, form_of, write_traces

_PROTOBUF = "otlp-protobuf"


@declaring.command("export")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option(
    "--as",
    "form",
    type=click.Choice(["trace", "json", "markdown", "html"]),
    help="What to write.  [default: by the suffix of --output, else trace]",
)
@click.option(
    "--to",
    "tool",
    type=click.Choice(["otlp", _PROTOBUF, "messages"]),
    help="A format that other tools read, one line per trace.",
)
@click.option("--output", "-o", metavar="FILE", help="Write to FILE instead of standard output.")
@declaring.database_option
def export(ids: tuple[str, ...], form: str | None, tool: str | None, output: str | None, where: str | None) -> None:
    """Write traces as files for other tools and people.

    \b
    trace          a trace file: everything that was recorded, for `weaklink import` anywhere else
    json           what `weaklink show --json` prints, one line per trace
    markdown       a report
    html           one self-contained page without scripts, pictures or fonts
    otlp           OTLP JSON with the GenAI conventions, for Langfuse, a collector or `weaklink import`
    otlp-protobuf  the same as protobuf, the only form that Phoenix accepts
    messages       OpenAI messages; what they cannot express is listed on stderr

    ID is the number that `weaklink list` prints, or an id from its source; `@marked` means all marked traces,
    `@shown` those of the last list. FILE is written completely or not at all.
    """
    if form and tool:
        raise click.UsageError(
            "--as and --to exclude each other: --as is for weaklink and people, --to for other tools."
        )
    chosen = form or tool or form_of(output or "") or "trace"
    if chosen == _PROTOBUF and output is None and sys.stdout.isatty():
        raise click.UsageError("Protobuf is no text for a terminal: name a file with -o FILE.")
    with open_store(where, create=False) as store:
        chosen_ids = trace_ids(store, ids)
        with open_output(output) as out:
            write_traces(out, store, chosen_ids, _WRITERS[chosen])


def _otlp(out: TextIO, _: Sequence[TraceSummary], traces: Iterable[NumberedTrace]) -> None:
    out.writelines(write_json(request) + "\n" for request in _otlp_requests(traces))


def _otlp_protobuf(out: TextIO, _: Sequence[TraceSummary], traces: Iterable[NumberedTrace]) -> None:
    out.buffer.writelines(map(otlp_protobuf, _otlp_requests(traces)))


def _otlp_requests(traces: Iterable[NumberedTrace]) -> Iterator[dict[str, Json]]:
    now_s = time.time()
    return (otlp_request(trace, inspection, unknown_at_s=now_s) for _, trace, inspection in traces)


def _messages(out: TextIO, _: Sequence[TraceSummary], traces: Iterable[NumberedTrace]) -> None:
    for id_, trace, _inspection in traces:
        row = messages_row(trace)
        out.write(write_json(row.value) + "\n")
        for sentence in row.dropped:
            print_notice(f"trace {id_}: {sentence}")


_WRITERS: MappingProxyType[str, TraceWriter] = MappingProxyType(
    {**TRACE_WRITERS, "otlp": _otlp, _PROTOBUF: _otlp_protobuf, "messages": _messages}
)
