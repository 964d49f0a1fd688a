"""Bytes as they lie in a column: compressed where that pays, and text as UTF-8 that bears lone surrogates."""

import sys
from importlib import import_module

if sys.version_info >= (3, 14):
    zstd = import_module("compression.zstd")
else:
    from backports import zstd

_PLAIN, _ZSTD = b"\0", b"\1"
_SMALL = 64  # below it a frame costs more than it saves
_compressor = zstd.ZstdCompressor()  # shared: making one costs four times as much as a small frame; it locks itself


class DamagedBlobError(ValueError):
    """A column does not hold what weaklink wrote there."""


def to_blob(raw: bytes) -> bytes:
    """`raw` with one byte in front that says how it is kept."""
    if len(raw) > _SMALL:
        packed = _compressor.compress(raw, zstd.ZstdCompressor.FLUSH_FRAME)
        if len(packed) < len(raw):
            return _ZSTD + packed
    return _PLAIN + raw


def from_blob(blob: bytes) -> bytes:
    """The bytes that `to_blob` was given; DamagedBlobError for a blob that it never made."""
    if blob[:1] == _PLAIN:
        return blob[1:]
    if blob[:1] != _ZSTD:
        raise DamagedBlobError("a packed column begins with an unknown mark")
    try:
        return zstd.decompress(memoryview(blob)[1:])
    except zstd.ZstdError as error:
        raise DamagedBlobError(f"a packed column cannot be unpacked: {error}") from error


def text_to_bytes(text: str) -> bytes:
    """Text as UTF-8, lone surrogates too."""
    return text.encode("utf-8", "surrogatepass")


def text_from_bytes(raw: bytes) -> str:
    """The text that `text_to_bytes` was given."""
    return raw.decode("utf-8", "surrogatepass")
