"""How intricate a schema is said to be, and that hostile ones are measured all the same."""

import pytest

from weaklink.inspector.checks.schema_complexity import SchemaComplexity, schema_complexity
from weaklink.inspector.model import Json, ToolDefinition


def measured(parameters: Json) -> SchemaComplexity:
    return schema_complexity(ToolDefinition("f", parameters=parameters))


PLAIN: Json = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("parameters", "depth", "properties", "references", "alternatives"),
    [
        (None, 0, 0, 0, 0),
        ("a text", 0, 0, 0, 0),
        ({}, 1, 0, 0, 0),
        ({"type": "object", "properties": {}}, 1, 0, 0, 0),
        (PLAIN, 2, 2, 0, 0),
        ({"properties": {"at": PLAIN}}, 3, 3, 0, 0),
        ({"properties": {"list": {"type": "array", "items": PLAIN}}}, 4, 3, 0, 0),
        ({"properties": {"properties": {"type": "string"}}}, 2, 1, 0, 0),
        ({"properties": {"a": {"anyOf": [{"type": "string"}, PLAIN]}}}, 3, 3, 0, 2),
        ({"properties": {"a": {"$ref": "#/$defs/at"}}, "$defs": {"at": PLAIN}}, 3, 3, 1, 0),
        ({"properties": {"a": {"$ref": "https://example.com/x"}}}, 2, 1, 1, 0),
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, 2, 1, 1, 0),
    ],
)
def test_depth_properties_references_and_alternatives_are_counted(
    parameters: Json, depth: int, properties: int, references: int, alternatives: int
) -> None:
    complexity = measured(parameters)
    assert (complexity.depth, complexity.properties, complexity.references, complexity.alternatives) == (
        depth,
        properties,
        references,
        alternatives,
    )


def test_the_size_is_that_of_the_schema_as_json() -> None:
    assert measured({"type": "object"}).size == len('{"type": "object"}')


def test_a_circle_of_references_is_walked_once() -> None:
    node: Json = {"properties": {"next": {"$ref": "#/$defs/node"}, "value": {"type": "string"}}}
    complexity = measured({"properties": {"first": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}})
    assert (complexity.depth, complexity.references) == (3, 2)
    assert measured({"$ref": "#"}).depth == 1


def test_references_that_multiply_are_not_expanded() -> None:
    defined: dict[str, Json] = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(200)
    }
    defined["d200"] = PLAIN
    complexity = measured({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defined})
    assert (complexity.depth, complexity.references) == (3, 401)


def test_a_schema_of_any_depth_is_measured() -> None:
    schema: Json = {"type": "string"}
    for _ in range(20_000):
        schema = {"properties": {"a": schema}}
    assert measured(schema).depth == 20_001
