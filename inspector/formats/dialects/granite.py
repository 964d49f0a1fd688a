"""`granite`, `granite4` and `granite_20b_fc`: the dialects of IBM's Granite models.

Granite 3 writes an array of call objects after `<|tool_call|>`, Granite 4 the Hermes wire in Granite's turns, Granite
20B `<function_call> {...}`, repeated, without a closing marker.

`granite`: Turns are `<|start_of_role|>role<|end_of_role|>text<|end_of_text|>`. Granite 3.2 reasons in prose between
two phrases. Sources: vllm:examples/tool_chat_template_granite.jinja, vllm:vllm/tool_parsers/granite_tool_parser.py,
vllm:vllm/reasoning/granite_reasoning_parser.py.

`granite4`: Source: llama.cpp:models/templates (Granite 4.0), vllm:docs/features/tool_calling.md.

`granite_20b_fc`: Source: vllm:examples/tool_chat_template_granite_20b_fc.jinja,
vllm:vllm/tool_parsers/granite_20b_fc_tool_parser.py.
"""

from weaklink.inspector.formats.chat_turns import markup_state
from weaklink.inspector.formats.dialect import THINK_TAGS, Enclosed, ReasoningTag, closing, opening
from weaklink.inspector.formats.dialects.hermes import PATTERNS, hermes_format
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.call_shape import call_object
from weaklink.inspector.formats.json.calls import JsonCallReader
from weaklink.inspector.formats.json.format import json_format
from weaklink.inspector.formats.xml.tag_families import SharedOpenerReader
from weaklink.inspector.segmenter.table import ROLE, Lookahead, Repeat

_TURNS = (opening("<|start_of_role|>", "role_header"),)
_HEADER_END = (closing("<|end_of_role|>", ROLE),)
_TURN_STATES = (markup_state("role_header", "turn_header", ROLE, r"[^A-Za-z0-9_\- ]", _HEADER_END),)

_RESPONSES = ("Here is my response:", "Here's my response:")

_PROSE_REASONING = tuple(
    ReasoningTag("think", f"{here} my thought process:", _RESPONSES[0], other_closers=_RESPONSES[1:])
    for here in ("Here is", "Here's")
)

GRANITE = json_format(
    name="granite",
    summary="<|tool_call|>[...]: an array of JSON objects",
    models=("*granite*",),
    calls=(Enclosed("<|tool_call|>"), Enclosed("<tool_call>", "</tool_call>")),
    ahead=Lookahead(Repeat(r"\s"), ("[", "{", "```")),
    reasoning=(*THINK_TAGS, *_PROSE_REASONING),
    turns=_TURNS,
    turn_states=_TURN_STATES,
    signs=DetectionPatterns(calls={r"<\|tool_call\|>\s*\[": 0.95}),
    reader=SharedOpenerReader(JsonCallReader(is_array=True), "an array of JSON objects"),
)

GRANITE4 = hermes_format(
    name="granite4",
    summary="the Hermes syntax in Granite's turns",
    models=("*granite-4*", "*granite4*"),
    signs=PATTERNS,
    turns=_TURNS,
    turn_states=_TURN_STATES,
)

GRANITE_20B_FC = json_format(
    name="granite_20b_fc",
    summary="<function_call> before each JSON object",
    models=("*granite-20b-functioncalling*", "*granite-20b-fc*"),
    calls=(Enclosed("<function_call>"),),
    ahead=Lookahead(Repeat(r"\s"), ("{", "[", "```")),
    signs=DetectionPatterns(calls={r"<function_call>\s*\{": 0.95}),
    reader=JsonCallReader(between="<function_call> "),
    write_calls=lambda calls: "".join(f"<function_call> {call_object(call)}" for call in calls),
)
