"""The head of a trace's page: what it is, how it ended and where it broke, and its turns as a rail."""

import streamlit as st

from inspector.diagnostics import Location
from ui.views.dissect.side import SideLine
from ui.views.dissect.verdict import landing
from ui.views.palette import Style
from ui.views.run import Run
from ui.views.status import LIVENESS, status_run
from ui.views.trace import fault_counts
from ui.views.visible import visible_line
from ui.views.wording import counted, quoted
from ui.web.components import lines, picture
from ui.web.markup import put_title
from ui.web.shown_trace import ShownTrace
from ui.web.trace_listing import title_of
from ui.web.trace_rail import MOST_BOXES, rail, rail_boxes, selected_box

_LONGEST = 80
_LONGEST_MESSAGE = 400


def trace_title(shown: ShownTrace) -> None:
    """Draw the heading."""
    put_title(f"{shown.summary.id} · {title_of(shown.summary)[:_LONGEST]}")


def verdict_line(shown: ShownTrace) -> Location | None:
    """Draw how the trace ended, in a sentence that leads to the characters; the place, when it was clicked."""
    chain, model = shown.inspection.chain, shown.summary.model
    broken = chain.broken
    state = shown.summary.liveness
    status = LIVENESS[state] if state else status_run(chain.status, broken.outcome if broken else None)
    facts = [
        *([visible_line(model)[:_LONGEST]] if model else []),
        counted(len(shown.trace.turns), "turn"),
        counted(len(chain.steps), "step"),
        fault_counts(shown.inspection) or "no faults",
    ]
    said = [SideLine((Run(status.text, status.style), Run(f" · {' · '.join(facts)}", Style.DIM)))]
    if broken is not None:
        head = Run(f"step {broken.step}, turn {broken.turn}: ", Style.ERROR)
        message = broken.message if len(broken.message) <= _LONGEST_MESSAGE else f"{broken.message[:_LONGEST_MESSAGE]}…"
        said.append(SideLine((head, *quoted(message)), landing(shown.inspection)))
    return lines(said, key="weaklink_verdict", label="How the trace ended", wraps=True)


def rail_of(shown: ShownTrace, at: Location | None) -> Location | None:
    """Draw the rail; the place of the box that was clicked."""
    found = rail_boxes(shown.dissection, at)
    if not found:
        return None
    key = picture(rail(found), key="weaklink_rail", selected=selected_box(found, at))
    if len(found) == MOST_BOXES:
        st.caption(f"The map shows {MOST_BOXES} boxes around the place that is looked at.")
    is_known = key is not None and key.isdecimal() and int(key) < len(found)
    return found[int(key)].location if is_known and key is not None else None
