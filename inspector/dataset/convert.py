r"""Converts training data from one format to another: raw outputs, conversations, and their tool definitions.

Theory of operation. Each answer passes four steps:

    text           Let me look.\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>     hermes
    parse_output   CompletionText("Let me look.\n"), CompletionCalls((f(a=1),))
    CallFitter     the call gets the id call00000: Mistral's calls have ids
    write          Let me look.[TOOL_CALLS]f[CALL_ID]call00000[ARGS]{"a": 1}                         mistral
    read back      the same text and the same call

What the target cannot hold is left out, and `dropped` says so: `llama3` has either text or calls, so the text goes.
Nothing is believed to be written well: the new text is parsed in the target's format, and each difference from the
pieces is listed in `dropped` as well. In a conversation the results follow their calls, with the new ids and in the
order of the calls, and the block of tools in the system turn is written as the target's chat template presents it.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from msgspec import Struct, structs

from weaklink.inspector.apis.anthropic.messages import RESULT_ID
from weaklink.inspector.apis.openai.messages import read_tools
from weaklink.inspector.dataset.fitting import CallFitter, parse_output
from weaklink.inspector.dataset.messages import (
    LISTS,
    blocks_without_text,
    in_call_order,
    read_answer,
    read_results,
    results_apart,
    role_of,
    shape_of,
    sorted_results,
    text_of,
    with_object,
    with_structured_calls,
    with_text,
)
from weaklink.inspector.formats.completion import (
    Completion,
    CompletionPiece,
    CompletionReasoning,
    CompletionText,
    calls_of,
    tidy,
    write_completion,
)
from weaklink.inspector.formats.detection import SAMPLE_CHARS, detect_format
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.json.call_shape import json_of
from weaklink.inspector.formats.templates.registry import find_template
from weaklink.inspector.formats.templates.template import Template
from weaklink.inspector.formats.transcript import read_transcript
from weaklink.inspector.importers.data.public_shapes import public_row
from weaklink.inspector.importers.data.refusals import refusal
from weaklink.inspector.importers.data.training_rows import COMPLETIONS, REJECTED, Shape, read_training_row
from weaklink.inspector.importers.records import Row
from weaklink.inspector.model import Json, Role, SpanKind, ToolCall, ToolDefinition, ToolResult
from weaklink.inspector.segmentation import segment
from weaklink.inspector.text import Range, counted


class ToolsBlock(Struct, frozen=True):
    """The block of a system turn that presents the tools.

    `range` is the position of the block. `is_whole` is true if it includes the template's words around the definitions.
    """

    tools: tuple[ToolDefinition, ...]
    range: Range
    is_whole: bool


def find_tools_block(text: str, source: Format) -> ToolsBlock | None:
    """The block in a system turn that presents the tools as `source` does, or None."""
    segmentation = segment(text, source.name, role=Role.SYSTEM)
    template = find_template(source)
    block = template.tools_block.search(text) if template is not None and template.tools_block is not None else None
    if block is not None and (segmentation.definitions or block.end() > block.start()):
        return ToolsBlock(segmentation.definitions, Range(*block.span()), is_whole=True)
    span = next((span for span in segmentation.spans if span.kind is SpanKind.TOOL_DEFINITIONS), None)
    return (
        ToolsBlock(segmentation.definitions, span.range, is_whole=False)
        if span is not None and segmentation.definitions
        else None
    )


def with_tools_block(
    text: str, existing: ToolsBlock | None, tools: tuple[ToolDefinition, ...], template: Template
) -> str:
    """The system turn's text with the tools as the template presents them; without them if a field contains them."""
    block = "" if template.offered is not None or not tools else template.tools(tools)
    if existing is None:
        return template.join(text, block) if block else text
    before, after = text[: existing.range.start], text[existing.range.end :]
    if block:
        return f"{before}{block}{after}"
    return "\n\n".join(part for part in (before.rstrip(), after.lstrip()) if part)


def convert_row(
    row: dict[str, Json], source: Format | None, target: Format, *, tools: tuple[ToolDefinition, ...] = ()
) -> dict[str, Json]:
    """One row with its `text`, `messages` or `conversations` converted to the target, and `dropped`.

    `source` is None if the format is to be detected from the row's text. `tools` are used if the row names none. The
    result has `prompt` if the target's completion begins inside a header. All other members are unchanged. Raises
    ValueError, with the reason, for a row that has neither a text nor a conversation, or both, or one that cannot be
    read.
    """
    given, row = row, public_row(row) or row
    listed = [key for key in LISTS if isinstance(row.get(key), list)]
    if not listed and "text" not in row:
        read = read_training_row(Row("line", 1, row, b""), is_public=False)
        output = next((name for name in COMPLETIONS if isinstance(row.get(name), str)), None)
        if output is None and read is not None and isinstance(row.get("chosen"), str):
            output = "chosen"
        if read is not None and read.shape is Shape.COMPLETION and output is not None:
            return _without_rejected(given, _raw_output(row, output, source, target, tools))
        row = read.value if read is not None and read.messages else row
        listed = [key for key in LISTS if isinstance(row.get(key), list)]
    if "text" in row and listed:
        raise ValueError(f"both `text` and `{listed[0]}` are given; expected only one of them")
    if listed:
        converted = _conversation(row, listed[0], source, target, tools)
        return _without_rejected(given, converted)
    text = row.get("text")
    if text is None:
        raise ValueError(f"expected `text`, or a list `messages` or `conversations`; the row has {refusal(row)}")
    if not isinstance(text, str):
        raise ValueError("`text` must be a string")
    return _text(row, text, source, target, tools)


def _without_rejected(given: dict[str, Json], converted: dict[str, Json]) -> dict[str, Json]:
    """The converted row; `dropped` says so if the row given had a rejected answer, which may still be in it."""
    name = next((key for key in REJECTED if given.get(key) is not None), None)
    dropped = converted["dropped"]
    if name is None or not isinstance(dropped, list):
        return converted
    return {**converted, "dropped": [*dropped, f"`{name}`: only the chosen answer is converted."]}


def _raw_output(
    row: dict[str, Json], name: str, source: Format | None, target: Format, tools: tuple[ToolDefinition, ...]
) -> dict[str, Json]:
    """The row with the raw output in one member converted; its prompt stays as it is."""
    text, prompt = str(row[name]), row.get("prompt")
    begun = prompt if isinstance(prompt, str) else ""
    offered = _offered(row) or tools
    completion = convert_text(text, source or _detected(text, row), target, prompt=begun, tools=offered)
    is_rendered = any(turn.source_role for turn in read_transcript(begun).turns)
    notes = ["`prompt`: it is in a chat template, and unchanged."] if is_rendered else []
    header = "" if is_rendered else completion.prompt
    return {**row, name: header + completion.text, "dropped": [*notes, *completion.dropped]}


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
    listed = row[key]
    assert isinstance(listed, list)
    messages = [with_structured_calls(message) for message in listed]
    if not any(isinstance(message, dict) for message in messages):
        raise ValueError(f"`{key}` contains no messages")
    texts = (
        text_of(message) for message in messages if isinstance(message, dict) and role_of(message) is Role.ASSISTANT
    )
    known = source or _detected("\n".join(text for text in texts if text), row)
    tools_block = _tools_block(messages, known)
    offered = _offered(row) or (tools_block.tools if tools_block is not None else ()) or tools
    converter = ConversationConverter(known, target, offered)
    converted: dict[str, Json] = {**row, key: converter.convert(messages)}
    template = find_template(target)
    is_presented = tools_block is not None and known is target
    if template is None:
        converter.dropped += _not_presented(tools_block, target)
    elif not is_presented:
        _present_tools(converted, key, tools_block, offered, template)
        if tools_block is not None and not tools_block.is_whole:
            converter.dropped.append(
                f"How `{known.name}` writes calls, in the system turn: only the list of tools was recognised and "
                "rewritten; the text around it is unchanged."
            )
    return {**converted, "dropped": list(converter.dropped)}


def _tools_block(messages: list[Json], source: Format) -> ToolsBlock | None:
    text = next(
        (text_of(message) for message in messages if isinstance(message, dict) and role_of(message) is Role.SYSTEM),
        None,
    )
    return find_tools_block(text, source) if text else None


def _present_tools(
    row: dict[str, Json],
    key: str,
    tools_block: ToolsBlock | None,
    tools: tuple[ToolDefinition, ...],
    template: Template,
) -> None:
    """Add the tools to the row as the template presents them: in its (maybe new) system turn, or in its `tools`."""
    if template.offered is not None and tools:
        row["tools"] = template.offered(tools)
    messages = row[key]
    assert isinstance(messages, list)
    index = next(
        (
            index
            for index, message in enumerate(messages)
            if isinstance(message, dict) and role_of(message) is Role.SYSTEM
        ),
        None,
    )
    system = messages[index] if index is not None else None
    if isinstance(system, dict) and index is not None:
        messages[index] = with_text(system, with_tools_block(text_of(system) or "", tools_block, tools, template))
    elif isinstance(row.get("system"), str):
        row["system"] = with_tools_block(str(row["system"]), None, tools, template)
    elif tools and template.offered is None:
        shape = shape_of(next(message for message in messages if isinstance(message, dict)))
        messages.insert(0, {shape.role_key: shape.system, shape.text_key: with_tools_block("", None, tools, template)})


def _not_presented(tools_block: ToolsBlock | None, target: Format) -> list[str]:
    if tools_block is None:
        return []
    return [f"How `{target.name}` presents tools: unknown to weaklink; the system turn is unchanged."]


def _detected(text: str, row: dict[str, Json]) -> Format:
    model = row.get("model")
    return detect_format(text[:SAMPLE_CHARS], model if isinstance(model, str) else "").format


def _offered(row: dict[str, Json]) -> tuple[ToolDefinition, ...]:
    """The tools that the row names, as a list or as JSON text."""
    return tuple(tool for tool in read_tools(row.get("tools"), row.get("functions")) if tool.name)


@dataclass(slots=True)
class ConversationConverter:
    """Converts the messages of one row, in order; `dropped` collects what cannot be converted.

    `tools` are the definitions used to parse the calls.
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
        """The messages in the target's format; messages that are neither answers nor results are unchanged."""
        converted: list[Json] = []
        numbered = [
            (number, piece)
            for number, message in enumerate(messages, start=1)
            for piece in ((message,) if self._template is None else results_apart(message))
        ]
        for are_results, group in groupby(
            numbered, key=lambda numbered_message: bool(self._results(numbered_message[1]))
        ):
            if are_results:
                given = [(number, message) for number, message in group if isinstance(message, dict)]
                results = [message for _, message in given]
                converted += self._unchanged(results) if self._template is None else self._returned(results)
                if self._template is not None:
                    self._report(given)
            else:
                converted += (self._message(message, number) for number, message in group)
        if self._template is None and any(map(self._results, messages)):
            name = self.target.name
            self.dropped.append(f"How `{name}` presents results: unknown to weaklink; their texts are unchanged.")
        return converted

    def _report(self, numbered: list[tuple[int, dict[str, Json]]]) -> None:
        notes = ((number, note) for number, message in numbered for note in blocks_without_text(message))
        self.dropped += (f"Message {number}: {note}" for number, note in notes)

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

    def _unchanged(self, messages: list[dict[str, Json]]) -> Iterator[Json]:
        """Messages with results as they are, in the order of their calls, whose new ids they have."""
        for message, results in self._ordered(messages):
            call_id, content = results[0].call_id, message.get("content")
            if self.target.ids and call_id is not None and message.get("tool_call_id") is not None:
                yield {**message, "tool_call_id": call_id}
            else:
                yield {**message, "content": self._blocks(content)} if isinstance(content, list) else message

    def _blocks(self, content: list[Json]) -> list[Json]:
        """Blocks of a message, those with results in the order of their calls, whose new ids they have.

        Of calls with one id, each result but those beyond the last belongs to the next one.
        """
        new_ids: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        for position, (call, new_id) in enumerate(self._fitting.fitted):
            if call.id is not None:
                new_ids[call.id].append((position, new_id or call.id))
        results: list[tuple[int, int, dict[str, Json]]] = []
        for number, block in enumerate(content):
            call_id = block.get(RESULT_ID) if isinstance(block, dict) else None
            if isinstance(block, dict) and isinstance(call_id, str) and call_id in new_ids:
                of_id = new_ids[call_id]
                position, new_id = of_id.pop(0) if len(of_id) > 1 else of_id[0]
                results.append((position, number, {**block, RESULT_ID: new_id}))
        changed = list(content)
        for (_, number, _), (_, _, block) in zip(results, sorted(results, key=lambda entry: entry[0]), strict=True):
            changed[number] = block
        return changed

    def _ordered(self, messages: list[dict[str, Json]]) -> list[tuple[dict[str, Json], list[ToolResult]]]:
        """Each message and its results with the names and ids of their calls, in the order of the calls."""
        ids = [call.id for call, _ in self._unanswered]
        given = [(message, sorted_results(self._results(message), ids)) for message in messages]
        order = in_call_order([results for _, results in given], ids) or range(len(given))
        return [(given[index][0], [self._paired(result) for result in given[index][1]]) for index in order]

    def _returned(self, messages: list[dict[str, Json]]) -> Iterator[Json]:
        """Messages with results, as the template returns them to the model, in the order of their calls."""
        template = self._template
        assert template is not None
        rows = self._ordered(messages)
        if template.returned is not None and template.shares_turn:
            rows = [(rows[0][0], [result for _, results in rows for result in results])]
        elif not template.shares_turn:
            rows = [(message, [result]) for message, results in rows for result in results]
        for message, results in rows:
            yield self._handed_back(message, results, template)

    def _handed_back(self, message: dict[str, Json], results: list[ToolResult], template: Template) -> Json:
        shape = shape_of(message)
        if template.returned is not None:
            api_message = template.returned(results)
            return (
                with_object(message, api_message) if shape.is_structured else with_text(message, json_of(api_message))
            )
        changed = with_text(message, template.results(results))
        if role_of(message) is not Role.TOOL:
            changed[shape.role_key] = shape.tool
        name = self.target.name
        for result, back in zip(results, read_results(changed, self.target), strict=False):
            if len(back.content.strip()) < len(result.content.strip()) and result.content.startswith(back.content):
                what = f"The result of `{result.name}`" if result.name else "A result"
                self.dropped.append(f"{what}: parsed as `{name}`, it ends early; something in it is {name}'s syntax.")
        return changed

    def _paired(self, result: ToolResult) -> ToolResult:
        """The result with the name of its call and the call's new id; paired by id, or else in order."""
        unanswered = self._unanswered
        answered = next(
            (pair for pair in unanswered if result.call_id is not None and pair[0].id == result.call_id), None
        )
        if (
            answered is None
            and unanswered
            and (result.call_id is None or all(call.id is None for call, _ in unanswered))
        ):
            answered = unanswered[0]
        if answered is None:
            return structs.replace(result, call_id=self._fitting.ids.get(result.call_id or "", result.call_id))
        unanswered.remove(answered)
        call, call_id = answered
        return structs.replace(result, name=result.name or call.name, call_id=call_id)


def convert_text(
    text: str, source: Format, target: Format, *, prompt: str = "", tools: Sequence[ToolDefinition] = ()
) -> Completion:
    """`text`, an output in the format `source`, as a model of the format `target` would write it.

    `prompt` is the text before `text`; `tools` are the offered ones, used to parse values without types. `dropped`
    lists everything that the target cannot express, and each malformed call. Raises ValueError if `text` is more than
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
    """The completion of these pieces; `dropped` has `notes` and the changes found by parsing the completion again."""
    completion = write_completion(pieces, target)
    reported = [*notes, *completion.dropped]
    return Completion(
        completion.text, completion.prompt, (*reported, *_changed(pieces, completion, target, tools, reported))
    )


def _changed(
    pieces: Sequence[CompletionPiece],
    completion: Completion,
    target: Format,
    tools: tuple[ToolDefinition, ...],
    reported: Sequence[str],
) -> Iterator[str]:
    """The differences between the pieces and the completion when it is parsed as the target's format."""
    back = segment(completion.text, target.name, prompt=completion.prompt, tools=tools)
    name, calls = target.name, calls_of(pieces)
    parsed = [call for call in back.calls if call.valid or call.recovered]
    if [call.name for call in parsed] != [call.name for call in calls]:
        yield (
            f"The original calls: parsed as `{name}`, this text has {counted(len(parsed), 'call')} "
            f"instead of {len(calls)}; something in it looks like {name}'s syntax."
        )
        return
    changed = [
        original.name for original, reread in zip(calls, parsed, strict=True) if original.arguments != reread.arguments
    ]
    if changed and not any("exact arguments" in note for note in reported):
        yield f"The exact arguments of the call of `{changed[0]}`: parsed as `{name}`, they change."
    if completion.dropped or len(parsed) != len(back.calls):
        return
    if _bare(pieces, CompletionText) != "".join(back.content.split()):
        yield f"The original text: parsed as `{name}`, it changes; something in it is {name}'s syntax."
    if _bare(pieces, CompletionReasoning) != "".join(back.reasoning.split()):
        yield f"The original reasoning: parsed as `{name}`, it changes."


def _bare(pieces: Sequence[CompletionPiece], kind: type[CompletionText] | type[CompletionReasoning]) -> str:
    """The texts of one kind without white space, because formats differ in the white space between pieces."""
    return "".join(word for piece in tidy(pieces) if isinstance(piece, kind) for word in piece.text.split())
