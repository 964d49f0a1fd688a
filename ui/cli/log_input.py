"""The bytes that `weaklink log` records, as they come: of standard input, of a file, of a file that grows."""

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from inspector.errors import UnreadableFileError

_AT_ONCE = 65_536
_LOOK_AGAIN_S = 0.1
_GONE_S = 2.0  # whoever rotates a file moves it away before there is a new one


@dataclass(frozen=True, slots=True)
class Restarted:
    """The file was truncated, or another took its place: what follows is something new."""


def from_stdin() -> Iterator[bytes]:
    """Standard input, each piece as soon as it is there."""
    file = sys.stdin.fileno()
    if os.isatty(file):
        sys.stderr.write("weaklink: reading from the terminal; end with Ctrl-D\n")
    while raw := os.read(file, _AT_ONCE):
        yield raw


def from_file(path: str) -> Iterator[bytes]:
    """A file to its end; a named pipe until its writers are gone. UnreadableFileError."""
    file = _open(path)
    try:
        while raw := _read(path, file):
            yield raw
    finally:
        os.close(file)


def followed(path: str) -> Iterator[bytes | Restarted]:
    """A file from its beginning, and what is added to it, until it is deleted; a named pipe to its end.

    Looks ten times a second. A file of the same name that takes its place within two seconds is followed from its
    beginning, as is one that became shorter than what was read of it. UnreadableFileError.
    """
    if not Path(path).is_file():
        yield from from_file(path)
        return
    file, gone_at_s = _open(path), None
    try:
        while True:
            while raw := _read(path, file):
                yield raw
            there = _stat(path)
            if there is None:
                now_s = time.monotonic()
                gone_at_s = gone_at_s or now_s
                if now_s - gone_at_s >= _GONE_S:
                    return
            elif not os.path.samestat(there, os.fstat(file)):
                # What was added to the old one since it was last read comes first.
                while raw := _read(path, file):
                    yield raw
                new = _open(path)
                os.close(file)
                file, gone_at_s = new, None
                yield Restarted()
                continue
            elif there.st_size < os.lseek(file, 0, os.SEEK_CUR):
                os.lseek(file, 0, os.SEEK_SET)
                yield Restarted()
                continue
            time.sleep(_LOOK_AGAIN_S)
    finally:
        os.close(file)


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise UnreadableFileError(f"cannot read {path}: {error.strerror or error}") from error


def _read(path: str, file: int) -> bytes:
    try:
        return os.read(file, _AT_ONCE)
    except OSError as error:
        raise UnreadableFileError(f"cannot read {path}: {error.strerror or error}") from error


def _stat(path: str) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except OSError:
        return None
