"""`mistral`: `[TOOL_CALLS]` before an array of calls, or before each call as `name[CALL_ID]id[ARGS]{...}`.

Calls have one opener and no closer; tokens surround everything else.

Tokenizers v2 to v7 write an array, v11 a name before the arguments with an id, v13 and later without an id. Ids are
nine letters or digits. Sources: mistral-common (protocol/instruct/validator.py, tokens/tokenizers/base.py and
instruct.py), the templates of Mistral Nemo, Small 3.2, Devstral and Ministral 3 (llama.cpp:models/templates),
vllm:tests/parser/mistral.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.formats.chat_turns import TURN_IS_OVER, TURN_STATES, TURN_TRANSITIONS, markup_state
from weaklink.inspector.formats.dialect import (
    BARE_HOMES,
    THINK_TAGS,
    Enclosed,
    ReasoningTag,
    Transitions,
    call_end,
    call_state,
    dialect_format,
    enclosed_state,
    inside,
    opening,
    text_state,
)
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.call_shape import is_json_call, json_of
from weaklink.inspector.formats.json.calls import JsonCallReader
from weaklink.inspector.formats.json.named_calls import LooseHeader, NamedCallReader
from weaklink.inspector.formats.span_readers import HeadedResultReader, ReasoningReader
from weaklink.inspector.json_scanner import JsonKind, read_json
from weaklink.inspector.model import SpanKind, ToolCall
from weaklink.inspector.rules.conversation import MALFORMED_CALL_ID
from weaklink.inspector.rules.json_syntax import TRUNCATED_JSON
from weaklink.inspector.rules.markers import WRONG_OPENER
from weaklink.inspector.segmenter.events import JSON, ParseResult, SpanClosed
from weaklink.inspector.segmenter.table import HERE, Lookahead, MarkerSplit, OneOf, Repeat, State, Transition, unmarked
from weaklink.inspector.text import Range, shown

OPENER = "[TOOL_CALLS]"
_RESULT = Enclosed("[TOOL_RESULTS]", "[/TOOL_RESULTS]")
_TOOLS = Enclosed("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]")
_END = "</s>"
_SPACE = Repeat(r"\s")
_NAME_MISTRAL_TABLE = Repeat(r"[A-Za-z0-9_.\-]", 1, 64)

_LOST_MARKER = Lookahead(
    OneOf(
        ("[", _SPACE, "{", _SPACE, ('"name"', '"arguments"', '"id"', '"function"')),
        (_NAME_MISTRAL_TABLE, ("[ARGS]", "[CALL_ID]", f"{OPENER}{{", f"{OPENER} {{")),
    )
)

_NEAR_OPENER = re.compile(
    r"""(?xi)
    \[ (?! (?-i:TOOL_CALLS)\] )                     # not the marker itself
    tool [ _-]{0,2} calls? [\] ]
    (?= \s? (?: [\w.\-]{1,64}\[(?-i:ARGS|CALL_ID)\]     # the call of later versions
              | \[\s{0,8}\{ ) )                         # the list of calls of earlier ones
    """
)
"""`[TOOL_CALLS]` misspelled, before a call: `[tool_calls] [{`, `[TOOL CALLS]get_weather[ARGS]`."""
_NAME = r"(?P<name>[A-Za-z0-9_.\-]++)"

_NAMED = NamedCallReader(
    header=re.compile(rf"\s*{_NAME}(?:\[CALL_ID\](?P<id>[A-Za-z0-9_\-]++))?\[ARGS\]"),
    expected="`NAME[ARGS]`, then the arguments",
    loose=(
        LooseHeader(re.compile(rf"\s*{_NAME}(?=\s*\{{)"), "it lacks `[ARGS]`"),
        LooseHeader(re.compile(rf"\s*{_NAME}\[TOOL_CALLS\](?=\s*\{{)"), ""),
    ),
)

_ARRAY = JsonCallReader(is_array=True, has_ids=True)
_NAME_ALONE = re.compile(rf"\s*{_NAME}(?:\[CALL_ID\](?P<id>[A-Za-z0-9_\-]++))?(?:\[ARGS\])?\s*")
_ID = re.compile(r"[a-zA-Z0-9]{9}")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.\-]+")
_HEADED_RESULT = HeadedResultReader(re.compile(r"\s*(?P<id>[A-Za-z0-9_\-]+)\[TOOL_CONTENT\]"), keeps_ends=True)
_OPENINGS = re.compile(r"\s*[\[{]")

_TURNS = (
    *(transition for transition in TURN_TRANSITIONS if transition.marker != _END),
    Transition(_END, MarkerSplit.BEFORE, "turn over", ahead=TURN_IS_OVER),
    opening("[INST]", "user begins"),
    opening("[/INST]", "user ends"),
    opening("[SYSTEM_PROMPT]", "user begins"),
    opening("[/SYSTEM_PROMPT]", "user ends"),
    opening(_TOOLS.opener, "tools offered"),
)


def _states(transitions: Transitions) -> Iterator[State]:
    # A call without its marker is recognized only at the beginning of the answer; elsewhere it is text.
    leaving = transitions.out_of_call
    lost = Transition(
        "(a call)", MarkerSplit.BEFORE, "lost marker", WRONG_OPENER, width=0, ahead=_LOST_MARKER, expects=OPENER
    )
    otherwise = unmarked("text", MarkerSplit.NONE)
    yield text_state("start", transitions.out_of_text, lost, otherwise=otherwise)
    ahead = (
        inside("[", "array", width=0, ahead=Lookahead(_SPACE, ("{", "]"))),
        *(inside("[ARGS]", "arguments"), inside("[CALL_ID]", HERE), inside("{", "arguments", width=0)),
    )
    named = (transition for transition in leaving if transition.marker != OPENER)
    yield call_state("call", (*ahead, *leaving), OPENER)
    yield call_state("lost marker", (*ahead, inside(OPENER, "call"), *named))
    for name in ("array", "arguments"):
        yield call_state(name, leaving, payload=JSON, then="call end")
    yield call_end("call end", "start")
    for name, target in (("turn over", "between turns"), ("user begins", "user words"), ("user ends", "start")):
        yield markup_state(name, "turn_header", target)
    into = (*transitions.calls, *transitions.reasoning, *transitions.results, *transitions.turns)
    yield text_state("between turns", into, unmarked("start", MarkerSplit.NONE))
    yield State("user words", SpanKind.TEXT, transitions.turns, by_model=False)
    turns = (transition for transition in transitions.turns if transition.marker != _TOOLS.opener)
    yield enclosed_state("tools offered", SpanKind.TOOL_DEFINITIONS, _TOOLS, turns, target="between turns")


def _read_calls(closed: SpanClosed) -> ParseResult:
    """See SpanReader."""
    reading = _read_any(closed)
    odd = [call for call in reading.calls if call.id is not None and not _ID.fullmatch(call.id)]
    if not odd:
        return reading
    return msgspec.structs.replace(reading, faults=(*reading.faults, *(_odd_id(closed, call) for call in odd)))


def _odd_id(closed: SpanClosed, call: ToolCall) -> Fault:
    """The fault of an id that mistral-common's validator refuses (protocol/instruct/validator.py)."""
    text, start = closed.inner_text, closed.span.inner.start
    written, arguments_range = call.id or "", call.arguments_range or Range(call.range.end, call.range.end)
    position = text.find(written, call.range.start - start, arguments_range.start - start) if written else -1
    position = (
        text.find(written, arguments_range.end - start, call.range.end - start)
        if written and position < 0
        else position
    )
    fault_range = Range(position, position + len(written)).moved(start) if position >= 0 else call.range
    message = f"The id {shown(written)} is not nine letters or digits; Mistral's own validation rejects such a call."
    return Fault(MALFORMED_CALL_ID, fault_range, message, "Give the call an id of nine letters or digits.")


def _read_any(closed: SpanClosed) -> ParseResult:
    text = closed.inner_text
    if _OPENINGS.match(text) or not text.strip():
        return _ARRAY(closed)
    alone = _NAME_ALONE.fullmatch(text)
    if alone is None:
        return _NAMED(closed)
    name_range = Range(*alone.span("name")).moved(closed.span.inner.start)
    whole = Range(name_range.start, name_range.start + len(text.strip()))
    call = ToolCall(alone["name"], "", "", valid=False, range=whole, id=alone["id"], name_range=name_range)
    message = f"The call ends before the arguments of `{call.name}`."
    if "[ARGS]" not in text:  # servers read the marker without arguments as a call, a name without it as content
        message = f"The call ends with the name `{call.name}`, before `[ARGS]` and the arguments."
    hint = "Raise the output token limit if the reply was cut off; a call without arguments ends with `[ARGS]{}`."
    fault = Fault(TRUNCATED_JSON, Range(whole.end - 1, whole.end), message, hint)
    return ParseResult(calls=(call,), faults=(fault,))


def _read_result(closed: SpanClosed) -> ParseResult:
    """See SpanReader. The result's id is before it (v11), or in an object around it (v3)."""
    parsed, text = _HEADED_RESULT(closed), closed.inner_text
    reading = read_json(text) if parsed.results[0].call_id is None and '"call_id"' in text else None
    node = reading.nodes[0] if reading is not None and reading.strict else None
    call_id = node.member("call_id") if node is not None and node.kind is JsonKind.OBJECT else None
    if call_id is None or not isinstance(call_id.value.scalar, str):
        return parsed
    result = msgspec.structs.replace(parsed.results[0], call_id=call_id.value.scalar, name=None)
    return msgspec.structs.replace(parsed, results=(result,))


def _write_calls(calls: Sequence[ToolCall]) -> str:
    """The calls as v11 and later write them: with an id if the call has one."""
    headers = (f"{OPENER}{call.name}{f'[CALL_ID]{call.id}' if call.id else ''}[ARGS]" for call in calls)
    return "".join(f"{header}{json_of(call.arguments)}" for header, call in zip(headers, calls, strict=True))


def _expresses(call: ToolCall) -> bool:
    is_named = call.name is not None and _TOOL_NAME.fullmatch(call.name) is not None
    return is_named and is_json_call(call) and (call.id is None or _ID.fullmatch(call.id) is not None)


MISTRAL = dialect_format(
    _read_calls,
    ReasoningReader((OPENER,)),
    name="mistral",
    summary="[TOOL_CALLS] before an array, or before NAME[ARGS]{...}",
    aliases=("mistral_v3", "mistral_v11", "mistral_v13"),
    models=(
        *("*mistral*", "*mixtral*", "*ministral*", "*magistral*", "*devstral*", "*codestral*", "*pixtral*"),
        *("*voxtral*", "*mathstral*"),
    ),
    signs=DetectionPatterns(
        calls={r"\[TOOL_CALLS\]": 0.95},
        hints={r"\[ARGS\]\s*\{": 0.8, r"\[TOOL_RESULTS\]|\[AVAILABLE_TOOLS\]|\[THINK\]": 0.7, r"\[/?INST\]": 0.5},
    ),
    calls=(opening(OPENER, "call"),),
    call_states=_states,
    results=(_RESULT,),
    reasoning=(ReasoningTag("think", "[THINK]", "[/THINK]"), *THINK_TAGS),
    has_common_turns=False,
    turns=_TURNS,
    special_tokens=("<s>", _END),
    turn_states=TURN_STATES,
    homes=BARE_HOMES,
    default_home="start",
    read_results=_read_result,
    write_calls=_write_calls,
    expresses=_expresses,
    ids=True,
    near_calls=((_NEAR_OPENER, OPENER),),
)
