"""Blocks that agents put into messages and results themselves are no difference between layers; other changes are."""

import pytest
from msgspec.structs import replace

from tests.chain.building import trace_of
from weaklink.inspector.chain.layers import INJECTED_TAGS, without_injected
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Generation, RecordedRun, Role, SentMessage, SentPart, SentRequest, Trace
from weaklink.inspector.model.trace import ResultHeader

_RESULT = "4 degrees and light rain until the evening"
_LINES = ("user: Weather in Oslo?", 'call a1: weather {"city": "Oslo"}', f"result a1: {_RESULT}", "say: 4 degrees.")
_TAGS = pytest.mark.parametrize("tag", INJECTED_TAGS)


def difference_codes(trace: Trace) -> set[str]:
    return {
        diagnostic.rule.code
        for diagnostic in inspect_trace(trace, format="hermes").diagnostics
        if diagnostic.rule.owner
    }


def sent(*messages: int | SentMessage) -> Trace:
    trace = trace_of(*_LINES)
    turns = list(trace.turns)
    turns[3] = replace(turns[3], generation=Generation(request=SentRequest(messages=messages)))
    return replace(trace, turns=tuple(turns))


def user(text: str) -> SentMessage:
    return SentMessage(Role.USER, (SentPart("text", text),), turn=1)


def result(text: str) -> SentMessage:
    return SentMessage(Role.TOOL, (SentPart("text", text),), turn=3, result=ResultHeader("a1"))


@_TAGS
def test_a_block_in_a_later_request_is_no_difference(tag: str) -> None:
    block = f"\n<{tag}>\nIt is 10:00.\n</{tag}>"
    assert difference_codes(sent(user(f"Weather in Oslo?{block}"), 2, result(_RESULT + block))) == set()


@_TAGS
def test_what_changes_beside_a_block_is_a_difference(tag: str) -> None:
    block = f"\n<{tag}>\nIt is 10:00.\n</{tag}>"
    assert difference_codes(sent(user(f"Weather in Rome?{block}"), 2, result(f"5 degrees and sun{block}"))) == {
        "L811",
        "L808",
    }


@_TAGS
def test_a_block_that_the_tool_did_not_return_is_no_difference(tag: str) -> None:
    trace = trace_of(*_LINES[:2], f"result a1: {_RESULT}\n<{tag}>Be brief.</{tag}>", _LINES[3])
    turns = list(trace.turns)
    turns[2] = replace(turns[2], run=RecordedRun("otlp", "weather", "a1", None, _RESULT))
    assert difference_codes(replace(trace, turns=tuple(turns))) == set()


def test_tags_of_others_are_a_difference() -> None:
    assert difference_codes(sent(user("Weather in Oslo?<note>It is 10:00.</note>"), 2, 3)) == {"L811"}


def test_openers_without_an_end_are_read_in_linear_time() -> None:
    text = "<system-reminder>" * 200_000
    assert without_injected(text) == text
    assert without_injected(f"</system-reminder>{text}") == f"</system-reminder>{text}"
