"""`deepseek_v3`: calls in a section of special tokens, the name behind `function`, the arguments in a fence (V3, R1).

Sources: vllm:examples/tool_chat_template_deepseekv3.jinja, vllm:vllm/tool_parsers/deepseekv3_tool_parser.py,
llama.cpp:models/templates/deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja.
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
_FUNCTION = rf"\s*function\s*{SEPARATOR}"
_FENCE = r"\s*```(?:json|python)?\n?"
_CALL = NamedCallReader(
    header=re.compile(rf"function{SEPARATOR}{_NAME}\n```(?:json|python)\n"),
    wanted=f"`function{SEPARATOR}NAME`, a line's end and the arguments in a fence of three backticks and `json`",
    loose=(
        LooseHeader(re.compile(rf"{_FUNCTION}\s*{_NAME}{_FENCE}"), "its white space or fence is another"),
        LooseHeader(re.compile(rf"{_FUNCTION}\s*{_NAME}\s*"), "it lacks the fence around the arguments"),
        LooseHeader(
            re.compile(rf"(?!{_FUNCTION})\s*{_NAME}\s*(?:{SEPARATOR})?{_FENCE}"), f"it lacks `function{SEPARATOR}`"
        ),
        LooseHeader(re.compile(rf"(?!{_FUNCTION})\s*{_NAME}\s*{SEPARATOR}\s*(?=\{{)"), "it is that of DeepSeek V3.1"),
    ),
    code=frozenset({"python"}),
    code_header=re.compile(r"[\s\S]*```python\n?"),
)


def _write_calls(calls: Sequence[ToolCall]) -> str:
    written = "\n".join(
        f"{SECTION.call_opener}function{SEPARATOR}{call.name}\n```json\n{json_of(call.arguments)}\n```"
        f"{SECTION.call_closer}"
        for call in calls
    )
    return f"{SECTION.openers[0]}{written}{SECTION.closers[0]}" if calls else ""


def _expresses(call: ToolCall) -> bool:
    """A name must be one that the header can hold."""
    return call.id is None and re.fullmatch(_NAME, call.name or "") is not None and is_json_call(call)


def _new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
    return Machine(DEEPSEEK_TABLE, role=role.value, prompt=prompt)


DEEPSEEK_V3 = Format(
    name="deepseek_v3",
    summary="DeepSeek V3 and R1: special tokens, the name, then JSON in a fence",
    aliases=("deepseek", "deepseekv3", "deepseek_r1", "deepseekr1"),
    models=("*deepseek-v3", "*deepseek-v3-*", "*deepseek_v3*", "*deepseek-r1*", "*deepseek_r1*", "*deepseek*"),
    confidence=Signs(
        calls={rf"{SECTION.call_opener}\s*function{SEPARATOR}": 0.98},
        hints={"<｜tool▁(?:calls|outputs)▁(?:begin|end)｜>": 0.7, r"<｜(?:User|Assistant)｜>": 0.6},
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
