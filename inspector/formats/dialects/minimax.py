"""`minimax_m1`, `minimax_m2` and `minimax_m3`: the dialects of MiniMax's models.

M1 writes JSON objects in `<tool_calls>`, one per line; M2 `<invoke>` tags in `<minimax:tool_call>`; M3 a tag for each
parameter, every tag after the token `]<]minimax[>[`.

`minimax_m1`: Source: vllm:vllm/tool_parsers/minimax_tool_parser.py and its tests (vLLM 0.17).

`minimax_m2`: Sources: llama.cpp:models/templates/unsloth-MiniMax-M2.jinja,
vllm:tests/tool_parsers/test_minimax_m2_tool_parser.py.

`minimax_m3`: Objects are tags within a tag, arrays a row of `<item>` tags, or a tag that occurs several times.

Sources: vllm:tests/tool_parsers/test_minimax_m3_tool_parser.py,
sglang:python/sglang/srt/function_call/minimax_m3.py.
"""

import re
from collections.abc import Sequence

from weaklink.inspector.formats.chat_turns import turn_ends
from weaklink.inspector.formats.dialect import THINK_TAGS, Enclosed, ReasoningTag, opening
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.call_shape import call_object, value_text
from weaklink.inspector.formats.json.calls import JsonCallReader
from weaklink.inspector.formats.json.format import json_format
from weaklink.inspector.formats.xml.calls import XmlCallReader
from weaklink.inspector.formats.xml.format import XmlCall, XmlCalls, XmlTags, xml_format
from weaklink.inspector.formats.xml.syntax import NAME, XmlSyntax
from weaklink.inspector.formats.xml.tag_families import invoke_tags
from weaklink.inspector.json_text import object_of
from weaklink.inspector.model import Json, ToolCall
from weaklink.inspector.rules.markers import WRONG_OPENER
from weaklink.inspector.segmenter.table import Lookahead, Repeat

_TURNS = (opening("]~b]", "turn_header"), *turn_ends("]~!b[", "[e~["))
MINIMAX_M2 = xml_format(
    invoke_tags(Enclosed("<minimax:tool_call>", "</minimax:tool_call>")),
    name="minimax_m2",
    summary="<invoke name=NAME> with <parameter name=KEY> tags, in <minimax:tool_call> tags",
    aliases=("minimax",),
    models=("*minimax-m2*",),
    signs=DetectionPatterns(
        calls={r"<minimax:tool_call>\s*<invoke": 0.95}, hints={r"</?minimax:tool_call>": 0.8, r"\]~b\]": 0.5}
    ),
    results=(Enclosed("<response>", "</response>"),),
    turns=_TURNS,
)

_TOKEN = "]<]minimax[>["
_WRAPPER = Enclosed(f"{_TOKEN}<tool_call>", f"{_TOKEN}</tool_call>")
_INVOKE, _INVOKE_END = f'{_TOKEN}<invoke name="', f"{_TOKEN}</invoke>"

# Any name but those of the tags around parameters.
_CHARACTER = r"(?:(?!(?<=[</])(?:invoke|tool_call)>)[\w.-])"
_KEY = Repeat(_CHARACTER, 1, 128)
_TAG = re.compile(re.escape(_TOKEN) + rf"<(/?)({_CHARACTER}{{1,128}})>")
_MAX_LEVELS = 64

_SYNTAX = XmlSyntax(
    call=Lookahead(_INVOKE, NAME, '">'),
    call_begins=_INVOKE,
    shown_call=f'{_INVOKE}NAME">',
    call_end="",
    parameter=Lookahead(f"{_TOKEN}<", _KEY, ">"),
    parameter_begins=f"{_TOKEN}<",
    shown_parameter=f"{_TOKEN}<NAME>",
    parameter_end=f"{_TOKEN}</",
    end_tag=Lookahead(f"{_TOKEN}</", _KEY, ">"),
    opener=_WRAPPER.opener,
    closer=_INVOKE_END,
    lead=_INVOKE,
    anywhere=True,
)

_CALLS = XmlCalls(
    (XmlCall(_INVOKE, _INVOKE_END, _SYNTAX, rule=WRONG_OPENER, ahead=Lookahead(NAME, '">', Repeat(r"\s"), "]")),),
    (_WRAPPER,),
)

MINIMAX_M1 = json_format(
    name="minimax_m1",
    summary="<tool_calls> around JSON objects, one per line",
    models=("*minimax-m1*", "*minimax-text*"),
    calls=(Enclosed("<tool_calls>", "</tool_calls>"),),
    turns=turn_ends("<end_of_sentence>", "[e~["),
    signs=DetectionPatterns(calls={r"<tool_calls>\s*\{": 0.85}),
    reader=JsonCallReader(is_row=True),
    write_calls=lambda calls: "<tool_calls>\n" + "".join(f"{call_object(call)}\n" for call in calls) + "</tool_calls>",
)


def _nested(text: str) -> Json:
    """The object or array that the tags in a value form; None if they do not form one."""
    stack: list[tuple[str, list[tuple[str, Json]], int]] = [("", [], 0)]
    for tag in _TAG.finditer(text):
        if not tag[1]:
            stack.append((tag[2], [], tag.end()))
        elif len(stack) > 1 and stack[-1][0] == tag[2]:
            name, members, start = stack.pop()
            stack[-1][1].append((name, _value(members) if members else text[start : tag.start()]))
        else:
            return None
        if len(stack) > _MAX_LEVELS:
            return None
    members = stack[0][1]
    return _value(members) if len(stack) == 1 and members else None


def _value(members: list[tuple[str, Json]]) -> Json:
    if all(name == "item" for name, _ in members):
        return [value for _, value in members]
    by_name: dict[str, list[Json]] = {}
    for name, value in members:
        by_name.setdefault(name, []).append(value)
    return {name: values if len(values) > 1 else values[0] for name, values in by_name.items()}


def _write_calls(calls: Sequence[ToolCall]) -> str:
    written = (f'{_INVOKE}{call.name}">{_write_value(object_of(call.arguments))}{_INVOKE_END}' for call in calls)
    return "\n".join((_WRAPPER.opener, *written, _WRAPPER.closer))


def _write_value(value: Json) -> str:
    match value:
        case dict():
            return "".join(f"{_TOKEN}<{key}>{_write_value(inner)}{_TOKEN}</{key}>" for key, inner in value.items())
        case list():
            return "".join(f"{_TOKEN}<item>{_write_value(inner)}{_TOKEN}</item>" for inner in value)
        case _:
            return value_text(value)


MINIMAX_M3 = xml_format(
    XmlTags(_CALLS, XmlCallReader(_SYNTAX, nested=_nested), _write_calls),
    name="minimax_m3",
    summary="<invoke name=NAME> around a tag for each parameter, every tag after ]<]minimax[>[",
    models=("*minimax-m3*",),
    signs=DetectionPatterns(
        calls={re.escape(f"{_TOKEN}<tool_call>"): 0.95, re.escape(f'{_TOKEN}<invoke name="'): 0.9},
        hints={re.escape(_TOKEN): 0.9},
    ),
    results=(Enclosed("<response>", "</response>"),),
    reasoning=(ReasoningTag("think", "<mm:think>", "</mm:think>"), *THINK_TAGS),
    turns=_TURNS,
    is_typed=True,
)
