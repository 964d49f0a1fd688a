"""Dialects that consist of a single declaration: a section of calls with a header before the JSON.

`plamo3`: Source: vllm:vllm/parser/plamo3.py.

`solar_open`: calls with ids of ten characters. Source: the chat template of upstage/Solar-Open-100B.

`mirothinker`: one call of a tool of a server. Sources: llama.cpp:models/templates/MiroThinker-v1.jinja, the system
prompt of Cline.
"""

import re

from weaklink.inspector.formats.chat_turns import turn_ends
from weaklink.inspector.formats.dialect import ReasoningTag, opening
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.format import TOOL_RESPONSE
from weaklink.inspector.formats.json.named_calls import NamedCallReader, Section, section_format


def _plamo(tag: str) -> str:
    return f"<|plamo:{tag}:plamo|>"


_NAME = rf"\s*{re.escape(_plamo('begin_tool_name'))}(?P<name>[^<\n]+?){re.escape(_plamo('end_tool_name'))}"
_ARGUMENTS = f"{_plamo('begin_tool_arguments')}<|plamo:constrain|>json<|plamo:msg|>"
_PLAMO = Section(
    (_plamo("begin_tool_requests"),),
    (_plamo("end_tool_requests"),),
    _plamo("begin_tool_request"),
    _plamo("end_tool_arguments") + _plamo("end_tool_request"),
)
PLAMO3 = section_format(
    _PLAMO,
    NamedCallReader(
        re.compile(rf"{_NAME}{re.escape(_ARGUMENTS)}"), "the name and the JSON of the arguments between their tokens"
    ),
    name="plamo3",
    summary="PLaMo 3: tokens around the requests, the name and the JSON of its arguments",
    call=f"{_plamo('begin_tool_name')}{{name}}{_plamo('end_tool_name')}{_ARGUMENTS}{{arguments}}",
    reasoning=(ReasoningTag("think", _plamo("begin_think"), _plamo("end_think")),),
    turns=turn_ends("<|plamo:tag|>", "<|plamo:eos|>"),
    models=("*plamo-3*", "*plamo3*"),
    signs=DetectionPatterns(calls={r"<\|plamo:begin_tool_requests?:plamo\|>": 0.97}, hints={r"<\|plamo:": 0.85}),
)
_SOLAR = Section(("<|tool_calls|>",), ("<|calls|>",), "<|tool_call:begin|>", "<|tool_call:end|>")
SOLAR_OPEN = section_format(
    _SOLAR,
    NamedCallReader(
        re.compile(r"\s*(?P<id>[^\s<]+)?<\|tool_call:name\|>(?P<name>[^<\n]+)<\|tool_call:args\|>"),
        "`ID<|tool_call:name|>NAME<|tool_call:args|>`, then the arguments",
    ),
    name="solar_open",
    summary="<|tool_call:begin|>ID<|tool_call:name|>NAME<|tool_call:args|>{...}, in <|tool_calls|> and <|calls|>",
    call="{id}<|tool_call:name|>{name}<|tool_call:args|>{arguments}",
    reasoning=(ReasoningTag("think", "<|think|>", "<|end|>"),),
    turns=(opening("<|begin|>", "turn_header"), *turn_ends("<|content|>", "<|end|>", "<|flush|>")),
    models=("*solar-open-100b*",),
    signs=DetectionPatterns(calls={r"<\|tool_call:begin\|>": 0.97}, hints={r"<\|tool_calls\|>": 0.6}),
    ids=True,
)
_MCP = Section(("<use_mcp_tool>",), ("</use_mcp_tool>",), "<server_name>", "</arguments>")
MIROTHINKER = section_format(
    _MCP,
    NamedCallReader(
        re.compile(r"[^<\n]*</server_name>\s*<tool_name>\s*(?P<name>[^<\n]+?)\s*</tool_name>\s*<arguments>"),
        "`SERVER</server_name>`, `<tool_name>NAME</tool_name>` and `<arguments>`",
    ),
    name="mirothinker",
    summary="<use_mcp_tool> with <server_name>, <tool_name> and the JSON of <arguments>",
    call="tools</server_name>\n<tool_name>{name}</tool_name>\n<arguments>\n{arguments}\n",
    results=(TOOL_RESPONSE,),
    models=("*mirothinker*",),
    signs=DetectionPatterns(calls={r"<use_mcp_tool>\s*<server_name>": 0.97}, hints={r"</?use_mcp_tool>": 0.8}),
    around="\n",
    between="\n",
)
