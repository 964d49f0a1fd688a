"""The files that a command's PATHs stand for: standard input and pipes kept for the while."""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from inspector.errors import UnreadableFileError
from ui.cli.inputs import STDIN, open_binary
from ui.importing.file_places import files_to_read, find_files
from ui.importing.placed_file import PlacedFile

_HEAD_BYTES = 4_096


@contextmanager
def placed_files(paths: Sequence[str], source: str | None = None) -> Iterator[list[PlacedFile]]:
    """The same as files to read; standard input (`-`) and pipes are in a folder of their own while this is open.

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
    """What a stream holds, as a file.

    Its folder is named by the stream's beginning: to some sources a session is known by its file and folder, and two
    logs must not be taken for one, nor a log that has grown for another.
    """
    with tempfile.TemporaryDirectory(prefix="weaklink-") as folder, open_binary(path) as stream:
        head = stream.read(_HEAD_BYTES)
        place = Path(folder, hashlib.sha256(head).hexdigest()[:16])
        place.mkdir()
        file = place / "stdin"
        with file.open("wb") as copy:
            copy.write(head)
            shutil.copyfileobj(stream, copy)
        yield PlacedFile(str(file), path)
