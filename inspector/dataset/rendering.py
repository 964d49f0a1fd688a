"""Renders one scenario in many formats: a conversation with its tools, calls, results and reasoning.

A sample is read once into turns that are independent of a format. Each target renders them with its own template;
everything that it cannot express is listed in `dropped`, one sentence each. Every rendered row is read again: if its
calls differ from those of the sample, that is a loss too.
"""

import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import groupby
from typing import Any

from msgspec import Struct, structs

from weaklink.inspector.dataset.convert import convert_row, find_tools_block
from weaklink.inspector.dataset.data_files import DataRow, missing_library
from weaklink.inspector.dataset.fitting import NOT_FINITE, CallFitter
from weaklink.inspector.dataset.messages import (
    blocks_without_text,
    in_call_order,
    read_answer,
    read_results,
    results_apart,
    role_of,
    sorted_results,
    text_of,
    with_structured_calls,
)
from weaklink.inspector.dataset.samples import Sample, read_sample
from weaklink.inspector.formats.completion import CompletionCalls, CompletionPiece, CompletionReasoning, CompletionText
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.json.call_shape import is_finite
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.formats.templates.registry import TEMPLATES, find_template
from weaklink.inspector.formats.templates.template import TemplateMessage, openai_tool
from weaklink.inspector.importers.data.refusals import refusal
from weaklink.inspector.importers.data.training_rows import Shape
from weaklink.inspector.importers.data.written_calls import CALL_ROLES, split_thought
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.json_scanner import read_json
from weaklink.inspector.json_text import word_of, write_json
from weaklink.inspector.model import Json, Role, ToolCall, ToolDefinition, ToolResult
from weaklink.inspector.text import counted

FORMATS = tuple(TEMPLATES)
"""The formats with a chat template; a scenario is rendered in these unless others are named."""
_FROM = {Role.SYSTEM: "system", Role.USER: "human", Role.ASSISTANT: "gpt", Role.TOOL: "tool"}
_IDS = re.compile(r"^(?:Message \d+: )?The ids? `")
_COPIED_KEYS = ("id", "type", "quality_score", "verified", "injected", "negative")


class RowLayout(StrEnum):
    """The shape of the output rows."""

    MESSAGES = "messages"  # `messages` with `role` and `content`; calls in the syntax of the format
    SHAREGPT = "sharegpt"  # `conversations` with `from` and `value`; otherwise the same
    TRL = "trl"  # `messages` with `tool_calls`, arguments as objects, and `tools`: TRL applies the template
    AXOLOTL = "axolotl"  # the same with arguments as JSON text
    LLAMA_FACTORY = "llama-factory"  # `function_call` and `observation`, `system`, `tools` as JSON text


STRUCTURED = (RowLayout.TRL, RowLayout.AXOLOTL, RowLayout.LLAMA_FACTORY)
"""The layouts that have separate fields for calls, so that they do not depend on a format."""


class Scenario(Struct, frozen=True):
    """A conversation that is independent of a format: turns in order, and the offered tools."""

    id: str
    turns: tuple[TemplateMessage, ...]
    tools: tuple[ToolDefinition, ...]
    notes: tuple[str, ...] = ()

    @property
    def calls(self) -> list[tuple[str | None, Json]]:
        """The name and arguments of each call, in order."""
        return [(call.name, call.arguments) for turn in self.turns for call in _calls(turn.pieces)]


class RenderedRow(Struct, frozen=True):
    """A scenario in one format: `value` is the whole row, `dropped` lists what the format cannot express."""

    value: JsonObject
    format: str
    dropped: tuple[str, ...]

    @property
    def is_lossy(self) -> bool:
        """Whether more was dropped than ids, which a format may lack or write in another form."""
        return any(_IDS.search(note) is None for note in self.dropped)


_SCENARIOS = frozenset({Shape.MESSAGES, Shape.SHAREGPT, Shape.PROMPT_COMPLETION, Shape.INSTRUCTION, Shape.PREFERENCE})


def read_scenario(sample: Sample) -> Scenario:
    """The scenario of a sample. Raises ValueError, with the reason, for a row without a list of messages."""
    if sample.shape not in _SCENARIOS or not sample.messages:
        why = refusal(sample.row.value) if sample.shape is None else "no list of messages"
        raise ValueError(f"the row has {why}")
    source, tools = find_format(sample.wire_format), sample.offered.tools
    turns: list[TemplateMessage] = []
    notes: list[str] = []
    system = sample.row.value.get("system")
    if isinstance(system, str) and system and sample.first_turn > 1:
        turns.append(TemplateMessage(Role.SYSTEM, _without_tools(system, source)))
    for number, message in enumerate(sample.messages, 1):
        if not isinstance(message, dict):
            raise ValueError(f"message {number} is not an object")
        for piece in results_apart(message):
            assert isinstance(piece, dict), "made of an object"
            turns += _turns(piece, source, tools, notes, number)
    return Scenario(sample.id or sample.reference, tuple(_in_call_order(turns)), tools, tuple(notes))


def _in_call_order(turns: Sequence[TemplateMessage]) -> Iterator[TemplateMessage]:
    """The turns, with results that follow each other in the order of the calls before them."""
    ids: list[str | None] = []
    for are_results, group in groupby(turns, key=lambda turn: turn.role is Role.TOOL):
        listed = list(group)
        if not are_results:
            ids = [call.id for call in _calls(listed[-1].pieces)]
            yield from listed
            continue
        order = in_call_order([turn.results for turn in listed], ids) or range(len(listed))
        for index in order:
            yield structs.replace(listed[index], results=sorted_results(listed[index].results, ids))


def _turns(
    message: JsonObject, source: Format, tools: tuple[ToolDefinition, ...], notes: list[str], number: int
) -> Iterator[TemplateMessage]:
    if role_of(message) is Role.ASSISTANT:
        read = read_answer(_as_structured(message), source, tools)
        notes += (f"Message {number}: {note}" for note in read.notes)
        yield TemplateMessage(Role.ASSISTANT, pieces=read.pieces)
        return
    notes += (f"Message {number}: {note}" for note in blocks_without_text(message))
    if results := read_results(message, source):
        yield TemplateMessage(Role.TOOL, results=results)
    else:
        text = text_of(message) or ""
        is_system = role_of(message) is Role.SYSTEM
        yield TemplateMessage(role_of(message), _without_tools(text, source) if is_system else text)


def _as_structured(message: JsonObject) -> JsonObject:
    """The message with its calls as OpenAI's; raises ValueError for a turn of calls that is not JSON."""
    if word_of(message.get("from")) in CALL_ROLES:
        try:
            json.loads(split_thought(str(message.get("value")))[1])
        except (ValueError, RecursionError) as error:
            raise ValueError("a `function_call` is not valid JSON") from error
    structured = with_structured_calls(message)
    assert isinstance(structured, dict), "made of an object"
    return structured


def _without_tools(text: str, source: Format) -> str:
    block = find_tools_block(text, source)
    if block is None:
        return text
    pieces = (text[: block.range.start].rstrip(), text[block.range.end :].lstrip())
    return "\n\n".join(piece for piece in pieces if piece)


def render_sample(
    sample: Sample, targets: Sequence[Format], layout: RowLayout = RowLayout.MESSAGES, *, tokenizer: str | None = None
) -> Iterator[RenderedRow]:
    """The sample in each target format, one row each; in a structured layout, only one row.

    `tokenizer` is the path of a `tokenizer.json`, with which the tokens of the rendered text are counted for the column
    `tokens`. Raises ValueError for a row without a scenario.
    """
    scenario = read_scenario(sample)
    if layout in STRUCTURED:
        yield _structured(scenario, sample, layout)
        return
    for target in targets:
        yield _rendered(scenario, sample, target, layout, tokenizer)


def template_context(row: JsonObject) -> JsonObject:
    """The variables of a chat template for a row in TRL's layout."""
    return {"messages": row["messages"], "tools": row.get("tools") or None, "add_generation_prompt": False}


def _rendered(
    scenario: Scenario, sample: Sample, target: Format, layout: RowLayout, tokenizer: str | None
) -> RenderedRow:
    plain = _structured_messages(scenario, as_text=True)
    row: JsonObject = {"messages": list(plain), "tools": [openai_tool(tool) for tool in scenario.tools]}
    converted = convert_row(row, find_format("openai"), target)
    converted_notes = converted.pop("dropped")
    notes = [str(note) for note in (converted_notes if isinstance(converted_notes, list) else [])]
    has_ids = any(call.id is not None for turn in scenario.turns for call in _calls(turn.pieces))
    dropped = [*scenario.notes, *(note for note in notes if has_ids or _IDS.search(note) is None)]
    value: JsonObject = {"scenario": scenario.id, "format": target.name, **_kept(sample), **converted}
    template = find_template(target)
    if template is not None:
        value["text"] = template.transcript(_fitted(scenario, target), scenario.tools, target)
        if tokenizer is not None:
            value["tokens"] = count_tokens(str(value["text"]), tokenizer)
    if template is None or template.offered is None:
        value.pop("tools", None)
        if template is None and scenario.tools:
            dropped.append(f"The tools: weaklink has no template of `{target.name}` that presents them.")
    again = read_sample(DataRow("", "line 1", 1, {**value, "text": None}), format=target.name)
    back = [(step.call.name, step.call.arguments) for step in again.inspection.chain.steps]
    if not _same_calls(back, scenario.calls):
        dropped.append(f"The original calls: parsed back as `{target.name}`, the row has different ones.")
    if layout is RowLayout.SHAREGPT:
        value = _as_sharegpt(value)
    return RenderedRow({**value, "dropped": list(dropped)}, target.name, tuple(dropped))


def _same_calls(back: Sequence[tuple[str | None, Json]], calls: Sequence[tuple[str | None, Json]]) -> bool:
    return len(back) == len(calls) and all(
        first[0] == other[0] and (first[1] == other[1]) for first, other in zip(back, calls, strict=True)
    )


def _kept(sample: Sample) -> JsonObject:
    """The members of the row that are valid in any format; of its annotation, only `should_call_tool`."""
    kept: JsonObject = {key: sample.row.value[key] for key in _COPIED_KEYS if key in sample.row.value}
    if sample.should_call is not None:
        kept["annotation"] = {"should_call_tool": sample.should_call}
    return kept


def _fitted(scenario: Scenario, target: Format) -> list[TemplateMessage]:
    """The turns with calls and ids as the target requires them; a result gets the name and the id of its call."""
    fitter = CallFitter(target, scenario.tools)
    unanswered: deque[tuple[ToolCall, str | None]] = deque()
    turns: list[TemplateMessage] = []
    for turn in scenario.turns:
        if turn.role is Role.ASSISTANT:
            turns.append(structs.replace(turn, pieces=fitter.fit(turn.pieces, "", [])))
            unanswered = deque(fitter.fitted)
        elif turn.role is Role.TOOL:
            turns.append(structs.replace(turn, results=tuple(_paired(result, unanswered) for result in turn.results)))
        else:
            turns.append(turn)
    return turns


def _paired(result: ToolResult, unanswered: deque[tuple[ToolCall, str | None]]) -> ToolResult:
    answered = _answered_call(result, unanswered)
    if answered is None:
        return result
    call, new_id = answered
    return structs.replace(result, name=result.name or call.name, call_id=new_id)


def _answered_call(
    result: ToolResult, unanswered: deque[tuple[ToolCall, str | None]]
) -> tuple[ToolCall, str | None] | None:
    """Remove the call that a result answers, with its new id: that with the result's id, else the first."""
    same_id = (pair for pair in unanswered if result.call_id is not None and pair[0].id == result.call_id)
    answered = next(same_id, unanswered[0] if unanswered else None)
    if answered is not None:
        unanswered.remove(answered)
    return answered


def _structured(scenario: Scenario, sample: Sample, layout: RowLayout) -> RenderedRow:
    value: JsonObject = {"scenario": scenario.id, "format": "openai", **_kept(sample)}
    notes = list(scenario.notes)
    if layout is RowLayout.LLAMA_FACTORY:
        value |= _llama_factory(scenario)
        mixed = sum(
            any(isinstance(piece, CompletionCalls) for piece in turn.pieces)
            and any(not isinstance(piece, CompletionCalls) for piece in turn.pieces)
            for turn in scenario.turns
        )
        if mixed:
            where = counted(mixed, "message")
            notes.append(f"The text and reasoning next to the calls of {where}: `function_call` cannot contain them.")
    else:
        value["messages"] = list(_structured_messages(scenario, as_text=layout is RowLayout.AXOLOTL))
        value["tools"] = [openai_tool(tool) for tool in scenario.tools]
    if not all(is_finite(arguments) for _, arguments in scenario.calls):
        notes.append(f"The exact arguments of a call: {NOT_FINITE}")
    return RenderedRow({**value, "dropped": list(notes)}, "openai", tuple(notes))


def _structured_messages(scenario: Scenario, *, as_text: bool) -> Iterator[Json]:
    """OpenAI's messages; a call's arguments as JSON text, or as an object. Calls without an id get one."""
    count = 0
    unanswered: deque[tuple[ToolCall, str | None]] = deque()
    for turn in scenario.turns:
        if turn.role is Role.ASSISTANT:
            calls: list[Json] = []
            unanswered = deque()
            for call in _calls(turn.pieces):
                new_id = call.id or f"call_{count}"
                count += 1
                unanswered.append((call, new_id))
                arguments = write_json(call.arguments, ascii_only=False) if as_text else call.arguments
                function: Json = {"name": call.name, "arguments": arguments}
                calls.append({"id": new_id, "type": "function", "function": function})
            yield _answer_message(turn.pieces, calls)
        elif turn.role is Role.TOOL:
            yield from (_result_message(result, unanswered) for result in turn.results)
        else:
            yield {"role": turn.role.value, "content": turn.text}


def _answer_message(pieces: Sequence[CompletionPiece], calls: list[Json]) -> JsonObject:
    words = "".join(piece.text for piece in pieces if isinstance(piece, CompletionText)).strip()
    thoughts = "\n".join(piece.text.strip() for piece in pieces if isinstance(piece, CompletionReasoning))
    message: JsonObject = {"role": "assistant", "content": words or (None if calls else "")}
    if thoughts:
        message["reasoning_content"] = thoughts
    if calls:
        message["tool_calls"] = calls
    return message


def _result_message(result: ToolResult, unanswered: deque[tuple[ToolCall, str | None]]) -> JsonObject:
    answered = _answered_call(result, unanswered)
    message: JsonObject = {"role": "tool", "content": result.content}
    if answered is None:
        return message
    call, new_id = answered
    return {**message, "tool_call_id": new_id, "name": result.name or call.name}


def _llama_factory(scenario: Scenario) -> JsonObject:
    """LLaMA-Factory's ShareGPT with tools (data/README.md): each message has either calls or text.

    The results of one answer's calls are one message, a list, since the two sides must alternate. Without tools,
    `tools` is empty: for a list of none, the templates of LLaMA-Factory 0.9.5 write an empty system turn.
    """
    messages: list[Json] = []
    results: list[str] = []
    system = [turn.text for turn in scenario.turns if turn.role is Role.SYSTEM]
    for turn in (*scenario.turns, None):
        if turn is not None and turn.role is Role.TOOL:
            results += [result.content for result in turn.results]
            continue
        if results:
            messages.append({"from": "observation", "value": results[0] if len(results) == 1 else _listed(results)})
            results = []
        if turn is None:
            break
        if turn.role is Role.ASSISTANT:
            calls: list[Json] = [{"name": call.name, "arguments": call.arguments} for call in _calls(turn.pieces)]
            message = _answer_message(turn.pieces, calls)
            thoughts = message.get("reasoning_content")
            words = f"<think>\n{thoughts}\n</think>\n\n" if thoughts else ""
            words += str(message.get("content") or "")
            if not calls:
                messages.append({"from": "gpt", "value": words})
            else:
                calls_text = write_json(calls[0] if len(calls) == 1 else calls, ascii_only=False)
                messages.append({"from": "function_call", "value": calls_text})
        elif turn.role is Role.USER:
            messages.append({"from": "human", "value": turn.text})
    tools: list[Json] = []
    for tool in scenario.tools:
        shown = openai_tool(tool)
        tools.append(shown.get("function", shown))
    tools_text = write_json(tools, ascii_only=False) if tools else ""
    return {"conversations": messages, "system": "\n\n".join(system), "tools": tools_text}


def _listed(results: Sequence[str]) -> str:
    """The results as a JSON list; those that are JSON objects or lists are its elements as they are."""
    elements = (
        result
        if result.lstrip().startswith(("{", "[")) and read_json(result).strict
        else write_json(result, ascii_only=False)
        for result in results
    )
    return f"[{', '.join(elements)}]"


def _as_sharegpt(value: JsonObject) -> JsonObject:
    messages = value.get("messages")
    conversation: list[Json] = []
    for message in messages if isinstance(messages, list) else []:
        assert isinstance(message, dict)
        text = message.get("content")
        structured = not isinstance(text, str) or "tool_calls" in message
        words = write_json(message, ascii_only=False) if structured else text
        conversation.append({"from": _FROM[role_of(message)], "value": words})
    return {**{key: item for key, item in value.items() if key != "messages"}, "conversations": conversation}


def _calls(pieces: Sequence[CompletionPiece]) -> Iterator[ToolCall]:
    return (call for piece in pieces if isinstance(piece, CompletionCalls) for call in piece.calls)


def count_tokens(text: str, tokenizer: str) -> int:
    """The number of tokens of a text by the `tokenizer.json` at this path. Raises MissingLibraryError, ValueError."""
    return len(_tokenizer(tokenizer).encode(text, add_special_tokens=False).ids)


@lru_cache(maxsize=4)
def _tokenizer(path: str) -> Any:
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415  # optional, 30 ms
    except ImportError as error:
        raise missing_library("tokenizers", "Counting tokens") from error
    try:
        return Tokenizer.from_file(path)
    except Exception as error:  # the library raises plain Exceptions
        raise ValueError(f"{path} is not a valid tokenizer.json: {error}") from error
