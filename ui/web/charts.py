"""Clickable charts as specifications of Vega-Lite: a click returns the values of the clicked mark.

They are plain dictionaries, since Altair builds and validates its objects for 0.1 s, four fifths of the first page
(measured with `python -m benchmarks web`, 2026-11-29).
A chart gets a new key after each click: with the old key the browser would keep the selection, and a second click on
the same mark would have no effect. Labels on marks have no tooltip: it would catch the clicks meant for the marks.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import streamlit as st

from weaklink.ui.views.colours import DARK, LIGHT, Colours
from weaklink.ui.views.status import status_run
from weaklink.ui.views.styled_text import Style, visible_line
from weaklink.ui.views.triage import STATUSES, percent
from weaklink.ui.web.markup import ink_on, mixed

Rows: TypeAlias = Sequence[Mapping[str, object]]
_Spec: TypeAlias = dict[str, Any]
TALL, HIGH, LOW = 400, 300, 200
"""Heights in CSS pixels: of tables, of charts with many marks, and with few. Neighbours have the same height."""
_PICK = "pick"
_CLICKS = "weaklink_chart_clicks"
_FONT = 12
_HEADROOM = 1.15  # times the highest bar: leaves room above it for its number
_LEGEND_COLUMNS = "width < 400 ? 3 : 5"  # so that every status is visible on a phone
_LABELS = "containerSize()[0] < 420 ? 100 : 170"  # maximum width of the names beside a heat map, in CSS pixels
_NARROW = 220  # minimum width of a chart's marks, in CSS pixels: that on a phone
_WIDE_CELL, _NARROW_CELL = 40, 20  # minimum widths of a cell for `100 %` and for `100`, in CSS pixels
_BARE_AXIS = {"ticks": False, "domain": False}
_THICKEST = 40  # maximum thickness of a bar, in CSS pixels
STATUS_STYLES = {status.value: status_run(status).style for status in STATUSES}


def columns(rows: Rows, *, label: str, count: str, key: str, title: str, height: int) -> str | None:
    """Draw vertical bars in the order of the rows, each with its count; return the clicked bar's label, or None."""
    most = max(int(str(row[count])) for row in rows)
    x = {"field": label, "type": "nominal", "sort": None, "title": title, "axis": {"labelAngle": 0, "ticks": False}}
    y = {"field": count, "type": "quantitative", "axis": None, "scale": {"domain": [0, _HEADROOM * most]}}
    bar = {"type": "bar", "color": _colour_of(Style.ERROR), "cursor": "pointer", "size": _thickness(_NARROW, len(rows))}
    text = {"type": "text", "dy": -8, "fontSize": _FONT, "color": _colour_of(Style.PLAIN)}
    tooltip = [_tip(label, "nominal", title=title), _tip(count, format=",")]
    bars = {"mark": bar, "encoding": {"x": x, "y": y, "tooltip": tooltip}, "params": [_pick(label)]}
    words = {"mark": text, "encoding": {"x": x, "y": y, "text": _tip(count, format=",")}}
    return _clicked({"data": _data(rows), "layer": [bars, words]}, key, label, height)


def statuses_over_time(rows: Rows, *, key: str, is_share: bool, height: int) -> str | None:
    """Draw traces by status over time, as counts or as shares; return the `key` of the clicked segment, or None.

    A row has `start` and `end`, days in UTC: a bar is as wide as its period, and a period without traces is a gap.
    """
    total: dict[str, int] = {}
    for row in rows:
        total[str(row["start"])] = total.get(str(row["start"]), 0) + int(str(row["traces"]))
    drawn_rows, below = [], dict.fromkeys(total, 0)
    for row in sorted(rows, key=lambda row: int(str(row["rank"])), reverse=True):
        start = str(row["start"])
        of = total[start] if is_share else 1
        low, below[start] = below[start], below[start] + int(str(row["traces"]))
        drawn_rows.append(
            {**row, "low": low / of, "high": below[start] / of, "share": int(str(row["traces"])) / total[start]}
        )
    axis = {"tickMinStep": 0.25 if is_share else 1, "tickCount": 5, "format": ".0%" if is_share else ",d"}
    colours = {"domain": list(STATUS_STYLES), "range": [_colour_of(style) for style in STATUS_STYLES.values()]}
    encoding = {
        "x": {
            "field": "start",
            "type": "temporal",
            "title": None,
            "scale": {"type": "utc", "padding": 8},
            "axis": {"labelOverlap": True, "tickCount": 6, "grid": False},
        },
        "x2": {"field": "end"},
        "y": {"field": "low", "type": "quantitative", "title": None, "axis": axis},
        "y2": {"field": "high"},
        "color": {
            "field": "status",
            "type": "nominal",
            "scale": colours,
            "legend": {"orient": "top", "title": None, "columns": {"expr": _LEGEND_COLUMNS}},
        },
        "tooltip": [
            _tip("time", "nominal", title="time (UTC)"),
            _tip("status", "nominal"),
            _tip("traces", format=","),
            _tip("share", title="share of this period", format=".0%"),
        ],
    }
    bars = {"type": "bar", "cursor": "pointer"}
    spec: _Spec = {"data": _data(drawn_rows), "mark": bars, "encoding": encoding, "params": [_pick("key")]}
    return _clicked(spec, key, "key", height)


def heat_map(rows: Rows, *, across: str, down: str, share: str, key: str, height: int) -> tuple[str, str] | None:
    """Draw a cell for each pair, coloured by its share, with the share in per cent; return the clicked pair, or None.

    A row's `title` is the name of its column in the tooltip. The text of a cell contrasts with the cell's colour; a
    narrow cell shows the number without the per cent sign.
    """
    colours = _colours()
    originals = {visible_line(str(row[name])): str(row[name]) for row in rows for name in (across, down)}
    painted = [
        {
            **row,
            across: visible_line(str(row[across])),
            down: visible_line(str(row[down])),
            **_paint(float(str(row[share])), colours),
        }
        for row in rows
    ]
    count = len({row[across] for row in painted})
    x_axis = {"orient": "top", "labelAngle": -90, "labelFontSize": _FONT, "labelOverlap": False}
    y_axis = {"labelLimit": {"expr": _LABELS}}
    axes: _Spec = {
        name: {"field": field, "type": "nominal", "sort": None, "title": None, "axis": {**axis, **_BARE_AXIS}}
        for name, field, axis in (("x", across, x_axis), ("y", down, y_axis))
    }
    tooltip = [
        _tip(down, "nominal"),
        _tip("title", "nominal", title=across),
        _tip("traces", format=","),
        _tip(share, title="share of its traces", format=".1%"),
    ]
    cells = {
        "mark": {"type": "rect", "stroke": colours.background, "strokeWidth": 2, "cursor": "pointer"},
        "encoding": {**axes, "color": _as_is("fill"), "tooltip": tooltip},
        "params": [_pick(across, down)],
    }
    is_wide = f"width / {count} >= {_WIDE_CELL}"
    words, numbers = (
        {
            "mark": {"type": "text", "fontSize": _FONT, "opacity": {"expr": f"{is_shown} ? 1 : 0"}},
            "encoding": {**axes, "text": _tip(text, "nominal"), "color": _as_is("ink")},
        }
        for text, is_shown in (("said", is_wide), ("number", f"!({is_wide}) && width / {count} >= {_NARROW_CELL}"))
    )
    clicked = _picked({"data": _data(painted), "layer": [cells, words, numbers]}, key, height)
    return (originals[str(clicked[across])], originals[str(clicked[down])]) if clicked else None


def _paint(share: float, colours: Colours) -> dict[str, str]:
    """The colours and text of a cell; the square root of the share makes small shares visible."""
    fill = mixed(colours.surface, colours.of[Style.ERROR], share**0.5)
    number = percent(share) if share else ""
    return {"fill": fill, "ink": ink_on(fill), "said": f"{number} %" if number else "", "number": number}


def _data(rows: Rows) -> _Spec:
    """The rows as values of a chart, with halves of surrogate pairs as escapes: Arrow's texts have none."""
    return {
        "values": [
            {
                name: value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
                for name, value in row.items()
            }
            for row in rows
        ]
    }


def _tip(field: str, type_: str = "quantitative", **options: str) -> _Spec:
    """A field whose values are shown as text."""
    return {"field": field, "type": type_, **options}


def _as_is(field: str) -> _Spec:
    """A field whose values are colours."""
    return {"field": field, "type": "nominal", "scale": None}


def _pick(*fields: str) -> _Spec:
    return {"name": _PICK, "select": {"type": "point", "fields": list(fields), "on": "click"}}


def _clicked(spec: _Spec, key: str, label: str, height: int) -> str | None:
    selection = _picked(spec, key, height)
    return str(selection[label]) if selection else None


def _picked(spec: _Spec, key: str, height: int) -> Mapping[str, Any] | None:
    clicks = st.session_state.setdefault(_CLICKS, 0)
    event: Any = st.vega_lite_chart(
        {**spec, "height": height}, key=f"{key}_{clicks}", on_select="rerun", theme="streamlit", width="stretch"
    )
    chosen: list[Mapping[str, Any]] | None = event.selection.get(_PICK) if event and event.selection else None
    if not chosen:
        return None
    st.session_state[_CLICKS] = clicks + 1
    return chosen[0]


def _thickness(room: int, count: int) -> float:
    """The thickness of `count` bars that share this width, in CSS pixels."""
    return min(0.7 * room / max(count, 1), _THICKEST)


def _colour_of(style: Style) -> str:
    return _colours().of[style]


def _colours() -> Colours:
    return DARK if st.context.theme.type == "dark" else LIGHT
