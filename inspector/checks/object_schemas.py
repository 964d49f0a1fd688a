"""Which schema of an object `parameters` means: training sets hold bare maps of parameters, or schemas without type."""

from inspector.checks.schema_problems import Problem, short
from inspector.model import Json
from inspector.rules import schema as rules

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


def takes_objects(schema: Json) -> bool:
    """Whether a schema says that it is one of an object, as the arguments of a tool are."""
    if not isinstance(schema, dict):
        return False
    named = schema.get("type")
    return named == "object" or (isinstance(named, list) and "object" in named)


def as_object_schema(schema: dict[str, Json]) -> tuple[Json, list[Problem]]:
    """The schema of an object that a definition means, unless it says by `$schema` that it knows what it is.

    `schema` itself is left as it is.
    """
    if "$schema" in schema:
        return schema, []
    if _is_bare_map(schema):
        names = ", ".join(f"`{short(name)}`" for name in list(schema)[:4]) + (", …" if len(schema) > 4 else "")
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
            names = ", ".join(f"`{short(name)}`" for name in stray[:4])
            message = f"Parameters stand beside `type: object` ({names}); expected them under `properties`."
            kept = {key: inner for key, inner in schema.items() if key not in stray}
            problem = Problem(rules.INVALID_TOOL_SCHEMA, (stray[0],), message, "Put them under `properties`.")
            return {**kept, "properties": {key: schema[key] for key in stray}}, [problem]
    return schema, []


def _is_bare_map(schema: dict[str, Json]) -> bool:
    """Whether these are parameters and no schema: no key is a keyword with a value that fits it."""
    return bool(schema) and all(
        _looks_like_schema(inner) and (key not in _KEYWORDS or key not in _KEYWORDS_OF_SCHEMAS)
        for key, inner in schema.items()
    )


def _looks_like_schema(inner: Json) -> bool:
    return isinstance(inner, dict) and (not inner.keys().isdisjoint(_SIGNS_OF_A_SCHEMA))
