"""Reads Qwen-Agent's older calls: `✿FUNCTION✿: name`, then `✿ARGS✿: {...}`, as often as the tool is called.

Source: QwenLM/Qwen-Agent:qwen_agent/llm/fncall_prompts/qwen_fncall_prompt.py.
"""

import re
from collections.abc import Iterator

from inspector.diagnostics import Fault
from inspector.formats.strict_call import strict_object
from inspector.json_scanner import JsonKind, read_json
from inspector.model import Json, ToolCall
from inspector.rules import call_shape
from inspector.rules import json_syntax as rules
from inspector.rules.markers import EMPTY_CALL
from inspector.segmenter.events import SpanClosed
from inspector.segmenter.readings import Reading
from inspector.text import Range

FUNCTION, ARGS, RESULT, RETURN = "✿FUNCTION✿", "✿ARGS✿", "✿RESULT✿", "✿RETURN✿"
_NAME = re.compile(r"[ \t]*:?[ \t]*(?P<name>[^\s✿:][^\n✿]*?)?[ \t]*(?=\n|✿|\Z)")
_COLON = re.compile(r"\s*:?\s*")
_SPACE = " \t\r\n"


def is_flower_call(closed: SpanClosed) -> bool:
    """Whether a call span is one of these."""
    return closed.span.label == "flower_call"


def read_flower_calls(closed: SpanClosed) -> Reading:
    """See SpanReader: a call for each `✿ARGS✿`, one without arguments where there is none."""
    text, start = closed.inner_text, closed.span.inner.start
    header = _NAME.match(text)
    name = header["name"] if header is not None else None
    if not name:
        return _nameless(closed)
    place = Range(*header.span("name")) if header is not None else Range(0, 0)
    faults: list[Fault] = []
    calls = [_call(text, name, place, at, faults) for at in _arguments(text)]
    if not calls:
        calls = [ToolCall(name, "", "", valid=True, range=place, name_range=place)]
    moved = tuple(
        ToolCall(
            one.name,
            one.arguments,
            one.raw_arguments,
            one.valid,
            one.range.moved(start),
            recovered=one.recovered,
            name_range=place.moved(start),
            arguments_range=one.arguments_range.moved(start) if one.arguments_range else None,
        )
        for one in calls
    )
    return Reading(calls=moved, faults=tuple(fault.moved(start) for fault in faults), complete=True)


def _arguments(text: str) -> Iterator[Range]:
    """Where each call's arguments stand, without the white space around them; a mark within their JSON is data."""
    at = text.find(ARGS)
    while at >= 0:
        match = _COLON.match(text, at + len(ARGS))
        start = match.end() if match is not None else at + len(ARGS)
        end = text.find(ARGS, _value_end(text, start))
        stop = end if end >= 0 else len(text)
        content = text[start:stop].rstrip(_SPACE)
        yield Range(start, start + len(content))
        at = end


def _value_end(text: str, start: int) -> int:
    """The end of the JSON value at `start`; `start` where there is no such value."""
    if text[start : start + 1] != "{":
        return start
    reading = read_json(text, Range(start, len(text)))
    return reading.nodes[0].range.end if reading.nodes else start


def _call(text: str, name: str, name_range: Range, place: Range, faults: list[Fault]) -> ToolCall:
    raw = place.of(text)
    whole = Range(name_range.start, max(name_range.end, place.end))

    def call(value: Json, *, valid: bool, recovered: bool = False, of: Range = place) -> ToolCall:
        return ToolCall(
            name, value, of.of(text), valid, whole, recovered=recovered, name_range=name_range, arguments_range=of
        )

    value = strict_object(raw) if raw.startswith("{") else None
    if value is not None or not raw.startswith(("{", "[", '"')):
        return call(value if value is not None else raw, valid=True)
    reading = read_json(text[: place.end], place)
    node = reading.nodes[0] if reading.nodes else None
    if node is not None and node.kind is JsonKind.OBJECT and reading.repairable:
        faults += reading.faults
        return call(node.value(), valid=reading.strict, recovered=not reading.strict)
    faults += reading.faults or (Fault(call_shape.NOT_A_CALL, place, "The arguments are no JSON object."),)
    return call(raw, valid=False)


def _nameless(closed: SpanClosed) -> Reading:
    span, content = closed.span, closed.inner_text.strip()
    place = span.inner if len(span.inner) else span.range
    where = Range(span.range.start, span.inner.start)
    faults = [Fault(rules.TRUNCATED_JSON, where, f"No tool is named behind `{FUNCTION}`: expected `: ` and its name.")]
    if not content.strip(":").strip():
        faults.append(Fault(EMPTY_CALL, span.range, "The call span is empty: the model opened a call and wrote none."))
    return Reading(calls=(ToolCall(None, content, content, valid=False, range=place),), faults=tuple(faults))
