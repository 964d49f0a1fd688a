"""The page of one trace: its verdict and turns, the exact stream, and tabs for data flow, schema, timing and more."""

from collections.abc import Iterator
from typing import Any

import streamlit as st

from inspector.diagnostics import Location
from inspector.errors import StoreError
from inspector.model import Json, Role
from inspector.text import Range
from storage import NoDatabaseYetError, TraceSummary
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.navigation import step_at
from ui.views.dissect.raw import raw
from ui.views.dissect.schema import schema
from ui.views.dissect.side import SideLine, SideSource, initial_position, notes, origins, verdict
from ui.views.dissect.timing import timing
from ui.views.status import LIVENESS, status_run
from ui.views.styled_text import Run, Style, visible_line
from ui.views.trace import fault_counts
from ui.views.wording import counted, quoted
from ui.web.components import dissector, lines, picture
from ui.web.markup import label, put_sentence, put_title
from ui.web.navigation import go_to_page, number_parameter, parameter, set_parameters
from ui.web.options import current_options
from ui.web.pictures import MOST_BOXES, flow_picture, rail, rail_boxes, selected_box, timing_picture
from ui.web.stores import ShownTrace, data_flow, put_page_name, shown_trace, store
from ui.web.stream_data import (
    EXPANDED_TURNS,
    TurnWindow,
    location_object,
    stream_data,
    value_rows,
    window_notes,
    window_of,
)
from ui.web.trace_actions import trace_actions
from ui.web.trace_listing import title_of
from ui.web.trace_neighbours import adjacent_traces, go_to_adjacent

_EVERY_S = 1.0
_NEAR, _OFFERED = 200, 5
_KEPT = 4  # windows of traces, as the browser takes them
_FRESH_S = 600
_LONGEST = 80
_LONGEST_MESSAGE = 400
_SENT_STATE = "weaklink_told"
_WIDTH = 110
_MOST_LINES = 400
_TABS = ("Data flow", "Verdict", "Schema", "Timing", "Request and answer", "Notes and facts")


def show() -> None:
    """Draw the trace that the address names, with the characters lit that it names; a running one every second."""
    if not parameter("trace"):
        st.title("Trace")
        st.info("The address names no trace. Choose one in the list of traces.")
        if st.button("To the traces"):
            go_to_page("traces")
        return
    try:
        shown = shown_trace(parameter("trace"))
    except NoDatabaseYetError:
        raise
    except StoreError as error:
        _missing(str(error))
        return
    trace_title(shown)
    put_page_name(f"{shown.summary.id} {title_of(shown.summary)}")
    running = shown.summary.is_open
    st.fragment(_follow, run_every=_EVERY_S if running else None)(was_running=running)


def _missing(why: str) -> None:
    """Say why there is no such trace, and offer those with the nearest ids, else the newest."""
    st.title("Trace")
    st.error(label(why, most=1_000), icon=":material/error:")
    for one in nearest_traces(number_parameter("trace")):
        if st.button(
            f"{one.id} {label(title_of(one))}", key=f"weaklink_nearest_{one.id}", icon=":material/account_tree:"
        ):
            go_to_page("trace", trace=one.id)
    if st.button("To the traces", icon=":material/list:"):
        go_to_page("traces")


def nearest_traces(id_: int | None) -> list[TraceSummary]:
    """The traces whose ids are nearest to a number; without one, or where none is near, the newest."""
    found = [] if id_ is None else store().traces(f"id:>={max(id_ - _NEAR, 0)} id:<={id_ + _NEAR}", limit=2 * _NEAR)
    if id_ is None or not found:
        return store().traces(limit=_OFFERED)
    return sorted(found, key=lambda one: (abs(one.id - id_), one.id))[:_OFFERED]


def _follow(*, was_running: bool) -> None:
    """The trace as it is now; the whole page anew when it has ended.

    One that has ended stands in the same place of the page, so that the reader's own place in it is kept.
    """
    shown = shown_trace(parameter("trace"))
    _body(shown)
    if was_running and not shown.summary.is_open:
        st.rerun()


def _body(shown: ShownTrace) -> None:
    above = st.container()  # filled when it is known what was chosen in the stream
    key = f"weaklink_dissector_{shown.summary.id}"
    at = _stream(shown, place_of(shown, key), key)
    with above:
        led = verdict_line(shown)
        led = rail_of(shown, at) or led
        trace_actions(shown, at)
    led = side_views(shown, at) or led
    if led is not None:
        look_at(led)
        st.rerun()


def _stream(shown: ShownTrace, at: Location | None, key: str) -> Location | None:
    """The dissector; the place that is selected after what was done in it."""
    around = at or _default_position(shown)
    window = window_of(shown.trace, around.turn, around.part, around.range.start)
    for sentence in window_notes(window, shown.trace):
        put_sentence(sentence)
    middle = (around.turn // EXPANDED_TURNS * 2 + 1) * EXPANDED_TURNS // 2
    data = _data(current_options().where, f"{shown.version}.{window}.{middle}", window, middle, shown)
    told = {"selected": location_for_browser(key, at), "grows": shown.summary.is_open}
    done = dissector({**data, **told}, key=key)
    if done.beside:
        to = adjacent_traces(shown.summary)[0 if done.beside < 0 else 1]
        if to is not None:
            go_to_adjacent(shown.summary, to, done.beside)
    if done.picked is None:
        return at
    if done.picked.get("away"):
        look_at(location_picked(done.picked))
        st.rerun()
    return selected_location(done.picked)


def _default_position(shown: ShownTrace) -> Location:
    """Where a trace is shown from while nothing is selected: a running one at its end, others at the first turn."""
    turns = shown.trace.turns
    if not shown.summary.is_open or not turns or not turns[-1].parts:
        return Location(1, "text", Range(0, 0))
    last = turns[-1].parts[-1]
    return Location(len(turns), last.name, Range(len(last.text), len(last.text)))


@st.cache_resource(show_spinner=False, max_entries=_KEPT, ttl=_FRESH_S)
def _data(where: str | None, version: str, window: TurnWindow, turn: int, _shown: ShownTrace) -> dict[str, Json]:
    data = stream_data(_shown.trace, _shown.inspection, window)
    return {**data, "values": value_rows(_shown.dissection, window, turn), "version": version}


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
        said.append(SideLine((head, *quoted(message)), initial_position(shown.inspection)))
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


def place_of(shown: ShownTrace, key: str) -> Location | None:
    """The place that the address names, else the break, else the first fault.

    Who watches the trace grow in the dissector of that key is not carried away to a fault that comes up, nor at its
    end to the break.
    """
    turn, start, end = number_parameter("turn"), number_parameter("start"), number_parameter("end")
    if turn and start is not None and end is not None and start <= end:
        return Location(turn, parameter("part") or "text", Range(start, end))
    if shown.summary.is_open or _sent_state(key).get("grew"):
        _sent_state(key)["grew"] = True
        return None
    return initial_position(shown.inspection)


def look_at(location: Location) -> None:
    """Go to a place: into the address, and from the next drawing on the dissector shows it."""
    set_parameters(turn=location.turn, part=location.part, start=location.range.start, end=location.range.end)


def location_for_browser(key: str, location: Location | None) -> dict[str, Json] | None:
    """The place as the dissector of that key is told it: the same as before where it knows, having chosen it itself.

    Its data thereby stay the same from click to click, and are sent once.
    """
    told = _sent_state(key)
    if location != told.get("known"):
        told.update(known=location, said=location, number=told["number"] + 1)
    told["drawn"] = True
    said: Location | None = told.get("said")
    return None if said is None else {**location_object(said.turn, said.part, said.range), "number": told["number"]}


def selected_location(picked: dict[str, Any]) -> Location:
    """The place that was gone to in the dissector, which need not be told of it."""
    location = location_picked(picked)
    st.session_state[_SENT_STATE]["known"] = location
    look_at(location)
    return location


def location_picked(picked: dict[str, Any]) -> Location:
    """The position that the dissector reports."""
    return Location(picked["turn"], picked["part"], Range(picked["start"], picked["end"]))


def _sent_state(key: str) -> dict[str, Any]:
    """What the dissector of that key knows: nothing where another trace was here, or the page was left meanwhile."""
    told: dict[str, Any] = st.session_state.setdefault(_SENT_STATE, {})
    if told.get("key") != key or (told["drawn"] and key not in st.session_state):
        told.clear()
        told.update(key=key, number=0, drawn=False)
    return told


def side_views(shown: ShownTrace, at: Location | None) -> Location | None:
    """Draw the tabs for the place that is selected; where a click in them leads."""
    dissection = shown.dissection
    if not dissection.trace.turns:
        return None
    if at is None or at.turn > len(dissection.trace.turns):
        at = _first_answer(dissection)
    marks = store().marks.of([shown.summary.id]).get(shown.summary.id, ())
    flow, verdict_, schema_, timing_, raw_, notes_ = st.tabs(_TABS)
    with flow:
        led = _flow(shown, at)
    with verdict_:
        led = _lines(verdict(dissection, _WIDTH), "Verdict") or led
    with schema_:
        led = _lines(schema(dissection, at, _WIDTH), "Schema") or led
    with timing_:
        led = _timing(dissection) or led
    with raw_:
        led = _lines(raw(dissection, at.turn, _WIDTH), "Request and answer") or led
    with notes_:
        return _lines(notes(dissection, marks, _WIDTH), "Notes and facts") or led


def _first_answer(dissection: Dissection) -> Location:
    """What is looked at where nothing is selected: the first call, else the first words of the model."""
    if dissection.inspection.chain.steps:
        return dissection.inspection.chain.steps[0].location
    turns = enumerate(dissection.trace.turns, 1)
    return Location(next((number for number, turn in turns if turn.role is Role.ASSISTANT), 1), "text", Range(0, 0))


def _flow(shown: ShownTrace, at: Location) -> Location | None:
    """The chain as a picture, and the origins of the values of the step that is selected."""
    chain = shown.inspection.chain
    if not chain.steps:
        st.caption("This trace has no tool calls, so nothing flows.")
        return None
    step = step_at(shown.dissection, at)
    drawn = flow_picture(chain, data_flow(shown), step.number if step else 1)
    key = picture(drawn, key="weaklink_flow", selected=str(step.number) if step else None)
    st.caption(f"{drawn.label}. The thick way is the longest; a click leads to the step.")
    led = _lines(origins(data_flow(shown), step), "Where values came from")
    return chain.steps[int(key) - 1].location if key is not None and key.isdecimal() else led


def _timing(dissection: Dissection) -> Location | None:
    """When the answers came; the beginning of the one that was clicked."""
    drawn = timing_picture(dissection.trace)
    key = None
    if drawn is not None:
        key = picture(drawn, key="weaklink_timing")
        st.caption(f"{drawn.label}. A chunk is not a token.")
    led = _lines(timing(dissection), "Times of the answers")
    parts = dissection.parts_of(int(key)) if key is not None and key.isdecimal() else ()
    return parts[0].location(Range(0, 0)) if parts else led


def _lines(source: SideSource, name: str) -> Location | None:
    return lines(list(_first(source)), key=f"weaklink_lines_{name}", label=name)


def _first(source: SideSource) -> Iterator[SideLine]:
    for index in range(min(source.count, _MOST_LINES)):
        yield SideLine(source.line(index, _WIDTH), source.location(index))
    if source.count > _MOST_LINES:
        yield SideLine((Run(f"… {counted(source.count - _MOST_LINES, 'further line')}", Style.DIM),))
