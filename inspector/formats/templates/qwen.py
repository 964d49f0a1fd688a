r"""Qwen 2.5 and 3: ChatML, tools in `<tools>` under a heading in the system turn, results in a user's turn.

Sources: llama.cpp:models/templates/Qwen-Qwen2.5-7B-Instruct.jinja, Qwen/Qwen3 model cards. The sentences around the
list are ours; marks, order and JSON are the template's.
"""

import re
from collections.abc import Sequence
from types import MappingProxyType

from inspector.formats.template import Turns, turn_template
from inspector.formats.templates.hermes import tool_responses
from inspector.formats.templates.shapes import CHATML, openai_tool
from inspector.formats.writing import json_of
from inspector.model import Role, ToolDefinition

_BLOCK = re.compile(
    r"# Tools\n(?:(?!<tools>\n)[\s\S])*<tools>\n[\s\S]*?</tools>"
    r"(?:(?!<tool_call>\n)[\s\S])*<tool_call>\n[^\n]*\n</tool_call>"
)


def _tools(tools: Sequence[ToolDefinition]) -> str:
    listed = "\n".join(json_of(openai_tool(tool)) for tool in tools)
    return (
        "# Tools\n\nThese functions may be called where they help to answer the user; their signatures stand within "
        f"<tools></tools> XML tags:\n<tools>\n{listed}\n</tools>\n\n"
        "A call is a JSON object of the function's name and its arguments within <tool_call></tool_call> XML tags:\n"
        '<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
    )


QWEN_TEMPLATE = turn_template(
    Turns(MappingProxyType({**CHATML, Role.TOOL: CHATML[Role.USER]})),
    tools=_tools,
    results=tool_responses,
    tools_block=_BLOCK,
    shares_turn=True,
)
