"""S2xx and T401 checks: a call against the tools that were offered, each fault at the characters that show it."""

from collections.abc import Container, Iterable, Iterator

import msgspec

from inspector.checks.argument_places import ArgumentPlaces
from inspector.checks.prepared_schema import PreparedSchema, UncheckedValue
from inspector.checks.tools import OfferedTools, check_structured_definition, unknown_tool
from inspector.checks.unsafe_values import DEPTH_OF_VALUES, unsafe_part
from inspector.checks.violation import Violation
from inspector.checks.violations import told
from inspector.checks.wording import pointer
from inspector.diagnostics import Fault
from inspector.json_scanner import JsonKind, read_json
from inspector.model import Json, ToolCall, ToolDefinition
from inspector.rules import schema as rules
from inspector.rules.call_shape import TRUNCATED_PARAMETERS
from inspector.rules.json_syntax import TRUNCATED_JSON
from inspector.text import Range

_CUT_SHORT = (TRUNCATED_JSON, TRUNCATED_PARAMETERS)
_decode = msgspec.json.Decoder().decode
_format = msgspec.json.format
_TOO_DEEP = b"\n" + b" " * DEPTH_OF_VALUES  # in JSON that is indented by one


def check_arguments(call: ToolCall, offered: OfferedTools, own_tools: Container[str] = ()) -> Iterator[Fault]:
    """What is wrong with a call in the light of the tools on offer; nothing where none were, or the call is unread.

    `own_tools` are those that a format's models may call without a definition.
    """
    if not offered or call.name is None or not (call.valid or call.recovered):
        return
    tool = offered.find(call.name)
    if tool is None:
        yield from unknown_tool(call, offered, own_tools)
        return
    schema = offered.schema_of(tool)
    if schema.problems:
        yield from check_structured_definition(tool, call, offered)
    yield from _faults(call, tool, schema)


def without_unfinished(faults: Iterable[Fault], call: ToolCall, cuts: Iterable[Range]) -> Iterator[Fault]:
    """The faults of a call that the text's end cuts short, without those of values that may have been meant to go on.

    `cuts` are the places that `places_of_cuts` found. A value is unfinished if it reaches such a place; so are all
    arguments where they are parameters in tags, or have not begun.
    """
    reached = next((place for place in cuts if place.end > call.range.start), None)
    cut = call.range.end if reached is None else min(reached.end, _end_of_words(call))
    last = call.parameters[-1] if call.parameters else None
    whole = call.arguments_range or call.range
    for fault in faults:
        is_root = fault.path == "" and (last is not None or not call.raw_arguments)
        is_last = last is not None and last.range.end >= whole.end and _is_within(fault.path, last.name)
        if not (is_root or is_last or fault.range.end >= cut):
            yield fault


def _end_of_words(call: ToolCall) -> int:
    """Where a call's arguments end, without the white space and the half escape that a cut leaves at their end."""
    raw = call.raw_arguments
    return call.place(Range(0, len(raw.rstrip()))).end if raw else call.range.end


def _is_within(path: str | None, name: str) -> bool:
    """Whether a JSON pointer leads to the argument `name` or into it."""
    first = pointer((name,))
    return path is not None and (path == first or path.startswith(f"{first}/"))


def places_of_cuts(faults: Iterable[Fault]) -> list[Range]:
    """The places, in their order, where payloads stop before they are complete."""
    return sorted(fault.range for fault in faults if fault.rule in _CUT_SHORT)


def _faults(call: ToolCall, tool: ToolDefinition, schema: PreparedSchema) -> Iterator[Fault]:
    value = _checked_value(call, schema)
    if not _is_surely_safe(call):
        unsafe = unsafe_part(value)
        if unsafe is not None:
            message = f"The arguments were not checked against the schema of `{tool.name}`: {unsafe.why}."
            yield Fault(
                rules.SCHEMA_NOT_CHECKED, ArgumentPlaces(call).of(unsafe.path), message, path=pointer(unsafe.path)
            )
            return
    found = schema.violations(value)
    formats = schema.format_mismatches(value)
    if isinstance(found, UncheckedValue):
        message = f"The arguments were not checked against the schema of `{tool.name}`: {found.why}."
        yield Fault(rules.SCHEMA_NOT_CHECKED, ArgumentPlaces(call).of(()), message, path="")
        return
    if schema.schema is None and schema.takes_objects and not isinstance(value, dict):
        found = (Violation("type", (), ["object"]),)
    if found or formats:
        yield from told((*found, *formats), value, ArgumentPlaces(call))


def _checked_value(call: ToolCall, schema: PreparedSchema) -> Json:
    """The arguments; but the string itself where they are one that was decoded, and the tool may well take a string."""
    if call.recovered and call.raw_arguments.startswith('"'):
        nodes = read_json(call.raw_arguments).nodes if not schema.takes_objects else ()
        if nodes and nodes[0].kind is JsonKind.STRING:
            return nodes[0].scalar
    return call.arguments


def _is_surely_safe(call: ToolCall) -> bool:
    """Whether the text alone shows that the arguments may reach the library, several times as fast as a look at each.

    msgspec refuses half a surrogate pair, and numbers beyond what a float or 4,300 digits hold.
    """
    raw = call.raw_arguments
    if not call.valid:
        return False
    try:
        _decode(raw)
        return raw.count("[") + raw.count("{") <= DEPTH_OF_VALUES or _TOO_DEEP not in _format(raw.encode(), indent=1)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return False
