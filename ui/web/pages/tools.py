"""Tools: how often calls of each are sound, answered and made good, and which arguments break its schema."""

import streamlit as st

from inspector.chain.metrics import FEWEST, estimate
from inspector.chain.metrics_groups import GroupFigures, GroupKey
from inspector.chain.metrics_measures import MEASURES
from storage import Violations
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.stats_wording import bar, code_title, value_text
from ui.views.visible import visible_line
from ui.web.components import Column, Row, listing
from ui.web.filter_bar import filter_bar
from ui.web.filters import field, narrowed
from ui.web.places import asked, go, keep
from ui.web.serving import current
from ui.web.stores import store

_MOST = 200
_SHOWN = ("well_formed", "schema_compliance", "error_results", "error_recovery")
_MEASURES = tuple(measure for name in _SHOWN for measure in MEASURES if measure.name == name)
_FRESH_S = 30
_VIOLATED = (
    *(Column("tool"), Column("argument", mono=True), Column("rule")),
    *(Column("times", "end"), Column("traces", "end")),
)


def show() -> None:
    """Draw the page: every tool, and below them the violations of the one that is chosen, else of all."""
    st.title("Tools")
    wanted = filter_bar("tools")
    if wanted is None:
        return
    groups = _figures(current().where, wanted, store().paging().pulse().newest_id)
    if not groups:
        st.info("No trace that matches calls a tool.")
        return
    chosen = asked("tool")
    columns = (Column("tool"), Column("traces", "end"), *(Column(one.title) for one in _MEASURES))
    done = listing(columns, [_row(group) for group in groups[:_MOST]], key="weaklink_tools", selected=chosen)
    if done.picked is not None:
        chosen = done.picked
        keep(tool=chosen)
    if done.opened is not None:
        go("traces", filter=narrowed(wanted, field("tool", done.opened)))
    if len(groups) > _MOST:
        st.caption(f"The {_MOST} tools of the most traces, of {len(groups):,}.")
    _violations(wanted, chosen)


@st.cache_resource(show_spinner="Counting …", ttl=_FRESH_S, max_entries=32)
def _figures(where: str | None, wanted: str, newest: int) -> tuple[GroupFigures, ...]:
    return tuple(store().figures(wanted, by=(GroupKey.TOOL,)))


@st.cache_resource(show_spinner="Counting …", ttl=_FRESH_S, max_entries=32)
def _broken(where: str | None, wanted: str, newest: int) -> tuple[Violations, ...]:
    return tuple(store().violations(wanted, limit=_MOST))


def _row(group: GroupFigures) -> Row:
    tool = group.keys[0]
    cells: list[Line] = [(Run(visible_line(tool) or "(no readable name)", Style.STRONG),), (Run(f"{group.traces:,}"),)]
    for measure in _MEASURES:
        one = estimate(measure, group.tally(measure.name))
        drawn = f"{bar(one.value, 6)} " if one.value is not None else ""
        cells.append((Run(drawn, Style.INFO), Run(value_text(one, FEWEST))))
    return Row(tool, cells)


def _violations(wanted: str, tool: str) -> None:
    st.subheader("Where schemas are broken")
    found = _broken(current().where, narrowed(wanted, field("tool", tool)) if tool else wanted, _newest())
    found = tuple(one for one in found if not tool or one.tool == tool)
    if not found:
        st.caption(
            "No call broke the schema of its tool." if not tool else "No call of the chosen tool broke its schema."
        )
        return
    rows = [
        Row(
            str(index),
            (
                (Run(visible_line(one.tool), Style.STRONG),),
                (Run(visible_line(one.path) or "(the arguments as a whole)", Style.KEY),),
                (Run(code_title(one.code), Style.ERROR),),
                (Run(f"{one.times:,}"),),
                (Run(f"{one.traces:,}"),),
            ),
        )
        for index, one in enumerate(found)
    ]
    columns = (
        Column("tool"),
        Column("argument", mono=True),
        Column("rule"),
        Column("times", "end"),
        Column("traces", "end"),
    )
    done = listing(columns, rows, key="weaklink_violations")
    st.caption("Enter or a double click shows the traces.")
    if done.opened is not None:
        one = found[int(done.opened)]
        go("traces", filter=narrowed(wanted, field("tool", one.tool), field("code", one.code)))


def _newest() -> int:
    return store().paging().pulse().newest_id
