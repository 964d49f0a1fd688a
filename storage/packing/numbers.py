"""Long rows of numbers as bytes: the narrowest array that gives every one of them back."""

import sys
from array import array
from collections.abc import Sequence
from itertools import chain
from operator import sub
from typing import Any, TypeAlias

from inspector.model.columns import Column, Numbers, Seconds, Sums
from storage.packing.values import pack, unpack

_MICROSECONDS = "u"
_ANY = "?"
_FROM, _FROM_BYTES = "^", 8  # steps from a first integer that stands before them
BYTES = "b"
"""The kind of array whose numbers are a byte each."""

_SIGNED = ((2**7, BYTES), (2**15, "h"), (2**31, "i"), (2**63, "q"))

Buffer: TypeAlias = bytes | memoryview
"""Bytes, or a view of bytes that others hold."""

Packed: TypeAlias = tuple[str, Buffer]
"""The kind of array, and its little-endian bytes."""


def pack_integers(values: Sequence[int]) -> Packed:
    """Integers of any size."""
    low, high = min(values, default=0), max(values, default=0)
    for limit, code in _SIGNED:
        if -limit <= low and high < limit:
            return code, _little(array(code, values)).tobytes()
    return _ANY, pack(values)


def unpack_integers(packed: Packed) -> Sequence[int]:
    """The integers that `pack_integers` was given."""
    code, raw = packed
    return unpack(raw) if code == _ANY else _numbers(code, raw)


def pack_steps(values: Sequence[int], *, apart: bool = False) -> Packed:
    """Integers that mostly ascend by little: kept as differences; `apart` keeps a first one that may be large."""
    steps = list(map(sub, values, chain((0,), values)))
    if not apart or not steps or not -(2**63) <= steps[0] < 2**63:
        return pack_integers(steps)
    first, steps[0] = steps[0], 0
    code, raw = pack_integers(steps)
    return _FROM + code, first.to_bytes(_FROM_BYTES, "little", signed=True) + raw


def unpack_steps(packed: Packed) -> Column[int]:
    """The integers that `pack_steps` was given."""
    steps, first = _steps(packed)
    code, raw = packed
    if code.endswith(BYTES) and bytes(raw).count(1, len(raw) - len(steps) + 1) == len(steps) - 1:
        return Numbers(range(first + steps[0], first + steps[0] + len(steps)))  # without a gap, as chunks mostly are
    return Sums(steps, first)


def pack_floats(values: Sequence[float], *, apart: bool = False) -> Packed:
    """Floats, to the last bit; whole microseconds and single precision, where they are just that, take less room.

    `apart` keeps a first one that may be large, of those that mostly ascend by little.
    """
    doubles = array("d", values)
    steps = _as_microseconds(doubles)
    if steps and _same(_from_microseconds(steps), doubles):
        code, raw = pack_steps(steps, apart=apart)
        return _MICROSECONDS + code, raw
    singles = _as_singles(doubles)
    if singles is not None and _same(array("d", singles), doubles):
        return "f", _little(singles).tobytes()
    return "d", _little(doubles).tobytes()


def unpack_floats(packed: Packed) -> Column[float]:
    """The floats that `pack_floats` was given."""
    code, raw = packed
    if code.startswith(_MICROSECONDS):
        return Seconds(*_steps((code.removeprefix(_MICROSECONDS), raw)))
    return Numbers(_numbers(code, raw))


def _steps(packed: Packed) -> tuple[Sequence[int], int]:
    """Steps as they were packed, and what the first one is from."""
    code, raw = packed
    if not code.startswith(_FROM):
        return unpack_integers(packed), 0
    behind = memoryview(raw)[_FROM_BYTES:]
    return unpack_integers((code.removeprefix(_FROM), behind)), int.from_bytes(raw[:_FROM_BYTES], "little", signed=True)


def _as_microseconds(values: Sequence[float]) -> list[int]:
    try:
        return [round(value * 1e6) for value in values]
    except (ValueError, OverflowError):  # not finite
        return []


def _from_microseconds(steps: Sequence[int]) -> "array[float]":
    try:
        return array("d", [step / 1e6 for step in steps])
    except OverflowError:
        return array("d")


def _as_singles(doubles: "array[float]") -> "array[float] | None":
    try:
        return array("f", doubles)
    except OverflowError:
        return None


def _same(one: "array[float]", other: "array[float]") -> bool:
    """Whether two arrays hold the same, to the sign of a zero."""
    return one.tobytes() == other.tobytes()


def _little(values: "array[Any]") -> "array[Any]":
    if sys.byteorder == "big":
        values.byteswap()
    return values


def _numbers(code: str, raw: Buffer) -> Sequence[Any]:
    """The numbers that lie in some bytes, which are not copied: a long stream's are many millions."""
    if sys.byteorder == "little":
        view: Any = memoryview(raw)
        numbers: Sequence[Any] = view.cast(code)
        return numbers
    values: array[Any] = array(code)
    values.frombytes(raw)
    return _little(values)
