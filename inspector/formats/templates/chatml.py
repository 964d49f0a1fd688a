"""The ChatML templates: Hermes with its published system prompt, Qwen, and constrained output (`json_schema`).

Hermes shows tools in `<tools>` and results in `<tool_response>`; Qwen puts results in a user's turn; constrained
output shows the tools as the JSON Schema of the reply.

`hermes`: Source: the chat template published with the Hermes 3 tool models (see the prompt in this module), and
NousResearch/Hermes-Function-Calling:prompt_assets/sys_prompt.yml.

`hermes_prompt`: Source: the chat template that is published with the Hermes 3 tool models (a Go template, as Ollama
runs it). ChatML turns; tools as compact JSON, one per line, with Go's escapes; consecutive results share one `tool`
turn; a turn with calls shows the calls and not its text; every turn except a first system turn begins with a line feed;
the answer's turn is not opened.

`qwen`: Sources: llama.cpp:models/templates/Qwen-Qwen2.5-7B-Instruct.jinja, Qwen/Qwen3 model cards. The sentences
around the list are weaklink's; markers, order and JSON are the template's.

`json_schema`: Source: vllm:tests/tool_use/test_tool_choice_required.py (an array of objects, each a tool's name and
its `parameters`). The server presents the schema, not a family's template; the sentence before it is weaklink's.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from types import MappingProxyType

from weaklink.inspector.formats.json.call_shape import json_of
from weaklink.inspector.formats.templates.template import CHATML, Turns, bare_tool, contents, openai_tool, turn_template
from weaklink.inspector.model import Json, Role, ToolDefinition, ToolResult, Turn

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
    "Each function call should be enclosed within <tool_call> </tool_call> XML tags."
)

_SCRATCH_PADS = (
    " You must use <scratch_pad> </scratch_pad> XML tags to record your reasoning and planning before you call the "
    "functions as follows.\n"
    "Example:\n<scratch_pad>\nGoal: <state task assigned by user>\nActions:\n<if tool calls need to be generated:>\n"
    "- {result_var_name1} = functions.{function_name1}({param1}={value1},...)\n"
    "- {result_var_name2, result_var_name3} = ...\n<if no tool call needs to be generated:> None\n"
    "Observation: <set observation 'None' with tool calls; plan final tools results summary when provided>\n"
    "Reflection: <evaluate query-tool relevance and required parameters when tools called; analyze overall task status "
    "when observations made>\n</scratch_pad>"
)

_CALL_EXAMPLE = "\n<tool_call>\n{'name': <function-name>, 'arguments': <args-dict>}\n</tool_call>"

_GO_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x2028: "\\u2028", 0x2029: "\\u2029"}

_BLOCK_HERMES = re.compile(
    r"""
    You[ ]are[ ]a[ ]function[ -]calling[ ]AI[ ]model\b (?:(?!<tools>)[\s\S])*   # the first sentences
    <tools> [\s\S]*? </tools>
    (?:(?!</tool_call>)[\s\S])*                                                 # the schema of a call
    (?: </tool_call>\s*XML[ ]tags (?:(?!</tool_call>)[\s\S])* </tool_call>      # "... within <tool_call></tool_call>
      | </tool_call> )                                                          #  XML tags", then the example
    """,
    re.VERBOSE,
)
"""The block of tools in a Hermes' system prompt, from its first sentence to the example of a call."""

_BLOCK = re.compile(
    r"""
    \#[ ]Tools\n (?:(?!<tools>\n)[\s\S])*                   # the heading and a sentence
    <tools>\n [\s\S]*? </tools>
    (?:(?!<tool_call>\n)[\s\S])*
    <tool_call>\n [^\n]*\n </tool_call>                     # the example of a call
    """,
    re.VERBOSE,
)
"""The block of tools in a Qwen's system prompt, from `# Tools` to the example of a call."""

_BLOCK_JSON_SCHEMA = re.compile(r"Calls are a JSON array that keeps to this schema:\n[^\n]*")


def render_prompt(turns: Sequence[Turn], tools: Sequence[ToolDefinition] = ()) -> str:
    """The prompt for `turns` with the available `tools`, exactly as the template writes it.

    System turns are joined at the beginning, with a blank line between them. A tool turn is one result, whose content
    is the turn's `text` part. An assistant turn shows its structured calls (parts named `call:N`) if it has any, else
    its text.
    """
    system = "\n\n".join(_text(turn) for turn in turns if turn.role is Role.SYSTEM)
    offered = f"\n{present_tools(tools)}" if tools else ""
    head = f"<|im_start|>system\n{system}{offered}<|im_end|>" if system or tools else ""
    return head + "".join(_messages(turn for turn in turns if turn.role is not Role.SYSTEM))


def present_tools(tools: Sequence[ToolDefinition], reasoning: str = _SCRATCH_PADS) -> str:
    """The template's text about the tools in the system turn; it follows the system prompt and a line feed.

    `reasoning` is the text about scratch pads.
    """
    return _BEFORE_TOOLS + "\n".join(map(_tool, tools)) + _AFTER_TOOLS + reasoning + _CALL_EXAMPLE


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
            f'\n<tool_call>\n{{"name": "{header.name or ""}", "arguments": {_text(turn, header.part) or "{}"}}}'
            "\n</tool_call>"
            for header in turn.calls
        )
    else:
        body = f"\n{_text(turn)}"
    return f"\n<|im_start|>{turn.role}{body}<|im_end|>"


def _text(turn: Turn, name: str = "text") -> str:
    part = turn.part(name)
    return part.text if part is not None else ""


def _tool(tool: ToolDefinition) -> str:
    definition = {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    }
    return json.dumps(definition, ensure_ascii=False, separators=(",", ":")).translate(_GO_ESCAPES)


def tool_responses(results: Sequence[ToolResult]) -> str:
    """The results, each in separate tags."""
    return "\n".join(f"<tool_response>\n{result.content}\n</tool_response>" for result in results)


HERMES_TEMPLATE = turn_template(
    Turns(CHATML),
    tools=lambda tools: present_tools(tools, ""),  # all answers that weaklink writes reason in `<think>`
    results=tool_responses,
    tools_block=_BLOCK_HERMES,
    join=lambda words, tools: f"{words}\n{tools}" if words else tools,
    shares_turn=True,
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


def _call(tool: ToolDefinition) -> Json:
    named: Json = {"name": {"type": "string", "enum": [tool.name]}, "parameters": bare_tool(tool)["parameters"]}
    return {"description": tool.description, "properties": named, "required": ["name", "parameters"]}


def _tools_json_schema(tools: Sequence[ToolDefinition]) -> str:
    items: Json = {"type": "object", "anyOf": [_call(tool) for tool in tools]}
    schema = json_of({"type": "array", "minItems": 1, "items": items})
    return f"Calls are a JSON array that keeps to this schema:\n{schema}"


JSON_SCHEMA_TEMPLATE = turn_template(
    Turns(CHATML), tools=_tools_json_schema, results=contents, tools_block=_BLOCK_JSON_SCHEMA
)
