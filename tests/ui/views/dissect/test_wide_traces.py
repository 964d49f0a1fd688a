"""Once it is open only what is in sight of a wide trace is looked at: counted in entries of columns, not by a clock."""

from collections.abc import Callable
from functools import cache

import pytest

from tests.counted_columns import Looks, counted
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Generation, Instant, Part, Role, Trace, Turn
from weaklink.inspector.text import Range
from weaklink.storage.marks import Mark
from weaklink.ui.tui.dissector.stream_view import StreamBar
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.navigation import fault_at, next_fault, next_step, place_line, step_at, trace_line
from weaklink.ui.views.dissect.raw import raw, schema
from weaklink.ui.views.dissect.side import SideSource, diagnostic_list, notes, step_list
from weaklink.ui.views.dissect.stream import StreamLayout, Viewport
from weaklink.ui.views.dissect.timing import StreamOptions
from weaklink.ui.views.dissect.tree import Tree
from weaklink.ui.views.links import Link

_WIDE, _WIDER = 400, 1_600
_HEIGHT, _WIDTH = 40, 80
_Shape = Callable[[int], tuple[Trace, Inspection]]


def _call(number: int, comma: str) -> str:
    return f'<tool_call>\n{{"name": "forecast", "arguments": {{"day": {number}{comma}}}}}\n</tool_call>\n'


@cache
def _many_turns(wide: int) -> tuple[Trace, Inspection]:
    turns = [Turn(Role.USER, (Part("text", "What will the weather be?"),))]
    for number in range(wide // 2):
        made = Generation(started=Instant(1_700_000_000.0 + number))
        said = Part("text", f"Let me look.\n{_call(number, ',' if number % 2 else '')}")
        turns.append(Turn(Role.ASSISTANT, (said,), generation=made))
        turns.append(Turn(Role.TOOL, (Part("text", f'{{"day": {number}}}'),)))
    return _inspected(turns)


@cache
def _many_spans(wide: int) -> tuple[Trace, Inspection]:
    text = "".join(f"{_call(number, ',')}words\n" for number in range(wide // 2))
    return _inspected([Turn(Role.USER, (Part("text", "Hm?"),)), Turn(Role.ASSISTANT, (Part("text", text),))])


@cache
def _many_results(wide: int) -> tuple[Trace, Inspection]:
    calls = "".join(_call(number, "") for number in range(wide // 2))
    answers = "".join(f"<tool_response>\n{number}\n</tool_response>\n" for number in range(wide // 2))
    return _inspected([Turn(Role.ASSISTANT, (Part("text", calls),)), Turn(Role.TOOL, (Part("text", answers),))])


def _inspected(turns: list[Turn]) -> tuple[Trace, Inspection]:
    trace = Trace(tuple(turns), format="hermes")
    return trace, inspect_trace(trace)


_SHAPES = pytest.mark.parametrize("shape", [_many_turns, _many_spans, _many_results], ids=["turns", "spans", "results"])


def _in_columns(shape: _Shape, wide: int) -> tuple[Dissection, Looks]:
    trace, inspection, looks = counted(*shape(wide))
    return Dissection(trace, inspection), looks


@_SHAPES
def test_opening_looks_at_each_turn_part_fault_and_step_once_and_at_a_few_near_the_break(shape: _Shape) -> None:
    dissection, looks = _in_columns(shape, _WIDE)
    inspection = dissection.inspection
    dissection.prepared()
    things = sum(map(len, (dissection.trace.turns, inspection.parts, inspection.diagnostics, inspection.chain.steps)))
    assert things <= looks.count <= things + _HEIGHT


def _middle(dissection: Dissection, where: str) -> Location:
    steps = dissection.inspection.chain.steps
    step = steps[len(steps) // 2]
    call = step.location
    if where == "beside":
        return Location(call.turn, call.part, Range(call.range.end, call.range.end + 1))
    return call if where == "call" else step.result_location or call


def _lines(side: SideSource, location: Location) -> None:
    near = side.nearest(location) or 0
    for index in range(near, min(near + _HEIGHT, side.count)):
        side.line(index, _WIDTH)
        side.location(index)


def _stream(dissection: Dissection, location: Location) -> None:
    port = Viewport(StreamLayout(dissection, _WIDTH, StreamOptions(chunks=True)), _HEIGHT)
    for do in (lambda: port.go(location), lambda: port.jump(_HEIGHT), lambda: port.step(1), port.last, port.first):
        do()
        assert len(port.rows) == _HEIGHT
        for spot, row in port.rows:
            port.layout.lit(row, location)
            port.layout.cells(row)
            port.layout.number(spot)


def _bar(dissection: Dissection, location: Location) -> None:
    layout, bar = StreamLayout(dissection, _WIDTH, StreamOptions()), StreamBar()
    for y in range(_HEIGHT):
        bar.cell(layout, y, _HEIGHT, 0)


def _tree(dissection: Dissection, location: Location) -> None:
    tree = Tree(dissection)
    index = tree.reveal(location)
    assert index is not None
    for position in range(max(index - _HEIGHT // 2, 0), min(index + _HEIGHT // 2, tree.count)):
        tree.line(position, _WIDTH)


def _words(dissection: Dissection, location: Location) -> None:
    step = step_at(dissection, location)
    place_line(dissection, location, None, step)
    trace_line(dissection, location)
    assert Link("1", step=3).find(dissection) is not None
    assert Link("1", location=location).find(dissection) == location


def _moves(dissection: Dissection, location: Location) -> None:
    for back in (False, True):
        next_fault(dissection, location, back=back)
        next_step(dissection, location, back=back)
    fault_at(dissection, location)
    fault_at(dissection, Location(location.turn, "nowhere", Range(0, 0)))


_LOOKS: dict[str, Callable[[Dissection, Location], None]] = {
    "stream": _stream,
    "bar": _bar,
    "tree": _tree,
    "words": _words,
    "moves": _moves,
    "diagnostics": lambda dissection, location: _lines(diagnostic_list(dissection), location),
    "steps": lambda dissection, location: _lines(step_list(dissection), location),
    "schema": lambda dissection, location: _lines(schema(dissection, location, _WIDTH), location),
    "raw": lambda dissection, location: _lines(raw(dissection, location, _WIDTH), location),
    "notes": lambda dissection, location: _lines(
        notes(dissection, [Mark(1, step=7), Mark(1, turn=2)], _WIDTH), location
    ),
}


@pytest.mark.one_in(5)
@_SHAPES
@pytest.mark.parametrize("where", ["call", "result", "beside"])
@pytest.mark.parametrize("look", _LOOKS.values(), ids=_LOOKS)
def test_a_trace_of_four_times_the_width_costs_a_few_searches_more(
    shape: _Shape, look: Callable[[Dissection, Location], None], where: str
) -> None:
    narrow, wide = (_cost(*_in_columns(shape, width), look, where) for width in (_WIDE, _WIDER))
    assert wide <= narrow * 2


def _cost(dissection: Dissection, looks: Looks, look: Callable[[Dissection, Location], None], where: str) -> int:
    """How many entries are looked at for a look at the middle of an opened trace."""
    location = _middle(dissection.prepared(), where)
    looks.count = 0
    look(dissection, location)
    return looks.count
