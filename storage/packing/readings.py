"""What was read from the parts of a trace, packed: spans, calls, results and definitions.

A text that the part's own text holds at a known range (a call's raw arguments, a result's content) is not kept twice,
nor is an argument value that its raw text gives back exactly.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from inspector.inspection import PartInspection
from inspector.model import Json, Parameter, Span, SpanKind, ToolCall, ToolResult
from inspector.text import Range
from storage.packing.records import tool_facts, tool_from
from storage.packing.texts import Texts
from storage.packing.values import packable, unpack, unpack_list

_KINDS = tuple(SpanKind)
_NUMBER = {kind: number for number, kind in enumerate(_KINDS)}
_AT_ARGUMENTS, _AT_RANGE = 0, 1
_DEEP = 100  # brackets in a text that msgspec, which recurses, shall not be asked to read again
_decode_json = msgspec.json.Decoder().decode
_encode = msgspec.msgpack.Encoder().encode


def part_reading(part: PartInspection, text: str) -> list[Any]:
    """What one part holds; `text` is that part's text."""
    labels: dict[str, int] = {}
    return [
        part.turn,
        part.part,
        part.format,
        list(_spans(part.spans, labels)),
        list(labels),
        [call_facts(call, text) for call in part.calls],
        [result_facts(result, text) for result in part.results],
        [tool_facts(tool) for tool in part.definitions],
    ]


def part_from(packed: msgspec.Raw, texts: Texts) -> PartInspection:
    """The part that `part_reading` was given with the same text, which is one of these by turn and name."""
    turn, part, name, spans, labels, calls, results, definitions = unpack_list(packed)
    number, named = unpack(turn), unpack(part)
    text = texts.get((number, named), "")
    return PartInspection(
        number,
        named,
        unpack(name),
        _spans_from(iter(unpack(spans)), unpack(labels), -1),
        tuple(call_from(unpack(call), text) for call in unpack_list(calls)),
        tuple(result_from(unpack(result), text) for result in unpack_list(results)),
        tuple(tool_from(tool) for tool in unpack(definitions)),
    )


def _spans(spans: Sequence[Span], labels: dict[str, int]) -> Iterator[int]:
    """Eight numbers a span, a parent before its children; the last is how many of those follow."""
    for span in spans:
        yield from (_NUMBER[span.kind], span.range.start, span.range.end, span.inner.start, span.inner.end)
        yield from (span.closed, labels.setdefault(span.label, len(labels)), len(span.children))
        yield from _spans(span.children, labels)


def _spans_from(numbers: Iterator[int], labels: Sequence[str], count: int) -> tuple[Span, ...]:
    """The next `count` spans, all that are left where it is below zero."""
    spans: list[Span] = []
    while len(spans) != count and (kind := next(numbers, None)) is not None:
        start, end, inner_start, inner_end, closed, label, children = (next(numbers) for _ in range(7))
        inside = _spans_from(numbers, labels, children) if children else ()
        whole, inner = Range(start, end), Range(inner_start, inner_end)
        spans.append(Span(_KINDS[kind], whole, inner, bool(closed), labels[label], inside))
    return tuple(spans)


def span_facts(span: Span) -> list[Any]:
    """A span with all that lies in it."""
    labels: dict[str, int] = {}
    numbers = list(_spans((span,), labels))
    return [list(labels), *numbers]


def span_from(facts: list[Any]) -> Span:
    """The span that `span_facts` was given."""
    labels, *numbers = facts
    return _spans_from(iter(numbers), labels, 1)[0]


def call_facts(call: ToolCall, text: str) -> list[Any]:
    """A call; `text` is that of the part it stands in."""
    return [
        call.name,
        call.id,
        call.valid,
        call.recovered,
        call.span,
        *_ends(call.range),
        *_ends(call.name_range),
        *_ends(call.arguments_range),
        _raw(call, text),
        _arguments(call),
        *_parameters(call, text),
    ]


def call_from(facts: list[Any], text: str) -> ToolCall:
    """The call that `call_facts` was given with the same text."""
    name, id_, valid, recovered, span, start, end, *ends, raw, arguments = facts[:13]
    whole = Range(start, end)
    place = _range(*ends[2:])
    spoken = (place if raw == _AT_ARGUMENTS and place is not None else whole).of(text) if isinstance(raw, int) else raw
    value = arguments[0] if arguments else _decode_json(spoken)
    parameters = tuple(_parameter_from(one, text) for one in facts[13:])
    return ToolCall(name, value, spoken, valid, whole, id_, recovered, span, _range(*ends[:2]), place, parameters)


def result_facts(result: ToolResult, text: str) -> list[Any]:
    """A result; `text` is that of the part it stands in."""
    content = None if result.range.of(text) == result.content else result.content
    return [content, *_ends(result.range), result.call_id, result.name, result.is_error, result.span]


def result_from(facts: list[Any], text: str) -> ToolResult:
    """The result that `result_facts` was given with the same text."""
    content, start, end, *more = facts
    place = Range(start, end)
    return ToolResult(place.of(text) if content is None else content, place, *more)


def _parameters(call: ToolCall, text: str) -> Iterator[list[Any]]:
    """A call's parameters; the text of one is None where it stands at its range, as it nearly always does."""
    for one in call.parameters:
        written = None if one.range.of(text) == one.text else one.text
        yield [one.name, written, *_ends(one.range), *_ends(one.name_range), one.typed]


def _parameter_from(facts: list[Any], text: str) -> Parameter:
    name, written, start, end, *named, typed = facts
    place = Range(start, end)
    return Parameter(name, place.of(text) if written is None else written, place, _range(*named), typed)


def _raw(call: ToolCall, text: str) -> str | int:
    if call.arguments_range is not None and call.arguments_range.of(text) == call.raw_arguments:
        return _AT_ARGUMENTS
    return _AT_RANGE if call.range.of(text) == call.raw_arguments else call.raw_arguments


def _arguments(call: ToolCall) -> list[Any]:
    """The value in a list, or an empty list where the raw text decodes to the very same."""
    raw = call.raw_arguments
    if call.arguments is raw or raw.count("[") + raw.count("{") > _DEEP:
        return [packable(call.arguments)]
    try:
        decoded: Json = _decode_json(raw)
        same = decoded == call.arguments and _encode(decoded) == _encode(call.arguments)  # True == 1 == 1.0
    except (msgspec.MsgspecError, UnicodeEncodeError, OverflowError, RecursionError):
        same = False
    return [] if same else [packable(call.arguments)]


def _ends(place: Range | None) -> tuple[int | None, int | None]:
    return (None, None) if place is None else (place.start, place.end)


def _range(start: int | None, end: int | None) -> Range | None:
    return None if start is None or end is None else Range(start, end)
