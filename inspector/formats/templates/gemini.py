r"""Gemini's and Gemma's text side: Gemma's turns, tools as Python signatures, results in fences of `tool_outputs`.

Sources: Google's guide to function calling with Gemma 3, vllm:examples/tool_chat_template_gemma3_pythonic.jinja (no
system turn: its words stand at the head of the user's first). The sentence before the signatures is ours.
"""

import keyword
from collections.abc import Iterator, Sequence
from types import MappingProxyType

from inspector.formats.templates.template import Turns, turn_template
from inspector.model import Json, Role, ToolDefinition, ToolResult
from inspector.scanning import lazy_pattern

_BLOCK = lazy_pattern(r"These Python functions can be called(?:(?!```python\n)[\s\S])*```python\n[\s\S]*?\n```")
_TYPES = {
    "string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict",
    "null": "None",
}  # fmt: skip
_USER = ("<start_of_turn>user\n", "<end_of_turn>\n")
_TURNS = MappingProxyType(
    {
        Role.SYSTEM: _USER,
        Role.USER: _USER,
        Role.TOOL: _USER,
        Role.ASSISTANT: ("<start_of_turn>model\n", "<end_of_turn>\n"),
    }
)


def _tools(tools: Sequence[ToolDefinition]) -> str:
    declared = "\n\n".join(map(_signature, tools))
    return (
        "These Python functions can be called, each call on a line of a ```tool_code``` block; what they return comes "
        f"back in a ```tool_outputs``` block:\n\n```python\n{declared}\n```"
    )


def _signature(tool: ToolDefinition) -> str:
    schema = tool.parameters if isinstance(tool.parameters, dict) else {}
    properties = schema.get("properties")
    members = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    wanted = required if isinstance(required, list) else []
    ordered = sorted(members, key=lambda name: name not in wanted)
    arguments = ", ".join(_argument(name, members[name], required=name in wanted) for name in ordered)
    body = "\n".join([*_docstring(tool.description, {name: members[name] for name in ordered})])
    return f"def {tool.name}({arguments}) -> dict:\n{body}"


def _argument(name: str, schema: Json, *, required: bool) -> str:
    kind = _type(schema)
    shown = f"{name}_" if keyword.iskeyword(name) else name
    return f"{shown}: {kind}" if required else f"{shown}: {kind} | None = None"


def _type(schema: Json) -> str:
    named = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(named, list):
        return " | ".join(_TYPES.get(one, "object") for one in named if isinstance(one, str)) or "object"
    if named == "array" and isinstance(schema, dict) and isinstance(schema.get("items"), dict):
        return f"list[{_TYPES.get(_named(schema['items']), 'object')}]"
    return _TYPES.get(named, "object") if isinstance(named, str) else "object"


def _named(schema: Json) -> str:
    named = schema.get("type") if isinstance(schema, dict) else None
    return named if isinstance(named, str) else ""


def _docstring(description: str, members: dict[str, Json]) -> Iterator[str]:
    if not members:
        yield f'    """{description}"""'
    else:
        yield f'    """{description}'
        yield "\n    Args:"
        for name, schema in members.items():
            said = schema.get("description") if isinstance(schema, dict) else None
            yield f"        {name}: {said if isinstance(said, str) else ''}".rstrip()
        yield '    """'


def _results(results: Sequence[ToolResult]) -> str:
    return "\n".join(f"```tool_outputs\n{result.content}\n```" for result in results)


GEMINI_TEMPLATE = turn_template(
    Turns(_TURNS, beginning="<bos>", merges_system=True),
    tools=_tools,
    results=_results,
    tools_block=_BLOCK,
    shares_turn=True,
)
