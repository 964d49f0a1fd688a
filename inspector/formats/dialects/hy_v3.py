"""`hy_v3`: `<tool_call>NAME<tool_sep>`, then `<arg_key>` and `<arg_value>` pairs, in `<tool_calls>` tags (Hunyuan Hy3).

Sources: vllm:tests/tool_parsers/test_hy_v3_tool_parser.py.
"""

from collections.abc import Sequence

from inspector.formats.arg_tags import CLOSER, OPENER, arg_syntax
from inspector.formats.dialect import Enclosed, dialect_table
from inspector.formats.format import Signs
from inspector.formats.xml_format import arguments_of, value_text, xml_format
from inspector.formats.xml_parameters import XmlCallReader
from inspector.formats.xml_table import XmlCall, XmlCalls
from inspector.model import ToolCall
from inspector.rules.markers import WRONG_OPENER

_SYNTAX = arg_syntax(separator="<tool_sep>")
_WRAPPER = Enclosed("<tool_calls>", "</tool_calls>")
_CALLS = XmlCalls((XmlCall(OPENER, CLOSER, _SYNTAX, rule=WRONG_OPENER),), (_WRAPPER,))


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
    models=("*hy3*", "*hy-v3*", "*hunyuan-3*"),
    signs=Signs(calls={r"<tool_call>[^<>\n]+<tool_sep>": 0.95}, hints={r"<tool_sep>": 0.6}),
    calls=_CALLS,
    table=dialect_table(
        calls=_CALLS.ways,
        call_states=_CALLS.states,
        call_closers=_CALLS.closers,
        results=(Enclosed("<tool_response>", "</tool_response>"),),
    ),
    reader=XmlCallReader(_SYNTAX),
    write_calls=_write_calls,
)
