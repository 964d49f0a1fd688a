"""The format of a trace file, version 3: values of the model as plain JSON values, and recorded exchanges as lines.

A line is the value itself: `{"trace": ...}` has the fields of `inspector.model.Trace`, with the number of its turns
instead of the turns, and `{"turn": ...}` those of `inspector.model.Turn`. msgspec derives both directions from the
Structs; a field with its default value is left out, so a field can be added. A range is `[start, end]`, a message of an
earlier request `[turn, index]`. Only numbers that JSON cannot represent are written in another form:

    {"at_s": "Infinity"}                          a float that is not finite, in one of FLOAT_FIELDS
    {"maximum": {"weaklink_number": "1E+5000"}}   in a tool's schema, whose fields may have any name

A file is RFC 8259 JSON, one value per line, ASCII only; lone surrogates and NUL are escapes. The first line is
`{"weaklink_trace_file": 3}`. Adjacent lone surrogates, which JSON would join, are separated and restored.

The requests of a session repeat its history: each is the one before with something added in its middle. A line
therefore has the number of bytes that its request shares with the beginning and the end of the previous request, and
the bytes between them. The lines of one trace must be read in order; a request whose previous one is missing is lost
(`withheld` says so), as is every request that builds on it.
"""

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, TypeAlias

import msgspec

from weaklink.inspector.model import Json, Trace, Turn
from weaklink.inspector.model.exchange import ExchangeEnd, RecordedExchange
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import shared_prefix, shared_suffix

_LOST = "The request cannot be read: the exchange that it extends is missing."
_SMALLEST_SHARE = 64  # bytes; below it a request is written whole
VERSION = 3
"""The version that is written; lower ones are read too."""
HEADER_KEY = "weaklink_trace_file"
_NUMBER_KEY = "weaklink_number"
_ADJACENT_SURROGATES = lazy_pattern("([\ud800-\udbff]\ufdd0*)(?=[\udc00-\udfff])")
_SEPARATED_SURROGATES = lazy_pattern("([\ud800-\udbff]\ufdd0*)\ufdd0(?=[\udc00-\udfff])")
_BEYOND_ASCII = lazy_pattern(r"[^\x00-\x7f]")
FLOAT_FIELDS = frozenset(("at_s", "reward", "offsets_s", "logprobs"))
"""The fields of traces and turns that contain floats."""
_SCHEMA = "parameters"
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
_FACTS = [name for name in Trace.__struct_fields__ if name not in ("turns", "is_open")]
Record: TypeAlias = dict[str, Any]
"""The object of a line."""


class BodyLine(msgspec.Struct, omit_defaults=True):
    """Bytes as text, or in base64 if they are not UTF-8."""

    text: str = ""
    base64: str = ""


class ExchangeLine(msgspec.Struct, omit_defaults=True):
    """See `RecordedExchange`; `number` counts the exchanges of a trace from 1.

    The request consists of the first `prefix` bytes of the request of exchange `base`, then `request`, then the last
    `suffix` bytes of that request; `base` is 0 if `request` is the whole request.
    """

    number: int
    method: str
    path: str
    began_s: float | None = None
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    request: BodyLine | None = None
    base: int = 0
    prefix: int = 0
    suffix: int = 0
    answer: BodyLine | None = None
    ends: tuple[int, ...] = ()
    offsets_s: tuple[float | None, ...] = ()
    end: ExchangeEnd = ExchangeEnd.COMPLETE
    message: str = ""
    turn: int = 0
    is_redacted: bool = False
    withheld: str = ""


class ExchangePacker:
    """Creates the lines of one trace's exchanges, in order; keeps the last request."""

    def __init__(self) -> None:
        self._number = 0
        self._base = 0
        self._last = b""

    def line(self, exchange: RecordedExchange) -> ExchangeLine:
        """The next line."""
        self._number += 1
        request, base, prefix, suffix = exchange.request, 0, 0, 0
        if request is not None:
            prefix, suffix = _shared(self._last, request)
            if prefix + suffix < _SMALLEST_SHARE:
                prefix = suffix = 0
            else:
                base = self._base
            self._last, self._base = request, self._number
        return ExchangeLine(
            **_shared_fields(exchange),
            number=self._number,
            request=None if request is None else _body(request[prefix : len(request) - suffix]),
            base=base,
            prefix=prefix,
            suffix=suffix,
            answer=None if exchange.answer is None else _body(exchange.answer),
        )

    def forget(self) -> None:
        """Write the next request whole, because the lines so far are lost."""
        self._last, self._base = b"", 0


def exchanges_of(lines: Iterable[ExchangeLine]) -> Iterator[RecordedExchange]:
    """The exchanges of one trace, from its lines in order. ValueError for a line that no packer can have created."""
    number, last = 0, b""
    for line in lines:
        request = None if line.request is None else _bytes(line.request)
        withheld = line.withheld
        if request is not None and line.base:
            if line.base == number and line.prefix + line.suffix <= len(last):
                request = last[: line.prefix] + request + last[len(last) - line.suffix :]
            else:
                request, withheld = None, _LOST
        if line.request is not None:
            number, last = (line.number, request) if request is not None else (0, b"")
        answer = None if line.answer is None else _bytes(line.answer)
        if any(end < before for before, end in zip((0, *line.ends), line.ends, strict=False)) or (
            line.ends and line.ends[-1] != len(answer or b"")
        ):
            raise ValueError("the ends of the pieces do not increase up to the length of the answer")
        yield RecordedExchange(**(_shared_fields(line) | {"request": request, "answer": answer, "withheld": withheld}))


_SHARED_FIELDS = [name for name in RecordedExchange.__struct_fields__ if name not in ("request", "answer")]


def _shared_fields(source: RecordedExchange | ExchangeLine) -> Record:
    """The fields of an exchange that are the same in its line."""
    return {name: getattr(source, name) for name in _SHARED_FIELDS}


def _shared(before: bytes, after: bytes) -> tuple[int, int]:
    """How many bytes two texts share at their beginning, and at the end of the rest."""
    prefix = shared_prefix(before, after)
    return prefix, shared_suffix(before, after, min(len(before), len(after)) - prefix)


def _body(raw: bytes) -> BodyLine:
    try:
        return BodyLine(raw.decode())
    except UnicodeDecodeError:
        return BodyLine(base64=b64encode(raw).decode())


def _bytes(line: BodyLine) -> bytes:
    return b64decode(line.base64, validate=True) if line.base64 else line.text.encode()


def trace_record(trace: Trace) -> Record:
    """A trace without its turns and exchanges as the object of its line, except that its floats may be not finite."""
    record = _plain(Trace((), **{name: getattr(trace, name) for name in _FACTS}))
    del record["turns"]
    return record


def turn_record(turn: Turn) -> Record:
    """A turn as the object of its line, except that its floats may be not finite."""
    record = _plain(turn)
    if turn.flags:
        record["flags"] = sorted(turn.flags)
    else:
        record.pop("flags", None)
    for tool in record.get("generation", {}).get("tools", ()):
        if _SCHEMA in tool:
            tool[_SCHEMA] = portable_json(tool[_SCHEMA])
    return record


def line_of(record: Record) -> str:
    """A line of the file, with its line end."""
    try:
        return ascii_line(record) + "\n"
    except ValueError:  # a float is not finite
        return ascii_line(_with_words(record)) + "\n"


def record_of(line: bytes) -> Any:
    """The value of a line, with its numbers; ValueError, InvalidOperation or RecursionError if it is not JSON."""
    value = json.loads(line.decode("utf-8-sig"))
    if b"\\ufdd0" in line:
        value = with_split_surrogates(value)
    if b"weaklink_number" in line:
        value = original_json(value)
    if any(b'"%s"' % word.encode() in line for word in _NOT_FINITE):
        value = _with_floats(value, is_float=False)
    return value


def _plain(value: Trace | Turn) -> Record:
    """The fields that differ from their defaults as plain values; a column becomes a tuple."""
    record: Record = msgspec.to_builtins(value, builtin_types=(Decimal,), enc_hook=tuple)
    return record


def _with_words(value: Json) -> Json:
    """The value with words instead of the floats that are not finite."""
    match value:
        case float():
            return _float_value(value)
        case list() | tuple():
            return [_with_words(item) for item in value]
        case dict():
            return {key: _with_words(item) for key, item in value.items()}
    return value


def _with_floats(value: Json, *, is_float: bool) -> Json:
    """The inverse of `_with_words`; a word is a number only in FLOAT_FIELDS, and never in a schema."""
    match value:
        case str() if is_float and value in _NOT_FINITE:
            return float(value)
        case list():
            return [_with_floats(item, is_float=is_float) for item in value]
        case dict():
            return {
                key: item if key == _SCHEMA else _with_floats(item, is_float=key in FLOAT_FIELDS)
                for key, item in value.items()
            }
    return value


def _float_value(value: float) -> float | str:
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def portable_json(value: Json) -> Json:
    """A JSON value without numbers that readers refuse: such a number becomes `{"weaklink_number": "1E+5000"}`.

    An object that already looks like that is wrapped again, so `original_json` restores every value.
    """
    match value:
        case Decimal():
            return {_NUMBER_KEY: str(value)}
        case float() if not math.isfinite(value):
            return {_NUMBER_KEY: str(_float_value(value))}
        case list():
            return [portable_json(item) for item in value]
        case dict() if value.keys() == {_NUMBER_KEY}:
            return {_NUMBER_KEY: {_NUMBER_KEY: portable_json(value[_NUMBER_KEY])}}
        case dict():
            return {key: portable_json(item) for key, item in value.items()}
    return value


def original_json(value: Json) -> Json:
    """The inverse of `portable_json`; decimal.InvalidOperation for a `weaklink_number` that is no number."""
    match value:
        case list():
            return [original_json(item) for item in value]
        case {"weaklink_number": str(digits), **rest} if not rest:
            return float(digits) if digits in _NOT_FINITE else Decimal(digits)
        case {"weaklink_number": {"weaklink_number": inner, **more}, **rest} if not rest and not more:
            return {_NUMBER_KEY: original_json(inner)}
        case dict():
            return {key: original_json(item) for key, item in value.items()}
    return value


def ascii_line(record: object) -> str:
    """`record` as ASCII JSON on one line; adjacent lone surrogates are separated, so that no reader joins them."""
    line = json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    if "\\ud" not in line:
        return line
    raw = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _BEYOND_ASCII.sub(lambda match: json.dumps(match[0])[1:-1], _ADJACENT_SURROGATES.sub("\\1\ufdd0", raw))


def with_split_surrogates(value: Json) -> Json:
    """The value that `ascii_line` has written, from the value that a JSON reader returned for its line."""
    match value:
        case str():
            return _SEPARATED_SURROGATES.sub("\\1", value)
        case list():
            return [with_split_surrogates(item) for item in value]
        case dict():
            return {
                _SEPARATED_SURROGATES.sub("\\1", key): with_split_surrogates(member) for key, member in value.items()
            }
        case _:
            return value
