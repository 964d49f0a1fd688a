"""`generic_json`: `{"tool_call": {...}}`, `{"tool_calls": [...]}` or `{"response": "..."}`, the whole reply.

llama.cpp makes models answer so whose chat template knows no tools. Where calls may be parallel they bear ids. The
string of `response` is the reply's content. Source: llama.cpp:common/chat.cpp (the generic format) and
llama.cpp:tests/test-chat.cpp.
"""

from collections.abc import Sequence

import msgspec

from inspector.diagnostics import Edit, Fault, Fix
from inspector.formats.format import DetectionPatterns
from inspector.formats.json.calls import JsonCallReader
from inspector.formats.json.format import NAMED, BareJson, JsonMarkers, json_format
from inspector.formats.json.writing import call_object, json_of
from inspector.json_scanner import read_json
from inspector.model import SpanKind, ToolCall
from inspector.rules import json_syntax as rules
from inspector.scanning import lazy_pattern
from inspector.segmenter.events import ParseResult, SpanClosed
from inspector.segmenter.payload import JSON
from inspector.segmenter.table import HOME, Lookahead, LookaheadPiece, MarkerSplit, OneOf, Repeat, State, Transition
from inspector.text import Range

_SPACE = Repeat(r"\s", 0, 24)
_ONE, _SEVERAL, _RESPONSE = "tool_call", "tool_calls", "response"
_WRAPPED: tuple[LookaheadPiece, ...] = (_SPACE, (f'"{_ONE}"', f'"{_SEVERAL}"'), _SPACE, ":", _SPACE, ("{", "["))
_CALL = Lookahead(OneOf(_WRAPPED, NAMED))
_STRING = Lookahead(_SPACE, ":", _SPACE, '"')
_BEGINNINGS = tuple(f'{{{space}"{_RESPONSE}"' for space in ("", " ", "\n", "\r\n", "\n ", "\n  ", "\n    ", "\n\t"))
_HEAD = lazy_pattern(rf'(?:```\w*\s*)?\{{\s*("(?:{_ONE}|{_SEVERAL})")\s*:\s*([\[{{])')
_WRAPPER = lazy_pattern(rf'"(?:{_ONE}|{_SEVERAL})"')
_READ = JsonCallReader(is_array=True, is_row=True, has_ids=True, wrappers=(_ONE, _SEVERAL))


def _read_calls(closed: SpanClosed) -> ParseResult:
    """A SpanReader for calls: an array belongs under `tool_calls`, one object under `tool_call`."""
    reading = _READ(closed)
    head = _HEAD.match(closed.inner_text)
    if head is None:
        return reading if _WRAPPER.search(closed.inner_text, 0, 64) else _unwrapped(reading)
    if (head[1] == f'"{_SEVERAL}"') == (head[2] == "["):
        return reading
    stands, belongs = ("An array", _SEVERAL) if head[2] == "[" else ("One object", _ONE)
    place = Range(*head.span(1)).moved(closed.span.inner.start)
    message = f"{stands} appears under `{head[1][1:-1]}`; it belongs under `{belongs}`."
    fix = Fix((Edit(place, f'"{belongs}"'),), safe=True)
    return _misplaced(reading, Fault(rules.NOT_A_CALL, place, message, f"Rename the key to `{belongs}`.", fix))


def _unwrapped(reading: ParseResult) -> ParseResult:
    """The calls of a span that no object is around."""
    place = reading.calls[0].range
    edits = (Edit(Range(place.start, place.start), f'{{"{_ONE}": '), Edit(Range(place.end, place.end), "}"))
    message = f"The call is not in an object; the server expects it under `{_ONE}`."
    fix = Fix(edits, safe=True)
    where = Range(place.start, place.start + 1)
    return _misplaced(reading, Fault(rules.NOT_A_CALL, where, message, f"Put it under `{_ONE}`.", fix))


def _misplaced(reading: ParseResult, fault: Fault) -> ParseResult:
    """The reading of calls that stand in the wrong place, as `fault` says."""
    calls = (
        msgspec.structs.replace(call, valid=False, recovered=call.valid or call.recovered) for call in reading.calls
    )
    return msgspec.structs.replace(reading, calls=tuple(calls), faults=(fault, *reading.faults))


def _read_text(closed: SpanClosed) -> ParseResult:
    """A SpanReader for text: a response stands for the string in it."""
    if closed.span.label != _RESPONSE:
        return ParseResult(complete=True)
    reading = read_json(closed.inner_text)
    said = reading.nodes[0].member(_RESPONSE) if reading.nodes else None
    answer = said.value.scalar if said is not None else None
    return ParseResult(
        faults=tuple(fault.moved(closed.span.inner.start) for fault in reading.faults),
        complete=True,
        decoded=answer if isinstance(answer, str) else None,
    )


def _write_calls(calls: Sequence[ToolCall]) -> str:
    if len(calls) == 1 and calls[0].id is None:
        return f'{{"{_ONE}": {call_object(calls[0])}}}'
    return f'{{"{_SEVERAL}": [{", ".join(map(_write_call, calls))}]}}'


def _write_call(call: ToolCall) -> str:
    written = call_object(call)
    return written if call.id is None else f'{written[:-1]}, "id": {json_of(call.id)}}}'


GENERIC_JSON = json_format(
    name="generic_json",
    summary='{"tool_call": {...}} or {"response": "..."}: the whole reply is one JSON object',
    aliases=("llamacpp_generic",),
    models=(),
    markers=JsonMarkers(
        bare=BareJson(
            {"{": _CALL},
            more=tuple(Transition(one, MarkerSplit.BEFORE, _RESPONSE, width=0, ahead=_STRING) for one in _BEGINNINGS),
            more_states=(
                State(
                    _RESPONSE,
                    SpanKind.TEXT,
                    (),
                    label=_RESPONSE,
                    payload=JSON,
                    then=Transition("(end of the object)", MarkerSplit.AFTER, HOME, width=0),
                ),
            ),
        )
    ),
    signs=DetectionPatterns(
        calls={rf'\A\s*(?:```(?:json)?\s*)?\{{\s*"(?:{_ONE}"\s*:\s*\{{|{_SEVERAL}"\s*:\s*\[)': 0.85},
        hints={rf'\A\s*\{{\s*"{_RESPONSE}"\s*:\s*"': 0.5},
    ),
    reader=_read_calls,
    text_reader=_read_text,
    write_calls=_write_calls,
    ids=True,
    calls_only=True,
)
