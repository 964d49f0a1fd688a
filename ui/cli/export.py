"""`weaklink export`: traces out of the database, as others read them."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import TextIO, TypeAlias

import click

from inspector.exporters import messages_row, otlp_request
from inspector.inspection import Inspection
from inspector.json_text import write_json
from inspector.model import Trace
from inspector.trace_file import write_trace_file
from storage import TraceSummary, open_store
from ui.cli.console import database_option
from ui.cli.files import open_output
from ui.cli.store_options import trace_id
from ui.reports.html_page import html_page
from ui.reports.markdown_trace import trace_markdown
from ui.views.trace_json import trace_object
from ui.views.trace_list import trace_title

_Numbered: TypeAlias = tuple[int, Trace, Inspection]
_SUFFIXES = MappingProxyType({".json": "json", ".md": "markdown", ".markdown": "markdown", ".html": "html"})


@click.command("export")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option(
    "--as",
    "form",
    type=click.Choice(["trace", "json", "markdown", "html"]),
    help="What to write.  [default: by the suffix of --output, else trace]",
)
@click.option(
    "--to", "tool", type=click.Choice(["otlp", "messages"]), help="A format of other tools, one line per trace."
)
@click.option("--output", "-o", metavar="FILE", help="Write to FILE instead of standard output.")
@database_option
def export(ids: tuple[str, ...], form: str | None, tool: str | None, output: str | None, where: str | None) -> None:
    """Write traces as files for other tools and people.

    \b
    trace      a trace file: everything that was recorded, for `weaklink import` anywhere else
    json       what `weaklink show --json` prints, one line per trace
    markdown   a report
    html       one self-contained page without scripts, pictures or fonts

    \b
    otlp       OTLP JSON with the GenAI conventions, diagnostics and verdict, for Phoenix, Langfuse or a collector
    messages   OpenAI messages; what they cannot express is listed on stderr

    ID is the number that `weaklink list` prints, or an id of the source's own. FILE is written completely or not at
    all.
    """  # noqa: D301  # Click wants the backspace itself
    if form and tool:
        raise click.UsageError("--as says what weaklink and people read, --to what other tools do; give one of them.")
    chosen = form or tool or _SUFFIXES.get(PurePath(output or "").suffix.lower(), "trace")
    with open_store(where, create=False) as store:
        summaries = [store.summary(trace_id(store, id)) for id in ids]
        traces = ((one.id, *store.inspected(one.id)) for one in summaries)
        with open_output(output) as out:
            _WRITERS[chosen](out, summaries, traces)


def _trace_file(out: TextIO, _: Sequence[TraceSummary], traces: Iterable[_Numbered]) -> None:
    write_trace_file(out, (trace for _, trace, _ in traces))


def _json(out: TextIO, _: Sequence[TraceSummary], traces: Iterable[_Numbered]) -> None:
    out.writelines(write_json(trace_object(*numbered)) + "\n" for numbered in traces)


def _markdown(out: TextIO, _: Sequence[TraceSummary], traces: Iterable[_Numbered]) -> None:
    for index, numbered in enumerate(traces):
        out.writelines(["\n---\n\n"] if index else [])
        out.writelines(trace_markdown(*numbered))


def _html(out: TextIO, summaries: Sequence[TraceSummary], traces: Iterator[_Numbered]) -> None:
    out.writelines(html_page(traces, title=_page_title(summaries), contents=summaries))


def _otlp(out: TextIO, _: Sequence[TraceSummary], traces: Iterable[_Numbered]) -> None:
    now_s = time.time()
    requests = (otlp_request(trace, inspection, unknown_at_s=now_s) for _, trace, inspection in traces)
    out.writelines(write_json(request) + "\n" for request in requests)


def _messages(out: TextIO, _: Sequence[TraceSummary], traces: Iterable[_Numbered]) -> None:
    for id_, trace, _inspection in traces:
        row = messages_row(trace)
        out.write(write_json(row.value) + "\n")
        for sentence in row.dropped:
            sys.stderr.write(f"weaklink: trace {id_}: {sentence}\n")


def _page_title(summaries: Sequence[TraceSummary]) -> str:
    if len(summaries) > 1:
        return f"weaklink: {len(summaries):,} traces"
    return f"weaklink: trace {summaries[0].id} {trace_title(summaries[0])}"


_WRITERS: MappingProxyType[str, Callable[[TextIO, Sequence[TraceSummary], Iterator[_Numbered]], None]] = (
    MappingProxyType(
        {
            "trace": _trace_file,
            "json": _json,
            "markdown": _markdown,
            "html": _html,
            "otlp": _otlp,
            "messages": _messages,
        }
    )
)
