"""Reads the untyped values of a call by the tool's schema: the wire has texts, and the schema says what they mean.

A parameter in tags, or a ReAct value, is a text. Where the schema takes a string, the text is the value, as it is;
where it takes only other types, the text is read as strict JSON, and kept as text where that fails or gives another
type, so that the check of the schema says what is wrong (`True` and `None` are Python, and stay texts). A property that
the schema does not know, or says nothing about, stays a text too: a text is what was written, and a tool that wants
more has a schema; guessing would turn a postal code or a version number into a number. A schema that takes a string and
other types keeps the text, save `null` where it takes null, and an object or array where it takes that: nobody means
those as text.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from inspector.checks.tools import OfferedTools
from inspector.json_scanner import JsonKind, JsonNode, read_json
from inspector.model import Json, Parameter, ToolCall

_MOST_STEPS = 32
_KINDS = {
    JsonKind.OBJECT: "object",
    JsonKind.ARRAY: "array",
    JsonKind.STRING: "string",
}


def typed_by(call: ToolCall, offered: OfferedTools) -> ToolCall:
    """The call, typed by the schema of the tool that it names among those on offer."""
    tool = offered.find(call.name) if call.name is not None else None
    return typed(call, tool.parameters) if tool is not None else call


def typed(call: ToolCall, schema: Json) -> ToolCall:
    """The call with each untyped parameter's value read by its property's schema; pure.

    `schema` is the JSON Schema of the tool's arguments. The raw text stays in `raw_arguments` and `parameters`. The
    call itself comes back where nothing changes.
    """
    if not call.parameters or not isinstance(call.arguments, dict):
        return call
    changed = {
        parameter.name: value
        for parameter in call.parameters
        if not parameter.typed and call.arguments.get(parameter.name) == parameter.text
        for value in _values(parameter, schema)
    }
    return msgspec.structs.replace(call, arguments={**call.arguments, **changed}) if changed else call


def _values(parameter: Parameter, schema: Json) -> Iterator[Json]:
    """The parameter's value, if it is another than its text."""
    types = frozenset(_types(_property(schema, parameter.name), schema))
    text = parameter.text.strip()
    if not types or types == {"string"} or not text:
        return
    if "string" in types and not (text == "null" or text[0] in "{["):
        return
    reading = read_json(text)
    if reading.strict and len(reading.nodes) == 1:
        node = reading.nodes[0]
        kind = _kind(node)
        if kind in types or (kind == "integer" and "number" in types):
            yield node.value()


def _kind(node: JsonNode) -> str:
    """The JSON Schema type of a value."""
    if node.kind in _KINDS:
        return _KINDS[node.kind]
    value = node.value()
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    is_whole = not isinstance(value, float) or value.is_integer()
    return "integer" if is_whole else "number"


def _property(schema: Json, name: str) -> Json:
    """The schema of a property; None where there is none."""
    for part in _parts(schema, schema):
        properties = part.get("properties")
        if isinstance(properties, dict) and name in properties:
            return properties[name]
    found = schema.get("additionalProperties") if isinstance(schema, Mapping) else None
    return found if isinstance(found, dict) else None


def _types(schema: Json, root: Json) -> Iterator[str]:
    """The types that a schema takes; none where it does not say."""
    for part in _parts(schema, root):
        match part.get("type"):
            case str() as one:
                yield one
            case list() as several:
                yield from (one for one in several if isinstance(one, str))
            case _:
                yield from map(_type_of, _values_named(part))


def _values_named(schema: Mapping[str, Json]) -> Sequence[Json]:
    """The values that `enum` or `const` name, whose types tell what a schema without a type takes."""
    values = schema.get("enum")
    if isinstance(values, list):
        return values
    return [schema["const"]] if "const" in schema else []


def _type_of(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return "number"


def _parts(schema: Json, root: Json) -> Iterator[Mapping[str, Json]]:
    """A schema, those that it may be instead (`anyOf`, `oneOf`, `allOf`) and those that it refers to within `root`."""
    pending = [schema]
    for _ in range(_MOST_STEPS):
        if not pending:
            return
        part = pending.pop(0)
        if not isinstance(part, dict):
            continue
        yield part
        for key in ("anyOf", "oneOf", "allOf"):
            choices = part.get(key)
            pending += choices if isinstance(choices, list) else []
        reference = part.get("$ref")
        if isinstance(reference, str):
            pending.append(_referred(reference, root))


def _referred(reference: str, root: Json) -> Json:
    """What a reference within the schema (`#/$defs/City`) points to; None where it points elsewhere."""
    if not reference.startswith("#/"):
        return None
    found = root
    for step in reference[2:].split("/")[:_MOST_STEPS]:
        found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    return found
