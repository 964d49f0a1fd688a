"""The files that a command's PATHs stand for: standard input and pipes held meanwhile."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from inspector.errors import UnreadableFileError
from ui.cli.inputs import STDIN, open_binary
from ui.importing.file_places import files_to_read, find_files
from ui.importing.placed_file import PlacedFile, held_file


@contextmanager
def placed_files(paths: Sequence[str], source: str | None = None) -> Iterator[list[PlacedFile]]:
    """The same as files to read; standard input (`-`) and pipes are held in memory or encrypted while this is open.

    A source is read more than once, which a stream cannot be. `source` is what the user said that every file is.
    Files that are one log together are one of the list; see `files_to_read`.
    """
    with separate_files(paths) as files:
        streams = [file for file in files if file.called is not None]
        plain = [file.path for file in files if file.called is None]
        yield [*streams, *files_to_read(plain, source)]


@contextmanager
def separate_files(paths: Sequence[str]) -> Iterator[list[PlacedFile]]:
    """The same, each file by itself, in the order in which `paths` name them."""
    with ExitStack() as kept:
        yield [_readable(file, kept) for file in find_files(paths)]


def _readable(file: PlacedFile, kept: ExitStack) -> PlacedFile:
    """The file, or the copy of a stream that was named; a stream that cannot be opened is refused when it is read."""
    if file.is_walked or not (file.path == STDIN or _is_pipe(file.path)):
        return file
    try:
        return kept.enter_context(_kept(file.path))
    except UnreadableFileError:
        return file


def _is_pipe(path: str) -> bool:
    try:
        return Path(path).is_fifo()
    except ValueError:  # a path that no file can have
        return False


@contextmanager
def _kept(path: str) -> Iterator[PlacedFile]:
    with open_binary(path) as stream, held_file(stream, path, "stdin") as file:
        yield file
