"""Whatever the tools and the call are, nothing raises and every fault has a place in the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_values
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, ToolDefinition
from weaklink.inspector.segmentation import segment

pytestmark = pytest.mark.invariants

KEYWORDS = (
    *("type", "properties", "items", "required", "enum", "const", "$ref", "$defs", "anyOf", "oneOf", "allOf", "not"),
    *("if", "then", "pattern", "format", "minimum", "maxLength", "additionalProperties", "unevaluatedProperties"),
    *("patternProperties", "$schema", "$id", "$dynamicRef", "$anchor", "dependentRequired", "prefixItems", "a", "b"),
)
WORDS = (
    *("#", "#/$defs/a", "#a", "a", "http://127.0.0.1:9/", "string", "object", "int", "date", "(a+)+$", "(?=a)(b|b)*c"),
    *("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-04/schema#", "\ud800", ""),
)
SCHEMAS = st.recursive(
    st.sampled_from(WORDS) | st.booleans() | st.none() | st.integers(-3, 3) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=5),
    max_leaves=20,
)


@given(parameters=SCHEMAS | json_values(), arguments=SCHEMAS | json_values(), name=st.sampled_from(("f", "g", "")))
def test_nothing_raises_and_every_fault_has_a_place(parameters: Json, arguments: Json, name: str) -> None:
    text = f'<tool_call>{{"name": {write_json(name)}, "arguments": {write_json(arguments)}}}</tool_call>'
    tools = [ToolDefinition("f", parameters=parameters)]
    segmentation = segment(text, "hermes", tools=tools)
    for diagnostic in segmentation.diagnostics:
        assert 0 <= diagnostic.range.start < diagnostic.range.end <= len(text)
        assert diagnostic.fault.message.endswith(".")
        assert not diagnostic.fault.hint or diagnostic.fault.hint[-1] in ".?"
    assert segmentation == segment(text, "hermes", tools=tools)
