"""Llama 3.1: its headers, tools as indented JSON in the system turn, results in a turn of `ipython`.

Source: vllm:examples/tool_chat_template_llama3.1_json.jinja with `tools_in_user_message` off. A result that is no JSON
stands as the `output` of an object. The sentences around the tools are ours.
"""

import json
from collections.abc import Sequence

from inspector.formats.template import Turns, turn_template
from inspector.formats.templates.shapes import indented, json_or_text, llama_turns, openai_tool
from inspector.formats.writing import json_of
from inspector.model import ToolDefinition, ToolResult


def outputs(results: Sequence[ToolResult]) -> str:
    """Each result as JSON: its own, or its text as an `output`."""
    return "\n".join(_output(result.content) for result in results)


def _output(text: str) -> str:
    return text if isinstance(json_or_text(text), dict | list) else json_of({"output": text})


def _tools(tools: Sequence[ToolDefinition]) -> str:
    listed = "\n\n".join(indented(openai_tool(tool)) for tool in tools)
    example = json.dumps({"name": "function name", "parameters": {"argument name": "its value"}})
    return (
        f"Environment: ipython\n\nThe following functions can be called. A call is the whole reply, in JSON: {example}."
        f"\n\n{listed}"
    )


LLAMA3_TEMPLATE = turn_template(
    Turns(llama_turns("ipython"), beginning="<|begin_of_text|>"),
    tools=_tools,
    results=outputs,
    join=lambda words, tools: f"{tools}\n\n{words}" if words else tools,
)
