"""Writes ZIP archives as Inspect does, members compressed with zstd too, and as it does not: broken ones."""

import struct
import sys
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_DESCRIPTOR_FLAG = 0x8


@dataclass(frozen=True, slots=True)
class Packed:
    """A member: its method is 0, 8 or 93; `streamed` says that its sizes stand behind it."""

    name: str
    content: bytes
    method: int = 93
    streamed: bool = False


def archive(members: Iterable[Packed], *, directory: bool = True) -> bytes:
    """A ZIP archive of the members."""
    body, listed = b"", b""
    packed = tuple(members)
    for member in packed:
        offset, data, name = len(body), _compressed(member), member.name.encode()
        crc, sizes = zlib.crc32(member.content), (len(data), len(member.content))
        flags = _DESCRIPTOR_FLAG if member.streamed else 0
        known = (0, 0, 0) if member.streamed else (crc, *sizes)
        body += struct.pack("<4s5H3L2H", b"PK\3\4", 20, flags, member.method, 0, 0, *known, len(name), 0) + name + data
        if member.streamed:
            body += struct.pack("<4s3L", b"PK\7\x08", crc, *sizes)
        listed += struct.pack(
            "<4s6H3L5H2L",
            *(b"PK\1\2", 20, 20, flags, member.method, 0, 0, crc, *sizes, len(name), 0, 0, 0, 0, 0, offset),
        )
        listed += name
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, len(packed), len(packed), len(listed), len(body), 0)
    return body + listed + end if directory else body


def _compressed(member: Packed) -> bytes:
    if member.method == 93:
        return zstd.compress(member.content)
    if member.method == 8:
        packing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        return packing.compress(member.content) + packing.flush()
    return member.content
