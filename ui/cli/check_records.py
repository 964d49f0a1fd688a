"""The lines of a log that traces were read from, one at a time, as they are asked for."""

from typing import BinaryIO

from inspector.importers.lines import RECORD_BYTES
from inspector.importers.source import SourceFile
from inspector.model import Trace
from inspector.text import decode
from ui.reports.check_places import line_number

_BOM = "\ufeff"


class RecordLines:
    """Reads a file a second time, forwards and only as far as it must; a packed one, whose lines nobody sees, not."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._stream: BinaryIO | None = None
        self._number = 0

    def of(self, trace: Trace) -> str | None:
        """The line that the trace's record names, without a byte order mark; None where it names none further on."""
        number = line_number(trace)
        if number is None or number <= self._number:
            return None
        stream = self._stream = self._stream or self._opened()
        line = b""
        while stream is not None and self._number < number:
            line = stream.readline(RECORD_BYTES)
            if not line:
                return None
            if line.endswith(b"\n") or len(line) < RECORD_BYTES:
                self._number += 1
        return decode(line).removeprefix(_BOM if number == 1 else "").rstrip("\r\n") if stream is not None else None

    def close(self) -> None:
        """Nothing is asked for any more."""
        if self._stream is not None:
            self._stream.close()

    def _opened(self) -> BinaryIO | None:
        file = SourceFile(self._path)
        try:
            return None if file.packing else file.path.open("rb")
        except OSError:
            return None
