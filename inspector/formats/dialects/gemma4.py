"""`gemma4`: `<|tool_call>call:f{k:<|"|>text<|"|>,n:1}<tool_call|>` in turns of `<|turn>`, thoughts in a channel.

Sources: llama.cpp:models/templates/gemma4.jinja, vllm:tests/tool_parsers/test_gemma4_tool_parser.py.
"""

from collections.abc import Sequence
from types import MappingProxyType

from inspector.formats.dialect import Enclosed
from inspector.formats.format import Format, Signs
from inspector.formats.gemma_call import GemmaCallReader, GemmaDefinitionReader, read_gemma_result
from inspector.formats.gemma_table import gemma_table
from inspector.formats.gemma_writing import gemma_text, is_gemma_call
from inspector.formats.reasoning_tags import ReasoningTag
from inspector.formats.span_readings import ReasoningReader
from inspector.model import Role, SpanKind, ToolCall
from inspector.segmenter.events import FormatParser
from inspector.segmenter.machine import Machine

_OPENER, _CLOSER, _DELIMITER = "<|tool_call>", "<tool_call|>", '<|"|>'
_TABLE = gemma_table(
    call=Enclosed(_OPENER, _CLOSER),
    result=Enclosed("<|tool_response>", "<tool_response|>"),
    declaration=Enclosed("<|tool>", "<tool|>"),
    delimiter=_DELIMITER,
    reasoning=(
        ReasoningTag("think", "<|channel>thought", "<channel|>"),
        ReasoningTag("think", "<|channel>", "<channel|>", instead_of="<|channel>thought"),
    ),
)
_SIGNS = Signs(
    calls={r"<\|tool_call>\s*call:": 0.95},
    hints={r"<\|tool_call>|<tool_call\|>": 0.7, r"<\|turn>|<\|channel>thought": 0.5},
)


def _write_calls(calls: Sequence[ToolCall]) -> str:
    return "".join(f"{_OPENER}call:{call.name}{gemma_text(call.arguments, _DELIMITER)}{_CLOSER}" for call in calls)


def _expresses(call: ToolCall) -> bool:
    return is_gemma_call(call, _DELIMITER)


def _new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
    return Machine(_TABLE, role=role.value, prompt=prompt)


GEMMA4 = Format(
    name="gemma4",
    summary='<|tool_call>call:f{k:<|"|>v<|"|>}<tool_call|>: Gemma 4',
    aliases=("gemma-4",),
    models=("*gemma-4*", "*gemma4*"),
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
