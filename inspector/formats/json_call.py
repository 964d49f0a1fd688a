"""Reads a payload that is a JSON object with a name and arguments: the body of a call in most dialects.

The good case goes a short way (`strict_call`); the long one is over the scanner's nodes.
"""

from dataclasses import dataclass
from itertools import pairwise

from inspector.diagnostics import Fault
from inspector.formats.call_shape import (
    NATIVE_KEYS,
    CallKeys,
    CallShape,
    has_arguments,
    is_schema_like,
    shape_of,
    without_invention,
)
from inspector.formats.odd_payloads import (
    array_of_calls,
    bare_object,
    empty_payload,
    moved_call,
    no_object,
    second_array,
    second_object,
    unreadable_payload,
)
from inspector.formats.strict_call import read_framed_call
from inspector.json_scanner import JsonKind, JsonNode, JsonReading, Member, is_strict, read_json
from inspector.model import Json, ToolCall
from inspector.rules import json_syntax as rules
from inspector.rules.rule import Severity
from inspector.segmenter.events import SpanClosed
from inspector.segmenter.readings import Reading

_SPACE = " \t\n\r"


@dataclass(frozen=True, slots=True)
class JsonCallReader:
    """A SpanReader for call spans whose inner text should be one JSON object with a name and arguments.

    `keys` are the format's own; `between` is the text that ends one call span and begins the next. `is_array` says that
    an array of such objects is the format's own way, `is_row` that objects one behind the other are; with both, a bare
    object is as good as an array. `has_ids` says that the calls bear ids.
    """

    keys: CallKeys = NATIVE_KEYS
    between: str = ""
    is_array: bool = False
    is_row: bool = False
    has_ids: bool = False
    wrappers: tuple[str, ...] = ()

    def __call__(self, closed: SpanClosed) -> Reading:
        """See SpanReader."""
        text, start = closed.inner_text, closed.span.inner.start
        if closed.call is not None:
            return Reading(calls=(closed.call,), complete=True)
        if not text.strip():
            return empty_payload(closed)
        call = self._whole(text, start)
        return self.read(text, start) if call is None else Reading(calls=(call,), complete=True)

    def _whole(self, text: str, start: int) -> ToolCall | None:
        """The one call of a payload in perfect order, or None."""
        if self.wrappers:
            return None
        if self.is_array:
            content = text.strip(_SPACE)
            if content[:1] == "[" and content[-1:] == "]":
                start += text.index("[") + 1
                text = content[1:-1]
            elif not self.is_row:
                return None
        calls = (read_framed_call(text, start, self.keys.name, key) for key in (self.keys.arguments, *self.keys.also))
        call = next((call for call in calls if call is not None), None)
        is_doubtful = call is not None and isinstance(call.arguments, dict) and is_schema_like(call.arguments)
        return None if is_doubtful else call

    def read(self, text: str, start: int) -> Reading:
        """The calls in `text`, which is not blank and begins at `start` in the whole text."""
        is_native = self.keys.name == NATIVE_KEYS.name and not self.wrappers
        reading = read_json(text, call=is_native, several_arrays=not self.wrappers)
        faults = list(reading.faults)
        nodes = reading.nodes
        if self.wrappers:
            nodes = tuple(inner for node in nodes for inner in self._unwrapped(node))
        objects = [node for node in nodes if node.kind is JsonKind.OBJECT]
        wants_array = self.is_array and not self.is_row
        bare = {node.range for node in reading.nodes if node.kind is JsonKind.OBJECT} if wants_array else set()
        arrays = [node for node in nodes if node.kind is JsonKind.ARRAY and _holds_objects(node)]
        if wants_array and objects:
            faults.append(bare_object(objects))
        for array in arrays:
            objects += array.items
            if not self.is_array:
                faults.append(array_of_calls(array, self.between))
        if self.is_array:
            faults += (second_array(one, two) for one, two in pairwise(arrays))
        elif not arrays and not self.is_row:
            faults += (second_object(text, one, two, self.between) for one, two in pairwise(objects))
        calls = [
            self._call(text, node, reading, faults, alone=len(objects) == 1, fits=node.range not in bare)
            for node in objects
        ]
        if not calls:
            calls = [unreadable_payload(text)]
            if not any(fault.rule.severity is Severity.ERROR for fault in faults):
                faults.append(no_object(text, nodes))
        complete = bool(objects) and not any(fault.rule is rules.TRUNCATED_JSON for fault in faults)
        return Reading(
            calls=tuple(moved_call(call, start) for call in calls),
            faults=tuple(fault.moved(start) for fault in sorted(faults, key=lambda fault: fault.range)),
            complete=complete,
        )

    def _unwrapped(self, node: JsonNode) -> tuple[JsonNode, ...]:
        return tuple(m.value for m in map(node.member, self.wrappers) if m is not None) or (node,)

    def _call(
        self, text: str, node: JsonNode, reading: JsonReading, faults: list[Fault], *, alone: bool, fits: bool
    ) -> ToolCall:
        """The call of an object; `fits` says that it stands where it belongs."""
        shape = shape_of(node, self.keys, text)
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
        if not any(fault.rule is rules.TRUNCATED_JSON for fault in broken):
            faults += shape.faults
        valid = strict and shape.fits and fits
        raw = shape.arguments.value.range.of(text) if shape.arguments else ""
        return ToolCall(
            name=None if _is_name_cut(shape, text, broken) else _name(shape),
            arguments=_arguments(shape) if valid or readable else raw or node.range.of(text),
            raw_arguments=raw if shape.arguments or valid or readable else node.range.of(text),
            valid=valid,
            range=node.range,
            id=_id(node.member(self.keys.id)) if self.has_ids else None,
            recovered=readable and not valid,
            name_range=shape.name.value.range if shape.name else None,
            arguments_range=shape.arguments.value.range if shape.arguments else None,
        )


def _id(member: Member | None) -> str | None:
    scalar = member.value.scalar if member is not None else None
    return scalar if isinstance(scalar, str) else None


def _holds_objects(array: JsonNode) -> bool:
    return bool(array.items) and all(item.kind is JsonKind.OBJECT for item in array.items)


def _is_name_cut(shape: CallShape, text: str, broken: list[Fault]) -> bool:
    """Whether the payload ends within the tool's name, so that nobody knows it."""
    at_end = shape.name is not None and shape.name.value.range.end >= len(text.rstrip())
    return at_end and any(fault.rule is rules.TRUNCATED_JSON for fault in broken)


def _name(shape: CallShape) -> str | None:
    scalar = shape.name.value.scalar if shape.name else None
    return scalar if isinstance(scalar, str) else None


def _arguments(shape: CallShape) -> Json:
    if shape.arguments is None:
        return {}
    return shape.arguments.value.value() if shape.decoded is None else shape.decoded
