"""A trace in one line."""

import pytest
from msgspec.structs import replace

from tests.chain.building import trace_of
from tests.counted_columns import counted
from tests.ui.scenes import broken_trace, step
from weaklink.inspector.chain.steps import Break, Recovery, Status, StepOutcome
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Part, RecordedRun, Role, Trace, Turn
from weaklink.ui.views.minimap import focus_of, minimap
from weaklink.ui.views.places import StepPlaces
from weaklink.ui.views.status import status_run, step_glyph
from weaklink.ui.views.styled_text import plain

OK = '<tool_call>\n{"name": "f", "arguments": {"n": %d}}\n</tool_call>'
RESULT = '<tool_response>\n{"name": "f", "content": "1"}\n</tool_response>'


def test_each_turn_is_a_box_and_the_break_shows() -> None:
    assert plain(minimap(*broken_trace(), 60)) == "u t[◆]ar t[c][?]r u"


def test_a_call_or_result_that_another_layer_has_otherwise_is_marked() -> None:
    trace = trace_of("user: Hi", 'call a1: weather {"city": "Oslo"}', "result a1: 4 degrees", "say: 4 degrees.")
    turns = list(trace.turns)
    turns[2] = replace(turns[2], run=RecordedRun("otlp", "weather", "a1", '{"city": "Rome"}', "4 degrees"))
    other = replace(trace, turns=tuple(turns))
    assert plain(minimap(trace, inspect_trace(trace), 60)) == "u [c]r a"
    assert plain(minimap(other, inspect_trace(other), 60)) == "u [c]≠r a"


def long_trace(broken_at: int) -> tuple[Trace, Inspection]:
    turns = [Turn(Role.USER, (Part("text", "go"),))]
    for number in range(40):
        text = OK % number if number < broken_at else '<tool_call>\n{"name": "g", "arguments": {,}}\n</tool_call>'
        turns += [Turn(Role.ASSISTANT, (Part("text", text),)), Turn(Role.TOOL, (Part("text", RESULT),))]
    trace = Trace(tuple(turns))
    return trace, inspect_trace(trace, format="hermes")


@pytest.mark.parametrize("width", [12, 20, 40])
@pytest.mark.parametrize("broken_at", [0, 20, 39])
def test_a_long_trace_is_cut_around_its_break(width: int, broken_at: int) -> None:
    shown = plain(minimap(*long_trace(broken_at), width))
    assert len(shown) <= width
    assert "[✖]" in shown
    assert shown.startswith("…") is (broken_at > 0)


def wide_trace(kind: str) -> tuple[Trace, Inspection]:
    """Many turns, or many spans in one; the call in the middle is broken."""
    calls = [OK % number for number in range(800)]
    calls[400] = '<tool_call>\n{"name": "g", "arguments": {,}}\n</tool_call>'
    if kind == "spans":
        trace = Trace((Turn(Role.ASSISTANT, (Part("text", "".join(f"{call}\nwords\n" for call in calls)),)),))
    else:
        answer = Turn(Role.TOOL, (Part("text", RESULT),))
        trace = Trace(tuple(turn for call in calls for turn in (Turn(Role.ASSISTANT, (Part("text", call),)), answer)))
    return trace, inspect_trace(trace, format="hermes")


@pytest.mark.parametrize("kind", ["turns", "spans"])
def test_of_a_wide_trace_no_more_is_looked_at_than_is_shown(kind: str) -> None:
    trace, inspection = wide_trace(kind)
    steps, focus = StepPlaces(inspection.chain), focus_of(inspection.chain)
    in_columns, inspected, looks = counted(trace, inspection)
    shown = minimap(in_columns, inspected, 40, steps=steps, focus=focus, differing=())
    assert shown == minimap(trace, inspection, 40)
    assert "[✖]" in plain(shown)
    assert looks.count < 400


def test_where_very_much_is_not_shown_the_map_ends_in_dots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weaklink.ui.views.minimap._MAX_SCANNED", 20)
    blank = [Turn(Role.ASSISTANT, (Part("text", " "),))] * 40
    trace = Trace((*blank, Turn(Role.ASSISTANT, (Part("text", "Done."),)), *blank[:3]))
    assert plain(minimap(trace, inspect_trace(trace, format="hermes"), 40)) == "… a"


def test_an_empty_trace_has_an_empty_minimap() -> None:
    trace = Trace(())
    assert minimap(trace, inspect_trace(trace, format="hermes"), 40) == ()


@pytest.mark.parametrize(
    ("outcome", "glyph"),
    [
        (StepOutcome.MALFORMED, "✖"),
        (StepOutcome.INVALID, "▲"),
        (StepOutcome.UNKNOWN_TOOL, "▲"),
        (StepOutcome.ERROR_RESULT, "✖"),
        (StepOutcome.UNANSWERED, "?"),
        (StepOutcome.PENDING, "…"),
        (StepOutcome.OK, "✔"),
    ],
)
def test_each_outcome_has_its_glyph(outcome: StepOutcome, glyph: str) -> None:
    assert step_glyph(step(1, outcome)).text == glyph
    assert step_glyph(replace(step(1, outcome), recovery=Recovery.SAME_INTENT, recovered_by=2)).text == "◆"


@pytest.mark.parametrize("status", Status)
def test_each_status_is_a_glyph_and_its_word(status: Status) -> None:
    glyph, word = status_run(status).text.split()
    assert (len(glyph), word) == (1, status.value)


def test_a_break_by_schema_has_the_glyph_of_schemas() -> None:
    assert status_run(Status.BROKEN, Break(1, 1, None, StepOutcome.INVALID, "", "")).text == "▲ broken"
