"""`minimax_m3`: `<invoke name="NAME">` around a tag for each parameter, every tag behind the token `]<]minimax[>[`.

Objects are tags within a tag, arrays a row of `<item>` tags, or a tag that stands several times.

Sources: vllm:tests/tool_parsers/test_minimax_m3_tool_parser.py,
sglang:python/sglang/srt/function_call/minimax_m3.py.
"""

import re
from collections.abc import Sequence

from inspector.formats.chat_turns import TURN_STATES, TURN_TRANSITIONS
from inspector.formats.dialect import Enclosed, dialect_table, opening
from inspector.formats.format import Signs
from inspector.formats.reasoning_tags import ReasoningTag
from inspector.formats.role_tokens import turn_ends
from inspector.formats.writing import json_of
from inspector.formats.xml_format import arguments_of, xml_format
from inspector.formats.xml_parameters import XmlCallReader
from inspector.formats.xml_syntax import NAME, XmlSyntax
from inspector.formats.xml_table import XmlCall, XmlCalls
from inspector.model import Json, ToolCall
from inspector.rules.markers import WRONG_OPENER
from inspector.segmenter.ahead import Ahead, Repeat

_TOKEN = "]<]minimax[>["
_WRAPPER = Enclosed(f"{_TOKEN}<tool_call>", f"{_TOKEN}</tool_call>")
_INVOKE, _INVOKE_END = f'{_TOKEN}<invoke name="', f"{_TOKEN}</invoke>"
# Any name but those of the tags around parameters.
_CHARACTER = r"(?:(?!(?<=[</])(?:invoke|tool_call)>)[\w.-])"
_KEY = Repeat(_CHARACTER, 1, 128)
_TAG = re.compile(re.escape(_TOKEN) + rf"<(/?)({_CHARACTER}{{1,128}})>")
_MOST_LEVELS = 64
_SYNTAX = XmlSyntax(
    call=Ahead(_INVOKE, NAME, '">'),
    call_begins=_INVOKE,
    shown_call=f'{_INVOKE}NAME">',
    call_end="",
    parameter=Ahead(f"{_TOKEN}<", _KEY, ">"),
    parameter_begins=f"{_TOKEN}<",
    shown_parameter=f"{_TOKEN}<NAME>",
    parameter_end=f"{_TOKEN}</",
    end_tag=Ahead(f"{_TOKEN}</", _KEY, ">"),
    opener=_WRAPPER.opener,
    closer=_INVOKE_END,
    lead=_INVOKE,
    anywhere=True,
)
_CALLS = XmlCalls(
    (XmlCall(_INVOKE, _INVOKE_END, _SYNTAX, rule=WRONG_OPENER, ahead=Ahead(NAME, '">', Repeat(r"\s"), "]")),),
    (_WRAPPER,),
)


def _nested(text: str) -> Json:
    """The object or array that the tags in a value make; None where they make none."""
    stack: list[tuple[str, list[tuple[str, Json]], int]] = [("", [], 0)]
    for tag in _TAG.finditer(text):
        if not tag[1]:
            stack.append((tag[2], [], tag.end()))
        elif len(stack) > 1 and stack[-1][0] == tag[2]:
            name, members, start = stack.pop()
            stack[-1][1].append((name, _value(members) if members else text[start : tag.start()]))
        else:
            return None
        if len(stack) > _MOST_LEVELS:
            return None
    members = stack[0][1]
    return _value(members) if len(stack) == 1 and members else None


def _value(members: list[tuple[str, Json]]) -> Json:
    if all(name == "item" for name, _ in members):
        return [value for _, value in members]
    found: dict[str, list[Json]] = {}
    for name, value in members:
        found.setdefault(name, []).append(value)
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


def _write_calls(calls: Sequence[ToolCall]) -> str:
    return "\n".join((_WRAPPER.opener, *map(_write_call, calls), _WRAPPER.closer))


def _write_call(call: ToolCall) -> str:
    return f'{_INVOKE}{call.name}">{_write_value(arguments_of(call))}{_INVOKE_END}'


def _write_value(value: Json) -> str:
    match value:
        case dict():
            return "".join(f"{_TOKEN}<{key}>{_write_value(inner)}{_TOKEN}</{key}>" for key, inner in value.items())
        case list():
            return "".join(f"{_TOKEN}<item>{_write_value(inner)}{_TOKEN}</item>" for inner in value)
        case str():
            return value
        case _:
            return json_of(value)


MINIMAX_M3 = xml_format(
    name="minimax_m3",
    summary="<invoke name=NAME> around a tag for each parameter, every tag behind ]<]minimax[>[",
    aliases=(),
    models=("*minimax-m3*",),
    signs=Signs(calls={re.escape(f"{_TOKEN}<tool_call>"): 0.95}, hints={re.escape(_TOKEN): 0.9}),
    calls=_CALLS,
    table=dialect_table(
        calls=_CALLS.ways,
        call_states=_CALLS.states,
        call_closers=_CALLS.closers,
        results=(Enclosed("<response>", "</response>"),),
        reasoning=(
            ReasoningTag("think", "<mm:think>", "</mm:think>"),
            ReasoningTag("think", "<think>", "</think>"),
        ),
        turns=(opening("]~b]", "turn_header"), *turn_ends("]~!b[", "[e~["), *TURN_TRANSITIONS),
        turn_states=TURN_STATES,
    ),
    reader=XmlCallReader(_SYNTAX, nested=_nested),
    write_calls=_write_calls,
    is_typed=True,
)
