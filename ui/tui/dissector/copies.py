"""What of a trace can be copied: the selected text, value, path, and ways back to this place."""

import shlex
from collections.abc import Iterator

from inspector.chain.steps import Step
from inspector.diagnostics import Location
from inspector.json_text import write_json
from inspector.model import Json
from ui.tui.dialogs import Choice, copied
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.tree_row import TreeRow
from ui.views.links import Link

_LONGEST = 1_000_000  # characters: terminals refuse more


def copies_of(
    dissection: Dissection, place: Location, row: TreeRow | None, step: Step | None, *, id: int, where: str | None
) -> list[Choice]:
    """What can be copied of a place; `row` is the row of the tree that holds it."""
    found: list[Choice] = []
    text = dissection.text_of(place)[:_LONGEST]
    if text:
        found.append(copied("text", text))
    if row is not None and row.pointer is not None and step is not None:
        found.append(copied("path", row.pointer or "/"))
        for value in _values(step.call.arguments, row.pointer):
            found.append(copied("value", write_json(value, ascii_only=False)[:_LONGEST]))
    if step is not None:
        found.append(copied("call", step.call.range.of(_text(dissection, step.location))[:_LONGEST]))
    here = Link(str(id), place=place)
    link = Link(str(id), step=step.number) if step is not None else Link(str(id), turn=place.turn)
    found.append(copied("link", str(link)))
    found.append(copied("command", shlex.join(("weaklink", "tui", str(here), *(("--db", where) if where else ())))))
    found.append(copied("link to here", str(here)))
    return found


def _text(dissection: Dissection, location: Location) -> str:
    part = dissection.part(location.turn, location.part)
    return part.text if part else ""


def _values(value: Json, pointer: str) -> Iterator[Json]:
    """The decoded value at a pointer; none where there is none."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return
    yield value
