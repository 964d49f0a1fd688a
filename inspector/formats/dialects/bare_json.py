"""Dialects whose whole reply is JSON.

`json_schema` and `xlam`: the reply is JSON, an array of calls or one call, without markers.

xLAM (Salesforce) also writes it fenced, after `[TOOL_CALLS]` or in `<tool_call>` tags.

`json_schema`: Servers force a model to answer like this if a call, or one particular tool, is required
(vllm:tests/tool_use/test_tool_choice_required.py, sglang:srt/function_call/json_array_parser.py); both spellings of the
arguments' key are used there. A JSON value of another shape is an answer that follows a schema and stays text. A fence
around the calls is a fault: servers that parse the whole reply refuse it (llama.cpp strips it).

`xlam`: The family itself writes all of these, usually the bare array; reasoning may come before it. Source:
vllm:tests/tool_parsers/test_xlam_tool_parser.py.

`generic_json`: `{"tool_call": {...}}`, `{"tool_calls": [...]}` or `{"response": "..."}`, the whole reply.

llama.cpp makes models answer like this if their chat template does not support tools. If calls may be parallel they
have ids. The string of `response` is the reply's content. Source: llama.cpp:common/chat.cpp (the generic format) and
llama.cpp:tests/test-chat.cpp.
"""

import re
from collections.abc import Sequence

from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.formats.dialect import Enclosed
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.call_shape import (
    CALLS_WITHOUT_NAME,
    CallKeys,
    call_array,
    call_object,
    is_json_call,
    json_of,
)
from weaklink.inspector.formats.json.calls import JsonCallReader
from weaklink.inspector.formats.json.format import NAMED, NAMED_CALLS, BareJson, json_format
from weaklink.inspector.formats.xml.tag_families import SharedOpenerReader
from weaklink.inspector.json_scanner import read_json
from weaklink.inspector.json_scanner.messages import FaultMessage
from weaklink.inspector.model import SpanKind, ToolCall
from weaklink.inspector.rules import json_syntax as rules
from weaklink.inspector.segmenter.events import JSON, ParseResult, SpanClosed
from weaklink.inspector.segmenter.table import (
    HOME,
    Lookahead,
    LookaheadPiece,
    MarkerSplit,
    OneOf,
    Repeat,
    State,
    Transition,
    unmarked,
)
from weaklink.inspector.text import Range

_BEFORE = r"\A\s*(?:<think>[\s\S]{0,20000}</think>\s*)?"
_CALL = r'\{\s*"name"\s*:\s*"[^"\n]{1,128}"\s*,\s*"(?:parameters|arguments)"\s*:'
BARE_PATTERNS = {rf"{_BEFORE}\[\s*{_CALL}": 0.85}
"""The detection pattern of a reply that is an array of calls."""
_SPACE = Repeat(r"\s", 0, 24)
_ONE, _SEVERAL, _RESPONSE = "tool_call", "tool_calls", "response"
_WRAPPED: tuple[LookaheadPiece, ...] = (_SPACE, (f'"{_ONE}"', f'"{_SEVERAL}"'), _SPACE, ":", _SPACE, ("{", "["))
_GENERIC_CALL = Lookahead(OneOf(_WRAPPED, NAMED))
_STRING = Lookahead(_SPACE, ":", _SPACE, '"')
_BEGINNINGS = tuple(f'{{{space}"{_RESPONSE}"' for space in ("", " ", "\n", "\r\n", "\n ", "\n  ", "\n    ", "\n\t"))
_HEAD = re.compile(rf'(?:```\w*\s*)?\{{\s*("(?:{_ONE}|{_SEVERAL})")\s*:\s*([\[{{])')
_WRAPPER = re.compile(rf'"(?:{_ONE}|{_SEVERAL})"')
_READ = JsonCallReader(is_array=True, is_row=True, has_ids=True, wrappers=(_ONE, _SEVERAL))


def opens_a_call(call: ToolCall) -> bool:
    """Whether JSON can express the call, and the text can be recognized as a call."""
    return is_json_call(call) and NAMED_CALLS["{"].counts(call_object(call), 1, final=True) is True


JSON_SCHEMA = json_format(
    name="json_schema",
    summary='[{"name": ..., "parameters": {...}}]: the reply is JSON, as constrained output makes it',
    aliases=("constrained", "tool_choice_required"),
    models=(),
    bare=BareJson(),
    signs=DetectionPatterns(
        calls=BARE_PATTERNS,
        hints={rf"{_BEFORE}```(?:json)?\s*\[\s*{_CALL}": 0.7, rf"{_BEFORE}(?:```(?:json)?\s*)?{_CALL}": 0.5},
    ),
    reader=JsonCallReader(CallKeys(arguments="parameters", also=("arguments",)), is_array=True, is_row=True),
    write_calls=lambda calls: call_array(calls, key="parameters"),
    expresses=opens_a_call,
    near_calls=CALLS_WITHOUT_NAME,
    calls_only=True,  # both servers decode the whole reply
)

XLAM = json_format(
    name="xlam",
    summary="[...]: an array of JSON objects, bare, fenced or tagged",
    models=("*llama-xlam*", "*xlam*"),
    calls=(Enclosed("[TOOL_CALLS]"), Enclosed("<tool_call>", "</tool_call>")),
    ahead=Lookahead(Repeat(r"\s"), ("[", "{")),
    bare=BareJson(has_fences=True),
    signs=DetectionPatterns(
        calls={**BARE_PATTERNS, r"<tool_call>\s*\[\s*\{": 0.7, r"\[TOOL_CALLS\]\s*\[\s*\{": 0.6},
        hints={r"```(?:json)?\s*\[\s*\{\s*\"name\"": 0.7},
    ),
    reader=SharedOpenerReader(JsonCallReader(is_array=True), "an array of JSON objects"),
    write_calls=call_array,
    expresses=opens_a_call,
    near_calls=CALLS_WITHOUT_NAME,
    calls_only=True,  # vllm:vllm/tool_parsers/xlam_tool_parser.py decodes a reply with a bare array as a whole
)


def _read_calls(closed: SpanClosed) -> ParseResult:
    """A SpanReader for calls: an array belongs under `tool_calls`, one object under `tool_call`."""
    reading = _READ(closed)
    head = _HEAD.match(closed.inner_text)
    if head is None:
        fault_range = reading.calls[0].range
        edits = (
            Edit(Range(fault_range.start, fault_range.start), f'{{"{_ONE}": '),
            Edit(Range(fault_range.end, fault_range.end), "}"),
        )
        fault = _unwrapped("", Range(fault_range.start, fault_range.start + 1), edits=edits)
        return reading if _WRAPPER.search(closed.inner_text, 0, 64) else reading.recovered(fault)
    if (head[1] == f'"{_SEVERAL}"') == (head[2] == "["):
        return reading
    what, belongs = ("An array", _SEVERAL) if head[2] == "[" else ("One object", _ONE)
    fault_range = Range(*head.span(1)).moved(closed.span.inner.start)
    message = f"{what} appears under `{head[1][1:-1]}`; it belongs under `{belongs}`."
    fix = Fix((Edit(fault_range, f'"{belongs}"'),), safe=True)
    return reading.recovered(Fault(rules.NOT_A_CALL, fault_range, message, f"Rename the key to `{belongs}`.", fix))


_unwrapped = FaultMessage(
    rules.NOT_A_CALL,
    f"The call is not wrapped in an object; the server expects it under `{_ONE}`.",
    f"Put it under `{_ONE}`.",
    safe=True,
)


def _read_text(closed: SpanClosed) -> ParseResult:
    """A SpanReader for text: a `response` object is decoded to the string in it."""
    if closed.span.label != _RESPONSE:
        return ParseResult(complete=True)
    reading = read_json(closed.inner_text)
    response = reading.nodes[0].member(_RESPONSE) if reading.nodes else None
    answer = response.value.scalar if response is not None else None
    return ParseResult(
        faults=tuple(fault.moved(closed.span.inner.start) for fault in reading.faults),
        complete=True,
        decoded=answer if isinstance(answer, str) else None,
    )


def _write_calls(calls: Sequence[ToolCall]) -> str:
    if len(calls) == 1 and calls[0].id is None:
        return f'{{"{_ONE}": {call_object(calls[0])}}}'
    ids = (f', "id": {json_of(call.id)}' if call.id is not None else "" for call in calls)
    written = (f"{call_object(call)[:-1]}{id}}}" for call, id in zip(calls, ids, strict=True))
    return f'{{"{_SEVERAL}": [{", ".join(written)}]}}'


GENERIC_JSON = json_format(
    name="generic_json",
    summary='{"tool_call": {...}} or {"response": "..."}: the whole reply is one JSON object',
    aliases=("llamacpp_generic",),
    models=(),
    bare=BareJson(
        {"{": _GENERIC_CALL},
        more=tuple(Transition(text, MarkerSplit.BEFORE, _RESPONSE, width=0, ahead=_STRING) for text in _BEGINNINGS),
        more_states=(
            State(_RESPONSE, SpanKind.TEXT, (), _RESPONSE, payload=JSON, then=unmarked(HOME, MarkerSplit.AFTER)),
        ),
    ),
    signs=DetectionPatterns(
        calls={rf'\A\s*(?:```(?:json)?\s*)?\{{\s*"(?:{_ONE}"\s*:\s*\{{|{_SEVERAL}"\s*:\s*\[)': 0.85},
        hints={rf'\A\s*\{{\s*"{_RESPONSE}"\s*:\s*"': 0.5},
    ),
    reader=_read_calls,
    read_text=_read_text,
    write_calls=_write_calls,
    ids=True,
    calls_only=True,
)
