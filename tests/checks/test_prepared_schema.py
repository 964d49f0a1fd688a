"""Faulty definitions: what is said of them, and what is checked all the same."""

import subprocess
import sys

import pytest

from weaklink.inspector.checks.prepared_schema import DefinitionFault, PreparedSchema, prepared_schema
from weaklink.inspector.model import Json

LOADED = """
import sys
from weaklink.inspector.checks.prepared_schema import prepared_schema
schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}
prepared = prepared_schema(schema)
assert prepared.violations({"a": 1}) == () and prepared.violations({"a": "x"})
print(sorted({"jsonschema", "referencing", "jsonschema_rs"} & set(sys.modules)))
"""


def faults_of(parameters: Json) -> list[tuple[str, str]]:
    return [(fault.rule.code, fault.message) for fault in prepared_schema(parameters).faults]


def prepared(**properties: Json) -> PreparedSchema:
    return prepared_schema({"type": "object", "properties": properties})


def test_arguments_by_a_sound_schema_need_only_the_fast_library() -> None:
    run = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["['jsonschema_rs']"]


@pytest.mark.parametrize(
    ("keyword", "value", "expected"),
    [
        ("minimum", "5", '`minimum` cannot be `"5"` in a schema (expected a number); it is ignored.'),
        ("minLength", -1, "`minLength` cannot be `-1` in a schema (expected at least 0); it is ignored."),
        ("enum", "a", '`enum` cannot be `"a"` in a schema (expected an array); it is ignored.'),
        ("anyOf", [], "`anyOf` cannot be `[]` in a schema (expected at least one item); it is ignored."),
        ("pattern", "(", '`pattern` cannot be `"("` in a schema; it is ignored.'),
        ("items", 1, "`items` cannot be `1` in a schema (expected an object or a boolean); it is ignored."),
    ],
)
def test_a_wrong_keyword_is_reported_with_what_is_expected(keyword: str, value: Json, expected: str) -> None:
    schema = prepared(a={keyword: value}, b={"type": "integer"})
    assert [fault.message for fault in schema.faults] == [expected]
    assert schema.violations({"b": "x"})


def test_a_parameter_that_has_the_name_of_a_keyword_is_no_keyword() -> None:
    schema = prepared(type="string", b={"type": "integer"})
    message = '`type` cannot be `"string"` in a schema (expected an object or a boolean); it is ignored.'
    assert [fault.message for fault in schema.faults] == [message]
    assert schema.violations({"b": "x"})


def test_a_wrong_name_in_required_is_not_required() -> None:
    schema = prepared_schema({"type": "object", "properties": {}, "required": [False, "a", 1]})
    assert [fault.path for fault in schema.faults] == [("required", 0), ("required", 2)]
    assert schema.violations({"a": 1}) == ()
    assert schema.violations({})


def test_of_equal_references_only_that_without_a_target_is_reported() -> None:
    tree: Json = {"properties": {"left": {"$ref": "#/$defs/tree"}}}
    faults = prepared_schema(
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/tree"}, "b": {"$ref": "#/$defs/tree", "$id": "http://example.com/b"}},
            "$defs": {"tree": tree},
        }
    ).faults
    assert [(fault.rule.code, fault.path) for fault in faults] == [("S208", ("properties", "b", "$ref"))]


def test_what_looks_like_a_reference_in_an_example_is_none() -> None:
    example: Json = {"$ref": "#/properties/a/default"}
    faults = prepared(a={"type": "object", "default": example, "examples": [example]}, b={"$ref": "#/none"}).faults
    assert [fault.path for fault in faults] == [("properties", "b", "$ref")]


@pytest.mark.parametrize(("keyword", "value"), [("$id", "List[str]"), ("$schema", "::::")])
def test_a_name_that_is_no_uri_is_ignored_and_the_rest_is_checked(keyword: str, value: str) -> None:
    schema = prepared(a={keyword: value, "type": "integer"}, b={"$ref": "#/properties/a"})
    assert [(fault.rule.code, fault.path) for fault in schema.faults] == [("S207", ("properties", "a", keyword))]
    assert schema.violations({"b": "x"})


def test_every_fault_has_a_place_in_the_schema() -> None:
    for fault in prepared(a={"type": "str", "minimum": "x"}, b={"$ref": "#/none"}).faults:
        assert isinstance(fault, DefinitionFault)
        assert fault.path
