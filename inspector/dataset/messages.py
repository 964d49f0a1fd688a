"""Reads the messages of a row, in OpenAI's shape or ShareGPT's, and writes them back in the same shape."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from weaklink.inspector.apis.anthropic.messages import RESULT_ID
from weaklink.inspector.apis.openai.messages import CALLS, read_message
from weaklink.inspector.dataset.fitting import ParsedOutput, parse_output
from weaklink.inspector.formats.api.call_reading import read_structured_part
from weaklink.inspector.formats.completion import CompletionCalls, CompletionPiece, CompletionReasoning, CompletionText
from weaklink.inspector.formats.format import Format
from weaklink.inspector.importers.data.sharegpt import ROLE_WORDS
from weaklink.inspector.importers.data.written_calls import CALL_ROLES, read_calls, split_thought
from weaklink.inspector.importers.records import parse_json_bytes
from weaklink.inspector.json_text import word_of, write_json
from weaklink.inspector.model import Json, Role, ToolCall, ToolDefinition, ToolResult
from weaklink.inspector.segmentation import segment
from weaklink.inspector.text import Range

LISTS = ("messages", "conversations")
"""The members of a row that contain a conversation."""
_NO_RANGE = Range(0, 0)
_ROLES = {**ROLE_WORDS, "developer": Role.SYSTEM, "agent": Role.ASSISTANT}
_STRUCTURED = frozenset({CALLS, "function_call", "reasoning_content", "reasoning", "thinking", "parts", "tool_call_id"})


class RowKeys(Struct, frozen=True):
    """The keys of the role and the text in a row's messages, and the names of roles that weaklink may have to add."""

    role_key: str
    text_key: str
    system: str = "system"
    tool: str = "tool"

    @property
    def is_structured(self) -> bool:
        """Whether a message may contain more than text: OpenAI's shape, not ShareGPT's."""
        return self.text_key == "content"


def shape_of(message: dict[str, Json]) -> RowKeys:
    """The shape of a message."""
    role_key = "from" if "from" in message and "role" not in message else "role"
    return RowKeys(role_key, "value" if "value" in message and "content" not in message else "content")


def role_of(message: dict[str, Json]) -> Role:
    """The role of a message; an unknown role counts as the user."""
    word = message.get(shape_of(message).role_key)
    return _ROLES.get(word.lower(), Role.USER) if isinstance(word, str) else Role.USER


def text_of(message: dict[str, Json]) -> str | None:
    """The message's text, or the joined texts of its blocks; None if it has neither."""
    value = message.get(shape_of(message).text_key, message.get("parts"))
    if isinstance(value, list):
        texts = [block.get("text") for block in value if isinstance(block, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    return value if isinstance(value, str) else None


def with_text(message: dict[str, Json], text: str) -> dict[str, Json]:
    """The message with all of its content replaced by this text."""
    key = shape_of(message).text_key
    kept = {name: value for name, value in message.items() if name not in _STRUCTURED}
    return {**kept, key: text}


def with_object(message: dict[str, Json], api_message: dict[str, Json]) -> dict[str, Json]:
    """The message with all of its content replaced by an API's message object."""
    kept = {name: value for name, value in message.items() if name not in _STRUCTURED | {"content", "role", "from"}}
    return {**api_message, **kept}


def with_structured_calls(message: Json) -> Json:
    """An answer whose calls are LLaMA-Factory's turn or Anthropic's blocks, with `tool_calls`; any other unchanged.

    The trainer's template writes the calls of such a message, so its text is in no format of a model.
    """
    if not isinstance(message, dict):
        return message
    text, blocks = message.get("value"), message.get("content")
    if word_of(message.get("from")) in CALL_ROLES and isinstance(text, str):
        thought, written = split_thought(text)
        calls = [_openai_call(header.id, header.name, arguments) for header, arguments in read_calls(written)]
        return {**message, "from": "gpt", "value": "", **_reasoning(thought), CALLS: calls}
    if isinstance(blocks, list) and any(
        isinstance(block, dict) and block.get("type") == "tool_use" for block in blocks
    ):
        return {**message, **_of_blocks([block for block in blocks if isinstance(block, dict)])}
    return message


def _of_blocks(blocks: Sequence[dict[str, Json]]) -> dict[str, Json]:
    """The members of OpenAI's message for Anthropic's blocks; a block of another kind stays in the content."""
    kinds = [(block.get("type"), block) for block in blocks]
    calls = [
        _openai_call(block.get("id"), block.get("name"), write_json(block.get("input", {}), ascii_only=False))
        for kind, block in kinds
        if kind == "tool_use"
    ]
    thoughts = [str(block.get("thinking")) for kind, block in kinds if kind == "thinking"]
    content: list[Json] = [block for kind, block in kinds if kind not in ("tool_use", "thinking")]
    return {"content": content, **_reasoning("".join(thoughts)), CALLS: calls}


def _openai_call(id: Json, name: Json, arguments: str) -> Json:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _reasoning(thought: str | None) -> dict[str, Json]:
    return {"reasoning_content": thought} if thought else {}


def read_answer(message: dict[str, Json], source: Format, tools: tuple[ToolDefinition, ...]) -> ParsedOutput:
    """The parsed content of an assistant message: its text parsed as `source`, and its structured fields."""
    content = message.get("content")
    if not _STRUCTURED & message.keys() and not isinstance(content, list):
        return parse_output(segment(text_of(message) or "", source.name, tools=tools))
    return _structured(message, source, tools)


def _structured(message: dict[str, Json], source: Format, tools: tuple[ToolDefinition, ...]) -> ParsedOutput:
    turn = read_message(message)
    pieces: list[CompletionPiece] = []
    notes: list[str] = []
    for part in turn.parts:
        if part.name == "reasoning":
            pieces.append(CompletionReasoning(part.text))
        elif part.name == "text":
            inner = parse_output(segment(part.text, source.name, tools=tools))
            pieces += inner.pieces
            notes += inner.notes
        elif part.name.startswith("call:"):
            pieces += _call(read_structured_part(turn, part).calls, part.name, notes)
        elif part.text:
            notes.append(f"The part `{part.name}`: only text, reasoning and calls are converted.")
    return ParsedOutput(tuple(pieces), tuple(notes))


def _call(calls: tuple[ToolCall, ...], name: str, notes: list[str]) -> Iterator[CompletionPiece]:
    for call in calls:
        if call.valid or (call.recovered and call.name):
            if not call.valid:
                notes.append(f"`{name}` was malformed and was repaired.")
            yield CompletionCalls((call,))
        else:
            notes.append(f"`{name}` could not be parsed and was kept as raw text.")
            yield CompletionText(f"{call.name or ''} {call.raw_arguments}".strip())


def read_results(message: dict[str, Json], source: Format) -> tuple[ToolResult, ...]:
    """The results in a message; none if it has any other content.

    A tool message has at least one. A user message counts if it has only results, as in Qwen's template and the APIs of
    Anthropic and Google.
    """
    blocks = tuple(_blocks(message))
    role = role_of(message)
    if blocks or role not in (Role.TOOL, Role.USER):
        return blocks
    text = text_of(message) or ""
    segmentation = segment(text, source.name, role=role)
    if role is Role.USER and (not segmentation.results or segmentation.content.strip()):
        return ()
    results = tuple(_unwrapped(result) for result in segmentation.results if result.content) or (
        ToolResult(text, _NO_RANGE),
    )
    call_id, name = message.get("tool_call_id"), message.get("name")
    if len(results) == 1:
        only = results[0]
        call_id = call_id if isinstance(call_id, str) else only.call_id
        name = name if isinstance(name, str) else only.name
        return (ToolResult(only.content, _NO_RANGE, call_id, name, only.is_error),)
    return results


def results_apart(message: Json) -> tuple[Json, ...]:
    """The message, or two if it has results beside other content, as Anthropic's: the results, then what is left."""
    key = "content" if isinstance(message, dict) and "content" in message else "parts"
    blocks = message.get(key) if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(blocks, list):
        return (message,)
    results = [block for block in blocks if _is_result(block)]
    others = [block for block in blocks if not _is_result(block)]
    return ({**message, key: results}, {**message, key: others}) if results and others else (message,)


def blocks_without_text(message: dict[str, Json]) -> Iterator[str]:
    """A sentence for each kind of block that has no text, such as an image, in the message or in its results."""
    kinds: dict[str, None] = {}
    pending = [message.get("content", message.get("parts"))]
    while pending:
        blocks = pending.pop()
        for block in blocks if isinstance(blocks, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_result":
                pending.append(block.get("content"))
            elif isinstance(block, dict) and not isinstance(block.get("text"), str) and not _is_result(block):
                kinds[word_of(block.get("type")) or next(iter(block), "")] = None
    yield from (f"The block `{kind}`: only texts are converted." for kind in kinds)


def in_call_order(results: Sequence[Sequence[ToolResult]], call_ids: Sequence[str | None]) -> list[int] | None:
    """The order of messages with results in which they answer the calls with these ids, as indices.

    Formats without ids pair results and calls by their order alone. None if a result has no id of these calls: then
    the order of the messages is all that is known.
    """
    positions = [[_position(result, call_ids) for result in of_message] for of_message in results]
    if any(position is None for of_message in positions for position in of_message):
        return None
    first = [min((position for position in of_message if position is not None), default=0) for of_message in positions]
    return sorted(range(len(results)), key=first.__getitem__)


def sorted_results(results: Sequence[ToolResult], call_ids: Sequence[str | None]) -> tuple[ToolResult, ...]:
    """The results of one message in the order of their calls; unchanged if one has no id of these calls."""
    order = in_call_order([[result] for result in results], call_ids)
    return tuple(results) if order is None else tuple(results[index] for index in order)


def _position(result: ToolResult, call_ids: Sequence[str | None]) -> int | None:
    return call_ids.index(result.call_id) if result.call_id is not None and result.call_id in call_ids else None


def _unwrapped(result: ToolResult) -> ToolResult:
    """The result without the object in which some agents and templates wrap it with its call's id or name."""
    if not result.content.lstrip().startswith("{") or (result.call_id is None and result.name is None):
        return result
    try:
        value = parse_json_bytes(result.content.encode("utf-8", "surrogatepass"))
    except ValueError:
        return result
    if not isinstance(value, dict) or "content" not in value:
        return result
    content = value["content"]
    text = content if isinstance(content, str) else write_json(content, ascii_only=False)
    return ToolResult(text, _NO_RANGE, result.call_id, result.name, result.is_error)


def _blocks(message: dict[str, Json]) -> Iterator[ToolResult]:
    """The results in an API's content blocks or parts."""
    value = message.get("content", message.get("parts"))
    for block in value if isinstance(value, list) else ():
        if not isinstance(block, dict):
            continue
        response = block.get("functionResponse")
        if block.get("type") == "tool_result":
            call_id = block.get(RESULT_ID)
            text = text_of({"content": block.get("content")})
            yield ToolResult(text or "", _NO_RANGE, _word(call_id), None, block.get("is_error") is True or None)
        elif isinstance(response, dict):
            text = write_json(response.get("response"), ascii_only=False)
            yield ToolResult(text, _NO_RANGE, _word(response.get("id")), _word(response.get("name")))


def _is_result(block: Json) -> bool:
    return isinstance(block, dict) and (
        block.get("type") == "tool_result" or isinstance(block.get("functionResponse"), dict)
    )


def _word(value: Json) -> str | None:
    return value if isinstance(value, str) else None
