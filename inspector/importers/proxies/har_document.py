"""Reads HAR documents entry by entry, plain or in a ZIP archive with the bodies as separate members (Playwright).

A document is `{"log": {"version": ..., "creator": ..., "entries": [...]}}`, of any size; an archive has the document
as a member `*.har`, whose entries name the members with their bodies (`_file`).
"""

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import BinaryIO

from msgspec import Struct, structs

from weaklink.inspector.importers.archives import NO_DIRECTORY, ZIP, Archive, ArchiveMember
from weaklink.inspector.importers.compression import DamagedDataError, SalvagingReader
from weaklink.inspector.importers.records import (
    TEXT_AFTER_ARRAY,
    Element,
    parse_json_bytes,
    read_elements,
)
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.importers.streams import BlockStream
from weaklink.inspector.json_text import object_of
from weaklink.inspector.scanning import closing_quote

_BLOCK = 1 << 16
_MAX_BUFFER_BYTES = 32 << 20
_BRACKET_OR_QUOTE = re.compile(rb'[\[\]{}"]')
_NO_ENTRIES = "no list `entries` within `log` was found in this HAR document"


class HarContent(Struct, frozen=True):
    """A HAR document's bytes, and a function that returns an archive's separate body by its name, or None."""

    stream: io.BufferedReader
    body: Callable[[str], bytes | None]


@contextmanager
def open_har(file: SourceFile) -> Iterator[HarContent]:
    """The document in a file.

    An archive's document is its first member whose name ends with `.har`. Names in an archive are only compared;
    nothing is ever written under them. DamagedDataError, also while reading, if the container is broken or has no
    document.
    """
    if not file.head.startswith(ZIP):
        with file.open() as stream:
            yield HarContent(stream, lambda _: None)  # a name outside an archive is never used as a file's name
        return
    with file.open_seekable() as stream:
        archive = Archive(stream)
        members = {member.name: member for member in archive.members}
        document = next((member for name, member in members.items() if name.endswith(".har")), None)
        if document is None:
            raise DamagedDataError(NO_DIRECTORY if archive.is_cut else "the archive contains no `.har` file")
        yield HarContent(
            SalvagingReader(BlockStream(_document(archive, document)), _BLOCK), partial(_body, archive, members)
        )


def _document(archive: Archive, member: ArchiveMember) -> Iterator[bytes]:
    yield from archive.blocks(member)
    if archive.is_cut:
        raise DamagedDataError(NO_DIRECTORY)


def _body(archive: Archive, members: dict[str, ArchiveMember], name: str) -> bytes | None:
    try:
        return archive.read(members[name]) if name in members else None
    except DamagedDataError:
        return None


class HarDocument:
    """A HAR document in a stream. The constructor reads what precedes its entries, at most 32 MiB.

    `log` has the members of `log` before the entries: `version`, `creator`, `pages`.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._buffer = b""
        self._at = 0
        self._has_entries = self._find_entries()
        self.log = _members(self._buffer[: self._at]) if self._has_entries else {}

    def entries(self) -> Iterator[Element | Skipped]:
        """The entries, each within the bound of a record; a Skipped if there are none, or the list is truncated.

        Their offsets are positions in the document.
        """
        if not self._has_entries:
            yield Skipped("log", _NO_ENTRIES)
            return
        start = self._at
        rest = SalvagingReader(BlockStream(self._from_the_entries()), _BLOCK)
        for element in read_elements(rest):
            if isinstance(element, Element):
                yield structs.replace(element, offset=start + element.offset)
            elif element is not TEXT_AFTER_ARRAY:
                yield element

    def _from_the_entries(self) -> Iterator[bytes]:
        first, self._buffer = self._buffer[self._at :], b""
        yield first
        while block := self._stream.read(_BLOCK):
            yield block

    def _find_entries(self) -> bool:
        """Go to the bracket that opens `log.entries`: at depth 2, after that name, within the object `log`."""
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
        """The next bracket or whole string, with `_at` after it; None at the end, or if it is beyond the bound."""
        while True:
            match = _BRACKET_OR_QUOTE.search(self._buffer, self._at)
            self._at = len(self._buffer) if match is None else match.start()
            if match is not None and (end := self._token_end(match[0])) >= 0:
                start, self._at = self._at, end
                return self._buffer[start:end]
            block = self._stream.read(max(_BLOCK, len(self._buffer))) if len(self._buffer) < _MAX_BUFFER_BYTES else b""
            if not block:
                return None
            self._buffer += block

    def _token_end(self, first: bytes) -> int:
        """The position after the bracket or string at `_at`; -1 if a string continues after the buffered bytes."""
        if first != b'"':
            return self._at + 1
        return closing_quote(self._buffer, first, self._at + 1, len(self._buffer)) + 1 or -1


def _members(before: bytes) -> JsonObject:
    try:
        document = parse_json_bytes(before.removeprefix(b"\xef\xbb\xbf") + b"[]}}")
    except ValueError:
        return {}
    return object_of(object_of(document).get("log"))
