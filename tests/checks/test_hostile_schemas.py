"""Schemas and arguments that hang, crash or fetch elsewhere: bounded here, and said."""

import json
from typing import Any

import pytest

from weaklink.inspector.model import Json, ToolDefinition
from weaklink.inspector.segmentation import Segmentation, segment


def doubled(levels: int, keyword: str) -> dict[str, Any]:
    links: dict[str, Any] = {
        f"d{level}": {keyword: [{"$ref": f"#/$defs/d{level + 1}"}, {"$ref": f"#/$defs/d{level + 1}"}]}
        for level in range(levels)
    }
    links[f"d{levels}"] = {"type": "integer"}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": links}


def nested(levels: int, key: str) -> Json:
    schema: Json = {}
    for _ in range(levels):
        schema = {key: schema}
    return schema


def unevaluated(levels: int) -> Json:
    schema: Json = {"properties": {"a": True}, "unevaluatedProperties": False}
    for _ in range(levels):
        schema = {"allOf": [schema], "unevaluatedProperties": False}
    return schema


def chained(levels: int, reference: str, name: str = "", **root: Json) -> Json:
    """Schemas that apply the next one twice; `reference` and `name` have a number in them."""
    links: dict[str, Any] = {
        f"d{level}": {"allOf": [{"$ref": reference.format(level + 1)}] * 2, **({name: f"n{level}"} if name else {})}
        for level in range(levels)
    }
    links[f"d{levels}"] = {"type": "integer", **({name: f"n{levels}"} if name else {})}
    return {"type": "object", "properties": {"a": {"$ref": reference.format(0)}}, "$defs": links, **root}


def unevaluated_chain(levels: int) -> Json:
    links: dict[str, Any] = {
        f"d{level}": {"unevaluatedProperties": False, "allOf": [{"$ref": f"#/$defs/d{level + 1}"}]}
        for level in range(levels)
    }
    return {"type": "object", "$defs": {**links, f"d{levels}": {}}, "$ref": "#/$defs/d0"}


TWICE = {"properties": {"a": {"$ref": "#/$defs/n"}}}
NOT_CHECKED = [
    *(pytest.param(doubled(60, word), '{"a": 1}', id=word) for word in ("allOf", "anyOf", "oneOf")),
    pytest.param(chained(60, "#/%24defs/d{}"), '{"a": 1}', id="percent-encoded"),
    pytest.param(chained(60, "r#/$defs/d{}", **{"$id": "http://x.org/r"}), '{"a": 1}', id="id and pointer"),
    pytest.param(chained(60, "n{}", "$id", **{"$id": "http://x.org/r"}), '{"a": 1}', id="ids"),
    pytest.param(chained(60, "#n{}", "$anchor"), '{"a": 1}', id="anchors"),
    pytest.param(chained(60, "#n{}", "$dynamicAnchor"), '{"a": 1}', id="dynamic anchors"),
    pytest.param(unevaluated_chain(5_000), '{"a": 1}', id="a chain with unevaluatedProperties"),
    pytest.param(
        {
            "type": "object",
            "properties": {f"p{number}": {"$id": f"n{number}", "$ref": f"n{number + 1}"} for number in range(2_000)},
        },
        '{"a": 1}',
        id="2,000 ids",
    ),
    pytest.param(nested(30_000, "not"), '{"a": 1}', id="30,000 levels"),
    pytest.param(nested(200, "additionalProperties"), '{"a": 1}', id="200 levels"),
    pytest.param(unevaluated(60), '{"b": 1}', id="unevaluated"),
    pytest.param({"properties": {"a": {"pattern": "(x+x+)+y(?!z)"}}}, json.dumps({"a": "x" * 5_000}), id="look-ahead"),
    pytest.param({"properties": {"a": {"pattern": r"(a*)*\1b"}}}, json.dumps({"a": "a" * 5_000}), id="back-reference"),
    pytest.param(
        {"$defs": {"n": {"type": "object", "allOf": [TWICE, TWICE]}}, "$ref": "#/$defs/n"},
        '{"a": ' * 200 + "1" + "}" * 200,
        id="recursion that doubles",
    ),
    pytest.param({"type": "object"}, '{"a": "\\ud83d"}', id="half a surrogate pair"),
    pytest.param({"type": "object"}, '{"a": 1e400}', id="beyond numbers"),
    pytest.param({"type": "object"}, '{"a": ' + "1" * 5_000 + "}", id="5,000 digits"),
    pytest.param({"type": "object"}, '{"a": [' + "{}, " * 600 + "-1e400]}", id="beyond numbers, behind many rows"),
    pytest.param({"type": "object", "const": "\ud83d"}, "{}", id="half a pair in the schema"),
    pytest.param({"type": "object", "maximum": float("inf")}, "{}", id="infinity in the schema"),
]


def found_in(parameters: Json, arguments: str) -> Segmentation:
    text = f'<tool_call>{{"name": "f", "arguments": {arguments}}}</tool_call>'
    return segment(text, "hermes", tools=[ToolDefinition("f", parameters=parameters)])


@pytest.mark.parametrize(("parameters", "arguments"), NOT_CHECKED)
def test_what_would_hang_or_crash_is_not_checked_and_that_is_said(parameters: Json, arguments: str) -> None:
    told = {diagnostic.rule.code for diagnostic in found_in(parameters, arguments).diagnostics}
    assert "S210" in told
    assert not told & {"S201", "S202", "S203", "S204", "S205", "S206"}


@pytest.mark.parametrize(
    "reference", ["http://127.0.0.1:9/x", "file:///etc/passwd", "other.json#/x", "#/$defs/no", "#no", "::::"]
)
def test_a_reference_is_never_followed_out_and_the_rest_is_checked(reference: str) -> None:
    schema: Json = {"type": "object", "properties": {"a": {"$ref": reference}, "b": {"type": "integer"}}}
    assert [diagnostic.rule.code for diagnostic in found_in(schema, '{"a": 1, "b": "x"}').diagnostics] == [
        "S208",
        "S202",
    ]


@pytest.mark.parametrize(
    ("schema", "circles"),
    [
        ({"$ref": "#"}, 1),
        ({"type": "object", "allOf": [{"$ref": "#"}, {"$ref": "#"}]}, 2),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}}, 1),
        ({"$recursiveRef": "#"}, 0),
    ],
)
def test_a_schema_that_is_itself_ends_and_is_told(schema: Json, circles: int) -> None:
    codes = [diagnostic.rule.code for diagnostic in found_in(schema, '{"a": 1}').diagnostics]
    assert codes.count("S208") == circles
    assert set(codes) <= {"S207", "S208"}


def test_a_pattern_that_needs_no_looking_around_is_decided_however_it_is_written() -> None:
    schema: Json = {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}}
    segmentation = found_in(schema, json.dumps({"a": "a" * 5_000 + "!"}))
    assert [diagnostic.rule.code for diagnostic in segmentation.diagnostics] == ["S205"]


def test_many_rows_are_checked_however_many_there_are() -> None:
    schema: Json = {"type": "object", "properties": {"a": {"items": {"type": "object"}}}}
    segmentation = found_in(schema, '{"a": [' + "{}, " * 600 + "1]}")
    assert [(diagnostic.rule.code, diagnostic.fault.path) for diagnostic in segmentation.diagnostics] == [
        ("S202", "/a/600")
    ]


def test_a_faulty_schema_of_any_size_is_explained_within_bounds() -> None:
    faulty: Json = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "minimum": "x",
        "enum": [{"a": number} for number in range(9_000)],
        "properties": {f"p{number}": {"description": "x"} for number in range(500)},
    }
    assert "S207" in {diagnostic.rule.code for diagnostic in found_in(faulty, "{}").diagnostics}


LARGE = 20_000
NUMBERS = list(range(LARGE))
ALTERNATIVES: list[Json] = [{"const": -number - 1} for number in range(1_000)]
OVERSIZED: list[Any] = [
    pytest.param({"contains": {"anyOf": ALTERNATIVES}}, NUMBERS, id="contains"),
    pytest.param({"items": {"anyOf": ALTERNATIVES}}, NUMBERS, id="items anyOf"),
    pytest.param({"items": {"oneOf": ALTERNATIVES}}, NUMBERS, id="items oneOf"),
    pytest.param(
        {"items": {"allOf": [{"not": alternative} for alternative in ALTERNATIVES]}}, NUMBERS, id="items allOf not"
    ),
    pytest.param({"items": {"enum": [-number - 1 for number in range(5_000)]}}, NUMBERS, id="items enum"),
    pytest.param({"items": {"required": [f"k{number}" for number in range(5_000)]}}, [{}] * LARGE, id="required"),
    pytest.param(
        {"items": {"dependentRequired": {f"k{number}": ["z"] for number in range(5_000)}}},
        [{"q": 1}] * LARGE,
        id="dependentRequired",
    ),
    pytest.param(
        {"patternProperties": {f"^x{number}": {"type": "string"} for number in range(500)}},
        {f"k{number}": number for number in NUMBERS},
        id="patternProperties",
    ),
    pytest.param(
        {"propertyNames": {"anyOf": ALTERNATIVES}}, {f"k{number}": number for number in NUMBERS}, id="propertyNames"
    ),
    pytest.param({"items": {"allOf": [{"pattern": f"a.*b{n}"} for n in range(300)]}}, ["ab" * 5_000] * 300, id="text"),
    pytest.param({"items": {"$ref": "#/$defs/d0"}, **doubled(9, "anyOf")}, NUMBERS, id="references"),
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("schema", "value"), OVERSIZED)
def test_a_large_value_under_a_large_schema_is_reported_as_not_checked(schema: Json, value: Json) -> None:
    parameters: Json = {"type": "object", "properties": {"a": schema}, "$defs": doubled(9, "anyOf")["$defs"]}
    segmentation = found_in(parameters, json.dumps({"a": value}))
    assert [diagnostic.rule.code for diagnostic in segmentation.diagnostics] == ["S210"]
    assert "2,000,000 steps" in segmentation.diagnostics[0].fault.message


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"items": {"type": "integer"}}, NUMBERS),
        ({"items": {"properties": {"city": {"enum": [f"c{n}" for n in range(300)]}}}}, [{"city": "c7"}] * 2_000),
        (
            {"items": {"type": "object", "required": ["x"], "properties": {"x": {"type": "number"}}}},
            [{"x": 1.5}] * 10_000,
        ),
    ],
)
def test_a_large_value_that_its_schema_checks_in_few_steps_is_checked(schema: Json, value: list[Json]) -> None:
    parameters: Json = {"type": "object", "properties": {"a": schema}}
    assert not found_in(parameters, json.dumps({"a": value})).diagnostics
    wrong = found_in(parameters, json.dumps({"a": [*value, {"city": 1, "x": []}]})).diagnostics
    assert len(wrong) == 1
    assert wrong[0].rule.code in {"S202", "S204", "S205"}
