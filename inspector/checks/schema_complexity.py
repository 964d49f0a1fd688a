"""How intricate a tool's schema is: its depth, its references, its alternatives; bounded on hostile ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from inspector.checks.schema_work import at_pointer
from inspector.json_text import write_json
from inspector.model import Json, ToolDefinition

# Keywords whose schemas look at the same value, and those whose schemas look at a part of it.
_BESIDE = ("not", "if", "then", "else", "allOf", "anyOf", "oneOf")
_BESIDE_BY_NAME = ("dependentSchemas", "dependencies")
_BELOW = (
    "additionalProperties",
    "unevaluatedProperties",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
)
_BELOW_BY_NAME = ("properties", "patternProperties")
_DEFINED = ("$defs", "definitions")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

_Schema: TypeAlias = dict[str, Json]


@dataclass(frozen=True, slots=True)
class SchemaComplexity:
    """The measure of one tool's schema, all 0 for a tool without one.

    `depth` is how deep an argument may nest: 1 for a tool that takes no argument, 2 for plain arguments, 3 where one
    holds members or elements of its own; references within the schema are followed, a circle once. `properties`,
    `references` and `alternatives` count what is written, definitions included: named properties, `$ref`s, branches
    of `anyOf` and `oneOf`. `size` is the length of the schema as JSON text, in code points.
    """

    depth: int = 0
    properties: int = 0
    references: int = 0
    alternatives: int = 0
    size: int = 0


def schema_complexity(definition: ToolDefinition) -> SchemaComplexity:
    """The complexity of a tool's `parameters`, in time linear in their size; nothing is fetched or expanded."""
    schema = definition.parameters
    if not isinstance(schema, dict):
        return SchemaComplexity()
    nodes = list(_all(schema))
    return SchemaComplexity(
        _depth(schema),
        sum(len(found) for node in nodes if isinstance(found := node.get("properties"), dict)),
        sum(isinstance(node.get(key), str) for node in nodes for key in _REFERENCES),
        sum(len(found) for node in nodes for key in ("anyOf", "oneOf") if isinstance(found := node.get(key), list)),
        len(write_json(schema, ascii_only=False)),
    )


def _all(root: _Schema) -> Iterator[_Schema]:
    """Every schema that is written within `root`, itself included."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending += _beside(node)
        pending += _below(node)
        pending += (one for key in _DEFINED for one in _schemas(node.get(key), by_name=True))


def _depth(root: _Schema) -> int:
    """The longest way down from `root`; each schema is entered once, and one that is still open adds nothing."""
    depths: dict[int, int] = {id(root): 1}
    closed: set[int] = set()
    way = [(root, 0, _steps(root, root))]
    while way:
        node, _, steps = way[-1]
        step = next(steps, None)
        if step is None:
            _, down, _ = way.pop()
            closed.add(id(node))
            if way:
                above = id(way[-1][0])
                depths[above] = max(depths[above], down + depths[id(node)])
            continue
        inner, down = step
        if id(inner) not in depths:
            depths[id(inner)] = 1
            way.append((inner, down, _steps(inner, root)))
        elif id(inner) in closed:
            depths[id(node)] = max(depths[id(node)], down + depths[id(inner)])
    return depths[id(root)]


def _steps(node: _Schema, root: _Schema) -> Iterator[tuple[_Schema, int]]:
    """Where one gets from a schema, and how many levels of the value that is."""
    yield from ((inner, 0) for inner in _beside(node))
    yield from ((inner, 1) for inner in _below(node))
    for key in _REFERENCES:
        reference = node.get(key)
        if isinstance(reference, str) and reference.startswith("#"):
            target = at_pointer(root, reference[1:])
            if isinstance(target, dict):
                yield target, 0


def _beside(node: _Schema) -> Iterator[_Schema]:
    for key in _BESIDE:
        yield from _schemas(node.get(key))
    for key in _BESIDE_BY_NAME:
        yield from _schemas(node.get(key), by_name=True)


def _below(node: _Schema) -> Iterator[_Schema]:
    for key in _BELOW:
        yield from _schemas(node.get(key))
    for key in _BELOW_BY_NAME:
        yield from _schemas(node.get(key), by_name=True)


def _schemas(found: Json, *, by_name: bool = False) -> Iterator[_Schema]:
    """The schemas that a keyword holds: one, a list of them, or a map from names to them."""
    if isinstance(found, dict) and not by_name:
        yield found
    else:
        listed = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
        yield from (one for one in listed if isinstance(one, dict))
