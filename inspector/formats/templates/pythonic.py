"""Calls in Python's syntax: Llama 3.2's headers, tools as a JSON list in the system turn, results as `ipython`.

Sources: Meta's Llama 3.2 prompt guide and vllm:examples/tool_chat_template_llama3.2_pythonic.jinja: both show the tools
as JSON and only the calls as Python. The sentences around the list are ours.
"""

from collections.abc import Sequence

from inspector.formats.template import Turns, turn_template
from inspector.formats.templates.llama3 import outputs
from inspector.formats.templates.shapes import bare_tool, indented, llama_turns
from inspector.model import ToolDefinition


def _tools(tools: Sequence[ToolDefinition]) -> str:
    return (
        "A call is the whole reply, as a list in Python's syntax: [name1(argument1=value1, argument2=value2), name2()]."
        f"\nThese are the available functions:\n\n{indented([bare_tool(tool) for tool in tools])}"
    )


PYTHONIC_TEMPLATE = turn_template(
    Turns(llama_turns("ipython"), beginning="<|begin_of_text|>"), tools=_tools, results=outputs
)
