"""Our own elements of the page as components of Streamlit: inline, without a build step, their files in folders here.

Each gives what the user did in this run, None where nothing was done.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from streamlit.components.v2 import component

from inspector.model import Json
from ui.views.dissect.side import SideLine
from ui.views.styled_text import Line, visible_line
from ui.web.markup import colour_rules, folds
from ui.web.pictures import location_object

_FOLDER = Path(__file__).parent
_DISSECTOR = (
    *(
        "../follow.js",
        "delta.js",
        "offsets.js",
        "visible.js",
        "layout.js",
        "list.js",
        "arrivals.js",
        "drawing.js",
        "facts.js",
    ),
    *("faults.js", "places.js", "searching.js", "copying.js", "keys.js", "main.js"),
)


class MinimumWidth(StrEnum):
    """How wide a listing must be for a column to be shown: any, beside a preview, half a screen, or a whole one."""

    ANY = ""
    SMALL = "small"
    MEDIUM = "medium"
    WIDE = "wide"


class BarCell(NamedTuple):
    """A cell with a bar before its words: `share` of 1 fills it, None draws none."""

    share: float | None
    line: Line


class LinkCell(NamedTuple):
    """A cell whose click opens something else than its row: what is known by this key."""

    key: str
    line: Line
    share: float | None = None


class FilterCell(NamedTuple):
    """A cell with a value that can be filtered by: a click on its funnel gives this term."""

    term: str
    line: Line


ListingCell: TypeAlias = Line | BarCell | LinkCell | FilterCell


class ListingColumn(NamedTuple):
    """A column of a listing: its title, on which side its words are, whether in a fixed-width font, and its room.

    A click on the title of a column with an `order` asks for the rows in that order. Columns that are elastic share the
    room that the others leave, and cut their words where it ends.
    """

    title: str
    align: str = ""
    mono: bool = False
    room: MinimumWidth = MinimumWidth.ANY
    order: str = ""
    is_elastic: bool = False


class ListingRow(NamedTuple):
    """A row of a listing: what it is known by, and a cell a column."""

    key: str
    cells: Sequence[ListingCell]


class ListingEvent(NamedTuple):
    """What was done in a listing: the row that was selected or opened, the order or filter term that was chosen."""

    picked: str | None = None
    opened: str | None = None
    order: str | None = None
    filtered: str | None = None


class DissectorEvent(NamedTuple):
    """What was done in a dissector: a position whose text it needs, `beside` -1 for a newer trace and 1 for an older.

    `ended` says that the trace, which was running, has ended.
    """

    needed: dict[str, Any] | None = None
    beside: int = 0
    ended: bool = False


def dissector(data: dict[str, Json], *, key: str) -> DissectorEvent:
    """The stream of a trace and its values (`browser_data`). It keeps the selection, and writes it to the address."""
    drawn = _component("dissector", _DISSECTOR)(
        key=key, data=data, on_needed_change=_nothing, on_beside_change=_nothing, on_ended_change=_nothing
    )
    return DissectorEvent(dict(drawn.needed) if drawn.needed else None, int(drawn.beside or 0), bool(drawn.ended))


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
    is_ascending: bool = False,
    is_stacked: bool = False,
) -> ListingEvent:
    """A table whose rows can be walked by keys and opened by Enter or a double click, by any click where it is eager.

    `label` names it to those who hear the page; it scrolls where it is higher than `most_rem`. `order` is that of the
    rows, which `is_ascending` says goes upwards: a click on the title of a column with an order asks for that one.
    Where there is no room for all columns, the cells of a row that `is_stacked` stand below each other with their
    titles, and none is left out.
    """
    data: dict[str, Json] = {
        "columns": [
            {
                "title": one.title,
                "align": one.align,
                "mono": one.mono,
                "room": one.room.value,
                "order": one.order,
                "elastic": one.is_elastic,
            }
            for one in columns
        ],
        "rows": [{"key": row.key, "cells": [_cell(cell) for cell in row.cells]} for row in rows],
        "selected": selected,
        "label": label,
        "eager": is_eager,
        "most": most_rem,
        "order": order,
        "ascending": is_ascending,
        "stacked": is_stacked,
    }
    drawn = _component("listing", ("main.js",))(
        key=key,
        data=data,
        on_picked_change=_nothing,
        on_opened_change=_nothing,
        on_order_change=_nothing,
        on_filtered_change=_nothing,
    )
    return ListingEvent(drawn.picked, drawn.opened, drawn.order, drawn.filtered)


def lines_data(said: Sequence[SideLine], *, label: str, wraps: bool = False) -> dict[str, Json]:
    """Lines below each other as `lines` takes them; those with a position select it in the stream.

    `label` says in a few words what they are; `wraps` folds what is wider than the page, else it is scrolled.
    """
    return {
        "label": label,
        "wraps": wraps,
        "lines": [
            {
                "runs": [[run.style.value, run.text] for run in line],
                "place": None if location is None else location_object(location),
                "folds": is_folded,
            }
            for (line, location), is_folded in zip(said, folds([line for line, _ in said]), strict=True)
        ],
    }


def lines(data: dict[str, Json], *, key: str) -> None:
    """Draw lines (`lines_data`); as a view of a trace they follow the selection in its stream."""
    _component("lines", ("../follow.js", "main.js"))(key=key, data=data)


def palette(pages: Sequence[tuple[str, str]], keys: Sequence[tuple[str, str]]) -> dict[str, str] | None:
    """The search from anywhere; `pages` are paths with titles, `keys` what is listed as help.

    What was chosen: `{"page": path}`, `{"trace": id}`, `{"words": text}` or `{"filter": text}`.
    """
    data: dict[str, Json] = {"pages": [list(one) for one in pages], "keys": [list(one) for one in keys]}
    drawn = _component("palette", ("main.js",))(key="weaklink_palette", data=data, on_chosen_change=_nothing)
    return dict(drawn.chosen) if drawn.chosen else None


def picture(data: dict[str, Json], *, key: str) -> None:
    """Draw a picture (`Picture.data`); as a view of a trace it follows the selection in its stream."""
    _component("picture", ("../follow.js", "main.js"))(key=key, data=data)


def _cell(cell: ListingCell) -> dict[str, Json]:
    line = cell.line if isinstance(cell, BarCell | LinkCell | FilterCell) else cell
    return {
        "runs": [[run.style.value, run.text] for run in line],
        "share": cell.share if isinstance(cell, BarCell | LinkCell) else None,
        "opens": cell.key if isinstance(cell, LinkCell) else None,
        "term": cell.term if isinstance(cell, FilterCell) else None,
        "title": visible_line(f"Filter by {cell.term}") if isinstance(cell, FilterCell) else None,
    }


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
