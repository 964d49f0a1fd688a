r"""ReAct text: tools in a list of names and arguments, results as `Observation:`, one long text without turn tokens.

Sources: langchain's MRKL and structured-chat prompts, QwenLM/Qwen-Agent:qwen_agent/agents/react_chat.py. The headings
are the grammar; the sentences are ours.
"""

from collections.abc import Sequence
from types import MappingProxyType

from inspector.formats.json.writing import json_of
from inspector.formats.templates.template import Turns, contents, turn_template
from inspector.model import Json, Role, ToolDefinition
from inspector.scanning import lazy_pattern

_BLOCK = lazy_pattern(
    r"These tools can be used:\n[\s\S]*?\nFinal Answer: [^\n]*"
    r"|(?:Answer the following questions|You have access to the following tools)(?:(?!\nFinal Answer:)[\s\S])*"
    r"\nFinal Answer: [^\n]*"
)
_TURNS = MappingProxyType(
    {
        Role.SYSTEM: ("", "\n\n"),
        Role.USER: ("Question: ", "\n"),
        Role.ASSISTANT: ("", "\n"),
        Role.TOOL: ("Observation: ", "\n"),
    }
)


def _tools(tools: Sequence[ToolDefinition]) -> str:
    listed = "\n".join(f"{tool.name}: {tool.description}, args: {json_of(_arguments(tool))}" for tool in tools)
    names = ", ".join(tool.name for tool in tools)
    return (
        f"These tools can be used:\n{listed}\n\nEvery step has these lines:\n\nQuestion: what is asked\n"
        f"Thought: what to do next\nAction: one of [{names}]\nAction Input: the tool's arguments as a JSON object\n"
        "Observation: what the tool returned\n... (more such steps)\nThought: why the answer is known\n"
        "Final Answer: the answer to the question"
    )


def _arguments(tool: ToolDefinition) -> Json:
    return tool.parameters.get("properties", {}) if isinstance(tool.parameters, dict) else {}


REACT_TEMPLATE = turn_template(Turns(_TURNS), tools=_tools, results=contents, tools_block=_BLOCK)
