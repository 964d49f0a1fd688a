"""A spool of byte records: in memory up to a limit, beyond it in an encrypted temporary file.

The records are not redacted yet, because redaction needs them as a whole. So each record is XORed with a key stream
before it is written to the file: SHAKE-256 of a random key, which is in memory only, and of the record's offset, which
is unique. The file has no name and is deleted with its spool.
"""

import os
from hashlib import shake_256
from io import BytesIO
from tempfile import TemporaryFile
from typing import BinaryIO

SpoolPosition = tuple[int, int]
"""A record's offset and its size in bytes; later records have higher offsets."""


class EncryptedSpool:
    """Stores byte records and returns each by its place. Must be closed. Not thread-safe.

    `room_bytes` is the maximum number of bytes kept in memory.
    """

    def __init__(self, room_bytes: int) -> None:
        self._room = room_bytes
        self._memory = BytesIO()
        self._file: BinaryIO | None = None
        self._key = os.urandom(32)
        self._end = 0

    def put(self, record: bytes) -> SpoolPosition:
        """Store a record and return its place."""
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

    def take(self, place: SpoolPosition) -> bytes:
        """The record at a place."""
        start, size = place
        if self._file is None or start < self._room:
            self._memory.seek(start)
            return self._memory.read(size)
        self._file.seek(start - self._room)
        return self._sealed(self._file.read(size), start)

    def close(self) -> None:
        """Discard all records."""
        self._memory.close()
        if self._file is not None:
            self._file.close()

    def _sealed(self, record: bytes, place: int) -> bytes:
        """The record XORed with its key stream, which seals a plain record and unseals a sealed one."""
        stream = shake_256(self._key + place.to_bytes(8, "big")).digest(len(record))
        mixed = int.from_bytes(record, "big") ^ int.from_bytes(stream, "big")
        return mixed.to_bytes(len(record), "big")
