"""`phi4`: `functools[...]`, an array of call objects without a closing marker (Phi-4-mini; FireFunction the same).

Source: vllm:examples/tool_chat_template_phi4_mini.jinja, vllm:vllm/tool_parsers/phi4mini_tool_parser.py.
"""

from collections.abc import Iterator, Sequence
from types import MappingProxyType

from inspector.formats.dialect import Ways, dialect_table
from inspector.formats.format import Format, Signs
from inspector.formats.json_call import JsonCallReader
from inspector.formats.span_readings import ReasoningReader, read_definitions, read_result
from inspector.formats.writing import call_object, is_json_call
from inspector.model import Role, SpanKind, ToolCall
from inspector.segmenter.ahead import Ahead, Run
from inspector.segmenter.events import FormatParser
from inspector.segmenter.machine import Machine
from inspector.segmenter.payload import JSON
from inspector.segmenter.table import HOME, Cut, State, Transition

_OPENER = "functools"


def _call_states(ways: Ways) -> Iterator[State]:
    yield State(
        "call",
        SpanKind.TOOL_CALL,
        ways.out_of_call,
        label="tool_call",
        opener=_OPENER,
        payload=JSON,
        then=Transition("(end of the array)", Cut.NOWHERE, "call_end", width=0),
    )
    # A bracket too many still belongs to the call that it breaks.
    yield State(
        "call_end",
        SpanKind.TOOL_CALL,
        (),
        label="tool_call",
        other=r"[^\]}]",
        other_goes=Transition("(anything else)", Cut.BEFORE, HOME, width=0),
    )


_TABLE = dialect_table(
    calls=(Transition(_OPENER, Cut.BEFORE, "call", ahead=Ahead(Run(r"[ \n]"), "[")),), call_states=_call_states
)


def _write_calls(calls: Sequence[ToolCall]) -> str:
    return f"{_OPENER}[{', '.join(map(call_object, calls))}]"


def _expresses(call: ToolCall) -> bool:
    return call.id is None and is_json_call(call)


def _new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
    return Machine(_TABLE, role=role.value, prompt=prompt)


PHI4 = Format(
    name="phi4",
    summary="functools[...]: an array of JSON objects",
    aliases=("phi4_mini", "phi"),
    models=("*phi-4*", "*phi4*"),
    confidence=Signs(calls={r"functools\s*\[\s*\{": 0.9}),
    new_parser=_new_parser,
    readers=MappingProxyType(
        {
            SpanKind.TOOL_CALL: JsonCallReader(is_array=True),
            SpanKind.TOOL_RESULT: read_result,
            SpanKind.TOOL_DEFINITIONS: read_definitions,
            SpanKind.REASONING: ReasoningReader((_OPENER + "[",)),
        }
    ),
    write_calls=_write_calls,
    expresses=_expresses,
)
