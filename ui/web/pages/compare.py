"""Two to six runs side by side: where they first part, and what differs there."""

import re

import streamlit as st

from inspector.chain.alignment_asked import run_label
from inspector.text import Range
from ui.views.palette import Style
from ui.views.run import Run
from ui.views.run_diff import ComparedRun, RunDiff, compare, diff_lines
from ui.views.status import status_run
from ui.views.trace_list import trace_title
from ui.views.visible import visible_line
from ui.web.components import Column, Row, listing
from ui.web.filters import field
from ui.web.markup import put_lines
from ui.web.places import asked, go, keep
from ui.web.shown_trace import ShownTrace, shown_trace
from ui.web.stores import store

MOST = 6
_WIDTH = 96
_KEY = "weaklink_runs"
_ALIKE = 50


def show() -> None:
    """Draw the runs that the address names, and what could stand beside the first."""
    st.title("Compare")
    if st.session_state.get(_KEY) != asked("runs"):
        st.session_state[_KEY] = asked("runs")
    st.text_input("Traces by number; others are held against the first", key=_KEY, on_change=_changed)
    ids = re.findall(r"\d+", asked("runs"))[:MOST]
    runs = [shown_trace(int(one)) for one in dict.fromkeys(ids)]
    if len(runs) > 1:
        _diff(compare([ComparedRun(str(run.summary.id), run.trace, run.inspection) for run in runs]))
    elif not runs:
        st.info("Name two to six traces, or choose the first in the list of traces and press Compare.")
    if runs and len(runs) < MOST:
        _candidates(runs)


def _changed() -> None:
    keep(runs=st.session_state[_KEY])


def _diff(diff: RunDiff) -> None:
    put_lines(diff_lines(diff, _WIDTH))
    parted = diff.alignment.divergence
    columns = st.columns(MOST)
    for index, run in enumerate(diff.runs):
        step = parted.steps[index] if parted is not None else None
        at = {} if step is None else _place(step.location.turn, step.location.part, step.location.range)
        if columns[index].button(f"Open {run_label(index)} there", key=f"weaklink_open_{index}", width="stretch"):
            go("trace", trace=run.called, **at)


def _place(turn: int, part: str, where: Range) -> dict[str, object]:
    return {"turn": turn, "part": part, "start": where.start, "end": where.end}


def _candidates(runs: list[ShownTrace]) -> None:
    """Runs that look like the first: of its name, else of its prompt version, which is said, since it is a guess."""
    first = runs[0].summary
    title = trace_title(first)
    known = {run.summary.id for run in runs}
    named = store().traces(field("name", title), limit=_ALIKE) if title else []
    by_name = [one for one in named if one.id not in known]
    found = by_name or [
        one for one in store().traces(field("source", first.source), limit=_ALIKE) if one.id not in known
    ]
    if not found:
        return
    why = "the same name" if by_name else "the same source; whether they had the same task is a guess"
    st.caption(f"Others of {why}. Enter or a double click adds one.")
    rows = [
        Row(
            str(one.id),
            (
                (status_run(one.status, one.broken.outcome if one.broken else None),),
                (Run(str(one.id), Style.DIM),),
                (Run(visible_line(trace_title(one)[:200])),),
                (Run(visible_line(one.model)),),
            ),
        )
        for one in found
    ]
    done = listing((Column("status"), Column("id", "end"), Column("name"), Column("model")), rows, key="weaklink_alike")
    if done.opened is not None:
        keep(runs=" ".join([*(str(run.summary.id) for run in runs), done.opened]))
        st.rerun()
