"""Folders that reports are written to: whole or not there, and nobody else's files in the way."""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from inspector.errors import WeaklinkError


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


_IS_TRACE = re.compile(r"trace-\d+\.html").fullmatch
