"""JSON is written as RFC 8259 wants it, whatever the value holds."""

import json
import math
from decimal import Decimal

import pytest
from hypothesis import given

from tests.strategies import json_values
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json


def with_words(value: Json) -> Json:
    """A value as it is written: numbers that JSON does not know are words, halves of pairs are joined."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case list():
            return [with_words(item) for item in value]
        case dict():
            return {json.loads(json.dumps(key)): with_words(member) for key, member in value.items()}
        case str():
            joined: str = json.loads(json.dumps(value))
            return joined
        case _:
            return value


@given(json_values())
def test_what_is_written_reads_back(value: Json) -> None:
    text = write_json(value)
    assert text.isascii()
    assert json.loads(text) == with_words(value)


def test_numbers_that_json_does_not_know_become_strings() -> None:
    assert write_json({"a": [math.nan, math.inf, -math.inf, 1.5, "x"]}) == (
        '{"a": ["NaN", "Infinity", "-Infinity", 1.5, "x"]}'
    )


def test_an_integer_keeps_all_its_digits() -> None:
    digits = "7" * 5_000
    assert write_json([Decimal(digits), 10**4_500, True, None]) == f"[{digits}, 1{'0' * 4_500}, true, null]"


def test_nesting_may_be_of_any_depth() -> None:
    value: Json = {"a": []}
    for _ in range(20_000):
        value = [value]
    assert write_json(value) == "[" * 20_000 + '{"a": []}' + "]" * 20_000


def test_lone_surrogates_are_escaped() -> None:
    assert write_json("\udc80") == '"\\udc80"'
    assert write_json({"\ud83d": math.inf}) == '{"\\ud83d": "Infinity"}'


def test_what_is_no_json_value_is_refused() -> None:
    with pytest.raises(TypeError):
        write_json({"a": object()})
