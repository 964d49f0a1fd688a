"""Bytes as they lie in a column: compressed where that pays, and text as UTF-8 that bears lone surrogates."""

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import chain

if sys.version_info >= (3, 14):
    zstd = import_module("compression.zstd")
else:
    from backports import zstd

_PLAIN, _ZSTD = b"\0", b"\1"
_SMALL = 64  # below it a frame costs more than it saves
_AT_ONCE = 1 << 18  # bytes that are unpacked at a time
_GROWS, _SHARE = 1 << 20, 16  # a long text grows by so many bytes, and by a sixteenth, at a time
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


def uncompressed(blob: bytes) -> bytes:
    """A blob of the same bytes that takes more room and is unpacked at once; DamagedBlobError as in `from_blob`."""
    return _PLAIN + from_blob(blob)


def text_from_pieces(pieces: Iterable[bytes]) -> str:
    """The text of a blob that comes in pieces: while it is put together, little more is held than it takes itself.

    DamagedBlobError for a blob that `to_blob` never made.
    """
    text = ""
    for grown in _growing(_unpacked(pieces)):
        text += grown  # the one place where it grows: CPython learns to do that without a second copy
    return text


def text_to_bytes(text: str) -> bytes:
    """Text as UTF-8, lone surrogates too."""
    return text.encode("utf-8", "surrogatepass")


def text_from_bytes(raw: bytes) -> str:
    """The text that `text_to_bytes` was given."""
    return raw.decode("utf-8", "surrogatepass")


def _unpacked(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The raw bytes of a blob."""
    rest = iter(pieces)
    first = next(rest, b"")
    begun = first[1:]
    if first[:1] == _PLAIN:
        yield begun
        yield from rest
        return
    if first[:1] != _ZSTD:
        raise DamagedBlobError("a packed column begins with an unknown mark")
    unpacking = zstd.ZstdDecompressor()
    try:
        for piece in chain((begun,), filter(None, rest)):
            yield unpacking.decompress(piece, _AT_ONCE)
            while not unpacking.eof and not unpacking.needs_input:
                yield unpacking.decompress(b"", _AT_ONCE)
    except (zstd.ZstdError, EOFError) as error:
        raise DamagedBlobError(f"a packed column cannot be unpacked: {error}") from error
    if not unpacking.eof:
        raise DamagedBlobError("a packed column cannot be unpacked: it ends too early")


def _growing(pieces: Iterable[bytes]) -> Iterator[str]:
    """Text in pieces of whole characters, each a fixed share of what came before, so that few have to be added up."""
    held: list[bytes] = []
    came = waiting = 0
    for piece in pieces:
        held.append(piece)
        waiting += len(piece)
        if waiting >= _GROWS + came // _SHARE:
            raw = b"".join(held)
            whole = _whole(raw)
            held, came, waiting = [raw[whole:]], came + whole, len(raw) - whole
            raw = raw[:whole]
            yield text_from_bytes(raw)
    yield text_from_bytes(b"".join(held))


def _whole(raw: bytes) -> int:
    """How many bytes hold whole characters: one that the end cuts short comes with what follows."""
    for back in range(1, min(4, len(raw)) + 1):
        if raw[-back] >> 6 != 0b10:  # how UTF-8 begins a character
            return len(raw) - (back if raw[-back] >= 0xC0 else 0)
    return len(raw)
