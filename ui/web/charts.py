"""Charts that can be clicked: what was clicked comes back as the values of that mark.

A chart is a new one after each click, else the browser would keep what was clicked, and a second click on it be none.
Words upon marks have no tooltip of their own: they would take the clicks that are meant for the marks.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import altair as alt
import streamlit as st

from ui.views.colours import DARK, LIGHT, Colours
from ui.views.status import status_run
from ui.views.styled_text import Style, visible_line
from ui.views.triage import STATUSES, percent
from ui.web.markup import ink_on, mixed

Rows: TypeAlias = Sequence[Mapping[str, object]]
_Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart
TALL, HIGH, LOW = 400, 300, 200
"""Heights in CSS pixels: of tables, of charts of many marks and of few. Those beside each other have the same."""
_PICK = "pick"
_CLICKS = "weaklink_chart_clicks"
_FONT = 12
_HEADROOM = 1.15  # above the highest bar, for its number
_LEGEND_COLUMNS = "width < 400 ? 3 : 5"  # so that every status is seen on a phone
_LABELS = "containerSize()[0] < 420 ? 100 : 170"  # CSS pixels of the longest name beside a heat map
_NARROW = 220  # CSS pixels that a chart has for its marks at least, on a phone
_WIDE_CELL, _NARROW_CELL = 40, 20  # CSS pixels that a cell has for `100 %` and for `100`
_THICKEST = 40  # of a bar, in CSS pixels
STATUS_STYLES = {status.value: status_run(status).style for status in STATUSES}


def columns(rows: Rows, *, label: str, count: str, key: str, title: str, height: int) -> str | None:
    """Upright bars in the order of the rows, each with its count; the label of the one that was clicked."""
    most = max(int(str(row[count])) for row in rows)
    base = alt.Chart(_data(rows)).encode(
        x=alt.X(f"{label}:N", sort=None, title=title, axis=alt.Axis(labelAngle=0, ticks=False)),
        y=alt.Y(f"{count}:Q", axis=None, scale=alt.Scale(domain=[0, _HEADROOM * most])),
    )
    told = [alt.Tooltip(f"{label}:N", title=title), alt.Tooltip(f"{count}:Q", format=",")]
    drawn = base.mark_bar(color=_colour_of(Style.ERROR), cursor="pointer", size=_thickness(_NARROW, len(rows))).encode(
        tooltip=told
    )
    words = base.mark_text(dy=-8, fontSize=_FONT, color=_colour_of(Style.PLAIN)).encode(
        text=alt.Text(f"{count}:Q", format=",")
    )
    return _clicked(alt.layer(drawn.add_params(_pick(label)), words), key, label, height)


def statuses_over_time(rows: Rows, *, key: str, is_share: bool, height: int) -> str | None:
    """Traces by status over time, as counts or as shares; the `key` of the segment that was clicked.

    A row has `start` and `end`, days in UTC: a bar is as wide as its time, and a time without traces is a gap.
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
                alt.Tooltip("share:Q", title="share of this time", format=".0%"),
            ],
        )
        .add_params(_pick("key"))
    )
    return _clicked(drawn, key, "key", height)


def heat_map(rows: Rows, *, across: str, down: str, share: str, key: str, height: int) -> tuple[str, str] | None:
    """A cell for each pair, the stronger the larger its share, which it says in per cent; the pair that was clicked.

    A row has `title`, what the tooltip calls the column. The text of a cell stands out from its own colour; in a narrow
    cell it is the number alone.
    """
    colours = _colours()
    meant = {visible_line(str(row[name])): str(row[name]) for row in rows for name in (across, down)}
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
    told = [
        alt.Tooltip(f"{down}:N"),
        alt.Tooltip("title:N", title=across),
        alt.Tooltip("traces:Q", format=","),
        alt.Tooltip(f"{share}:Q", title="share of its traces", format=".1%"),
    ]
    cells = base.mark_rect(stroke=colours.background, strokeWidth=2, cursor="pointer").encode(
        color=alt.Color("fill:N", scale=None), tooltip=told
    )
    is_wide = f"width / {count} >= {_WIDE_CELL}"
    ink = alt.Color("ink:N", scale=None)
    words, numbers = (
        base.mark_text(fontSize=_FONT, opacity=alt.ExprRef(f"{is_shown} ? 1 : 0")).encode(text=text, color=ink)
        for text, is_shown in (("said:N", is_wide), ("number:N", f"!({is_wide}) && width / {count} >= {_NARROW_CELL}"))
    )
    found = _picked(alt.layer(cells.add_params(_pick(across, down)), words, numbers), key, height)
    return (meant[str(found[across])], meant[str(found[down])]) if found else None


def _paint(share: float, colours: Colours) -> dict[str, str]:
    """What a cell looks like; the root of the share, so that small shares can be told from none."""
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
    """Of so many bars beside each other in that room."""
    return min(0.7 * room / max(count, 1), _THICKEST)


def _colour_of(style: Style) -> str:
    return _colours().of[style]


def _colours() -> Colours:
    return DARK if st.context.theme.type == "dark" else LIGHT
