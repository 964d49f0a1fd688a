"""Atomic output: a file or folder appears only when it is complete; if writing fails, the old one stays."""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from weaklink.inspector.errors import WeaklinkError

_IS_TRACE = re.compile(r"trace-\d+\.html").fullmatch


class UnwritableFileError(WeaklinkError):
    """A file could not be written; the message contains its path."""


@contextmanager
def whole_file(path: str | Path) -> Iterator[TextIO]:
    """A UTF-8 text stream to the file at `path`, which only its owner can read.

    The file replaces the old one when everything is written; if anything fails, the old file stays.
    Raises UnwritableFileError.
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


class UnwritableFolderError(WeaklinkError):
    """A folder could not be written, or contains files that must stay; the message contains its path."""


def check_folder(path: Path, is_ours: Callable[[Path], bool]) -> None:
    """Raise UnwritableFolderError if `path` is no folder, or has an entry for which `is_ours` is false."""
    if not path.exists():
        return
    if not path.is_dir():
        raise UnwritableFolderError(f"{path} is not a directory")
    strange = next((entry.name for entry in sorted(path.iterdir()) if not is_ours(entry)), None)
    if strange is not None:
        raise UnwritableFolderError(
            f"{path} contains `{strange}`, which is not part of a report; choose another directory or pass --force"
        )


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A new folder beside `path` that replaces it when the block ends; if anything fails, the old folder stays.

    Old entries whose names the new folder lacks are kept, except pages of traces (`trace-1.html`).
    Raises UnwritableFolderError.
    """
    try:
        target = path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            yield new
            _swap(new, target)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
    except OSError as error:
        raise UnwritableFolderError(f"cannot write {path}: {error.strerror or error}") from error


def _swap(new: Path, target: Path) -> None:
    """Replace the old folder with the new one."""
    if not target.exists():
        new.replace(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    target.replace(old)
    try:
        new.replace(target)
    except OSError:
        old.replace(target)
        raise
    for entry in old.iterdir():
        if not (target / entry.name).exists() and not _IS_TRACE(entry.name):
            entry.replace(target / entry.name)
    shutil.rmtree(old)
