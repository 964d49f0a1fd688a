"""Writes one trace to a file, in the form that the file's suffix names."""

from collections.abc import Callable
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import TextIO

from inspector.atomic_write import whole_file
from inspector.inspection import Inspection
from inspector.json_text import write_json
from inspector.model import Trace
from inspector.trace_file import write_trace_file
from storage import Store, TraceSummary
from ui.reports.html_page import html_page
from ui.reports.markdown_trace import trace_markdown
from ui.views.trace_json import trace_object
from ui.views.trace_list import trace_title

FORMS = ".jsonl a trace file, .json what `show --json` prints, .md a report, .html one page"
"""What the suffixes stand for, in words."""


def export_trace(store: Store, id: int, path: str) -> Path:
    """Write trace `id` to the file at `path`, whole or not at all; where that is. StoreError, UnwritableFileError."""
    summary = store.summary(id)
    trace, inspection = store.inspected(id)
    target = Path(path).expanduser().absolute()
    with whole_file(target) as out:
        _WRITERS.get(target.suffix.lower(), _trace_file)(out, summary, trace, inspection)
    return target


def proposed_name(summary: TraceSummary) -> str:
    """A name for the file of a trace, of characters that every file system takes."""
    return f"trace-{summary.id}.html"


def export_problem(path: str) -> str | None:
    """What is wrong with a path to export to, in a sentence; None for nothing."""
    if not path.strip():
        return "The file wants a name."
    if PurePath(path).suffix.lower() not in _WRITERS:
        return f"The suffix says what is written: {FORMS}."
    target = Path(path).expanduser()
    if target.is_dir():
        return "This is a folder; name a file in it."
    return None if target.absolute().parent.is_dir() else f"There is no folder `{target.parent}`."


def _trace_file(out: TextIO, _: TraceSummary, trace: Trace, inspection: Inspection) -> None:
    write_trace_file(out, [trace])


def _json(out: TextIO, summary: TraceSummary, trace: Trace, inspection: Inspection) -> None:
    out.write(write_json(trace_object(summary.id, trace, inspection)) + "\n")


def _markdown(out: TextIO, summary: TraceSummary, trace: Trace, inspection: Inspection) -> None:
    out.writelines(trace_markdown(summary.id, trace, inspection))


def _html(out: TextIO, summary: TraceSummary, trace: Trace, inspection: Inspection) -> None:
    title = f"weaklink: trace {summary.id} {trace_title(summary)}"
    out.writelines(html_page(iter([(summary.id, trace, inspection)]), title=title, contents=[summary]))


_WRITERS: MappingProxyType[str, Callable[[TextIO, TraceSummary, Trace, Inspection], None]] = MappingProxyType(
    {".jsonl": _trace_file, ".json": _json, ".md": _markdown, ".html": _html}
)
