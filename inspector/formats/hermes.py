"""`hermes`: `<tool_call>` around a JSON object, `<think>` or `<scratch_pad>` before it, ChatML or Llama 3 turns.

Sources: NousResearch/Hermes-Function-Calling, the Hermes 2 Pro, Hermes 3 and Hermes 4 chat templates,
vllm:vllm/tool_parsers/hermes_tool_parser.py.
"""

import math
import re
from collections.abc import Sequence
from types import MappingProxyType

from inspector.formats.format import Format
from inspector.formats.hermes_reading import read_definitions, read_reasoning, read_result
from inspector.formats.hermes_table import HERMES_TABLE
from inspector.formats.json_call import JsonCallReader
from inspector.json_text import write_json
from inspector.model import Json, Role, SpanKind, ToolCall
from inspector.segmenter.events import FormatParser
from inspector.segmenter.machine import Machine

_OPENER, _CLOSER = "<tool_call>\n", "\n</tool_call>"
_SIGNS = (
    (re.compile(r'<tool_call>\s*\{\s*["\']'), 0.9),
    (re.compile(r"\[tool_call\]\s*\{"), 0.9),
    (re.compile(r"<tool_response>|<scratch_pad>|\[inner_monologue\]"), 0.6),
    (re.compile(r"<tool_call>|</tool_call>"), 0.5),
    (re.compile(r"<think>|<\|im_start\|>"), 0.3),
)


def write_calls(calls: Sequence[ToolCall]) -> str:
    """The exact text that a Hermes model emits for these calls, one tag each."""
    return "\n".join(f"{_OPENER}{_payload(call)}{_CLOSER}" for call in calls)


def _payload(call: ToolCall) -> str:
    name, arguments = write_json(call.name, ascii_only=False), write_json(call.arguments, ascii_only=False)
    return f'{{"name": {name}, "arguments": {arguments}}}'


def _expresses(call: ToolCall) -> bool:
    """Ids have no place in this dialect; arguments must be an object of numbers that JSON knows."""
    return bool(call.name) and call.id is None and isinstance(call.arguments, dict) and _is_finite(call.arguments)


def _is_finite(value: Json) -> bool:
    pending = [value]
    while pending:
        match pending.pop():
            case float() as number if not math.isfinite(number):
                return False
            case dict() as members:
                pending += members.values()
            case list() as items:
                pending += items
    return True


def _confidence(sample: str) -> float:
    return max((weight for sign, weight in _SIGNS if sign.search(sample)), default=0.0)


def _new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
    return Machine(HERMES_TABLE, role=role.value, prompt=prompt)


HERMES = Format(
    name="hermes",
    summary="JSON object in <tool_call> tags, ChatML or Llama 3 turns",
    aliases=("nous", "chatml"),
    models=("*hermes*", "*nous*"),
    confidence=_confidence,
    new_parser=_new_parser,
    readers=MappingProxyType(
        {
            SpanKind.TOOL_CALL: JsonCallReader(between="\n</tool_call>\n<tool_call>\n"),
            SpanKind.TOOL_RESULT: read_result,
            SpanKind.TOOL_DEFINITIONS: read_definitions,
            SpanKind.REASONING: read_reasoning,
        }
    ),
    write_calls=write_calls,
    expresses=_expresses,
)
