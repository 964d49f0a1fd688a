"""Reads the arguments of a call that stand as JSON where its dialect has a tag for each parameter.

The tag around names the tool, so the JSON is the object of arguments, or whole calls as other families write them.
"""

import re

import msgspec

from inspector.diagnostics import Fault
from inspector.formats.call_shape import NATIVE_KEYS, shape_of
from inspector.formats.json_call import JsonCallReader
from inspector.formats.xml_syntax import XmlSyntax
from inspector.formats.xml_walk import Flaw, FoundCall, Walk
from inspector.json_scanner import JsonKind, JsonNode, read_json
from inspector.model import ToolCall
from inspector.rules import call_shape
from inspector.rules import json_syntax as rules
from inspector.segmenter.readings import Reading
from inspector.text import Range

_BEGINS = re.compile(r"(?:```\w*\s*)?[{\[]")


def read_json_arguments(text: str, walked: Walk, syntax: XmlSyntax) -> Reading | None:
    """The calls of a tag that holds JSON and no parameter; None where it holds anything else."""
    place = _only_json(text, walked)
    if place is None:
        return None
    first = next(iter(read_json(text, place).nodes), None)
    if first is None:
        return None
    if first.kind is JsonKind.OBJECT and shape_of(first, NATIVE_KEYS, text).name is None:
        reading = _bare_arguments(text, place, first, walked.calls[0])
    else:
        reading = JsonCallReader().read(place.of(text), place.start)
    if reading is None or not any(call.name for call in reading.calls):
        return None
    calls = tuple(
        msgspec.structs.replace(call, valid=False, recovered=call.valid or call.recovered) for call in reading.calls
    )
    faults = (_not_in_tags(place, syntax), *reading.faults)
    return Reading(calls=calls, faults=faults, complete=reading.complete and not walked.open_call)


def _only_json(text: str, walked: Walk) -> Range | None:
    """Where the JSON stands that is all a single call holds."""
    if len(walked.calls) != 1 or walked.calls[0].parameters or len(walked.flaws) != 1:
        return None
    flawed = walked.flaws[0]
    is_json = flawed.flaw is Flaw.STRAY_TEXT and _BEGINS.match(text, flawed.range.start) is not None
    return flawed.range if is_json else None


def _bare_arguments(text: str, place: Range, node: JsonNode, named: FoundCall) -> Reading | None:
    """The call whose parameters are the members of one object."""
    reading = read_json(text, place)
    if len(reading.nodes) != 1:
        return None
    readable = reading.strict or reading.repairable
    raw = node.range.of(text)
    call = ToolCall(
        named.name,
        node.value() if readable else raw,
        raw,
        valid=False,
        range=Range(named.start, named.end),
        recovered=readable,
        name_range=named.name_range,
        arguments_range=node.range,
    )
    complete = not any(fault.rule is rules.TRUNCATED_JSON for fault in reading.faults)
    return Reading(calls=(call,), faults=reading.faults, complete=complete)


def _not_in_tags(place: Range, syntax: XmlSyntax) -> Fault:
    return Fault(
        call_shape.MALFORMED_PARAMETERS,
        Range(place.start, place.start + 1),
        f"The arguments are written as JSON; this format writes each parameter in a tag, `{syntax.shown_parameter}`.",
    )
