"""A JSON value over several lines, each of which knows the pointer of what it shows."""

from collections.abc import Iterator
from typing import NamedTuple

from inspector.json_text import write_json
from inspector.model import Json
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.syntax import syntax_line
from ui.views.visible import visible_line
from ui.views.wording import folded_middle

_DEEPEST, _LONGEST = 24, 2_000


class PrettyLine(NamedTuple):
    """One line; `pointer` is the JSON Pointer of the value that begins in it, None where one only ends."""

    line: Line
    pointer: str | None


def pretty_json(value: Json, *, room: int) -> Iterator[PrettyLine]:
    """The lines of a value, two blanks a level; what takes less than `room` characters stands on one line."""
    yield from _lines(value, "", (), room=max(room, 20))


def _lines(
    value: Json, pointer: str, name: Line, *, room: int, comma: str = "", depth: int = 0
) -> Iterator[PrettyLine]:
    lead = Run("  " * depth)
    short = _on_one_line(value, room - 2 * depth - sum(len(run.text) for run in name), depth)
    if short is not None:
        yield PrettyLine((lead, *name, *syntax_line(short, "json"), Run(comma)), pointer)
        return
    is_object = isinstance(value, dict)
    yield PrettyLine((lead, *name, Run("{" if is_object else "[")), pointer)
    items = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value if isinstance(value, list) else ()))
    )
    for index, (key, child) in enumerate(items, 1):
        named = (
            (Run(visible_line(write_json(key, ascii_only=False)[:_LONGEST]), Style.KEY), Run(": ")) if is_object else ()
        )
        below = f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
        behind = "," if index < len(items) else ""
        yield from _lines(child, below, named, room=room, comma=behind, depth=depth + 1)
    yield PrettyLine((lead, Run(("}" if is_object else "]") + comma)), None)


def _on_one_line(value: Json, room: int, depth: int) -> str | None:
    """The value as one line; None where it is an object or array that should take several."""
    if not isinstance(value, dict | list) or not value or depth >= _DEEPEST:
        return folded_middle(write_json(value, ascii_only=False), _LONGEST)
    if any(isinstance(child, dict | list) for child in (value.values() if isinstance(value, dict) else value)):
        return None
    written = write_json(value, ascii_only=False) if len(value) <= room else ""
    return written if written and len(written) <= room else None
