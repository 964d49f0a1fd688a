"""`apertus`: `<|tools_prefix|>[{"name": {...}}]<|tools_suffix|>`: the tool's name is the key (Swiss AI's Apertus).

A deliberation stands in `<|inner_prefix|>` and `<|inner_suffix|>`. By the family's template real calls stand within it,
each followed by the array of its results, and the deliberation goes on behind them: so a call ends the reasoning before
it without a fault, and is no draft. Sources: swiss-ai:Apertus-8B-Instruct-2509/chat_template.jinja,
sglang:test Apertus2509Detector, llama.cpp:tests/test-chat.cpp.
"""

from collections.abc import Sequence

from inspector.formats.chat_turns import TURN_TRANSITIONS
from inspector.formats.dialect import Enclosed
from inspector.formats.format import Signs
from inspector.formats.json_dialects import JsonMarkers, json_format
from inspector.formats.key_named_call import read_key_named_calls
from inspector.formats.role_tokens import role_tokens, turn_ends
from inspector.formats.writing import json_of
from inspector.model import SpanKind, ToolCall
from inspector.rules.markers import NESTED_SPAN, STRAY_END_MARKER
from inspector.segmenter.payload import JSON
from inspector.segmenter.table import HERE, HOME, Cut, State, Transition

_OPENER, _CLOSER = "<|tools_prefix|>", "<|tools_suffix|>"
_INNER, _OUTER = "<|inner_prefix|>", "<|inner_suffix|>"
_SPEAKERS = ("system", "developer", "user", "assistant")
_HEADERS, _HEADER = role_tokens("<|", "_start|>", *_SPEAKERS)
_OWN_TURNS = (*_HEADERS, *turn_ends(*(f"<|{speaker}_end|>" for speaker in _SPEAKERS)))
_TURNS = (*TURN_TRANSITIONS, *_OWN_TURNS)
_INTO_CALL = Transition(_OPENER, Cut.BEFORE, "inner call")
_NESTED = Transition(_INNER, Cut.NOWHERE, HERE, NESTED_SPAN)
_ENDS = Transition(_OUTER, Cut.AFTER, HOME)
_GOES_ON = Transition("(anything else)", Cut.BEFORE, "deliberation", width=0)

_STATES = (
    State(
        "deliberation",
        SpanKind.REASONING,
        (_ENDS, _NESTED, Transition(_OPENER, Cut.NOWHERE, "deliberation before a call", width=0), *_TURNS),
        label="think",
        opener=_INNER,
        closer=_OUTER,
    ),
    State("deliberation before a call", SpanKind.REASONING, (_INTO_CALL,), label="think"),
    State(
        "inner call",
        SpanKind.TOOL_CALL,
        (Transition(_CLOSER, Cut.AFTER, "behind inner call"), _INTO_CALL, *_TURNS),
        label="tool_call",
        closer=_CLOSER,
        payload=JSON,
    ),
    State(
        "behind inner call",
        SpanKind.TEXT,
        (
            Transition(_OUTER, Cut.BEFORE, "marker"),
            _INTO_CALL,
            Transition("[", Cut.BEFORE, "inner result", width=0),
            *_TURNS,
        ),
        other=r"\S",
        other_goes=_GOES_ON,
    ),
    State(
        "inner result",
        SpanKind.TOOL_RESULT,
        (Transition(_OUTER, Cut.BEFORE, "marker"), _INTO_CALL, *_TURNS),
        label="tool_response",
        payload=JSON,
        then=Transition("(end of the results)", Cut.AFTER, "behind inner call", width=0),
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
            Transition(_INNER, Cut.BEFORE, "deliberation"),
            Transition(_OUTER, Cut.BEFORE, "marker", STRAY_END_MARKER, closes="deliberation"),
        ),
        turn_states=(_HEADER, *_STATES),
    ),
    signs=Signs(calls={r"<\|tools_prefix\|>": 0.97}, hints={r"<\|inner_prefix\|>|<\|assistant_start\|>": 0.9}),
    reader=read_key_named_calls,
    write_calls=_write_calls,
)
