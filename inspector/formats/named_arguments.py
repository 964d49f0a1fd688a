"""Reads the arguments of a call whose header named the tool: JSON that should be one object."""

import re
from itertools import pairwise

from inspector.diagnostics import Edit, Fault, Fix
from inspector.formats.call_shape import has_arguments, without_invention
from inspector.json_scanner import JsonKind, JsonNode, JsonReading, is_strict, read_json
from inspector.model import Json, ToolCall
from inspector.rules import call_shape as rules
from inspector.rules.rule import Severity
from inspector.segmenter.events import SpanClosed
from inspector.text import Range


def read_json_arguments(
    closed: SpanClosed, header: re.Match[str], place: Range
) -> tuple[tuple[ToolCall, ...], list[Fault]]:
    """The calls that a span's header makes with the JSON at `place` of its inner text: one an object, at least one.

    `header` is the match that has the groups `name` and, where the dialect has ids, `id`. Faults' places are in the
    inner text, calls' in the whole text.
    """
    reading = read_json(closed.inner_text[: place.end], place)
    faults = list(reading.faults)
    objects = [node for node in reading.nodes if node.kind is JsonKind.OBJECT]
    if len(objects) > 1:
        faults += (_second_object(two) for _, two in pairwise(objects))
        return tuple(
            _one_of_several(closed, header, node, reading, is_first=node is objects[0]) for node in objects
        ), faults
    if objects and not has_arguments(objects[0], closed.inner_text):
        told = [without_invention(fault, objects[0]) for fault in faults]
        return (named_call(closed, header, place, place.of(closed.inner_text), valid=False),), told
    if objects:
        value = objects[0].value() if reading.strict or reading.repairable else place.of(closed.inner_text)
        recovered = reading.repairable and not reading.strict
        return (named_call(closed, header, place, value, valid=reading.strict, recovered=recovered),), faults
    decoded = _decoded(reading)
    if decoded is not None:
        edit = Edit(reading.nodes[0].range, str(reading.nodes[0].scalar).strip() or "{}")
        message = "The arguments are a string that holds JSON; expected the object itself."
        fix = Fix((edit,), safe=True)
        fault = Fault(rules.ARGUMENTS_AS_STRING, place, message, "Remove the quotes and the backslashes.", fix)
        return (named_call(closed, header, place, decoded, valid=False, recovered=True),), [*faults, fault]
    if not any(fault.rule.severity is Severity.ERROR for fault in faults):
        faults.append(_no_object(place, reading))
    return (named_call(closed, header, place, place.of(closed.inner_text), valid=False),), faults


def named_call(
    closed: SpanClosed, header: re.Match[str], place: Range, value: Json, *, valid: bool, recovered: bool = False
) -> ToolCall:
    """The call of this header whose arguments stand at `place` of the span's inner text and mean `value`."""
    start = closed.span.inner.start
    name = Range(*header.span("name"))
    return ToolCall(
        header["name"],
        value,
        place.of(closed.inner_text),
        valid=valid,
        range=Range(name.start + start, max(name.end, place.end) + start),
        id=header["id"] if "id" in header.re.groupindex else None,
        recovered=recovered,
        name_range=name.moved(start),
        arguments_range=place.moved(start) if place else None,
    )


def _one_of_several(
    closed: SpanClosed, header: re.Match[str], node: JsonNode, reading: JsonReading, *, is_first: bool
) -> ToolCall:
    """The call of one object among several; it is valid where the object is strict by itself."""
    broken = [f for f in reading.faults if f.rule.severity is Severity.ERROR and node.range.covers(f.range)]
    valid = reading.strict or is_strict(closed.inner_text, node.range)
    readable = all(fault.fix is not None for fault in broken)
    value = node.value() if valid or readable else node.range.of(closed.inner_text)
    call = named_call(closed, header, node.range, value, valid=valid, recovered=readable and not valid)
    if is_first:
        return call
    place = node.range.moved(closed.span.inner.start)
    return ToolCall(
        call.name, call.arguments, call.raw_arguments, call.valid, place, None, call.recovered, arguments_range=place
    )


def _second_object(node: JsonNode) -> Fault:
    message = "A second object stands behind the arguments; servers read only the first, or none."
    return Fault(rules.SEVERAL_OBJECTS_IN_ONE_CALL, node.range, message, "Give each call a header of its own.")


def _decoded(reading: JsonReading) -> Json:
    """The object that arguments given as a string hold, None where they are something else."""
    if not reading.strict or not isinstance(reading.nodes[0].scalar, str):
        return None
    text = reading.nodes[0].scalar
    if not text.strip():
        return {}
    inner = read_json(text)
    return inner.nodes[0].value() if inner.strict and inner.nodes[0].kind is JsonKind.OBJECT else None


def _no_object(place: Range, reading: JsonReading) -> Fault:
    kind = reading.nodes[0].kind.value if reading.nodes else "text"
    return Fault(rules.NOT_A_CALL, place, f"The arguments are a JSON {kind}; expected an object.")
