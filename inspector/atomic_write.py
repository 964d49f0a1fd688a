"""Atomic output: a file or folder appears when it is complete, and what was there stays if writing fails."""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from inspector.errors import WeaklinkError

_IS_TRACE = re.compile(r"trace-\d+\.html").fullmatch


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


class UnwritableFolderError(WeaklinkError):
    """A folder could not be written, or holds what must stay; the text bears its path."""


def check_folder(path: Path, is_ours: Callable[[Path], bool]) -> None:
    """UnwritableFolderError where `path` is there and holds anything but what `is_ours` says was written by us."""
    if not path.exists():
        return
    if not path.is_dir():
        raise UnwritableFolderError(f"{path} is no folder")
    strange = next((entry.name for entry in sorted(path.iterdir()) if not is_ours(entry)), None)
    if strange is not None:
        raise UnwritableFolderError(
            f"{path} holds `{strange}`, which is no part of a report; name another folder, or say --force"
        )


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A new folder beside `path`, which takes its place when the block ends; if anything fails, what was there stays.

    Files that were there under names that the new folder has not stay too. Raises UnwritableFolderError.
    """
    try:
        target = path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            yield made
            _swap(made, target)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    except OSError as error:
        raise UnwritableFolderError(f"cannot write {path}: {error.strerror or error}") from error


def _swap(made: Path, target: Path) -> None:
    """Put the new folder in the place of the old one."""
    if not target.exists():
        made.replace(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    target.replace(old)
    try:
        made.replace(target)
    except OSError:
        old.replace(target)
        raise
    for entry in old.iterdir():
        if not (target / entry.name).exists() and not _IS_TRACE(entry.name):
            entry.replace(target / entry.name)
    shutil.rmtree(old)
