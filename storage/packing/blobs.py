"""Bytes and text in the form of database columns: compressed blobs with a checksum, and reversible escapes.

A blob is a mark of one byte, the CRC-32 of all that follows it, and the bytes.
"""

import sys
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from struct import Struct
from zlib import crc32

from weaklink.inspector.scanning import lazy_pattern

_PLAIN, _ZSTD = b"\x3c", b"\xc3"
_BARE_PLAIN, _BARE_ZSTD = b"\0", b"\1"  # without a checksum
_HEAD = Struct("<cI")
_SMALL = 400  # bytes; compressing less takes a fifth of making a trace's rows and saves 5 to 9 % (2026-12-01)
_AT_ONCE = 1 << 18  # bytes to unpack at a time
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"  # of a frame (RFC 8878, section 3.1.1)
_SALVAGED_AT_ONCE = 1 << 12  # packed bytes of a damaged blob to unpack at a time: the damage costs at most the rest
_MAX_SALVAGED = 1 << 28  # bytes that a damaged blob may unpack to
_NOT_AS_WRITTEN = "checksum mismatch in a packed column"
HEAD_BYTES = _HEAD.size
"""Number of bytes at the beginning of a blob that contain its checksum."""

_MARK = "\x1a"
_REFUSED = lazy_pattern("[\0\x1a\ud800-\udfff]")
_ESCAPED = lazy_pattern(r"\x1a([0-9a-f]{4})")
_MAX_KEY_CHARS = 400


if sys.version_info >= (3, 14):
    zstd = import_module("compression.zstd")
else:
    from backports import zstd


_compressor = zstd.ZstdCompressor()  # shared: creating one costs four times as much as a small frame; it is thread-safe


class DamagedBlobError(ValueError):
    """A column does not contain what weaklink wrote to it."""


def to_blob(raw: bytes) -> bytes:
    """`raw`, compressed if that makes it smaller, after a mark of the format and a checksum."""
    if len(raw) > _SMALL:
        packed = _compressor.compress(raw, zstd.ZstdCompressor.FLUSH_FRAME)
        if len(packed) < len(raw):
            return _HEAD.pack(_ZSTD, crc32(packed)) + packed
    return _HEAD.pack(_PLAIN, crc32(raw)) + raw


def checksum_of(head: bytes) -> int:
    """The checksum at the beginning of a blob; DamagedBlobError if the blob is too short."""
    if len(head) < HEAD_BYTES:
        raise DamagedBlobError("a packed column is too short to contain its checksum")
    return int.from_bytes(head[1:HEAD_BYTES], "little")


def from_blob(blob: bytes) -> bytes:
    """The inverse of `to_blob`; DamagedBlobError for bytes that `to_blob` did not return."""
    mark = blob[:1]
    if mark in (_PLAIN, _ZSTD):
        packed = memoryview(blob)[HEAD_BYTES:]  # no copy: a long stream has megabytes
        if checksum_of(blob) != crc32(packed):
            raise DamagedBlobError(_NOT_AS_WRITTEN)
    elif mark in (_BARE_PLAIN, _BARE_ZSTD):
        packed = memoryview(blob)[1:]
    else:
        raise DamagedBlobError("a packed column starts with an unknown format byte")
    if mark in (_PLAIN, _BARE_PLAIN):
        return bytes(packed)
    try:
        return zstd.decompress(packed)
    except zstd.ZstdError as error:
        raise DamagedBlobError(f"cannot unpack a packed column: {error}") from error


def salvaged(blob: bytes) -> bytes:
    """The bytes of a damaged blob as far as they can be unpacked; empty if nothing can. Never raises.

    A compressed blob yields its blocks (of 128 KiB) before the damage; one whose checksum alone is wrong yields all.
    """
    is_bare = blob[:1] in (_BARE_PLAIN, _BARE_ZSTD)
    packed = blob[1:] if is_bare else blob[HEAD_BYTES:]
    if blob[:1] not in (_ZSTD, _BARE_ZSTD) and not packed.startswith(_ZSTD_MAGIC):
        return packed
    pieces: list[bytes] = []
    decompressor = zstd.ZstdDecompressor()
    size = 0
    with suppress(zstd.ZstdError, EOFError):  # the damage; the caller reports it
        for index in range(0, len(packed), _SALVAGED_AT_ONCE):
            pieces.append(decompressor.decompress(packed[index : index + _SALVAGED_AT_ONCE], _AT_ONCE))
            while not decompressor.eof and not decompressor.needs_input and size < _MAX_SALVAGED:
                pieces.append(decompressor.decompress(b"", _AT_ONCE))
                size += len(pieces[-1])
    return b"".join(pieces)


def salvaged_text(blob: bytes) -> str:
    """The text of a damaged blob as far as it can be unpacked; bytes that are not UTF-8 become U+FFFD."""
    raw = salvaged(blob)
    try:
        return text_from_bytes(raw)
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace")


def text_to_bytes(text: str) -> bytes:
    """Text as UTF-8, including lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def text_from_bytes(raw: bytes) -> str:
    """The inverse of `text_to_bytes`."""
    return raw.decode("utf-8", "surrogatepass")


def escaped(text: str) -> str:
    """`text` with NUL, lone surrogates and U+001A replaced with U+001A and four hexadecimal digits.

    Any other text is returned unchanged.
    """
    if text.isprintable() or not _REFUSED.search(text):  # the replaced characters are not printable
        return text
    return _REFUSED.sub(lambda match: f"{_MARK}{ord(match[0]):04x}", text)


def unescaped(text: str) -> str:
    """The inverse of `escaped`."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if _MARK in text else text


def key(text: str, *, longest: int = _MAX_KEY_CHARS) -> str:
    """`text` escaped, for an indexed column: databases limit the length of indexed values.

    A text of more than `longest` characters is truncated and gets a hash of the whole, so that only equal texts have
    equal keys.
    """
    kept = escaped(text)
    if len(kept) <= longest:
        return kept
    return f"{kept[: longest - 40].rstrip(_MARK)}… {sha256(kept.encode()).hexdigest()[:32]}"
