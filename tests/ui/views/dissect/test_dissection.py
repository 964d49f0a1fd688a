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
    return st.builds(lambda base, wide: in_columns(base) if wide else base, read.map(scenes.dissected), st.booleans())


def in_columns(dissection: Dissection) -> Dissection:
    trace, inspection, _ = counted(dissection.trace, dissection.inspection)
    return Dissection(trace, inspection)


def places_in(dissection: Dissection) -> Iterator[Location]:
    """Where somebody may stand: in parts, at faults, in a part that is not there."""
    for number, turn in enumerate(dissection.trace.turns, 1):
        yield Location(number, "nowhere", Range(0, 0))
        for part in turn.parts:
            for index in range(0, len(part.text) + 1, max(len(part.text) // 7, 1)):
                yield Location(number, part.name, Range(index, min(index + 1, len(part.text))))
    yield from (diagnostic.location for diagnostic in dissection.inspection.diagnostics)
    yield from (step.location for step in dissection.inspection.chain.steps)


@in_the_gate(6)  # each inspects a whole trace
@given(dissections())
def test_parts_are_those_of_the_turns_with_what_was_found_in_them(dissection: Dissection) -> None:
    by_key = {(inspected.turn, inspected.part): inspected for inspected in dissection.inspection.parts}
    index = 0
    for number, turn in enumerate(dissection.trace.turns, 1):
        assert [part.source for part in dissection.parts_of(number)] == list(turn.parts)
        for source in turn.parts:
            part = dissection.parts[index]
            assert (part.index, part.turn, part.role, part.source) == (index, number, turn.role, source)
            nothing = PartInspection(number, source.name, dissection.inspection.format, ())
            assert part.inspection == by_key.get((number, source.name), nothing)
            assert sorted(part.diagnostics, key=_place) == sorted(_in_part(dissection, number, source.name), key=_place)
            assert dissection.part(number, source.name) == part
            assert dissection.outline.blocks.length(index) == len(source.text)
            index += 1
        assert dissection.part(number, "nowhere") is None
        names = {part.name for part in turn.parts}
        apart = [turn for turn in _in_turn(dissection, number) if turn.location.part not in names]
        assert sorted(dissection.without_part(number), key=_place) == sorted(apart, key=_place)
        assert sorted(dissection.wrong_in_turn(number), key=_place) == sorted(_in_turn(dissection, number), key=_place)
    assert len(dissection.parts) == index
    assert dissection.parts_of(0) == dissection.parts_of(len(dissection.trace.turns) + 1) == ()


def _place(diagnostic: Diagnostic) -> tuple[Location, str, str]:
    return diagnostic.location, diagnostic.rule.code, diagnostic.fault.message


def _in_turn(dissection: Dissection, turn: int) -> list[Diagnostic]:
    return [diagnostic for diagnostic in dissection.inspection.diagnostics if diagnostic.location.turn == turn]


def _in_part(dissection: Dissection, turn: int, part: str) -> list[Diagnostic]:
    return [diagnostic for diagnostic in _in_turn(dissection, turn) if diagnostic.location.part == part]


@in_the_gate(6)  # each inspects a whole trace
@given(dissections())
def test_diagnostics_of_a_range_are_those_that_begin_in_it_and_the_worst_is_the_gravest(dissection: Dissection) -> None:
    for part in dissection.parts:
        for range_ in (Range(0, len(part.text)), Range(len(part.text) // 2, len(part.text)), Range(0, 1), Range(3, 3)):
            end = range_.end + 1 if range_.end == len(part.text) or not len(range_) else range_.end
            wanted = [diagnostic for diagnostic in part.diagnostics if range_.start <= diagnostic.range.start < end]
            result = part.wrong_in(range_)
            assert list(result) == wanted
            gravest = [
                severity
                for severity in dissection.severities
                if severity in {diagnostic.rule.severity for diagnostic in wanted}
            ]
            assert result.worst == next(iter(gravest), None)
    counts = [diagnostic.rule.severity for diagnostic in dissection.inspection.diagnostics]
    assert dict(dissection.severities) == {severity: counts.count(severity) for severity in dissection.severities}


@in_the_gate(6)  # each inspects a whole trace
@given(dissections())
def test_lists_stand_at_what_a_look_at_all_places_says_is_nearest(dissection: Dissection) -> None:
    steps, diagnostics = step_list(dissection), diagnostic_list(dissection)
    located = [steps.location(index) for index in range(steps.count)]
    result = dissection.inspection.diagnostics
    row_of = dissection.causes.row_of if dissection.causes else range(len(result))
    for location in places_in(dissection):
        assert steps.nearest(location) == nearest(located, location)
        index = nearest([diagnostic.location for diagnostic in result], location)
        if result:
            assert diagnostics.nearest(location) == (None if index is None else row_of[index])


@in_the_gate(6)  # each inspects a whole trace
@given(dissections(), st.integers(40, 120))
def test_diagnostics_of_one_cause_share_a_row_that_counts_them(dissection: Dissection, width: int) -> None:
    shown, result = diagnostic_list(dissection), dissection.inspection.diagnostics
    if not result:
        return
    groups = grouped(result, dissection.inspection.chain)
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
            location = Location(part.turn, part.part, call.range)
            wanted = [step for step in steps if step.location == location]
            assert dissection.steps.of_call(part.turn, part.part, call) == (wanted[-1] if wanted else None)
        for result in part.results:
            location = Location(part.turn, part.part, result.range)
            answered = [step for step in steps if step.result_location == location]
            found = dissection.steps.of_result(part.turn, part.part, result.range)
            assert found == (answered[0] if answered else None)
    for number in range(len(dissection.trace.turns) + 2):
        brought = [step for step in steps if step.result_location is not None and step.result_location.turn == number]
        assert list(dissection.steps.answered_in(number)) == brought


@in_the_gate(6)  # each inspects a whole trace
@given(dissections())
def test_the_fault_at_a_place_is_the_smallest_that_holds_it(dissection: Dissection) -> None:
    for span in places_in(dissection):
        index, part = span.range.start, dissection.part(span.turn, span.part)
        inside = part.diagnostics if part is not None else dissection.without_part(span.turn)
        here = [span for span in inside if span.range.start <= index < max(span.range.end, span.range.start + 1)]
        if here:
            assert fault_at(dissection, span) == min(here, key=lambda span: len(span.range))
        else:
            behind = next_fault(dissection, span) or next_fault(dissection, span, back=True)
            assert fault_at(dissection, span) == behind


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
                first = next(part for part in dissection.parts if tool in part.inspection.definitions)
                assert tool.range is None or tool_place(dissection, tool) == first.location(tool.range)


@in_the_gate(6)  # each inspects a whole trace
@given(told())
def test_a_trace_in_columns_looks_and_moves_like_the_same_trace_in_tuples(trace: Trace) -> None:
    dissected = scenes.dissected(trace)
    other = in_columns(dissected)
    assert _shown(dissected) == _shown(other)
    for location in places_in(dissected):
        assert next_step(dissected, location) == next_step(other, location)
        assert next_fault(dissected, location, back=True) == next_fault(other, location, back=True)
        assert step_at(dissected, location) == step_at(other, location)
        for words in ("f", "Well", "tool_call"):
            assert find(dissected, words, location) == find(other, words, location)
            assert find(dissected, words, location, back=True) == find(other, words, location, back=True)


@pytest.mark.slow
def test_several_threads_look_at_one_trace_at_once() -> None:
    turns = [
        Turn(Role.ASSISTANT, (Part("text", f"{number} {_CALL} Well."), Part("call:0", "{}"))) for number in range(90)
    ]
    dissected = scenes.dissected(Trace(tuple(turns), format="hermes"))
    wanted, shared = _shown(dissected), in_columns(dissected)
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
        Turn(Role.USER, tuple(Part(f"p{position}", (word * length)[:length]) for position, length in enumerate(parts)))
        for parts in lengths
    ]
    dissection = Dissection(Trace(tuple(turns), format="hermes"), inspect_trace(Trace((), format="hermes")))
    blocks = dissection.outline.blocks
    block = [blocks.block(number) for number in range(len(blocks))]
    assert [text_block.turn for text_block in block if text_block.part is None] == (
        list(range(1, len(turns) + 1)) or [0]
    )
    index = 0
    for number, turn in enumerate(turns, 1):
        assert block[blocks.heading(number)] == TextBlock(number, None)
        for part in turn.parts:
            mine = [text_block for text_block in block if text_block.part == index]
            assert [text_block.turn for text_block in mine] == [number] * len(mine)
            assert [span.start for span in mine] == [0, *(text_block.end for text_block in mine)][: len(mine)]
            assert mine[-1].end == len(part.text)
            assert [text_block.is_first for text_block in mine] == [True, *(False for _ in mine[1:])]
            assert [text_block.is_last for text_block in mine] == [*(False for _ in mine[1:]), True]
            assert max(span.end - span.start for span in mine) <= BLOCK_CHARS
            for offset in range(0, len(part.text) + 1, 977):
                held = block[blocks.holding(number, index, offset)]
                assert held.part == index
                assert held.start <= offset <= held.end
            index += 1
    texts_ = [part.text for turn in turns for part in turn.parts]
    assert blocks.last_text() == max((position for position, text in enumerate(texts_) if text), default=None)
