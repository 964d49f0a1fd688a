"""Reads calls whose name is the key of their arguments: an array of objects `{"name": {...}}`, one for each call."""

from collections.abc import Iterator

import msgspec

from inspector.diagnostics import Edit, Fault, Fix
from inspector.formats.call_shape import ARGUMENT_KEYS, decoded_arguments
from inspector.formats.odd_payloads import bare_object, empty_payload, moved_call, no_object, unreadable_payload
from inspector.json_scanner import JsonKind, JsonNode, JsonReading, Member, is_strict, read_json
from inspector.model import Json, ToolCall
from inspector.rules import call_shape
from inspector.rules import json_syntax as rules
from inspector.rules.rule import Severity
from inspector.segmenter.events import SpanClosed
from inspector.segmenter.readings import Reading
from inspector.text import Range


def read_key_named_calls(closed: SpanClosed) -> Reading:
    """A SpanReader for call spans whose inner text should be an array of objects with one key each, the tool's name."""
    text, start = closed.inner_text, closed.span.inner.start
    if not text.strip():
        return empty_payload(closed)
    reading = read_json(text)
    faults = list(reading.faults)
    bare = [node for node in reading.nodes if node.kind is JsonKind.OBJECT]
    if bare:
        faults.append(bare_object(bare))
    arrays = [node for node in reading.nodes if node.kind is JsonKind.ARRAY]
    objects = [*bare, *(item for array in arrays for item in array.items if item.kind is JsonKind.OBJECT)]
    calls = [
        call
        for node in objects
        for call in _calls(text, node, reading, faults, is_alone=len(objects) == 1, is_bare=node in bare)
    ]
    if not calls:
        calls = [unreadable_payload(text)]
        if not any(fault.rule.severity is Severity.ERROR for fault in faults):
            faults.append(no_object(text, reading.nodes))
    return Reading(
        calls=tuple(moved_call(call, start) for call in calls),
        faults=tuple(fault.moved(start) for fault in sorted(faults, key=lambda fault: fault.range)),
        complete=bool(objects) and not any(fault.rule is rules.TRUNCATED_JSON for fault in faults),
    )


def _calls(
    text: str, node: JsonNode, reading: JsonReading, faults: list[Fault], *, is_alone: bool, is_bare: bool
) -> Iterator[ToolCall]:
    """The calls of one object, at least one; `is_alone` says that every fault of the payload concerns it."""
    broken = [
        one
        for one in reading.faults
        if one.rule.severity is Severity.ERROR and (is_alone or node.range.covers(one.range))
    ]
    is_readable = all(one.fix is not None for one in broken) and (reading.repairable or not is_alone)
    strict = (reading.strict or (not is_alone and is_strict(text, node.range))) and not is_bare
    name, arguments = node.member("name"), next(filter(None, map(node.member, ARGUMENT_KEYS)), None)
    if name is not None and isinstance(name.value.scalar, str) and name.value.scalar and arguments is not None:
        faults.append(_spelled_out(text, node, name, arguments))
        value = arguments.value.value() if is_readable else arguments.value.range.of(text)
        named = Member(name.value.scalar, name.value.range, arguments.value)
        yield _call(text, node.range, named, value=value, valid=False, recovered=is_readable)
        return
    is_cut = any(one.rule is rules.TRUNCATED_JSON for one in broken)
    if not any(member.key for member in node.members):
        if not is_cut:
            message = "No tool is named: expected one key, the tool's name."
            faults.append(Fault(call_shape.NOT_A_CALL, node.range, message))
        raw = node.range.of(text)
        yield ToolCall(None, raw, raw, valid=False, range=node.range)
        return
    faults += map(_another, node.members[1:])
    for member in node.members:
        decoded, as_string = decoded_arguments(member)
        if as_string is not None:
            faults.append(as_string)
        place = node.range if len(node.members) == 1 else Range(member.key_range.start, member.value.range.end)
        is_call = bool(member.key) and (decoded is not None or member.value.kind is JsonKind.OBJECT)
        if not is_call and not is_cut:
            faults.append(_no_arguments(member))
        valid = strict and as_string is None and is_call and place == node.range
        is_recovered = is_readable and is_call and not valid
        value = decoded if as_string is not None else member.value.value()
        if not (valid or is_recovered):
            value = member.value.range.of(text)
        call = _call(text, place, member, value=value, valid=valid, recovered=is_recovered)
        yield _nameless(call) if is_cut and member.key_range.end >= len(text.rstrip()) else call


def _call(text: str, place: Range, member: Member, *, value: Json, valid: bool, recovered: bool) -> ToolCall:
    """The call at `place` whose name is the member's key."""
    return ToolCall(
        member.key or None,
        value,
        member.value.range.of(text),
        valid=valid,
        range=place,
        recovered=recovered,
        name_range=member.key_range,
        arguments_range=member.value.range,
    )


def _nameless(call: ToolCall) -> ToolCall:
    """The call, whose payload ends within the tool's name, so that nobody knows it."""
    return msgspec.structs.replace(call, name=None)


def _another(member: Member) -> Fault:
    return Fault(
        call_shape.SEVERAL_OBJECTS_IN_ONE_CALL,
        member.key_range,
        "A second call stands in the same object; servers read only the first, or none.",
        "Give each call an object of its own.",
    )


def _no_arguments(member: Member) -> Fault:
    return Fault(
        call_shape.NOT_A_CALL,
        member.value.range,
        f"A JSON {member.value.kind.value} stands under the key; expected the object of the tool's arguments.",
    )


def _spelled_out(text: str, node: JsonNode, name: Member, arguments: Member) -> Fault:
    key, value = name.value.range.of(text), arguments.value.range.of(text)
    return Fault(
        call_shape.NOT_A_CALL,
        name.key_range,
        f"The call has `name` and `{arguments.key}`, as most formats do; here the name itself is the key.",
        "Make the name the key of the arguments.",
        Fix((Edit(node.range, f"{{{key}: {value}}}"),), safe=True),
    )
