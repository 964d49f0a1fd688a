"""Charts that can be clicked: what was clicked comes back as the values of that mark."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import altair as alt
import streamlit as st

from inspector.chain.steps import Status
from ui.views.colours import DARK, LIGHT
from ui.views.palette import Style
from ui.views.visible import visible_line

Rows: TypeAlias = Sequence[Mapping[str, object]]
_PICK = "pick"
_STATUS = {
    Status.BROKEN.value: Style.ERROR,
    Status.ABORTED.value: Style.WARNING,
    Status.RECOVERED.value: Style.REASONING,
    Status.OK.value: Style.OK,
}


def bars(rows: Rows, *, label: str, count: str, key: str, order: Sequence[str] | None = None) -> str | None:
    """Horizontal bars, one a row; the label of the one that was clicked."""
    base = alt.Chart(_data(rows)).encode(
        y=alt.Y(f"{label}:N", sort=list(order) if order else "-x", title=None, axis=alt.Axis(labelLimit=260)),
        x=alt.X(f"{count}:Q", title="traces", axis=alt.Axis(tickMinStep=1, format="~s")),
        tooltip=[alt.Tooltip(f"{label}:N"), alt.Tooltip(f"{count}:Q", format=",")],
    )
    drawn = base.mark_bar(color=_colour(Style.ERROR)).add_params(_pick(label))
    return _clicked(drawn, key, label)


def columns(rows: Rows, *, label: str, count: str, key: str, title: str) -> str | None:
    """Upright bars in the order of the rows; the label of the one that was clicked."""
    drawn = (
        alt.Chart(_data(rows))
        .mark_bar(color=_colour(Style.ERROR))
        .encode(
            x=alt.X(f"{label}:N", sort=None, title=title, axis=alt.Axis(labelAngle=0)),
            y=alt.Y(f"{count}:Q", title="traces", axis=alt.Axis(tickMinStep=1, format="~s")),
            tooltip=[alt.Tooltip(f"{label}:N"), alt.Tooltip(f"{count}:Q", format=",")],
        )
        .add_params(_pick(label))
    )
    return _clicked(drawn, key, label)


def statuses_by_day(rows: Rows, *, key: str) -> tuple[str, str] | None:
    """Traces by day and status, stacked; the day and status that were clicked."""
    drawn = (
        alt.Chart(_data(rows))
        .mark_bar()
        .encode(
            x=alt.X("day:N", sort=None, title=None, axis=alt.Axis(labelAngle=0, labelOverlap=True)),
            y=alt.Y("traces:Q", title="traces", axis=alt.Axis(tickMinStep=1, format="~s")),
            color=alt.Color(
                "status:N",
                scale=alt.Scale(domain=list(_STATUS), range=[_colour(style) for style in _STATUS.values()]),
                legend=alt.Legend(orient="top", title=None),
            ),
            order=alt.Order("rank:Q"),
            tooltip=["day:N", "status:N", alt.Tooltip("traces:Q", format=",")],
        )
        .add_params(_pick("day", "status"))
    )
    found = _picked(drawn, key)
    return (str(found["day"]), str(found["status"])) if found else None


def heat_map(rows: Rows, *, across: str, down: str, share: str, key: str) -> tuple[str, str] | None:
    """A cell for each pair, the darker the larger its share; the pair that was clicked. Each cell says its share."""
    meant = {visible_line(str(row[key])): str(row[key]) for row in rows for key in (across, down)}
    shown = [{**row, across: visible_line(str(row[across])), down: visible_line(str(row[down]))} for row in rows]
    base = alt.Chart(_data(shown)).encode(
        x=alt.X(f"{across}:N", sort=None, title=None, axis=alt.Axis(orient="top", labelAngle=-35, labelLimit=160)),
        y=alt.Y(f"{down}:N", sort=None, title=None, axis=alt.Axis(labelLimit=200)),
    )
    cells = base.mark_rect(stroke=_ground()).encode(
        color=alt.Color(
            f"{share}:Q", scale=alt.Scale(range=[_ground(), _colour(Style.ERROR)], domain=[0, 1]), legend=None
        ),
        tooltip=[
            f"{down}:N",
            f"{across}:N",
            alt.Tooltip(f"{share}:Q", format=".1%"),
            alt.Tooltip("traces:Q", format=","),
        ],
    )
    words = base.mark_text(fontSize=11, color=_colour(Style.PLAIN)).encode(text=alt.Text(f"{share}:Q", format=".0%"))
    found = _picked((cells.add_params(_pick(across, down)) + words), key)
    return (meant[str(found[across])], meant[str(found[down])]) if found else None


def _data(rows: Rows) -> alt.Data:
    return alt.Data(values=list(rows))  # type: ignore[no-untyped-call]  # Altair's classes are generated


def _pick(*fields: str) -> alt.Parameter:
    return alt.selection_point(name=_PICK, fields=list(fields), on="click")


def _clicked(chart: alt.Chart, key: str, label: str) -> str | None:
    found = _picked(chart, key)
    return str(found[label]) if found else None


def _picked(chart: alt.Chart | alt.LayerChart, key: str) -> Mapping[str, Any] | None:
    event: Any = st.altair_chart(chart, key=key, on_select="rerun", theme="streamlit")
    chosen = event.selection.get(_PICK) if event and event.selection else None
    return chosen[0] if chosen else None


def _colour(style: Style) -> str:
    return (DARK if st.context.theme.type == "dark" else LIGHT).of[style]


def _ground() -> str:
    return (DARK if st.context.theme.type == "dark" else LIGHT).surface
