"""`kimi_k2` and `kimi_k3`: the dialects of Moonshot AI's Kimi models.

`kimi_k2`: calls in a section of special tokens, each with an id `functions.NAME:INDEX` (Moonshot's Kimi K2).

Sources: llama.cpp:models/templates/moonshotai-Kimi-K2.jinja, vllm:vllm/tool_parsers/kimi_k2_tool_parser.py,
MoonshotAI/Kimi-K2:docs/tool_call_guidance.md. Some releases spell the section's tokens in the singular.

`kimi_k3`: `<|open|>call tool="NAME"<|sep|>` with arguments whose tags have their type, in `<|open|>tools<|sep|>`.

Within the tags `&` and `"` are escaped as in XML, within values nothing is. A call may instead contain all its
arguments as one JSON object.

Sources: llama.cpp:models/templates/Kimi-K3.jinja, sglang:python/sglang/srt/function_call/kimik3_format.py.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.formats.chat_turns import ROLE_HOMES, TURN_STATES, turn_ends
from weaklink.inspector.formats.dialect import Enclosed, ReasoningTag, Transitions, closing, dialect_format, opening
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.call_shape import is_json_call, json_of, value_text
from weaklink.inspector.formats.json.named_calls import LooseHeader, NamedCallReader, Section
from weaklink.inspector.formats.span_readers import HeadedResultReader, ReasoningReader
from weaklink.inspector.formats.xml.calls import XmlCallReader
from weaklink.inspector.formats.xml.format import XmlCall, XmlCalls, XmlTags, xml_format
from weaklink.inspector.formats.xml.syntax import NAME, XmlSyntax
from weaklink.inspector.json_scanner import read_json
from weaklink.inspector.json_text import object_of
from weaklink.inspector.model import SpanKind, ToolCall
from weaklink.inspector.rules.markers import WRONG_OPENER
from weaklink.inspector.segmenter.events import ParseResult, SpanClosed
from weaklink.inspector.segmenter.table import ROLE, Lookahead, Repeat, State
from weaklink.inspector.text import Range

_SECTION = Section(
    openers=("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
    closers=("<|tool_calls_section_end|>", "<|tool_call_section_end|>"),
    call_opener="<|tool_call_begin|>",
    call_closer="<|tool_call_end|>",
)
_ARGUMENTS = "<|tool_call_argument_begin|>"
_HEADERS = tuple(opening(header, "speaker") for header in ("<|im_user|>", "<|im_assistant|>", "<|im_system|>"))
_ID = r"(?P<id>(?!functions\.:)(?:functions\.)?(?P<name>[^\s<{]+):\d++)"
_K2_CALL = NamedCallReader(
    header=re.compile(rf"\s*{_ID}\s*<\|tool_call_argument_begin\|>"),
    expected=f"`functions.NAME:INDEX{_ARGUMENTS}`, then the arguments",
    loose=(
        LooseHeader(re.compile(rf"\s*{_ID}\s*(?=\{{|\Z)"), f"it lacks `{_ARGUMENTS}`"),
        LooseHeader(
            re.compile(r"\s*functions\.(?P<name>[^\s<{:][^\s<{]*+)\s*<\|tool_call_argument_begin\|>"),
            "its id lacks the index, as in `:0`",
        ),
        LooseHeader(
            re.compile(r"\s*functions_(?P<name>[A-Za-z][\w.-]*)_\d+\s*<\|tool_call_argument_begin\|>"),
            "its id is not of the form `functions.NAME:INDEX`",
        ),
    ),
)
_RESULTS = HeadedResultReader(re.compile(rf"## Return of {_ID}\n?"))
_WRITTEN_ID = re.compile(r"functions\.([^\s<{]+):\d+")
_NAME = re.compile(r"(?!functions\.|:)[^\s<{\[]+")


def _states(transitions: Transitions) -> Iterator[State]:
    yield from _SECTION.states(transitions)
    yield State("speaker", SpanKind.MARKUP, (closing("<|im_middle|>", ROLE),), "turn_header")


def _write_k2(calls: Sequence[ToolCall]) -> str:
    written = "".join(
        f"{_SECTION.call_opener}{call.id or f'functions.{call.name}:{index}'}{_ARGUMENTS}{json_of(call.arguments)}"
        f"{_SECTION.call_closer}"
        for index, call in enumerate(calls)
    )
    return f"{_SECTION.openers[0]}{written}{_SECTION.closers[0]}" if calls else ""


def _expresses(call: ToolCall) -> bool:
    """Whether the dialect can express the call: its id must contain the name; a missing id is built from its index."""
    named = _NAME.fullmatch(call.name or "") is not None
    of_id = _WRITTEN_ID.fullmatch(call.id) if call.id is not None else None
    return named and (call.id is None or (of_id is not None and of_id[1] == call.name)) and is_json_call(call)


KIMI_K2 = dialect_format(
    _K2_CALL,
    ReasoningReader((_SECTION.call_opener,), (_SECTION.call_closer,)),
    name="kimi_k2",
    summary="Kimi K2: special tokens, an id that contains the name, JSON",
    aliases=("kimi", "kimi-k2"),
    models=("*kimi-k2*", "*kimi-latest*"),
    signs=DetectionPatterns(
        calls={r"<\|tool_call_begin\|>\s*(?:functions\.)?[^\s<{]+:\d+": 0.98},
        hints={r"<\|tool_calls?_section_(?:begin|end)\|>": 0.9, r"<\|im_middle\|>": 0.7},
    ),
    calls=_SECTION.calls,
    call_states=_states,
    call_closers=(_SECTION.call_closer,),
    has_common_turns=False,
    turns=(*_HEADERS, *turn_ends("<|im_end|>", "[EOS]", "[EOT]", "[BOS]")),
    turn_states=TURN_STATES,
    homes={**ROLE_HOMES, "tool_declare": "list_intro"},
    tails=_SECTION.tails,
    read_results=_RESULTS,
    write_calls=_write_k2,
    expresses=_expresses,
    ids=True,
)


def _opens(tag: str) -> str:
    return f"<|open|>{tag}<|sep|>"


def _closes(tag: str) -> str:
    return f"<|close|>{tag}<|sep|>"


_WRAPPER = Enclosed(_opens("tools"), _closes("tools"))

_K3_CALL, _ARGUMENT = '<|open|>call tool="', '<|open|>argument key="'

_TYPES = ("string", "number", "boolean", "null", "object", "array")

_SYNTAX = XmlSyntax(
    call=Lookahead(_K3_CALL, NAME, '"', Repeat(r"[^<>\n]", 0, 32), "<|sep|>"),
    call_begins=_K3_CALL,
    shown_call=f'{_K3_CALL}NAME" index="1"<|sep|>',
    call_end="",
    parameter=Lookahead(_ARGUMENT, NAME, '" type="', _TYPES, '"<|sep|>'),
    parameter_begins=_ARGUMENT,
    shown_parameter=f'{_ARGUMENT}NAME" type="string"<|sep|>',
    parameter_end=_closes("argument"),
    opener=_WRAPPER.opener,
    closer=_closes("call"),
    lead=_K3_CALL,
    text_type="string",
    bad_tag=r'[^"<>\n]*"?[^<>\n]*(?:<\|?s?e?p?\|?>?)?',
    anywhere=True,
)

_JSON = re.compile(re.escape(_opens('json type="object"')) + r"(.*)" + re.escape(_closes("json")), re.DOTALL)

_CALL_FOLLOWS = Lookahead(NAME, '"', Repeat(r"[^<>\n]", 0, 32), "<|sep|><")

_CALLS = XmlCalls((XmlCall(_K3_CALL, _closes("call"), _SYNTAX, rule=WRONG_OPENER, ahead=_CALL_FOLLOWS),), (_WRAPPER,))

_HEADER_ENDS = (closing("<|sep|>", ROLE), closing(f"<|sep|>{_opens('response')}", ROLE))
_HEADER = State("message header", SpanKind.MARKUP, _HEADER_ENDS, label="turn_header")

_FRAMES = (_opens("response"), _closes("response"), _closes("message"), "<|end_of_msg|>")


def _unescaped(name: str) -> str:
    return name.replace("&quot;", '"').replace("&amp;", "&")


def _escaped(name: str | None) -> str:
    return (name or "").replace("&", "&amp;").replace('"', "&quot;")


_read_arguments = XmlCallReader(_SYNTAX, unescape=_unescaped)


def _read_call(closed: SpanClosed) -> ParseResult:
    """Read a call with separate arguments, or with all arguments in one JSON object."""
    match = _JSON.search(closed.inner_text)
    if match is None:
        return _read_arguments(closed)
    frame = closed.inner_text[: match.start()] + closed.inner_text[match.end() :]
    outer = _read_arguments(msgspec.structs.replace(closed, inner_text=frame))
    start = closed.span.inner.start
    reading = read_json(match[1])
    arguments_range = Range(*match.span(1)).moved(start)
    is_read = len(reading.nodes) == 1 and (reading.strict or reading.repairable)
    calls = tuple(
        msgspec.structs.replace(
            call,
            arguments=reading.nodes[0].value() if is_read else match[1],
            raw_arguments=match[1],
            arguments_range=arguments_range,
            valid=call.valid and reading.strict,
            recovered=is_read and not (call.valid and reading.strict),
            range=closed.span.range,
            parameters=(),
        )
        for call in outer.calls
    )
    faults = tuple(_placed(fault, arguments_range.start, closed.span.range) for fault in reading.faults)
    return ParseResult(calls=calls, faults=(*outer.faults, *faults), complete=outer.complete)


def _placed(fault: Fault, start: int, span: Range) -> Fault:
    """The fault at its range, or at the whole call if its range is empty."""
    return fault.moved(start) if len(fault.range) else Fault(fault.rule, span, fault.message, fault.hint)


_TYPE_OF = {str: "string", type(None): "null", bool: "boolean", dict: "object", list: "array"}


def _write_k3(calls: Sequence[ToolCall]) -> str:
    pieces = [_WRAPPER.opener]
    for index, call in enumerate(calls, 1):
        pieces.append(f'{_K3_CALL}{_escaped(call.name)}" index="{index}"<|sep|>')
        for name, value in object_of(call.arguments).items():
            kind = _TYPE_OF.get(type(value), "number")
            pieces += (f'{_ARGUMENT}{_escaped(name)}" type="{kind}"<|sep|>', value_text(value), _closes("argument"))
        pieces.append(_closes("call"))
    return "".join((*pieces, _WRAPPER.closer))


KIMI_K3 = xml_format(
    XmlTags(_CALLS, _read_call, _write_k3),
    name="kimi_k3",
    summary='<|open|>call tool="NAME"<|sep|> with typed arguments, in <|open|>tools<|sep|>',
    models=("*kimi-k3*",),
    signs=DetectionPatterns(calls={r'<\|open\|>call tool="': 0.95}, hints={r"<\|(?:open|close)\|>\w+<\|sep\|>": 0.7}),
    results=(),
    reasoning=(ReasoningTag("think", _opens("think"), _closes("think")),),
    turns=(opening('<|open|>message role="', "message header"), *turn_ends(*_FRAMES)),
    turn_states=(_HEADER,),
    is_typed=True,
)
