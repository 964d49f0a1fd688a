"""A tool's `parameters`, repaired into the JSON Schema that was meant, and ready to check arguments within bounds.

    {"city": {"type": "str"}}  ->  {"type": "object", "properties": {"city": {"type": "string"}}}, and two faults

1. A bare map of parameters, or parameters beside `type: object`, go under `properties`.
2. References that lead back to themselves for the same value are reported; a validator takes them for no constraint.
3. The work that the schema may cause is counted, and jsonschema-rs builds the validator. If it refuses, the keywords
   that break the meta-schema are corrected where their meaning is clear, else removed; then ids and a dialect that are
   not known, then references without a target; and it tries again.

All of it happens once per schema. `PreparedSchema` then checks values; it counts the work for each one first.
"""

import copy
from collections.abc import Iterable, Iterator
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter

from msgspec import Struct

from weaklink.inspector.checks import json_schema
from weaklink.inspector.checks.json_schema import Path, Violation, value_at
from weaklink.inspector.checks.schema_complexity import (
    REFERENCES,
    WITH_SCHEMAS,
    SchemaWork,
    TooMuchWorkError,
    at_pointer,
    objects,
    subschemas,
)
from weaklink.inspector.checks.wording import quoted, shown, type_of
from weaklink.inspector.json_text import object_of, write_json
from weaklink.inspector.memoized import CacheKey
from weaklink.inspector.model import Json
from weaklink.inspector.rules import schema as rules
from weaklink.inspector.rules.rule import Rule

MAX_VIOLATIONS = 50
"""The maximum number of violations reported for one call."""

_MAX_EXPLAINED_STEPS = 10_000  # reasons copy parts of the schema
_VERDICT_STEPS = 2_000_000  # about 0.1 us each
_RECURSIVE_STEPS = 100_000  # recursive schemas multiply with the depth of the value
_REASON_STEPS = 20_000  # a reason costs about 15 us, and the library collects all of them before it returns the first
_RECURSIVE_WORK = "the schema refers to itself in a way that multiplies with the depth of the arguments"
_TOO_MUCH_WORK = f"checking arguments of this size by a schema of this size takes more than {_VERDICT_STEPS:,} steps"
_FORMAT = '"format": "'  # in the text of every schema that names a format

# Keywords whose value may be an object; beside `type: object` any other object that looks like a schema is a parameter.
_WITH_OBJECTS = frozenset((*WITH_SCHEMAS, "contentSchema", "const", "default"))
_NEVER_PARAMETERS = ("properties", "items", "additionalProperties", "not", "if", "then", "else", "$defs")
_SIGNS_OF_SCHEMAS = ("type", "description", "enum", "anyOf", "oneOf", "$ref", "properties", "items", "default")
_COMPOSED = ("$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "if", "not", "const", "enum")

_MAX_SCHEMA_VALUES = 50_000
_MAX_MEANT_CHARS = 100_000  # larger schemas get no repair by jsonschema, which takes a second for 20,000 values
_MAX_IDS = 200  # jsonschema-rs takes cubic time for a chain of references to ids: 200 take 0.2 s, 800 half a minute
_MAX_ROUNDS = 12
_MAX_CYCLES = 10

_TYPES = {
    **dict.fromkeys(("str", "string", "text", "char", "date", "datetime"), "string"),
    **dict.fromkeys(("int", "integer", "long"), "integer"),
    **dict.fromkeys(("float", "double", "decimal", "number", "numeric"), "number"),
    **dict.fromkeys(("bool", "boolean"), "boolean"),
    **dict.fromkeys(("dict", "map", "hashmap", "object", "json"), "object"),
    **dict.fromkeys(("list", "array", "tuple", "set", "arraylist"), "array"),
    **dict.fromkeys(("none", "nonetype", "null"), "null"),
}


class DefinitionFault(Struct, frozen=True):
    """A fault in a schema: the rule, the place in `parameters`, one sentence, and the smallest repair."""

    rule: Rule
    path: Path
    message: str
    hint: str | None = None


class UncheckedValue(Struct, frozen=True):
    """A value was not checked: the reason, in words that follow "was not checked: "."""

    why: str


class PreparedSchema(Struct, frozen=True):
    """A tool's `parameters`, ready to check values; `faults` are what is wrong with the schema itself.

    `takes_objects` is true for a usual tool schema, whose arguments are an object. `schema` is the schema for checks:
    `parameters` with its faults repaired; None if nothing can be checked.
    """

    faults: tuple[DefinitionFault, ...]
    takes_objects: bool
    schema: Json = None
    _validator: json_schema.Validator | None = None
    _formats: json_schema.Validator | None = None
    _work: SchemaWork | None = None

    def violations(self, value: Json) -> tuple[Violation, ...] | UncheckedValue:
        """How `value` violates the schema; empty if it does not. `value` must be safe (see `unsafe_part`)."""
        if self._validator is None or self._work is None:
            return ()
        try:
            self._work.check(value, _RECURSIVE_STEPS if self._work.is_recursive else _VERDICT_STEPS)
            if self._validator.is_valid(value):
                return ()
            if not self._is_explainable(self._work, value):
                return (Violation("schema", (), None),)
            violations = tuple(json_schema.violations(self._validator, value, self.schema, MAX_VIOLATIONS))
        except TooMuchWorkError:
            return UncheckedValue(_RECURSIVE_WORK if self._work.is_recursive else _TOO_MUCH_WORK)
        except ValueError as error:
            return UncheckedValue(f"the schema library rejected it ({error})")
        return violations or (Violation("schema", (), None),)

    def known_violations(self, value: Json) -> tuple[Violation, ...]:
        """The violations, none if the value was not checked."""
        violations = self.violations(value)
        return () if isinstance(violations, UncheckedValue) else violations

    def format_mismatches(self, value: Json) -> tuple[Violation, ...]:
        """Strings that do not have the format that the schema names for them."""
        if self._formats is None or self._work is None or self._work.is_recursive:
            return ()
        try:
            self._work.check(value, _VERDICT_STEPS)
            if self._formats.is_valid(value) or not self._is_explainable(self._work, value):
                return ()
            violations = json_schema.violations(self._formats, value, self.schema, MAX_VIOLATIONS)
            return tuple(violation for violation in violations if violation.keyword == "format")
        except (TooMuchWorkError, ValueError):
            return ()

    @staticmethod
    def _is_explainable(work: SchemaWork, value: Json) -> bool:
        """Whether the library's reasons for a value that does not fit stay within bounds."""
        try:
            work.check(value, _REASON_STEPS)
        except TooMuchWorkError:
            return False
        return work.size <= _MAX_EXPLAINED_STEPS


def prepared_schema(parameters: Json) -> PreparedSchema:
    """The schema ready for use. Cached: by identity first, which takes a fiftieth, then by its JSON text."""
    return _by_identity(CacheKey(id(parameters), parameters))


@lru_cache(maxsize=512)
def _by_identity(schema: CacheKey[Json]) -> PreparedSchema:
    return _by_content(CacheKey(write_json(schema.value), schema.value))


@lru_cache(maxsize=256)
def _by_content(schema: CacheKey[Json]) -> PreparedSchema:
    return _prepare(schema.value, str(schema.key))


def _prepare(parameters: Json, text: str) -> PreparedSchema:
    if parameters is None:
        return PreparedSchema((), takes_objects=True)
    refusal = _refusal(parameters)
    if refusal is not None:
        return PreparedSchema((DefinitionFault(rules.SCHEMA_NOT_CHECKED, (), refusal),), takes_objects=False)
    if not isinstance(parameters, dict | bool):
        message = f"`parameters` is {type_of(parameters)}, not a schema; weaklink cannot check arguments against it."
        fault = DefinitionFault(rules.INVALID_TOOL_SCHEMA, (), message, "Write a JSON Schema with `type: object`.")
        return PreparedSchema((fault,), takes_objects=True)
    schema, faults = _as_object_schema(parameters) if isinstance(parameters, dict) else (parameters, [])
    return _repaired(schema, [*faults, *_reference_cycles(schema)], text)


def _refusal(parameters: Json) -> str | None:
    """Why a schema may not reach a validator at all; None if it may."""
    unsafe = json_schema.unsafe_part(parameters, deepest=json_schema.DEPTH_OF_SCHEMAS, largest=_MAX_SCHEMA_VALUES)
    if unsafe is not None:
        return f"The schema was ignored: {unsafe.why}."
    ids = sum(isinstance(node.get(keyword), str) for node in objects(parameters) for keyword in ("$id", "id"))
    return f"The schema was ignored: it contains more than {_MAX_IDS} ids." if ids > _MAX_IDS else None


def takes_objects(schema: Json) -> bool:
    """Whether a schema declares the type object, which the arguments of a tool have."""
    if not isinstance(schema, dict):
        return False
    named = schema.get("type")
    return named == "object" or (isinstance(named, list) and "object" in named)


def _repaired(schema: Json, faults: list[DefinitionFault], text: str) -> PreparedSchema:
    """The schema, an object or boolean, repaired until a validator accepts it; `schema` is not modified."""
    original, is_usual = schema, takes_objects(schema)
    for _ in range(_MAX_ROUNDS):
        try:
            work = SchemaWork(schema)
            validator = json_schema.build(schema)
            if work.unresolved is not None:
                raise TooMuchWorkError(f"it is not clear where its reference {quoted(work.unresolved)} leads")
            formats = json_schema.build(schema, formats=True) if _FORMAT in text else None
            return PreparedSchema((*dict.fromkeys(faults),), is_usual, schema, validator, formats, work)
        except TooMuchWorkError as error:
            return _unusable(faults, f"The schema was ignored: {error}.", takes_objects=is_usual)
        except json_schema.RejectedSchemaError as error:
            rejection = error
        schema = copy.deepcopy(schema) if schema is original else schema
        steps = (_repair_keywords(schema, rejection.path, text), _remove_names(schema), _remove_references(schema))
        repairs = next(filter(None, map(list, steps)), None)
        if repairs is None:
            reason = f"The schema was ignored: the schema library rejects it ({rejection})."
            return _unusable(faults, reason, takes_objects=is_usual)
        faults += repairs
    reason = "The schema has too many faults; weaklink does not check arguments against it."
    return _unusable(faults, reason, takes_objects=is_usual)


def _unusable(faults: Iterable[DefinitionFault], reason: str, *, takes_objects: bool) -> PreparedSchema:
    fault = DefinitionFault(rules.SCHEMA_NOT_CHECKED, (), reason)
    return PreparedSchema((*dict.fromkeys(faults), fault), takes_objects)


def _as_object_schema(schema: dict[str, Json]) -> tuple[dict[str, Json], list[DefinitionFault]]:
    """The object schema that a definition means, unchanged if it declares its dialect by `$schema`.

    `schema` itself is not modified.
    """
    if "$schema" in schema:
        return schema, []
    if _is_bare_map(schema):
        message = (
            f"`parameters` is a bare map of parameters ({_first_names(schema)}); expected `type: object` with these as "
            "`properties`."
        )
        hint = "Put them under `properties`, next to `type: object`."
        return {"type": "object", "properties": schema}, [DefinitionFault(rules.INVALID_TOOL_SCHEMA, (), message, hint)]
    if "type" not in schema and not any(key in schema for key in _COMPOSED):
        if schema and "properties" not in schema:
            message = "`parameters` has neither `type: object` nor `properties`."
        elif not schema:
            message = "`parameters` is an empty schema: expected `type: object` with `properties`."
        else:
            message = "`parameters` has `properties` but no `type: object`."
        fault = DefinitionFault(
            rules.INVALID_TOOL_SCHEMA, (), message, "Add `type: object`; servers reject the tool without it."
        )
        return {"type": "object", **schema} if "properties" in schema else schema, [fault]
    if schema.get("type") == "object" and "properties" not in schema:
        stray = {key: inner for key, inner in schema.items() if key not in _WITH_OBJECTS and _looks_like_schema(inner)}
        if stray:
            message = (
                f"Parameters appear next to `type: object` ({_first_names(stray)}); expected them under `properties`."
            )
            hint = "Put them under `properties`."
            fault = DefinitionFault(rules.INVALID_TOOL_SCHEMA, (next(iter(stray)),), message, hint)
            rest = {key: inner for key, inner in schema.items() if key not in stray}
            return {**rest, "properties": stray}, [fault]
    return schema, []


def _first_names(parameters: Iterable[str], most: int = 4) -> str:
    names = [quoted(name) for name in parameters]
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def _is_bare_map(schema: dict[str, Json]) -> bool:
    """Whether these are parameters and not a schema: no key is a keyword with a value that fits it."""
    return bool(schema) and all(
        _looks_like_schema(inner) and key not in _NEVER_PARAMETERS for key, inner in schema.items()
    )


def _looks_like_schema(inner: Json) -> bool:
    return isinstance(inner, dict) and any(key in inner for key in _SIGNS_OF_SCHEMAS)


def _objects_with_paths(schema: Json) -> Iterator[tuple[Path, dict[str, Json]]]:
    """Every object within `schema`, itself included, with its path; in the order in which they are written."""
    pending: list[tuple[Path, Json]] = [((), schema)]
    while pending:
        path, node = pending.pop()
        if isinstance(node, dict):
            yield path, node
            pending += (((*path, key), inner) for key, inner in reversed(node.items()))
        elif isinstance(node, list):
            pending += (((*path, index), inner) for index, inner in reversed([*enumerate(node)]))


def _repair_keywords(schema: Json, rejected: Path, text: str) -> Iterator[DefinitionFault]:
    """Repair or remove the values that break the meta-schema, in place, the deepest first.

    `rejected` is the path of one of them; if it is empty there are none, but a reference or a dialect is not known.
    """
    if not rejected:
        return
    expected = {rejected: "", **(json_schema.meta_schema_errors(schema) if len(text) <= _MAX_MEANT_CHARS else {})}
    lists_of_names: list[list[Json]] = []
    for path in sorted(expected, key=lambda path: (-len(path), [str(step) for step in path])):
        holder, keyword = value_at(schema, path[:-1]), path[-1]
        if isinstance(holder, dict) and keyword in holder:
            yield _repair_keyword(schema, holder, str(keyword), path, expected[path])
        elif isinstance(holder, list) and isinstance(keyword, int) and keyword < len(holder):
            message = f"{shown(holder[keyword])} is not allowed here in a schema{_but(expected[path])}; it is ignored."
            yield DefinitionFault(rules.INVALID_TOOL_SCHEMA, path, message)
            is_name = "required" in path[-2:] or "dependentRequired" in path[-3:]
            holder[keyword] = None if is_name else True
            if is_name:
                lists_of_names.append(holder)
    for names in lists_of_names:
        names[:] = [name for name in names if name is not None]


def _but(expected: str) -> str:
    return f" (expected {expected})" if expected else ""


def _repair_keyword(schema: Json, holder: dict[str, Json], keyword: str, path: Path, expected: str) -> DefinitionFault:
    value = holder.pop(keyword)
    message = f"{quoted(keyword)} cannot be {shown(value)} in a schema{_but(expected)}; it is ignored."
    hint = None
    is_name = expected.startswith("an ")  # an object or array is expected: a parameter has the name of the keyword
    if keyword == "type" and not is_name and (meant := _intended_type(value)) is not None:
        holder["type"] = meant
        read = quoted(meant) if isinstance(meant, str) else shown(meant)
        message = f"{quoted(value) if isinstance(value, str) else shown(value)} is not a JSON type; read as {read}."
        hint = f"Write {read}."
    elif keyword == "required" and isinstance(value, bool):
        if value and len(path) >= 3 and path[-3] == "properties":
            _require(value_at(schema, path[:-3]), str(path[-2]))
        message = "`required` belongs to the object as a list of names, not to a property."
        hint = "List the names under the object's `required`."
    elif keyword in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool):
        limit = keyword.removeprefix("exclusive").lower()
        if value and isinstance(holder.get(limit), int | float):
            holder[keyword] = holder.pop(limit)
        message = f"`{keyword}` is a number since draft 6; read as in draft 4."
        hint = f"Write the limit as `{keyword}`."
    elif keyword == "items" and isinstance(value, list):
        holder["prefixItems"] = value
        message = "`items` is one schema since draft 2020-12; read as `prefixItems`."
        hint = "Rename it to `prefixItems`."
    return DefinitionFault(rules.INVALID_TOOL_SCHEMA, path, message, hint)


def _require(owner: Json, name: str) -> None:
    """Add a property to the required names of the object that contains it."""
    names = owner.setdefault("required", []) if isinstance(owner, dict) else None
    if isinstance(names, list) and name not in names:
        names.append(name)


def _intended_type(value: Json) -> Json:
    if isinstance(value, str):
        return _TYPES.get(value.lower().partition("[")[0].partition("<")[0].strip())
    if isinstance(value, list):
        meant = [_TYPES.get(name.lower()) for name in value if isinstance(name, str)]
        return [*dict.fromkeys(meant)] if meant and None not in meant and len(meant) == len(value) else None
    return None


def _reference_cycles(schema: Json) -> Iterator[DefinitionFault]:
    """The first cycles of references that apply to one and the same value, each at its first `$ref`.

    JSON Schema leaves the meaning of such a schema open (core, section 9.4.1); for a validator it is no constraint.
    """
    applied: dict[int, list[int]] = {}
    schemas = [schema] if isinstance(schema, dict) else []
    for node in schemas:
        if id(node) not in applied:
            in_place = list(_applied(schema, node))
            applied[id(node)] = [id(inner) for inner in in_place]
            schemas += (*in_place, *subschemas(node, WITH_SCHEMAS))
    for _ in range(_MAX_CYCLES):
        try:
            TopologicalSorter(applied).prepare()
        except CycleError as error:
            cycle = set(error.args[1])
        else:
            return
        path, node = next(
            (path, node) for path, node in _objects_with_paths(schema) if id(node) in cycle and "$ref" in node
        )
        applied[id(node)] = []
        message = (
            f"`$ref` is {quoted(str(node['$ref']))}, which refers back to itself for the same value: it adds "
            "no constraint, so nothing is checked."
        )
        hint = "Point it to a schema with a `type`."
        yield DefinitionFault(rules.UNRESOLVABLE_REFERENCE, (*path, "$ref"), message, hint)


def _applied(schema: Json, node: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """The schemas that `node` applies to the same value, whatever that is."""
    reference = node.get("$ref")
    target = at_pointer(schema, reference) if isinstance(reference, str) else None
    if isinstance(target, dict):
        yield target
    yield from subschemas(node, ("allOf", "anyOf", "oneOf"))


def _remove_names(schema: Json) -> Iterator[DefinitionFault]:
    """Remove the dialect and the ids that are not known, or no URI, from a schema that fits its meta-schema."""
    references = json_schema.References(schema)
    for path, node in _objects_with_paths(schema):
        for keyword in ("$schema", "$id", "id") if node in references else ():
            value = node.get(keyword)
            alone: dict[str, Json] = {"not": {keyword: value}} if path else {keyword: value}
            if isinstance(value, str) and not json_schema.is_accepted({**_dialect(schema), **alone}):
                del node[keyword]
                message = f"`{keyword}` cannot be {quoted(value)}, which is no URI reference; it is ignored."
                if keyword == "$schema":
                    message = f"`$schema` names {quoted(value)}, an unknown dialect; read as draft 2020-12."
                yield DefinitionFault(rules.INVALID_TOOL_SCHEMA, (*path, keyword), message)


def _remove_references(schema: Json) -> Iterator[DefinitionFault]:
    """Remove the references that lead to no schema, neither within this one nor to a meta-schema."""
    references = json_schema.References(schema)
    for path, node in _objects_with_paths(schema):
        for keyword in REFERENCES if node in references else ():
            value = node.get(keyword)
            if not isinstance(value, str) or references.target(node, value) is not None:
                continue
            if json_schema.is_accepted({**_dialect(schema), keyword: value}):
                continue
            del node[keyword]
            message = f"`{keyword}` points to {quoted(value)}, which weaklink never fetches; it is not checked."
            hint = "Put the schema into `$defs` and refer to it there."
            if value.startswith("#"):
                message = f"`{keyword}` is {quoted(value)}, which has no target in this schema; it is not checked."
            yield DefinitionFault(
                rules.UNRESOLVABLE_REFERENCE, (*path, keyword), message, None if value.startswith("#") else hint
            )


def _dialect(schema: Json) -> dict[str, Json]:
    """The `$schema` of a schema as a schema of its own; empty if it names no known one."""
    named: dict[str, Json] = {"$schema": object_of(schema).get("$schema")}
    return named if json_schema.is_accepted(named) else {}
