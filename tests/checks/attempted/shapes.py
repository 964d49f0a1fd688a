"""The shapes in which models write calls that their format does not read, made up from a seed."""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from html import escape
from types import MappingProxyType

from weaklink.inspector.formats.registry import formats
from weaklink.inspector.model import Json, ToolCall, ToolDefinition
from weaklink.inspector.text import Range

Arguments = dict[str, Json]
Shape = Callable[[str, Arguments], str]


def tool(name: str, /, *required: str, **properties: str) -> ToolDefinition:
    schema: Json = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in properties.items()},
        "required": list(required),
    }
    return ToolDefinition(name, "", schema)


TOOLS = (
    tool("get_weather", "city", city="string", days="integer"),
    tool("search", "query", query="string", limit="integer"),
    tool("math.gcd", "a", "b", a="integer", b="integer"),
    tool("send_email", "to", "subject", to="string", subject="string"),
    tool("get_time", zone="string"),
)
_VALUES: Mapping[str, tuple[Json, ...]] = MappingProxyType(
    {
        "city": ("Oslo", "São Paulo", "New York, NY"),
        "days": (1, 2),
        "query": ("weather in Oslo", "who's there?", "a (b) c"),
        "limit": (5,),
        "a": (12,),
        "b": (18,),
        "to": ("a@b.c",),
        "subject": ("Hi", "Let's meet\nat 10"),
        "zone": ("UTC",),
    }
)
_BEFORE = ("", "Sure, I can help.\n", "Let me look that up.\n\n", "I'll use the tool: ")
_BEHIND = ("", "\n", "\n\nThis will give the result.", "\nLet me know if you need more.")


def made_up_call(seed: random.Random) -> tuple[str, Arguments]:
    """A call of one of the tools with all of its arguments."""
    chosen = seed.choice(TOOLS)
    parameters = chosen.parameters
    assert isinstance(parameters, dict)
    properties = parameters["properties"]
    assert isinstance(properties, dict)
    return chosen.name, {key: seed.choice(_VALUES[key]) for key in properties}


def python(name: str, arguments: Arguments) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def _escaped(name: str, arguments: Arguments) -> str:
    return f"[{python(name, arguments)}]".replace("_", "\\_")


def _positional(name: str, arguments: Arguments) -> str:
    return f"[{name}({', '.join(map(repr, arguments.values()))})]"


def _children(arguments: Arguments) -> str:
    return "".join(f"<{key}>{value}</{key}>\n" for key, value in arguments.items())


def _named_children(arguments: Arguments) -> str:
    return "".join(f'<parameter name="{key}">{value}</parameter>\n' for key, value in arguments.items())


def _attributes(name: str, arguments: Arguments) -> str:
    written = (f'{key}="{escape(str(value))}"'.replace("\n", "&#10;") for key, value in arguments.items())
    return f"<{name} {' '.join(written)}/>"


def _pairs(arguments: Arguments) -> str:
    return ", ".join(f"{key}={json.dumps(value)}" for key, value in arguments.items())


def _lines(before: str, arguments: Arguments) -> str:
    return "\n".join(f"{before}{key}: {json.dumps(value)}" for key, value in arguments.items())


def _tags(name: str, arguments: Arguments) -> str:
    return f"<{name}>\n{_children(arguments)}</{name}>"


def _json(key: str) -> Shape:
    return lambda name, arguments: json.dumps({"name": name, key: arguments})


SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "fence": lambda name, arguments: f"```python\n{python(name, arguments)}\n```",
        "fence without a language": lambda name, arguments: f"```\n[{python(name, arguments)}]\n```",
        "inline fence": lambda name, arguments: f"```[{python(name, arguments)}]```",
        "indented fence": lambda name, arguments: f"1. First:\n   ```python\n   {python(name, arguments)}\n   ```",
        "own line": lambda name, arguments: f"\n{python(name, arguments)}\n",
        "label": lambda name, arguments: f"tools call: [{python(name, arguments)}]",
        "sentence": lambda name, arguments: f"I will call {python(name, arguments)} now.",
        "backticks": lambda name, arguments: f"`{python(name, arguments)}`",
        "string": lambda name, arguments: json.dumps([python(name, arguments)]),
        "Python's string": lambda name, arguments: repr([python(name, arguments)]),
        "escapes": _escaped,
        "dropped namespace": lambda name, arguments: f"[{python(name.split('.')[-1], arguments)}]",
        "other namespace": lambda name, arguments: f"[{python(f'functions.{name}', arguments)}]",
        "dashes": lambda name, arguments: f"```\n{python(name.replace('_', '-'), arguments)}\n```",
        "arguments": _json("arguments"),
        "parameters": _json("parameters"),
        "args": _json("args"),
        "input": _json("input"),
        "name as key": lambda name, arguments: json.dumps({name: arguments}),
        "pair": lambda name, arguments: json.dumps([name, arguments]),
        "beside the name": lambda name, arguments: json.dumps({"name": name, **arguments}),
        "name before an object": lambda name, arguments: f"{name} {json.dumps(arguments)}",
        "name as a label": lambda name, arguments: f"`{name}`:\n{json.dumps(arguments, indent=2)}",
        "Python's quotes": lambda name, arguments: repr([{"name": name, "arguments": arguments}]),
        "declaration": lambda name, arguments: f"<?xml version='1.0'?>\n{_json('arguments')(name, arguments)}",
        "header token": lambda name, arguments: f"<|end_header_id|>\n{_json('arguments')(name, arguments)}",
        "other opener": lambda name, arguments: f"<tool>\n{_json('arguments')(name, arguments)}\n</tool>",
        "positional": _positional,
        "dictionary": lambda name, arguments: f"{name}({arguments!r})",
        "placeholder": lambda name, arguments: f"[{name}({', '.join(f'{key}=<{key}>' for key in arguments)})]",
        "print": lambda name, arguments: f"```python\nprint({python(name, arguments)})\n```",
        "assignment": lambda name, arguments: f"```python\nfound = {python(name, arguments)}\nprint(found)\n```",
        "tags": _tags,
        "labels": lambda name, arguments: f"Tool: {name}\nInput: {json.dumps(arguments)}",
        "words": lambda name, arguments: f"Calling tool {name} with arguments {json.dumps(arguments)}",
        "brackets": lambda name, arguments: f"[Call {name} with {json.dumps(arguments)}]",
        "two tags": lambda name, arguments: f"<tool>{name}</tool><args>{json.dumps(arguments)}</args>",
        "tags in a tag": lambda name, arguments: (
            f"<tool_use>\n<name>{name}</name>\n<input>{json.dumps(arguments)}</input>\n</tool_use>"
        ),
        "name as attribute": lambda name, arguments: f'<run_tool name="{name}">{json.dumps(arguments)}</run_tool>',
        "name and children": lambda name, arguments: (
            f"<tool_name>{name}</tool_name>\n<parameters>{_children(arguments)}</parameters>"
        ),
        "named parameters": lambda name, arguments: f'<use tool="{name}">\n{_named_children(arguments)}</use>',
        "attributes": _attributes,
        "bold labels": lambda name, arguments: f"**Tool:** `{name}`\n**Parameters:**\n{_lines('- ', arguments)}",
        "a heading": lambda name, arguments: f"### Function call\n\n`{name}`\n\n```json\n{json.dumps(arguments)}\n```",
        "a sign": lambda name, arguments: f"🔧 Calling `{name}` with {json.dumps(arguments)}...",
        "a bar": lambda name, arguments: f"ACTION: {name} | INPUT: {json.dumps(arguments)}",
        "pairs": lambda name, arguments: f"{name} {_pairs(arguments)}",
        "labelled pairs": lambda name, arguments: f"Function: {name}\nParameters: {_pairs(arguments)}",
        "one word": lambda name, arguments: f"call {name} {json.dumps(arguments)}",
        "other keys": lambda name, arguments: json.dumps({"toolName": name, "toolInput": arguments}),
        "YAML": lambda name, arguments: f"tool: {name}\nargs:\n{_lines('  ', arguments)}",
        "YAML in a fence": lambda name, arguments: f"```yaml\ntool: {name}\nargs:\n{_lines('  ', arguments)}\n```",
        "list of lines": lambda name, arguments: f"Tool: {name}\nArguments:\n{_lines('- ', arguments)}",
        "ReAct": lambda name, arguments: f"\nAction: {name}\nAction Input: {json.dumps(arguments)}",
    }
)


def in_other_formats(name: str, arguments: Arguments) -> Iterator[str]:
    """The call as each format writes it."""
    call = ToolCall(name, arguments, "", valid=True, range=Range(0, 0))
    yield from (dialect.write_calls([call]) for dialect in formats() if dialect.expresses(call))


def in_prose(seed: random.Random, written: str) -> str:
    """A call between words of an answer."""
    return f"{seed.choice(_BEFORE)}{written}{seed.choice(_BEHIND)}"
