"""`lfm2`: `<|tool_call_start|>[f(a='x')]<|tool_call_end|>` in ChatML turns (Liquid AI's LFM2 and LFM2.5).

Sources: llama.cpp:models/templates/LFM2.5-8B-A1B.jinja and llama-cpp-lfm2.jinja, vllm:tests/tool_parsers/
test_lfm2_tool_parser.py. A prompt may ask for JSON between the same tokens. The template writes dicts as JSON and does
not escape strings; what is written here escapes them as Python does, so that every string reads back.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from types import MappingProxyType

from inspector.formats.dialect import Enclosed, Transitions, dialect_table, opening, table_parser
from inspector.formats.format import DetectionPatterns, Format
from inspector.formats.python.calls import PythonCallReader
from inspector.formats.python.follower import PYTHON
from inspector.formats.python.writing import is_python_call, json_in_dicts, write_call
from inspector.formats.span_readers import ReasoningReader, read_definitions, read_result
from inspector.model import SpanKind, ToolCall
from inspector.segmenter.table import HOME, MarkerSplit, State, Transition

_OPENER, _CLOSER = "<|tool_call_start|>", "<|tool_call_end|>"
_PATTERNS = DetectionPatterns(
    calls={r"<\|tool_call_start\|>": 0.95}, hints={r"<\|tool_(?:call_end|list_start|response_start)\|>": 0.7}
)
_write_call = partial(write_call, write_value=json_in_dicts)


def _call_states(ways: Transitions) -> Iterator[State]:
    yield State(
        "call",
        SpanKind.TOOL_CALL,
        (Transition(_CLOSER, MarkerSplit.AFTER, HOME), *ways.out_of_call),
        label="tool_call",
        opener=_OPENER,
        closer=_CLOSER,
        payload=PYTHON,
    )


_TABLE = dialect_table(
    calls=(opening(_OPENER, "call"),),
    call_states=_call_states,
    call_closers=(_CLOSER,),
    results=(Enclosed("<|tool_response_start|>", "<|tool_response_end|>"),),
    definitions=(Enclosed("<|tool_list_start|>", "<|tool_list_end|>"),),
)


def _write_calls(calls: Sequence[ToolCall]) -> str:
    return f"{_OPENER}[{', '.join(map(_write_call, calls))}]{_CLOSER}"


LFM2 = Format(
    name="lfm2",
    summary="<|tool_call_start|>[f(a=1)]<|tool_call_end|>: calls in Python's syntax, or JSON",
    aliases=("liquid",),
    models=("*lfm2*", "*lfm-2*"),
    confidence=_PATTERNS,
    new_parser=table_parser(_TABLE),
    readers=MappingProxyType(
        {
            SpanKind.TOOL_CALL: PythonCallReader(takes_json=True),
            SpanKind.TOOL_RESULT: read_result,
            SpanKind.TOOL_DEFINITIONS: read_definitions,
            SpanKind.REASONING: ReasoningReader((_OPENER,), (_CLOSER,)),
        }
    ),
    write_calls=_write_calls,
    expresses=is_python_call,
)
