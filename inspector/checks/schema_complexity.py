"""How complex a schema is and how much work checking it may cost, bounded for hostile schemas.

`{"allOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/b"}]}`, chained twenty times, is a million checks in a few lines,
and a `contains` with 1,000 alternatives costs 40 million on an array of 40,000 numbers. The count here is at least the
number of checks that a validator makes: every subschema as often as references lead to it, on each value that it
applies to. One step is one subschema on one value; required names, constants and long strings add their share.

    {"items": {"anyOf": [{"type": "integer"}, {"enum": [<20 strings>]}]}}    size 1 + 1 + 1 + (1 + 20 / 10) = 6
    on {"a": [1, 2, 3]}, which has 5 values: at most 6 * 5 steps, so no value is looked at further

Only if that product is beyond the limit, or says nothing because the schema is recursive, the steps are counted value
by value: the schemas that apply to a value lead to those beside them (`anyOf`, `$ref`) and below (`properties`).
"""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import TypeAlias

from msgspec import Struct

from weaklink.inspector.checks.json_schema import References, value_at
from weaklink.inspector.json_text import list_of, object_of, write_json
from weaklink.inspector.model import Json, ToolDefinition

_Schema: TypeAlias = dict[str, Json]

# Keywords whose schemas apply to the same value, and those whose schemas apply to its members, items or names.
_IN_PLACE = frozenset(("not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies"))
_ANY_PROPERTY = ("additionalProperties", "unevaluatedProperties", "propertyNames", "patternProperties")
_ANY_ITEM = ("items", "additionalItems", "unevaluatedItems", "contains", "prefixItems")
_BELOW = frozenset((*_ANY_PROPERTY, *_ANY_ITEM, "properties"))
_BY_NAME = frozenset(("properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"))
WITH_SCHEMAS = _IN_PLACE | _BELOW | _BY_NAME
"""Keywords that contain schemas."""

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
"""Keywords whose value leads to another schema, for the same value."""

_MAX_DEPTH = 300  # of references and subschemas in each other
_MAX_SIZE = 100_000  # steps that a schema may take on a single value
_NEVER_ENDING = "its references multiply or nest too deep, so checking might never finish"
_CONSTANTS_A_STEP = 10  # comparing a constant costs about a tenth of applying a subschema
_CHARACTERS_A_STEP = 100  # a pattern or a comparison reads a string this fast
_MAX_LOOKS = 100_000  # subschemas that the exact count itself visits: about a tenth of a second
_WALKED_AGAIN = 3  # `unevaluated...` visits everything beside it again, measured as 2.6 times
_META_SCHEMAS = ("http://json-schema.org/draft-", "https://json-schema.org/draft/")
_META_SCHEMA: _Schema = {"allOf": [{} for _ in range(300)]}  # stands for one that a reference names


def subschemas(node: _Schema, keywords: Collection[str]) -> Iterator[_Schema]:
    """The schemas under these keywords of a schema, as far as they are objects."""
    for key, inner in node.items():
        if key in keywords:
            if isinstance(inner, dict) and key not in _BY_NAME:
                yield inner
            else:
                listed = inner.values() if isinstance(inner, dict) else list_of(inner)
                yield from (schema for schema in listed if isinstance(schema, dict))


def at_pointer(root: Json, reference: str) -> Json:
    """The value within `root` at a reference of the form `#/a/b`, None if there is none."""
    head, *tokens = reference.split("/")
    if head != "#":
        return None
    for token in tokens:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(root, dict):
            root = root.get(key)
        elif isinstance(root, list) and key.isdecimal() and int(key[:9]) < len(root):
            root = root[int(key[:9])]
        else:
            return None
    return root


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
    nodes = [schema]
    for node in nodes:
        nodes += subschemas(node, WITH_SCHEMAS - {"propertyNames"})
    return SchemaComplexity(
        _depth(schema),
        sum(len(object_of(node.get("properties"))) for node in nodes),
        sum(isinstance(node.get(key), str) for node in nodes for key in REFERENCES),
        sum(len(list_of(node.get(key))) for node in nodes for key in ("anyOf", "oneOf")),
        len(write_json(schema, ascii_only=False)),
    )


def _depth(root: _Schema) -> int:
    """The longest path down from `root`; each schema is visited once, and one that is still open adds nothing."""
    depths: dict[int, int] = {id(root): 1}
    closed: set[int] = set()
    path = [(root, 0, _next_schemas(root, root))]
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
            path.append((inner, down, _next_schemas(inner, root)))
        elif id(inner) in closed:
            depths[id(node)] = max(depths[id(node)], down + depths[id(inner)])
    return depths[id(root)]


def _next_schemas(node: _Schema, root: _Schema) -> Iterator[tuple[_Schema, int]]:
    """The next schemas after a schema, each with the number of levels of the value that it is deeper."""
    yield from ((inner, 0) for inner in subschemas(node, _IN_PLACE))
    yield from ((inner, 1) for inner in subschemas(node, _BELOW - {"propertyNames"}))
    for key in REFERENCES:
        reference = node.get(key)
        target = at_pointer(root, reference) if isinstance(reference, str) else None
        if isinstance(target, dict):
            yield target, 0


class TooMuchWorkError(Exception):
    """Checking by a schema would cost more than the limit."""


class _Reached(Struct, frozen=True):
    """A schema that applies to a value, how many times, and the schema that led to it."""

    schema: _Schema
    times: int
    by: "_Reached | None" = None

    def is_within(self, schema: _Schema) -> bool:
        """Whether `schema` already applies to this value on the way here: validators end such a cycle."""
        here: _Reached | None = self
        while here is not None:
            if here.schema is schema:
                return True
            here = here.by
        return False


class SchemaWork:
    """The work that a schema causes. Raises TooMuchWorkError if that has no bound.

    A validator is built only after that: jsonschema-rs crashes the process on a chain of 1,200 references between
    schemas with `unevaluatedProperties`.

    `size` is the number of steps for one value if every subschema applies to it, with every reference expanded,
    recursive ones once. `is_recursive` means that there are recursive ones, so that the product of `size` and the
    value's size is no bound.
    """

    def __init__(self, schema: Json) -> None:
        self._root = schema
        self._targets = _Targets(schema)
        self._sizes: dict[int, int] = {}
        self._own: dict[int, int] = {}
        self._open: set[int] = set()
        self.is_recursive = False
        self.size = self._size(schema, 0) if isinstance(schema, dict) else 1
        if self.size > _MAX_SIZE:
            raise TooMuchWorkError(_NEVER_ENDING)

    @property
    def unresolved(self) -> str | None:
        """A reference in which `referencing` finds no target; if a validator accepts it, the work has no bound."""
        return self._targets.unresolved

    def check(self, value: Json, limit: int) -> None:
        """Raise TooMuchWorkError if checking `value` takes more than `limit` steps, or counting them takes too long."""
        if self.is_recursive or self.size * _value_size(value, limit // self.size) > limit:
            self._count(value, limit)

    def _count(self, value: Json, limit: int) -> None:
        """Count the steps exactly, value by value, up to `limit`."""
        steps = looks = 0
        root = object_of(self._root)
        schemas: dict[int, _Schema] = {id(root): root}
        pending: list[tuple[Json, Counter[int]]] = [(value, Counter(schemas.keys()))]
        while pending:
            here, counts = pending.pop()
            length = _own_size(here)
            below: dict[str | int, Counter[int]] = {}
            reached = [_Reached(schemas[key], times) for key, times in counts.items()]
            for step in reached:
                looks += 1
                steps += step.times * self._own_work(step.schema) * length
                reached += [
                    _Reached(inner, step.times, step)
                    for inner in self._in_place(step.schema)
                    if not step.is_within(inner)
                ]
                for key, inner in _applied_below(step.schema, here):
                    looks += 1
                    schemas[id(inner)] = inner
                    below.setdefault(key, Counter())[id(inner)] += step.times
                    if looks > _MAX_LOOKS:
                        break
                if steps > limit or looks > _MAX_LOOKS:
                    raise TooMuchWorkError
            pending += ((value_at(here, (key,)), counter) for key, counter in below.items())

    def _own_work(self, node: _Schema) -> int:
        """The steps of a subschema itself, without its own subschemas."""
        key = id(node)
        if key not in self._own:
            self._own[key] = 1 + _names_required(node) + _constants(node) // _CONSTANTS_A_STEP
        return self._own[key]

    def _size(self, node: _Schema, depth: int) -> int:
        key = id(node)
        if key in self._open:
            self.is_recursive = True
            return 1
        if key in self._sizes:
            return self._sizes[key]
        if depth > _MAX_DEPTH:
            raise TooMuchWorkError(_NEVER_ENDING)
        self._open.add(key)
        size = self._own_work(node) + sum(self._size(inner, depth + 1) for inner in self._in_place(node))
        if "unevaluatedProperties" in node or "unevaluatedItems" in node:
            size *= _WALKED_AGAIN
        size += sum(self._size(inner, depth + 1) for inner in subschemas(node, _BELOW))
        self._open.discard(key)
        self._sizes[key] = size
        return size

    def _in_place(self, node: _Schema) -> Iterator[_Schema]:
        """The subschemas that apply to the same value."""
        yield from subschemas(node, _IN_PLACE)
        for keyword in REFERENCES:
            reference = node.get(keyword)
            if isinstance(reference, str):
                yield from self._targets.of(node, keyword, reference)


class _Targets:
    """The schemas to which references may lead: plain pointers are looked up here, the others by referencing."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._nodes = list(objects(root))
        self._references = None if all(map(self._is_plain, self._nodes)) else References(root)
        self.unresolved: str | None = None

    def of(self, node: _Schema, keyword: str, reference: str) -> list[_Schema]:
        """The targets of a reference in `node`: several if the keyword decides at run time."""
        if self._references is None:
            target = at_pointer(self._root, reference)
        elif reference.startswith(_META_SCHEMAS):
            target = self._references.target(node, reference) or _META_SCHEMA
        else:
            target = self._references.target(node, reference)
            self.unresolved = self.unresolved or (reference if target is None else None)
        targets = [target] if isinstance(target, dict) else []
        if keyword == "$dynamicRef":
            anchor = reference.rpartition("#")[2]
            targets += (other for other in self._nodes if other.get("$dynamicAnchor") == anchor and other is not target)
        elif keyword == "$recursiveRef":
            targets += (other for other in self._nodes if other.get("$recursiveAnchor") is True and other is not target)
        return targets

    def _is_plain(self, node: _Schema) -> bool:
        """Whether the base URI of a schema is that of its root, and its references are plain pointers."""
        if node is not self._root and (isinstance(node.get("$id"), str) or isinstance(node.get("id"), str)):
            return False
        references = [reference for keyword in REFERENCES if isinstance(reference := node.get(keyword), str)]
        return all(word == "#" or (word.startswith("#/") and "%" not in word) for word in references)


def objects(root: Json) -> Iterator[_Schema]:
    """Every object within `root`, itself included."""
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            pending += node.values()
        elif isinstance(node, list):
            pending += node


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


def _names_required(node: _Schema) -> int:
    """The names that `required` and its conditional forms list: each is looked up, and reported if it is missing."""
    dependent = object_of(node.get("dependentRequired", node.get("dependencies")))
    return len(dependent) + sum(len(list_of(names)) for names in (node.get("required"), *dependent.values()))


def _constants(node: _Schema) -> int:
    """The size of the values of `enum` and `const`."""
    return sum(_value_size(node[key], 1_000_000) for key in ("enum", "const") if key in node)


def _applied_below(node: _Schema, value: Json) -> Iterator[tuple[str | int, _Schema]]:
    """The subschemas that apply to parts of the value, each with the key or index of the part."""
    if isinstance(value, dict):
        properties = object_of(node.get("properties"))
        yield from ((name, inner) for name in value if isinstance(inner := properties.get(name), dict))
        for inner in subschemas(node, _ANY_PROPERTY):  # propertyNames applies to the names, of which there are as many
            yield from ((name, inner) for name in value)
    elif isinstance(value, list):
        for keyword in _ANY_ITEM:
            inner = node.get(keyword)
            for index in range(len(value)):
                at_index = inner if isinstance(inner, dict) else value_at(inner, (index,))
                if isinstance(at_index, dict):
                    yield index, at_index
