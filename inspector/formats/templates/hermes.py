r"""Hermes: ChatML, tools in `<tools>` in the system turn, results in `<tool_response>`, those in a row in one turn.

Source: the chat template published with the Hermes 3 tool models (see hermes_prompt), and
NousResearch/Hermes-Function-Calling:prompt_assets/sys_prompt.yml.
"""

import re
from collections.abc import Sequence

from inspector.formats.hermes_prompt import present_tools
from inspector.formats.template import Turns, turn_template
from inspector.formats.templates.shapes import CHATML
from inspector.model import ToolResult

_BLOCK = re.compile(
    r"You are a function[ -]calling AI model\b(?:(?!<tools>)[\s\S])*<tools>[\s\S]*?</tools>"
    r"(?:(?!</tool_call>)[\s\S])*(?:</tool_call>\s*XML tags(?:(?!</tool_call>)[\s\S])*</tool_call>|</tool_call>)"
)


def tool_responses(results: Sequence[ToolResult]) -> str:
    """Each result in tags of its own."""
    return "\n".join(f"<tool_response>\n{result.content}\n</tool_response>" for result in results)


HERMES_TEMPLATE = turn_template(
    Turns(CHATML),
    tools=present_tools,
    results=tool_responses,
    tools_block=_BLOCK,
    join=lambda words, tools: f"{words}\n{tools}" if words else tools,
    shares_turn=True,
)
