"""A JSON array that is written piece by piece, in bounded memory, and put into its place at the end."""

import tempfile
from typing import TextIO

from inspector.json_text import write_json
from ui.views.segment_json import JsonObject

_IN_MEMORY_BYTES = 8 << 20


class JsonArray:
    """Grows on the disk, beyond 8 MiB."""

    def __init__(self) -> None:
        self._spool = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES, "w+", encoding="ascii")  # noqa: SIM115  # lives on
        self._begun = False

    def add(self, value: JsonObject) -> None:
        """One more element."""
        self._spool.write((",\n" if self._begun else "\n") + write_json(value))
        self._begun = True

    def write_to(self, out: TextIO) -> None:
        """Write the array, an element a line; nothing may be added afterwards."""
        out.write("[")
        self._spool.seek(0)
        while piece := self._spool.read(1 << 16):
            out.write(piece)
        out.write("\n]" if self._begun else "]")
        self._spool.close()
