"""ZIP archives: their members, compressed with zstd too, and what is there of a truncated archive.

Python's `zipfile` supports zstd only from 3.14 on, loads a directory of any size into memory, and fails if the
directory is missing. A truncated archive has lost the directory at its end; its members are then read one after another
(PKWARE's APPNOTE, 4.3). Members are returned as bytes; nothing is ever written under their names.
"""

import struct
import sys
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO, Protocol

from msgspec import Struct, structs

from weaklink.inspector.importers.compression import DamagedDataError
from weaklink.inspector.memory import RECORD_BYTES, too_long
from weaklink.inspector.text import decode

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ZIP = b"PK\x03\x04"
"""How an archive begins that has a member."""

NO_DIRECTORY = "the archive has no central directory: it may be truncated; the members before its end were read"
"""The reason why the rest of an archive is missing."""

_LOCAL = struct.Struct("<4sHHHHHLLLHH")
_CENTRAL = struct.Struct("<4sHHHHHHLLLHHHHHLL")
_END = struct.Struct("<4sHHHHLLH")
_END_64 = struct.Struct("<4sQHHLLQQQQ")
_LOCATOR_64 = struct.Struct("<4sLQL")
_LOCAL_MAGIC, _CENTRAL_MAGIC, _END_MAGIC = ZIP, b"PK\x01\x02", b"PK\x05\x06"
_END_64_MAGIC, _LOCATOR_64_MAGIC = b"PK\x06\x06", b"PK\x06\x07"
_MAGICS = (_LOCAL_MAGIC, _CENTRAL_MAGIC)
_MAX_END_BYTES = _END.size + 65_535
_FULL = 0xFFFFFFFF
_ENCRYPTED, _SIZES_FOLLOW = 0x1, 0x8
_DESCRIPTOR_MAGIC = b"PK\x07\x08"
_METHODS = {0: "stored", 8: "deflate", 93: "zstd"}
_BLOCK = 1 << 16
_MIN_BOUND_BYTES = 1 << 30
_GROWTH = 200
DIRECTORY_BYTES = 64 << 20
"""The largest directory of an archive that is read; an archive with a larger one is read member by member."""
MEMBERS = 1_000_000
"""The most members of an archive that are read."""
_DAMAGE = (zlib.error, zstd.ZstdError, EOFError)


class ArchiveMember(Struct, frozen=True):
    """One member: its name, the position of its local header, and its facts; `size` is -1 if it is unknown."""

    name: str
    offset: int
    method: int
    flags: int
    crc: int
    size: int


class Archive:
    """A ZIP archive in a stream that can seek; `is_cut` is True if it has no directory.

    All members together may unpack to 200 times the archive's size, or one GiB if that is more.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._length = stream.seek(0, 2)
        self._left = self._bound = max(_MIN_BOUND_BYTES, self._length * _GROWTH)
        self._end = 0  # after the member that was unpacked last
        self._counted: set[int] = set()  # the offsets of members that were read before
        self._shift = 0  # by how many bytes members are behind the place that the directory states
        directory = self._directory()
        self.is_cut = directory is None
        members = self._scanned() if directory is None else self._listed(directory)
        self.members = tuple(islice(members, MEMBERS))

    def read(self, member: ArchiveMember) -> bytes:
        """A member's content, of at most 64 MiB. DamagedDataError as for `blocks`, and for a longer one."""
        return b"".join(self.blocks(member, RECORD_BYTES))

    def blocks(self, member: ArchiveMember, limit: int | None = None) -> Iterator[bytes]:
        """A member's content in blocks.

        DamagedDataError with the reason if it is broken, longer than `limit` or of an unknown method.
        """
        if member.flags & _ENCRYPTED:
            raise DamagedDataError("it is encrypted")
        if member.method not in _METHODS:
            raise DamagedDataError(f"it is compressed with method {member.method}, which is not supported")
        start = self._content(member)
        if start is None:
            raise DamagedDataError("its header is broken")
        crc = 0
        for block in self._unpacked(member, start, limit):
            crc = zlib.crc32(block, crc)
            yield block
        if member.size >= 0 and crc != member.crc:
            raise DamagedDataError("the archive is damaged or truncated within this member")

    def _directory(self) -> bytes | None:
        tail_start = max(0, self._length - _MAX_END_BYTES)
        tail = self._at(tail_start, _MAX_END_BYTES)
        at = tail.rfind(_END_MAGIC)
        if at < 0 or len(tail) - at < _END.size:
            return None
        *_, size, offset, _comment = _END.unpack_from(tail, at)
        if _FULL in (size, offset):
            size, offset = self._size_64(tail_start + at) or (size, offset)
        if size > DIRECTORY_BYTES:
            return None
        directory = self._at(offset, size)
        if size and not directory.startswith(_CENTRAL_MAGIC):  # bytes were inserted before it
            start = tail_start + at - size
            self._shift, directory = start - offset, self._at(start, size) if start > offset else b""
        return directory if directory.startswith(_CENTRAL_MAGIC) or not size else None

    def _size_64(self, end: int) -> tuple[int, int] | None:
        locator = self._at(max(0, end - _LOCATOR_64.size), _LOCATOR_64.size)
        if len(locator) < _LOCATOR_64.size or not locator.startswith(_LOCATOR_64_MAGIC):
            return None
        found = self._at(_LOCATOR_64.unpack(locator)[2], _END_64.size)
        if len(found) < _END_64.size or not found.startswith(_END_64_MAGIC):
            return None
        *_, size, offset = _END_64.unpack(found)
        return size, offset

    def _listed(self, directory: bytes) -> Iterator[ArchiveMember]:
        """The members that the directory lists."""
        for member in _listed(directory):
            yield structs.replace(member, offset=member.offset + self._shift) if self._shift else member

    def _scanned(self) -> Iterator[ArchiveMember]:
        """The consecutive members from the beginning, as far as the archive goes."""
        at = 0
        while (member := self._local(at)) is not None:
            start = self._content(member)
            assert start is not None  # the member was read from the same header
            if member.size >= 0:
                yield member
                at = start + member.size
                continue
            try:
                for _ in self._unpacked(member, start, RECORD_BYTES):
                    pass
            except DamagedDataError:
                yield member
                return
            at = self._end
            descriptor = self._at(at, 24)
            magic_bytes = 4 if descriptor.startswith(_DESCRIPTOR_MAGIC) else 0
            crc = int.from_bytes(descriptor[magic_bytes : magic_bytes + 4], "little")
            yield structs.replace(member, crc=crc, size=at - start) if len(descriptor) >= magic_bytes + 12 else member
            wide = self._at(at + magic_bytes + 12, 4) not in _MAGICS and self._at(at + magic_bytes + 20, 4) in _MAGICS
            at += magic_bytes + (20 if wide else 12)

    def _local(self, offset: int) -> ArchiveMember | None:
        header = self._at(offset, _LOCAL.size)
        if len(header) < _LOCAL.size or not header.startswith(_LOCAL_MAGIC):
            return None
        _, _, flags, method, _, _, crc, packed, size, name_length, extra_length = _LOCAL.unpack(header)
        rest = self._at(offset + _LOCAL.size, name_length + extra_length)
        if packed == _FULL:
            _, packed = _wide(rest[name_length:], size, packed, 0)[:2]
        unknown = flags & _SIZES_FOLLOW and not packed
        return ArchiveMember(decode(rest[:name_length]), offset, method, flags, crc, -1 if unknown else packed)

    def _content(self, member: ArchiveMember) -> int | None:
        """The position of a member's content."""
        header = self._at(member.offset, _LOCAL.size)
        if len(header) < _LOCAL.size or not header.startswith(_LOCAL_MAGIC):
            return None
        *_, name_length, extra_length = _LOCAL.unpack(header)
        return member.offset + _LOCAL.size + int(name_length) + int(extra_length)

    def _unpacked(self, member: ArchiveMember, start: int, limit: int | None) -> Iterator[bytes]:
        """A member's content in blocks; `_end` is then the position after it."""
        counted = 0 if member.offset in self._counted else 1
        self._counted.add(member.offset)
        decompressor = _new_decompressor(member.method)
        unpacked_bytes, at = 0, start
        end = start + member.size if member.size >= 0 else self._length
        while at < end and not decompressor.eof and (packed := self._at(at, min(_BLOCK, end - at))):
            at += len(packed)
            for block in _decompressed(decompressor, packed):
                unpacked_bytes += len(block)
                self._left -= len(block) * counted
                if limit is not None and unpacked_bytes > limit:
                    raise DamagedDataError(too_long(limit))
                if self._left < 0:
                    raise DamagedDataError(f"the compressed data unpacks to more than {self._bound >> 20} MiB")
                yield block
        if not decompressor.eof and (member.size < 0 or member.method):
            raise DamagedDataError("the archive is truncated within this member")
        self._end = at - len(decompressor.unused_data)

    def _at(self, offset: int, length: int) -> bytes:
        if offset < 0 or offset >= self._length:
            return b""
        self._stream.seek(offset)
        return self._stream.read(length)


class _MemberDecompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _Stored:
    """Content that is not compressed; only its size determines its end."""

    eof = False
    unused_data = b""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        return data[:max_length]


def _new_decompressor(method: int) -> _MemberDecompressor:
    if method == 93:
        return zstd.ZstdDecompressor()
    return zlib.decompressobj(-zlib.MAX_WBITS) if method == 8 else _Stored()


def _decompressed(decompressor: _MemberDecompressor, packed: bytes) -> Iterator[bytes]:
    """What these bytes unpack to, in blocks: a few bytes may be a gigabyte."""
    is_full = True
    while (packed or is_full) and not decompressor.eof:
        try:
            block = decompressor.decompress(packed, _BLOCK)
        except _DAMAGE as error:
            raise DamagedDataError(f"the compressed data is damaged: {error}") from error
        packed = getattr(decompressor, "unconsumed_tail", b"")  # zlib's; the others keep it themselves
        is_full = len(block) == _BLOCK
        yield block


def _listed(directory: bytes) -> Iterator[ArchiveMember]:
    at = 0
    while directory.startswith(_CENTRAL_MAGIC, at) and len(directory) - at >= _CENTRAL.size:
        fields = _CENTRAL.unpack_from(directory, at)
        flags, method, crc, packed, size = fields[3], fields[4], fields[7], fields[8], fields[9]
        name_length, extra_length, comment_length, offset = fields[10], fields[11], fields[12], fields[16]
        at += _CENTRAL.size
        name = decode(directory[at : at + name_length])
        at += name_length
        if _FULL in (packed, size, offset):
            size, packed, offset = _wide(directory[at : at + extra_length], size, packed, offset)
        at += extra_length + comment_length
        yield ArchiveMember(name, offset, method, flags, crc, packed)


def _wide(extra: bytes, size: int, packed: int, offset: int) -> tuple[int, int, int]:
    """The sizes and the offset; maximal values are replaced by those of the ZIP64 field (APPNOTE, 4.5.3)."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            field = extra[at + 4 : at + 4 + length]
            wide = iter(
                [int.from_bytes(field[position : position + 8], "little") for position in range(0, len(field) - 7, 8)]
            )
            values = [next(wide, known) if known == _FULL else known for known in (size, packed, offset)]
            return values[0], values[1], values[2]
        at += 4 + length
    return size, packed, offset
