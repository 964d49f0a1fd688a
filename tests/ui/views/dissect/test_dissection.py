"""A dissection keeps numbers of a trace: what it says is what a look at all its parts, faults and steps says."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.counted_columns import counted
from tests.examples import in_the_gate
from tests.strategies import texts, traces
from tests.ui.views.dissect import scenes
from weaklink.inspector.chain.grouping import grouped
from weaklink.inspector.diagnostics import Diagnostic, Location
from weaklink.inspector.inspected import PartInspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Part, Role, ToolDefinition, Trace, Turn
from weaklink.inspector.text import Range
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.navigation import fault_at, find, next_fault, next_step, offered_at, step_at
from weaklink.ui.views.dissect.outline import BLOCK_CHARS, TextBlock
from weaklink.ui.views.dissect.raw import tool_place
from weaklink.ui.views.dissect.side import diagnostic_list, nearest, step_list
from weaklink.ui.views.dissect.stream import StreamLayout
from weaklink.ui.views.dissect.timing import StreamOptions
from weaklink.ui.views.dissect.tree import Tree
from weaklink.ui.views.styled_text import plain

_CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1,}}\n</tool_call>'
_TOOLS = '<tools>[{"type": "function", "function": {"name": "f", "parameters": {}}}]</tools>'


def told() -> st.SearchStrategy[Trace]:
    """Conversations with calls, faulty ones too, results and definitions of tools, in texts that find faults."""
    said = st.sampled_from((_CALL, _CALL.replace(",}", "}"), _TOOLS, "Well.\n", "<tool_response>\n1\n</tool_response>"))
    turn = st.builds(
        lambda role, pieces: Turn(role, (Part("text", "\n".join(pieces)),)),
        st.sampled_from(Role),
        st.lists(said | texts(max_size=3), max_size=4),
    )
    return st.lists(turn, max_size=6).map(lambda turns: Trace(tuple(turns), format="hermes"))


def dissections() -> st.SearchStrategy[Dissection]:
    """Over tuples, or over columns whose entries are made anew at every look."""
    read = told() | traces().map(lambda trace: replace(trace, format="hermes"))
    return st.builds(lambda one, wide: in_columns(one) if wide else one, read.map(scenes.dissected), st.booleans())


def in_columns(dissection: Dissection) -> Dissection:
    trace, inspection, _ = counted(dissection.trace, dissection.inspection)
    return Dissection(trace, inspection)


def places_in(dissection: Dissection) -> Iterator[Location]:
    """Where somebody may stand: in parts, at faults, in a part that is not there."""
    for number, turn in enumerate(dissection.trace.turns, 1):
        yield Location(number, "nowhere", Range(0, 0))
        for part in turn.parts:
            for at in range(0, len(part.text) + 1, max(len(part.text) // 7, 1)):
                yield Location(number, part.name, Range(at, min(at + 1, len(part.text))))
    yield from (one.location for one in dissection.inspection.diagnostics)
    yield from (step.location for step in dissection.inspection.chain.steps)


@in_the_gate(6)  # each inspects a whole trace
@given(dissections())
def test_parts_are_those_of_the_turns_with_what_was_found_in_them(dissection: Dissection) -> None:
    found = {(one.turn, one.part): one for one in dissection.inspection.parts}
    index = 0
    for number, turn in enumerate(dissection.trace.turns, 1):
        assert [part.source for part in dissection.parts_of(number)] == list(turn.parts)
        for source in turn.parts:
            part = dissection.parts[index]
            assert (part.index, part.turn, part.role, part.source) == (index, number, turn.role, source)
            nothing = PartInspection(number, source.name, dissection.inspection.format, ())
            assert part.inspection == found.get((number, source.name), nothing)
            assert sorted(part.diagnostics, key=_place) == sorted(_in_part(dissection, number, source.name), key=_place)
            assert dissection.part(number, source.name) == part
            assert dissection.outline.blocks.length(index) == len(source.text)
            index += 1
        assert dissection.part(number, "nowhere") is None
        names = {part.name for part in turn.parts}
        apart = [one for one in _in_turn(dissection, number) if one.location.part not in names]
        assert sorted(dissection.without_part(number), key=_place) == sorted(apart, key=_place)
        assert sorted(dissection.wrong_in_turn(number), key=_place) == sorted(_in_turn(dissection, number), key=_place)
    assert len(dissection.parts) == index
    assert dissection.parts_of(0) == dissection.parts_of(len(dissection.trace.turns) + 1) == ()


def _place(one: Diagnostic) -> tuple[Location, str, str]:
    return one.location, one.rule.code, one.fault.message


def _in_turn(dissection: Dissection, turn: int) -> list[Diagnostic]:
    return [one for one in dissection.inspection.diagnostics if one.location.turn == turn]


def _in_part(dissection: Dissection, turn: int, part: str) -> list[Diagnostic]:
    return [one for one in _in_turn(dissection, turn) if one.location.part == part]


@in_the_gate(6)  # each inspects a whole trace
@given(dissections())
def test_diagnostics_of_a_range_are_those_that_begin_in_it_and_the_worst_is_the_gravest(dissection: Dissection) -> None:
    for part in dissection.parts:
        for place in (Range(0, len(part.text)), Range(len(part.text) // 2, len(part.text)), Range(0, 1), Range(3, 3)):
            end = place.end + 1 if place.end == len(part.text) or not len(place) else place.end
            wanted = [one for one in part.diagnostics if place.start <= one.range.start < end]
            found = part.wrong_in(place)
            assert list(found) == wanted
            gravest = [
                severity for severity in dissection.severities if severity in {one.rule.severity for one in wanted}
            ]
            assert found.worst == next(iter(gravest), None)
    counts = [one.rule.severity for one in dissection.inspection.diagnostics]
    assert dict(dissection.severities) == {severity: counts.count(severity) for severity in dissection.severities}


@in_the_gate(6)  # each inspects a whole trace
@given(dissections())
def test_lists_stand_at_what_a_look_at_all_places_says_is_nearest(dissection: Dissection) -> None:
    steps, diagnostics = step_list(dissection), diagnostic_list(dissection)
    located = [steps.location(index) for index in range(steps.count)]
    found = dissection.inspection.diagnostics
    row_of = dissection.causes.row_of if dissection.causes else range(len(found))
    for place in places_in(dissection):
        assert steps.nearest(place) == nearest(located, place)
        index = nearest([one.location for one in found], place)
        if found:
            assert diagnostics.nearest(place) == (None if index is None else row_of[index])


@in_the_gate(6)  # each inspects a whole trace
@given(dissections(), st.integers(40, 120))
def test_diagnostics_of_one_cause_share_a_row_that_counts_them(dissection: Dissection, width: int) -> None:
    shown, found = diagnostic_list(dissection), dissection.inspection.diagnostics
    if not found:
        return
    groups = grouped(found, dissection.inspection.chain)
    assert [shown.location(index) for index in range(shown.count)] == [group.first.location for group in groups]
    for index, group in enumerate(groups):
        line = plain(shown.line(index, width))
        others = f" (and {len(group.more):,} more of this kind)"
        assert line.endswith(others) == bool(group.more)
        assert len(line) <= width


@in_the_gate(6)  # each inspects a whole trace
@given(dissections())
def test_steps_are_found_by_their_calls_and_results(dissection: Dissection) -> None:
    steps = dissection.inspection.chain.steps
    for part in dissection.inspection.parts:
        for call in part.calls:
            at = Location(part.turn, part.part, call.range)
            wanted = [step for step in steps if step.location == at]
            assert dissection.steps.of_call(part.turn, part.part, call) == (wanted[-1] if wanted else None)
        for result in part.results:
            at = Location(part.turn, part.part, result.range)
            answered = [step for step in steps if step.result_location == at]
            found = dissection.steps.of_result(part.turn, part.part, result.range)
            assert found == (answered[0] if answered else None)
    for number in range(len(dissection.trace.turns) + 2):
        brought = [step for step in steps if step.result_location is not None and step.result_location.turn == number]
        assert list(dissection.steps.answered_in(number)) == brought


@in_the_gate(6)  # each inspects a whole trace
@given(dissections())
def test_the_fault_at_a_place_is_the_smallest_that_holds_it(dissection: Dissection) -> None:
    for place in places_in(dissection):
        at, part = place.range.start, dissection.part(place.turn, place.part)
        inside = part.diagnostics if part is not None else dissection.without_part(place.turn)
        here = [one for one in inside if one.range.start <= at < max(one.range.end, one.range.start + 1)]
        if here:
            assert fault_at(dissection, place) == min(here, key=lambda one: len(one.range))
        else:
            behind = next_fault(dissection, place) or next_fault(dissection, place, back=True)
            assert fault_at(dissection, place) == behind


@in_the_gate(6)  # each inspects a whole trace
@given(dissections())
def test_tools_are_those_of_the_request_or_of_the_texts_before(dissection: Dissection) -> None:
    told_tools: list[ToolDefinition] = []
    for number, turn in enumerate(dissection.trace.turns, 1):
        made = turn.generation
        assert offered_at(dissection, number) == (made.tools if made and made.tools else tuple(told_tools))
        for part in dissection.parts_of(number):
            if turn.role in (Role.SYSTEM, Role.USER):
                told_tools += part.inspection.definitions
            for tool in part.inspection.definitions:
                first = next(one for one in dissection.parts if tool in one.inspection.definitions)
                assert tool.range is None or tool_place(dissection, tool) == first.location(tool.range)


@in_the_gate(6)  # each inspects a whole trace
@given(told())
def test_a_trace_in_columns_looks_and_moves_like_the_same_trace_in_tuples(trace: Trace) -> None:
    one = scenes.dissected(trace)
    other = in_columns(one)
    assert _shown(one) == _shown(other)
    for place in places_in(one):
        assert next_step(one, place) == next_step(other, place)
        assert next_fault(one, place, back=True) == next_fault(other, place, back=True)
        assert step_at(one, place) == step_at(other, place)
        for words in ("f", "Well", "tool_call"):
            assert find(one, words, place) == find(other, words, place)
            assert find(one, words, place, back=True) == find(other, words, place, back=True)


@pytest.mark.slow
def test_several_threads_look_at_one_trace_at_once() -> None:
    turns = [
        Turn(Role.ASSISTANT, (Part("text", f"{number} {_CALL} Well."), Part("call:0", "{}"))) for number in range(90)
    ]
    one = scenes.dissected(Trace(tuple(turns), format="hermes"))
    wanted, shared = _shown(one), in_columns(one)
    with ThreadPoolExecutor(4) as pool:
        assert all(shown == wanted for shown in pool.map(_shown, [shared] * 8))


def _shown(dissection: Dissection) -> list[str]:
    layout, tree = StreamLayout(dissection, 60, StreamOptions()), Tree(dissection)
    index = 0
    while index < tree.count:
        tree.expand(index)
        index += 1
    lines = [row.line for _, row in layout.below(layout.first())]
    lines += [tree.line(index, 80) for index in range(tree.count)]
    for side in (diagnostic_list(dissection), step_list(dissection)):
        lines += [side.line(index, 80) for index in range(side.count)]
    return [plain(line) for line in lines]


@given(st.lists(st.lists(st.integers(0, 3 * BLOCK_CHARS), max_size=2), max_size=3), st.sampled_from(("x", "xy\n")))
def test_blocks_tile_the_texts_under_a_heading_a_turn(lengths: list[list[int]], word: str) -> None:
    turns = [
        Turn(Role.USER, tuple(Part(f"p{at}", (word * length)[:length]) for at, length in enumerate(parts)))
        for parts in lengths
    ]
    dissection = Dissection(Trace(tuple(turns), format="hermes"), inspect_trace(Trace((), format="hermes")))
    blocks = dissection.outline.blocks
    found = [blocks.block(number) for number in range(len(blocks))]
    assert [one.turn for one in found if one.part is None] == (list(range(1, len(turns) + 1)) or [0])
    index = 0
    for number, turn in enumerate(turns, 1):
        assert found[blocks.heading(number)] == TextBlock(number, None)
        for part in turn.parts:
            mine = [one for one in found if one.part == index]
            assert [one.turn for one in mine] == [number] * len(mine)
            assert [one.start for one in mine] == [0, *(one.end for one in mine)][: len(mine)]
            assert mine[-1].end == len(part.text)
            assert [one.is_first for one in mine] == [True, *(False for _ in mine[1:])]
            assert [one.is_last for one in mine] == [*(False for _ in mine[1:]), True]
            assert max(one.end - one.start for one in mine) <= BLOCK_CHARS
            for offset in range(0, len(part.text) + 1, 977):
                held = found[blocks.holding(number, index, offset)]
                assert held.part == index
                assert held.start <= offset <= held.end
            index += 1
    texts_ = [part.text for turn in turns for part in turn.parts]
    assert blocks.last_text() == max((at for at, text in enumerate(texts_) if text), default=None)
