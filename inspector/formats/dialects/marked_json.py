"""Dialects that consist of a single declaration: JSON call objects after or between markers.

`apriel` (ServiceNow), `internlm2` (Shanghai AI Lab), `jamba` (AI21), `longcat` (Meituan), `nemotron_json` (NVIDIA).

`apriel`: The template opens the reasoning with the words `Here are my reasoning steps:`. Source:
llama.cpp:models/templates (Apriel 1.6), vllm:vllm/reasoning and its tests.

`hunyuan`: Source: vllm:vllm/tool_parsers/hunyuan_a13b_tool_parser.py and its tests.

`internlm2`: InternLM 2 and 2.5.

Tool results are in turns of the role `environment`. Source: vllm:examples/tool_chat_template_internlm2_tool.jinja,
vllm:vllm/tool_parsers/internlm2_tool_parser.py.

`jamba`: Source: vllm:vllm/tool_parsers/jamba_tool_parser.py and its tests.

`longcat`: Source: vllm:vllm/tool_parsers/longcat_tool_parser.py.

`nemotron_json`: Results are in `<TOOL_RESPONSE>[...]</TOOL_RESPONSE>`, tools in
`<AVAILABLE_TOOLS>[...]</AVAILABLE_TOOLS>`. Source: the model cards and chat templates of
nvidia/NVIDIA-Nemotron-Nano-9B-v2 and Llama-3.1-Nemotron-Nano-8B-v1.

`phi4`: `functools` counts only before a bracket and an object: many answers about Python contain the word. Source:
vllm:examples/tool_chat_template_phi4_mini.jinja, vllm:vllm/tool_parsers/phi4mini_tool_parser.py.

`inkling`: blocks of a type, each up to `<|end_message|>`. Source: llama.cpp:common/parsers/inkling.cpp.

`firefunction`: Source: llama.cpp:tests/test-chat.cpp and its template of fireworks-ai-llama-3-firefunction-v2.
"""

import re

from msgspec.structs import replace

from weaklink.inspector.formats.chat_turns import markup_state, turn_ends
from weaklink.inspector.formats.dialect import THINK_TAGS, Enclosed, ReasoningTag, opening, text_state
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.call_shape import CallKeys, call_array, call_object
from weaklink.inspector.formats.json.calls import JsonCallReader
from weaklink.inspector.formats.json.format import json_format
from weaklink.inspector.segmenter.table import HOME, ROLE, Lookahead, MarkerSplit, Repeat, Transition, unmarked

_NEAR_TOOLCALL = re.compile(r"(?i)<(?!(?-i:TOOLCALL)>)tool[ _-]?calls?>?(?=\s{0,8}(?:\[\s{0,8})?\{)")
APRIEL = json_format(
    name="apriel",
    summary="<tool_calls>[...]</tool_calls> after reasoning in prose",
    models=("*apriel*",),
    calls=(Enclosed("<tool_calls>", "</tool_calls>"),),
    reasoning=(ReasoningTag("think", "Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),),
    turns=turn_ends("[END FINAL RESPONSE]", "<|end|>"),
    signs=DetectionPatterns(calls={r"<tool_calls>\s*\[": 0.78}),
)
INTERNLM2 = json_format(
    name="internlm2",
    summary="<|action_start|><|plugin|>{...}<|action_end|>, arguments under `parameters`",
    models=("*internlm*", "*intern-s1*"),
    calls=tuple(Enclosed(f"<|action_start|>{space}<|plugin|>", "<|action_end|>") for space in ("", " ")),
    signs=DetectionPatterns(calls={r"<\|action_start\|>\s*<\|plugin\|>": 0.95}),
    reader=JsonCallReader(CallKeys(arguments="parameters"), between="<|action_end|><|action_start|><|plugin|>\n"),
    write_calls=lambda calls: "".join(
        f"<|action_start|><|plugin|>\n{call_object(call, key='parameters')}\n<|action_end|>" for call in calls
    ),
)
JAMBA = json_format(
    name="jamba",
    summary="<tool_calls>[...]</tool_calls>: an array of JSON objects",
    models=("*jamba*",),
    calls=(Enclosed("<tool_calls>", "</tool_calls>"),),
    turns=turn_ends("<|eom|>"),
    signs=DetectionPatterns(calls={r"<tool_calls>\s*\[": 0.8}),
)
HUNYUAN = json_format(
    name="hunyuan",
    summary="<tool_calls>[...]</tool_calls> after <think> and <answer>",
    models=("*hunyuan*",),
    calls=(Enclosed("<tool_calls>", "</tool_calls>"),),
    turns=(*(opening(tag, "marker") for tag in ("<answer>", "</answer>")), *turn_ends("<|eos|>")),
    signs=DetectionPatterns(calls={r"<tool_calls>\s*\[": 0.78}),
)
LONGCAT = json_format(
    name="longcat",
    summary="JSON object in <longcat_tool_call> tags",
    models=("*longcat*",),
    calls=(Enclosed("<longcat_tool_call>", "</longcat_tool_call>"),),
    reasoning=(ReasoningTag("think", "<longcat_think>", "</longcat_think>"), *THINK_TAGS),
    turns=turn_ends("</longcat_s>"),
    signs=DetectionPatterns(calls={r"<longcat_tool_call>\s*\{": 0.95}),
    reader=JsonCallReader(between="</longcat_tool_call>\n<longcat_tool_call>"),
    write_calls=lambda calls: "\n".join(
        f"<longcat_tool_call>{call_object(call)}</longcat_tool_call>" for call in calls
    ),
)
NEMOTRON_JSON = json_format(
    name="nemotron_json",
    summary="<TOOLCALL>[...]</TOOLCALL>: an array of JSON objects",
    models=("*nemotron*", "*llama-3.1-nemotron*", "*llama-3.3-nemotron*"),
    calls=(Enclosed("<TOOLCALL>", "</TOOLCALL>"),),
    results=(Enclosed("<TOOL_RESPONSE>", "</TOOL_RESPONSE>"),),
    definitions=(Enclosed("<AVAILABLE_TOOLS>", "</AVAILABLE_TOOLS>"),),
    turns=turn_ends("<SPECIAL_12>"),
    signs=DetectionPatterns(calls={r"<TOOLCALL>\s*\[": 0.95}),
    near_calls=((_NEAR_TOOLCALL, "<TOOLCALL>"),),
)
_BEGINNINGS = ("{", "```", *(f"[{space}{{" for space in ("", " ", "\n", "\n ", "\n  ", "\n    ")))
PHI4 = json_format(
    name="phi4",
    summary="functools[...] or <|tool_call|>[...]<|/tool_call|>: an array of JSON objects",
    aliases=("phi4_mini", "phi"),
    models=("*phi-4*", "*phi4*"),
    calls=(Enclosed("functools"), Enclosed("<|tool_call|>", "<|/tool_call|>")),
    ahead=Lookahead(Repeat(r"\s"), _BEGINNINGS),
    turns=turn_ends("<|end|>"),
    signs=DetectionPatterns(calls={r"functools\s*\[\s*\{": 0.9, r"<\|/tool_call\|>": 0.97}),
    near_calls=((re.compile(r"\b[Ff]unc\w{0,12}[ :=(]{0,2}\[\s{0,8}\{(?=\s{0,8}[\"'])"), "functools[{"),),
)
FIREFUNCTION = replace(
    PHI4,
    name="firefunction",
    summary="functools[...] after a blank: an array of JSON objects",
    aliases=("firefunction_v2",),
    models=("*firefunction*",),
    confidence=DetectionPatterns(calls={}, hints={r"functools\s*\[\s*\{": 0.85}),
    write_calls=lambda calls: f" functools{call_array(calls)}",
)
_INVOKE = "<|content_invoke_tool_json|>"
_INTO_CALL = Transition(_INVOKE, MarkerSplit.BEFORE, HOME, width=0, ahead=Lookahead(Repeat(r"\s"), "{"))
_BEFORE_CALL = Lookahead(Repeat(r"[\w.\-]", 1, 128), _INVOKE)
_INTO_NAME = replace(unmarked("message"), ahead=_BEFORE_CALL)
_INTO_TEXT = unmarked("text")
INKLING = json_format(
    name="inkling",
    summary='<|content_invoke_tool_json|>{"name": ..., "args": {...}}<|end_message|>: typed blocks',
    models=("*inkling*",),
    calls=(Enclosed(_INVOKE, "<|end_message|>"),),
    reasoning=(ReasoningTag("think", "<|content_thinking|>", "<|end_message|>", ended_by=(_INTO_CALL,)),),
    turns=(
        *(opening(f"<|message_{role}|>", "message") for role in ("model", "user", "system", "tool")),
        *turn_ends("<|content_text|>", "<|content_invoke_tool_text|>", "<|content_tool_error|>"),
        *turn_ends("<|end_message|>", "<|content_model_end_sampling|>"),
    ),
    turn_states=(
        replace(markup_state("message", "turn_header", ROLE, r"[^\w.\-]"), unfinished="<|content_…|>"),
        text_state("reply", (), _INTO_NAME, r"[\s\S]", _INTO_TEXT),
    ),
    tails={"<|message_model|>": "reply"},
    signs=DetectionPatterns(
        calls={r"<\|content_invoke_tool_json\|>": 0.97},
        hints={r"<\|(?:content_(?:thinking|text)|message_model)\|>": 0.9},
    ),
    reader=JsonCallReader(CallKeys(arguments="args")),
    write_calls=lambda calls: "".join(
        f"<|message_model|>{call.name}<|content_invoke_tool_json|>{call_object(call, key='args')}<|end_message|>"
        for call in calls
    ),
)
