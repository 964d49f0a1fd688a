"""The templates of formats, by name."""

import json
import keyword
import re
from collections.abc import Iterator, Sequence
from types import MappingProxyType

from weaklink.inspector.apis.openai.messages import message_object
from weaklink.inspector.formats.completion import openai_message, tidy
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.json.call_shape import json_of
from weaklink.inspector.formats.templates import template
from weaklink.inspector.formats.templates.chatml import HERMES_TEMPLATE, JSON_SCHEMA_TEMPLATE, QWEN_TEMPLATE
from weaklink.inspector.formats.templates.llama3 import FUNCTIONARY_TEMPLATE, LLAMA3_TEMPLATE, PYTHONIC_TEMPLATE
from weaklink.inspector.json_text import list_of, object_of, properties_of, word_of
from weaklink.inspector.model import Json, Role, ToolDefinition, ToolResult

_CLAUDE_BLOCK = re.compile(
    r"(?:In this environment|These functions can be called)(?:(?!<functions>)[\s\S])*<functions>[\s\S]*?</functions>"
)
"""The block of tools in a system prompt, from the sentence before them to `</functions>`."""
_HUMAN = ("\n\nHuman: ", "")
_CLAUDE_TURNS = {Role.SYSTEM: ("", ""), Role.USER: _HUMAN, Role.ASSISTANT: ("\n\nAssistant: ", ""), Role.TOOL: _HUMAN}
_GEMINI_BLOCK = re.compile(r"These Python functions can be called(?:(?!```python\n)[\s\S])*```python\n[\s\S]*?\n```")
_TYPES = {
    "string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict",
    "null": "None",
}  # fmt: skip
_USER = ("<start_of_turn>user\n", "<end_of_turn>\n")
_MODEL = ("<start_of_turn>model\n", "<end_of_turn>\n")
_GEMINI_TURNS = {role: _MODEL if role is Role.ASSISTANT else _USER for role in Role}
_MISTRAL_TURNS = {
    Role.SYSTEM: ("[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
    Role.USER: ("[INST]", "[/INST]"),
    Role.ASSISTANT: ("", "</s>"),
    Role.TOOL: ("", ""),
}
_REACT_BLOCK = re.compile(
    r"""
      These[ ]tools[ ]can[ ]be[ ]used:\n [\s\S]*? \nFinal[ ]Answer:[ ][^\n]*        # `_react_tools`
    | (?: Answer[ ]the[ ]following[ ]questions                                      # LangChain's prompt
        | You[ ]have[ ]access[ ]to[ ]the[ ]following[ ]tools )                      # without its beginning
      (?:(?!\nFinal[ ]Answer:)[\s\S])* \nFinal[ ]Answer:[ ][^\n]*
    """,
    re.VERBOSE,
)
"""The block of tools in a system prompt, from the sentence before them to the line `Final Answer:`."""
_REACT_TURNS = {
    Role.SYSTEM: ("", "\n\n"),
    Role.USER: ("Question: ", "\n"),
    Role.ASSISTANT: ("", "\n"),
    Role.TOOL: ("Observation: ", "\n"),
}


def _claude_tools(tools: Sequence[ToolDefinition]) -> str:
    definitions = ({"description": tool.description, **template.bare_tool(tool)} for tool in tools)
    listed = "\n".join(f"<function>{json_of(definition)}</function>" for definition in definitions)
    return (
        'These functions can be called, several in one block:\n<function_calls>\n<invoke name="$FUNCTION_NAME">\n'
        '<parameter name="$PARAMETER_NAME">$PARAMETER_VALUE</parameter>\n...\n</invoke>\n</function_calls>\n\n'
        "Strings and scalars stand as they are, lists and objects as JSON.\n\n"
        f"<functions>\n{listed}\n</functions>"
    )


def _claude_result(result: ToolResult) -> str:
    if result.is_error:
        return f"<error>{result.content}</error>"
    named = f"<name>{result.name}</name>\n" if result.name else ""
    return f"<result>\n{named}<output>{result.content}</output>\n</result>"


CLAUDE_TEMPLATE = template.turn_template(
    template.Turns(_CLAUDE_TURNS),
    tools=_claude_tools,
    results=lambda results: "\n".join(("<function_results>", *map(_claude_result, results), "</function_results>")),
    tools_block=_CLAUDE_BLOCK,
    shares_turn=True,
)


def _gemini_tools(tools: Sequence[ToolDefinition]) -> str:
    declared = "\n\n".join(map(_signature, tools))
    return (
        "These Python functions can be called, each call on a line of a ```tool_code``` block; what they return comes "
        f"back in a ```tool_outputs``` block:\n\n```python\n{declared}\n```"
    )


def _signature(tool: ToolDefinition) -> str:
    members = properties_of(tool.parameters)
    names = list_of(object_of(tool.parameters).get("required"))
    ordered = {name: members[name] for name in sorted(members, key=lambda name: name not in names)}
    arguments = ", ".join(
        f"{name}{'_' * keyword.iskeyword(name)}: {_type(schema)}{'' if name in names else ' | None = None'}"
        for name, schema in ordered.items()
    )
    return "\n".join((f"def {tool.name}({arguments}) -> dict:", *_docstring(tool.description, ordered)))


def _type(schema: Json) -> str:
    named = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(named, list):
        return " | ".join(_TYPES.get(kind, "object") for kind in named if isinstance(kind, str)) or "object"
    if named == "array" and isinstance(schema, dict) and isinstance(schema.get("items"), dict):
        return f"list[{_TYPES.get(word_of(object_of(schema['items']).get('type')), 'object')}]"
    return _TYPES.get(named, "object") if isinstance(named, str) else "object"


def _docstring(description: str, members: dict[str, Json]) -> Iterator[str]:
    if not members:
        yield f'    """{description}"""'
    else:
        yield f'    """{description}'
        yield "\n    Args:"
        for name, schema in members.items():
            yield f"        {name}: {word_of(object_of(schema).get('description'))}".rstrip()
        yield '    """'


GEMINI_TEMPLATE = template.turn_template(
    template.Turns(_GEMINI_TURNS, beginning="<bos>", merges_system=True),
    tools=_gemini_tools,
    results=lambda results: "\n".join(f"```tool_outputs\n{result.content}\n```" for result in results),
    tools_block=_GEMINI_BLOCK,
    shares_turn=True,
)


def _offered(tools: Sequence[ToolDefinition]) -> Json:
    return [template.openai_tool(tool) for tool in tools]


def _mistral_result(result: ToolResult) -> str:
    id = f"{result.call_id}[TOOL_CONTENT]" if result.call_id is not None else ""
    return f"[TOOL_RESULTS]{id}{result.content}[/TOOL_RESULTS]"


MISTRAL_TEMPLATE = template.turn_template(
    template.Turns(_MISTRAL_TURNS, beginning="<s>", tools_role=Role.USER, tools_outside=True),
    tools=lambda tools: f"[AVAILABLE_TOOLS]{json_of(_offered(tools))}[/AVAILABLE_TOOLS]",
    results=lambda results: "".join(map(_mistral_result, results)),
)


def _transcript(messages: Sequence[template.TemplateMessage], tools: Sequence[ToolDefinition], _format: Format) -> str:
    body: dict[str, Json] = {"messages": list(_written(messages))}
    body |= {"tools": _offered(tools)} if tools else {}
    try:
        return json.dumps(body, ensure_ascii=False, indent=1, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return json_of(body)


def _written(messages: Sequence[template.TemplateMessage]) -> Iterator[Json]:
    for message in template.grouped(messages, shares_turn=False):
        if message.role is Role.ASSISTANT:
            yield openai_message(tidy(message.pieces))
        elif message.role is Role.TOOL:
            yield _returned(message.results)
        else:
            yield message_object(message.role.value, message.text)


def _returned(results: Sequence[ToolResult]) -> dict[str, Json]:
    call_id = results[0].call_id if results else None
    named: dict[str, Json] = {"tool_call_id": call_id} if call_id is not None else {}
    return {"role": "tool", **named, "content": template.contents(results)}


OPENAI_TEMPLATE = template.Template(
    tools=lambda _tools: "",
    results=template.contents,
    transcript=_transcript,
    answer=openai_message,
    returned=_returned,
    offered=_offered,
)


def _react_tools(tools: Sequence[ToolDefinition]) -> str:
    arguments = (object_of(tool.parameters).get("properties", {}) for tool in tools)
    listed = "\n".join(
        f"{tool.name}: {tool.description}, args: {json_of(members)}"
        for tool, members in zip(tools, arguments, strict=True)
    )
    names = ", ".join(tool.name for tool in tools)
    return (
        f"These tools can be used:\n{listed}\n\nEvery step has these lines:\n\nQuestion: what is asked\n"
        f"Thought: what to do next\nAction: one of [{names}]\nAction Input: the tool's arguments as a JSON object\n"
        "Observation: what the tool returned\n... (more such steps)\nThought: why the answer is known\n"
        "Final Answer: the answer to the question"
    )


REACT_TEMPLATE = template.turn_template(
    template.Turns(_REACT_TURNS), tools=_react_tools, results=template.contents, tools_block=_REACT_BLOCK
)

TEMPLATES = MappingProxyType(
    {
        "hermes": HERMES_TEMPLATE,
        "mistral": MISTRAL_TEMPLATE,
        "llama3": LLAMA3_TEMPLATE,
        "qwen": QWEN_TEMPLATE,
        "functionary": FUNCTIONARY_TEMPLATE,
        "openai": OPENAI_TEMPLATE,
        "claude": CLAUDE_TEMPLATE,
        "gemini": GEMINI_TEMPLATE,
        "pythonic": PYTHONIC_TEMPLATE,
        "react": REACT_TEMPLATE,
        "json_schema": JSON_SCHEMA_TEMPLATE,
    }
)
"""The templates by the name of the format."""


def find_template(format: Format) -> template.Template | None:
    """The format's template; None if none is known, as for most of the less common formats."""
    return TEMPLATES.get(format.name)
