"""The entries of a HAR document, cut out of it one after another while it is read."""

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

from inspector.importers.elements import BEHIND_THE_ARRAY, Element, read_elements
from inspector.importers.har_container import BlockStream
from inspector.importers.rows import parse_json
from inspector.importers.source import JsonObject, Skipped
from inspector.scanning import closing_quote

_BLOCK = 1 << 16
_MOST_BEFORE = 32 << 20
_BRACKET_OR_QUOTE = re.compile(rb'[\[\]{}"]')
_NO_ENTRIES = "no list `entries` within `log` was found in this HAR document"


class HarDocument:
    """A HAR document in a stream: what stands before its entries was read when it is made, at most 32 MiB of it.

    `log` are the members of `log` that stand there: `version`, `creator`, `pages`.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._held = b""
        self._at = 0
        self._found = self._find_entries()
        self.log = _members(self._held[: self._at]) if self._found else {}

    def entries(self) -> Iterator[Element | Skipped]:
        """The entries, each within the bound of a record; where there are none, or the list is cut off, a Skipped.

        Their offsets are those in the document.
        """
        if not self._found:
            yield Skipped("log", _NO_ENTRIES)
            return
        start = self._at
        rest = io.BufferedReader(BlockStream(self._from_the_entries()), _BLOCK)
        for element in read_elements(rest):
            if isinstance(element, Element):
                yield replace(element, offset=start + element.offset)
            elif element is not BEHIND_THE_ARRAY:
                yield element

    def _from_the_entries(self) -> Iterator[bytes]:
        held, self._held = self._held[self._at :], b""
        yield held
        while block := self._stream.read(_BLOCK):
            yield block

    def _find_entries(self) -> bool:
        """Go to the bracket that opens `log.entries`: the one at depth 2 behind that name, within the object `log`."""
        depth, name, is_log = 0, b"", False
        while (token := self._next()) is not None:
            if token[:1] == b'"':
                name = token[1:-1]
            elif token in b"]}":
                depth -= 1
            elif depth == 2 and is_log and token == b"[" and name == b"entries":
                self._at -= 1
                return True
            else:
                depth += 1
                is_log = name == b"log" if depth == 2 else is_log
        return False

    def _next(self) -> bytes | None:
        """The next bracket or whole string, with `_at` behind it; None at the end, or where it is too far away."""
        while True:
            found = _BRACKET_OR_QUOTE.search(self._held, self._at)
            self._at = len(self._held) if found is None else found.start()
            if found is not None and (end := self._token_end(found[0])) >= 0:
                start, self._at = self._at, end
                return self._held[start:end]
            block = self._stream.read(max(_BLOCK, len(self._held))) if len(self._held) < _MOST_BEFORE else b""
            if not block:
                return None
            self._held += block

    def _token_end(self, first: bytes) -> int:
        """Where the bracket or string at `_at` ends; -1 where a string goes on beyond what is held."""
        if first != b'"':
            return self._at + 1
        return closing_quote(self._held, first, self._at + 1, len(self._held)) + 1 or -1


def _members(before: bytes) -> JsonObject:
    try:
        document = parse_json(before.removeprefix(b"\xef\xbb\xbf") + b"[]}}")
    except ValueError:
        return {}
    log = document.get("log") if isinstance(document, dict) else None
    return log if isinstance(log, dict) else {}
