"""`hermes`: `<tool_call>` around a JSON object, `<think>` or `<scratch_pad>` before it, ChatML or Llama 3 turns.

Sources: NousResearch/Hermes-Function-Calling, the Hermes 2 Pro, Hermes 3 and Hermes 4 chat templates,
vllm:vllm/tool_parsers/hermes_tool_parser.py.
"""

from collections.abc import Sequence
from types import MappingProxyType

from inspector.formats.dialects.hermes_table import CALL_CLOSERS, CALL_OPENERS, HERMES_TABLE
from inspector.formats.format import Format, Signs
from inspector.formats.json_call import JsonCallReader
from inspector.formats.shared_opener import SharedOpenerReader
from inspector.formats.span_readings import ReasoningReader, read_definitions, read_result
from inspector.formats.writing import call_object, is_json_call
from inspector.model import Role, SpanKind, ToolCall
from inspector.segmenter.events import FormatParser
from inspector.segmenter.machine import Machine

_OPENER, _CLOSER = "<tool_call>\n", "\n</tool_call>"
_SIGNS = Signs(
    calls={r'<tool_call>\s*\{\s*["\']': 0.9, r"\[tool_call\]\s*\{": 0.9},
    hints={
        r"<tool_response>|<scratch_pad>|\[inner_monologue\]": 0.6,
        r"<tool_call>|</tool_call>": 0.5,
        r"<think>|<\|im_start\|>": 0.3,
    },
)


def write_calls(calls: Sequence[ToolCall]) -> str:
    """The exact text that a Hermes model emits for these calls, one tag each."""
    return "\n".join(f"{_OPENER}{call_object(call)}{_CLOSER}" for call in calls)


def _expresses(call: ToolCall) -> bool:
    """Ids have no place in this dialect."""
    return call.id is None and is_json_call(call)


def _new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
    return Machine(HERMES_TABLE, role=role.value, prompt=prompt)


HERMES = Format(
    name="hermes",
    summary="JSON object in <tool_call> tags, ChatML or Llama 3 turns",
    aliases=("nous", "chatml"),
    models=("*hermes*", "*nous*", "*smollm*"),
    confidence=_SIGNS,
    new_parser=_new_parser,
    readers=MappingProxyType(
        {
            SpanKind.TOOL_CALL: SharedOpenerReader(
                JsonCallReader(between="\n</tool_call>\n<tool_call>\n"), "a JSON object with a name and arguments"
            ),
            SpanKind.TOOL_RESULT: read_result,
            SpanKind.TOOL_DEFINITIONS: read_definitions,
            SpanKind.REASONING: ReasoningReader(CALL_OPENERS, CALL_CLOSERS),
        }
    ),
    write_calls=write_calls,
    expresses=_expresses,
)
