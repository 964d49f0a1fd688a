"""Weaklink's own trace files, as `weaklink export` writes them."""

from collections.abc import Iterator

from msgspec.structs import replace

from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.source import Skipped, SourceFile
from weaklink.inspector.model import Trace
from weaklink.inspector.trace_file.lines import HEADER_KEY
from weaklink.inspector.trace_file.reading import read_trace_stream


def _traces(file: SourceFile) -> Iterator[Trace | Skipped]:
    """Each trace of the file. UnreadableFileError for a broken line, after the traces before it."""
    with file.open() as stream:
        for number, trace in enumerate(read_trace_stream(stream, file.name), 1):
            if trace.provenance.source:
                yield trace
            else:
                yield replace(trace, provenance=replace(trace.provenance, record=f"trace {number}"))


TRACE_FILES = LogSource(
    name="trace-file",
    signs="a first line with the key `weaklink_trace_file`",
    score=lambda sample: 1.0 if sample.rows and HEADER_KEY in sample.rows[0] else 0.0,
    reader=_traces,
)
"""The traces unchanged; one whose provenance names its original source keeps that."""


def record_in_file(trace: Trace, source: str, number: int) -> str:
    """The name of the record of a file's `number`th trace; `source` is the source that the file was read as.

    A trace of a trace file names a record of the file that it was imported from, or none.
    """
    return f"trace {number}" if source == TRACE_FILES.name else trace.provenance.record
