"""Reads a payload that is a JSON object with a name and arguments: the body of a call in most dialects.

Theory of operation. There are two paths, and the second alone decides what is wrong:

    {"name": "f", "arguments": {"a": 1}}      the fast path (`read_whole_call`): one expression matches the frame, and
                                              msgspec decodes the arguments; it takes the plain and correct case only
    {"name": "f", "parameters": {"a": 1}}     the scanner reads the values, `call_shape` decides whether an object is a
                                              call: valid, with the fault wrong-arguments-key
    {"name": "f", "arguments": {"a": 1,}}     the scanner's repair makes it readable: not valid, but recovered
    {"name": "f"} {"name": "g"}               one call each, and a fault for the second value in one payload
    hello                                     no object: one call without a name, whose arguments are the text

Every payload gives at least one call, so that none disappears. `JsonCallReader` says what a dialect expects: an object
or an array of them, its keys, and the text between two calls, with which a fault can be repaired.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

import msgspec
from msgspec import Struct

from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.formats.json.call_shape import (
    NATIVE_KEYS,
    CallKeys,
    CallShape,
    has_arguments,
    is_schema_like,
    is_shallow,
    shape_of,
    without_invention,
)
from weaklink.inspector.formats.span_readers import empty_call, nameless_call
from weaklink.inspector.json_scanner import (
    KNOWN_ARGUMENT_KEYS,
    MAX_DEPTH,
    JsonKind,
    JsonMember,
    JsonNode,
    JsonResult,
    is_strict,
    read_json,
)
from weaklink.inspector.json_scanner.messages import FaultMessage
from weaklink.inspector.model import Json, ToolCall
from weaklink.inspector.rules import json_syntax as rules
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.events import ParseResult, SpanClosed
from weaklink.inspector.text import Range

_SPACE = " \t\n\r"
_W = r"[ \t\n\r]*+"
_PLAIN_STRING = r'"([^"\\\x00-\x1f\ud800-\udfff]*)"'
_NEARLY_TOO_DEEP = b"\n" + b" " * (MAX_DEPTH - 2)


class JsonCallReader(Struct, frozen=True):
    """A SpanReader for call spans whose inner text should be one JSON object with a name and arguments.

    `keys` are the format's own; `between` is the text that ends one call span and begins the next. `is_array` says that
    the format itself writes an array of such objects, `is_row` that it writes consecutive objects; with both, a bare
    object is as valid as an array. `has_ids` says that the calls have ids. `wrappers` are the keys of objects around
    calls. `shapes` reads the calls of an object if they are not written with `keys`.
    """

    keys: CallKeys = NATIVE_KEYS
    between: str = ""
    is_array: bool = False
    is_row: bool = False
    has_ids: bool = False
    wrappers: tuple[str, ...] = ()
    shapes: Callable[[JsonNode, str], Iterable[CallShape]] | None = None

    def __call__(self, closed: SpanClosed) -> ParseResult:
        """See SpanReader."""
        text, start = closed.inner_text, closed.span.inner.start
        if closed.call is not None:
            return ParseResult(calls=(closed.call,), complete=True)
        if not text.strip():
            return empty_call(closed, "a JSON object with a name and arguments")
        call = self._whole(text, start)
        is_whole = closed.span.inner.end < closed.span.range.end
        return self.read(text, start, is_whole=is_whole) if call is None else ParseResult(calls=(call,), complete=True)

    def _whole(self, text: str, start: int) -> ToolCall | None:
        """The single call of a payload without any fault, or None."""
        if self.wrappers or self.shapes is not None:
            return None
        if self.is_array:
            content = text.strip(_SPACE)
            if content[:1] == "[" and content[-1:] == "]":
                start += text.index("[") + 1
                text = content[1:-1]
            elif not self.is_row:
                return None
        frames = (_frames(self.keys.name, key) for key in (self.keys.arguments, *self.keys.also))
        calls = (read_whole_call(text, start, frame) for frame in frames)
        call = next((call for call in calls if call is not None), None)
        is_ambiguous = call is not None and isinstance(call.arguments, dict) and is_schema_like(call.arguments)
        return None if is_ambiguous else call

    def read(self, text: str, start: int, *, is_whole: bool = True) -> ParseResult:
        """The calls in `text`, which is not blank and begins at `start` in the whole text.

        `is_whole` says that a marker ends it, and not the payload itself.
        """
        keys, is_usual = self.keys, not self.wrappers and self.shapes is None
        is_native = is_usual and keys.name == NATIVE_KEYS.name and keys.arguments in KNOWN_ARGUMENT_KEYS
        reading = read_json(text, call=is_native, several_arrays=is_usual)
        faults = list(reading.faults)
        nodes = reading.nodes
        if self.wrappers:
            within = ([member.value for member in map(node.member, self.wrappers) if member] for node in nodes)
            nodes = tuple(inner for node, wrapped in zip(nodes, within, strict=True) for inner in wrapped or (node,))
        objects = [node for node in nodes if node.kind is JsonKind.OBJECT]
        requires_array = self.is_array and not self.is_row
        bare = {node.range for node in reading.nodes if node.kind is JsonKind.OBJECT} if requires_array else set()
        arrays = [node for node in nodes if node.items and all(item.kind is JsonKind.OBJECT for item in node.items)]
        if requires_array and objects:
            faults.append(bare_object(objects, is_whole=is_whole))
        for array in arrays:
            objects += array.items
            if not self.is_array:
                faults.append(array_of_calls(array, self.between))
        if self.is_array:
            faults += _seconds(text, arrays, _second_array, ", ", 1)
        elif not arrays and not self.is_row:
            faults += _seconds(text, objects, SECOND_CALL, self.between, 0)
        calls = [
            self._call(text, node, shape, reading, faults, alone=len(objects) == 1, fits=node.range not in bare)
            for node in objects
            for shape in ((shape_of(node, keys, text),) if self.shapes is None else self.shapes(node, text))
        ]
        if not calls:
            calls = [nameless_call(text)]
            if not any(fault.rule.severity is Severity.ERROR for fault in faults):
                faults.append(no_object(text, nodes))
        complete = bool(objects) and not any(fault.rule is rules.TRUNCATED_JSON for fault in faults)
        return ParseResult(calls=tuple(calls), faults=tuple(faults), complete=complete).moved(start)

    def _call(
        self,
        text: str,
        node: JsonNode,
        shape: CallShape,
        reading: JsonResult,
        faults: list[Fault],
        *,
        alone: bool,
        fits: bool,
    ) -> ToolCall:
        """A call of an object; `fits` says that the object is where the format expects it."""
        broken = [
            f for f in reading.faults if f.rule.severity is Severity.ERROR and (alone or node.range.covers(f.range))
        ]
        strict = reading.strict or (not alone and is_strict(text, node.range))
        readable = (
            shape.readable and all(fault.fix is not None for fault in broken) and (reading.repairable or not alone)
        )
        if shape.arguments is not None and not has_arguments(shape.arguments.value, text):
            readable = False
            faults[:] = [without_invention(fault, shape.arguments.value) for fault in faults]
        is_truncated = any(fault.rule is rules.TRUNCATED_JSON for fault in broken)
        if not is_truncated:
            faults += shape.faults
        valid = strict and shape.fits and fits
        name_range = shape.name.value.range if shape.name else None
        is_name_cut = is_truncated and name_range is not None and name_range.end >= len(text.rstrip())
        written = shape.arguments.value if shape.arguments else None
        raw = written.range.of(text) if written else ""
        arguments = shape.decoded if shape.decoded is not None else written.value() if written else {}
        return ToolCall(
            name=None if is_name_cut else _text_of(shape.name),
            arguments=arguments if valid or readable else raw or node.range.of(text),
            raw_arguments=raw if written or valid or readable else node.range.of(text),
            valid=valid,
            range=shape.range or node.range,
            id=_text_of(node.member(self.keys.id)) if self.has_ids else None,
            recovered=readable and not valid,
            name_range=name_range,
            arguments_range=written.range if written else None,
        )


def _text_of(member: JsonMember | None) -> str | None:
    scalar = member.value.scalar if member is not None else None
    return scalar if isinstance(scalar, str) else None


def no_object(text: str, nodes: tuple[JsonNode, ...]) -> Fault:
    """The fault of a payload without an object."""
    fault_range, kind = (nodes[0].range, nodes[0].kind.value) if nodes else (Range(0, len(text)), "text")
    is_empty = bool(nodes) and nodes[0].kind is JsonKind.ARRAY and not nodes[0].items
    what, expected = ("An empty array", "a call") if is_empty else (f"A JSON {kind}", "an object")
    return Fault(rules.NOT_A_CALL, fault_range, f"{what} is not a call: expected {expected} with a name and arguments.")


def bare_object(objects: list[JsonNode], *, is_whole: bool) -> Fault:
    """The fault of objects where the format requires an array of them; `is_whole` if a marker closes them."""
    first, last, count = objects[0].range, objects[-1].range, len(objects)
    gaps = (Edit(Range(left.range.end, right.range.start), ", ") for left, right in pairwise(objects))
    edits = (Edit(Range(first.start, first.start), "["), *gaps, Edit(Range(last.end, last.end), "]"))
    rule = rules.NOT_A_CALL if count == 1 else rules.SEVERAL_OBJECTS_IN_ONE_CALL
    what = "A bare object appears" if count == 1 else f"{count} bare objects appear"
    them = "it" if count == 1 else "them"
    return Fault(
        rule,
        Range(first.start, first.start + 1),
        f"{what} where an array of calls belongs; servers that expect the array reject {them}.",
        f"Put {them} in square brackets.",
        Fix(edits, safe=is_whole),
    )


def array_of_calls(array: JsonNode, between: str) -> Fault:
    """The fault of an array where one call belongs; `between` ends one call span and begins the next."""
    count = len(array.items)
    bracket_range = Range(array.range.start, array.range.start + 1)
    message = f"An array of {count} call{'s' * (count != 1)} appears where one call object belongs."
    if not between:
        return Fault(rules.SEVERAL_OBJECTS_IN_ONE_CALL, bracket_range, message)
    gaps = [Range(left.range.end, right.range.start) for left, right in pairwise(array.items)]
    edits = (
        Edit(Range(array.range.start, array.items[0].range.start), ""),
        *(Edit(gap, between) for gap in gaps),
        Edit(Range(array.items[-1].range.end, array.range.end), ""),
    )
    fix = Fix(edits, safe=True)
    return Fault(rules.SEVERAL_OBJECTS_IN_ONE_CALL, bracket_range, message, "Give each call a separate tag.", fix)


_second_array = FaultMessage(
    rules.SEVERAL_OBJECTS_IN_ONE_CALL,
    "A second array of calls appears after the first; servers read only the first, or fail on both.",
    "Put all calls into one array.",
    safe=True,
)
SECOND_CALL = FaultMessage(
    rules.SEVERAL_OBJECTS_IN_ONE_CALL,
    "A second call appears in the same tag; servers read only the first, the last or none.",
    "Give each call a separate tag.",
    safe=True,
)
"""The fault of a call within the markers of another."""


def _seconds(text: str, nodes: list[JsonNode], row: FaultMessage, between: str, inner: int) -> Iterator[Fault]:
    """The faults of all values after the first; `between` belongs between two, without `inner` characters of each."""
    for first, second in pairwise(nodes):
        gap = Range(first.range.end - inner, second.range.start + inner)
        is_repairable = between and (inner or len(gap.of(text).strip()) <= 1)
        yield row(text, second.range, edits=(Edit(gap, between),) if is_repairable else ())


_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_format = msgspec.json.format


@lru_cache(maxsize=32)
def _frames(name: str, arguments: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Expressions for a call whose name is first, and for one whose name is last.

    The groups are the object; the name and the arguments, in their order.
    """
    named = rf'"{re.escape(name)}"{_W}:{_W}{_PLAIN_STRING}{_W}'
    key = rf'"{re.escape(arguments)}"{_W}:{_W}'
    return (
        lazy_pattern(rf"{_W}(\{{{_W}{named},{_W}{key}(\{{.*\}}){_W}\}}){_W}", re.DOTALL),
        lazy_pattern(rf"{_W}(\{{{_W}{key}(\{{.*\}}){_W},{_W}{named}\}}){_W}", re.DOTALL),
    )


_USUAL_FRAMES = _frames("name", "arguments")


def read_whole_call(
    text: str, start: int, frames: tuple[re.Pattern[str], re.Pattern[str]] = _USUAL_FRAMES
) -> ToolCall | None:
    """The single call of a payload that begins at `start`, or None if anything at all is unusual.

    It accepts strict JSON objects that contain a name and arguments, an object, in either order, and nothing else.
    """
    name_first, name_last = frames
    match, name_group, raw_group = name_first.fullmatch(text), 2, 3
    if match is None:
        match, name_group, raw_group = name_last.fullmatch(text), 3, 2
        if match is None:
            return None
    name, raw = match[name_group], match[raw_group]
    arguments = strict_object(raw) if name else None
    if arguments is None:
        return None
    first, last = match.span(1)
    name_at, name_end = match.span(name_group)
    raw_at, raw_end = match.span(raw_group)
    return ToolCall(
        name,
        arguments,
        raw,
        valid=True,
        range=Range(start + first, start + last),
        name_range=Range(start + name_at - 1, start + name_end + 1),
        arguments_range=Range(start + raw_at, start + raw_end),
    )


def strict_object(raw: str) -> dict[str, Json] | None:
    """The decoded object, or None if it is not strict, is too deep, contains a key twice, or may be one of these.

    A value that a duplicate key hides is missing from the decoded object, and with it at least two quotes.
    """
    if "\\" in raw and "\\u0022" in raw:
        return None
    try:
        value = _decode(raw)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None
    encoded = _encode(value)
    if type(value) is not dict or encoded.count(b'"') != raw.count('"'):
        return None
    is_flat = len(raw) < 2 * (MAX_DEPTH - 1) or _NEARLY_TOO_DEEP not in _format(encoded, indent=1)
    return value if is_flat or is_shallow(value) else None
