"""Decides whether a JSON object is a call: its name, its arguments, and the faults of the rest.

Theory of operation. A format says under which keys its calls have the name and the arguments (`CallKeys`). `shape_of`
looks for them, first where they belong and then where models put them instead. With the keys `name` and `arguments`:

    {"name": "f", "arguments": {}}                    it fits
    {"name": "f", "arguments": {}, "b": 2}            it fits; the stray key is reported
    {"name": "f", "parameters": {}}                   it fits: servers read this key too; reported
    {"name": "f", "arguments": "{}"}                  readable: a string of JSON is decoded
    {"name": "f", "args": {}}                         readable: the only other object has a name like arguments
    {"name": "f", "a": 1}                             readable: the other members are the arguments
    {"tool": "f", "arguments": {}}                    readable: the name is under another format's key
    {"function": {"name": "f", "arguments": {}}}      readable: the call is one level deeper
    {"name": "f", "arguments": [1]}                   not readable: a value without names cannot be arguments
    {"name": "f", "parameters": {"type": "object"}}   no call but a tool's definition; nor is an error object

A call that fits may be valid. One that is only readable has its arguments, but counts as recovered, not as valid,
because a server would not return it so.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, structs

from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.json_scanner import MAX_DEPTH, JsonKind, JsonMember, JsonNode, read_json
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, ToolCall
from weaklink.inspector.rules import json_syntax as rules
from weaklink.inspector.rules.json_syntax import TRUNCATED_JSON
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range, shown

ARGUMENT_KEYS = ("arguments", "parameters")

_SCHEMA_KEYS = frozenset(
    ("type", "properties", "required", "additionalProperties", "title", "description", "$schema", "$defs")
) | {"definitions"}

_ERROR_KEYS = frozenset({"error", "errors", "exception", "traceback"})
_NAME_LIKE = frozenset({"name", "tool", "tool_name", "function", "function_name", "action", "func"})
_HARMLESS_KEYS = frozenset({"id", "type"})
_LIKE_ARGUMENTS = lazy_pattern(r"(?:\w{1,32}_)?(?:kw)?(?:arg|param|input)\w{0,32}", re.IGNORECASE)

_NO_STRING = r"(?:null|true|false|-?\d{1,32}|\[[^\[\]{}]{0,96}\]|\{[^{}]{0,96}\})"
CALLS_WITHOUT_NAME = (
    (
        lazy_pattern(
            rf'\{{\s{{0,16}}"name"\s{{0,16}}:\s{{0,16}}{_NO_STRING}\s{{0,16}},\s{{0,16}}"(?:arguments|parameters)"\s{{0,16}}:'
        ),
        '{"name": "NAME"',
    ),
)
"""The `near_calls` of a format whose calls have no opening marker: an object like a call whose name is not a string."""


class CallKeys(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The keys of a format's call objects: for the tool's name, the arguments and, if there is one, the id.

    `also` are other valid keys for the arguments. `others` says that calls may have more keys than are known.
    """

    name: str = "name"
    arguments: str = "arguments"
    id: str = "id"
    also: tuple[str, ...] = ()
    others: bool = False


NATIVE_KEYS = CallKeys()
"""The keys of most formats."""


class CallShape(Struct, frozen=True):
    """A JSON object read as a call.

    `name` is None if it names no tool. `arguments` is the member with the arguments, None if there is none; `decoded`
    is the object in that member if its value is a string of JSON, or that of the keys beside the name. `fits` says that
    the object has the format's own shape; if it does not, `readable` says that it could be read anyway. `range` is the
    call's own text if that is not the whole object.
    """

    name: JsonMember | None
    arguments: JsonMember | None
    decoded: Json
    fits: bool
    readable: bool
    faults: tuple[Fault, ...]
    range: Range | None = None


def shape_of(node: JsonNode, keys: CallKeys, text: str) -> CallShape:
    """The shape of `node`, an object in `text`, as a call of a format with these `keys`."""
    wrapper, name = node.member("function"), node.member(keys.name)
    inner = wrapper.value if wrapper is not None and name is None and not _is_schema(wrapper.value) else None
    if wrapper is not None and inner is not None and inner.member("name") is not None:
        return _unwrapped(node, wrapper, keys, text)
    if name is None and not _is_schema(node) and (other := _name_elsewhere(node)) is not None:
        named = shape_of(node, structs.replace(keys, name=other.key), text)
        return structs.replace(named, fits=False, faults=(_misnamed(other, keys), *named.faults))
    if name is None or name.value.kind is not JsonKind.STRING or not name.value.scalar or _is_schema(node):
        is_reported = name is not None and not len(name.value.range)  # a name without a value is a JSON fault
        faults = () if is_reported else (_not_a_call(node, name, keys),)
        return CallShape(None, None, None, fits=False, readable=False, faults=faults)
    arguments = node.member(keys.arguments) or next(filter(None, map(node.member, ARGUMENT_KEYS)), None)
    if (
        arguments is None
        and (other := _lone_object(_strays(node, None, keys)))
        and _LIKE_ARGUMENTS.fullmatch(other.key)
    ):
        arguments = other
    shape_faults = list(_key_faults(node, arguments, keys, text))
    decoded, as_string = decoded_arguments(arguments.value, f"`{arguments.key}` is") if arguments else (None, None)
    if as_string is not None:
        shape_faults.append(as_string)
    elif arguments is not None and is_no_object(arguments.value):
        shape_faults.append(not_an_object(arguments.value, arguments.value.range))
        return CallShape(name, arguments, None, fits=False, readable=False, faults=tuple(shape_faults))
    flat = _strays(node, None, keys) if arguments is None else []
    decoded = {member.key: member.value.value() for member in flat} or decoded
    fits = not any(fault.rule is rules.NOT_A_CALL for fault in shape_faults) and as_string is None
    return CallShape(name, arguments, decoded, fits=fits, readable=True, faults=tuple(shape_faults))


def is_no_object(value: JsonNode) -> bool:
    """Whether the arguments are a whole value that is neither an object nor `null`, which means no arguments."""
    return value.kind not in (JsonKind.OBJECT, JsonKind.NULL, JsonKind.OTHER) and bool(len(value.range))


def not_an_object(value: JsonNode, arguments_range: Range) -> Fault:
    """The fault of arguments that are a value without names, which no server accepts as arguments."""
    kind = "boolean" if value.kind in (JsonKind.TRUE, JsonKind.FALSE) else value.kind.value
    message = f"The arguments are a JSON {kind}; expected an object."
    return Fault(rules.NOT_A_CALL, arguments_range, message, "Write each argument as a member with its name.")


def _is_schema(node: JsonNode) -> bool:
    """Whether an object is a tool's definition: its `parameters` are a JSON Schema of an object."""
    parameters = node.member("parameters")
    if parameters is None or parameters.value.kind is not JsonKind.OBJECT or node.member("arguments") is not None:
        return False
    schema, is_described = parameters.value, node.member("description") is not None
    if schema.member("properties") is not None and (is_described or schema.member("type") is not None):
        return True
    of_object = schema.member("type")
    names_type = of_object is not None and of_object.value.scalar == "object"
    return (is_described or names_type) and all(member.key in _SCHEMA_KEYS for member in schema.members)


def is_schema_like(arguments: Mapping[str, Json]) -> bool:
    """Whether decoded arguments look like a JSON Schema of an object, so that the call may be a tool's definition."""
    return arguments.get("type") == "object" or "properties" in arguments


def has_arguments(arguments: JsonNode, text: str) -> bool:
    """Whether a value contains at least the beginning of arguments, so that a repair need not invent them.

    A bare word or an expression does not, and neither does an object that ends after its bracket.
    """
    if arguments.kind is JsonKind.OBJECT:
        return bool(arguments.members) or text[arguments.range.end - 1 : arguments.range.end] == "}"
    return arguments.kind is not JsonKind.OTHER


def without_invention(fault: Fault, arguments: JsonNode) -> Fault:
    """The fault without a repair that would invent arguments; see `has_arguments`."""
    if fault.fix is None or not (fault.rule is TRUNCATED_JSON or arguments.range.covers(fault.range)):
        return fault
    return structs.replace(fault, hint=None, fix=None)


def _unwrapped(node: JsonNode, wrapper: JsonMember, keys: CallKeys, text: str) -> CallShape:
    inner = shape_of(wrapper.value, keys, text)
    before = Edit(Range(node.range.start, wrapper.value.range.start), "")
    after = Edit(Range(wrapper.value.range.end, node.range.end), "")
    fault = Fault(
        rules.NOT_A_CALL,
        wrapper.key_range,
        'The call is inside `"function"`, as in the OpenAI API; here the object itself is the call.',
        "Keep only the inner object.",
        Fix((before, after), safe=False),
    )
    return CallShape(inner.name, inner.arguments, inner.decoded, fits=False, readable=inner.readable, faults=(fault,))


def _not_a_call(node: JsonNode, name: JsonMember | None, keys: CallKeys) -> Fault:
    function, fault_range = node.member("function"), node.range
    if _is_schema(node) or (function is not None and _is_schema(function.value)):
        message = "This is the definition of a tool, not a call: the model repeats what the prompt contains."
    elif any(member.key.lower() in _ERROR_KEYS for member in node.members):
        message = "This is an error object, not a call."
    elif not node.members:
        message = "An empty object is not a call: expected a name and arguments."
    elif name is not None:
        fault_range, message = name.value.range, f"`{keys.name}` must be the name of a tool, a non-empty string."
    elif (other := next((member for member in node.members if member.key in _NAME_LIKE), None)) is not None:
        return _misnamed(other, keys)
    else:
        held = ", ".join(shown(member.key) for member in node.members[:4]) + ", …" * (len(node.members) > 4)
        guess = "" if any(node.member(key) for key in ARGUMENT_KEYS) else ", which look like bare arguments"
        message = f"The call has no tool name: expected `{keys.name}`, but the object contains only {held}{guess}."
    return Fault(rules.NOT_A_CALL, fault_range, message)


def _name_elsewhere(node: JsonNode) -> JsonMember | None:
    """The member that names the tool under another format's key, if the object has an object of arguments too."""
    arguments = next(filter(None, map(node.member, ARGUMENT_KEYS)), None)
    if arguments is None or arguments.value.kind is not JsonKind.OBJECT:
        return None
    named = (member for member in node.members if member.key in _NAME_LIKE)
    return next((member for member in named if isinstance(member.value.scalar, str) and member.value.scalar), None)


def _misnamed(other: JsonMember, keys: CallKeys) -> Fault:
    message = f"The call has no tool name: `{other.key}` appears where `{keys.name}` belongs."
    fix = Fix((Edit(other.key_range, f'"{keys.name}"'),), safe=False)
    return Fault(rules.NOT_A_CALL, other.key_range, message, f"Rename it to `{keys.name}` if you meant that.", fix)


def _key_faults(node: JsonNode, arguments: JsonMember | None, keys: CallKeys, text: str) -> Iterator[Fault]:
    if arguments is not None and arguments.key not in (keys.arguments, *keys.also):
        is_read = arguments.key in ARGUMENT_KEYS  # by some servers
        rule = rules.WRONG_ARGUMENTS_KEY if is_read else rules.NOT_A_CALL
        where = shown(arguments.key) + ("" if is_read else ", where servers do not look")
        message = f"The arguments are under {where}; this format uses `{keys.arguments}`."
        fix = Fix((Edit(arguments.key_range, f'"{keys.arguments}"'),), safe=is_read)
        yield Fault(rule, arguments.key_range, message, f"Rename it to `{keys.arguments}`.", fix)
    strays = _strays(node, arguments, keys)
    if arguments is not None:
        yield from (_stray_key(member, arguments) for member in strays)
    elif strays:
        yield _flat_arguments(node, strays, keys, text)


def _strays(node: JsonNode, arguments: JsonMember | None, keys: CallKeys) -> list[JsonMember]:
    """The members that are none of a call's own; without arguments, these are meant."""
    known = (keys.name, keys.id, *_HARMLESS_KEYS, *((arguments.key,) if arguments is not None else ()))
    return [member for member in node.members if member.key not in known and not keys.others]


def _lone_object(strays: Sequence[JsonMember]) -> JsonMember | None:
    return strays[0] if len(strays) == 1 and strays[0].value.kind is JsonKind.OBJECT else None


def _flat_arguments(node: JsonNode, strays: Sequence[JsonMember], keys: CallKeys, text: str) -> Fault:
    """The keys of a call without arguments: these are meant."""
    names = ", ".join(shown(member.key) for member in strays[:4]) + ", …" * (len(strays) > 4)
    verb, them = ("appear", "them") if len(strays) > 1 else ("appears", "it")
    where = f"next to the call's name, and `{keys.arguments}` is missing"
    message = f"{names} {verb} {where}: servers return the call without {them}, or no call."
    opens, closes = strays[0].key_range.start, node.range.end - 1
    edits = (Edit(Range(opens, opens), f'"{keys.arguments}": {{'), Edit(Range(closes, closes), "}"))
    is_last = list(node.members[-len(strays) :]) == list(strays)
    may_hold_all = _lone_object(strays) is not None
    fix = Fix(edits, safe=False) if is_last and not may_hold_all and text[closes : closes + 1] == "}" else None
    rename = f", or rename it to `{keys.arguments}` if it holds them" if may_hold_all else ""
    return Fault(rules.NOT_A_CALL, strays[0].key_range, message, f"Put {them} into the call's arguments{rename}.", fix)


def _stray_key(member: JsonMember, arguments: JsonMember) -> Fault:
    """A key beside the call's own: only the tool's schema says whether it is a parameter or made up."""
    message = f"{shown(member.key)} appears next to the call's name and arguments, where servers ignore it."
    if arguments.value.kind is not JsonKind.OBJECT:
        return Fault(rules.STRAY_KEY, member.key_range, message, "Put it into the call's arguments.")
    hint = f"Move it into `{arguments.key}` if the tool has such a parameter; otherwise delete it."
    return Fault(rules.STRAY_KEY, member.key_range, message, hint)


def decoded_arguments(value: JsonNode, subject: str) -> tuple[Json, Fault | None]:
    """The object in arguments that are a string of JSON, and the fault; None for both if they are not.

    `subject` is the beginning of its message, such as "The arguments are".
    """
    text = value.scalar
    if value.kind is not JsonKind.STRING or not isinstance(text, str):
        return None, None
    reading = read_json(text)
    if text.strip() and not (reading.strict and reading.nodes[0].kind is JsonKind.OBJECT):
        return None, None
    fault = Fault(
        rules.ARGUMENTS_AS_STRING,
        value.range,
        f"{subject} a string of JSON; expected the object itself.",
        "Remove the quotes and the backslashes.",
        Fix((Edit(value.range, text.strip() or "{}"),), safe=True),
    )
    return (reading.nodes[0].value() if text.strip() else {}), fault


def call_object(call: ToolCall, *, key: str = "arguments") -> str:
    """The call as a JSON object with the arguments under `key`."""
    return f'{{"name": {json_of(call.name)}, "{key}": {json_of(call.arguments)}}}'


def call_array(calls: Iterable[ToolCall], *, key: str = "arguments") -> str:
    """The calls as a JSON array of the objects of `call_object`."""
    return f"[{', '.join(call_object(call, key=key) for call in calls)}]"


def json_of(value: Json) -> str:
    """A value as models write it: JSON with `, ` and `: `, with unescaped non-ASCII characters."""
    return write_json(value, ascii_only=False)


def value_text(value: Json) -> str:
    """A value as dialects without types write it: a text unchanged, anything else as JSON."""
    return value if isinstance(value, str) else json_of(value)


def is_json_call(call: ToolCall) -> bool:
    """Whether JSON can express the call: it has a name, and its arguments are an object without NaN or infinity."""
    return bool(call.name) and isinstance(call.arguments, dict) and is_finite(call.arguments)


def is_call_without_id(call: ToolCall) -> bool:
    """Whether a format without ids whose calls are JSON can express the call."""
    return call.id is None and is_json_call(call)


def is_shallow(value: Json) -> bool:
    """Whether a value, with the call's object around it, is nested no deeper than the scanner reads."""
    level = [value]
    for _ in range(MAX_DEPTH - 1):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent if isinstance(parent, list) else ())
            if isinstance(child, dict | list)
        ]
        if not level:
            return True
    return False


def is_finite(value: Json) -> bool:
    """Whether JSON can express every number in a value."""
    return all(math.isfinite(inner) for inner in values_in(value) if isinstance(inner, float))


def values_in(value: Json) -> Iterator[Json]:
    """A value and all values in it, however nested, each before those in it."""
    pending = [value]
    while pending:
        inner = pending.pop()
        yield inner
        pending += inner.values() if isinstance(inner, dict) else inner if isinstance(inner, list) else ()
