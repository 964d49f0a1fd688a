"""`apertus`: `<|tools_prefix|>[{"name": {...}}]<|tools_suffix|>`: the tool's name is the key (Swiss AI's Apertus).

A deliberation is in `<|inner_prefix|>` and `<|inner_suffix|>`. In the family's template real calls are within it, each
followed by the array of its results, and the deliberation continues after them. So a call ends the reasoning before it
without a fault, and is not a draft. Sources: swiss-ai:Apertus-8B-Instruct-2509/chat_template.jinja,
sglang:test Apertus2509Detector, llama.cpp:tests/test-chat.cpp.
"""

from collections.abc import Iterator

from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.formats.chat_turns import TURN_TRANSITIONS, role_tokens, turn_ends
from weaklink.inspector.formats.dialect import Enclosed, call_state, closing, inside, opening, text_state
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.call_shape import ARGUMENT_KEYS, CallShape, decoded_arguments, json_of
from weaklink.inspector.formats.json.calls import JsonCallReader
from weaklink.inspector.formats.json.format import json_format
from weaklink.inspector.json_scanner import JsonKind, JsonMember, JsonNode
from weaklink.inspector.json_scanner.messages import FaultMessage
from weaklink.inspector.model import SpanKind, ToolCall
from weaklink.inspector.rules.json_syntax import NOT_A_CALL, SEVERAL_OBJECTS_IN_ONE_CALL
from weaklink.inspector.rules.markers import NESTED_SPAN, STRAY_END_MARKER
from weaklink.inspector.segmenter.events import JSON
from weaklink.inspector.segmenter.table import HERE, MarkerSplit, State, Transition, unmarked
from weaklink.inspector.text import Range

_OPENER, _CLOSER = "<|tools_prefix|>", "<|tools_suffix|>"
_INNER, _OUTER = "<|inner_prefix|>", "<|inner_suffix|>"
_SPEAKERS = ("system", "developer", "user", "assistant")
_HEADERS, _HEADER = role_tokens("<|", "_start|>", *_SPEAKERS)
_INTO_CALL = opening(_OPENER, "inner call")
_NESTED = Transition(_INNER, MarkerSplit.NONE, HERE, NESTED_SPAN)

_ANOTHER = FaultMessage(
    SEVERAL_OBJECTS_IN_ONE_CALL,
    "A second call appears in the same object; servers read only the first, or none.",
    "Give each call a separate object.",
)
_NO_ARGUMENTS = FaultMessage(
    NOT_A_CALL, "A JSON {value} appears under the key; expected the object of the tool's arguments."
)


def _key_named_calls(node: JsonNode, text: str) -> Iterator[CallShape]:
    """The calls of an object in which each key is a tool's name, or as most formats write them; at least one."""
    name, arguments = node.member("name"), next(filter(None, map(node.member, ARGUMENT_KEYS)), None)
    if name is not None and isinstance(name.value.scalar, str) and name.value.scalar and arguments is not None:
        fault = _spelled_out(text, node, name, arguments)
        yield CallShape(name, arguments, None, fits=False, readable=True, faults=(fault,))
        return
    if not any(member.key for member in node.members):
        fault = Fault(NOT_A_CALL, node.range, "The call has no tool name: expected one key, the tool's name.")
        yield CallShape(None, None, None, fits=False, readable=False, faults=(fault,))
        return
    for member in node.members:
        decoded, as_string = decoded_arguments(member.value, f"`{member.key}` is")
        is_call = bool(member.key) and (decoded is not None or member.value.kind is JsonKind.OBJECT)
        faults = [] if is_call else [_NO_ARGUMENTS(text, member.value.range, member.value.kind.value)]
        faults += [as_string] if as_string is not None else []
        faults += [_ANOTHER(text, member.key_range)] if member is not node.members[0] else []
        call_range = None if len(node.members) == 1 else Range(member.key_range.start, member.value.range.end)
        fits = is_call and as_string is None and call_range is None
        named = JsonMember("", member.key_range, JsonNode(JsonKind.STRING, member.key_range, member.key))
        named_or_none = named if member.key else None
        yield CallShape(named_or_none, member, decoded, fits, is_call, tuple(faults), call_range)


def _spelled_out(text: str, node: JsonNode, name: JsonMember, arguments: JsonMember) -> Fault:
    key, value = name.value.range.of(text), arguments.value.range.of(text)
    return Fault(
        NOT_A_CALL,
        name.key_range,
        f"The call has `name` and `{arguments.key}`, as most formats do; here the name itself is the key.",
        "Use the name as the key of the arguments.",
        Fix((Edit(node.range, f"{{{key}: {value}}}"),), safe=True),
    )


_OWN_TURNS = (*_HEADERS, *turn_ends(*(f"<|{speaker}_end|>" for speaker in _SPEAKERS)))
_TURNS = (*TURN_TRANSITIONS, *_OWN_TURNS)

_BEFORE_CALL = inside(_OPENER, "deliberation before a call", width=0)
_LEAVING = (opening(_OUTER, "marker"), _INTO_CALL, *_TURNS)
_INTO_RESULT = Transition("[", MarkerSplit.BEFORE, "inner result", width=0)
_CALL_ENDS = unmarked("after inner call", MarkerSplit.AFTER)
_STATES = (
    State(
        "deliberation", SpanKind.REASONING, (closing(_OUTER), _NESTED, _BEFORE_CALL, *_TURNS), "think", _INNER, _OUTER
    ),
    State("deliberation before a call", SpanKind.REASONING, (_INTO_CALL,), label="think"),
    call_state("inner call", (closing(_CLOSER, "after inner call"), _INTO_CALL, *_TURNS), closer=_CLOSER, payload=JSON),
    text_state("after inner call", (*_LEAVING, _INTO_RESULT), unmarked("deliberation")),
    State("inner result", SpanKind.TOOL_RESULT, _LEAVING, "tool_response", payload=JSON, then=_CALL_ENDS),
)


def _write_call(call: ToolCall) -> str:
    return f"{{{json_of(call.name)}: {json_of(call.arguments)}}}"


APERTUS = json_format(
    name="apertus",
    summary='<|tools_prefix|>[{"name": {...}}]<|tools_suffix|>: the name is the key',
    models=("*apertus*",),
    calls=(Enclosed(_OPENER, _CLOSER),),
    reasoning=(),
    turns=(
        *_OWN_TURNS,
        opening(_INNER, "deliberation"),
        Transition(_OUTER, MarkerSplit.BEFORE, "marker", STRAY_END_MARKER, closes="deliberation"),
    ),
    turn_states=(_HEADER, *_STATES),
    signs=DetectionPatterns(
        calls={r"<\|tools_prefix\|>": 0.97}, hints={r"<\|inner_prefix\|>|<\|assistant_start\|>": 0.9}
    ),
    reader=JsonCallReader(is_array=True, shapes=_key_named_calls),
    write_calls=lambda calls: f"{_OPENER}[{', '.join(map(_write_call, calls))}]{_CLOSER}",
)
