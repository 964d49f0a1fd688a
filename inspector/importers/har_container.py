"""What a HAR file lies in: nothing, zlib (mitmproxy's `.zhar`), or a ZIP archive with bodies beside it (Playwright)."""

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from inspector.importers.packing import DamagedDataError
from inspector.importers.source import HEAD_BYTES, SourceFile

_ZIP = b"PK\x03\x04"
_BLOCK = 1 << 16
_LEAST_BOUND = 1 << 30
_GROWTH = 200
_BODY_BYTES = 64 << 20
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)
"""What `zipfile` raises: RuntimeError for an encrypted member, OSError for a place before the file's beginning."""


@dataclass(frozen=True, slots=True)
class HarContent:
    """A HAR document's bytes, and the bodies that lie beside it by their names; None for one that is not there."""

    stream: BinaryIO
    body: Callable[[str], bytes | None]


class BlockStream(io.RawIOBase):
    """Blocks of bytes as a stream."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._block = memoryview(b"")

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed's name is private
        """The next bytes, at most one block of them."""
        while not self._block and (block := next(self._blocks, None)) is not None:
            self._block = memoryview(block)
        count = min(len(buffer), len(self._block))
        buffer[:count] = self._block[:count]
        self._block = self._block[count:]
        return count


def beginning_of(file: SourceFile) -> bytes:
    """The first bytes of the HAR document that a file may hold; `b""` where it can hold none."""
    if not file.head.startswith(_ZIP) and not _is_zlib(file.head):
        return file.head
    try:
        with open_har(file) as har:
            return har.stream.read(HEAD_BYTES)
    except DamagedDataError:
        return b""


@contextmanager
def open_har(file: SourceFile) -> Iterator[HarContent]:
    """The document in a file. What is packed may unpack to 200 times as much, or one GiB if that is more.

    An archive's document is its first member whose name ends with `.har`. Names within an archive are only compared;
    nothing is ever written under them. DamagedDataError, on the way too, where the container is broken or holds none.
    """
    if file.head.startswith(_ZIP):
        with file.open_seekable() as stream, _archive(stream, file.stored_bytes) as content:
            yield content
        return
    with file.open() as stream:
        if not _is_zlib(file.head):
            yield HarContent(stream, _no_body)
            return
        bound = max(_LEAST_BOUND, file.stored_bytes * _GROWTH)
        yield HarContent(_stream(_bounded(_inflated(stream), bound)), _no_body)


def _no_body(name: str) -> None:
    """A document that stands alone has no bodies beside it: a name in it is never taken for a file's."""


def _is_zlib(head: bytes) -> bool:
    """Whether a zlib stream begins here, and within it a document (RFC 1950, section 2.2)."""
    if head[:1] != b"\x78" or int.from_bytes(head[:2]) % 31:
        return False
    try:
        return zlib.decompressobj().decompress(head, 64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    except zlib.error:
        return False


@contextmanager
def _archive(stream: BinaryIO, stored_bytes: int) -> Iterator[HarContent]:
    with _opened(stream) as archive:
        members = {one.filename: one for one in archive.infolist() if one.compress_type in _METHODS}
        document = next((one for name, one in members.items() if name.endswith(".har")), None)
        if document is None:
            raise DamagedDataError("the archive has no `.har` in it")

        def body(name: str) -> bytes | None:
            return _body(archive, members.get(name))

        bound = max(_LEAST_BOUND, stored_bytes * _GROWTH)
        yield HarContent(_stream(_bounded(_read(archive, document), bound)), body)


def _opened(stream: BinaryIO) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(stream)
    except _DAMAGE as error:
        raise DamagedDataError(f"the archive is damaged: {error}") from error


def _body(archive: zipfile.ZipFile, member: zipfile.ZipInfo | None) -> bytes | None:
    if member is None:
        return None
    try:
        with archive.open(member) as stream:
            body = stream.read(_BODY_BYTES + 1)
    except _DAMAGE:
        return None
    return body if len(body) <= _BODY_BYTES else None


def _stream(blocks: Iterator[bytes]) -> BinaryIO:
    return io.BufferedReader(BlockStream(blocks), _BLOCK)


def _bounded(blocks: Iterator[bytes], bound: int) -> Iterator[bytes]:
    left = bound
    for block in blocks:
        left -= len(block)
        if left < 0:
            raise DamagedDataError(f"the compressed data unpacks to more than {bound >> 20} MiB")
        yield block


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes]:
    try:
        with archive.open(member) as stream:
            while block := stream.read(_BLOCK):
                yield block
    except _DAMAGE as error:
        raise DamagedDataError(f"the archive is damaged: {error}") from error


def _inflated(stream: BinaryIO) -> Iterator[bytes]:
    inflating = zlib.decompressobj()
    try:
        while raw := stream.read(_BLOCK):
            while raw:
                yield inflating.decompress(raw, _BLOCK)
                raw = inflating.unconsumed_tail
        yield inflating.flush()
    except zlib.error as error:
        raise DamagedDataError(f"the compressed data is damaged: {error}") from error
    if not inflating.eof:
        raise DamagedDataError("the compressed data is damaged: it ends early")
