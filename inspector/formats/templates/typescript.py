"""JSON Schemas as the TypeScript that functionary's prompt declares tools in.

Source: MeetKai/functionary:tests/prompt_test_v3.llama3.txt, functionary/schema.py.
"""

from collections.abc import Iterator

from inspector.formats.writing import json_of
from inspector.model import Json, ToolDefinition

_DEPTH = 32
_TYPES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def declaration(tool: ToolDefinition) -> str:
    """The tool as a type of a function, its description above it."""
    properties = _properties(tool.parameters)
    about = _comment(tool.description)
    if not properties:
        return f"{about}type {tool.name} = () => any;"
    return f"{about}type {tool.name} = (_: {{\n{_members(tool.parameters, 0)}}}) => any;"


def _members(schema: Json, depth: int) -> str:
    required = schema.get("required") if isinstance(schema, dict) else None
    wanted = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
    return "".join(
        f"{_comment(_description(member))}{name}{'' if name in wanted else '?'}: {_type(member, depth + 1)},\n"
        for name, member in _properties(schema).items()
    )


def _type(schema: Json, depth: int) -> str:
    if not isinstance(schema, dict) or depth > _DEPTH:
        return "any"
    options = schema.get("enum")
    if isinstance(options, list) and options:
        return " | ".join(map(json_of, options))
    named = schema.get("type")
    if isinstance(named, list):
        return " | ".join(dict.fromkeys(_type({**schema, "type": one}, depth + 1) for one in named)) or "any"
    if named == "array":
        inner = _type(schema.get("items"), depth + 1)
        return f"Array<{inner}>" if " " in inner else f"{inner}[]"
    if named == "object":
        return f"{{\n{_members(schema, depth)}}}" if _properties(schema) else "object"
    return _TYPES.get(named, "any") if isinstance(named, str) else "any"


def _properties(schema: Json) -> dict[str, Json]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _description(schema: Json) -> str:
    said = schema.get("description") if isinstance(schema, dict) else None
    return said if isinstance(said, str) else ""


def _comment(text: str) -> str:
    return "".join(f"// {line}\n" for line in _lines(text))


def _lines(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if line.strip())
