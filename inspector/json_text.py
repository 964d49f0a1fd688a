"""Writes JSON values as RFC 8259 text, whatever they hold."""

import json
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any


def write_json(value: Any, *, ascii_only: bool = True) -> str:
    """`value` as JSON text on one line, with a space behind commas and colons.

    Integers keep all their digits; numbers that JSON does not know become strings (`"NaN"`, `"Infinity"`); lone
    surrogates are escaped if `ascii_only`, which escapes everything beyond ASCII. Nesting may be of any depth.
    Raises TypeError for what is no JSON value.
    """
    try:
        return json.dumps(value, ensure_ascii=ascii_only, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return "".join(_pieces(value, ascii_only=ascii_only))


def _pieces(root: Any, *, ascii_only: bool) -> Iterator[str]:
    """The text in pieces, with a stack of its own: iterators of the open containers and the brackets that end them."""
    open_containers: list[tuple[Iterator[Any], str]] = []
    prefix, value = "", root
    while True:
        yield prefix
        if isinstance(value, dict):
            yield "{"
            open_containers.append((iter(value.items()), "}"))
        elif isinstance(value, list | tuple):
            yield "["
            open_containers.append((iter(value), "]"))
        else:
            yield _scalar(value, ascii_only=ascii_only)
        first = isinstance(value, dict | list | tuple)
        while open_containers:
            items, end = open_containers[-1]
            item = next(items, items)
            if item is not items:
                break
            yield end
            open_containers.pop()
            first = False
        else:
            return
        prefix = "" if first else ", "
        if end == "}":
            key, value = item
            prefix += json.dumps(key, ensure_ascii=ascii_only) + ": "
        else:
            value = item


def _scalar(value: Any, *, ascii_only: bool) -> str:
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f'"{_NON_FINITE.get(value, "NaN")}"'
    if isinstance(value, int | Decimal):
        return format(Decimal(value), "f")
    return json.dumps(value, ensure_ascii=ascii_only)


_NON_FINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}
