"""Bytes and text as database columns hold them: compressed blobs with a checksum, and reversible escapes.

A blob is a mark of one byte, the CRC-32 of all that follows it, and the bytes.
"""

import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from importlib import import_module
from itertools import chain
from struct import Struct
from zlib import crc32

from inspector.scanning import lazy_pattern

_PLAIN, _ZSTD = b"\x3c", b"\xc3"
_BARE_PLAIN, _BARE_ZSTD = b"\0", b"\1"  # without a checksum
_HEAD = Struct("<cI")  # a shelf begins so too
_SMALL = 192  # below it a frame costs more time than it saves room
_AT_ONCE = 1 << 18  # bytes that are unpacked at a time
_GROWS, _SHARE = 1 << 20, 16  # a long text grows by so many bytes, and by a sixteenth, at a time
_NOT_AS_WRITTEN = "a packed column is not as it was written: its checksum does not match"
HEAD_BYTES = _HEAD.size
"""So many bytes at the beginning of a blob hold its checksum."""

_MARK = "\x1a"
_REFUSED = lazy_pattern("[\0\x1a\ud800-\udfff]")
_ESCAPED = lazy_pattern(r"\x1a([0-9a-f]{4})")
_LONGEST_KEY = 400


if sys.version_info >= (3, 14):
    zstd = import_module("compression.zstd")
else:
    from backports import zstd


_compressor = zstd.ZstdCompressor()  # shared: making one costs four times as much as a small frame; it locks itself


class DamagedBlobError(ValueError):
    """A column does not hold what weaklink wrote there."""


def to_blob(raw: bytes) -> bytes:
    """`raw`, maybe compressed, behind a mark that says so and a checksum."""
    if len(raw) > _SMALL:
        packed = _compressor.compress(raw, zstd.ZstdCompressor.FLUSH_FRAME)
        if len(packed) < len(raw):
            return _HEAD.pack(_ZSTD, crc32(packed)) + packed
    return _HEAD.pack(_PLAIN, crc32(raw)) + raw


def checksum_of(head: bytes) -> int:
    """The checksum that a blob begins with, a shelf's too; DamagedBlobError where it ends before."""
    if len(head) < HEAD_BYTES:
        raise DamagedBlobError("a packed column ends before its checksum")
    return int.from_bytes(head[1:HEAD_BYTES], "little")


def from_blob(blob: bytes) -> bytes:
    """The bytes that `to_blob` was given; DamagedBlobError for a blob that it never made."""
    mark = blob[:1]
    if mark in (_PLAIN, _ZSTD):
        packed = blob[HEAD_BYTES:]
        if checksum_of(blob) != crc32(packed):
            raise DamagedBlobError(_NOT_AS_WRITTEN)
    elif mark in (_BARE_PLAIN, _BARE_ZSTD):
        packed = blob[1:]
    else:
        raise DamagedBlobError("a packed column begins with an unknown mark")
    if mark in (_PLAIN, _BARE_PLAIN):
        return packed
    try:
        return zstd.decompress(packed)
    except zstd.ZstdError as error:
        raise DamagedBlobError(f"a packed column cannot be unpacked: {error}") from error


def uncompressed(blob: bytes) -> bytes:
    """A blob of the same bytes that takes more room and is unpacked at once; DamagedBlobError as in `from_blob`."""
    return _BARE_PLAIN + from_blob(blob)


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
    first = b""
    while len(first) < HEAD_BYTES and (piece := next(rest, b"")):
        first += piece
    mark = first[:1]
    if mark in (_PLAIN, _ZSTD):
        rest = _verified(chain((first[HEAD_BYTES:],), rest), checksum_of(first))
    elif mark in (_BARE_PLAIN, _BARE_ZSTD):
        rest = chain((first[1:],), rest)
    else:
        raise DamagedBlobError("a packed column begins with an unknown mark")
    if mark in (_PLAIN, _BARE_PLAIN):
        yield from rest
        return
    unpacking = zstd.ZstdDecompressor()
    try:
        for piece in filter(None, rest):
            yield unpacking.decompress(piece, _AT_ONCE)
            while not unpacking.eof and not unpacking.needs_input:
                yield unpacking.decompress(b"", _AT_ONCE)
    except (zstd.ZstdError, EOFError) as error:
        raise DamagedBlobError(f"a packed column cannot be unpacked: {error}") from error
    if not unpacking.eof:
        raise DamagedBlobError("a packed column cannot be unpacked: it ends too early")


def _verified(pieces: Iterable[bytes], checksum: int) -> Iterator[bytes]:
    """The same pieces; DamagedBlobError behind the last where they are not what the checksum was made of."""
    found = 0
    for piece in pieces:
        found = crc32(piece, found)
        yield piece
    if found != checksum:
        raise DamagedBlobError(_NOT_AS_WRITTEN)


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


def escaped(text: str) -> str:
    """`text` without NUL and lone surrogates: U+001A and four hexadecimal digits stand for them, and for U+001A.

    Any other text is returned as it is.
    """
    if text.isprintable() or not _REFUSED.search(text):  # what is refused is not printable
        return text
    return _REFUSED.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", text)


def unescaped(text: str) -> str:
    """The text that `escaped` was given."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if _MARK in text else text


def key(text: str, *, longest: int = _LONGEST_KEY) -> str:
    """`text` escaped, for an indexed column: databases bound the length of what they index.

    A text beyond `longest` characters keeps its beginning and gets a hash of the whole, so that equal texts and no
    others have equal keys.
    """
    kept = escaped(text)
    if len(kept) <= longest:
        return kept
    return f"{kept[: longest - 40].rstrip(_MARK)}… {sha256(kept.encode()).hexdigest()[:32]}"
