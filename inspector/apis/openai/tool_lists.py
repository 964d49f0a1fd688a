"""Tools that a request offers otherwise than one by one, and tools that come later in the conversation.

    namespace              OpenAI: `{"type": "namespace", "name", "tools": [...]}`; calls have the name of an inner tool
    toolset                Anthropic: `{"type": "computer_toolset_20260801"}`; the names of its tools are nowhere
    deferred tool          `defer_loading: true`: the list has it, the model sees it once a search has found it
    tool_search_output     OpenAI: the tools that a search by the client found, which need not be in the list
    additional_tools       OpenAI: an item that offers more tools from here on
    tool_addition          Anthropic: a block of a system message that adds a tool, by name or by its definition

Anthropic's tool searches answer with names (`tool_reference`) of tools that the list must have. Sources, read on
2026-11-29: the types of openai-python 3.54.0 (types/responses) and anthropic-sdk-python 2.12.0 (types, types/beta);
developers.openai.com, "Tool search"; platform.claude.com, "Tool search tool".
"""

import re
from collections.abc import Iterable, Iterator

from weaklink.inspector.apis.openai.messages import read_tools
from weaklink.inspector.json_text import list_of, object_of, word_of
from weaklink.inspector.model import Json, Role, ToolDefinition, Turn
from weaklink.inspector.wire.provider_json import try_parse_json

SEARCH_OUTPUT = "tool_search_output"
"""The type of the item that has the tools that a search found."""

ADDITIONAL_TOOLS = "additional_tools"
"""The type of the item that offers more tools."""

_ADDITION = "tool_addition"
_NAMESPACE = "namespace"
_COMPUTER, _COMPUTER_CALLED = "computer_use_preview", "computer"
_TOOLSET = re.compile(r'"type"\s*:\s*"(?!mcp_)[a-z_]+_toolset(?:_\d+)?"', re.ASCII)
_LATER = (f'"{SEARCH_OUTPUT}"', f'"{_ADDITION}"')


def callable_tools(definitions: Iterable[ToolDefinition]) -> dict[str, ToolDefinition]:
    """The definitions by the names that calls have; of two with the same name the last counts.

    A namespace's tools are under their own names. If tools of several namespaces share a name, it stands for any of
    them: its definition has no schema, since a call's name does not tell which is meant.
    """
    tools: dict[str, ToolDefinition] = {}
    inner: dict[str, ToolDefinition] = {}
    for tool in definitions:
        tools[tool.name] = tool
        if tool.parameters is not None:
            continue
        if tool.name == _COMPUTER:
            tools[_COMPUTER_CALLED] = tool
        for definition in _in_namespace(tool):
            known = inner.get(definition.name)
            same = known is None or known.parameters == definition.parameters
            inner[definition.name] = definition if same else ToolDefinition(definition.name, raw=definition.raw)
    return {**inner, **tools} if inner else tools


def has_unnamed_tools(definitions: Iterable[ToolDefinition]) -> bool:
    """Whether a toolset is among the definitions, whose tools' names only its provider knows."""
    return any(tool.parameters is None and _TOOLSET.search(tool.raw) is not None for tool in definitions)


def loaded_tools(turn: Turn) -> tuple[ToolDefinition, ...]:
    """The tools that a turn adds to those of the requests; empty for nearly every turn. Never raises."""
    if turn.source_role == SEARCH_OUTPUT:
        text = turn.part("text")
        return () if text is None else read_tools(text.text)
    if turn.role is Role.USER or turn.role is Role.TOOL:
        return ()
    blocks = [part.text for part in turn.parts if part.name.startswith("content:")]
    if not blocks:
        return ()
    if turn.source_role != ADDITIONAL_TOOLS:
        blocks = [text for text in blocks if any(sign in text for sign in _LATER)]
    return tuple(tool for text in blocks for tool in read_tools([*_added(try_parse_json(text))]))


def _added(block: Json) -> Iterator[Json]:
    """The definitions that an item or a block contains."""
    members = object_of(block)
    if word_of(members.get("type")) == _ADDITION:
        definition = object_of(members.get("tool")).get("definition")
        if definition is not None:
            yield definition
        return
    yield from list_of(members.get("tools"))


def _in_namespace(tool: ToolDefinition) -> tuple[ToolDefinition, ...]:
    if f'"{_NAMESPACE}"' not in tool.raw:
        return ()
    members = object_of(try_parse_json(tool.raw))
    return read_tools(members.get("tools")) if word_of(members.get("type")) == _NAMESPACE else ()
