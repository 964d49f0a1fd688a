"""Records that wait for their turn: in memory up to a bound, beyond it in a temporary file that nobody else can read.

What waits is not redacted yet, since its meaning is only known when it is read as a whole. So each record is written
to the file as the exclusive or of its bytes and a key stream: SHAKE-256 of a random key, which is in memory only, and
of the record's place, which no other record has. The file has no name and is gone with its spool.
"""

import os
from hashlib import shake_256
from io import BytesIO
from tempfile import TemporaryFile
from typing import BinaryIO

SpoolPlace = tuple[int, int]
"""Where a record begins, and its size; later records have higher places."""


class SealedSpool:
    """Takes records of bytes and gives each back by its place. To be closed. Not for several threads at once.

    `room_bytes` is how much of them is kept in memory.
    """

    def __init__(self, room_bytes: int) -> None:
        self._room = room_bytes
        self._memory = BytesIO()
        self._file: BinaryIO | None = None
        self._key = os.urandom(32)
        self._end = 0

    def put(self, record: bytes) -> SpoolPlace:
        """Take a record; its place comes back."""
        size = len(record)
        if self._file is None and self._end + size > self._room:
            self._file = TemporaryFile()  # noqa: SIM115  # closed with the spool
            self._end = max(self._end, self._room)
        place = self._end, size
        if self._file is None:
            self._memory.seek(self._end)
            self._memory.write(record)
        else:
            self._file.seek(self._end - self._room)
            self._file.write(self._sealed(record, self._end))
        self._end += size
        return place

    def take(self, place: SpoolPlace) -> bytes:
        """The record at a place."""
        start, size = place
        if self._file is None or start < self._room:
            self._memory.seek(start)
            return self._memory.read(size)
        self._file.seek(start - self._room)
        return self._sealed(self._file.read(size), start)

    def close(self) -> None:
        """Forget all records."""
        self._memory.close()
        if self._file is not None:
            self._file.close()

    def _sealed(self, record: bytes, place: int) -> bytes:
        """The record with its key stream on it, or without it where it had one."""
        stream = shake_256(self._key + place.to_bytes(8, "big")).digest(len(record))
        mixed = int.from_bytes(record, "big") ^ int.from_bytes(stream, "big")
        return mixed.to_bytes(len(record), "big")
