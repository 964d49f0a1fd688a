"""Files that reports are written to: whole or not there."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from inspector.errors import WeaklinkError


class UnwritableFileError(WeaklinkError):
    """A file could not be written; the text bears its path."""


@contextmanager
def whole_file(path: str | Path) -> Iterator[TextIO]:
    """A stream of UTF-8 text to the file at `path`, readable by its owner only.

    It takes its place when all is written; if anything fails, what was there stays. Raises UnwritableFileError.
    """
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
