"""Our own elements of the page as components of Streamlit: inline, without a build step, their files in folders here.

Each gives what the user did in this run, None where nothing was done.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from streamlit.components.v2 import component

from inspector.diagnostics import Location
from inspector.model import Json
from ui.views.dissect.side import SideLine
from ui.views.styled_text import Line
from ui.web.markup import folds
from ui.web.pictures import Picture
from ui.web.theme import colour_rules

_FOLDER = Path(__file__).parent
_DISSECTOR = (
    *("offsets.js", "visible.js", "layout.js", "list.js", "arrivals.js", "drawing.js", "facts.js"),
    *("faults.js", "places.js", "searching.js", "copying.js", "keys.js", "main.js"),
)


class MinimumWidth(StrEnum):
    """How wide a listing must be for a column to be shown: any, as wide as half a screen, or a whole one."""

    ANY = ""
    MEDIUM = "medium"
    WIDE = "wide"


class BarCell(NamedTuple):
    """A cell with a bar before its words: `share` of 1 fills it, None draws none."""

    share: float | None
    line: Line


ListingCell: TypeAlias = Line | BarCell


class ListingColumn(NamedTuple):
    """A column of a listing: its title, on which side its words are, whether in a fixed-width font, and its room.

    A click on the title of a column with an `order` asks for the rows in that order.
    """

    title: str
    align: str = ""
    mono: bool = False
    room: MinimumWidth = MinimumWidth.ANY
    order: str = ""


class ListingRow(NamedTuple):
    """A row of a listing: what it is known by, and a cell a column."""

    key: str
    cells: Sequence[ListingCell]


class ListingEvent(NamedTuple):
    """What was done in a listing: the key of the row that the user went to, or opened; the order that was asked for."""

    picked: str | None = None
    opened: str | None = None
    order: str | None = None


class DissectorEvent(NamedTuple):
    """What was done in a dissector: the place that was gone to, and where else: -1 a newer trace, 1 an older."""

    picked: dict[str, Any] | None = None
    beside: int = 0


def dissector(data: dict[str, Json], *, key: str) -> DissectorEvent:
    """The stream of a trace and its values; a place is `{"turn", "part", "start", "end"}`."""
    drawn = _component("dissector", _DISSECTOR)(
        key=key, data=data, on_picked_change=_nothing, on_beside_change=_nothing
    )
    return DissectorEvent(dict(drawn.picked) if drawn.picked else None, int(drawn.beside or 0))


def listing(
    columns: Sequence[ListingColumn],
    rows: Sequence[ListingRow],
    *,
    key: str,
    selected: str | None = None,
    label: str = "Rows",
    is_eager: bool = False,
    most_rem: int = 40,
    order: str = "",
) -> ListingEvent:
    """A table whose rows can be walked by keys and opened by Enter or a double click, by any click where it is eager.

    `label` names it to those who hear the page; it scrolls where it is higher than `most_rem`. `order` is that of the
    rows: a click on the title of another column with an order asks for that one.
    """
    data: dict[str, Json] = {
        "columns": [
            {"title": one.title, "align": one.align, "mono": one.mono, "room": one.room.value, "order": one.order}
            for one in columns
        ],
        "rows": [{"key": row.key, "cells": [_cell(cell) for cell in row.cells]} for row in rows],
        "selected": selected,
        "label": label,
        "eager": is_eager,
        "most": most_rem,
        "order": order,
    }
    drawn = _component("listing", ("main.js",))(
        key=key, data=data, on_picked_change=_nothing, on_opened_change=_nothing, on_order_change=_nothing
    )
    return ListingEvent(drawn.picked, drawn.opened, drawn.order)


def lines(said: Sequence[SideLine], *, key: str, label: str, wraps: bool = False) -> Location | None:
    """Lines below each other, of which some lead to a place; the place of the one that was clicked.

    `label` says in a few words what they are; `wraps` folds what is wider than the page, else it is scrolled.
    """
    data: dict[str, Json] = {
        "label": label,
        "wraps": wraps,
        "lines": [
            {
                "runs": [[run.style.value, run.text] for run in line],
                "leads": location is not None,
                "folds": is_folded,
            }
            for (line, location), is_folded in zip(said, folds([line for line, _ in said]), strict=True)
        ],
    }
    drawn = _component("lines", ("main.js",))(key=key, data=data, on_picked_change=_nothing)
    index = -1 if drawn.picked is None else int(drawn.picked)
    return said[index].location if 0 <= index < len(said) else None


def palette(pages: Sequence[tuple[str, str]], keys: Sequence[tuple[str, str]]) -> dict[str, str] | None:
    """The search from anywhere; `pages` are paths with titles, `keys` what is listed as help.

    What was chosen: `{"page": path}`, `{"trace": id}`, `{"words": text}` or `{"filter": text}`.
    """
    data: dict[str, Json] = {"pages": [list(one) for one in pages], "keys": [list(one) for one in keys]}
    drawn = _component("palette", ("main.js",))(key="weaklink_palette", data=data, on_chosen_change=_nothing)
    return dict(drawn.chosen) if drawn.chosen else None


def picture(drawn: Picture, *, key: str, selected: str | None = None) -> str | None:
    """A picture; the key of what was clicked."""
    done = _component("picture", ("main.js",))(key=key, data=drawn.data(selected), on_picked_change=_nothing)
    return str(done.picked) if done.picked else None


def _cell(cell: ListingCell) -> dict[str, Json]:
    line, share = (cell.line, cell.share) if isinstance(cell, BarCell) else (cell, None)
    return {"runs": [[run.style.value, run.text] for run in line], "share": share}


@cache
def _component(name: str, scripts: Sequence[str]) -> Callable[..., Any]:
    folder = _FOLDER / name
    return component(
        f"weaklink_{name}",
        html=(folder / "frame.html").read_text(encoding="utf-8"),
        css=colour_rules() + (folder / "style.css").read_text(encoding="utf-8"),
        js="\n".join((folder / script).read_text(encoding="utf-8") for script in scripts),
    )


def _nothing() -> None:
    """Streamlit offers a trigger's value only where somebody listens."""
