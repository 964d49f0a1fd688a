"""Names within an annotation: the variable that holds a step's result, and paths into JSON values."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from inspector.chain.steps import Step
from inspector.chain.terminal_tools import bare_name

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_NO_WORD = re.compile(r"\W+")
_LONGEST = 60

ANY = -1
"""In the place of an index: every element of a list."""


def output_variables(steps: Iterable[Step]) -> Mapping[int, str]:
    """The variable of each step by the step's number: `$search_flights_2` is the second call of `search_flights`.

    No two steps share one, and the same chain gives the same ones again.
    """
    seen: Counter[str] = Counter()
    names = {}
    for step in steps:
        stem = _stem(step.call.name)
        seen[stem] += 1
        names[step.number] = f"${stem}_{seen[stem]}"
    return MappingProxyType(names)


def segments(pointer: str) -> list[str]:
    """The keys and indexes of a JSON Pointer (RFC 6901), unescaped."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def path_text(root: str, path: Sequence[str | int]) -> str:
    """A path as people write it: `$search_1.results[0].url`; a key that is no identifier stands in brackets."""
    return root + "".join(map(_segment, path))


def _segment(part: str | int) -> str:
    if isinstance(part, int):
        return "[*]" if part == ANY else f"[{part}]"
    return f".{part}" if _IDENTIFIER.fullmatch(part) else f"[{json.dumps(part)}]"


def _stem(tool: str | None) -> str:
    """A tool's name as an identifier, without its namespace."""
    stem = _NO_WORD.sub("_", bare_name(tool or "")[:_LONGEST]).strip("_")
    if not stem:
        return "call"
    return stem if not stem[0].isdigit() else f"tool_{stem}"
