"""A difference between layers is at the later layer's text, and the earlier one is its other side."""

import json

import pytest
from msgspec.structs import replace

from tests.chain.building import trace_of
from weaklink.inspector.chain.layers import PartTexts, result_difference
from weaklink.inspector.diagnostics import Diagnostic, Location
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    Generation,
    Part,
    RecordedRun,
    Role,
    SentMessage,
    SentPart,
    SentRequest,
    Trace,
    Turn,
)
from weaklink.inspector.text import Range
from weaklink.ui.views.layers import TraceLayers

RESULT = "4 degrees and light rain until the evening"


def changed_story() -> Trace:
    """A tool ran with another city, and the later request has another prompt, and only the beginning of the result."""
    trace = trace_of(
        "user: Weather?",
        'call a1: weather {"city": "Oslo"}',
        f"result a1: {RESULT}",
        "say: 4 degrees.",
    )
    turns = [Turn(Role.SYSTEM, (Part("text", "Be brief. It is noon."),)), *trace.turns]
    turns[3] = replace(turns[3], run=RecordedRun("otlp", "weather", "a1", '{"city": "Rome"}'))
    turns[2] = replace(turns[2], generation=Generation(request=SentRequest(messages=(1, 2))))
    prompt = SentMessage(Role.SYSTEM, (SentPart("text", "Be brief. It is one."),), turn=1)
    cut = SentMessage(Role.TOOL, (SentPart("text", RESULT[:19]),), turn=4)
    turns[4] = replace(turns[4], generation=Generation(request=SentRequest(messages=(prompt, 2, 3, cut))))
    return replace(trace, turns=tuple(turns))


def differences(trace: Trace) -> dict[str, Diagnostic]:
    return {
        diagnostic.rule.code: diagnostic
        for diagnostic in inspect_trace(trace, format="hermes").diagnostics
        if diagnostic.rule.layer
    }


def test_each_difference_is_at_the_later_text_and_against_the_earlier_one() -> None:
    trace = changed_story()
    by_code, texts = differences(trace), PartTexts(trace)
    assert by_code.keys() == {"L805", "L809", "L816"}
    assert by_code["L805"].location == Location(4, "run:arguments", Range(0, 16))
    assert by_code["L805"].fault.against == Location(3, "call:0", Range(0, 16))
    assert by_code["L809"].location == Location(5, "sent:4:text", Range(19, 19))
    assert by_code["L809"].fault.against == Location(4, "text", Range(19, len(RESULT)))
    assert by_code["L816"].location.part == "sent:1:text"
    assert by_code["L816"].range.of(texts.at(by_code["L816"].location)) == "one"
    against = by_code["L816"].fault.against
    assert against is not None
    assert against.range.of(texts.at(against)) == "noon"
    assert all(diagnostic.place_in_turn == diagnostic.fault.against for diagnostic in by_code.values())
    assert all(diagnostic.range == diagnostic.location.range for diagnostic in by_code.values())


def test_the_differences_of_a_request_come_before_the_faults_of_its_answer_message_by_message() -> None:
    trace = changed_story()
    turns = list(trace.turns)
    turns[4] = replace(turns[4], parts=(Part("text", '<tool_call>\n{"name": "weather"'),))
    diagnostics = inspect_trace(replace(trace, turns=tuple(turns)), format="hermes").diagnostics
    places = [diagnostic.location.part for diagnostic in diagnostics if diagnostic.location.turn == 5]
    assert places[:2] == ["sent:1:text", "sent:4:text"]
    assert "text" in places[2:]
    assert not any(part.startswith("sent:") for part in places[2:])


def test_a_call_that_the_server_left_is_where_it_left_it() -> None:
    """The content is the server's reply too: the call's characters in it are both sides."""
    trace = trace_of("user: Weather?", 'call a1: weather {"city": "Oslo"}', f"result a1: {RESULT}", "say: 4 degrees.")
    turns = list(trace.turns)
    text = '<tool_call>\n{"name": "weather", "arguments": {"city": "Bergen"}}\n</tool_call>'
    turns[3] = replace(turns[3], parts=(Part("text", text),))
    lost = differences(replace(trace, turns=tuple(turns)))["L801"]
    assert lost.location == lost.fault.against
    assert lost.location.turn == 4
    assert "Bergen" in lost.range.of(text)
    assert [related.range for related in lost.fault.related] == [lost.range]


@pytest.mark.parametrize(
    ("written", "parsed", "is_reported"),
    [
        (
            "<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n5\n</parameter>",
            '{"city": "Oslo", "days": 5}',
            False,
        ),
        (
            "<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n5\n</parameter>",
            '{"days": "5", "city": "Oslo"}',
            False,
        ),
        (
            "<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n05\n</parameter>",
            '{"city": "Oslo", "days": 5}',
            True,
        ),
        ("<parameter=city>\nOslo\n</parameter>", '{"city": "Oslo", "days": 5}', True),
    ],
)
def test_parameters_that_are_written_as_text_are_compared_by_value(
    written: str, parsed: str, is_reported: bool
) -> None:
    trace = trace_of("user: Weather?", f"call a1: weather {parsed}", "result a1: 4 degrees", "say: 4 degrees.")
    text = Part("text", f"<tool_call>\n<function=weather>\n{written}\n</function>\n</tool_call>")
    turns = (trace.turns[0], replace(trace.turns[1], parts=(text, *trace.turns[1].parts)), *trace.turns[2:])
    inspection = inspect_trace(replace(trace, turns=turns), format="qwen3_coder")
    assert [diagnostic.rule.code for diagnostic in inspection.diagnostics if diagnostic.rule.layer] == [
        "L803" if is_reported else "L817"
    ]
    layers = TraceLayers(replace(trace, turns=turns), inspection).of(inspection.chain.steps[0])
    assert [layer.text is not None for layer in layers.call] == [True, True, False]
    assert layers.differ is is_reported


def test_what_is_missing_is_at_the_place_before_which_it_stood() -> None:
    trace = trace_of(
        "user: Weather?", 'call a1: weather {"city": "Oslo"}', f"result a1: {RESULT}", "user: And?", "say: 4."
    )
    turns = list(trace.turns)
    thought = Part("reasoning", "Oslo it is.")
    asked = Generation(request=SentRequest(messages=(1,)))
    turns[1] = replace(turns[1], parts=(thought, *turns[1].parts), generation=asked)
    header = turns[1].calls
    bare = SentMessage(Role.ASSISTANT, (SentPart("call:0", '{"city": "Oslo"}'),), turn=2, calls=header)
    turns[4] = replace(turns[4], generation=Generation(request=SentRequest(messages=(1, bare, 3, 4))))
    by_code = differences(replace(trace, turns=tuple(turns)))
    assert by_code["L813"].location == Location(5, "sent:2:call:0", Range(0, 0))
    turns[4] = replace(turns[4], generation=Generation(request=SentRequest(messages=(2, 3, 4))))
    by_code = differences(replace(trace, turns=tuple(turns)))
    assert by_code["L811"].location == Location(5, "sent:1:reasoning", Range(0, 0))
    assert by_code["L811"].fault.against == Location(1, "text", Range(0, 8))


@pytest.mark.parametrize("between", ["", "\n", "\n\n"])
def test_a_result_of_several_blocks_that_was_cut_is_cut_not_changed(between: str) -> None:
    blocks = [f"Row {row}: " + "x" * 90 for row in range(9)]
    whole = json.dumps({"content": [{"type": "text", "text": block} for block in blocks]})
    read = between.join(blocks)[:300] + "... [truncated]"
    difference = result_difference(whole, read)
    assert difference is not None
    assert difference.is_cut
    assert difference.kept == 300
    assert difference.kept + difference.lost == len(between.join(blocks))
    assert difference.other == (0, len(whole))
    other = result_difference(whole, "quite another text")
    assert other is not None
    assert not other.is_cut
    assert result_difference(whole, between.join(blocks)) is None
