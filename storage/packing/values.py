"""Plain values and long columns of numbers as bytes, without loss.

MessagePack, extended to text with lone surrogates, integers beyond 64 bits, Decimal and deep nesting; numbers as the
narrowest array that restores every one of them.
"""

import sys
from array import array
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import chain
from operator import sub
from typing import Any, TypeAlias

import msgspec
from msgspec import structs
from msgspec.msgpack import Ext

from weaklink.inspector.model.columns import Column, Numbers, RunningSums, Seconds

_MICROSECONDS = "u"
_ANY = "?"
_FROM, _FROM_BYTES = "^", 8  # steps after a first integer that is stored before them, in windows of weaklink 0.2.0
BYTES = "b"
"""The array type of numbers of one byte."""

_SIGNED = ((2**7, BYTES), (2**15, "h"), (2**31, "i"), (2**63, "q"))
_TEXT, _INTEGER, _DECIMAL, _PAIRS, _DEEP = 1, 2, 3, 4, 5
_MAX_DEPTH = 100
_REFUSED = (UnicodeEncodeError, OverflowError, RecursionError)
Buffer: TypeAlias = bytes | memoryview
"""Bytes, or a view of bytes."""

Packed: TypeAlias = tuple[str, Buffer]
"""The type of an array, and its little-endian bytes."""


def pack_integers(values: Sequence[int]) -> Packed:
    """Integers of any size."""
    low, high = min(values, default=0), max(values, default=0)
    for limit, code in _SIGNED:
        if -limit <= low and high < limit:
            return code, _little(array(code, values)).tobytes()
    return _ANY, pack(values)


def unpack_integers(packed: Packed) -> Sequence[int]:
    """The inverse of `pack_integers`."""
    code, raw = packed
    return unpack(raw) if code == _ANY else _numbers(code, raw)


def pack_steps(values: Sequence[int]) -> Packed:
    """Integers that mostly ascend in small steps, packed as differences."""
    return pack_integers(list(map(sub, values, chain((0,), values))))


def unpack_steps(packed: Packed) -> Column[int]:
    """The inverse of `pack_steps`."""
    steps, first = _steps(packed)
    code, raw = packed
    if code.endswith(BYTES) and bytes(raw).count(1, len(raw) - len(steps) + 1) == len(steps) - 1:
        return Numbers(range(first + steps[0], first + steps[0] + len(steps)))  # consecutive, the usual case
    return RunningSums(steps, first)


def pack_floats(values: Sequence[float]) -> Packed:
    """Floats without loss; as whole microseconds or in single precision, if that is exact, since it is smaller."""
    doubles = array("d", values)
    steps = _as_microseconds(doubles)
    if steps and _same(_from_microseconds(steps), doubles):
        code, raw = pack_steps(steps)
        return _MICROSECONDS + code, raw
    singles = _as_singles(doubles)
    if singles is not None and _same(array("d", singles), doubles):
        return "f", _little(singles).tobytes()
    return "d", _little(doubles).tobytes()


def unpack_floats(packed: Packed) -> Column[float]:
    """The inverse of `pack_floats`."""
    code, raw = packed
    if code.startswith(_MICROSECONDS):
        return Seconds(*_steps((code.removeprefix(_MICROSECONDS), raw)))
    return Numbers(_numbers(code, raw))


def _steps(packed: Packed) -> tuple[Sequence[int], int]:
    """The packed steps, and the number to which the first one is added."""
    code, raw = packed
    if not code.startswith(_FROM):
        return unpack_integers(packed), 0
    rest = memoryview(raw)[_FROM_BYTES:]
    return unpack_integers((code.removeprefix(_FROM), rest)), int.from_bytes(raw[:_FROM_BYTES], "little", signed=True)


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


def _same(first: "array[float]", other: "array[float]") -> bool:
    """Whether two arrays are identical, including the sign of zeros."""
    return first.tobytes() == other.tobytes()


def _little(values: "array[Any]") -> "array[Any]":
    if sys.byteorder == "big":
        values.byteswap()
    return values


def _numbers(code: str, raw: Buffer) -> Sequence[Any]:
    """The numbers in these bytes, without copying them: a long stream has many millions."""
    if sys.byteorder == "little":
        view: Any = memoryview(raw)
        numbers: Sequence[Any] = view.cast(code)
        return numbers
    values: array[Any] = array(code)
    values.frombytes(raw)
    return _little(values)


_encode = msgspec.msgpack.Encoder().encode
_with_decimals_as_numbers = msgspec.msgpack.Encoder(decimal_format="number").encode
_written = msgspec.json.Encoder().encode


def pack(value: Any) -> bytes:
    """`value` as bytes; pass a value with Decimals through `packable` first: MessagePack would turn them into text."""
    try:
        return _encode(value)
    except _REFUSED:
        return _encode(packable(value))


def packable(value: Any) -> Any:
    """`value` with extensions for everything that MessagePack would refuse or change; its Structs are arrays."""
    if _is_plain(value):
        return value
    try:
        return _packable(value, _MAX_DEPTH)
    except RecursionError:
        return Ext(_DEEP, _encode(_flat(value)))


def unpack(raw: bytes | memoryview | msgspec.Raw) -> Any:
    """The inverse of `pack`; msgspec.MsgspecError or another ValueError for bytes that `pack` did not return."""
    return _decode(raw)


def unpack_list(raw: bytes | memoryview | msgspec.Raw) -> list[msgspec.Raw]:
    """The items of a packed list, each still packed, so that a long list can be unpacked item by item."""
    try:
        return _items(raw)
    except msgspec.ValidationError:  # an item is nested so deeply that the list is packed as an extension
        return [msgspec.Raw(pack(packable(item))) for item in unpack(raw)]


def _is_plain(value: Any) -> bool:
    """Whether MessagePack certainly accepts a value unchanged; tested without visiting each of its items."""
    try:
        has_decimals = _encode(value) != _with_decimals_as_numbers(value)
        written = _written(value)
    except (*_REFUSED, TypeError):
        return False
    return not has_decimals and written.count(b"{") + written.count(b"[") < _MAX_DEPTH


def _packable(value: Any, remaining: int) -> Any:
    if not remaining:
        raise RecursionError("a value is nested too deep")
    match value:
        case str():
            return _text(value)
        case bool() | float() | bytes() | None | Ext():
            return value
        case int():
            return value if -(2**63) <= value < 2**64 else Ext(_INTEGER, format(value, "x").encode())
        case Decimal():
            return Ext(_DECIMAL, str(value).encode())
        case dict():
            plain = [(_packable(key, remaining), _packable(item, remaining - 1)) for key, item in value.items()]
            if any(isinstance(key, Ext) for key, _ in plain):
                return Ext(_PAIRS, _encode([side for pair in plain for side in pair]))
            return dict(plain)
        case msgspec.Struct():
            return [_packable(item, remaining - 1) for item in structs.astuple(value)]
    return [_packable(item, remaining - 1) for item in value]


def _text(value: str) -> str | Ext:
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return Ext(_TEXT, value.encode("utf-8", "surrogatepass"))
    return value


def _flat(root: Any) -> list[Any]:
    """A deep value as a string of brackets, `s` for each scalar, and the scalars in order."""
    shape: list[str] = []
    scalars: list[Any] = []
    open_containers: list[tuple[Iterator[Any], str]] = [(iter((root,)), "")]
    while open_containers:
        items, closer = open_containers[-1]
        item = next(items, items)
        if item is items:
            shape.append(closer)
            open_containers.pop()
        elif isinstance(item, dict):
            shape.append("{")
            open_containers.append((iter([side for pair in item.items() for side in pair]), "}"))
        elif isinstance(item, list | tuple | msgspec.Struct):
            shape.append("[")
            open_containers.append((iter(structs.astuple(item) if isinstance(item, msgspec.Struct) else item), "]"))
        else:
            shape.append("s")
            scalars.append(_packable(item, 1))
    return ["".join(shape), scalars]


def _deep(shape: str, scalars: list[Any]) -> Any:
    rest = iter(scalars)
    open_containers: list[list[Any]] = [[]]
    for sign in shape:
        match sign:
            case "s":
                open_containers[-1].append(next(rest))
            case "[" | "{":
                open_containers.append([])
            case _:
                items = open_containers.pop()
                whole = items if sign == "]" else dict(zip(items[::2], items[1::2], strict=True))
                open_containers[-1].append(whole)
    return open_containers[0][0]


def _extension(code: int, raw: memoryview) -> Any:
    content = bytes(raw)
    match code:
        case 1:
            return content.decode("utf-8", "surrogatepass")
        case 2:
            return int(content, 16)
        case 3:
            return Decimal(content.decode())
        case 4:
            sides = _decode(content)
            return dict(zip(sides[::2], sides[1::2], strict=True))
        case 5:
            return _deep(*_decode(content))
    raise ValueError(f"unknown type code {code} in a packed value")


_decode = msgspec.msgpack.Decoder(ext_hook=_extension).decode
_items = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode
