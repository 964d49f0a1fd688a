"""References of a schema that lead back to themselves without a step into the arguments: they demand nothing."""

from collections.abc import Iterator
from urllib.parse import unquote

from inspector.checks.schema_problems import Path, Problem, places, short
from inspector.model import Json
from inspector.rules import schema as rules

_IN_PLACE = ("allOf", "anyOf", "oneOf")


def circles(schema: Json) -> Iterator[Problem]:
    """One problem for each circle, at a `$ref` of it; each place of the schema is visited once.

    JSON Schema leaves open what such a schema means (core, section 9.4.1), and a validator takes it as no demand.
    """
    if not isinstance(schema, dict):
        return
    paths = {id(node): path for path, node in places(schema)}
    done: set[int] = set()
    for _, start in places(schema):
        for node in _closing(schema, start, done):
            reference = node["$ref"]
            message = (
                f"`$ref` is `{short(reference)}`, which leads back to itself without a step into the arguments: it "
                "demands nothing, and nothing is checked by it."
            )
            hint = "Let it refer to a schema with a `type` of its own."
            yield Problem(rules.UNRESOLVABLE_REFERENCE, (*paths[id(node)], "$ref"), message, hint)


def _closing(schema: dict[str, Json], start: dict[str, Json], done: set[int]) -> Iterator[dict[str, Json]]:
    """A depth-first walk over the schemas that apply to one value; of each circle that it closes, one with `$ref`."""
    if id(start) in done:
        return
    way, branches = [start], [_applied(schema, start)]
    on_way = {id(start)}
    while way:
        node = next(branches[-1], None)
        if node is None:
            left = way.pop()
            branches.pop()
            on_way.discard(id(left))
            done.add(id(left))
        elif id(node) in on_way:
            yield next(one for one in reversed(way) if isinstance(one.get("$ref"), str))
        elif id(node) not in done:
            way.append(node)
            branches.append(_applied(schema, node))
            on_way.add(id(node))


def _applied(schema: dict[str, Json], node: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """The schemas that `node` applies to the very value that it is applied to."""
    reference = node.get("$ref")
    if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
        target = _at(schema, reference[1:])
        if isinstance(target, dict):
            yield target
    for keyword in _IN_PLACE:
        branches = node.get(keyword)
        yield from (one for one in branches if isinstance(one, dict)) if isinstance(branches, list) else ()


def _at(schema: Json, pointer: str) -> Json:
    """What a JSON Pointer leads to, None where it leads nowhere."""
    for step in _steps(pointer):
        if isinstance(schema, dict):
            schema = schema.get(str(step))
        elif isinstance(schema, list) and str(step).isdecimal() and int(step) < len(schema):
            schema = schema[int(step)]
        else:
            return None
    return schema


def _steps(pointer: str) -> Path:
    steps = unquote(pointer).split("/")[1:]
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)
