"""Writes traces to one file: a trace file, JSON lines, Markdown or one HTML page, as the file's suffix says."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import TextIO, TypeAlias

from inspector.inspection import Inspection
from inspector.json_text import write_json
from inspector.model import Trace
from inspector.model.exchange import with_exchanges
from inspector.trace_file import write_trace_file
from storage import Store, TraceSummary
from ui.reports.html_page import html_page
from ui.reports.markdown_trace import trace_markdown
from ui.views.trace_json import trace_object
from ui.views.trace_list import trace_title

NumberedTrace: TypeAlias = tuple[int, Trace, Inspection]
TraceWriter: TypeAlias = Callable[[TextIO, Sequence[TraceSummary], Iterator[NumberedTrace]], None]

_FORMS_BY_SUFFIX = MappingProxyType(
    {".jsonl": "trace", ".json": "json", ".md": "markdown", ".markdown": "markdown", ".html": "html"}
)


def form_of(path: str) -> str | None:
    """The form that the suffix of a path names; None for other suffixes."""
    return _FORMS_BY_SUFFIX.get(PurePath(path).suffix.lower())


def write_traces(out: TextIO, store: Store, ids: Iterable[int], writer: TraceWriter) -> None:
    """Write traces of a store, one in memory at a time. StoreError where one is missing."""
    summaries = [store.summary(id_) for id_ in ids]
    traces = ((one.id, *store.inspected(one.id)) for one in summaries)
    if writer is _trace_file:
        traces = (
            (id_, with_exchanges(trace, store.exchanges.of(id_).traces[id_]), inspection)
            for id_, trace, inspection in traces
        )
    writer(out, summaries, traces)


def _trace_file(out: TextIO, _: Sequence[TraceSummary], traces: Iterable[NumberedTrace]) -> None:
    write_trace_file(out, (trace for _, trace, _ in traces))


def _json(out: TextIO, _: Sequence[TraceSummary], traces: Iterable[NumberedTrace]) -> None:
    out.writelines(write_json(trace_object(*numbered)) + "\n" for numbered in traces)


def _markdown(out: TextIO, _: Sequence[TraceSummary], traces: Iterable[NumberedTrace]) -> None:
    for index, numbered in enumerate(traces):
        out.writelines(["\n---\n\n"] if index else [])
        out.writelines(trace_markdown(*numbered))


def _html(out: TextIO, summaries: Sequence[TraceSummary], traces: Iterator[NumberedTrace]) -> None:
    out.writelines(html_page(traces, title=_page_title(summaries), contents=summaries))


def _page_title(summaries: Sequence[TraceSummary]) -> str:
    if len(summaries) > 1:
        return f"weaklink: {len(summaries):,} traces"
    return f"weaklink: trace {summaries[0].id} {trace_title(summaries[0])}"


TRACE_WRITERS: MappingProxyType[str, TraceWriter] = MappingProxyType(
    {"trace": _trace_file, "json": _json, "markdown": _markdown, "html": _html}
)
"""How traces are written, by form."""
