"""`hunyuan` and `hy_v3`: the dialects of Tencent's models.

Hunyuan A13B writes an array of call objects in `<tool_calls>`, Hy3 a bare name and `<arg_key>`, `<arg_value>` pairs.

`hunyuan`: Source: vllm:vllm/tool_parsers/hunyuan_a13b_tool_parser.py and its tests.

`hy_v3`: Sources: vllm:tests/tool_parsers/test_hy_v3_tool_parser.py.
"""

from collections.abc import Sequence

from inspector.formats.dialect import Enclosed, dialect_table
from inspector.formats.format import DetectionPatterns
from inspector.formats.json.call_shape import call_array
from inspector.formats.json.calls import JsonCallReader
from inspector.formats.json.format import JsonMarkers, json_format
from inspector.formats.xml.calls import XmlCallReader
from inspector.formats.xml.format import XmlCall, XmlCalls, arguments_of, value_text, xml_format
from inspector.formats.xml.tag_families import CLOSER, OPENER, arg_syntax
from inspector.model import ToolCall
from inspector.rules.markers import WRONG_OPENER

_SYNTAX = arg_syntax(separator="<tool_sep>")
_WRAPPER = Enclosed("<tool_calls>", "</tool_calls>")
_CALLS = XmlCalls((XmlCall(OPENER, CLOSER, _SYNTAX, rule=WRONG_OPENER),), (_WRAPPER,))

HUNYUAN = json_format(
    name="hunyuan",
    summary="<tool_calls>[...]</tool_calls> after <think> and <answer>",
    aliases=(),
    models=("*hunyuan*",),
    markers=JsonMarkers((Enclosed("<tool_calls>", "</tool_calls>"),)),
    signs=DetectionPatterns(calls={r"<tool_calls>\s*\[": 0.78}),
    reader=JsonCallReader(is_array=True),
    write_calls=lambda calls: f"<tool_calls>{call_array(calls)}</tool_calls>",
)


def _write_calls(calls: Sequence[ToolCall]) -> str:
    return "\n".join((_WRAPPER.opener, *map(_write_call, calls), _WRAPPER.closer))


def _write_call(call: ToolCall) -> str:
    pairs = (
        f"<arg_key>{name}</arg_key>\n<arg_value>{value_text(value)}</arg_value>\n"
        for name, value in arguments_of(call).items()
    )
    return f"{OPENER}{call.name}<tool_sep>\n{''.join(pairs)}{CLOSER}"


HY_V3 = xml_format(
    name="hy_v3",
    summary="<tool_call>NAME<tool_sep> with <arg_key> and <arg_value> pairs, in <tool_calls> tags",
    aliases=("hunyuan_v3", "hy3"),
    models=("*hy3*", "*hy-v3*", "*hunyuan-3*", "*hunyuan-v3*"),
    signs=DetectionPatterns(calls={r"<tool_call>[^<>\n]+<tool_sep>": 0.95}, hints={r"<tool_sep>": 0.6}),
    calls=_CALLS,
    table=dialect_table(
        calls=_CALLS.transitions,
        call_states=_CALLS.states,
        call_closers=_CALLS.closers,
        results=(Enclosed("<tool_response>", "</tool_response>"),),
    ),
    reader=XmlCallReader(_SYNTAX),
    write_calls=_write_calls,
)
