"""The definition of a chat template: how it presents turns, tools and results; with helpers for several templates."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct

from weaklink.inspector.apis.openai.messages import tool_object
from weaklink.inspector.formats.completion import CompletionPiece, write_completion
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.json.call_shape import json_of
from weaklink.inspector.model import Json, Role, ToolDefinition, ToolResult

Present: TypeAlias = Callable[[Sequence[ToolDefinition]], str]
"""Writes the text that lists a model's tools; never called without tools."""

PresentResults: TypeAlias = Callable[[Sequence[ToolResult]], str]
"""Writes the text of one turn with results."""


class TemplateMessage(Struct, frozen=True):
    """One turn to render: `text` of a system or user turn, `pieces` of an assistant turn, `results` of a tool turn."""

    role: Role
    text: str = ""
    pieces: tuple[CompletionPiece, ...] = ()
    results: tuple[ToolResult, ...] = ()


Transcribe: TypeAlias = Callable[[Sequence[TemplateMessage], Sequence[ToolDefinition], Format], str]


def after_words(words: str, tools: str) -> str:
    """The tools after the words of the system prompt, if it has any."""
    return f"{words}\n\n{tools}" if words else tools


class Template(Struct, frozen=True):
    """How a family presents what its models do not write.

    `tools` and `results` return texts; `transcript` returns a whole conversation as one text. `tools_block` finds the
    family's presentation of tools in a system turn, whatever tools it lists; None if only the definitions have markers.
    `join` joins the system prompt and the tools. `shares_turn` says that consecutive results share one turn. `answer`,
    `returned` and `offered` are set if the family is an API: they build the message objects of a model's turn and of a
    turn with results, and the value of the request's field `tools`.
    """

    tools: Present
    results: PresentResults
    transcript: Transcribe
    tools_block: re.Pattern[str] | None = None
    join: Callable[[str, str], str] = after_words
    shares_turn: bool = False
    answer: Callable[[Sequence[CompletionPiece]], dict[str, Json]] | None = None
    returned: Callable[[Sequence[ToolResult]], dict[str, Json]] | None = None
    offered: Callable[[Sequence[ToolDefinition]], Json] | None = None


class Turns(Struct, frozen=True):
    """The text before and after each role's turn, and before all turns.

    `tools_role` is the role whose first turn lists the tools, `tools_outside` says that they are before its header.
    `merges_system` says that there is no system turn: the system prompt is at the beginning of the next user turn.
    """

    around: Mapping[Role, tuple[str, str]]
    beginning: str = ""
    tools_role: Role = Role.SYSTEM
    tools_outside: bool = False
    merges_system: bool = False


def turn_template(
    turns: Turns,
    *,
    tools: Present,
    results: PresentResults,
    tools_block: re.Pattern[str] | None = None,
    join: Callable[[str, str], str] = after_words,
    shares_turn: bool = False,
) -> Template:
    """A Template whose transcripts are consecutive turns."""

    def transcript(messages: Sequence[TemplateMessage], offered: Sequence[ToolDefinition], format: Format) -> str:
        rendered, head = turns.beginning, ""
        for outside, role, text in _with_tools(template, turns, messages, offered, format):
            if role is Role.SYSTEM and turns.merges_system:
                head += f"{text}\n\n"
                continue
            before, after = turns.around[role]
            own_head, head = (head, "") if role is Role.USER else ("", head)
            rendered += f"{outside}{before}{own_head}{text}{after}"
        return rendered

    template = Template(tools, results, transcript, tools_block, join, shares_turn)
    return template


def _with_tools(
    template: Template,
    turns: Turns,
    messages: Sequence[TemplateMessage],
    tools: Sequence[ToolDefinition],
    format: Format,
) -> Iterator[tuple[str, Role, str]]:
    """For each turn the text before its header, its role, and its text; the tools are listed once."""
    unlisted = template.tools(tools) if tools else ""
    if unlisted and turns.tools_role not in {message.role for message in messages}:
        yield "", turns.tools_role, template.join("", unlisted)
        unlisted = ""
    for message in grouped(messages, shares_turn=template.shares_turn):
        text = _text(message, template, format)
        if not unlisted or message.role is not turns.tools_role:
            yield "", message.role, text
            continue
        yield (
            (unlisted, message.role, text) if turns.tools_outside else ("", message.role, template.join(text, unlisted))
        )
        unlisted = ""


def _text(message: TemplateMessage, template: Template, format: Format) -> str:
    if message.role is Role.TOOL:
        return template.results(message.results)
    if message.role is not Role.ASSISTANT:
        return message.text
    completion = write_completion(message.pieces, format)
    return completion.prompt + completion.text


def grouped(messages: Iterable[TemplateMessage], *, shares_turn: bool) -> Iterator[TemplateMessage]:
    """The messages, with consecutive results in one turn, or with each result in a separate turn."""
    for role, group in groupby(messages, key=lambda message: message.role):
        if role is not Role.TOOL:
            yield from group
            continue
        results = tuple(result for message in group for result in message.results)
        if shares_turn:
            yield TemplateMessage(Role.TOOL, results=results)
        else:
            yield from (TemplateMessage(Role.TOOL, results=(result,)) for result in results)


CHATML = MappingProxyType({role: (f"<|im_start|>{role.value}\n", "<|im_end|>\n") for role in Role})
"""The turns of ChatML."""


def llama_turns(tool_role: str) -> MappingProxyType[Role, tuple[str, str]]:
    """The turns of Llama 3; results are in a turn of `tool_role`."""
    words = {role: tool_role if role is Role.TOOL else role.value for role in Role}
    return MappingProxyType(
        {role: (f"<|start_header_id|>{word}<|end_header_id|>\n\n", "<|eot_id|>") for role, word in words.items()}
    )


def openai_tool(tool: ToolDefinition) -> dict[str, Json]:
    """The definition in the format of OpenAI's `tools`."""
    return tool_object(bare_tool(tool))


def bare_tool(tool: ToolDefinition) -> dict[str, Json]:
    """The definition's name, description and schema; a tool without a schema takes no arguments."""
    schema: Json = {"type": "object", "properties": {}} if tool.parameters is None else tool.parameters
    return {"name": tool.name, "description": tool.description, "parameters": schema}


def indented(value: Json) -> str:
    """JSON on several lines, indented by four spaces, as the templates' `tojson(indent=4)` writes it."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=4)
    except (ValueError, TypeError, RecursionError):
        return json_of(value)


def contents(results: Sequence[ToolResult]) -> str:
    """The raw texts of the results, separated by line feeds."""
    return "\n".join(result.content for result in results)
