"""Functionary v3: Llama 3's headers, tools as a TypeScript namespace in a system turn, results in a turn of `tool`.

Source: MeetKai/functionary:tests/prompt_test_v3.llama3.txt. The sentences before the namespace are ours; the system's
own words stand behind it.
"""

import re
from collections.abc import Sequence

from inspector.formats.template import Turns, turn_template
from inspector.formats.templates.shapes import contents, llama_turns
from inspector.formats.templates.typescript import declaration
from inspector.model import ToolDefinition

_BLOCK = re.compile(
    r"(?:You are capable of executing|These functions can be called)(?:(?!namespace functions \{)[\s\S])*"
    r"namespace functions \{[\s\S]*?\} // namespace functions"
)


def _tools(tools: Sequence[ToolDefinition]) -> str:
    declared = "\n\n".join(map(declaration, tools))
    return (
        "These functions can be called, and only where they are needed. A reply names its recipient, `all` for words "
        "to the user, and gives a function's arguments as JSON:\n>>>${recipient}\n${content}\n"
        f"Available functions:\nnamespace functions {{\n\n{declared}\n\n}} // namespace functions"
    )


FUNCTIONARY_TEMPLATE = turn_template(
    Turns(llama_turns("tool"), beginning="<|begin_of_text|>"),
    tools=_tools,
    results=contents,
    tools_block=_BLOCK,
    join=lambda words, tools: f"{tools}\n\n{words}" if words else tools,
)
