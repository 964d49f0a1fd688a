"""The templates with Llama 3's headers: Llama 3.1, Python call syntax (Llama 3.2) and functionary v3.

Llama shows tools as JSON in the system turn and results in a turn of `ipython`; functionary shows tools as a
TypeScript namespace and results in a turn of `tool`.

`llama3`: Source: vllm:examples/tool_chat_template_llama3.1_json.jinja with `tools_in_user_message` off. A result that
is not JSON becomes the `output` of an object. The sentences around the tools are weaklink's.

`pythonic`: Sources: Meta's Llama 3.2 prompt guide and vllm:examples/tool_chat_template_llama3.2_pythonic.jinja: both
show the tools as JSON and only the calls as Python. The sentences around the list are weaklink's.

`functionary`: Source: MeetKai/functionary:tests/prompt_test_v3.llama3.txt. The sentences before the namespace are
weaklink's; the system prompt follows it.

`typescript`: Source: MeetKai/functionary:tests/prompt_test_v3.llama3.txt, functionary/schema.py.
"""

import json
import re
from collections.abc import Sequence

from weaklink.inspector.formats.json.call_shape import json_of
from weaklink.inspector.formats.templates import template
from weaklink.inspector.json_text import json_or_text, list_of, object_of, properties_of, word_of
from weaklink.inspector.model import Json, ToolDefinition, ToolResult

_DEPTH = 32
_TYPES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}

_BLOCK = re.compile(
    r"(?:You are capable of executing|These functions can be called)(?:(?!namespace functions \{)[\s\S])*"
    r"namespace functions \{[\s\S]*?\} // namespace functions"
)
"""The block of tools in a system prompt, from the sentence before them to the end of `namespace functions`."""


def outputs(results: Sequence[ToolResult]) -> str:
    """The results as JSON: unchanged if a result is JSON, else an object with its text as `output`."""
    texts = (result.content for result in results)
    return "\n".join(
        text if isinstance(json_or_text(text), dict | list) else json_of({"output": text}) for text in texts
    )


def _tools(tools: Sequence[ToolDefinition]) -> str:
    listed = "\n\n".join(template.indented(template.openai_tool(tool)) for tool in tools)
    example = json.dumps({"name": "function name", "parameters": {"argument name": "its value"}})
    return (
        f"Environment: ipython\n\nThe following functions can be called. A call is the whole reply, in JSON: {example}."
        f"\n\n{listed}"
    )


LLAMA3_TEMPLATE = template.turn_template(
    template.Turns(template.llama_turns("ipython"), beginning="<|begin_of_text|>"),
    tools=_tools,
    results=outputs,
    join=lambda words, tools: f"{tools}\n\n{words}" if words else tools,
)


def _tools_pythonic(tools: Sequence[ToolDefinition]) -> str:
    return (
        "A call is the whole reply, as a list in Python's syntax: [name1(argument1=value1, argument2=value2), name2()]."
        f"\nThese are the available functions:\n\n{template.indented([template.bare_tool(tool) for tool in tools])}"
    )


PYTHONIC_TEMPLATE = template.turn_template(
    template.Turns(template.llama_turns("ipython"), beginning="<|begin_of_text|>"),
    tools=_tools_pythonic,
    results=outputs,
)


def declaration(tool: ToolDefinition) -> str:
    """The tool as a TypeScript function type, below its description."""
    properties = properties_of(tool.parameters)
    about = _comment(tool.description)
    if not properties:
        return f"{about}type {tool.name} = () => any;"
    return f"{about}type {tool.name} = (_: {{\n{_members(tool.parameters, 0)}}}) => any;"


def _members(schema: Json, depth: int) -> str:
    names = list_of(object_of(schema).get("required"))
    return "".join(
        f"{_comment(word_of(object_of(member).get('description')))}{name}{'' if name in names else '?'}: "
        f"{_type(member, depth + 1)},\n"
        for name, member in properties_of(schema).items()
    )


def _type(schema: Json, depth: int) -> str:
    if not isinstance(schema, dict) or depth > _DEPTH:
        return "any"
    options = schema.get("enum")
    if isinstance(options, list) and options:
        return " | ".join(map(json_of, options))
    named = schema.get("type")
    if isinstance(named, list):
        return " | ".join(dict.fromkeys(_type({**schema, "type": kind}, depth + 1) for kind in named)) or "any"
    if named == "array":
        inner = _type(schema.get("items"), depth + 1)
        return f"Array<{inner}>" if " " in inner else f"{inner}[]"
    if named == "object":
        return f"{{\n{_members(schema, depth)}}}" if properties_of(schema) else "object"
    return _TYPES.get(named, "any") if isinstance(named, str) else "any"


def _comment(text: str) -> str:
    return "".join(f"// {line}\n" for line in text.splitlines() if line.strip())


def _tools_functionary(tools: Sequence[ToolDefinition]) -> str:
    declared = "\n\n".join(map(declaration, tools))
    return (
        "These functions can be called, and only where they are needed. A reply names its recipient, `all` for words "
        "to the user, and gives a function's arguments as JSON:\n>>>${recipient}\n${content}\n"
        f"Available functions:\nnamespace functions {{\n\n{declared}\n\n}} // namespace functions"
    )


FUNCTIONARY_TEMPLATE = template.turn_template(
    template.Turns(template.llama_turns("tool"), beginning="<|begin_of_text|>"),
    tools=_tools_functionary,
    results=template.contents,
    tools_block=_BLOCK,
    join=lambda words, tools: f"{tools}\n\n{words}" if words else tools,
)
