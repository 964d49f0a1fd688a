"""Dialects that consist of a single declaration: calls with parameters in tags.

`dots`: `<invoke name="NAME">` with `<parameter name="KEY">` tags, or a JSON object, in `<dots_function_call>` tags.

Sources: vllm:tests/tool_parsers/test_dots_tool_parser.py, sglang:python/sglang/srt/function_call/dots_detector.py.

`seed_oss`: `<function=NAME>` with `<parameter=KEY>` tags, in `<seed:tool_call>` tags; values are on the tags' line.

Sources: llama.cpp:models/templates/ByteDance-Seed-OSS.jinja, vllm:tests/tool_parsers/test_seed_oss_tool_parser.py.

`glm45`: `<tool_call>NAME`, then `<arg_key>` and `<arg_value>` pairs (GLM-4.5, 4.6; 4.7 without line feeds).

Sources: llama.cpp:models/templates/GLM-4.6.jinja, vllm:tests/tool_parsers/test_glm4_moe_tool_parser.py,
vllm:tests/tool_parsers/test_glm47_moe_tool_parser.py.
"""

from collections.abc import Sequence
from types import MappingProxyType

from inspector.formats.chat_turns import TURN_STATES, TURN_TRANSITIONS, role_tokens, turn_ends
from inspector.formats.dialect import Enclosed, ReasoningTag, dialect_table, opening
from inspector.formats.format import DetectionPatterns
from inspector.formats.json.calls import JsonCallReader
from inspector.formats.xml import tag_families
from inspector.formats.xml.calls import XmlCallReader
from inspector.formats.xml.format import LabelledReader, XmlCall, XmlCalls, arguments_of, value_text, xml_format
from inspector.model import ToolCall

_WRAPPER = Enclosed("<dots_function_call>", "</dots_function_call>")
_DOTS_TAGS = tag_families.InvokeTags(_WRAPPER)
_DOTS_CALLS = XmlCalls((_DOTS_TAGS.call,), (_WRAPPER,), takes_json=True)
DOTS = xml_format(
    name="dots",
    summary="<invoke name=NAME> with <parameter name=KEY> tags, in <dots_function_call> tags",
    aliases=(),
    models=("*dots*",),
    signs=DetectionPatterns(calls={r"<dots_function_call>\s*[<{]": 0.95}, hints={r"</?dots_function_call>": 0.8}),
    calls=_DOTS_CALLS,
    table=dialect_table(
        calls=_DOTS_CALLS.transitions,
        call_states=_DOTS_CALLS.states,
        call_closers=_DOTS_CALLS.closers,
        results=(Enclosed("<tool_response>", "</tool_response>"),),
    ),
    reader=LabelledReader(MappingProxyType({"tool_call": _DOTS_TAGS.reader, "json_call": JsonCallReader()})),
    write_calls=_DOTS_TAGS.writer,
)
_SEED_TAGS = tag_families.FunctionTags("<seed:tool_call>", "</seed:tool_call>", own_lines=False)
_SEED_CALLS = _SEED_TAGS.calls
SEED_OSS = xml_format(
    name="seed_oss",
    summary="<function=NAME> with <parameter=KEY> tags, in <seed:tool_call> tags",
    aliases=("seed",),
    models=("*seed-oss*",),
    signs=DetectionPatterns(
        calls={r"<seed:tool_call>\s*<function=": 0.95}, hints={r"</?seed:(?:tool_call|think)>": 0.8}
    ),
    calls=_SEED_CALLS,
    table=dialect_table(
        calls=_SEED_CALLS.transitions,
        call_states=_SEED_CALLS.states,
        call_closers=_SEED_CALLS.closers,
        reasoning=(ReasoningTag("think", "<seed:think>", "</seed:think>"),),
        turns=(opening("<seed:bos>", "turn_header"), *turn_ends("<seed:eos>"), *TURN_TRANSITIONS),
        turn_states=TURN_STATES,
    ),
    reader=_SEED_TAGS.reader,
    write_calls=_SEED_TAGS.writer,
)
_SYNTAX = tag_families.arg_syntax()
_GLM_CALLS = XmlCalls((XmlCall(tag_families.OPENER, tag_families.CLOSER, _SYNTAX),))
_ROLES, _ROLE_STATE = role_tokens("<|", "|>", "system", "user", "assistant", "observation")


def _write_calls(calls: Sequence[ToolCall]) -> str:
    return "\n".join(map(_write_call, calls))


def _write_call(call: ToolCall) -> str:
    pairs = (
        f"<arg_key>{name}</arg_key>\n<arg_value>{value_text(value)}</arg_value>\n"
        for name, value in arguments_of(call).items()
    )
    return f"{tag_families.OPENER}{call.name}\n{''.join(pairs)}{tag_families.CLOSER}"


GLM45 = xml_format(
    name="glm45",
    summary="<tool_call>NAME with <arg_key> and <arg_value> pairs",
    aliases=("glm", "glm46", "glm47", "glm4_moe", "laguna", "poolside_v1", "ling3", "spark25"),
    models=(
        *("*glm-4.[5-9]*", "*glm-5*", "*glm4-moe*", "*macaron-v1*", "*laguna*", "*ling-3*", "*ling3*", "*ring-2.6*"),
        *("*spark-x2.5*", "*spark2.5*"),
    ),
    signs=DetectionPatterns(
        calls={r"<tool_call>[\w.-]+\s*<arg_key>": 0.95, r"<tool_call>[\w.-]+\s*</tool_call>": 0.9},
        hints={r"</?arg_(?:key|value)>": 0.7, r"<\|observation\|>|\[gMASK\]": 0.5},
    ),
    calls=_GLM_CALLS,
    table=dialect_table(
        calls=_GLM_CALLS.transitions,
        call_states=_GLM_CALLS.states,
        call_closers=_GLM_CALLS.closers,
        results=(Enclosed("<tool_response>", "</tool_response>"),),
        turns=(*_ROLES, *turn_ends("[gMASK]", "<sop>"), *TURN_TRANSITIONS),
        turn_states=(_ROLE_STATE, *TURN_STATES),
    ),
    reader=tag_families.SharedOpenerReader(
        XmlCallReader(_SYNTAX),
        "a name and `<arg_key>` pairs",
        (tag_families.FUNCTION_BODY, tag_families.SEPARATED_BODY, tag_families.PYTHON_BODY),
    ),
    write_calls=_write_calls,
)
