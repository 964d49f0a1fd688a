"""The files that a command's PATHs stand for: folders walked, patterns matched, standard input kept for the while."""

import glob
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from inspector.importers.together import put_together
from ui.cli.inputs import STDIN, open_binary
from ui.importing.placed_file import PlacedFile

_HEAD_BYTES = 4_096


def files_below(paths: Iterable[str]) -> Iterator[str]:
    """The files that `paths` name, those of a folder sorted, hidden ones left out.

    A path that is not there may be a pattern (`logs/**/*.jsonl`): it stands for the files that match, or for itself
    where none does.
    """
    for path in paths:
        if Path(path).is_dir():
            yield from _walked(path)
        elif glob.has_magic(path) and not os.path.lexists(path):
            yield from sorted(_matching(path)) or [path]
        else:
            yield path


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
        yield [*streams, *(PlacedFile(group[0], with_it=group[1:]) for group in put_together(plain, source))]


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


def _matching(pattern: str) -> set[str]:
    """The files that match, and those below folders that do."""
    found = glob.iglob(pattern, recursive=True)  # noqa: PTH207  # Path takes no absolute pattern
    return {file for path in found for file in (_walked(path) if Path(path).is_dir() else [path])}


def _walked(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(place, name) for name in sorted(files) if not name.startswith("."))  # noqa: PTH118  # Path would drop `./`
