"""The traces that a command's words name: those of a file or a data set, or one of the database."""

import glob
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from inspector.importers.source import Skipped
from inspector.importers.together import read_together
from inspector.model import Trace
from inspector.redaction.redactor import Redactor
from ui.cli.inputs import STDIN
from ui.importing.placed_file import PlacedFile, read_placed


def is_path(word: str) -> bool:
    """Whether a word names a file, a folder or a pattern; anything else is the id of a trace in the database."""
    if word == STDIN:
        return True
    if word.isdecimal():
        return False
    return Path(word).exists() or glob.has_magic(word) or "/" in word or Path(word).suffix in _SUFFIXES


def records_of(file: PlacedFile, source: str | None) -> Iterator[Trace | Skipped]:
    """Every trace of a file, redacted, and the records that gave none, as they are read. Raises UnreadableFileError."""
    redactor = Redactor()
    for record in _read(file, source):
        yield redactor.trace(record) if isinstance(record, Trace) else _clean(record, redactor)


def _clean(record: Skipped, redactor: Redactor) -> Skipped:
    return replace(record, reason=redactor.text(record.reason))


def _read(file: PlacedFile, source: str | None) -> Iterator[Trace | Skipped]:
    reading = read_placed(file, source)
    if file.with_it:
        yield from read_together((file.path, *file.with_it), reading.source)
    else:
        yield from reading.records


_SUFFIXES = (".json", ".jsonl", ".ndjson", ".gz", ".zst", ".db", ".sqlite", ".har", ".eval", ".log", ".txt")
