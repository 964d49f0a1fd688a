"""`apertus`: `<|tools_prefix|>[{"name": {...}}]<|tools_suffix|>`: the tool's name is the key (Swiss AI's Apertus).

A deliberation is in `<|inner_prefix|>` and `<|inner_suffix|>`. In the family's template real calls are within it, each
followed by the array of its results, and the deliberation continues after them. So a call ends the reasoning before it
without a fault, and is not a draft. Sources: swiss-ai:Apertus-8B-Instruct-2509/chat_template.jinja,
sglang:test Apertus2509Detector, llama.cpp:tests/test-chat.cpp.
"""

from collections.abc import Iterator, Sequence

import msgspec

from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.formats.chat_turns import TURN_TRANSITIONS, role_tokens, turn_ends
from weaklink.inspector.formats.dialect import Enclosed
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.call_shape import ARGUMENT_KEYS, decoded_arguments, json_of
from weaklink.inspector.formats.json.calls import bare_object, no_object
from weaklink.inspector.formats.json.format import JsonMarkers, json_format
from weaklink.inspector.formats.span_readers import empty_call, nameless_call
from weaklink.inspector.json_scanner import JsonKind, JsonMember, JsonNode, JsonReading, is_strict, read_json
from weaklink.inspector.model import Json, SpanKind, ToolCall
from weaklink.inspector.rules import json_syntax as rules
from weaklink.inspector.rules.markers import NESTED_SPAN, STRAY_END_MARKER
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.segmenter.events import JSON, ParseResult, SpanClosed
from weaklink.inspector.segmenter.table import HERE, HOME, MarkerSplit, State, Transition, unmarked
from weaklink.inspector.text import Range

_OPENER, _CLOSER = "<|tools_prefix|>", "<|tools_suffix|>"
_INNER, _OUTER = "<|inner_prefix|>", "<|inner_suffix|>"
_SPEAKERS = ("system", "developer", "user", "assistant")
_HEADERS, _HEADER = role_tokens("<|", "_start|>", *_SPEAKERS)
_INTO_CALL = Transition(_OPENER, MarkerSplit.BEFORE, "inner call")
_NESTED = Transition(_INNER, MarkerSplit.NONE, HERE, NESTED_SPAN)
_ENDS = Transition(_OUTER, MarkerSplit.AFTER, HOME)
_CONTINUES = unmarked("deliberation")


def read_key_named_calls(closed: SpanClosed) -> ParseResult:
    """A SpanReader for call spans that should be an array of objects with one key each, the tool's name."""
    text, start = closed.inner_text, closed.span.inner.start
    if not text.strip():
        return empty_call(closed, "a JSON object with a name and arguments")
    reading = read_json(text)
    faults = list(reading.faults)
    bare = [node for node in reading.nodes if node.kind is JsonKind.OBJECT]
    if bare:
        faults.append(bare_object(bare, is_whole=True))
    arrays = [node for node in reading.nodes if node.kind is JsonKind.ARRAY]
    objects = [*bare, *(item for array in arrays for item in array.items if item.kind is JsonKind.OBJECT)]
    calls = [
        call
        for node in objects
        for call in _calls(text, node, reading, faults, is_alone=len(objects) == 1, is_bare=node in bare)
    ]
    if not calls:
        calls = [nameless_call(text)]
        if not any(fault.rule.severity is Severity.ERROR for fault in faults):
            faults.append(no_object(text, reading.nodes))
    complete = bool(objects) and not any(fault.rule is rules.TRUNCATED_JSON for fault in faults)
    return ParseResult(calls=tuple(calls), faults=tuple(faults), complete=complete).moved(start)


def _calls(
    text: str, node: JsonNode, reading: JsonReading, faults: list[Fault], *, is_alone: bool, is_bare: bool
) -> Iterator[ToolCall]:
    """The calls of one object, at least one; `is_alone` says that all faults of the payload belong to it."""
    broken = [
        fault
        for fault in reading.faults
        if fault.rule.severity is Severity.ERROR and (is_alone or node.range.covers(fault.range))
    ]
    is_readable = all(fault.fix is not None for fault in broken) and (reading.repairable or not is_alone)
    strict = (reading.strict or (not is_alone and is_strict(text, node.range))) and not is_bare
    name, arguments = node.member("name"), next(filter(None, map(node.member, ARGUMENT_KEYS)), None)
    if name is not None and isinstance(name.value.scalar, str) and name.value.scalar and arguments is not None:
        faults.append(_spelled_out(text, node, name, arguments))
        value = arguments.value.value() if is_readable else arguments.value.range.of(text)
        named = JsonMember(name.value.scalar, name.value.range, arguments.value)
        yield _call(text, node.range, named, value=value, valid=False, recovered=is_readable)
        return
    is_cut = any(fault.rule is rules.TRUNCATED_JSON for fault in broken)
    if not any(member.key for member in node.members):
        if not is_cut:
            message = "The call has no tool name: expected one key, the tool's name."
            faults.append(Fault(rules.NOT_A_CALL, node.range, message))
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


def _call(text: str, place: Range, member: JsonMember, *, value: Json, valid: bool, recovered: bool) -> ToolCall:
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
    """The call without its name, because the payload ends within the name."""
    return msgspec.structs.replace(call, name=None)


def _another(member: JsonMember) -> Fault:
    return Fault(
        rules.SEVERAL_OBJECTS_IN_ONE_CALL,
        member.key_range,
        "A second call appears in the same object; servers read only the first, or none.",
        "Give each call a separate object.",
    )


def _no_arguments(member: JsonMember) -> Fault:
    return Fault(
        rules.NOT_A_CALL,
        member.value.range,
        f"A JSON {member.value.kind.value} appears under the key; expected the object of the tool's arguments.",
    )


def _spelled_out(text: str, node: JsonNode, name: JsonMember, arguments: JsonMember) -> Fault:
    key, value = name.value.range.of(text), arguments.value.range.of(text)
    return Fault(
        rules.NOT_A_CALL,
        name.key_range,
        f"The call has `name` and `{arguments.key}`, as most formats do; here the name itself is the key.",
        "Use the name as the key of the arguments.",
        Fix((Edit(node.range, f"{{{key}: {value}}}"),), safe=True),
    )


_OWN_TURNS = (*_HEADERS, *turn_ends(*(f"<|{speaker}_end|>" for speaker in _SPEAKERS)))
_TURNS = (*TURN_TRANSITIONS, *_OWN_TURNS)

_STATES = (
    State(
        "deliberation",
        SpanKind.REASONING,
        (_ENDS, _NESTED, Transition(_OPENER, MarkerSplit.NONE, "deliberation before a call", width=0), *_TURNS),
        label="think",
        opener=_INNER,
        closer=_OUTER,
    ),
    State("deliberation before a call", SpanKind.REASONING, (_INTO_CALL,), label="think"),
    State(
        "inner call",
        SpanKind.TOOL_CALL,
        (Transition(_CLOSER, MarkerSplit.AFTER, "after inner call"), _INTO_CALL, *_TURNS),
        label="tool_call",
        closer=_CLOSER,
        payload=JSON,
    ),
    State(
        "after inner call",
        SpanKind.TEXT,
        (
            Transition(_OUTER, MarkerSplit.BEFORE, "marker"),
            _INTO_CALL,
            Transition("[", MarkerSplit.BEFORE, "inner result", width=0),
            *_TURNS,
        ),
        other=r"\S",
        other_transition=_CONTINUES,
    ),
    State(
        "inner result",
        SpanKind.TOOL_RESULT,
        (Transition(_OUTER, MarkerSplit.BEFORE, "marker"), _INTO_CALL, *_TURNS),
        label="tool_response",
        payload=JSON,
        then=unmarked("after inner call", MarkerSplit.AFTER),
    ),
)


def _write_calls(calls: Sequence[ToolCall]) -> str:
    written = (f"{{{json_of(call.name)}: {json_of(call.arguments)}}}" for call in calls)
    return f"{_OPENER}[{', '.join(written)}]{_CLOSER}"


APERTUS = json_format(
    name="apertus",
    summary='<|tools_prefix|>[{"name": {...}}]<|tools_suffix|>: the name is the key',
    models=("*apertus*",),
    markers=JsonMarkers(
        (Enclosed(_OPENER, _CLOSER),),
        reasoning=(),
        turns=(
            *_OWN_TURNS,
            Transition(_INNER, MarkerSplit.BEFORE, "deliberation"),
            Transition(_OUTER, MarkerSplit.BEFORE, "marker", STRAY_END_MARKER, closes="deliberation"),
        ),
        turn_states=(_HEADER, *_STATES),
    ),
    signs=DetectionPatterns(
        calls={r"<\|tools_prefix\|>": 0.97}, hints={r"<\|inner_prefix\|>|<\|assistant_start\|>": 0.9}
    ),
    reader=read_key_named_calls,
    write_calls=_write_calls,
)
