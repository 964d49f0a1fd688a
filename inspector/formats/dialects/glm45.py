"""`glm45`: `<tool_call>NAME`, then `<arg_key>` and `<arg_value>` pairs (GLM-4.5, 4.6; 4.7 without line feeds).

Sources: llama.cpp:models/templates/GLM-4.6.jinja, vllm:tests/tool_parsers/test_glm4_moe_tool_parser.py,
vllm:tests/tool_parsers/test_glm47_moe_tool_parser.py.
"""

from collections.abc import Sequence

from inspector.formats.chat_turns import TURN_STATES, TURN_TRANSITIONS, role_tokens, turn_ends
from inspector.formats.dialect import Enclosed, dialect_table
from inspector.formats.format import DetectionPatterns
from inspector.formats.xml.calls import XmlCallReader
from inspector.formats.xml.format import XmlCall, XmlCalls, arguments_of, value_text, xml_format
from inspector.formats.xml.tag_families import (
    CLOSER,
    FUNCTION_BODY,
    OPENER,
    PYTHON_BODY,
    SEPARATED_BODY,
    SharedOpenerReader,
    arg_syntax,
)
from inspector.model import ToolCall

_SYNTAX = arg_syntax()
_CALLS = XmlCalls((XmlCall(OPENER, CLOSER, _SYNTAX),))
_ROLES, _ROLE_STATE = role_tokens("<|", "|>", "system", "user", "assistant", "observation")


def _write_calls(calls: Sequence[ToolCall]) -> str:
    return "\n".join(map(_write_call, calls))


def _write_call(call: ToolCall) -> str:
    pairs = (
        f"<arg_key>{name}</arg_key>\n<arg_value>{value_text(value)}</arg_value>\n"
        for name, value in arguments_of(call).items()
    )
    return f"{OPENER}{call.name}\n{''.join(pairs)}{CLOSER}"


GLM45 = xml_format(
    name="glm45",
    summary="<tool_call>NAME with <arg_key> and <arg_value> pairs",
    aliases=("glm", "glm46", "glm47", "glm4_moe"),
    models=("*glm-4.5*", "*glm-4.6*", "*glm-4.7*", "*glm-5*", "*glm4_moe*"),
    signs=DetectionPatterns(
        calls={r"<tool_call>[\w.-]+\s*<arg_key>": 0.95, r"<tool_call>[\w.-]+\s*</tool_call>": 0.9},
        hints={r"</?arg_(?:key|value)>": 0.7, r"<\|observation\|>|\[gMASK\]": 0.5},
    ),
    calls=_CALLS,
    table=dialect_table(
        calls=_CALLS.ways,
        call_states=_CALLS.states,
        call_closers=_CALLS.closers,
        results=(Enclosed("<tool_response>", "</tool_response>"),),
        turns=(*_ROLES, *turn_ends("[gMASK]", "<sop>"), *TURN_TRANSITIONS),
        turn_states=(_ROLE_STATE, *TURN_STATES),
    ),
    reader=SharedOpenerReader(
        XmlCallReader(_SYNTAX), "a name and `<arg_key>` pairs", (FUNCTION_BODY, SEPARATED_BODY, PYTHON_BODY)
    ),
    write_calls=_write_calls,
)
