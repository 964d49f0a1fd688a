"""How complex a schema is and how much work checking it may cost, bounded for hostile schemas.

`{"allOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/b"}]}`, chained twenty times, is a million checks in a few lines,
and a `contains` with 1,000 alternatives costs 40 million on an array of 40,000 numbers. The count here is at least the
number of checks that a validator makes: every subschema as often as references lead to it, on each value that it
applies to. One step is one subschema on one value; required names, constants and long strings add their share.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from msgspec import Struct

from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, ToolDefinition

# Keywords whose schemas apply to the same value, and those whose schemas apply to a part of it.
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
DEPTH = 300
"""How deep references and subschemas may be nested."""

_SINGLE = frozenset(("not", "if", "then", "else"))
_LISTS_AND_MAPS = frozenset(("allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies"))
_ANY_PROPERTY = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_ANY_ITEM = ("items", "additionalItems", "unevaluatedItems", "contains", "prefixItems")
_ANY = frozenset((*_ANY_PROPERTY, *_ANY_ITEM))
_BELOW_SCHEMA_WORK = _ANY | {"properties", "patternProperties"}
_REFERENCES_SCHEMA_WORK = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))
_CONSTANTS_A_STEP = 10  # comparing a constant costs about a tenth of applying a subschema
_CHARACTERS_A_STEP = 100  # a pattern or a comparison reads a string this fast
_MOST_LOOKS = 100_000  # subschemas that the exact count itself visits: about a tenth of a second
_WALKED_AGAIN = 3  # `unevaluated...` visits everything beside it again, measured as 2.6 times
_Schema: TypeAlias = dict[str, Json]


class SchemaComplexity(Struct, frozen=True):
    """The measure of one tool's schema, all 0 for a tool without one.

    `depth` is how deep an argument may nest: 1 for a tool that takes no argument, 2 for plain arguments, 3 if one has
    members or elements; references within the schema are followed, a cycle once. `properties`, `references` and
    `alternatives` are counts over the schema as written, definitions included: named properties, `$ref`s, branches of
    `anyOf` and `oneOf`. `size` is the length of the schema as JSON text, in code points.
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
        pending += (schema for key in _DEFINED for schema in _schemas(node.get(key), by_name=True))


def _depth(root: _Schema) -> int:
    """The longest path down from `root`; each schema is visited once, and one that is still open adds nothing."""
    depths: dict[int, int] = {id(root): 1}
    closed: set[int] = set()
    path = [(root, 0, _steps(root, root))]
    while path:
        node, _, steps = path[-1]
        step = next(steps, None)
        if step is None:
            _, down, _ = path.pop()
            closed.add(id(node))
            if path:
                above = id(path[-1][0])
                depths[above] = max(depths[above], down + depths[id(node)])
            continue
        inner, down = step
        if id(inner) not in depths:
            depths[id(inner)] = 1
            path.append((inner, down, _steps(inner, root)))
        elif id(inner) in closed:
            depths[id(node)] = max(depths[id(node)], down + depths[id(inner)])
    return depths[id(root)]


def _steps(node: _Schema, root: _Schema) -> Iterator[tuple[_Schema, int]]:
    """The next schemas after a schema, each with the number of levels of the value that it is deeper."""
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
    """The schemas in a keyword's value: one, a list of them, or a map from names to them."""
    if isinstance(found, dict) and not by_name:
        yield found
    else:
        listed = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
        yield from (one for one in listed if isinstance(one, dict))


Schema: TypeAlias = dict[str, Json]
_ELSEWHERE: Schema = {"allOf": [{} for _ in range(300)]}  # stands for a meta-schema, which the validator includes


class TooMuchWorkError(Exception):
    """Checking by a schema would cost more than the limit."""


class _Reached(Struct, frozen=True):
    """A schema that applies to a value, how many times, and the schema that led to it."""

    schema: Schema
    times: int
    by: "_Reached | None" = None

    def is_within(self, schema: Schema) -> bool:
        """Whether `schema` already applies to this value on the way here: validators end such a cycle."""
        here: _Reached | None = self
        while here is not None:
            if here.schema is schema:
                return True
            here = here.by
        return False


class SchemaWork:
    """The work that a schema causes. Raises TooMuchWorkError if it nests deeper than DEPTH.

    `size` is the number of steps for one value if every subschema applies to it, with every reference expanded,
    recursive ones once. `is_recursive` means that there are recursive ones, so that the product of `size` and the
    value's size is no bound.
    """

    def __init__(self, schema: Json) -> None:
        self._root = schema
        self._named: dict[str, list[Schema]] = {}
        self._sizes: dict[int, int] = {}
        self._own: dict[int, int] = {}
        self._open: set[int] = set()
        self.is_recursive = False
        for node in _objects(schema):
            for key in ("$id", "id", "$anchor", "$dynamicAnchor"):
                name = node.get(key)
                if isinstance(name, str):
                    self._named.setdefault(name.removeprefix("#"), []).append(node)
        self.size = self._size(schema, 0)

    def check(self, value: Json, limit: int) -> None:
        """Raise TooMuchWorkError if checking `value` takes more than `limit` steps, or counting them takes too long."""
        if self.is_recursive or self.size * _value_size(value, limit // self.size) > limit:
            self._count(value, limit)

    def _count(self, value: Json, limit: int) -> None:
        """Count the steps exactly, value by value, up to `limit`."""
        steps = looks = 0
        pending: list[tuple[Json, Counter[int], dict[int, Schema]]] = [
            (value, Counter({id(self._root): 1}), {id(self._root): self._root} if isinstance(self._root, dict) else {})
        ]
        while pending:
            here, counts, nodes = pending.pop()
            reached = [_Reached(node, counts[key]) for key, node in nodes.items()]
            members, items = (here if isinstance(here, dict) else {}), (here if isinstance(here, list) else [])
            length = _own_size(here)
            below: dict[str | int, tuple[Counter[int], dict[int, Schema]]] = {}
            for one in reached:
                looks += 1
                steps += one.times * self._own_work(one.schema) * length
                if steps > limit or looks > _MOST_LOOKS:
                    raise TooMuchWorkError
                for inner in self._in_place(one.schema):
                    if not one.is_within(inner):
                        reached.append(_Reached(inner, one.times, one))
                for label, inner in islice(_below_schema_work(one.schema, members, len(items)), _MOST_LOOKS):
                    looks += 1
                    counter, known = below.setdefault(label, (Counter(), {}))
                    counter[id(inner)] += one.times
                    known[id(inner)] = inner
            for label, (counter, known) in below.items():
                child = members[label] if isinstance(label, str) else items[label]
                pending.append((child, counter, known))

    def _own_work(self, node: Schema) -> int:
        """The steps of a subschema itself, without its own subschemas."""
        key = id(node)
        if key not in self._own:
            self._own[key] = 1 + _names_required(node) + _constants(node) // _CONSTANTS_A_STEP
        return self._own[key]

    def _size(self, node: Json, depth: int) -> int:
        if not isinstance(node, dict):
            return 1
        key = id(node)
        if key in self._open:
            self.is_recursive = True
            return 1
        if key in self._sizes:
            return self._sizes[key]
        if depth > DEPTH:
            raise TooMuchWorkError
        self._open.add(key)
        here = self._own_work(node)
        for inner in self._in_place(node):
            here += self._size(inner, depth + 1)
        if "unevaluatedProperties" in node or "unevaluatedItems" in node:
            here *= _WALKED_AGAIN
        for below in _all_below(node):
            here += self._size(below, depth + 1)
        self._open.discard(key)
        self._sizes[key] = here
        return here

    def _in_place(self, node: Schema) -> Iterator[Schema]:
        """The subschemas that apply to the same value."""
        for key, inner in node.items():
            if key in _SINGLE and isinstance(inner, dict):
                yield inner
            elif key in _LISTS_AND_MAPS:
                yield from _schemas_in(inner)
            elif key in _REFERENCES_SCHEMA_WORK and isinstance(inner, str):
                yield from self._targets(inner)

    def _targets(self, reference: str) -> list[Schema]:
        """The possible targets of a reference: all schemas of that name, if there are several."""
        place, _, fragment = reference.partition("#")
        if not place and (not fragment or fragment.startswith("/")):
            target = at_pointer(self._root, fragment)
            if isinstance(target, dict):
                return [target]
        name = fragment if fragment and not fragment.startswith("/") else place
        ending = name.rpartition("/")[2]
        found = [node for known, nodes in self._named.items() if known.endswith(ending) for node in nodes]
        return found if name and found else [_ELSEWHERE] if place else []


def _value_size(value: Json, enough: int) -> int:
    """The number of values within `value`, itself included, long strings as several; stops beyond `enough`."""
    size, pending = 0, [value]
    while pending and size <= enough:
        here = pending.pop()
        size += _own_size(here)
        if isinstance(here, dict):
            pending += here.values()
        elif isinstance(here, list):
            pending += here
    return size


def _own_size(value: Json) -> int:
    """The size of a value itself, without the values that it contains."""
    if isinstance(value, str):
        return 1 + len(value) // _CHARACTERS_A_STEP
    return 1 + sum(map(len, value)) // _CHARACTERS_A_STEP if isinstance(value, dict) else 1


def _names_required(node: Schema) -> int:
    """The names that `required` and its conditional forms list: each is looked up, and reported if it is missing."""
    required, dependent = node.get("required"), node.get("dependentRequired", node.get("dependencies"))
    listed = [required, *(dependent.values() if isinstance(dependent, dict) else ())]
    return sum(len(one) for one in listed if isinstance(one, list)) + (
        len(dependent) if isinstance(dependent, dict) else 0
    )


def _constants(node: Schema) -> int:
    """The size of the values of `enum` and `const`."""
    return sum(_value_size(node[key], 1_000_000) for key in ("enum", "const") if key in node)


def at_pointer(root: Json, pointer: str) -> Json:
    """The value at a JSON Pointer within `root`, None if there is none."""
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(root, dict):
            root = root.get(key)
        elif isinstance(root, list) and key.isdecimal() and int(key[:9]) < len(root):
            root = root[int(key[:9])]
        else:
            return None
    return root


def _objects(root: Json) -> Iterator[Schema]:
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            pending += node.values()
        elif isinstance(node, list):
            pending += node


def _all_below(node: Schema) -> Iterator[Schema]:
    for key, inner in node.items():
        if key in _BELOW_SCHEMA_WORK:
            yield from (inner,) if key in _ANY and isinstance(inner, dict) else _schemas_in(inner)


def _schemas_in(inner: Json) -> Iterator[Schema]:
    """The schemas among the members or entries of a keyword's value."""
    listed = inner.values() if isinstance(inner, dict) else inner if isinstance(inner, list) else ()
    return (one for one in listed if isinstance(one, dict))


def _below_schema_work(node: Schema, members: Mapping[str, Json], items: int) -> Iterator[tuple[str | int, Schema]]:
    """The subschemas that apply to parts of the value, each with the key or index of the part."""
    for key in _ANY_PROPERTY:  # propertyNames applies to the names, of which there are as many
        inner = node.get(key)
        if isinstance(inner, dict):
            yield from ((name, inner) for name in members)
    properties, patterns = node.get("properties"), node.get("patternProperties")
    if isinstance(properties, dict):
        yield from ((name, inner) for name in members if isinstance(inner := properties.get(name), dict))
    if isinstance(patterns, dict):
        yield from ((name, inner) for inner in patterns.values() if isinstance(inner, dict) for name in members)
    for key in _ANY_ITEM:
        inner = node.get(key)
        if isinstance(inner, dict):
            yield from ((index, inner) for index in range(items))
        elif isinstance(inner, list):
            yield from ((index, one) for index, one in zip(range(items), inner, strict=False) if isinstance(one, dict))
