"""A source as a description: how its files are recognised, and what reads them.

    ZED = LogSource(
        name="zed",
        signs="the table `threads` with `data_type` and `data`",
        columns={"threads": {"summary", "data_type", "data"}},
        reader=partial(sessions_in_tables, names=("threads",), query=_QUERY, session=_thread),
    )

What is left to the source is what only it has: the map of its records, and a test of a row or the columns of a table.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import TypeAlias

from msgspec import Struct

from weaklink.inspector.importers.records import Row, read_rows
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from weaklink.inspector.importers.sqlite_tables import MAGIC, has_columns
from weaklink.inspector.model import Trace

ReadFile: TypeAlias = Callable[[SourceFile], Iterator[Trace | Skipped]]
"""Reads a file, as `Importer.read` does."""

_TABLES = 0.95


class LogSource(Struct, frozen=True, kw_only=True):
    """An Importer of a source's files, with its `name`, its `signs` in words, and its readers.

    A file is of the source if it is a database whose tables have these `columns`, or, with `confidence`, if `is_row`
    holds for one of its first rows. `score` returns the confidence of a source that looks at more than one row.
    `reader` reads a file; a database, if there is one, is read by `table_reader`.
    """

    name: str
    signs: str
    reader: ReadFile
    table_reader: ReadFile | None = None
    columns: Mapping[str, Set[str]] = {}
    is_row: Callable[[JsonObject], object] | None = None
    confidence: float = 0.95
    score: Callable[[FileSample], float] | None = None

    def recognises(self, sample: FileSample) -> float:
        """The confidence that the sample is of this source."""
        if self.columns and all(has_columns(sample, table, columns) for table, columns in self.columns.items()):
            return _TABLES
        if self.is_row is not None and any(map(self.is_row, sample.rows)):
            return self.confidence
        return 0.0 if self.score is None else self.score(sample)

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The traces of the file in its order, and the records that contain none."""
        read = self.table_reader if file.head.startswith(MAGIC) and self.table_reader else self.reader
        return read(file)


def trace_of_each_row(file: SourceFile, trace: Callable[[Row], Trace | Skipped]) -> Iterator[Trace | Skipped]:
    """The trace that each row of a file is, or the reason why it is none."""
    return traces_of(read_rows(file), trace)


def traces_in_each_row(
    file: SourceFile, traces: Callable[[Row], Iterator[Trace | Skipped]]
) -> Iterator[Trace | Skipped]:
    """The traces that each row of a file holds, or the reasons why it holds none."""
    for row in read_rows(file):
        yield from (row,) if isinstance(row, Skipped) else traces(row)


def traces_of(rows: Iterable[Row | Skipped], trace: Callable[[Row], Trace | Skipped]) -> Iterator[Trace | Skipped]:
    """The same for rows that were made of a file's."""
    return (row if isinstance(row, Skipped) else trace(row) for row in rows)
