"""Writes traces to a file, in the form that the file's suffix names."""

from collections.abc import Sequence
from pathlib import Path

from inspector.atomic_write import whole_file
from storage import Store, TraceSummary
from ui.reports.trace_files import TRACE_WRITERS, form_of, write_traces

FORMS = ".jsonl a trace file, .json what `show --json` prints, .md a report, .html one page"
"""What the suffixes stand for, in words."""


def export_traces(store: Store, ids: Sequence[int], path: str) -> Path:
    """Write traces to the file at `path`, completely or not at all; where that is. StoreError, UnwritableFileError."""
    target = Path(path).expanduser().absolute()
    with whole_file(target) as out:
        write_traces(out, store, ids, TRACE_WRITERS[form_of(path) or "trace"])
    return target


def proposed_name(summary: TraceSummary) -> str:
    """A name for the file of a trace, of characters that every file system takes."""
    return f"trace-{summary.id}.html"


def export_problem(path: str) -> str | None:
    """What is wrong with a path to export to, in a sentence; None for nothing."""
    if not path.strip():
        return "The file needs a name."
    if form_of(path) is None:
        return f"The suffix says what is written: {FORMS}."
    target = Path(path).expanduser()
    if target.is_dir():
        return "This is a folder; name a file in it."
    return None if target.absolute().parent.is_dir() else f"There is no folder `{target.parent}`."
