"""Finds the keys of a JSON value that its schema does not name: strict adherence takes every object as closed."""

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias
from urllib.parse import unquote

from msgspec import Struct

from inspector.model import Json
from inspector.scanning import lazy_pattern

SchemaPath: TypeAlias = tuple[str | int, ...]

_COMPOSED = ("allOf", "anyOf", "oneOf")
_CONDITIONAL = ("if", "then", "else")
_NAMES_KEYS = frozenset({"properties", "patternProperties", "required", "additionalProperties", "type"})
_DEEPEST = 64
_MOST_SCHEMAS = 256
_PLAIN_PATTERN = lazy_pattern(r"\^?[\w\-:. ]*(?:\.\*)?\$?")


class InventedKey(Struct, frozen=True):
    """A key that no part of the schema names: the path to it, and the keys that the schema names there."""

    path: SchemaPath
    known: tuple[str, ...]


def invented_keys(value: Json, schema: Json) -> Iterator[InventedKey]:
    """The keys of `value`, at any depth, that `schema` does not name.

    A key is allowed where `additionalProperties` or `unevaluatedProperties` is true or a schema, or where a pattern of
    `patternProperties` matches it. A schema without any constraint (`true`, `{}`) allows everything below it. All
    branches of `anyOf`, `oneOf` and `if` name keys. Bounded: 64 levels, 256 subschemas for one value.
    """
    yield from _of(value, _Schemas(schema).expanded([schema]), _Schemas(schema), (), 0)


def _of(
    value: Json, applicable: list[Json], schemas: "_Schemas", path: SchemaPath, depth: int
) -> Iterator[InventedKey]:
    if depth > _DEEPEST or any(_allows_everything(one) for one in applicable) or not applicable:
        return
    if isinstance(value, list):
        for at, item in enumerate(value):
            below = [found for one in applicable for found in _item_schemas(one, at)]
            yield from _of(item, schemas.expanded(below), schemas, (*path, at), depth + 1)
    elif isinstance(value, dict) and any(_describes_object(one) for one in applicable):
        known = tuple(dict.fromkeys(name for one in applicable for name in _properties(one, "properties")))
        for key, member in value.items():
            below = [found for one in applicable for found in _member_schemas(one, key)]
            if below:
                yield from _of(member, schemas.expanded(below), schemas, (*path, key), depth + 1)
            else:
                yield InventedKey((*path, key), known)


class _Schemas:
    """One schema document, whose local references can be followed."""

    def __init__(self, root: Json) -> None:
        self._root = root

    def expanded(self, schemas: Sequence[Json]) -> list[Json]:
        """The schemas with all that they refer to and are composed of, each once."""
        found: list[Json] = []
        seen: set[int] = set()
        left = list(schemas)
        while left and len(found) < _MOST_SCHEMAS:
            one = left.pop()
            if id(one) in seen and isinstance(one, dict):
                continue
            seen.add(id(one))
            found.append(one)
            if isinstance(one, dict):
                left += self._composing(one)
        return found

    def _composing(self, schema: dict[str, Json]) -> Iterator[Json]:
        reference = schema.get("$ref", schema.get("$dynamicRef"))
        if isinstance(reference, str):
            yield from self._target(reference)
        for key in _COMPOSED:
            branches = schema.get(key)
            yield from branches if isinstance(branches, list) else ()
        yield from (schema[key] for key in _CONDITIONAL if key in schema)
        dependent = schema.get("dependentSchemas")
        yield from dependent.values() if isinstance(dependent, dict) else ()

    def _target(self, reference: str) -> Iterator[Json]:
        if not reference.startswith("#"):
            return
        node: Json = self._root
        pointer = reference[1:]
        if pointer and not pointer.startswith("/"):
            yield from self._anchored(pointer)
            return
        for step in pointer.split("/")[1:]:
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict) and name in node:
                node = node[name]
            elif isinstance(node, list) and name.isdigit() and int(name) < len(node):
                node = node[int(name)]
            else:
                return
        yield node

    def _anchored(self, name: str) -> Iterator[Json]:
        for holder in ("$defs", "definitions"):
            for one in _properties(self._root, holder).values():
                if isinstance(one, dict) and name in (one.get("$anchor"), one.get("$dynamicAnchor")):
                    yield one


def _allows_everything(schema: Json) -> bool:
    return schema is True or schema == {}


def _describes_object(schema: Json) -> bool:
    return isinstance(schema, dict) and not _NAMES_KEYS.isdisjoint(schema)


def _properties(schema: Json, key: str) -> dict[str, Json]:
    found = schema.get(key) if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def _member_schemas(schema: Json, key: str) -> Iterator[Json]:
    """The subschemas that allow a member of this name."""
    named = _properties(schema, "properties")
    if key in named:
        yield named[key]
    for pattern, below in _properties(schema, "patternProperties").items():
        if _matches(pattern, key):
            yield below
    for rest in ("additionalProperties", "unevaluatedProperties"):
        allowed = schema.get(rest) if isinstance(schema, dict) else None
        if allowed is True or isinstance(allowed, dict):
            yield allowed


def _matches(pattern: str, key: str) -> bool:
    """Whether a key fits a pattern of the schema.

    Only plain patterns run here, which cannot backtrack; the schema's validator decides on any other, and it has
    already refused a key that fits none where `additionalProperties` is false.
    """
    return re.search(pattern, key) is not None if _PLAIN_PATTERN.fullmatch(pattern) else True


def _item_schemas(schema: Json, at: int) -> Iterator[Json]:
    if not isinstance(schema, dict):
        return
    first = schema.get("prefixItems", schema.get("items"))
    if isinstance(first, list):
        if at < len(first):
            yield first[at]
            return
        rest = (
            schema.get("items", schema.get("additionalItems"))
            if "prefixItems" in schema
            else schema.get("additionalItems")
        )
        if rest is not None and not isinstance(rest, list):
            yield rest
        return
    if first is not None:
        yield first
