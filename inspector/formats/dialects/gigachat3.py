"""`gigachat3`: a message `function call` after the text, its body one JSON object (Sber's GigaChat 3).

Sources: vllm:vllm/tool_parsers/gigachat3_tool_parser.py and its test, sglang's gigachat3 detector. The text before the
call ends with `<|message_sep|>`. GigaChat 3.1 writes one token, `<|function_call|>`, before the object. If decoding
lost the role's separator, `function call{` is read anyway.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from weaklink.inspector.formats.chat_turns import TURN_IS_OVER, TURN_STATES, markup_state
from weaklink.inspector.formats.dialect import Transitions, call_end, call_state, closing, dialect_format, opening
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.call_shape import call_object, is_call_without_id
from weaklink.inspector.formats.json.calls import JsonCallReader
from weaklink.inspector.formats.span_readers import ReasoningReader
from weaklink.inspector.model import SpanKind
from weaklink.inspector.rules.markers import INVENTED_RESULT, MALFORMED_HEADER
from weaklink.inspector.segmenter.events import JSON
from weaklink.inspector.segmenter.table import ROLE, Lookahead, MarkerSplit, Repeat, State, Transition, Unless

_END = "<|message_sep|>"
_CALL = "function call<|role_sep|>"
_CALL_TOKEN = "<|function_call|>"
_RESULT = "function result<|role_sep|>"
_SEPARATOR = "`<|role_sep|>` and a line's end after `function call`"
_OBJECT = Lookahead(Repeat(r"[ \n]"), "{", Repeat(r"[ \n]"), ('"name"', '"arguments"'))
_ROLES = ("system", "user", "assistant", "developer system")
_SPEAKERS = tuple(Transition(f"{role}<|role_sep|>\n", MarkerSplit.BEFORE, "speaker", width=0) for role in _ROLES)
_HEADER_FOLLOWS = Lookahead(Repeat(r"\s"), (*(f"{role}<|role_sep|>" for role in _ROLES), "function ", "<"))
_TURNS = (
    opening(_END, "ended"),
    Transition("<s>", MarkerSplit.BEFORE, "ended", ahead=_HEADER_FOLLOWS),
    Transition("</s>", MarkerSplit.BEFORE, "ended", ahead=TURN_IS_OVER),
)
_BARE = Transition("function call", MarkerSplit.BEFORE, "call", MALFORMED_HEADER, ahead=_OBJECT, expects=_SEPARATOR)
_CUT = tuple(
    Transition(_CALL[:end], MarkerSplit.BEFORE, "cut header", ahead=Lookahead(Unless(r"[\s\S]")))
    for end in range(3, len(_CALL))
    if _CALL[:end] != _BARE.marker
)
"""The beginning of a call's role where the stream ends."""
_RESULTS = Transition(_RESULT, MarkerSplit.BEFORE, "result")


def _states(transitions: Transitions) -> Iterator[State]:
    cuts = (opening(_CALL, "call"), opening(_CALL_TOKEN, "call"), *transitions.turns)
    yield call_state("call", cuts, _CALL, payload=JSON, then="call end")
    yield call_end("call end", "text", r"[^\s\]}]", (*cuts, _BARE))
    bare = replace(_BARE, otherwise=replace(_CUT[0], marker=_BARE.marker, taken=0))
    ended = (
        opening(_CALL, "call"),
        opening(_CALL_TOKEN, "call"),
        bare,
        *_CUT,
        _RESULTS,
        *_SPEAKERS,
        *transitions.turns,
    )
    yield State("cut header", SpanKind.MARKUP, transitions.turns, "turn_header", unfinished="<|role_sep|>")
    yield markup_state("ended", "section", "text", r"\S", ended)
    yield State("speaker", SpanKind.MARKUP, (closing("<|role_sep|>\n", ROLE),), "turn_header")
    yield State("result", SpanKind.TOOL_RESULT, transitions.turns, "tool_response", _RESULT)


_INVENTED = Transition(_RESULT, MarkerSplit.BEFORE, "result", INVENTED_RESULT)
GIGACHAT3 = dialect_format(
    JsonCallReader(),
    ReasoningReader((_CALL, _CALL_TOKEN)),
    name="gigachat3",
    summary="GigaChat 3: a message `function call` with one JSON object",
    aliases=("gigachat",),
    models=("*gigachat3*", "*gigachat-3*", "*gigachat*"),
    signs=DetectionPatterns(
        calls={r"<\|function_call\|>\s*\{": 0.95, r"function call(?:<\|role_sep\|>\n)\s*\{": 0.97},
        hints={r"<\|message_sep\|>": 0.8},
    ),
    calls=(opening(_CALL, "call"), opening(_CALL_TOKEN, "call"), _BARE, _INVENTED),
    call_states=_states,
    has_common_turns=False,
    turns=_TURNS,
    special_tokens=("<s>", "</s>"),
    turn_states=TURN_STATES,
    write_calls=lambda calls: "".join(f"{_END}\n\n{_CALL}\n{call_object(call)}" for call in calls),
    near_calls=((re.compile(r"\bfunc\w{0,8}[ _]?\w{0,8}<([|｜‖¦│∣]{1,3})role_sep\1>(?=\s{0,8}\{)"), _CALL),),
    expresses=is_call_without_id,
)
