"""Plain values as bytes: MessagePack, widened to hold what it refuses and traces hold.

Beyond MessagePack go, as extension types: text with lone surrogates, integers beyond 64 bits, Decimal, objects with
such keys, and nesting deeper than a recursive writer bears. Tuples come back as lists.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec
from msgspec.msgpack import Ext

_TEXT, _INTEGER, _DECIMAL, _PAIRS, _DEEP = 1, 2, 3, 4, 5
_MAX_DEPTH = 100
_REFUSED = (UnicodeEncodeError, OverflowError, RecursionError)
_encode = msgspec.msgpack.Encoder().encode
_with_decimals_as_numbers = msgspec.msgpack.Encoder(decimal_format="number").encode
_written = msgspec.json.Encoder().encode


def pack(value: Any) -> bytes:
    """`value` as bytes; a Decimal in it must have gone through `packable`, which MessagePack would turn into text."""
    try:
        return _encode(value)
    except _REFUSED:
        return _encode(packable(value))


def packable(value: Any) -> Any:
    """`value` with everything that MessagePack refuses or changes put into extensions."""
    if _is_plain(value):
        return value
    try:
        return _packable(value, _MAX_DEPTH)
    except RecursionError:
        return Ext(_DEEP, _encode(_flat(value)))


def unpack(raw: bytes | memoryview | msgspec.Raw) -> Any:
    """The value that `pack` was given; msgspec.MsgspecError or another ValueError for bytes that it never made."""
    return _decode(raw)


def unpack_list(raw: bytes | memoryview | msgspec.Raw) -> list[msgspec.Raw]:
    """The items of a list that `pack` was given, each still packed: `unpack` them one by one where they are many."""
    try:
        return _items(raw)
    except msgspec.ValidationError:  # one that is nested so deep that it is packed as something else
        return [msgspec.Raw(pack(packable(item))) for item in unpack(raw)]


def _is_plain(value: Any) -> bool:
    """Whether MessagePack surely takes a value as it is; found out without a look at each of its parts."""
    try:
        has_decimals = _encode(value) != _with_decimals_as_numbers(value)
        written = _written(value)
    except (*_REFUSED, TypeError):
        return False
    return not has_decimals and written.count(b"{") + written.count(b"[") < _MAX_DEPTH


def _packable(value: Any, room: int) -> Any:
    if not room:
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
            plain = [(_packable(key, room), _packable(item, room - 1)) for key, item in value.items()]
            if any(isinstance(key, Ext) for key, _ in plain):
                return Ext(_PAIRS, _encode([side for pair in plain for side in pair]))
            return dict(plain)
    return [_packable(item, room - 1) for item in value]


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
        elif isinstance(item, list | tuple):
            shape.append("[")
            open_containers.append((iter(item), "]"))
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
    raise ValueError(f"a packed value bears the unknown mark {code}")


_decode = msgspec.msgpack.Decoder(ext_hook=_extension).decode
_items = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode
