"""PATH arguments of commands: the files that they name, and the traces in those files."""

import glob
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec.structs import replace

from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.reading import read_group
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.model import Trace
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.ui.cli.files import STDIN, open_binary
from weaklink.ui.importing.input_files import InputFile, files_to_read, find_files, held_file, read_input

_SUFFIXES = (".json", ".jsonl", ".ndjson", ".gz", ".zst", ".db", ".sqlite", ".har", ".eval", ".log", ".txt")


@contextmanager
def placed_files(paths: Sequence[str], source: str | None = None) -> Iterator[list[InputFile]]:
    """The files to read; standard input (`-`) and pipes are held while this is open.

    They are held because a source is read more than once. `source` is the source of every file if the user named one.
    Files that form one log are one item of the list; see `files_to_read`.
    """
    with separate_files(paths) as files:
        yield with_groups(files, source)


def with_groups(files: Sequence[InputFile], source: str | None = None) -> list[InputFile]:
    """Streams first, then the files, those that form one log as one item."""
    streams = [file for file in files if file.called is not None]
    plain = [file.path for file in files if file.called is None]
    grown = {file.path for file in files if file.is_grown}
    grouped = files_to_read(plain, source)
    return [*streams, *(replace(file, is_grown=file.path in grown and not file.with_it) for file in grouped)]


@contextmanager
def separate_files(paths: Sequence[str]) -> Iterator[list[InputFile]]:
    """The same, but each file separate, in the order of `paths`."""
    with ExitStack() as kept:
        yield [_readable(file, kept) for file in find_files(paths)]


def _readable(file: InputFile, kept: ExitStack) -> InputFile:
    """The file, or the copy of a named stream; a stream that cannot be opened is refused when it is read."""
    if file.is_walked or not (file.path == STDIN or _is_pipe(file.path)):
        return file
    try:
        stream = kept.enter_context(open_binary(file.path))
        return kept.enter_context(held_file(stream, file.path, "stdin"))
    except UnreadableFileError:
        return file


def _is_pipe(path: str) -> bool:
    try:
        return Path(path).is_fifo()
    except ValueError:  # a path that no file can have
        return False


def is_path(word: str) -> bool:
    """Whether a word names a file, a folder or a pattern; any other word is the id of a trace in the database."""
    if word == STDIN:
        return True
    if word.isdecimal():
        return False
    return Path(word).exists() or glob.has_magic(word) or "/" in word or Path(word).suffix in _SUFFIXES


def records_of(file: InputFile, source: str | None) -> Iterator[Trace | Skipped]:
    """Every trace of a file, redacted, and the skipped records, as they are read. Raises UnreadableFileError."""
    redactor = Redactor()
    reading = read_input(file, source)
    records = read_group((file.path, *file.with_it), reading.source) if file.with_it else reading.records
    for record in records:
        if isinstance(record, Trace):
            yield redactor.trace(record)
        else:
            yield replace(record, reason=redactor.text(record.reason))
