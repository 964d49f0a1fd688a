"""`deepseek_v31`: calls in a section of special tokens, the name, a separator, and bare JSON (DeepSeek V3.1).

Sources: llama.cpp:models/templates/deepseek-ai-DeepSeek-V3.1.jinja, vllm:vllm/tool_parsers/deepseekv31_tool_parser.py.
"""

import re
from collections.abc import Sequence
from types import MappingProxyType

from inspector.formats.dialects.deepseek_table import DEEPSEEK_TABLE, SECTION, SEPARATOR
from inspector.formats.format import Format, Signs
from inspector.formats.named_call import LooseHeader, NamedCallReader
from inspector.formats.span_readings import ReasoningReader, read_definitions, read_result
from inspector.formats.writing import is_json_call, json_of
from inspector.model import Role, SpanKind, ToolCall
from inspector.segmenter.events import FormatParser
from inspector.segmenter.machine import Machine

_NAME = r"(?P<name>[^\s<`{｜]++)"
_V3 = rf"\s*function\s*{SEPARATOR}\s*{_NAME}\s*"
_CALL = NamedCallReader(
    header=re.compile(rf"(?!function{SEPARATOR}[^\s{{]+\s*(?:```|\{{)){_NAME}{SEPARATOR}"),
    wanted=f"`NAME{SEPARATOR}`, then the arguments",
    loose=(
        LooseHeader(re.compile(rf"{_V3}```(?:json|python)?\n?"), "it is that of DeepSeek V3"),
        LooseHeader(re.compile(rf"{_V3}(?=\{{)"), f"it begins with `function{SEPARATOR}`, as that of DeepSeek V3"),
        LooseHeader(re.compile(rf"\s*{_NAME}\s*{SEPARATOR}"), "white space stands in it"),
        LooseHeader(re.compile(rf"\s*{_NAME}\s*(?=\{{|\Z)"), f"it lacks `{SEPARATOR}`"),
    ),
)


def _write_calls(calls: Sequence[ToolCall]) -> str:
    written = "".join(
        f"{SECTION.call_opener}{call.name}{SEPARATOR}{json_of(call.arguments)}{SECTION.call_closer}" for call in calls
    )
    return f"{SECTION.openers[0]}{written}{SECTION.closers[0]}" if calls else ""


def _expresses(call: ToolCall) -> bool:
    """A name must be one that the header can hold."""
    return call.id is None and re.fullmatch(_NAME, call.name or "") is not None and is_json_call(call)


def _new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
    return Machine(DEEPSEEK_TABLE, role=role.value, prompt=prompt)


DEEPSEEK_V31 = Format(
    name="deepseek_v31",
    summary="DeepSeek V3.1: special tokens, the name, a separator, bare JSON",
    aliases=("deepseekv31", "deepseek_v3.1", "deepseek-v3.1"),
    models=("*deepseek-v3.1*", "*deepseek-v31*", "*deepseek_v3.1*", "*deepseek_v31*", "*deepseek-v3.2-exp*"),
    confidence=Signs(
        calls={rf"{SECTION.call_opener}(?!\s*function{SEPARATOR})[^\s<{{]+{SEPARATOR}": 0.98},
        hints={"<｜tool▁(?:calls|outputs)▁(?:begin|end)｜>": 0.65, r"<｜(?:User|Assistant)｜>": 0.55},
    ),
    new_parser=_new_parser,
    readers=MappingProxyType(
        {
            SpanKind.TOOL_CALL: _CALL,
            SpanKind.TOOL_RESULT: read_result,
            SpanKind.TOOL_DEFINITIONS: read_definitions,
            SpanKind.REASONING: ReasoningReader((SECTION.call_opener,), (SECTION.call_closer,)),
        }
    ),
    write_calls=_write_calls,
    expresses=_expresses,
)
