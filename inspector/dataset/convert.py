"""Converts training data from one format to another: raw outputs, conversations, and the tools they present."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from msgspec import Struct, structs

from inspector.apis.openai.messages import read_tools
from inspector.dataset.fitting import CallFitter, parse_output
from inspector.dataset.messages import (
    LISTS,
    read_answer,
    read_results,
    role_of,
    shape_of,
    text_of,
    with_object,
    with_text,
)
from inspector.formats.completion import (
    Completion,
    CompletionPiece,
    CompletionReasoning,
    CompletionText,
    calls_of,
    tidy,
    write_completion,
)
from inspector.formats.detection import detect_format
from inspector.formats.format import Format
from inspector.formats.json.call_shape import json_of
from inspector.formats.templates.registry import find_template
from inspector.formats.templates.template import Template
from inspector.model import Json, Role, SpanKind, ToolCall, ToolDefinition, ToolResult
from inspector.segmentation import segment
from inspector.text import Range

_SAMPLE = 65_536


class ToolsBlock(Struct, frozen=True):
    """Where a system turn tells the tools.

    `range` is the place of the block; `is_whole` that the family's words around the definitions belong to it.
    """

    tools: tuple[ToolDefinition, ...]
    range: Range
    is_whole: bool


def find_tools_block(text: str, source: Format) -> ToolsBlock | None:
    """The block in a system turn that tells the tools as `source` does; None where there is none."""
    found = segment(text, source.name, role=Role.SYSTEM)
    template = find_template(source)
    block = template.tools_block.search(text) if template is not None and template.tools_block is not None else None
    if block is not None and (found.definitions or block.end() > block.start()):
        return ToolsBlock(found.definitions, Range(*block.span()), is_whole=True)
    span = next((one for one in found.spans if one.kind is SpanKind.TOOL_DEFINITIONS), None)
    return ToolsBlock(found.definitions, span.range, is_whole=False) if span is not None and found.definitions else None


def with_tools_block(text: str, told: ToolsBlock | None, tools: tuple[ToolDefinition, ...], template: Template) -> str:
    """The system turn's text with the tools as the template tells them; without them where a field holds them."""
    block = "" if template.offered is not None or not tools else template.tools(tools)
    if told is None:
        return template.join(text, block) if block else text
    before, behind = text[: told.range.start], text[told.range.end :]
    if block:
        return f"{before}{block}{behind}"
    return "\n\n".join(part for part in (before.rstrip(), behind.lstrip()) if part)


def convert_row(
    row: dict[str, Json], source: Format | None, target: Format, *, tools: tuple[ToolDefinition, ...] = ()
) -> dict[str, Json]:
    """One row with its `text`, or its `messages` or `conversations`, as the target has them, and `dropped`.

    `source` is None where the row's own text is to say its format. `tools` are offered where the row names none.
    `prompt` is there where the target's completion begins inside a header. Everything else is kept as it is.
    Raises ValueError, in words, for a row that holds neither, or both, or anything that cannot be read as it.
    """
    listed = [key for key in LISTS if isinstance(row.get(key), list)]
    if "text" in row and listed:
        raise ValueError(f"both `text` and `{listed[0]}` are given; one of them says it all")
    if listed:
        return _conversation(row, listed[0], source, target, tools)
    text = row.get("text")
    if text is None:
        raise ValueError("neither `text` nor a list `messages` or `conversations` is given")
    if not isinstance(text, str):
        raise ValueError("`text` must be a string")
    return _text(row, text, source, target, tools)


def _text(
    row: dict[str, Json], text: str, source: Format | None, target: Format, tools: tuple[ToolDefinition, ...]
) -> dict[str, Json]:
    prompt = row.get("prompt")
    if prompt is not None and not isinstance(prompt, str):
        raise ValueError("`prompt` must be a string")
    known = source or _detected(text, row)
    completion = convert_text(text, known, target, prompt=prompt or "", tools=_offered(row) or tools)
    converted: dict[str, Json] = {}
    for key, value in row.items():
        if key == "text":
            converted["text"] = completion.text
            if completion.prompt:
                converted["prompt"] = completion.prompt
        elif key != "prompt":
            converted[key] = value
    return {**converted, "dropped": list(completion.dropped)}


def _conversation(
    row: dict[str, Json], key: str, source: Format | None, target: Format, tools: tuple[ToolDefinition, ...]
) -> dict[str, Json]:
    messages = row[key]
    assert isinstance(messages, list)
    if not any(isinstance(message, dict) for message in messages):
        raise ValueError(f"`{key}` holds no messages")
    said = (text_of(one) for one in messages if isinstance(one, dict) and role_of(one) is Role.ASSISTANT)
    known = source or _detected("\n".join(text for text in said if text), row)
    told = _tools_block(messages, known)
    offered = _offered(row) or (told.tools if told is not None else ()) or tools
    converter = ConversationConverter(known, target, offered)
    converted: dict[str, Json] = {**row, key: converter.convert(messages)}
    template = find_template(target)
    is_told = told is not None and known is target
    if template is None:
        converter.dropped += _not_presented(told, target)
    elif not is_told:
        _present_tools(converted, key, told, offered, template)
        if told is not None and not told.is_whole:
            converter.dropped.append(
                f"How `{known.name}` writes calls, in the system turn: only the list of tools was recognised and "
                "rewritten, the words around it are as they were."
            )
    return {**converted, "dropped": list(converter.dropped)}


def _tools_block(messages: list[Json], source: Format) -> ToolsBlock | None:
    text = next((text_of(one) for one in messages if isinstance(one, dict) and role_of(one) is Role.SYSTEM), None)
    return find_tools_block(text, source) if text else None


def _present_tools(
    row: dict[str, Json], key: str, told: ToolsBlock | None, tools: tuple[ToolDefinition, ...], template: Template
) -> None:
    """Tell the tools in the row as the template does: in its system turn, a new one if need be, or in its `tools`."""
    if template.offered is not None and tools:
        row["tools"] = template.offered(tools)
    messages = row[key]
    assert isinstance(messages, list)
    at = next((at for at, one in enumerate(messages) if isinstance(one, dict) and role_of(one) is Role.SYSTEM), None)
    system = messages[at] if at is not None else None
    if isinstance(system, dict) and at is not None:
        messages[at] = with_text(system, with_tools_block(text_of(system) or "", told, tools, template))
    elif isinstance(row.get("system"), str):
        row["system"] = with_tools_block(str(row["system"]), None, tools, template)
    elif tools and template.offered is None:
        shape = shape_of(next(one for one in messages if isinstance(one, dict)))
        messages.insert(0, {shape.role_key: shape.system, shape.text_key: with_tools_block("", None, tools, template)})


def _not_presented(told: ToolsBlock | None, target: Format) -> list[str]:
    if told is None:
        return []
    return [f"How `{target.name}` presents tools: weaklink does not know; the system turn is as it was."]


def _detected(text: str, row: dict[str, Json]) -> Format:
    model = row.get("model")
    return detect_format(text[:_SAMPLE], model if isinstance(model, str) else "").format


def _offered(row: dict[str, Json]) -> tuple[ToolDefinition, ...]:
    """The tools that the row names, in a list or in its JSON text."""
    return tuple(tool for tool in read_tools(row.get("tools"), row.get("functions")) if tool.name)


@dataclass(slots=True)
class ConversationConverter:
    """Converts the messages of one row, in order; `dropped` grows with what does not survive.

    `tools` are those that the calls are read by.
    """

    source: Format
    target: Format
    tools: tuple[ToolDefinition, ...]
    dropped: list[str] = field(default_factory=list)
    _template: Template | None = field(init=False)
    _fitting: CallFitter = field(init=False)
    _unanswered: deque[tuple[ToolCall, str | None]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._template = find_template(self.target)
        self._fitting = CallFitter(self.target, self.tools)

    def convert(self, messages: list[Json]) -> list[Json]:
        """The messages in the target's words; what is neither an answer nor a result is kept as it is."""
        converted: list[Json] = []
        numbered = list(enumerate(messages, start=1))
        for are_results, group in groupby(numbered, key=lambda one: bool(self._results(one[1]))):
            if are_results and self._template is not None:
                converted += self._returned([message for _, message in group if isinstance(message, dict)])
            else:
                converted += (self._message(message, number) for number, message in group)
        if self._template is None and any(map(self._results, messages)):
            name = self.target.name
            self.dropped.append(f"How `{name}` presents results: weaklink does not know; they are as they were.")
        return converted

    def _results(self, message: Json) -> tuple[ToolResult, ...]:
        return read_results(message, self.source) if isinstance(message, dict) else ()

    def _message(self, message: Json, number: int) -> Json:
        if not isinstance(message, dict) or role_of(message) is not Role.ASSISTANT:
            return message
        try:
            read = read_answer(message, self.source, self.tools)
        except ValueError as error:
            raise ValueError(f"message {number}: {error}") from error
        notes = list(read.notes)
        text = message.get(shape_of(message).text_key)
        pieces = self._fitting.fit(read.pieces, text if isinstance(text, str) else "", notes)
        self._unanswered = deque(self._fitting.fitted)
        completion = written(pieces, self.target, self.tools, notes)
        self.dropped += (f"Message {number}: {note}" for note in completion.dropped)
        template = self._template
        if template is not None and template.answer is not None and shape_of(message).is_structured:
            return with_object(message, template.answer(tidy(pieces)))
        return with_text(message, completion.prompt + completion.text)

    def _returned(self, messages: list[dict[str, Json]]) -> Iterator[Json]:
        """Messages with results, as the family hands them back."""
        template = self._template
        assert template is not None
        rows = [(message, [self._paired(one) for one in self._results(message)]) for message in messages]
        if template.returned is not None and template.shares_turn:
            rows = [(rows[0][0], [one for _, results in rows for one in results])]
        elif not template.shares_turn:
            rows = [(message, [one]) for message, results in rows for one in results]
        for message, results in rows:
            yield self._handed_back(message, results, template)

    def _handed_back(self, message: dict[str, Json], results: list[ToolResult], template: Template) -> Json:
        shape = shape_of(message)
        if template.returned is not None:
            said = template.returned(results)
            return with_object(message, said) if shape.is_structured else with_text(message, json_of(said))
        changed = with_text(message, template.results(results))
        if role_of(message) is not Role.TOOL:
            changed[shape.role_key] = shape.tool
        return changed

    def _paired(self, result: ToolResult) -> ToolResult:
        """The result with the name of its call and the id that the call bears now: by id, else in order."""
        waiting = self._unanswered
        found = next((one for one in waiting if result.call_id is not None and one[0].id == result.call_id), None)
        if found is None and waiting and (result.call_id is None or all(call.id is None for call, _ in waiting)):
            found = waiting[0]
        if found is None:
            return structs.replace(result, call_id=self._fitting.ids.get(result.call_id or "", result.call_id))
        waiting.remove(found)
        call, call_id = found
        return structs.replace(result, name=result.name or call.name, call_id=call_id)


def convert_text(
    text: str, source: Format, target: Format, *, prompt: str = "", tools: Sequence[ToolDefinition] = ()
) -> Completion:
    """`text`, an output of a model of `source`, as a model of `target` would emit it.

    `prompt` is what stood before `text`; `tools` are those on offer, by which values without types are read. `dropped`
    names everything that the target cannot hold, and each malformed call. Raises ValueError where `text` is more than
    one model output.
    """
    offered = tuple(tools)
    read = parse_output(segment(text, source.name, prompt=prompt, tools=offered))
    notes = list(read.notes)
    pieces = CallFitter(target, offered).fit(read.pieces, text, notes)
    return written(pieces, target, offered, notes)


def written(
    pieces: Sequence[CompletionPiece], target: Format, tools: tuple[ToolDefinition, ...], notes: list[str]
) -> Completion:
    """The completion of these pieces, with `notes` and what reading it back finds changed in `dropped`."""
    completion = write_completion(pieces, target)
    told = [*notes, *completion.dropped]
    return Completion(completion.text, completion.prompt, (*told, *_changed(pieces, completion, target, tools, told)))


def _changed(
    pieces: Sequence[CompletionPiece],
    completion: Completion,
    target: Format,
    tools: tuple[ToolDefinition, ...],
    told: Sequence[str],
) -> Iterator[str]:
    """What the text says to a reader of the target that the pieces did not say."""
    back = segment(completion.text, target.name, prompt=completion.prompt, tools=tools)
    name, calls = target.name, calls_of(pieces)
    found = [call for call in back.calls if call.valid or call.recovered]
    if [call.name for call in found] != [call.name for call in calls]:
        yield (
            f"The calls as they were: read as `{name}`, this text has {_counted(len(found))} where there "
            f"{'was' if len(calls) == 1 else 'were'} {len(calls)}; something in it looks like {name}'s own syntax."
        )
        return
    changed = [one.name for one, two in zip(calls, found, strict=True) if one.arguments != two.arguments]
    if changed and not any("exact arguments" in one for one in told):
        yield f"The exact arguments of the call of `{changed[0]}`: read as `{name}`, they come back changed."
    if completion.dropped or len(found) != len(back.calls):
        return
    if _bare(pieces, CompletionText) != "".join(back.content.split()):
        yield f"The words as they were: read as `{name}`, they come back changed; something in them is {name}'s syntax."
    if _bare(pieces, CompletionReasoning) != "".join(back.reasoning.split()):
        yield f"The reasoning as it was: read as `{name}`, it comes back changed."


def _bare(pieces: Sequence[CompletionPiece], kind: type[CompletionText] | type[CompletionReasoning]) -> str:
    """The texts of one kind without white space, which formats put between pieces as they like."""
    return "".join(word for piece in tidy(pieces) if isinstance(piece, kind) for word in piece.text.split())


def _counted(calls: int) -> str:
    return "1 call" if calls == 1 else f"{calls} calls"
