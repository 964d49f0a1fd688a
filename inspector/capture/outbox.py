"""A bounded queue of bodies on the disk, for a sender whose server may be away for long; it outlives the process.

Each sender has a folder of its own below the outbox, with a file for each body, and holds a lock on it while it runs. A
folder whose sender is gone is taken over by the next one: what it left is sent first, under its sender's name and
numbers, so that the server knows what it has already.
"""

import fcntl
import os
import secrets
import shutil
from collections import deque
from pathlib import Path
from threading import Lock

from msgspec import Struct

from inspector.errors import SinkError

_LOCK = "lock"
_SUFFIX = ".events"
_DIGITS = 12
QUEUE_BYTES = 1_000_000_000
"""How much may wait on the disk by default."""


class QueuedBody(Struct, frozen=True):
    """A body that waits: whose it is, its number, and the file that holds it."""

    sender: str
    number: int
    path: Path
    size_bytes: int


class Outbox:
    """The bodies that wait below `folder`, the oldest first; at most `most_bytes` of them. Thread-safe.

    SinkError where the folder cannot be made or written.
    """

    def __init__(self, folder: Path, most_bytes: int = QUEUE_BYTES) -> None:
        self.place = folder
        self.sender = secrets.token_hex(16)
        self._most_bytes = most_bytes
        self._own = folder / self.sender
        self._guard = Lock()
        self._number = 0
        self._locks: list[tuple[Path, int]] = []
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._waiting = deque(self._left_behind())
            self._own.mkdir(mode=0o700)
            self._hold(self._own)
        except OSError as error:
            raise SinkError(f"{folder}: the queue cannot be made there: {error.strerror or error}") from error
        self._bytes = sum(one.size_bytes for one in self._waiting)

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def size_bytes(self) -> int:
        """How much waits."""
        return self._bytes

    def put(self, body: bytes) -> bool:
        """Put a body in line; False where there is no room for it. OSError where the disk refuses it."""
        with self._guard:
            if self._waiting and self._bytes + len(body) > self._most_bytes:
                return False
            self._number += 1
            path = self._own / f"{self._number:0{_DIGITS}}{_SUFFIX}"
            half = path.with_suffix(".part")
            half.write_bytes(body)
            half.replace(path)
            self._waiting.append(QueuedBody(self.sender, self._number, path, len(body)))
            self._bytes += len(body)
            return True

    def oldest(self) -> QueuedBody | None:
        """The body to send next."""
        return self._waiting[0] if self._waiting else None

    def done(self, body: QueuedBody) -> None:
        """Drop the oldest body: the server has it, or will never take it."""
        with self._guard:
            self._waiting.popleft()
            self._bytes -= body.size_bytes
            body.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let others take over what is left; folders without a body are removed."""
        for folder, lock in self._locks:
            if not any(folder.glob(f"*{_SUFFIX}")):
                shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
        self._locks.clear()

    def _left_behind(self) -> list[QueuedBody]:
        """The bodies of senders that are gone, those of each in their order."""
        found: list[QueuedBody] = []
        folders = (one for one in self.place.iterdir() if one.is_dir())
        for folder in sorted(folders, key=lambda one: one.stat().st_mtime):
            if not self._hold(folder):
                continue
            for path in sorted(folder.glob(f"*{_SUFFIX}")):
                if path.stem.isascii() and path.stem.isdecimal():
                    found.append(QueuedBody(folder.name, int(path.stem), path, path.stat().st_size))
        return found

    def _hold(self, folder: Path) -> bool:
        """Lock a folder; False where its sender runs."""
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        self._locks.append((folder, lock))
        return True
