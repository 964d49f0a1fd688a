"""Renders a conversation into the exact prompt that a Hermes 3 model sees, tools and results included.

Source: the chat template that is published with the Hermes 3 tool models (a Go template, as Ollama runs it). ChatML
turns; tools as compact JSON, one a line, with Go's escapes; consecutive results share one `tool` turn; a turn with
calls shows the calls and not its text; a line feed stands before every turn but a first system turn; nothing opens the
answer's turn.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from inspector.model import Role, ToolDefinition, Turn

_BEFORE_TOOLS = (
    "You are a function calling AI model. You are provided with function signatures within <tools> </tools> XML tags. "
    "You may call one or more functions to assist with the user query. If available tools are not relevant in "
    "assisting with user query, just respond in natural conversational language. Don't make assumptions about what "
    "values to plug into functions. After calling & executing the functions, you will be provided with function "
    "results within <tool_response> </tool_response> XML tags.\n<tools>\n"
)
_AFTER_TOOLS = (
    "\n</tools>\nFor each function call return a JSON object, with the following pydantic model json schema for each:\n"
    "{'title': 'FunctionCall', 'type': 'object', 'properties': {'arguments': {'title': 'Arguments', 'type': 'object'}, "
    "'name': {'title': 'Name', 'type': 'string'}}, 'required': ['arguments', 'name']}\n"
    "Each function call should be enclosed within <tool_call> </tool_call> XML tags. You must use <scratch_pad> "
    "</scratch_pad> XML tags to record your reasoning and planning before you call the functions as follows.\n"
    "Example:\n<scratch_pad>\nGoal: <state task assigned by user>\nActions:\n<if tool calls need to be generated:>\n"
    "- {result_var_name1} = functions.{function_name1}({param1}={value1},...)\n"
    "- {result_var_name2, result_var_name3} = ...\n<if no tool call needs to be generated:> None\n"
    "Observation: <set observation 'None' with tool calls; plan final tools results summary when provided>\n"
    "Reflection: <evaluate query-tool relevance and required parameters when tools called; analyze overall task status "
    "when observations made>\n</scratch_pad>\n<tool_call>\n{'name': <function-name>, 'arguments': <args-dict>}\n"
    "</tool_call>"
)
_GO_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def render_prompt(turns: Sequence[Turn], tools: Sequence[ToolDefinition] = ()) -> str:
    """The prompt for `turns` with `tools` on offer, exactly as the template writes it.

    System turns are put together in front, a blank line between them. A tool turn is one result, its `text` part the
    result's content. An assistant turn shows its structured calls (parts named `call:N`) if it has any, else its text.
    """
    system = "\n\n".join(_text(turn) for turn in turns if turn.role is Role.SYSTEM)
    return "".join([*_system(system, tools), *_messages(turn for turn in turns if turn.role is not Role.SYSTEM)])


def present_tools(tools: Sequence[ToolDefinition]) -> str:
    """What the template says of the tools in the system turn, behind the system's own words and a line feed."""
    return _BEFORE_TOOLS + "\n".join(map(_tool, tools)) + _AFTER_TOOLS


def _system(text: str, tools: Sequence[ToolDefinition]) -> Iterator[str]:
    if text or tools:
        yield f"<|im_start|>system\n{text}"
        if tools:
            yield f"\n{present_tools(tools)}"
        yield "<|im_end|>"


def _messages(turns: Iterable[Turn]) -> Iterator[str]:
    for are_results, group in groupby(turns, key=lambda turn: turn.role is Role.TOOL):
        if are_results:
            yield "\n<|im_start|>tool"
            yield from (f"\n<tool_response>\n{_text(turn)}\n</tool_response>" for turn in group)
            yield "<|im_end|>"
        else:
            yield from map(_message, group)


def _message(turn: Turn) -> str:
    if turn.role is Role.ASSISTANT and turn.calls:
        body = "".join(
            f'\n<tool_call>\n{{"name": "{header.name or ""}", "arguments": {_arguments(turn, header.part)}}}'
            "\n</tool_call>"
            for header in turn.calls
        )
    else:
        body = f"\n{_text(turn)}"
    return f"\n<|im_start|>{turn.role}{body}<|im_end|>"


def _arguments(turn: Turn, part: str) -> str:
    found = turn.part(part)
    return found.text if found is not None and found.text else "{}"


def _text(turn: Turn) -> str:
    part = turn.part("text")
    return part.text if part is not None else ""


def _tool(tool: ToolDefinition) -> str:
    definition = {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    }
    return json.dumps(definition, ensure_ascii=False, separators=(",", ":")).translate(_GO_ESCAPES)
