"""Values of filters in which `*` matches anything: compared in Python, or as a pattern of SQL's LIKE.

A value that is stored exactly as it is written in the filter means that one alone; any other is compared without case,
and its stars match anything. So `tool:bash` finds `Bash` in a database that has no `bash`, and a click on a number
finds what was counted where both are tools, or a tool is called `f*`.

A pattern is a list of texts with gaps between them. A text that contains them in this order contains them where each is
found first, so each is looked for once, after the previous one: linear time, however many stars there are. A regular
expression would try every division of the gaps, which is exponential for `*b*b*b*c` and a name of many `b`.
"""

import re
from collections.abc import Iterable, Sequence

from weaklink.storage.packing.blobs import escaped, key

_ANYTHING = "*"


def as_stored(pattern: str) -> str:
    """A pattern in the form of an indexed column's values; a long value without a star is truncated as those are."""
    return escaped(pattern) if _ANYTHING in pattern else key(pattern)


def matching_values(stored: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Those of the stored values that one of a filter's values means."""
    values = list(stored)
    written = [as_stored(pattern) for pattern in patterns]
    exact = set(values).intersection(written)
    wanted = [pattern.casefold().split(_ANYTHING) for pattern in written if pattern not in exact]
    return [value for value in values if value in exact or any(_matches(value.casefold(), texts) for texts in wanted)]


def _matches(value: str, texts: Sequence[str]) -> bool:
    """Whether a value begins with the first text, ends with the last, and has the others between, in this order."""
    if len(texts) == 1:
        return value == texts[0]
    first, *inner, last = texts
    position, end = len(first), len(value) - len(last)
    if position > end or not value.startswith(first) or not value.endswith(last):
        return False
    for text in inner:
        position = value.find(text, position, end)
        if position < 0:
            return False
        position += len(text)
    return True


def like(pattern: str) -> str:
    """A pattern of SQL's LIKE, with a backslash as its escape."""
    return re.sub(r"\*+", "%", re.sub(r"([\\%_])", r"\\\1", pattern))
