"""Stores a file in a temporary database, for a screen that opens it without an import: training data with D faults."""

from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path

from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.lint.linting import LintOptions, format_of_set, linted
from weaklink.inspector.dataset.rows import read_data
from weaklink.inspector.dataset.samples import ROW_PART, Sample, read_sample, redacted
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Trace
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.storage.store import open_store

_TRAINING = frozenset({"completions", "sharegpt", "openai-messages", "training-data"})
_PEEKED, _TOGETHER = 200, 200


def store_file(path: str, database: Path, advance: Callable[[int], None]) -> int:
    """Store the records of a file, secrets masked, in a new database. Returns how many records could not be read.

    Rows of training data get the faults that `weaklink data lint` finds in each of them; traces of any other source
    those of `weaklink check`. `advance` is called with the number of records stored. Raises UnreadableFileError if the
    file has no readable record.
    """
    records = _training(path) if _is_training(path) else _logged(path)
    stored = unreadable = 0
    with open_store(database) as store:
        while batch := list(islice(records, _TOGETHER)):
            readable = [record for record in batch if record is not None]
            store.save(readable)
            stored, unreadable = stored + len(readable), unreadable + len(batch) - len(readable)
            advance(len(readable))
    if not stored:
        raise UnreadableFileError(f"{path}: no record could be read")
    return unreadable


def _is_training(path: str) -> bool:
    try:
        return read_source(path).source in _TRAINING
    except UnreadableFileError:
        return path.lower().endswith((".parquet", ".arrow"))


def _training(path: str) -> Iterator[tuple[Trace, Inspection] | None]:
    """The rows; None for one that cannot be read."""
    rows = iter(read_data([path]))
    first = list(islice(rows, _PEEKED))
    options = LintOptions(set_format=format_of_set(read_sample(row) for row in first if isinstance(row, DataRow)))
    return (
        _linted(redacted(read_sample(row)), options) if isinstance(row, DataRow) else None for row in chain(first, rows)
    )


def _linted(sample: Sample, options: LintOptions) -> tuple[Trace, Inspection]:
    """The conversation with its faults; the row's JSON text is a part of it if a fault is in that text."""
    inspection = linted(sample, options)
    is_of_row = any(diagnostic.location.part == ROW_PART for diagnostic in inspection.diagnostics)
    return sample.reported_trace if is_of_row else sample.trace, inspection


def _logged(path: str) -> Iterator[tuple[Trace, Inspection] | None]:
    """The traces; None for a record that cannot be read."""
    redactor = Redactor()
    for record in read_source(path).records:
        if isinstance(record, Skipped):
            yield None
        else:
            trace = redactor.trace(record)
            yield trace, inspect_trace(trace)
