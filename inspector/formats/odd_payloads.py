"""What payloads give that are not one call object: empty ones, values that are no call, calls in a row or an array."""

from itertools import pairwise

import msgspec

from inspector.diagnostics import Edit, Fault, Fix
from inspector.json_scanner import JsonKind, JsonNode
from inspector.model import ToolCall
from inspector.rules import call_shape
from inspector.rules import json_syntax as rules
from inspector.rules.markers import EMPTY_CALL
from inspector.segmenter.events import SpanClosed
from inspector.segmenter.readings import Reading
from inspector.text import Range


def empty_payload(closed: SpanClosed) -> Reading:
    """What a call span without any payload gives."""
    span = closed.span
    place = Range(span.range.start, span.inner.start) if span.inner.start > span.range.start else span.range
    faults = (
        Fault(
            EMPTY_CALL,
            span.range,
            "The call span is empty: the model opened a call and wrote none.",
            "Delete the empty span.",
            Fix((Edit(span.range, ""),), safe=False),
        ),
        Fault(rules.TRUNCATED_JSON, place, "No payload: expected a JSON object with a name and arguments."),
    )
    return Reading(calls=(ToolCall(None, "", "", valid=False, range=span.inner),), faults=faults)


def unreadable_payload(text: str) -> ToolCall:
    """The call of a payload in which nobody can read one."""
    content = text.strip()
    first = text.index(content)
    return ToolCall(None, content, content, valid=False, range=Range(first, first + len(content)))


def no_object(text: str, nodes: tuple[JsonNode, ...]) -> Fault:
    """The fault of a payload that holds no object."""
    place = nodes[0].range if nodes else Range(0, len(text))
    if nodes and nodes[0].kind is JsonKind.ARRAY and not nodes[0].items:
        return Fault(
            call_shape.NOT_A_CALL, place, "An empty array calls nothing: expected a call with a name and arguments."
        )
    kind = nodes[0].kind.value if nodes else "text"
    return Fault(
        call_shape.NOT_A_CALL, place, f"A JSON {kind} is no call: expected an object with a name and arguments."
    )


def moved_call(call: ToolCall, distance: int) -> ToolCall:
    """The call with all its places moved."""
    return msgspec.structs.replace(
        call,
        range=call.range.moved(distance),
        name_range=call.name_range.moved(distance) if call.name_range else None,
        arguments_range=call.arguments_range.moved(distance) if call.arguments_range else None,
    )


def bare_object(objects: list[JsonNode]) -> Fault:
    """The fault of objects that stand where the format wants an array of them."""
    first, last, count = objects[0].range, objects[-1].range, len(objects)
    gaps = (Edit(Range(one.range.end, two.range.start), ", ") for one, two in pairwise(objects))
    edits = (Edit(Range(first.start, first.start), "["), *gaps, Edit(Range(last.end, last.end), "]"))
    rule = call_shape.NOT_A_CALL if count == 1 else call_shape.SEVERAL_OBJECTS_IN_ONE_CALL
    what = "A bare object stands" if count == 1 else f"{count} bare objects stand"
    them = "it" if count == 1 else "them"
    return Fault(
        rule,
        Range(first.start, first.start + 1),
        f"{what} where an array of calls belongs; servers that expect the array refuse {them}.",
        f"Put {them} into square brackets.",
        Fix(edits, safe=True),
    )


def array_of_calls(array: JsonNode, between: str) -> Fault:
    """The fault of an array where one call belongs; `between` ends one call span and begins the next."""
    count = len(array.items)
    place = Range(array.range.start, array.range.start + 1)
    message = f"An array of {count} call{'s' * (count != 1)} stands where one call object belongs."
    if not between:
        return Fault(call_shape.SEVERAL_OBJECTS_IN_ONE_CALL, place, message)
    gaps = [Range(one.range.end, two.range.start) for one, two in pairwise(array.items)]
    edits = (
        Edit(Range(array.range.start, array.items[0].range.start), ""),
        *(Edit(gap, between) for gap in gaps),
        Edit(Range(array.items[-1].range.end, array.range.end), ""),
    )
    fix = Fix(edits, safe=True)
    return Fault(call_shape.SEVERAL_OBJECTS_IN_ONE_CALL, place, message, "Give each call a tag of its own.", fix)


def second_array(one: JsonNode, two: JsonNode) -> Fault:
    """The fault of an array of calls behind another where one belongs."""
    edits = (Edit(Range(one.range.end - 1, two.range.start + 1), ", "),)
    return Fault(
        call_shape.SEVERAL_OBJECTS_IN_ONE_CALL,
        two.range,
        "A second array of calls stands behind the first; servers read only the first, or fail on both.",
        "Put all calls into one array.",
        Fix(edits, safe=True),
    )


def second_object(text: str, one: JsonNode, two: JsonNode, between: str) -> Fault:
    """The fault of a call behind another in the same span; `between` ends one call span and begins the next."""
    gap = Range(one.range.end, two.range.start)
    fix = Fix((Edit(gap, between),), safe=True) if between and len(gap.of(text).strip()) <= 1 else None
    return Fault(
        call_shape.SEVERAL_OBJECTS_IN_ONE_CALL,
        two.range,
        "A second call stands in the same tag; servers read only the first, the last or none.",
        "Give each call a tag of its own.",
        fix,
    )
