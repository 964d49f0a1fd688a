"""Where commands write: a file that is whole or not there, or standard output."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from inspector.errors import WeaklinkError
from ui.cli.inputs import STDIN


class UnwritableFileError(WeaklinkError):
    """A file could not be written; the text bears its path."""


@contextmanager
def open_output(path: str | None) -> Iterator[TextIO]:
    """A stream of UTF-8 text: the file at `path`, or stdout where it is None or `-`.

    A file takes its place, readable by its owner only, when all is written; if anything fails, what was there stays.
    Raises UnwritableFileError.
    """
    if path is None or path == STDIN:
        out = TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n", write_through=True)
        try:
            yield out
        finally:
            out.detach()
        return
    try:
        with _replacing(Path(path)) as stream:
            yield stream
    except OSError as error:
        raise UnwritableFileError(f"cannot write {path}: {error.strerror or error}") from error


@contextmanager
def _replacing(path: Path) -> Iterator[TextIO]:
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        return
    target = path.resolve()
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            yield stream
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
