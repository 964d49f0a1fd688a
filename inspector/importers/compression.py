"""Compressed files: recognised by their first bytes and decompressed, within bounds, while they are read."""

import gzip
import io
import sys
import zlib
from collections.abc import Callable
from typing import BinaryIO, Protocol, cast

from weaklink.inspector.importers.streams import SeekableStream

_MAGIC = ((b"\x1f\x8b\x08", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))
_LAYERS = 3
_HEAD = 1 << 10  # zlib has no longer table before its first symbols
_MIN_BOUND_BYTES = 1 << 30
_GROWTH = 200
_BLOCK = 1 << 16


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


_DAMAGE = (EOFError, zlib.error, zstd.ZstdError, gzip.BadGzipFile)


class _ByteStream(Protocol):
    """A stream of bytes whose `read1` returns the bytes that are available."""

    def read1(self, size: int = -1, /) -> bytes: ...
    def close(self) -> None: ...


class DamagedDataError(OSError):
    """Compressed data ends early, is broken, or unpacks to more than the bound."""


def packing_of(open_stored: Callable[[], io.BufferedReader], stored_bytes: int) -> tuple[str, ...]:
    """The compressions around a file's content, outermost first; at most three are removed."""
    packing: tuple[str, ...] = ()
    while len(packing) < _LAYERS and (kind := _outermost(open_stored, stored_bytes, packing)):
        packing += (kind,)
    return packing


def unpacked_zstd(raw: bytes, max_bytes: int) -> bytes | None:
    """The content of a Zstandard frame; None if it is damaged or longer."""
    try:
        content = zstd.ZstdDecompressor().decompress(raw, max_bytes + 1)
    except zstd.ZstdError:
        return None
    return content if len(content) <= max_bytes else None


def open_unpacked(
    open_stored: Callable[[], io.BufferedReader],
    packing: tuple[str, ...],
    stored_bytes: int,
    size_bytes: int | None = None,
) -> io.BufferedReader:
    """The bytes inside `packing`, unpacked as they are read; without packing, the first `size_bytes` of the file.

    They may be 200 times as many as the `stored_bytes`, or one GiB if that is more. DamagedDataError beyond this bound,
    and if the compressed data is broken.
    """
    stream = open_stored()
    if not packing:
        return stream if size_bytes is None else io.BufferedReader(_first_bytes(stream, size_bytes), _BLOCK)
    bound = max(_MIN_BOUND_BYTES, stored_bytes * _GROWTH)
    layers: list[_ByteStream] = [stream]
    for kind in packing:
        layers.append(_opened(kind, layers[-1]))
    return SalvagingReader(_Unpacked(layers, bound), _BLOCK)


def _outermost(open_stored: Callable[[], io.BufferedReader], stored_bytes: int, packing: tuple[str, ...]) -> str:
    """The next compression inside those already known, `""` for none."""
    try:
        with open_unpacked(open_stored, packing, stored_bytes) as stream:
            head = stream.read(_HEAD)
    except DamagedDataError:
        return ""
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), "zlib" if _is_zlib(head) else "")


def _is_zlib(head: bytes) -> bool:
    """Whether a zlib stream (RFC 1950, section 2.2) with a JSON document begins here, as mitmproxy's `.zhar` files."""
    if head[:1] != b"\x78" or int.from_bytes(head[:2]) % 31:
        return False
    try:
        return zlib.decompressobj().decompress(head, 64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    except zlib.error:
        return False


def _opened(kind: str, inner: _ByteStream) -> _ByteStream:
    if kind == "gzip":
        return cast("_ByteStream", gzip.GzipFile(fileobj=cast("BinaryIO", inner), mode="rb"))
    if kind == "zlib":
        return _Inflated(inner)
    return cast("_ByteStream", zstd.ZstdFile(cast("BinaryIO", inner), "rb"))


class _Inflated:
    """The content of a zlib stream; EOFError where it ends early."""

    def __init__(self, stream: _ByteStream) -> None:
        self._stream = stream
        self._decompressor = zlib.decompressobj()

    def read1(self, size: int = -1, /) -> bytes:
        while not self._decompressor.eof:
            packed = self._decompressor.unconsumed_tail or self._stream.read1(_BLOCK)
            block = self._decompressor.decompress(packed, max(size, 0)) if packed else self._decompressor.flush()
            if block:
                return block
            if not packed:
                raise EOFError("it ends early")
        return b""

    def close(self) -> None:
        """Nothing: the stream is closed by who opened it."""


def _first_bytes(stream: io.BufferedReader, size_bytes: int) -> SeekableStream:
    def read_at(position: int, count: int) -> bytes:
        stream.seek(position)
        return stream.read(count)

    return SeekableStream(size_bytes, read_at, stream.close)


class SalvagingReader(io.BufferedReader):
    """Returns the bytes that were unpacked before the damage; the next read raises the error."""

    _damage: DamagedDataError | None = None

    def read(self, size: int | None = -1, /) -> bytes:
        """Up to `size` bytes, all by default; DamagedDataError if none come before the damage."""
        left = sys.maxsize if size is None or size < 0 else size
        blocks: list[bytes] = []
        try:
            while self._damage is None and left > 0 and (block := self.read1(min(left, _BLOCK))):
                blocks.append(block)
                left -= len(block)
        except DamagedDataError as error:
            self._damage = error
        if self._damage is not None and not blocks:
            raise self._damage
        return b"".join(blocks)


class _Unpacked(io.RawIOBase):
    """The innermost of several streams; it converts errors to DamagedDataError and limits the length."""

    def __init__(self, layers: list[_ByteStream], bound: int) -> None:
        self._layers = layers
        self._left = self._bound = bound

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed's name is private
        try:
            # One block at a time: an error must not lose the bytes before it.
            block = self._layers[-1].read1(min(len(buffer), _BLOCK))
        except _DAMAGE as error:
            raise DamagedDataError(f"the compressed data is damaged: {error}") from error
        self._left -= len(block)
        if self._left < 0:
            raise DamagedDataError(f"the compressed data unpacks to more than {self._bound >> 20} MiB")
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        for layer in reversed(self._layers):
            layer.close()
        super().close()
