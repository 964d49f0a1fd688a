"""The type of JSON values, and a writer of RFC 8259 text for any of them."""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    Json: TypeAlias = bool | int | float | str | Decimal | list["Json"] | dict[str, "Json"] | None
else:
    Json = Any  # msgspec derives codecs from the annotations, and accepts no union of a text and a Decimal
"""A decoded JSON value. An integer of more than 4,300 digits is a Decimal, which reads and writes it in linear time."""


def write_json(value: Any, *, ascii_only: bool = True) -> str:
    """`value` as JSON text on one line, with a space after commas and colons.

    Integers keep all their digits; numbers that JSON cannot express become strings (`"NaN"`, `"Infinity"`); lone
    surrogates are escaped if `ascii_only`, which escapes everything beyond ASCII. Nesting may be of any depth.
    Raises TypeError for a value that is not JSON.
    """
    try:
        return _ENCODE[ascii_only](value)
    except (ValueError, TypeError, RecursionError):
        return nested_text(
            value,
            lambda scalar: _scalar(scalar, ascii_only=ascii_only),
            lambda key: f"{json.dumps(key, ensure_ascii=ascii_only)}: ",
        )


def nested_text(root: Any, scalar: Callable[[Any], str], member: Callable[[str], str], comma: str = ", ") -> str:
    """A value as text, with brackets around objects and arrays and `comma` between their values.

    `member` writes a key and the sign after it, `scalar` any other value. Nesting may be of any depth: an explicit
    stack, instead of recursion, holds the texts and values still to be written.
    """
    pieces: list[str] = []
    stack: list[tuple[str, Any]] = [("", root)]
    while stack:
        text, value = stack.pop()
        if text:
            pieces.append(text)
        elif isinstance(value, dict):
            members = ((member(key), item) for key, item in value.items())
            stack += reversed([("{", None), *_steps(members, comma), ("}", None)])
        elif isinstance(value, list | tuple):
            stack += reversed([("[", None), *_steps((("", item) for item in value), comma), ("]", None)])
        else:
            pieces.append(scalar(value))
    return "".join(pieces)


def _steps(items: Iterable[tuple[str, Any]], comma: str) -> Iterator[tuple[str, Any]]:
    """The texts and values to write for these values, each with the text before it."""
    for index, (before, item) in enumerate(items):
        text = comma + before if index else before
        yield from ((text, None), ("", item)) if text else (("", item),)


def _scalar(value: Any, *, ascii_only: bool) -> str:
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f'"{_NON_FINITE.get(value, "NaN")}"'
    if isinstance(value, int | Decimal):
        return format(Decimal(value), "f")
    return json.dumps(value, ensure_ascii=ascii_only)


_ENCODE = {only: json.JSONEncoder(ensure_ascii=only, allow_nan=False).encode for only in (True, False)}
_NON_FINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}


TOO_DEEP = '"(nested too deeply to be written)"'


_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


def compact_json(value: Json) -> str:
    """A value as JSON without spaces; `TOO_DEEP` for a value that is nested near Python's recursion limit."""
    try:
        return _compact(value)
    except RecursionError:
        return TOO_DEEP


def text_or_json(value: Json) -> str:
    """`value` if it is a string, `""` for null, any other value as `compact_json`."""
    return value if isinstance(value, str) else "" if value is None else compact_json(value)


def json_or_text(text: str) -> Json:
    """A result as a value: the decoded value if it is strict JSON, else its text."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def word_of(value: Json) -> str:
    """`value` if it is a string, else `""`."""
    return value if isinstance(value, str) else ""


def flag_of(value: Json) -> bool | None:
    """`value` if it is a boolean, else None."""
    return value if isinstance(value, bool) else None


def count_of(value: Json) -> int | None:
    """`value` if it is an integer, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def whole_number(value: Json) -> int | None:
    """A whole number, possibly written as a float; None for anything else."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def window_of_tokens(value: Json) -> int | None:
    """`value` if it can be the size of a context window in tokens, from 1 to 10**12, else None."""
    size = count_of(value)
    return size if size is not None and 0 < size <= 10**12 else None


def member_at(value: Json, path: str) -> Json:
    """The member at the end of a path (`error.code`); None if there is none, or an object on the way is none."""
    for key in path.split(".") if "." in path else (path,):
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def object_of(value: Json) -> dict[str, Json]:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Json) -> list[Json]:
    """`value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def objects_of(value: Json) -> list[dict[str, Json]]:
    """The elements of a list that are objects; empty if `value` is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def properties_of(schema: Json) -> dict[str, Json]:
    """The schemas under `properties` of a JSON Schema by name, in their order; empty if it has none."""
    return object_of(object_of(schema).get("properties"))
