"""Converts the untyped values of a call by the tool's schema: the wire has texts, and the schema has their types.

A parameter in tags, or a ReAct value, is a text. If the schema accepts a string, the value is the text, unchanged. If
it accepts only other types, the text is parsed as strict JSON, and kept as text if that fails or gives another type, so
that the check of the schema reports the fault. A property without a
schema, or whose schema states no type, stays a text too: guessing would turn a postal code or a version number into a
number. A schema that accepts a string and other types keeps the text, except `null` if it accepts null, and an object
or array if it accepts that: nobody means those as text.

An object or array that is nearly JSON (single quotes, a trailing comma) and Python's `True` and `None` are repaired and
reported by their J rules, as in a JSON payload. Values in nested tags inside a value are converted by the schema at
their place.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from weaklink.inspector.checks.schema_complexity import at_pointer
from weaklink.inspector.checks.tools import OfferedTools
from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.json_scanner import JsonKind, JsonNode, read_json
from weaklink.inspector.model import Json, Parameter, ToolCall
from weaklink.inspector.rules.json_syntax import MALFORMED_PARAMETERS

_MAX_STEPS = 32
_MAX_DEPTH = 64
_WRAPPERS = ("input", "arguments")
_PYTHON_LITERALS = ("True", "False", "None")
_KINDS = {
    JsonKind.OBJECT: "object",
    JsonKind.ARRAY: "array",
    JsonKind.STRING: "string",
}


class TypedCall(NamedTuple):
    """A call with its untyped values converted by a schema, and the faults of values that had to be repaired."""

    call: ToolCall
    faults: tuple[Fault, ...] = ()


class _Value(NamedTuple):
    value: Json
    faults: tuple[Fault, ...] = ()


def typed_by(call: ToolCall, offered: OfferedTools) -> TypedCall:
    """The call, with values converted by the schema of the offered tool that it names.

    A schema with types such as `float` is used as S207 reports it: with the JSON type that is meant.
    """
    tool = offered.find(call.name) if call.name is not None else None
    if tool is None:
        return TypedCall(call)
    schema = offered.schema_of(tool).schema
    return typed(call, tool.parameters if schema is None else schema)


def typed(call: ToolCall, schema: Json) -> TypedCall:
    """The call with each untyped parameter's value converted by its property's schema; pure.

    `schema` is the JSON Schema of the tool's arguments. The raw text stays in `raw_arguments` and `parameters`. If
    nothing changes, the same object is returned; a call with a repaired value is `recovered` and not `valid`.
    """
    if not call.parameters or not isinstance(call.arguments, dict):
        return TypedCall(call)
    unwrapped = _unwrapped(call, schema)
    if unwrapped is not None:
        return unwrapped
    changed: dict[str, Json] = {}
    faults: list[Fault] = []
    for parameter in call.parameters:
        if not parameter.typed and parameter.name in call.arguments:
            for value in _values(parameter, call.arguments[parameter.name], schema):
                changed[parameter.name] = value.value
                faults += value.faults
    if not changed:
        return TypedCall(call)
    arguments = {**call.arguments, **changed}
    if faults:
        return TypedCall(msgspec.structs.replace(call, arguments=arguments, valid=False, recovered=True), tuple(faults))
    return TypedCall(msgspec.structs.replace(call, arguments=arguments))


def _unwrapped(call: ToolCall, schema: Json) -> TypedCall | None:
    """The call without a wrapper: an only parameter `input` or `arguments` that has all arguments as one object.

    DeepSeek V3.2 sometimes writes this (vllm:vllm/tool_parsers/deepseekv32_tool_parser.py unwraps it too). It is no
    wrapper if the tool has a parameter of that name, or accepts any name. Returns None without a wrapper.
    """
    wrapper = call.parameters[0]
    if len(call.parameters) != 1 or wrapper.name not in _WRAPPERS or _property(schema, wrapper.name) is not None:
        return None
    inner = call.arguments.get(wrapper.name) if isinstance(call.arguments, dict) else None
    if not isinstance(inner, dict):
        inner = next((node.value for node in _read(wrapper.text, frozenset(("object",)))), None)
    if not isinstance(inner, dict) or not any(_property(schema, name) is not None for name in inner):
        return None
    message = f"The parameter `{wrapper.name}` contains all arguments as one object; the tool has no such parameter."
    fault = Fault(
        MALFORMED_PARAMETERS, wrapper.name_range or wrapper.range, message, "Write each argument as its own parameter."
    )
    return TypedCall(msgspec.structs.replace(call, arguments=inner, valid=False, recovered=True), (fault,))


def _values(parameter: Parameter, value: Json, schema: Json) -> Iterator[_Value]:
    """The parameter's value, if the schema may change it."""
    expected = _property(schema, parameter.name)
    if isinstance(value, dict | list):
        yield _Value(_nested(value, expected, schema, _MAX_DEPTH))
    elif value == parameter.text:
        types = _accepted_types(parameter.text, expected, schema)
        yield from _read(parameter.text, types)
        yield from _repaired(parameter, types)


def _accepted_types(text: str, expected: Json, root: Json) -> frozenset[str]:
    """The types that a text may be converted to; empty if it stays a text."""
    types, text = frozenset(_types(expected, root)), text.strip()
    if not types or types == {"string"} or not text:
        return frozenset()
    if "string" in types and not (text == "null" or text[0] in "{["):
        return frozenset()
    return types


def _read(text: str, types: frozenset[str]) -> Iterator[_Value]:
    """The value of a text that is strict JSON of one of these types."""
    reading = read_json(text.strip()) if types else None
    if reading is not None and reading.strict and len(reading.nodes) == 1 and _fits(reading.nodes[0], types):
        yield _Value(reading.nodes[0].value())


def _repaired(parameter: Parameter, types: frozenset[str]) -> Iterator[_Value]:
    """The value of a text that is nearly JSON, with its faults; nothing if a string may be meant."""
    text = parameter.text
    if not types or "string" in types or (text.strip()[0] not in "{[" and text.strip() not in _PYTHON_LITERALS):
        return
    reading = read_json(text)
    if reading.strict or not reading.repairable or len(reading.nodes) != 1 or not _fits(reading.nodes[0], types):
        return
    text_range = parameter.range
    if len(text_range) == len(text):
        yield _Value(reading.nodes[0].value(), tuple(fault.moved(text_range.start) for fault in reading.faults))
    else:
        faults = (Fault(fault.rule, text_range, fault.message, fault.hint) for fault in reading.faults)
        yield _Value(reading.nodes[0].value(), tuple(faults))


def _nested(value: Json, expected: Json, root: Json, depth: int) -> Json:
    """A value with texts of nested tags, each converted by the schema at its place."""
    if isinstance(value, str):
        return next((node.value for node in _read(value, _accepted_types(value, expected, root))), value)
    if depth and isinstance(value, dict):
        return {key: _nested(inner, _property(expected, key, root), root, depth - 1) for key, inner in value.items()}
    if depth and isinstance(value, list):
        items = _items(expected, root)
        return [_nested(inner, items, root, depth - 1) for inner in value]
    return value


def _fits(node: JsonNode, types: frozenset[str]) -> bool:
    kind = _kind(node)
    return kind in types or (kind == "integer" and "number" in types)


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


def _property(schema: Json, name: str, root: Json = None) -> Json:
    """The schema of a property; None if there is none. References start from `root`, else from `schema`."""
    for part in _parts(schema, schema if root is None else root):
        properties = part.get("properties")
        if isinstance(properties, dict) and name in properties:
            return properties[name]
    others = schema.get("additionalProperties") if isinstance(schema, Mapping) else None
    return others if isinstance(others, dict) else None


def _items(schema: Json, root: Json) -> Json:
    """The schema of an array's items; None if there is none, or if each item has its own."""
    schemas = (part.get("items") for part in _parts(schema, root))
    return next((items for items in schemas if isinstance(items, dict)), None)


def _types(schema: Json, root: Json) -> Iterator[str]:
    """The types that a schema accepts; nothing if it states none."""
    for part in _parts(schema, root):
        match part.get("type"):
            case str() as name:
                yield name
            case list() as several:
                yield from (name for name in several if isinstance(name, str))
            case _:
                yield from map(_type_of, _values_named(part))


def _values_named(schema: Mapping[str, Json]) -> Sequence[Json]:
    """The values of `enum` or `const`, whose types show what a schema without a type accepts."""
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
    """A schema, its branches (`anyOf`, `oneOf`, `allOf`) and the schemas that it refers to within `root`."""
    pending = [schema]
    for _ in range(_MAX_STEPS):
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
            pending.append(at_pointer(root, reference))
