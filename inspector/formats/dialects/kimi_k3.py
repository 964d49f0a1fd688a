"""`kimi_k3`: `<|open|>call tool="NAME"<|sep|>` with arguments whose tags tell their type, in `<|open|>tools<|sep|>`.

Within the tags `&` and `"` are escaped as in XML, within values nothing is. A call may hold all its arguments as one
JSON object instead.

Sources: llama.cpp:models/templates/Kimi-K3.jinja, sglang:python/sglang/srt/function_call/kimik3_format.py.
"""

import re
from collections.abc import Sequence

import msgspec

from inspector.diagnostics import Fault
from inspector.formats.chat_turns import TURN_STATES, TURN_TRANSITIONS, turn_ends
from inspector.formats.dialect import Enclosed, ReasoningTag, dialect_table, opening
from inspector.formats.format import DetectionPatterns
from inspector.formats.xml.calls import XmlCallReader
from inspector.formats.xml.format import XmlCall, XmlCalls, arguments_of, value_text, xml_format
from inspector.formats.xml.syntax import NAME, XmlSyntax
from inspector.json_scanner import read_json
from inspector.model import Json, SpanKind, ToolCall
from inspector.rules.markers import WRONG_OPENER
from inspector.scanning import lazy_pattern
from inspector.segmenter.events import ParseResult, SpanClosed
from inspector.segmenter.table import ROLE, Lookahead, MarkerSplit, Repeat, State, Transition
from inspector.text import Range


def _opens(tag: str) -> str:
    return f"<|open|>{tag}<|sep|>"


def _closes(tag: str) -> str:
    return f"<|close|>{tag}<|sep|>"


_WRAPPER = Enclosed(_opens("tools"), _closes("tools"))
_CALL, _ARGUMENT = '<|open|>call tool="', '<|open|>argument key="'
_TYPES = ("string", "number", "boolean", "null", "object", "array")
_SYNTAX = XmlSyntax(
    call=Lookahead(_CALL, NAME, '"', Repeat(r"[^<>\n]", 0, 32), "<|sep|>"),
    call_begins=_CALL,
    shown_call=f'{_CALL}NAME" index="1"<|sep|>',
    call_end="",
    parameter=Lookahead(_ARGUMENT, NAME, '" type="', _TYPES, '"<|sep|>'),
    parameter_begins=_ARGUMENT,
    shown_parameter=f'{_ARGUMENT}NAME" type="string"<|sep|>',
    parameter_end=_closes("argument"),
    opener=_WRAPPER.opener,
    closer=_closes("call"),
    lead=_CALL,
    text_type="string",
    bad_tag=r'[^"<>\n]*"?[^<>\n]*(?:<\|?s?e?p?\|?>?)?',
    anywhere=True,
)
_JSON = lazy_pattern(re.escape(_opens('json type="object"')) + r"(.*)" + re.escape(_closes("json")), re.DOTALL)
_FOLLOWS = Lookahead(NAME, '"', Repeat(r"[^<>\n]", 0, 32), "<|sep|><")
_CALLS = XmlCalls((XmlCall(_CALL, _closes("call"), _SYNTAX, rule=WRONG_OPENER, ahead=_FOLLOWS),), (_WRAPPER,))
_HEADER = State(
    "message header",
    SpanKind.MARKUP,
    (
        Transition("<|sep|>", MarkerSplit.AFTER, ROLE),
        Transition(f"<|sep|>{_opens('response')}", MarkerSplit.AFTER, ROLE),
    ),
    label="turn_header",
)
_FRAMES = (_opens("response"), _closes("response"), _closes("message"), "<|end_of_msg|>")


def _unescaped(name: str) -> str:
    return name.replace("&quot;", '"').replace("&amp;", "&")


def _escaped(name: str | None) -> str:
    return (name or "").replace("&", "&amp;").replace('"', "&quot;")


_read_arguments = XmlCallReader(_SYNTAX, unescape=_unescaped)


def _read_call(closed: SpanClosed) -> ParseResult:
    """A call with its arguments one by one, or all in one JSON object."""
    found = _JSON.search(closed.inner_text)
    if found is None:
        return _read_arguments(closed)
    frame = closed.inner_text[: found.start()] + closed.inner_text[found.end() :]
    outer = _read_arguments(msgspec.structs.replace(closed, inner_text=frame))
    start = closed.span.inner.start
    reading = read_json(found[1])
    place = Range(*found.span(1)).moved(start)
    is_read = len(reading.nodes) == 1 and (reading.strict or reading.repairable)
    calls = tuple(
        msgspec.structs.replace(
            call,
            arguments=reading.nodes[0].value() if is_read else found[1],
            raw_arguments=found[1],
            arguments_range=place,
            valid=call.valid and reading.strict,
            recovered=is_read and not (call.valid and reading.strict),
            range=closed.span.range,
            parameters=(),
        )
        for call in outer.calls
    )
    faults = tuple(_placed(fault, place.start, closed.span.range) for fault in reading.faults)
    return ParseResult(calls=calls, faults=(*outer.faults, *faults), complete=outer.complete)


def _placed(fault: Fault, start: int, span: Range) -> Fault:
    """The fault at its place, or at the whole call where its place is empty."""
    return fault.moved(start) if len(fault.range) else Fault(fault.rule, span, fault.message, fault.hint)


def _type_of(value: Json) -> str:
    match value:
        case str():
            return "string"
        case None:
            return "null"
        case bool():
            return "boolean"
        case dict():
            return "object"
        case list():
            return "array"
        case _:
            return "number"


def _write_calls(calls: Sequence[ToolCall]) -> str:
    written = (_write_call(call, index) for index, call in enumerate(calls, 1))
    return "".join((_WRAPPER.opener, *written, _WRAPPER.closer))


def _write_call(call: ToolCall, index: int) -> str:
    arguments = (
        f'{_ARGUMENT}{_escaped(name)}" type="{_type_of(value)}"<|sep|>{value_text(value)}{_closes("argument")}'
        for name, value in arguments_of(call).items()
    )
    return f'{_CALL}{_escaped(call.name)}" index="{index}"<|sep|>{"".join(arguments)}{_closes("call")}'


KIMI_K3 = xml_format(
    name="kimi_k3",
    summary='<|open|>call tool="NAME"<|sep|> with typed arguments, in <|open|>tools<|sep|>',
    aliases=(),
    models=("*kimi-k3*",),
    signs=DetectionPatterns(calls={r'<\|open\|>call tool="': 0.95}, hints={r"<\|(?:open|close)\|>\w+<\|sep\|>": 0.7}),
    calls=_CALLS,
    table=dialect_table(
        calls=_CALLS.ways,
        call_states=_CALLS.states,
        call_closers=_CALLS.closers,
        reasoning=(ReasoningTag("think", _opens("think"), _closes("think")),),
        turns=(opening('<|open|>message role="', "message header"), *turn_ends(*_FRAMES), *TURN_TRANSITIONS),
        turn_states=(_HEADER, *TURN_STATES),
    ),
    reader=_read_call,
    write_calls=_write_calls,
    is_typed=True,
)
