"""Nodes: their places, their values, and the bounds of both."""

import json
from decimal import Decimal

import pytest

from weaklink.inspector.json_scanner import MAX_DEPTH, JsonKind, JsonNode, decode_string, read_json
from weaklink.inspector.text import Range


def _value_at(node: JsonNode, pointer: str) -> object:
    inner = node.node_at(pointer)
    assert inner
    return inner.value()


def test_every_value_and_key_has_its_exact_place() -> None:
    text = ' {"a": [1, "two"], "b\\n": {"c": null}}'
    (root,) = read_json(text).nodes
    assert root.range.of(text) == text[1:]
    assert [member.key_range.of(text) for member in root.members] == ['"a"', '"b\\n"']
    assert [item.range.of(text) for item in root.members[0].value.items] == ["1", '"two"']


def test_a_pointer_leads_to_the_value_it_names() -> None:
    (root,) = read_json('{"a/b": [0, {"~": "x"}], "": 5, "a/b": [1, {"~": "y"}]}').nodes
    assert root.node_at("") is root
    assert _value_at(root, "/a~1b/1/~0") == "y"
    assert _value_at(root, "/") == 5
    assert root.node_at("/a~1b/2") is None
    assert root.node_at("/a~1b/01") is None
    assert root.node_at("/nothing/at/all") is None
    assert root.node_at("a") is None


def test_of_members_with_the_same_key_the_last_counts_and_the_payload_stays_strict() -> None:
    reading = read_json('{"a": 1, "a": 2}')
    assert reading.strict
    assert reading.nodes[0].value() == {"a": 2}
    assert _value_at(reading.nodes[0], "/a") == 2
    assert [fault.rule.code for fault in reading.faults] == ["J108"]


def test_long_integers_and_large_floats_are_read_as_json_means_them() -> None:
    digits = "9" * 100_000
    (root,) = read_json(f"[{digits}, 1e400, -1e400, {'7' * 4300}]").nodes
    assert root.items[0].scalar == Decimal(digits)
    assert root.items[1].scalar == float("inf")
    assert root.items[2].scalar == float("-inf")
    assert root.items[3].scalar == int("7" * 4300)


def test_surrogates_combine_in_pairs_and_are_kept_alone() -> None:
    assert read_json('["\\ud83d\\ude00", "\\ud83d", "\ud83d"]').nodes[0].value() == ["😀", "\ud83d", "\ud83d"]


@pytest.mark.parametrize(("opener", "closer"), [("[", "]"), ('{"a":', "}")])
def test_a_payload_may_be_as_deep_as_the_bound_and_no_deeper(opener: str, closer: str) -> None:
    core = "1" if closer == "}" else ""
    deepest = opener * MAX_DEPTH + core + closer * MAX_DEPTH
    assert read_json(deepest).strict
    assert read_json(deepest).nodes[0].value() == json.loads(deepest)
    deeper = opener * (MAX_DEPTH + 1) + core + closer * (MAX_DEPTH + 1)
    reading = read_json(deeper)
    assert [fault.rule.code for fault in reading.faults] == ["J117"]
    assert reading.faults[0].range.start == len(opener) * MAX_DEPTH
    assert not reading.strict
    assert not reading.repairable


def test_what_lies_within_a_range_is_read_in_coordinates_of_the_whole_text() -> None:
    text = '<tool_call>{"a": True}</tool_call>'
    reading = read_json(text, Range(11, 22))
    assert reading.nodes[0].range.of(text) == '{"a": True}'
    assert reading.faults[0].range.of(text) == "True"
    assert reading.repairable


def test_a_hundred_faults_are_listed_and_the_rest_is_counted() -> None:
    reading = read_json("[" + "True, " * 500 + "1]")
    assert len(reading.faults) == 101
    assert "400 faults more" in reading.faults[-1].message
    assert not reading.repairable


def test_a_broken_value_is_kept_as_what_it_is() -> None:
    (root,) = read_json('{"a": sqrt(2), "b": Oslo, "c": NaN, "d": 1 + 1}').nodes
    assert [member.value.kind for member in root.members] == [JsonKind.OTHER] * 4
    assert root.value() == {"a": "sqrt(2)", "b": "Oslo", "c": None, "d": 2}


@pytest.mark.parametrize(
    ("raw", "value"), [("a\\n", "a\n"), ("\\d", "\\d"), ("it\\'s", "it's"), ('a"b', 'a"b'), ("\\", "\\")]
)
def test_raw_content_of_strings_is_decoded_whatever_it_holds(raw: str, value: object) -> None:
    assert decode_string(raw) == value
