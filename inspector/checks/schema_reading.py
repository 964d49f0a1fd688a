"""What a tool's `parameters` can be meant to be, where they are no JSON Schema as it should be.

Training sets and servers' logs hold bare maps of parameters, Python's type names, `required: true` on a property, words
of older drafts, and references to the web. Each becomes a problem with its place; what cannot be meant is left out.
"""

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from inspector.checks.unsafe_values import DEPTH_OF_SCHEMAS, unsafe_part
from inspector.json_text import write_json
from inspector.model import Json
from inspector.rules import schema as rules
from inspector.rules.rule import Rule

_LARGEST = 50_000
_ROUNDS = 12
_QUOTED = re.compile(r"'([^']*)'")
_TYPES = {
    **dict.fromkeys(("str", "string", "text", "char", "date", "datetime"), "string"),
    **dict.fromkeys(("int", "integer", "long"), "integer"),
    **dict.fromkeys(("float", "double", "decimal", "number", "numeric"), "number"),
    **dict.fromkeys(("bool", "boolean"), "boolean"),
    **dict.fromkeys(("dict", "map", "hashmap", "object", "json"), "object"),
    **dict.fromkeys(("list", "array", "tuple", "set", "arraylist"), "array"),
    **dict.fromkeys(("none", "nonetype", "null"), "null"),
}
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
_SIGNS_OF_A_SCHEMA = frozenset(
    {"type", "description", "enum", "anyOf", "oneOf", "$ref", "properties", "items", "default"}
)


Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a schema: the rule, where in `parameters`, one sentence, and the smallest repair."""

    rule: Rule
    path: Path
    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class SchemaReading:
    """A schema that a validator takes, None where there is none, and what was wrong."""

    schema: Json
    problems: tuple[Problem, ...]
    takes_objects: bool
    has_formats: bool


FaultFinder = Callable[[Json], tuple[list[Path], str]]
"""Gives the places where a schema breaks its meta-schema; else the library's words on a reference, "" for none."""


def screened(parameters: Json) -> str | None:
    """Why a schema may not reach a validator at all; None where it may."""
    found = unsafe_part(parameters, deepest=DEPTH_OF_SCHEMAS, largest=_LARGEST)
    return f"The schema was not used: {found.why}." if found else None


def mended(parameters: Json, faults_of: FaultFinder) -> SchemaReading:
    """`parameters` as a schema that a validator takes; `faults_of` tells what one refuses."""
    problems: list[Problem] = []
    if not isinstance(parameters, dict | bool):
        message = f"`parameters` is {_article(parameters)}, not a schema; arguments cannot be checked against it."
        problem = Problem(rules.INVALID_TOOL_SCHEMA, (), message, "Write a JSON Schema with `type: object`.")
        return SchemaReading(None, (problem,), takes_objects=True, has_formats=False)
    takes_objects = False
    schema: Json = parameters
    if isinstance(parameters, dict):
        schema, problems = _as_object_schema(copy.deepcopy(parameters))
        takes_objects = _takes_objects(schema)
    for _ in range(_ROUNDS):
        paths, unresolved = faults_of(schema)
        if paths:
            problems += _without_faults(schema, paths)
            if () in paths and len(paths) == 1:
                return SchemaReading(None, tuple(problems), takes_objects, has_formats=False)
        elif unresolved:
            dropped = list(_without_reference(schema, unresolved))
            problems += dropped or [Problem(rules.UNRESOLVABLE_REFERENCE, (), _nowhere(unresolved))]
            if not dropped:
                return SchemaReading(None, tuple(problems), takes_objects, has_formats=False)
        else:
            has_formats = any("format" in node for _, node in _places(schema))
            return SchemaReading(schema, tuple(dict.fromkeys(problems)), takes_objects, has_formats)
    message = "The schema has too many faults to be used; arguments are not checked against it."
    return SchemaReading(
        None,
        (*problems, Problem(rules.SCHEMA_NOT_CHECKED, (), message)),
        takes_objects,
        has_formats=False,
    )


def _takes_objects(schema: Json) -> bool:
    if not isinstance(schema, dict):
        return False
    named = schema.get("type")
    return named == "object" or (isinstance(named, list) and "object" in named)


def _as_object_schema(schema: dict[str, Json]) -> tuple[Json, list[Problem]]:
    """The schema of an object that a definition means, unless it says by `$schema` that it knows what it is."""
    if "$schema" in schema:
        return schema, []
    if _is_bare_map(schema):
        names = ", ".join(f"`{_short(name)}`" for name in list(schema)[:4]) + (", …" if len(schema) > 4 else "")
        message = (
            f"`parameters` is a bare map of parameters ({names}); expected `type: object` with these as `properties`."
        )
        hint = "Put them under `properties`, beside `type: object`."
        return {"type": "object", "properties": schema}, [Problem(rules.INVALID_TOOL_SCHEMA, (), message, hint)]
    if "type" not in schema and not any(key in schema for key in _COMPOSED):
        if schema and "properties" not in schema:
            message = "`parameters` says neither `type: object` nor which `properties` there are."
        elif not schema:
            message = "`parameters` is an empty schema: expected `type: object` with `properties`."
        else:
            message = "`parameters` has `properties` but no `type: object`."
        problem = Problem(
            rules.INVALID_TOOL_SCHEMA, (), message, "Add `type: object`; servers refuse the tool without."
        )
        return {"type": "object", **schema} if "properties" in schema else schema, [problem]
    if schema.get("type") == "object" and "properties" not in schema:
        stray = [key for key, inner in schema.items() if key not in _KEYWORDS and _looks_like_schema(inner)]
        if stray:
            names = ", ".join(f"`{_short(name)}`" for name in stray[:4])
            message = f"Parameters stand beside `type: object` ({names}); expected them under `properties`."
            moved: dict[str, Json] = {key: schema.pop(key) for key in stray}
            problem = Problem(rules.INVALID_TOOL_SCHEMA, (stray[0],), message, "Put them under `properties`.")
            return {**schema, "properties": moved}, [problem]
    return schema, []


def _is_bare_map(schema: dict[str, Json]) -> bool:
    """Whether these are parameters and no schema: no key is a keyword with a value that fits it."""
    return bool(schema) and all(
        _looks_like_schema(inner) and (key not in _KEYWORDS or key not in _KEYWORDS_OF_SCHEMAS)
        for key, inner in schema.items()
    )


def _looks_like_schema(inner: Json) -> bool:
    return isinstance(inner, dict) and (not inner.keys().isdisjoint(_SIGNS_OF_A_SCHEMA))


def _without_faults(schema: Json, paths: list[Path]) -> Iterator[Problem]:
    """Mends or takes out the keywords at these places, deepest first."""
    for path in sorted(paths, key=lambda path: (-len(path), [str(step) for step in path])):
        if not path:
            if len(paths) == 1:
                yield Problem(
                    rules.INVALID_TOOL_SCHEMA, (), "`parameters` breaks the meta-schema of JSON Schema as a whole."
                )
            continue
        holder, keyword = _parent(schema, path)
        if isinstance(holder, dict) and keyword in holder:
            yield _mend_keyword(schema, holder, str(keyword), path)
        elif isinstance(holder, list) and isinstance(keyword, int) and keyword < len(holder):
            yield Problem(
                rules.INVALID_TOOL_SCHEMA,
                path,
                f"`{_short(holder[keyword])}` cannot stand here in a schema; it is not used.",
            )
            holder[keyword] = _harmless(path)


def _harmless(path: Path) -> Json:
    return "" if len(path) > 1 and path[-2] in ("required", "dependentRequired") else True


def _mend_keyword(schema: Json, holder: dict[str, Json], keyword: str, path: Path) -> Problem:
    value = holder.pop(keyword)
    message = f"`{_short(keyword)}` cannot be `{_short(value)}` in a schema; it is not used."
    hint = None
    if keyword == "type" and (meant := _meant_type(value)) is not None:
        holder["type"] = meant
        message = f"`{_short(value)}` is no JSON type; taken as `{_short(meant)}`."
        hint = f"Write `{_short(meant)}`."
    elif keyword == "required" and isinstance(value, bool):
        if value and len(path) >= 3 and path[-3] == "properties":
            _require(schema, path)
        message = "`required` belongs to the object as a list of names, not to a property."
        hint = "List the names under the object's `required`."
    elif keyword in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool):
        limit = keyword.removeprefix("exclusive").lower()
        if value and isinstance(holder.get(limit), int | float):
            holder[keyword] = holder.pop(limit)
        message = f"`{keyword}` is a number since draft 6; taken as draft 4 means it."
        hint = f"Write the limit as `{keyword}`."
    elif keyword == "items" and isinstance(value, list):
        holder["prefixItems"] = value
        message = "`items` is one schema since draft 2020-12; taken as `prefixItems`."
        hint = "Rename it to `prefixItems`."
    return Problem(rules.INVALID_TOOL_SCHEMA, path, message, hint)


def _require(schema: Json, path: Path) -> None:
    """Adds the property at `path[-2]` to the required names of the object that holds it."""
    owner, _ = _parent(schema, path[:-2])
    if isinstance(owner, dict):
        names = owner.setdefault("required", [])
        if isinstance(names, list) and path[-2] not in names:
            names.append(str(path[-2]))


def _meant_type(value: Json) -> Json:
    if isinstance(value, str):
        if value.lower() in ("any", "*", ""):
            return None
        return _TYPES.get(value.lower().partition("[")[0].partition("<")[0].strip())
    if isinstance(value, list):
        meant = [_TYPES[one.lower()] for one in value if isinstance(one, str) and one.lower() in _TYPES]
        return [*dict.fromkeys(meant)] if len(meant) == len(value) and meant else None
    return None


def _without_reference(schema: Json, words: str) -> Iterator[Problem]:
    """Takes out the references (or the dialect) that the library's words name."""
    named = [name for name in _QUOTED.findall(words) if name]
    for path, node in list(_places(schema)):
        for keyword in ("$schema", "$ref", "$dynamicRef", "$recursiveRef", "$id", "id"):
            value = node.get(keyword)
            if isinstance(value, str) and any(_is_named(value, name) for name in named):
                del node[keyword]
                rule = rules.INVALID_TOOL_SCHEMA if keyword == "$schema" else rules.UNRESOLVABLE_REFERENCE
                yield Problem(rule, (*path, keyword), *_about(keyword, value))


def _is_named(reference: str, name: str) -> bool:
    place, _, fragment = reference.partition("#")
    return reference == name or (bool(place) and name.endswith(place)) or (not place and fragment == name)


def _about(keyword: str, value: str) -> tuple[str, str | None]:
    if keyword == "$schema":
        return f"`$schema` names `{_short(value)}`, a dialect that is not known; taken as draft 2020-12.", None
    if value.startswith("#") or keyword in ("$id", "id"):
        return f"`{keyword}` is `{_short(value)}`, which leads nowhere in this schema; it is not checked.", None
    hint = "Put the schema into `$defs` and refer to it there."
    return f"`{keyword}` leads to `{_short(value)}`, which is never fetched; it is not checked.", hint


def _nowhere(words: str) -> str:
    return f"A reference of the schema leads nowhere, so that arguments are not checked: {_short(words, 160)}."


def _places(schema: Json) -> Iterator[tuple[Path, dict[str, Json]]]:
    pending: list[tuple[Path, Json]] = [((), schema)]
    while pending:
        path, node = pending.pop()
        if isinstance(node, dict):
            yield path, node
            pending += (((*path, key), inner) for key, inner in node.items())
        elif isinstance(node, list):
            pending += (((*path, index), inner) for index, inner in enumerate(node))


def _parent(schema: Json, path: Path) -> tuple[Json, str | int]:
    for step in path[:-1]:
        if isinstance(schema, dict):
            schema = schema.get(str(step))
        elif isinstance(schema, list) and isinstance(step, int) and step < len(schema):
            schema = schema[step]
    return schema, path[-1] if path else ""


def _article(value: Json) -> str:
    names = {str: "a string", list: "a list", int: "a number", float: "a number"}
    return names.get(type(value), "no object")


def _short(value: Json, most: int = 40) -> str:
    text = value if isinstance(value, str) else write_json(value, ascii_only=False)
    text = text if len(text) <= most else text[: most - 1] + "…"
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
