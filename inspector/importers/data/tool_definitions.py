"""Definitions of tools as training sets write them, in OpenAI's form."""

from weaklink.inspector.importers.records import json_within
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.model import Json
from weaklink.inspector.scanning import lazy_pattern

_TYPES = {
    **dict.fromkeys(("str", "string", "char", "String", "text"), "string"),
    **dict.fromkeys(("int", "integer", "long", "short", "byte", "Bigint"), "integer"),
    **dict.fromkeys(("float", "number", "double"), "number"),
    **dict.fromkeys(("bool", "boolean"), "boolean"),
    **dict.fromkeys(("list", "array", "tuple", "set", "ArrayList", "Array", "Stack", "Queue"), "array"),
    **dict.fromkeys(("dict", "object", "HashMap", "Hashtable"), "object"),
}
_GENERIC = lazy_pattern(r"(?i)(list|set|tuple|dict|union|optional)\[.*\]")
_MAX_DEPTH = 16


def json_objects(value: Json) -> list[JsonObject]:
    """The objects of a list, which may be JSON text, as may each of them; a single object is a list of one."""
    listed = json_within(value)
    items = listed if isinstance(listed, list) else [listed]
    decoded = (item if isinstance(item, dict) else json_within(item) for item in items)
    return [one for one in decoded if isinstance(one, dict)]


def openai_tools(value: Json) -> list[Json]:
    """Definitions in OpenAI's form: of a list, its JSON text, or a list of JSON texts.

    Python's and Java's names of types, as in the Berkeley leaderboard's sets, become those of JSON Schema, and
    parameters without `properties`, as xLAM writes them, become a schema; one whose type ends in `optional` is not
    required.
    """
    return [{"type": "function", "function": _function(tool)} for tool in json_objects(value)]


def _function(tool: JsonObject) -> JsonObject:
    inner = tool.get("function")
    function = inner if isinstance(inner, dict) else {key: one for key, one in tool.items() if key != "type"}
    parameters = json_within(function.get("parameters"))
    if not isinstance(parameters, dict):
        return function
    is_schema = "properties" in parameters or "$ref" in parameters or "$defs" in parameters
    flat = parameters and not is_schema and all(isinstance(parameter, dict) for parameter in parameters.values())
    schema = _flat_schema(parameters) if flat else parameters
    return {**function, "parameters": _json_types(schema, 0)}


def _flat_schema(parameters: JsonObject) -> JsonObject:
    """XLAM's `{name: {"type": "str, optional", "description": ...}}` as a schema."""
    required: list[Json] = []
    properties: JsonObject = {}
    for name, described in parameters.items():
        assert isinstance(described, dict)
        word = described.get("type")
        is_optional = isinstance(word, str) and "optional" in word
        if not is_optional and "default" not in described and described.get("required") is not False:
            required.append(name)
        kept = {key: one for key, one in described.items() if key != "required"}
        properties[name] = {**kept, "type": word.split(",")[0].strip()} if isinstance(word, str) else kept
    return {"type": "object", "properties": properties, "required": required}


def _json_types(schema: Json, depth: int) -> Json:
    """A schema with JSON Schema's names of types; a type that has none there is left out, as it allows anything."""
    if isinstance(schema, list):
        return [_json_types(one, depth + 1) for one in schema]
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return schema
    found: JsonObject = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            found[key] = {name: _json_types(one, depth + 1) for name, one in value.items()}
        elif key == "type" and isinstance(value, str):
            named = _type_name(value)
            if named is not None:
                found[key] = named
        elif key in ("items", "additionalProperties", "anyOf", "oneOf", "allOf"):
            found[key] = _json_types(value, depth + 1)
        else:
            found[key] = value
    return found


def _type_name(word: str) -> str | None:
    generic = _GENERIC.fullmatch(word)
    if generic is not None:
        return _TYPES.get(generic[1].lower())
    return _TYPES.get(word, word if word == "null" else None)
