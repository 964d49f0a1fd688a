"""Checks a call's arguments against the offered tools (S2xx, T401), with each fault at the characters that show it."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from weaklink.inspector.checks.json_schema import DEPTH_OF_VALUES, Violation, unsafe_part
from weaklink.inspector.checks.prepared_schema import PreparedSchema, UncheckedValue
from weaklink.inspector.checks.tools import OfferedTools, check_structured_definition, unknown_tool
from weaklink.inspector.checks.violations import violation_faults
from weaklink.inspector.checks.wording import pointer
from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.json_scanner import JsonKind, JsonNode, read_json
from weaklink.inspector.model import Json, ToolCall, ToolDefinition
from weaklink.inspector.rules import schema as rules
from weaklink.inspector.rules.json_syntax import NOT_A_CALL, TRUNCATED_JSON, TRUNCATED_PARAMETERS
from weaklink.inspector.text import Range

_CUT_SHORT = (TRUNCATED_JSON, TRUNCATED_PARAMETERS)
_TOO_DEEP = b"\n" + b" " * DEPTH_OF_VALUES  # in JSON that is indented by one
_decode = msgspec.json.Decoder().decode
_format = msgspec.json.format


def check_arguments(call: ToolCall, offered: OfferedTools, builtin_tools: Container[str] = ()) -> Iterator[Fault]:
    """The faults of a call against the offered tools; none if none were offered, or the call could not be parsed.

    `builtin_tools` are the tools that a format's models may call without a definition.
    """
    if not offered or call.name is None or not (call.valid or call.recovered):
        return
    tool = offered.find(call.name)
    if tool is None:
        yield from unknown_tool(call, offered, builtin_tools)
        return
    schema = offered.schema_of(tool)
    if schema.faults:
        yield from check_structured_definition(tool, call, offered)
    yield from _faults(call, tool, schema)


def accepted_array(call: ToolCall, offered: OfferedTools) -> ToolCall | None:
    """The call as valid, if its arguments are an array, and its tool takes no object; else None."""
    tool = offered.find(call.name) if call.name and not call.valid and call.raw_arguments.startswith("[") else None
    if tool is None or call.arguments_range is None or offered.schema_of(tool).takes_objects:
        return None
    reading = read_json(call.raw_arguments)
    return msgspec.structs.replace(call, arguments=reading.nodes[0].value(), valid=True) if reading.strict else None


def without_fault_of_array(faults: Iterable[Fault], call: ToolCall) -> list[Fault]:
    """The faults without the one that says that a call's arguments are no object."""
    return [fault for fault in faults if fault.rule is not NOT_A_CALL or fault.range != call.arguments_range]


def check_structured_calls(
    calls: Iterable[ToolCall], faults: Sequence[Fault], offered: OfferedTools, builtin_tools: Container[str] = ()
) -> tuple[tuple[ToolCall, ...], list[Fault]]:
    """The calls of a structured part, and its `faults` with those against the offered tools."""
    checked: list[ToolCall] = []
    cuts, kept = places_of_cuts(faults), list(faults)
    for call in calls:
        as_array = accepted_array(call, offered)
        kept = kept if as_array is None else without_fault_of_array(kept, call)
        read = as_array or call
        wrong = check_arguments(read, offered, builtin_tools)
        kept += without_unfinished(wrong, read, cuts) if cuts else wrong
        checked.append(read)
    return tuple(checked), kept


def without_unfinished(faults: Iterable[Fault], call: ToolCall, cuts: Iterable[Range]) -> Iterator[Fault]:
    """The faults of a call that the end of the text cuts short, except those of values that may be unfinished.

    `cuts` are the ranges from `places_of_cuts`. A value is unfinished if it reaches such a range. The arguments as a
    whole are unfinished if they are parameters in tags, or have not begun.
    """
    reached = next((range_of_cut for range_of_cut in cuts if range_of_cut.end > call.range.start), None)
    cut = call.range.end if reached is None else min(reached.end, _end_of_words(call))
    last = call.parameters[-1] if call.parameters else None
    whole = call.arguments_range or call.range
    for fault in faults:
        is_root = fault.path == "" and (last is not None or not call.raw_arguments)
        is_last = last is not None and last.range.end >= whole.end and _is_within(fault.path, last.name)
        if not (is_root or is_last or fault.range.end >= cut):
            yield fault


def _end_of_words(call: ToolCall) -> int:
    """The end of a call's arguments, without the white space and the half escape that a cut leaves at their end."""
    raw = call.raw_arguments
    return call.place(Range(0, len(raw.rstrip()))).end if raw else call.range.end


def _is_within(path: str | None, name: str) -> bool:
    """Whether a JSON pointer leads to the argument `name` or into it."""
    first = pointer((name,))
    return path is not None and (path == first or path.startswith(f"{first}/"))


def places_of_cuts(faults: Iterable[Fault]) -> list[Range]:
    """The ranges, in order, where payloads stop before they are complete."""
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
    violations = schema.violations(value)
    formats = schema.format_mismatches(value)
    if isinstance(violations, UncheckedValue):
        message = f"The arguments were not checked against the schema of `{tool.name}`: {violations.why}."
        yield Fault(rules.SCHEMA_NOT_CHECKED, ArgumentPlaces(call).of(()), message, path="")
        return
    if schema.schema is None and schema.takes_objects and not isinstance(value, dict):
        violations = (Violation("type", (), ["object"]),)
    if violations or formats:
        yield from violation_faults((*violations, *formats), value, ArgumentPlaces(call), schema.known_violations)


def _checked_value(call: ToolCall, schema: PreparedSchema) -> Json:
    """The arguments, or the string from which they were decoded if the tool may accept a string."""
    if call.recovered and call.raw_arguments.startswith('"'):
        nodes = read_json(call.raw_arguments).nodes if not schema.takes_objects else ()
        if nodes and nodes[0].kind is JsonKind.STRING:
            return nodes[0].scalar
    return call.arguments


def _is_surely_safe(call: ToolCall) -> bool:
    """Whether the text alone shows that the library may get the arguments; much faster than a check of each value.

    msgspec rejects half a surrogate pair, and numbers beyond a float's range or 4,300 digits.
    """
    raw = call.raw_arguments
    if not call.valid:
        return False
    try:
        _decode(raw)
        return raw.count("[") + raw.count("{") <= DEPTH_OF_VALUES or _TOO_DEEP not in _format(raw.encode(), indent=1)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return False


@dataclass
class ArgumentPlaces:
    """The ranges of the parts of a call's arguments in its text, which is parsed at first use."""

    call: ToolCall
    _root: JsonNode | None = None
    _is_read: bool = False

    def of(self, path: Sequence[str | int]) -> Range:
        """The characters of the value at `path`, or the nearest value around it."""
        return self._node(path, key=False)

    def key(self, path: Sequence[str | int]) -> Range:
        """The characters of the key at the end of `path`."""
        return self._node(path, key=True)

    @property
    def are_exact(self) -> bool:
        """Whether values have characters of their own, and are JSON, so that an edit can replace them."""
        if self.call.parameters:
            return False
        return self.call.arguments_range is not None and self.call.decoded is None and self._read() is not None

    def _node(self, path: Sequence[str | int], *, key: bool) -> Range:
        whole = self.call.arguments_range or self.call.range
        if self.call.parameters:
            return self._in_parameter(str(path[0]), path[1:], key=key) if path else whole
        node = self._read()
        if node is None or self.call.arguments_range is None:
            return whole if len(whole) else self.call.range
        location = node.range
        for step in path:
            member = node.member(step) if isinstance(step, str) else None
            inner = member.value if member else node.node_at(f"/{step}") if isinstance(step, int) else None
            if inner is None:
                break
            location = member.key_range if member and key else inner.range
            node = inner
        return self.call.place(location)

    def _in_parameter(self, name: str, path: Sequence[str | int], *, key: bool) -> Range:
        """The characters of a value in a separate parameter; those of the parameter's name if it is empty."""
        last = next((parameter for parameter in reversed(self.call.parameters) if parameter.name == name), None)
        if last is None:
            return self.call.arguments_range or self.call.range
        named = last.name_range or self.call.range
        if not path:
            return named if key or not len(last.range) else last.range
        inner = msgspec.structs.replace(
            self.call, raw_arguments=last.text, arguments_range=last.range, arguments=None, parameters=()
        )
        locator = ArgumentPlaces(inner)
        return locator.key(path) if key else locator.of(path)

    def _read(self) -> JsonNode | None:
        if not self._is_read:
            nodes = read_json(self.call.raw_arguments).nodes
            root = nodes[0] if nodes else None
            is_same = root is not None and (root.kind is not JsonKind.STRING or isinstance(self.call.arguments, str))
            self._root, self._is_read = root if is_same else None, True
        return self._root
