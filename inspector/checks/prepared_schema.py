"""Prepares a tool's `parameters` for checking arguments, once per schema, and checks within bounds.

An invalid JSON Schema is repaired into the one that was meant: keywords that break the meta-schema, bare maps of
parameters, reference cycles, references without a target.

Each fault becomes a fault with its place; it is corrected if its meaning is clear, and removed if it is not.
"""

import copy
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from weaklink.inspector.checks import json_schema
from weaklink.inspector.checks.json_schema import DefinitionFault, Path, Violation, parent, places, short, violation_of
from weaklink.inspector.checks.schema_complexity import SchemaWork, TooMuchWorkError
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json
from weaklink.inspector.rules import schema as rules

MOST_VIOLATIONS = 50
"""The maximum number of violations reported for one call."""

_LARGEST_SCHEMA = 100_000  # steps that a schema may take on a single value
_LARGEST_EXPLAINED = 10_000  # reasons copy parts of the schema
_VERDICT_STEPS = 2_000_000  # about 0.1 us each
_RECURSIVE_STEPS = 100_000  # recursive schemas multiply with the depth of the value
_REASON_STEPS = 20_000  # a reason costs about 15 us, and the library collects all of them before it returns the first
_RECURSIVE_WORK = "the schema refers to itself in a way that multiplies with the depth of the arguments"
_TOO_MUCH_WORK = f"checking arguments of this size by a schema of this size takes more than {_VERDICT_STEPS:,} steps"
_FORMAT = '"format": "'  # in the text of every schema that names a format
_KEYWORDS_OF_SCHEMAS = frozenset({"properties", "items", "additionalProperties", "not", "if", "then", "else", "$defs"})

_KEYWORDS = _KEYWORDS_OF_SCHEMAS | {
    *("type", "required", "enum", "const", "description", "title", "default", "examples", "format", "pattern", "anyOf"),
    *(
        "allOf",
        "oneOf",
        "$ref",
        "$id",
        "$schema",
        "$comment",
        "$anchor",
        "$dynamicRef",
        "$dynamicAnchor",
        "definitions",
    ),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems"),
    *("maxItems", "uniqueItems", "contains", "minContains", "maxContains", "prefixItems", "minProperties", "strict"),
    *("maxProperties", "patternProperties", "propertyNames", "dependencies", "dependentRequired", "dependentSchemas"),
    *("unevaluatedProperties", "unevaluatedItems", "additionalItems", "$recursiveRef", "$recursiveAnchor", "id"),
    *("$vocabulary", "readOnly", "writeOnly", "deprecated", "contentEncoding", "contentMediaType", "contentSchema"),
}

_COMPOSED = ("$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "if", "not", "const", "enum")

_SCHEMA_KEYWORDS = frozenset(
    {"type", "description", "enum", "anyOf", "oneOf", "$ref", "properties", "items", "default"}
)

_LARGEST = 50_000
_ROUNDS = 12

_TYPES = {
    **dict.fromkeys(("str", "string", "text", "char", "date", "datetime"), "string"),
    **dict.fromkeys(("int", "integer", "long"), "integer"),
    **dict.fromkeys(("float", "double", "decimal", "number", "numeric"), "number"),
    **dict.fromkeys(("bool", "boolean"), "boolean"),
    **dict.fromkeys(("dict", "map", "hashmap", "object", "json"), "object"),
    **dict.fromkeys(("list", "array", "tuple", "set", "arraylist"), "array"),
    **dict.fromkeys(("none", "nonetype", "null"), "null"),
}

_IN_PLACE = ("allOf", "anyOf", "oneOf")
_QUOTED = re.compile(r"'([^']*)'")


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
    schema: Json
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
            violations = tuple(self._violations_from(islice(self._validator.iter_errors(value), MOST_VIOLATIONS)))
        except TooMuchWorkError:
            return UncheckedValue(_RECURSIVE_WORK if self._work.is_recursive else _TOO_MUCH_WORK)
        except ValueError as error:
            return UncheckedValue(f"the schema library rejected it ({error})")
        return violations or (Violation("schema", (), None),)

    def format_mismatches(self, value: Json) -> tuple[Violation, ...]:
        """Strings that do not have the format that the schema names for them."""
        if self._formats is None or self._work is None or self._work.is_recursive:
            return ()
        try:
            self._work.check(value, _VERDICT_STEPS)
            if self._formats.is_valid(value) or not self._is_explainable(self._work, value):
                return ()
            found = islice(self._formats.iter_errors(value), MOST_VIOLATIONS)
            return tuple(one for one in self._violations_from(found) if one.keyword == "format")
        except (TooMuchWorkError, ValueError):
            return ()

    @staticmethod
    def _is_explainable(work: SchemaWork, value: Json) -> bool:
        """Whether the library's reasons for a value that does not fit stay within bounds."""
        try:
            work.check(value, _REASON_STEPS)
        except TooMuchWorkError:
            return False
        return work.size <= _LARGEST_EXPLAINED

    def _violations_from(self, errors: Iterable[Any]) -> Iterator[Violation]:
        return (violation_of(error, self.schema) for error in errors)


def prepared_schema(parameters: Json) -> PreparedSchema:
    """The schema ready for use. Cached: by identity first, then by content."""
    return _by_identity(_Identity(parameters))


class _Identity:
    """A schema as a cache key that compares by identity; it keeps the schema, so that its id is not reused."""

    __slots__ = ("value",)

    def __init__(self, value: Json) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.value is self.value


class _Content(_Identity):
    """A schema as a cache key by its JSON text."""

    __slots__ = ("text",)

    def __init__(self, value: Json) -> None:
        super().__init__(value)
        self.text = write_json(value)

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and other.text == self.text


@lru_cache(maxsize=512)
def _by_identity(key: _Identity) -> PreparedSchema:
    return _by_content(_Content(key.value))


@lru_cache(maxsize=256)
def _by_content(key: _Content) -> PreparedSchema:
    return _prepare(key.value, key.text)


def _prepare(parameters: Json, text: str) -> PreparedSchema:
    if parameters is None:
        return PreparedSchema((), takes_objects=True, schema=None)
    refusal = screen_schema(parameters)
    if refusal is not None:
        return PreparedSchema(
            (DefinitionFault(rules.SCHEMA_NOT_CHECKED, (), refusal),), takes_objects=False, schema=None
        )
    reading = repair_schema(parameters)
    if reading.validator is None:
        return PreparedSchema(reading.faults, reading.takes_objects, schema=None)
    work = _bounded_work(reading.schema)
    if work is None:
        why = "its references multiply or nest too deep, so checking might never finish"
        fault = DefinitionFault(rules.SCHEMA_NOT_CHECKED, (), f"The schema was ignored: {why}.")
        return PreparedSchema((*reading.faults, fault), reading.takes_objects, schema=None)
    formats = json_schema.build_for_formats(reading.schema) if _FORMAT in text else None
    return PreparedSchema(reading.faults, reading.takes_objects, reading.schema, reading.validator, formats, work)


def _bounded_work(schema: Json) -> SchemaWork | None:
    try:
        work = SchemaWork(schema)
    except TooMuchWorkError:
        return None
    return work if work.size <= _LARGEST_SCHEMA else None


def takes_objects(schema: Json) -> bool:
    """Whether a schema declares the type object, which the arguments of a tool have."""
    if not isinstance(schema, dict):
        return False
    named = schema.get("type")
    return named == "object" or (isinstance(named, list) and "object" in named)


def as_object_schema(schema: dict[str, Json]) -> tuple[Json, list[DefinitionFault]]:
    """The object schema that a definition means, unchanged if it declares its dialect by `$schema`.

    `schema` itself is not modified.
    """
    if "$schema" in schema:
        return schema, []
    if _is_bare_map(schema):
        names = ", ".join(f"`{short(name)}`" for name in list(schema)[:4]) + (", …" if len(schema) > 4 else "")
        message = (
            f"`parameters` is a bare map of parameters ({names}); expected `type: object` with these as `properties`."
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
        stray = [key for key, inner in schema.items() if key not in _KEYWORDS and _looks_like_schema(inner)]
        if stray:
            names = ", ".join(f"`{short(name)}`" for name in stray[:4])
            message = f"Parameters appear next to `type: object` ({names}); expected them under `properties`."
            kept = {key: inner for key, inner in schema.items() if key not in stray}
            fault = DefinitionFault(rules.INVALID_TOOL_SCHEMA, (stray[0],), message, "Put them under `properties`.")
            return {**kept, "properties": {key: schema[key] for key in stray}}, [fault]
    return schema, []


def _is_bare_map(schema: dict[str, Json]) -> bool:
    """Whether these are parameters and not a schema: no key is a keyword with a value that fits it."""
    return bool(schema) and all(
        _looks_like_schema(inner) and (key not in _KEYWORDS or key not in _KEYWORDS_OF_SCHEMAS)
        for key, inner in schema.items()
    )


def _looks_like_schema(inner: Json) -> bool:
    return isinstance(inner, dict) and (not inner.keys().isdisjoint(_SCHEMA_KEYWORDS))


class RepairedSchema(Struct, frozen=True):
    """A schema with its validator, both None if there is none, and its faults.

    `takes_objects` is true for a usual tool schema, whose arguments are an object.
    """

    faults: tuple[DefinitionFault, ...]
    takes_objects: bool
    schema: Json = None
    validator: json_schema.Validator | None = None


def screen_schema(parameters: Json) -> str | None:
    """Why a schema may not reach a validator at all; None if it may."""
    found = json_schema.unsafe_part(parameters, deepest=json_schema.DEPTH_OF_SCHEMAS, largest=_LARGEST)
    return f"The schema was ignored: {found.why}." if found else None


def repair_schema(parameters: Json) -> RepairedSchema:
    """Repair `parameters`, which are screened, into a schema that a validator accepts.

    `parameters` are not modified, and are returned as the schema if nothing is wrong with them.
    """
    if not isinstance(parameters, dict | bool):
        message = f"`parameters` is {_article(parameters)}, not a schema; weaklink cannot check arguments against it."
        fault = DefinitionFault(rules.INVALID_TOOL_SCHEMA, (), message, "Write a JSON Schema with `type: object`.")
        return RepairedSchema((fault,), takes_objects=True)
    faults: list[DefinitionFault] = []
    schema: Json = parameters
    if isinstance(parameters, dict):
        schema, faults = as_object_schema(parameters)
    faults += reference_cycles(schema)
    is_usual = takes_objects(schema)
    for at in range(_ROUNDS):
        built = json_schema.build(schema)
        if not isinstance(built, json_schema.SchemaFaults):
            return RepairedSchema(tuple(dict.fromkeys(faults)), is_usual, schema, built)
        schema = copy.deepcopy(schema) if at == 0 else schema
        found, is_lost = _remove_faulty(schema, built)
        faults += found
        if is_lost:
            return RepairedSchema(tuple(faults), is_usual)
    message = "The schema has too many faults; weaklink does not check arguments against it."
    return RepairedSchema((*faults, DefinitionFault(rules.SCHEMA_NOT_CHECKED, (), message)), is_usual)


def _remove_faulty(schema: Json, faults: json_schema.SchemaFaults) -> tuple[list[DefinitionFault], bool]:
    """Remove the faults from `schema`. Returns them as faults of the definition, and whether no schema is left."""
    if faults.refused:
        message = f"The schema was ignored: the schema library rejects it ({faults.refused})."
        return [DefinitionFault(rules.SCHEMA_NOT_CHECKED, (), message)], True
    if faults.paths:
        return list(repair_keywords(schema, faults.paths)), faults.paths == ((),)
    dropped = list(without_reference(schema, faults.unresolved))
    return dropped or [
        DefinitionFault(rules.UNRESOLVABLE_REFERENCE, (), unresolvable_reference(faults.unresolved))
    ], not dropped


def _article(value: Json) -> str:
    names = {str: "a string", list: "a list", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), "a number")


def repair_keywords(schema: Json, paths: Sequence[Path]) -> Iterator[DefinitionFault]:
    """Repair or remove the keywords at these places of `schema`, in place; deepest first."""
    for path in sorted(paths, key=lambda path: (-len(path), [str(step) for step in path])):
        if not path:
            if len(paths) == 1:
                yield DefinitionFault(
                    rules.INVALID_TOOL_SCHEMA, (), "`parameters` as a whole violates the JSON Schema meta-schema."
                )
            continue
        holder, keyword = parent(schema, path)
        if isinstance(holder, dict) and keyword in holder:
            yield _repair_keyword(schema, holder, str(keyword), path)
        elif isinstance(holder, list) and isinstance(keyword, int) and keyword < len(holder):
            yield DefinitionFault(
                rules.INVALID_TOOL_SCHEMA,
                path,
                f"`{short(holder[keyword])}` is not allowed here in a schema; it is ignored.",
            )
            holder[keyword] = _harmless(path)


def _harmless(path: Path) -> Json:
    return "" if len(path) > 1 and path[-2] in ("required", "dependentRequired") else True


def _repair_keyword(schema: Json, holder: dict[str, Json], keyword: str, path: Path) -> DefinitionFault:
    value = holder.pop(keyword)
    message = f"`{short(keyword)}` cannot be `{short(value)}` in a schema; it is ignored."
    hint = None
    if keyword == "type" and (meant := _intended_type(value)) is not None:
        holder["type"] = meant
        message = f"`{short(value)}` is not a JSON type; read as `{short(meant)}`."
        hint = f"Write `{short(meant)}`."
    elif keyword == "required" and isinstance(value, bool):
        if value and len(path) >= 3 and path[-3] == "properties":
            _require(schema, path)
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


def _require(schema: Json, path: Path) -> None:
    """Add the property at `path[-2]` to the required names of the object that contains it."""
    owner, _ = parent(schema, path[:-2])
    if isinstance(owner, dict):
        names = owner.setdefault("required", [])
        if isinstance(names, list) and path[-2] not in names:
            names.append(str(path[-2]))


def _intended_type(value: Json) -> Json:
    if isinstance(value, str):
        if value.lower() in ("any", "*", ""):
            return None
        return _TYPES.get(value.lower().partition("[")[0].partition("<")[0].strip())
    if isinstance(value, list):
        meant = [_TYPES[one.lower()] for one in value if isinstance(one, str) and one.lower() in _TYPES]
        return [*dict.fromkeys(meant)] if len(meant) == len(value) and meant else None
    return None


def reference_cycles(schema: Json) -> Iterator[DefinitionFault]:
    """One fault for each cycle, at one of its `$ref`s; each place of the schema is visited once.

    JSON Schema leaves the meaning of such a schema open (core, section 9.4.1); for a validator it is no constraint.
    """
    if not isinstance(schema, dict):
        return
    paths = {id(node): path for path, node in places(schema)}
    done: set[int] = set()
    for _, start in places(schema):
        for node in _closing(schema, start, done):
            reference = node["$ref"]
            message = (
                f"`$ref` is `{short(reference)}`, which refers back to itself for the same value: it adds "
                "no constraint, so nothing is checked."
            )
            hint = "Point it to a schema with a `type`."
            yield DefinitionFault(rules.UNRESOLVABLE_REFERENCE, (*paths[id(node)], "$ref"), message, hint)


def _closing(schema: dict[str, Json], start: dict[str, Json], done: set[int]) -> Iterator[dict[str, Json]]:
    """One schema with `$ref` of each cycle, found by a depth-first walk over the schemas that apply to one value."""
    if id(start) in done:
        return
    path, branches = [start], [_applied(schema, start)]
    on_path = {id(start)}
    while path:
        node = next(branches[-1], None)
        if node is None:
            left = path.pop()
            branches.pop()
            on_path.discard(id(left))
            done.add(id(left))
        elif id(node) in on_path:
            yield next(one for one in reversed(path) if isinstance(one.get("$ref"), str))
        elif id(node) not in done:
            path.append(node)
            branches.append(_applied(schema, node))
            on_path.add(id(node))


def _applied(schema: dict[str, Json], node: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """The schemas that `node` applies to the same value."""
    reference = node.get("$ref")
    if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
        target = _at(schema, reference[1:])
        if isinstance(target, dict):
            yield target
    for keyword in _IN_PLACE:
        branches = node.get(keyword)
        yield from (branch for branch in branches if isinstance(branch, dict)) if isinstance(branches, list) else ()


def _at(schema: Json, pointer: str) -> Json:
    """The target of a JSON Pointer, None if there is none."""
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


def without_reference(schema: Json, words: str) -> Iterator[DefinitionFault]:
    """Remove the references (or the dialect) that the library's message names from `schema`."""
    named = [name for name in _QUOTED.findall(words) if name]
    for path, node in list(places(schema)):
        for keyword in ("$schema", "$ref", "$dynamicRef", "$recursiveRef", "$id", "id"):
            value = node.get(keyword)
            if isinstance(value, str) and any(_is_named(value, name) for name in named):
                del node[keyword]
                rule = rules.INVALID_TOOL_SCHEMA if keyword == "$schema" else rules.UNRESOLVABLE_REFERENCE
                yield DefinitionFault(rule, (*path, keyword), *_about(keyword, value))


def unresolvable_reference(words: str) -> str:
    """The sentence for a reference that the library's message reports, but that is not found in the schema."""
    return f"A reference of the schema has no target, so arguments are not checked: {short(words, 160)}."


def _is_named(reference: str, name: str) -> bool:
    place, _, fragment = reference.partition("#")
    return reference == name or (bool(place) and name.endswith(place)) or (not place and fragment == name)


def _about(keyword: str, value: str) -> tuple[str, str | None]:
    if keyword == "$schema":
        return f"`$schema` names `{short(value)}`, an unknown dialect; read as draft 2020-12.", None
    if value.startswith("#") or keyword in ("$id", "id"):
        return f"`{keyword}` is `{short(value)}`, which has no target in this schema; it is not checked.", None
    hint = "Put the schema into `$defs` and refer to it there."
    return f"`{keyword}` points to `{short(value)}`, which weaklink never fetches; it is not checked.", hint
