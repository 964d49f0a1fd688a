"""`granite`: `<|tool_call|>[...]` or `<tool_call>[...]`, an array of call objects (IBM Granite 3).

Turns are `<|start_of_role|>role<|end_of_role|>text<|end_of_text|>`.
Granite 3.2 reasons in prose between two phrases. Sources: vllm:examples/tool_chat_template_granite.jinja,
vllm:vllm/tool_parsers/granite_tool_parser.py, vllm:vllm/reasoning/granite_reasoning_parser.py.
"""

from inspector.formats.dialect import Enclosed
from inspector.formats.format import Signs
from inspector.formats.granite_turns import GRANITE_STATES, GRANITE_TURNS
from inspector.formats.json_call import JsonCallReader
from inspector.formats.json_dialects import JsonMarkers, json_format
from inspector.formats.reasoning_tags import THINK_TAGS, ReasoningTag
from inspector.formats.shared_opener import SharedOpenerReader
from inspector.formats.writing import call_array
from inspector.segmenter.ahead import Ahead, Repeat

_RESPONSES = ("Here is my response:", "Here's my response:")
_PROSE_REASONING = tuple(
    ReasoningTag("think", f"{here} my thought process:", _RESPONSES[0], other_closers=_RESPONSES[1:])
    for here in ("Here is", "Here's")
)

GRANITE = json_format(
    name="granite",
    summary="<|tool_call|>[...]: an array of JSON objects",
    aliases=(),
    models=("*granite*",),
    markers=JsonMarkers(
        (
            Enclosed("<|tool_call|>"),
            Enclosed("<tool_call>", "</tool_call>"),
        ),
        ahead=Ahead(Repeat(r"\s"), ("[", "{", "```")),
        reasoning=(*THINK_TAGS, *_PROSE_REASONING),
        turns=GRANITE_TURNS,
        turn_states=GRANITE_STATES,
    ),
    signs=Signs(calls={r"<\|tool_call\|>\s*\[": 0.95}),
    reader=SharedOpenerReader(JsonCallReader(is_array=True), "an array of JSON objects"),
    write_calls=lambda calls: f"<|tool_call|>{call_array(calls)}",
)
