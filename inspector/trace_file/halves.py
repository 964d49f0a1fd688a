"""Halves of surrogate pairs that stand side by side, as two chunks may bring them; JSON would join them.

Between such halves the file has U+FDD0, a code point that Unicode keeps for internal use; where the text itself has it
there, one more.
"""

import json
import re

from inspector.model import Json

_TOGETHER = re.compile("([\ud800-\udbff]\ufdd0*)(?=[\udc00-\udfff])")
_APART = re.compile("([\ud800-\udbff]\ufdd0*)\ufdd0(?=[\udc00-\udfff])")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


def ascii_line(record: object) -> str:
    """`record` as ASCII JSON on one line, halves kept apart."""
    line = json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    if "\\ud" not in line:
        return line
    raw = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _BEYOND_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], _TOGETHER.sub("\\1\ufdd0", raw))


def with_halves(value: Json) -> Json:
    """What `ascii_line` was given, of what a JSON reader made of its line."""
    match value:
        case str():
            return _APART.sub("\\1", value)
        case list():
            return [with_halves(item) for item in value]
        case dict():
            return {_APART.sub("\\1", key): with_halves(member) for key, member in value.items()}
        case _:
            return value
