"""The files that a command's PATHs stand for: standard input and pipes kept for the while."""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ui.cli.inputs import STDIN, open_binary
from ui.importing.file_places import files_below, files_to_read
from ui.importing.placed_file import PlacedFile

_HEAD_BYTES = 4_096


@contextmanager
def placed_files(paths: Sequence[str], source: str | None = None) -> Iterator[list[PlacedFile]]:
    """The same as files to read; standard input (`-`) and pipes are in a folder of their own while this is open.

    A source is read more than once, which a stream cannot be. `source` is what the user said that every file is.
    """
    with ExitStack() as kept:
        streams: list[PlacedFile] = []
        plain: list[str] = []
        for path in files_below(paths):
            if path == STDIN or Path(path).is_fifo():
                streams.append(kept.enter_context(_kept(path)))
            else:
                plain.append(path)
        yield [*streams, *files_to_read(plain, source)]


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
