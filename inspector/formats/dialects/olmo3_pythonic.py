"""`olmo3_pythonic`: `<function_calls>f(a="x")` and more calls, one a line, `</function_calls>` (Ai2's OLMo 3).

Sources: the OLMo 3 chat template (ChatML; results in turns of `environment`, tools between `<functions>` tags, each
argument as JSON), vllm:tests/tool_parsers/test_olmo3_tool_parser.py. The tags are markup and each call is a span of its
own. Claude's older prompts use the same tags around `<invoke>`: that is no call here.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from types import MappingProxyType

from inspector.formats.chat_turns import ROLE_HOMES
from inspector.formats.dialect import Enclosed, Transitions, dialect_table, opening, table_parser
from inspector.formats.format import DetectionPatterns, Format
from inspector.formats.json.writing import json_of
from inspector.formats.python.calls import PythonCallReader
from inspector.formats.python.follower import PYTHON
from inspector.formats.python.writing import is_python_call, write_call
from inspector.formats.span_readers import ReasoningReader, read_definitions, read_result
from inspector.model import SpanKind, ToolCall
from inspector.segmenter.table import HOME, SECTION, Lookahead, MarkerSplit, Repeat, State, Transition

_OPENER, _CLOSER = "<function_calls>", "</function_calls>"
_CALL_BEGINS = Lookahead(Repeat(r"[^\W\d]", 1, 1), Repeat(r"[\w.]", 0, 127), "(")
_TO_CALL = Transition("(a call)", MarkerSplit.BEFORE, "call", width=0)
_PATTERNS = DetectionPatterns(
    calls={r"<function_calls>\s*\[?\s*[^\W\d][\w.]*\(": 0.95},
    hints={r"</?function_calls>|<\|im_start\|>environment": 0.3},
)
_write_call = partial(write_call, write_value=json_of)


def _call_states(ways: Transitions) -> Iterator[State]:
    ends_block = Transition(_CLOSER, MarkerSplit.BEFORE, "block_end")
    # A block that closes before any call is an empty call.
    yield State(
        "block",
        SpanKind.MARKUP,
        (Transition(_CLOSER, MarkerSplit.BEFORE, "empty"), *ways.out_of_call),
        label=SECTION,
        opener=_OPENER,
        other=r"\S",
        other_goes=_TO_CALL,
    )
    yield State(
        "between",
        SpanKind.MARKUP,
        (ends_block, *ways.out_of_call),
        label=SECTION,
        other=r"\S",
        other_goes=_TO_CALL,
    )
    to_home = Transition("(anything else)", MarkerSplit.BEFORE, HOME, width=0)
    yield State("block_end", SpanKind.MARKUP, (), label=SECTION, other=r"[\s\S]", other_goes=to_home)
    yield State("empty", SpanKind.TOOL_CALL, (), label="tool_call", other=r"[\s\S]", other_goes=to_home)
    yield State(
        "call",
        SpanKind.TOOL_CALL,
        (
            Transition(_CLOSER, MarkerSplit.AFTER, "between", width=0),
            Transition("\n", MarkerSplit.AFTER, "between", width=0, ahead=_CALL_BEGINS),
            *ways.out_of_call,
        ),
        label="tool_call",
        closer=_CLOSER,
        payload=PYTHON,
        then=Transition("(end of the call)", MarkerSplit.NOWHERE, "call_end", width=0),
    )
    yield State(
        "call_end",
        SpanKind.TOOL_CALL,
        ways.out_of_call,
        label="tool_call",
        closer=_CLOSER,
        other=r"[^\])}\s]",
        other_goes=Transition("(anything else)", MarkerSplit.AFTER, "between", width=0),
    )


_TABLE = dialect_table(
    calls=(opening(_OPENER, "block"),),
    call_states=_call_states,
    call_closers=(_CLOSER,),
    definitions=(Enclosed("<functions>", "</functions>"),),
    homes={**ROLE_HOMES, "environment": "tool"},
)


def _write_calls(calls: Sequence[ToolCall]) -> str:
    lines = "\n".join(map(_write_call, calls))
    return f"{_OPENER}{lines}{_CLOSER}"


OLMO3_PYTHONIC = Format(
    name="olmo3_pythonic",
    summary="<function_calls>f(a=1)</function_calls>: calls in Python's syntax, one a line",
    aliases=("olmo3", "olmo"),
    models=("*olmo-3*", "*olmo3*"),
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
