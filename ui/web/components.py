"""Custom elements of the pages: inline Streamlit components without a build step; each has a folder of files here.

Interactive elements return what the user did in this run; a value is None if nothing happened.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, assert_never

import streamlit as st
from streamlit.components.v2 import component

from weaklink.inspector.model import Json
from weaklink.ui.views.dissect.side import SideLine
from weaklink.ui.views.styled_text import Line, LineKind, visible_line
from weaklink.ui.web.markup import MAX_ROOM_ROWS, ROW_PX, colour_rules, prose_runs
from weaklink.ui.web.pictures import location_object

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
        "folding.js",
        "decoding.js",
        "markdown.js",
        "reader.js",
        "facts.js",
        "divider.js",
    ),
    *("faults.js", "locations.js", "searching.js", "copying.js", "keys.js", "main.js"),
)


class MinimumWidth(StrEnum):
    """The width that a listing needs to show a column, from that of a phone to that of a large screen."""

    ANY = ""
    SMALL = "small"
    MEDIUM = "medium"
    WIDE = "wide"
    WIDEST = "widest"


class BarCell(NamedTuple):
    """A cell with a bar before its text: a `share` of 1 fills the bar, None draws no bar."""

    share: float | None
    line: Line


class LinkCell(NamedTuple):
    """A cell that opens something other than its row: a click on it returns this key as `ListingEvent.opened`."""

    key: str
    line: Line
    share: float | None = None


class FilterCell(NamedTuple):
    """A cell whose value can be a filter: a click on its funnel returns this term as `ListingEvent.filtered`."""

    term: str
    line: Line


class HintCell(NamedTuple):
    """A cell with a longer form of its text (`hint`), which is shown while the pointer is over it."""

    hint: str
    line: Line


ListingCell: TypeAlias = Line | BarCell | LinkCell | FilterCell | HintCell


class ListingColumn(NamedTuple):
    """A column of a listing: its title, the alignment of its text, its font, and the width that it needs (`room`).

    A click on the title of a column with an `order` requests the rows in that order. Elastic columns share the width
    that the others leave, at least 180 pixels each, and truncate their text to it; a column that `is_broad` has as much
    at least. The cells of a column with `is_link` link to the address of their row.
    """

    title: str
    align: str = ""
    mono: bool = False
    room: MinimumWidth = MinimumWidth.ANY
    order: str = ""
    is_elastic: bool = False
    is_link: bool = False
    hint: str = ""
    is_broad: bool = False


class ListingRow(NamedTuple):
    """A row of a listing: its key, one cell per column, and the address that a middle click or Ctrl-click opens."""

    key: str
    cells: Sequence[ListingCell]
    address: str = ""


class ListingEvent(NamedTuple):
    """What the user did in a listing: the key of the selected or opened row, the chosen order or filter term."""

    picked: str | None = None
    opened: str | None = None
    order: str | None = None
    filtered: str | None = None


class DissectorEvent(NamedTuple):
    """What happened in a dissector: it needs the text around the position `needed`, or the user went to another trace.

    `beside` is -1 for the newer trace and 1 for the older one. `ended` is true if a running trace has ended.
    """

    needed: dict[str, Any] | None = None
    beside: int = 0
    ended: bool = False


def dissector(data: dict[str, Json], *, key: str) -> DissectorEvent:
    """Draw the stream of a trace and its values (`browser_data`). The browser keeps the selection in the address."""
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
    has_focus: bool = False,
    has_details: bool = False,
) -> ListingEvent:
    """Draw a table; keys move the selection, and Enter or a double click opens a row (with `is_eager`, any click).

    `label` is the table's name for screen readers; a table higher than `most_rem` scrolls. `order` is the current order
    of the rows, ascending with `is_ascending`; a click on the title of a column with an `order` requests that order. If
    the width is too small for all columns, a table with `is_stacked` shows the cells of a row below each other with
    their titles; other tables hide columns. With `has_focus`, the keys work as soon as the page is shown. With
    `has_details`, the details of a selected row are beside the table (`table_and_details`).
    """
    data: dict[str, Json] = {
        "columns": [
            {
                "title": column.title,
                "align": column.align,
                "mono": column.mono,
                "room": column.room.value,
                "order": column.order,
                "elastic": column.is_elastic,
                "broad": column.is_broad,
                "link": column.is_link,
                "hint": column.hint,
            }
            for column in columns
        ],
        "rows": [
            {"key": row.key, "address": row.address, "cells": [_cell(cell) for cell in row.cells]} for row in rows
        ],
        "selected": selected,
        "label": label,
        "eager": is_eager,
        "most": most_rem,
        "order": order,
        "ascending": is_ascending,
        "stacked": is_stacked,
        "focus": has_focus,
        "details": has_details,
    }
    room_rows = min(len(rows) + 1, most_rem * 16 // ROW_PX, MAX_ROOM_ROWS)
    with st.container(key=f"weaklink_rows_{room_rows}_{key}"):  # so that nothing moves when it is drawn
        drawn = _component("listing", ("main.js",))(
            key=key,
            data=data,
            on_picked_change=_nothing,
            on_opened_change=_nothing,
            on_order_change=_nothing,
            on_filtered_change=_nothing,
        )
    return ListingEvent(drawn.picked, drawn.opened, drawn.order, drawn.filtered)


def lines_data(
    side_lines: Sequence[SideLine], *, label: str, wraps: bool = False, clips: bool = False
) -> dict[str, Json]:
    """The data of `lines`; a click on a line with a position selects it in the stream.

    `label` is a short name of the lines; `wraps` wraps also lines in columns, which scroll else; `clips` truncates
    sentences on a wide screen and shows the whole one while the pointer is over it.
    """
    return {
        "label": label,
        "wraps": wraps,
        "clips": clips,
        "lines": [
            {
                "runs": [list(run) for run in _runs(line)],
                "location": None if line.location is None else location_object(line.location),
                "kind": line.kind.value,
            }
            for line in side_lines
        ],
    }


def _runs(line: SideLine) -> list[tuple[str, str]]:
    """The styles and texts of a line; a fact's name is without the blanks around it."""
    match line.kind:
        case LineKind.SENTENCE:
            return prose_runs(line.line)
        case LineKind.FACT:
            name, *value = line.line
            return [(name.style.value, name.text.strip()), *prose_runs(tuple(value))]
        case LineKind.COLUMNS:
            return [(run.style.value, run.text) for run in line.line]
    assert_never(line.kind)


def lines(data: dict[str, Json], *, key: str) -> None:
    """Draw lines (`lines_data`); a view of a trace follows the selection in its stream."""
    _component("lines", ("../follow.js", "main.js"))(key=key, data=data)


def header(
    pages: Sequence[tuple[str, str, str]],
    keys: Sequence[tuple[str, str]],
    *,
    page: str,
    filter_text: str,
    database: str,
    searches: bool,
) -> None:
    """Draw the menu of pages, the name of the database and, if it `searches`, the button of the command palette.

    `pages` are paths with titles and the titles of their sections, the home page first; `page` is the path of the
    current one. A page that is opened in another tab has the filter too. `keys` are the shortcuts that the palette
    lists with their meanings.
    """
    data: dict[str, Json] = {
        "pages": [list(page) for page in pages],
        "page": page,
        "filter": filter_text,
        "keys": [list(key) for key in keys],
        "database": visible_line(database),
        "searches": searches,
    }
    _component("header", ("main.js",))(key="weaklink_palette", data=data)


def picture(data: dict[str, Json], *, key: str) -> None:
    """Draw a picture (`Picture.data`); a view of a trace follows the selection in its stream."""
    _component("picture", ("../follow.js", "main.js"))(key=key, data=data)


def watch_element(id_: str, state: str, *, key: str, every_s: float) -> None:
    """Draw nothing; the fragment around this runs again when the state of the watch is another (`watching.watch`)."""
    data: dict[str, Json] = {"id": id_, "state": state, "every_ms": round(every_s * 1_000)}
    _component("watch", ("main.js",))(key=key, data=data, on_news_change=_nothing)


def _cell(cell: ListingCell) -> dict[str, Json]:
    line = cell.line if isinstance(cell, BarCell | LinkCell | FilterCell | HintCell) else cell
    return {
        "runs": [[run.style.value, run.text] for run in line],
        "share": cell.share if isinstance(cell, BarCell | LinkCell) else None,
        "opens": cell.key if isinstance(cell, LinkCell) else None,
        "term": cell.term if isinstance(cell, FilterCell) else None,
        "title": visible_line(f"Filter by {cell.term}") if isinstance(cell, FilterCell) else None,
        "hint": visible_line(cell.hint) if isinstance(cell, HintCell) else "",
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
    """Streamlit returns a trigger's value only if the trigger has a callback."""
