"""What a chat template is: how it presents turns, tools and results; with parts that several templates share."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct, structs

from inspector.apis.openai.messages import tool_object
from inspector.formats.completion import CompletionPiece, write_completion
from inspector.formats.format import Format
from inspector.formats.json.call_shape import json_of
from inspector.model import Json, Role, ToolDefinition, ToolResult

Present: TypeAlias = Callable[[Sequence[ToolDefinition]], str]
"""The text that tells a model its tools; never called without any."""

PresentResults: TypeAlias = Callable[[Sequence[ToolResult]], str]
"""The text of one turn that hands results back."""


class TemplateMessage(Struct, frozen=True):
    """One turn to render: `text` is that of a system's or user's turn, `pieces` an assistant's, `results` a tool's."""

    role: Role
    text: str = ""
    pieces: tuple[CompletionPiece, ...] = ()
    results: tuple[ToolResult, ...] = ()


Transcribe: TypeAlias = Callable[[Sequence[TemplateMessage], Sequence[ToolDefinition], Format], str]


class Template(Struct, frozen=True):
    """How a family presents what its models do not write.

    `tools` and `results` give texts; `transcript` a whole conversation as one text. `tools_block` finds the family's
    presentation of tools in a system turn, whatever tools it names; None where only the definitions have markers.
    `join` puts the system's words and the tools together. `shares_turn` says that results in a row share one turn.
    `answer`, `returned` and `offered` are there where the family is an API: they make the message objects of a model's
    turn and of a turn of results, and the value of the request's field `tools`.
    """

    tools: Present
    results: PresentResults
    transcript: Transcribe
    tools_block: re.Pattern[str] | None = None
    join: Callable[[str, str], str] = lambda words, tools: f"{words}\n\n{tools}" if words else tools
    shares_turn: bool = False
    answer: Callable[[Sequence[CompletionPiece]], dict[str, Json]] | None = None
    returned: Callable[[Sequence[ToolResult]], dict[str, Json]] | None = None
    offered: Callable[[Sequence[ToolDefinition]], Json] | None = None


class Turns(Struct, frozen=True):
    """What stands before and behind each role's turn, and before them all.

    `tools_role` is the role whose first turn the tools are told in, `tools_outside` that they stand before its header.
    `merges_system` says that there is no system turn: its words stand at the head of the user's next.
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
    join: Callable[[str, str], str] | None = None,
    shares_turn: bool = False,
) -> Template:
    """A Template whose transcripts are turns one after another."""

    def transcript(messages: Sequence[TemplateMessage], offered: Sequence[ToolDefinition], format: Format) -> str:
        return turns.beginning + "".join(_rendered(template, turns, messages, offered, format))

    template = Template(tools, results, transcript, tools_block, shares_turn=shares_turn)
    template = structs.replace(template, join=join) if join is not None else template
    return template


def _rendered(
    template: Template,
    turns: Turns,
    messages: Sequence[TemplateMessage],
    tools: Sequence[ToolDefinition],
    format: Format,
) -> Iterator[str]:
    said = _with_tools(template, turns, messages, tools, format)
    head = ""
    for outside, role, text in said:
        if role is Role.SYSTEM and turns.merges_system:
            head += f"{text}\n\n"
            continue
        before, behind = turns.around[role]
        own_head, head = (head, "") if role is Role.USER else ("", head)
        yield f"{outside}{before}{own_head}{text}{behind}"


def _with_tools(
    template: Template,
    turns: Turns,
    messages: Sequence[TemplateMessage],
    tools: Sequence[ToolDefinition],
    format: Format,
) -> Iterator[tuple[str, Role, str]]:
    """Each turn's text, its role, and what stands before its header; the tools are told once."""
    untold = template.tools(tools) if tools else ""
    if untold and turns.tools_role not in {message.role for message in messages}:
        yield "", turns.tools_role, template.join("", untold)
        untold = ""
    for message in grouped(messages, shares_turn=template.shares_turn):
        text = _text(message, template, format)
        if not untold or message.role is not turns.tools_role:
            yield "", message.role, text
            continue
        yield (untold, message.role, text) if turns.tools_outside else ("", message.role, template.join(text, untold))
        untold = ""


def _text(message: TemplateMessage, template: Template, format: Format) -> str:
    if message.role is Role.TOOL:
        return template.results(message.results)
    if message.role is not Role.ASSISTANT:
        return message.text
    completion = write_completion(message.pieces, format)
    return completion.prompt + completion.text


def grouped(messages: Iterable[TemplateMessage], *, shares_turn: bool) -> Iterator[TemplateMessage]:
    """The messages with results in a row in one turn, or each in a turn of its own."""
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
"""ChatML's turns."""


def llama_turns(tool_role: str) -> MappingProxyType[Role, tuple[str, str]]:
    """Llama 3's turns; results stand in a turn of `tool_role`."""
    words = {role: tool_role if role is Role.TOOL else role.value for role in Role}
    return MappingProxyType(
        {role: (f"<|start_header_id|>{word}<|end_header_id|>\n\n", "<|eot_id|>") for role, word in words.items()}
    )


def openai_tool(tool: ToolDefinition) -> dict[str, Json]:
    """The definition as OpenAI's `tools` hold it."""
    return tool_object(bare_tool(tool))


def bare_tool(tool: ToolDefinition) -> dict[str, Json]:
    """The definition's name, description and schema; a tool without a schema takes no arguments."""
    schema: Json = {"type": "object", "properties": {}} if tool.parameters is None else tool.parameters
    return {"name": tool.name, "description": tool.description, "parameters": schema}


def indented(value: Json) -> str:
    """JSON over several lines, four spaces a level, as templates' `tojson(indent=4)` gives it."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=4)
    except (ValueError, TypeError, RecursionError):
        return json_of(value)


def contents(results: Sequence[ToolResult]) -> str:
    """The results' own texts, one under another."""
    return "\n".join(result.content for result in results)


def json_or_text(text: str) -> Json:
    """What a result says, as a value: its JSON where it is strict JSON, else its text."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value
