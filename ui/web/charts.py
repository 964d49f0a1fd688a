"""Clickable charts: a click returns the values of the clicked mark.

A chart gets a new key after each click: with the old key the browser would keep the selection, and a second click on
the same mark would have no effect. Labels on marks have no tooltip: it would catch the clicks meant for the marks.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import altair as alt
import streamlit as st

from weaklink.ui.views.colours import DARK, LIGHT, Colours
from weaklink.ui.views.status import status_run
from weaklink.ui.views.styled_text import Style, visible_line
from weaklink.ui.views.triage import STATUSES, percent
from weaklink.ui.web.markup import ink_on, mixed

Rows: TypeAlias = Sequence[Mapping[str, object]]
_Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart
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
_THICKEST = 40  # maximum thickness of a bar, in CSS pixels
STATUS_STYLES = {status.value: status_run(status).style for status in STATUSES}


def columns(rows: Rows, *, label: str, count: str, key: str, title: str, height: int) -> str | None:
    """Draw vertical bars in the order of the rows, each with its count; return the clicked bar's label, or None."""
    most = max(int(str(row[count])) for row in rows)
    base = alt.Chart(_data(rows)).encode(
        x=alt.X(f"{label}:N", sort=None, title=title, axis=alt.Axis(labelAngle=0, ticks=False)),
        y=alt.Y(f"{count}:Q", axis=None, scale=alt.Scale(domain=[0, _HEADROOM * most])),
    )
    tooltip = [alt.Tooltip(f"{label}:N", title=title), alt.Tooltip(f"{count}:Q", format=",")]
    drawn = base.mark_bar(color=_colour_of(Style.ERROR), cursor="pointer", size=_thickness(_NARROW, len(rows))).encode(
        tooltip=tooltip
    )
    words = base.mark_text(dy=-8, fontSize=_FONT, color=_colour_of(Style.PLAIN)).encode(
        text=alt.Text(f"{count}:Q", format=",")
    )
    return _clicked(alt.layer(drawn.add_params(_pick(label)), words), key, label, height)


def statuses_over_time(rows: Rows, *, key: str, is_share: bool, height: int) -> str | None:
    """Draw traces by status over time, as counts or as shares; return the `key` of the clicked segment, or None.

    A row has `start` and `end`, days in UTC: a bar is as wide as its period, and a period without traces is a gap.
    """
    total: dict[str, int] = {}
    for row in rows:
        total[str(row["start"])] = total.get(str(row["start"]), 0) + int(str(row["traces"]))
    drawn_rows, below = [], dict.fromkeys(total, 0)
    for row in sorted(rows, key=lambda one: int(str(one["rank"])), reverse=True):
        start = str(row["start"])
        of = total[start] if is_share else 1
        low, below[start] = below[start], below[start] + int(str(row["traces"]))
        drawn_rows.append(
            {**row, "low": low / of, "high": below[start] / of, "share": int(str(row["traces"])) / total[start]}
        )
    scale = alt.Scale(type="utc", padding=8)
    drawn = (
        alt.Chart(_data(drawn_rows))
        .mark_bar(cursor="pointer")
        .encode(
            x=alt.X("start:T", title=None, scale=scale, axis=alt.Axis(labelOverlap=True, tickCount=6, grid=False)),
            x2=alt.X2("end:T"),
            y=alt.Y(
                "low:Q",
                title=None,
                axis=alt.Axis(tickMinStep=0.25 if is_share else 1, tickCount=5, format=".0%" if is_share else ",d"),
            ),
            y2=alt.Y2("high:Q"),
            color=alt.Color(
                "status:N",
                scale=alt.Scale(
                    domain=list(STATUS_STYLES), range=[_colour_of(style) for style in STATUS_STYLES.values()]
                ),
                legend=alt.Legend(orient="top", title=None, columns=alt.ExprRef(_LEGEND_COLUMNS)),
            ),
            tooltip=[
                alt.Tooltip("time:N", title="time (UTC)"),
                "status:N",
                alt.Tooltip("traces:Q", format=","),
                alt.Tooltip("share:Q", title="share of this period", format=".0%"),
            ],
        )
        .add_params(_pick("key"))
    )
    return _clicked(drawn, key, "key", height)


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
    base = alt.Chart(_data(painted)).encode(
        x=alt.X(
            f"{across}:N",
            sort=None,
            title=None,
            axis=alt.Axis(
                orient="top", labelAngle=-90, labelFontSize=_FONT, labelOverlap=False, ticks=False, domain=False
            ),
        ),
        y=alt.Y(
            f"{down}:N",
            sort=None,
            title=None,
            axis=alt.Axis(labelLimit=alt.ExprRef(_LABELS), ticks=False, domain=False),
        ),
    )
    tooltip = [
        alt.Tooltip(f"{down}:N"),
        alt.Tooltip("title:N", title=across),
        alt.Tooltip("traces:Q", format=","),
        alt.Tooltip(f"{share}:Q", title="share of its traces", format=".1%"),
    ]
    cells = base.mark_rect(stroke=colours.background, strokeWidth=2, cursor="pointer").encode(
        color=alt.Color("fill:N", scale=None), tooltip=tooltip
    )
    is_wide = f"width / {count} >= {_WIDE_CELL}"
    ink = alt.Color("ink:N", scale=None)
    words, numbers = (
        base.mark_text(fontSize=_FONT, opacity=alt.ExprRef(f"{is_shown} ? 1 : 0")).encode(text=text, color=ink)
        for text, is_shown in (("said:N", is_wide), ("number:N", f"!({is_wide}) && width / {count} >= {_NARROW_CELL}"))
    )
    found = _picked(alt.layer(cells.add_params(_pick(across, down)), words, numbers), key, height)
    return (originals[str(found[across])], originals[str(found[down])]) if found else None


def _paint(share: float, colours: Colours) -> dict[str, str]:
    """The colours and text of a cell; the square root of the share makes small shares visible."""
    fill = mixed(colours.surface, colours.of[Style.ERROR], share**0.5)
    number = percent(share) if share else ""
    return {"fill": fill, "ink": ink_on(fill), "said": f"{number} %" if number else "", "number": number}


def _data(rows: Rows) -> alt.Data:
    return alt.Data(values=list(rows))  # type: ignore[no-untyped-call]  # Altair's classes are generated


def _pick(*fields: str) -> alt.Parameter:
    return alt.selection_point(name=_PICK, fields=list(fields), on="click")


def _clicked(chart: _Chart, key: str, label: str, height: int) -> str | None:
    found = _picked(chart, key, height)
    return str(found[label]) if found else None


def _picked(chart: _Chart, key: str, height: int) -> Mapping[str, Any] | None:
    shown = chart.properties(height=height)
    clicks = st.session_state.setdefault(_CLICKS, 0)
    event: Any = st.altair_chart(shown, key=f"{key}_{clicks}", on_select="rerun", theme="streamlit", width="stretch")
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
