"""A spool of byte records: in memory up to a limit, beyond it in a temporary file.

The file has no name, so that no other user can open it, and is gone when its spool or the process ends. It has what the
imported file has: the records are not redacted yet, since redaction needs them as a whole.
"""

import tempfile
from contextlib import suppress

SpoolPosition = tuple[int, int]
"""A record's offset and its size in bytes; later records have higher offsets."""


class RecordSpool:
    """Stores byte records and returns each by its position. Must be closed. Not thread-safe.

    `memory_bytes` is the maximum number of bytes kept in memory. `put` and `get` raise OSError if the temporary file
    cannot be written or read; its `strerror` names the folder.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._file = tempfile.SpooledTemporaryFile(memory_bytes or 1)  # noqa: SIM115  # closed with the spool; 0 is no limit
        self._end = 0

    def put(self, record: bytes) -> SpoolPosition:
        """Store a record and return its position."""
        position = self._end, len(record)
        try:
            self._file.seek(self._end)
            self._file.write(record)
        except OSError as error:
            raise _with_folder(error) from error
        self._end += len(record)
        return position

    def get(self, position: SpoolPosition) -> bytes:
        """The record at a position."""
        start, size = position
        try:
            self._file.seek(start)  # writes what is still in the buffer of the file
            return self._file.read(size)
        except OSError as error:
            raise _with_folder(error) from error

    def close(self) -> None:
        """Discard all records."""
        with suppress(OSError):  # of what could not be written
            self._file.close()


def _with_folder(error: OSError) -> OSError:
    """The error with the folder for temporary files; as it is if there is none, which it then says."""
    if tempfile.tempdir is None:
        return error
    what = f"cannot use a temporary file in {tempfile.tempdir} (TMPDIR names another folder): {error.strerror}"
    return OSError(error.errno, what)
