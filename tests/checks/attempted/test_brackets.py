"""A strict JSON value is read once: the reading gives the value, and where its brackets end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_values
from weaklink.inspector.checks.attempted.call_shapes import Brackets
from weaklink.inspector.json_scanner import read_json
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json
from weaklink.inspector.text import Range


@given(
    json_values().filter(lambda value: isinstance(value, list | dict)),
    st.booleans(),
    st.sampled_from(("", " ", "}x", "]\n[")),
)
def test_a_strict_value_ends_where_its_brackets_do(value: Json, ascii_only: bool, behind: str) -> None:
    written = write_json(value, ascii_only=ascii_only)
    text = f"Use {written}{behind}"
    node = Brackets(text).value(4)
    assert (node is not None) == read_json(text, Range(4, 4 + len(written))).strict
    if node is not None:
        assert node.range.end == Brackets(text).end(4) == 4 + len(written)


@pytest.mark.parametrize("opener", ["[", '{"a":', "[[", '["a",'])
def test_values_that_end_nowhere_are_tried_in_linear_time(opener: str) -> None:
    text = opener * 2_000
    brackets = Brackets(text)
    assert all(brackets.value(start) is None for start in range(len(text)) if text[start] in "[{")
    assert brackets._trials > -2 * len(text)


def test_no_value_is_looked_for_beyond_the_budget() -> None:
    text = "[[]" * 40_000
    brackets = Brackets(text)
    for start in range(0, len(text), 3):
        brackets.end(start)
    assert brackets._budget <= 0
    assert brackets.value(0) is None
