"""`functiongemma`: `<start_function_call>call:f{k:<escape>text<escape>,n:1}<end_function_call>` in Gemma turns.

Sources: vllm:tests/tool_parsers/test_functiongemma_tool_parser.py and
vllm:examples/tool_chat_template_functiongemma.jinja.
"""

from collections.abc import Sequence
from types import MappingProxyType

from inspector.formats.dialect import Enclosed
from inspector.formats.format import Format, Signs
from inspector.formats.gemma_call import GemmaCallReader, GemmaDefinitionReader, read_gemma_result
from inspector.formats.gemma_table import gemma_table
from inspector.formats.gemma_writing import gemma_text, is_gemma_call
from inspector.formats.span_readings import ReasoningReader
from inspector.model import Role, SpanKind, ToolCall
from inspector.segmenter.events import FormatParser
from inspector.segmenter.machine import Machine

_OPENER, _CLOSER, _DELIMITER = "<start_function_call>", "<end_function_call>", "<escape>"
_TABLE = gemma_table(
    call=Enclosed(_OPENER, _CLOSER),
    result=Enclosed("<start_function_response>", "<end_function_response>"),
    declaration=Enclosed("<start_function_declaration>", "<end_function_declaration>"),
    delimiter=_DELIMITER,
)
_SIGNS = Signs(calls={r"<start_function_call>\s*call:": 0.95}, hints={r"<(?:start|end)_function_\w+>|<escape>": 0.7})


def _write_calls(calls: Sequence[ToolCall]) -> str:
    return "".join(f"{_OPENER}call:{call.name}{gemma_text(call.arguments, _DELIMITER)}{_CLOSER}" for call in calls)


def _expresses(call: ToolCall) -> bool:
    return is_gemma_call(call, _DELIMITER)


def _new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
    return Machine(_TABLE, role=role.value, prompt=prompt)


FUNCTIONGEMMA = Format(
    name="functiongemma",
    summary="<start_function_call>call:f{k:<escape>v<escape>}<end_function_call>",
    aliases=("function_gemma",),
    models=("*functiongemma*", "*function-gemma*"),
    confidence=_SIGNS,
    new_parser=_new_parser,
    readers=MappingProxyType(
        {
            SpanKind.TOOL_CALL: GemmaCallReader(_DELIMITER),
            SpanKind.TOOL_RESULT: read_gemma_result,
            SpanKind.TOOL_DEFINITIONS: GemmaDefinitionReader(_DELIMITER),
            SpanKind.REASONING: ReasoningReader((_OPENER,), (_CLOSER,)),
        }
    ),
    write_calls=_write_calls,
    expresses=_expresses,
)
