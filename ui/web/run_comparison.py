"""Two to six runs side by side: where they first part, and what differs there."""

import re

import streamlit as st

from inspector.chain.alignment_asked import run_label
from inspector.text import Range
from storage import TraceSummary
from ui.views.run_diff import ComparedRun, RunDiff, compare, diff_lines
from ui.views.trace_list import trace_title
from ui.web.components import listing
from ui.web.filter_bar import nothing_found
from ui.web.filters import field
from ui.web.markup import put_lines
from ui.web.places import asked, go, keep
from ui.web.shown_trace import ShownTrace, shown_trace
from ui.web.stores import store
from ui.web.trace_listing import TRACE_COLUMNS, trace_rows
from ui.web.trace_look import MOST_RUNS

_WIDTH = 100
_KEY = "weaklink_runs"
_ALIKE = 50
_ID = re.compile(r"\d{1,15}")


def compare_runs() -> None:
    """Draw the runs that the address names, and what could stand beside the first."""
    if st.session_state.get(_KEY) != asked("runs"):
        st.session_state[_KEY] = asked("runs")
    st.text_input("Traces by number; others are held against the first", key=_KEY, on_change=_changed)
    ids = list(dict.fromkeys(_ID.findall(asked("runs"))))[:MOST_RUNS]
    runs = [shown_trace(int(one)) for one in ids]
    if len(runs) > 1:
        _diff(compare([ComparedRun(str(run.summary.id), run.trace, run.inspection) for run in runs]))
    elif not runs:
        _begin()
    if runs and len(runs) < MOST_RUNS:
        _candidates(runs)


def _changed() -> None:
    keep(runs=st.session_state[_KEY])


def _diff(diff: RunDiff) -> None:
    put_lines(diff_lines(diff, _WIDTH))
    parted = diff.alignment.divergence
    with st.container(horizontal=True):
        for index, run in enumerate(diff.runs):
            step = parted.steps[index] if parted is not None else None
            at = {} if step is None else _place(step.location.turn, step.location.part, step.location.range)
            if st.button(f"Open {run_label(index)} there", key=f"weaklink_open_{index}"):
                go("trace", trace=run.called, **at)
        if st.button("The first to the end", key="weaklink_rotate", icon=":material/sync:"):
            keep(runs=" ".join([*(run.called for run in diff.runs[1:]), diff.runs[0].called]))
            st.rerun()


def _place(turn: int, part: str, where: Range) -> dict[str, object]:
    return {"turn": turn, "part": part, "start": where.start, "end": where.end}


def _begin() -> None:
    found = store().traces(limit=_ALIKE)
    if not found:
        nothing_found("")
        return
    st.info("Name two to six traces, choose them in the list of traces, or begin with one of these.")
    _choices(found, [])


def _candidates(runs: list[ShownTrace]) -> None:
    """Runs that look like the first: of its name, else of its source, which is said, since it is a guess."""
    first = runs[0].summary
    title = trace_title(first)
    known = {run.summary.id for run in runs}
    named = store().traces(field("name", title), limit=_ALIKE) if title else []
    by_name = [one for one in named if one.id not in known]
    of_source = field("source", first.source) if first.source else ""
    found = by_name or [one for one in store().traces(of_source, limit=_ALIKE) if one.id not in known]
    if not found:
        return
    guessed = "the same source" if of_source else "this database"
    why = "the same name" if by_name else f"{guessed}; whether they had the same task is a guess"
    st.caption(f"Others of {why}. A click adds one.")
    _choices(found, [str(run.summary.id) for run in runs])


def _choices(found: list[TraceSummary], chosen: list[str]) -> None:
    rows = trace_rows(found)
    done = listing(
        TRACE_COLUMNS, rows, key=f"weaklink_alike_{len(chosen)}", label="Traces to add", is_eager=True, most_rem=24
    )
    if done.opened is not None:
        keep(runs=" ".join([*chosen, done.opened]))
        st.rerun()
