"""Reads the parts of structured APIs: a call's arguments, reasoning, and any other text, each one span."""

from msgspec import Struct

from inspector.diagnostics import Fault
from inspector.formats.json.calls import strict_object
from inspector.json_scanner import JsonKind, read_json
from inspector.model import CallHeader, Json, Part, Span, SpanKind, ToolCall, Turn
from inspector.rules.json_syntax import NOT_A_CALL
from inspector.text import Range
from inspector.wire.events import WIRE_PREFIX

CODE_TOOLS = frozenset({"python"})
"""Tools whose arguments are code as it stands, and no JSON (functionary and gpt-oss call their interpreter so)."""


class StructuredReading(Struct, frozen=True):
    """What a structured part holds: spans that tile its text, the call if it is one, and faults."""

    spans: tuple[Span, ...]
    calls: tuple[ToolCall, ...] = ()
    faults: tuple[Fault, ...] = ()


def read_structured_part(turn: Turn, part: Part) -> StructuredReading:
    """The reading of a part that is not the turn's `text`: `reasoning`, `call:N`, or a text under another name."""
    whole = Range(0, len(part.text))
    header = turn.call_header(part.name)
    if header is not None:
        return _read_call(part.text, header)
    if not part.text:
        return StructuredReading(())
    return StructuredReading((Span(_kind(part.name), whole, whole, label=part.name),))


def _kind(part: str) -> SpanKind:
    if part.startswith(WIRE_PREFIX):
        return SpanKind.MARKUP
    return SpanKind.REASONING if part == "reasoning" else SpanKind.TEXT


def _read_call(text: str, header: CallHeader) -> StructuredReading:
    """A call whose arguments stand in a part of their own; an empty text means no arguments, as the APIs have it."""
    whole = Range(0, len(text))
    spans = (Span(SpanKind.TOOL_CALL, whole, whole, label=header.part),) if text else ()
    if not text.strip():
        call = ToolCall(header.name, {}, text, bool(header.name), whole, id=header.id, arguments_range=whole)
        return StructuredReading(spans, (call,), _nameless(header, whole))
    plain: Json = strict_object(text)
    if header.custom or (plain is None and header.name in CODE_TOOLS and not text.lstrip().startswith("{")):
        plain = text
    if plain is not None:
        call = ToolCall(header.name, plain, text, bool(header.name), whole, id=header.id, arguments_range=whole)
        return StructuredReading(spans, (call,), _nameless(header, whole))
    reading = read_json(text)
    node = reading.nodes[0] if reading.nodes else None
    valid = reading.strict and bool(header.name)
    readable = valid or (node is not None and node.kind is JsonKind.OBJECT and reading.repairable)
    call = ToolCall(
        header.name,
        node.value() if readable and node is not None else text,
        text,
        valid,
        whole,
        id=header.id,
        recovered=readable and not valid and bool(header.name),
        arguments_range=whole,
    )
    return StructuredReading(spans, (call,), (*_nameless(header, whole), *reading.faults))


def _nameless(header: CallHeader, whole: Range) -> tuple[Fault, ...]:
    """The fault of a call that names no tool."""
    if header.name:
        return ()
    return (Fault(NOT_A_CALL, whole, "The call has no name: nobody knows which tool it means."),)
