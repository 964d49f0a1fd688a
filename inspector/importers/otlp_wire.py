"""Protobuf's wire format: the fields of a message in bytes, without knowing what they mean.

Source: protobuf.dev, "Encoding". Groups, which proto3 does not have, are no message here.
"""

from collections.abc import Iterator
from typing import BinaryIO, TypeAlias

Field: TypeAlias = tuple[int, int | bytes]
"""A field's number and its value: an integer of any width as its bits, or the bytes of anything else."""

BYTES = 2
"""The wire type of texts, bytes and messages."""

_VARINT, _FIXED64, _FIXED32 = 0, 1, 5


class CutError(ValueError):
    """A message ends within a field."""


class CutBytes(bytes):
    """What is left of a field that its message ends within."""


def fields_of(raw: bytes, *, cut: bool = False) -> Iterator[Field]:
    """The fields of a message: numbers as they stand, the rest as bytes; `cut` gives what is left of a last one.

    CutError where the message ends within a field, ValueError where it is no message.
    """
    at, end = 0, len(raw)
    while at < end:
        key, at = varint_at(raw, at)
        number, kind = key >> 3, key & 7
        if not number or kind not in {_VARINT, _FIXED64, BYTES, _FIXED32}:
            raise ValueError(f"a field has the number {number} and the type {kind}")
        if kind == _VARINT:
            value, at = varint_at(raw, at)
            yield number, value
            continue
        length, at = (8 if kind == _FIXED64 else 4, at) if kind != BYTES else varint_at(raw, at)
        held = raw[at : at + length]
        at += length
        if len(held) < length:
            if cut and kind == BYTES:
                yield number, CutBytes(held)
                return
            raise CutError("a field breaks off")
        yield number, held if kind == BYTES else int.from_bytes(held, "little")


def varint_at(raw: bytes, at: int) -> tuple[int, int]:
    """The number that begins there, of 64 bits at most, and where it ends; errors as `fields_of` has them."""
    value = shift = 0
    for place in range(at, min(at + 10, len(raw))):
        byte = raw[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, place + 1
        shift += 7
    if len(raw) - at < 10:
        raise CutError("a number breaks off")
    raise ValueError("a number is too long")


def read_varint(stream: BinaryIO) -> int | None:
    """A number off a stream; None where the stream ends before it does, ValueError for one of more than 10 bytes."""
    raw = b""
    while len(raw) < 10:
        byte = stream.read(1)
        if not byte:
            return None
        raw += byte
        if byte[0] < 0x80:
            return varint_at(raw, 0)[0]
    raise ValueError("a number is too long")
