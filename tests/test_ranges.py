"""Every range that a reading reports lies within its text."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.mutations import mutated_texts
from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.facade import make_call
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_scanner import read_json
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Generation, Json, Part, Role, Span, ToolDefinition, Trace, Turn
from weaklink.inspector.segmentation import segment
from weaklink.inspector.text import Range
from weaklink.ui.cli.files import tool_definitions

SCHEMA: Json = {
    "type": "object",
    "properties": {"city": {"type": "string", "minLength": 99}, "days": {"type": "integer", "maximum": -1}},
    "required": ["country"],
    "additionalProperties": False,
}
TOOLS = tuple(ToolDefinition(name, "", SCHEMA) for name in ("get_weather", "get_weather1", "f", "post"))


def ranges_of(fault: Fault) -> Iterator[Range]:
    yield fault.range
    yield from (edit.range for edit in fault.fix.edits) if fault.fix is not None else ()
    yield from (related.range for related in fault.related)


def span_ranges(span: Span) -> Iterator[Range]:
    yield from (span.range, span.inner)
    for child in span.children:
        yield from span_ranges(child)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
def test_ranges_lie_within_their_text(seed: int) -> None:
    """The gate reads 500 damaged texts, seven of every format; `make test-slow` reads 1,500 others."""
    for mutation in mutated_texts(seed, 500):
        segmentation = segment(
            mutation.text,
            mutation.format,
            prompt=mutation.prompt,
            tools=(*TOOLS, *tool_definitions(list(mutation.tools))),
        )
        places = [range_ for each in segmentation.diagnostics for range_ in ranges_of(each.fault)]
        places += [span_range for span in segmentation.spans for span_range in span_ranges(span)]
        for call in segmentation.calls:
            places += [range_ for range_ in (call.range, call.name_range, call.arguments_range) if range_ is not None]
        places += [result.range for result in segmentation.results]
        assert all(0 <= range_.start <= range_.end <= len(mutation.text) for range_ in places), mutation


@pytest.mark.parametrize("name", ["openai", "claude", "gemini", "hermes", "mistral"])
def test_ranges_lie_within_a_text_that_is_cut_anywhere(name: str) -> None:
    call = find_format(name).write_calls([make_call("f", {})]).replace('"{}"', '""')
    for end in range(len(call)):
        for each in segment(call[:end], name).diagnostics:
            assert all(0 <= range_.start <= range_.end <= end for range_ in ranges_of(each.fault)), (call[:end], each)


@pytest.mark.parametrize("seed", range(2))
def test_ranges_of_a_trace_lie_within_their_parts(seed: int) -> None:
    for mutation in mutated_texts(seed, 200):
        said = Turn(Role.ASSISTANT, (Part("text", mutation.text),), generation=Generation(tools=TOOLS))
        trace = Trace((said, Turn(Role.TOOL, (Part("text", "Error: no"),)), Turn(Role.USER, (Part("text", "Well?"),))))
        for each in inspect_trace(trace, format=mutation.format).diagnostics:
            part = trace.turns[each.location.turn - 1].part(each.location.part)
            size = len(part.text) if part is not None else 0
            places = (each.location.range, *ranges_of(each.fault))
            assert all(0 <= range_.start <= range_.end <= size for range_ in places), (mutation, each)


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        *((keyword, "ab") for keyword in ("minLength", "minItems", "minProperties")),
        *((keyword, 7) for keyword in ("minimum", "exclusiveMinimum", "multipleOf", "const")),
    ],
)
@pytest.mark.parametrize("limit", ["1" + "0" * 400, "1" + "0" * 5_000, "18446744073709551616", "9007199254740993"])
def test_a_huge_limit_is_quoted_as_it_is_written(keyword: str, value: Any, limit: str) -> None:
    held = {"minItems": [value], "minProperties": {"a": 1}}.get(keyword, value)
    schema = f'{{"properties": {{"a": {{"{keyword}": {limit}}}}}}}'
    tool = ToolDefinition("f", "", read_json(schema).nodes[0].value())
    segmentation = segment(
        f'<tool_call>{{"name": "f", "arguments": {{"a": {write_json(held)}}}}}</tool_call>', "hermes", tools=[tool]
    )
    told = [diagnostic for diagnostic in segmentation.diagnostics if diagnostic.rule.code in ("S204", "S205")]
    unchecked = [diagnostic for diagnostic in segmentation.diagnostics if diagnostic.rule.code == "S210"]
    assert told or unchecked
    for limit_fault in told:
        assert f"`{limit[:59]}" in limit_fault.fault.message or "a very long number" in limit_fault.fault.message
        assert str(2**64 - 1) not in limit_fault.fault.message
