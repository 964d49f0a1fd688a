"""A spool of byte records: in memory up to a limit, beyond it in a temporary file.

The file has no name, so that no other user can open it, and is gone when its spool or the process ends. It has what the
imported file has: the records are not redacted yet, since redaction needs them as a whole.
"""

from tempfile import SpooledTemporaryFile

SpoolPosition = tuple[int, int]
"""A record's offset and its size in bytes; later records have higher offsets."""


class RecordSpool:
    """Stores byte records and returns each by its place. Must be closed. Not thread-safe.

    `memory_bytes` is the maximum number of bytes kept in memory.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._file = SpooledTemporaryFile(memory_bytes or 1)  # noqa: SIM115  # closed with the spool; 0 is no limit
        self._end = 0

    def put(self, record: bytes) -> SpoolPosition:
        """Store a record and return its place."""
        place = self._end, len(record)
        self._file.seek(self._end)
        self._file.write(record)
        self._end += len(record)
        return place

    def take(self, place: SpoolPosition) -> bytes:
        """The record at a place."""
        start, size = place
        self._file.seek(start)
        return self._file.read(size)

    def close(self) -> None:
        """Discard all records."""
        self._file.close()
