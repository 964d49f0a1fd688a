"""The arguments of a trace's calls as rows: one for each value at a place, once per trace, for filters to look up.

Values are kept folded and short, numbers beside them as numbers. What lies beyond the bounds below is not looked up;
the exact arguments stand in the inspection.
"""

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import islice
from math import isfinite

from inspector.inspection import PartInspection
from inspector.json_text import write_json
from inspector.model import Json
from storage.packing.escapes import escaped, key
from storage.rows import Row

MOST_OF_CALL = 50
"""So many values of one call are kept."""
MOST_OF_TRACE = 500
"""So many different values at different places are kept of a trace."""
LONGEST_VALUE = 120
"""Code points of a value that are kept; what is longer is known by its first 80 and a hash of the whole."""
LONGEST_PATH = 200
"""Code points; a value at a longer path is left out."""
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")


def argument_rows(parts: Iterable[PartInspection]) -> list[Row]:
    """The rows of all calls in these parts, without their trace."""
    found: dict[tuple[str, str, str], float | None] = {}
    for part in parts:
        for call in part.calls:
            if not isinstance(call.arguments, dict):
                continue
            for at, (name, path, leaf) in enumerate(_leaves(call.arguments)):
                if at == MOST_OF_CALL:
                    break
                text = leaf if isinstance(leaf, str) else write_json(leaf)
                found.setdefault((name, value_key(text), path), _number(leaf))
            if len(found) >= MOST_OF_TRACE:
                return _rows(found)
    return _rows(found)


def _rows(found: dict[tuple[str, str, str], float | None]) -> list[Row]:
    kept = islice(found.items(), MOST_OF_TRACE)
    return [{"name": name, "value": value, "path": path, "number": number} for (name, value, path), number in kept]


def value_key(text: str) -> str:
    """A value as it is kept and looked for: without regard to case."""
    return key(text.casefold(), longest=LONGEST_VALUE)


def path_of(key_or_index: str | int) -> str:
    """One step of a path, as it stands behind `$`: `.city`, `["a b"]` or `[0]`."""
    if isinstance(key_or_index, int):
        return f"[{key_or_index}]"
    if _PLAIN_KEY.fullmatch(key_or_index):
        return f".{key_or_index}"
    return f"[{json.dumps(key_or_index, ensure_ascii=False)}]"


def _leaves(arguments: Json) -> Iterator[tuple[str, str, Json]]:
    """Each value that holds no others: the name of the key it stands under, its path, and itself; in their order."""
    waiting: list[tuple[str, str, Json]] = [("", "$", arguments)]
    while waiting:
        name, path, value = waiting.pop()
        if len(path) > LONGEST_PATH:
            continue
        if isinstance(value, dict) and value:
            inner: list[tuple[str, str, Json]] = [
                (key(one, longest=LONGEST_VALUE), path + escaped(path_of(one)), value[one])
                for one in list(value)[: MOST_OF_CALL + 1]
            ]
            waiting += reversed(inner)
        elif isinstance(value, list) and value:
            inner = [(name, path + path_of(at), one) for at, one in enumerate(value[: MOST_OF_CALL + 1])]
            waiting += reversed(inner)
        elif value != {} or path != "$":
            yield name, path, value


def _number(leaf: Json) -> float | None:
    if isinstance(leaf, bool) or leaf is None:
        return None
    if isinstance(leaf, str):
        return float(leaf) if _NUMBER.fullmatch(leaf) else None
    if isinstance(leaf, int | float | Decimal):
        try:
            number = float(leaf)
        except (OverflowError, ValueError):
            return None
        return number if isfinite(number) else None
    return None
