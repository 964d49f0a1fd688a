"""`qwen`: the Hermes wire with its newlines (Qwen 2.5, QwQ, Qwen 3), and Qwen-Agent's older marks between flowers.

Results stand in a user turn here. Sources: QwenLM/Qwen-Agent:qwen_agent/llm/fncall_prompts (nous_fncall_prompt.py,
qwen_fncall_prompt.py), the Qwen 2.5 and Qwen 3 chat templates, sglang:srt/function_call/qwen25_detector.py.
"""

from collections.abc import Iterator, Sequence
from types import MappingProxyType

from inspector.formats.code_block import CodeBlockReader
from inspector.formats.dialect import Ways, opening
from inspector.formats.dialects.hermes import write_calls
from inspector.formats.dialects.hermes_table import CALL_CLOSERS, CALL_OPENERS, hermes_table
from inspector.formats.flower_calls import ARGS, FUNCTION, RESULT, RETURN, is_flower_call, read_flower_calls
from inspector.formats.format import Format, Signs
from inspector.formats.json_call import JsonCallReader
from inspector.formats.shared_opener import SharedOpenerReader
from inspector.formats.span_readings import ReasoningReader, read_definitions, read_result
from inspector.formats.writing import is_json_call
from inspector.model import Role, SpanKind, ToolCall
from inspector.rules.markers import INVENTED_RESULT
from inspector.segmenter.events import FormatParser, SpanClosed
from inspector.segmenter.machine import Machine
from inspector.segmenter.payload import JSON
from inspector.segmenter.readings import Reading
from inspector.segmenter.table import HERE, HOME, Cut, State, Transition

_JSON_CALL = SharedOpenerReader(
    CodeBlockReader(JsonCallReader(between="\n</tool_call>\n<tool_call>\n")), "a JSON object with a name and arguments"
)


def _flower_states(ways: Ways) -> Iterator[State]:
    invented = Transition(RESULT, Cut.BEFORE, "flower result", INVENTED_RESULT)
    leaving = (invented, *ways.out_of_call)
    arguments = Transition(ARGS, Cut.NOWHERE, "flower arguments")
    yield State("flower call", SpanKind.TOOL_CALL, (arguments, *leaving), "flower_call", FUNCTION)
    again = Transition(ARGS, Cut.NOWHERE, HERE)
    yield State("flower arguments", SpanKind.TOOL_CALL, (again, *leaving), "flower_call", payload=JSON)
    yield State(
        "flower result", SpanKind.TOOL_RESULT, (*leaving[1:], opening(RESULT, "flower result")), "flower_result"
    )
    to_text = Transition("(anything else)", Cut.BEFORE, HOME, width=0)
    yield State("flower return", SpanKind.MARKUP, (), "marker", other=r"[^: ]", other_goes=to_text)


_TABLE = hermes_table(
    calls=(opening(FUNCTION, "flower call"), opening(RETURN, "flower return")),
    call_states=_flower_states,
    tails={FUNCTION: "flower call", RETURN: "flower return"},
    cut_openers=(FUNCTION,),
)


def _read_calls(closed: SpanClosed) -> Reading:
    """See SpanReader."""
    return read_flower_calls(closed) if is_flower_call(closed) else _JSON_CALL(closed)


def _expresses(call: ToolCall) -> bool:
    return call.id is None and is_json_call(call)


def _write_calls(calls: Sequence[ToolCall]) -> str:
    return write_calls(calls)


def _new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
    return Machine(_TABLE, role=role.value, prompt=prompt)


QWEN = Format(
    name="qwen",
    summary="JSON object in <tool_call> tags with newlines; ✿FUNCTION✿ before Qwen 2.5",
    aliases=("qwen2.5", "qwen25", "qwen3", "qwen_agent"),
    models=("*qwen*", "*qwq*", "*qvq*", "*mimo*"),
    confidence=Signs(
        calls={rf"{FUNCTION}\s*:": 0.95, r'<tool_call>\n\{"name": ': 0.85},
        hints={r"<tool_call>\s*\{": 0.85, r"✿(?:ARGS|RESULT|RETURN)✿": 0.8, r"<tool_response>": 0.5, r"<think>": 0.25},
    ),
    new_parser=_new_parser,
    readers=MappingProxyType(
        {
            SpanKind.TOOL_CALL: _read_calls,
            SpanKind.TOOL_RESULT: read_result,
            SpanKind.TOOL_DEFINITIONS: read_definitions,
            SpanKind.REASONING: ReasoningReader((*CALL_OPENERS, FUNCTION), CALL_CLOSERS),
        }
    ),
    write_calls=_write_calls,
    expresses=_expresses,
)
