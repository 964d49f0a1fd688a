"""What comes next in a trace, and what a viewport shows of it."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import in_the_gate
from tests.ui.views.dissect import scenes
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.model import Part, Role, Trace, Turn
from weaklink.inspector.text import Range
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.navigation import find, next_fault, next_step
from weaklink.ui.views.dissect.stream import BlockRow, StreamLayout, Viewport
from weaklink.ui.views.dissect.stream_rows import RowKind
from weaklink.ui.views.dissect.timing import StreamOptions
from weaklink.ui.views.styled_text import plain

BEGIN = Location(0, "", Range(0, 0))


def test_every_fault_is_met_once_on_the_way_down_and_on_the_way_up() -> None:
    dissection = scenes.broken()
    down, here = [], BEGIN
    while (next_one := next_fault(dissection, here)) is not None:
        down.append(next_one)
        here = next_one.location
    assert tuple(down) == dissection.inspection.diagnostics
    up = [down[-1]]
    while (next_one := next_fault(dissection, up[-1].location, back=True)) is not None:
        up.append(next_one)
    assert up == down[::-1]


def test_a_step_is_left_from_anywhere_in_its_call() -> None:
    dissection = scenes.streamed()
    first = next_step(dissection, BEGIN)
    assert first is not None
    within = Location(2, "text", Range(first.location.range.start + 5, first.location.range.start + 6))
    assert next_step(dissection, within) is None
    assert next_step(dissection, within, back=True) is None
    assert next_step(dissection, dissection.parts[3].location(), back=True) == first


@pytest.mark.parametrize("scene", [scenes.broken, scenes.streamed, scenes.hostile])
@pytest.mark.parametrize("wrap", [True, False])
def test_the_faults_in_sight_are_those_whose_first_character_is(scene: Callable[[], Dissection], wrap: bool) -> None:
    dissection = scene()
    assert dissection.inspection.diagnostics
    for width, height in ((30, 4), (70, 12), (200, 400)):
        layout = StreamLayout(dissection, width, StreamOptions(wrap=wrap))
        port = Viewport(layout, height)
        met: set[Location] = set()
        above = None
        while above != port.top:
            there = {spot: y for y, (spot, _) in enumerate(port.rows)}
            for fault in port.faults():
                assert there[layout.find(fault.location) or BlockRow(-1, -1)] == fault.y
                assert fault.cell < width
                met.add(fault.location)
            above = port.top
            port.scroll(1)
        begins = {(span.turn, span.part, span.range.start) for span in met}
        every = {
            (location.turn, location.part, location.range.start)
            for location in (diagnostic.location for diagnostic in dissection.inspection.diagnostics)
        }
        assert begins == every or (not wrap and begins < every)


@pytest.mark.parametrize(("words", "count"), [("oslo", 2), ("Oslo", 2), ("OSLO", 0), (".", 2), ("", 0)])
def test_words_are_found_as_they_are_and_small_ones_in_any_spelling(words: str, count: int) -> None:
    texts = ("In Oslo.", "a oslo", "b Oslo.") if words == "Oslo" else ("In Oslo.", "b Oslo.")
    trace = Trace(tuple(Turn(Role.USER, (Part("text", text),)) for text in texts), format="hermes")
    dissection = scenes.dissected(trace)
    met: list[Location] = []
    here = Location(1, "text", Range(0, 0))
    while (position := find(dissection, words, here)) is not None and position not in met:
        met.append(position)
        here = position
    assert len(met) == count
    if met:
        assert find(dissection, words, met[0], back=True) == met[-1]


@in_the_gate(25, most=400)  # each lays out a whole trace
@given(st.text("ab\n日 ", max_size=400), st.lists(st.sampled_from("udPNgGlrws"), max_size=30), st.integers(5, 12))
def test_the_cursor_stays_in_sight_and_the_screen_full_whatever_is_pressed(
    text: str, keys: list[str], height: int
) -> None:
    layout = StreamLayout(scenes.of_text(text), 40, StreamOptions())
    port = Viewport(layout, height)
    port.go(layout.dissection.parts[1].location(Range(0, 0)))
    for key in keys:
        match key:
            case "u" | "d":
                port.step(1 if key == "d" else -1)
            case "P" | "N":
                port.jump(height if key == "N" else -height)
            case "g":
                port.first()
            case "G":
                port.last()
            case "l" | "r":
                port.character(1 if key == "r" else -1)
            case "w":
                port.laid_out(StreamLayout(layout.dissection, 30, StreamOptions(white_space=True)))
            case _:
                port.scroll(1)
                port.resized(height)
        assert port.spot in [spot for spot, _ in port.rows] or port.row.kind is not RowKind.TEXT
        assert len(port.rows) == min(height, len(list(port.layout.below(port.layout.first()))))
        location = port.location
        assert location is not None
        assert port.row.range is not None
        assert port.row.range.start <= location.range.start <= port.row.range.end


@pytest.mark.parametrize("height", range(20, 28))
@pytest.mark.parametrize("first", [True, False], ids=["from the first", "from the one before"])
def test_going_to_a_fault_of_a_few_rows_shows_what_is_said_below_the_last_of_them(height: int, first: bool) -> None:
    dissection = scenes.streamed()
    wrong = next(diagnostic for diagnostic in dissection.inspection.diagnostics if diagnostic.rule.code == "S201")
    port = Viewport(StreamLayout(dissection, 40, StreamOptions()), height)
    if first:
        port.first()
    else:
        turn = dissection.parts_of(wrong.location.turn - 1)[0]
        port.go(turn.location(Range(len(turn.text) - 1, len(turn.text))))
    assert port.go(wrong.location)
    said = next(index for index, (_, row) in enumerate(port.layout.below(port.spot)) if "help" in plain(row.line))
    assert said == 17  # behind two further rows of text, which another fault speaks of too
    assert port.layout.moved(port.spot, said) in [spot for spot, _ in port.rows]


def test_the_last_character_is_reached_from_the_first_one_by_one() -> None:
    layout = StreamLayout(scenes.of_text("one two\n\nthree 日本"), 40, StreamOptions())
    port = Viewport(layout, 10)
    port.go(layout.dissection.parts[1].location(Range(0, 0)))
    seen = [port.offset]
    for _ in range(16):
        port.character(1)
        seen.append(port.offset)
    assert seen == list(range(17))
    for _ in range(16):
        port.character(-1)
    assert port.offset == 0
