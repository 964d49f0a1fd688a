"""Anthropic's messages: the shapes, the answer (streamed or whole) as wire events, and the request.

A stream is `message_start`, then blocks, each opened, grown and closed under its `index`, then `message_delta` with the
stop reason and `message_stop`. Text and thoughts go to `text` and `reasoning`, a `tool_use` is a call. Sources:
Anthropic's API reference (messages, streaming) and the types of anthropic-sdk-python:src/anthropic/types.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from weaklink.inspector.apis.openai.messages import BLOCK_PART, CALLS, call_object, read_message, read_tools
from weaklink.inspector.json_text import compact_json, flag_of, list_of, object_of, word_of
from weaklink.inspector.model import CallHeader, Json, Part, ResultHeader, Role, ToolDefinition, Turn, Usage
from weaklink.inspector.wire.answer_reader import ObjectReader
from weaklink.inspector.wire.events import CallNamed, DecodedRequest, FactsLearned, PartGrew, WireEvent, parameters_of
from weaklink.inspector.wire.provider_json import NOTHING, StructReader, raw_text, try_parse_json

API = "messages"
"""The name of this kind of endpoint in a generation's facts."""

DETAILS_PART = "wire:stop_details"
"""The part that keeps, as JSON text, the server's details of its stop reason."""

CITATIONS_PART = "wire:citations"
"""The part that keeps, as JSON texts, the citations of a text."""

STREAM_EVENTS = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    }
)
"""The types of a stream's events, except `ping` and `error`."""

TEXT_BLOCKS = {"text": "text", "thinking": "reasoning"}
"""The types of blocks that are texts, and the part that the text goes to; the member with the text is named alike.

A stream adds to them by deltas of the type `text_delta`, and so on.
"""

CALL_BLOCK = "tool_use"
"""The type of a block that is a call."""

RESULT_ID = "tool_use_id"
"""The member of a result's block that names its call."""

OWN_BLOCKS = frozenset({CALL_BLOCK, "tool_result", "thinking", "redacted_thinking"})
"""The types of blocks that occur in no other API's messages."""

_READ = frozenset({*TEXT_BLOCKS, "redacted_thinking", CALL_BLOCK})

_VERBATIM_KINDS = frozenset(
    {"container_upload", "image", "document", "search_result", "compaction", "fallback", "mcp_tool_listing"}
)

_VERBATIM_ENDINGS = ("_tool_use", "_tool_result")


def read_messages_request(request: dict[str, Json]) -> DecodedRequest:
    """A request for messages; never raises.

    A user message with results gives one tool turn for each, in order, and a user turn for its other blocks. The input
    of a call is the compact JSON of its object. A result that is a list of blocks gives the text of its text blocks;
    any other block is kept in a part `content:N`.
    """
    messages = request.get("messages", [])
    return DecodedRequest(
        API,
        word_of(request.get("model")),
        (*_system(request.get("system")), *(turn for message in _listed(messages) for turn in read_turns(message))),
        read_tools(request.get("tools")),
        parameters_of(request, without=("model", "messages", "system", "tools", "stream")),
        flag_of(request.get("stream")) or False,
    )


def read_turns(message: Json) -> Iterator[Turn]:
    """The turns of one message: one, or more if it contains results; never raises."""
    blocks = message.get("content") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(blocks, list):
        yield read_message(message)
        return
    if message.get("role") == "assistant":
        yield _assistant(blocks)
        return
    blocks_before: list[Json] = []
    for block in blocks:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            yield from _block_turns(message, blocks_before)
            blocks_before = []
            yield _result(block)
        else:
            blocks_before.append(block)
    if blocks_before or not blocks:
        yield from _block_turns(message, blocks_before, even_empty=not blocks)


def _block_turns(message: dict[str, Json], blocks: list[Json], *, even_empty: bool = False) -> Iterator[Turn]:
    if blocks or even_empty:
        yield read_message({"role": message.get("role"), "content": blocks})


def _system(system: Json) -> Iterator[Turn]:
    if system:
        yield read_message({"role": "system", "content": system})


def _result(block: dict[str, Json]) -> Turn:
    read = read_message({"role": "tool", "content": block.get("content", "")})
    is_error = block.get("is_error")
    header = ResultHeader(
        word_of(block.get("tool_use_id")) or None, None, is_error if isinstance(is_error, bool) else None
    )
    return Turn(Role.TOOL, read.parts, "user", result=header)


def _assistant(blocks: list[Json]) -> Turn:
    """An earlier answer; its parts have the same names as those from the answer's own decoder."""
    texts: dict[str, list[str]] = {}
    calls: list[CallHeader] = []
    for index, block in enumerate(blocks):
        members = block if isinstance(block, dict) else {}
        match block:
            case {"type": "tool_use"}:
                part = f"call:{len(calls)}"
                name, call_id = word_of(members.get("name")) or None, word_of(members.get("id")) or None
                calls.append(CallHeader(part, name, call_id, caller=_caller_id(members.get("caller"))))
                texts[part] = [compact_json(members["input"]) if "input" in members else ""]
            case {"type": "thinking", "thinking": str(words)}:
                texts.setdefault("reasoning", []).append(words)
                if signature := word_of(members.get("signature")):
                    texts[f"wire:signature:{index}"] = [signature]
            case {"type": "redacted_thinking", "data": str(words)}:
                texts[f"wire:redacted_thinking:{index}"] = [words]
            case {"type": "text", "text": str(words)} | str(words):
                texts.setdefault("text", []).append(words)
            case _:
                texts[f"content:{index}"] = [compact_json(block)]
    parts = tuple(Part(name, "".join(pieces)) for name, pieces in texts.items())
    return Turn(Role.ASSISTANT, parts or (Part("text", ""),), "assistant", tuple(calls))


def write_conversation(turns: Iterable[Turn]) -> dict[str, Json]:
    """Turns as `system` and `messages`, which `read_messages_request` reads as the same texts, calls and results.

    Consecutive messages of one role become one, as the API requires. ValueError, with a sentence, for a call whose
    arguments are no JSON object: a `tool_use` block contains a value and not its text.
    """
    system: list[Json] = []
    messages: list[dict[str, Json]] = []
    for turn in turns:
        blocks = list(_written_blocks(turn))
        if turn.role is Role.SYSTEM:
            system += blocks
            continue
        role = "assistant" if turn.role is Role.ASSISTANT else "user"
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] = [*list_of(messages[-1]["content"]), *blocks]
        else:
            messages.append({"role": role, "content": blocks})
    return {**({"system": system} if system else {}), "messages": [*messages]}


def write_tool(tool: ToolDefinition) -> Json:
    """A tool's definition in this shape: as it was sent, if that has this shape."""
    sent = try_parse_json(tool.raw)
    if isinstance(sent, dict) and "input_schema" in sent:
        return sent
    described: dict[str, Json] = {"description": tool.description} if tool.description else {}
    schema: Json = tool.parameters if tool.parameters is not None else {"type": "object"}
    return {"name": tool.name, **described, "input_schema": schema}


def _written_blocks(turn: Turn) -> Iterator[Json]:
    if turn.role is Role.TOOL:
        yield _written_result(turn)
        return
    texts = {part.name: part.text for part in turn.parts}
    signature = next((text for name, text in texts.items() if name.startswith("wire:signature:")), "")
    if signature and "reasoning" in texts:  # the API accepts thoughts only with their signature
        yield {"type": "thinking", "thinking": texts["reasoning"], "signature": signature}
    for name, text in texts.items():
        if name == "text" and text:
            yield {"type": "text", "text": text}
        elif name.startswith("wire:redacted_thinking:"):
            yield {"type": "redacted_thinking", "data": text}
        elif BLOCK_PART.fullmatch(name):
            yield try_parse_json(text, text)
    for call in turn.calls:
        sent = texts.get(call.part, "") or "{}"
        arguments = try_parse_json(sent, sent)
        if not isinstance(arguments, dict):
            raise ValueError(f"the arguments of the call of `{call.name}` are not a JSON object")
        yield {"type": CALL_BLOCK, "id": call.id or call.part, "name": call.name or "", "input": arguments}


def _written_result(turn: Turn) -> Json:
    header = turn.result or ResultHeader()
    blocks: list[Json] = [
        {"type": "text", "text": part.text} if part.name == "text" else try_parse_json(part.text, part.text)
        for part in turn.parts
        if part.name == "text" or BLOCK_PART.fullmatch(part.name)
    ]
    words = [word_of(object_of(block).get("text")) for block in blocks]
    content: Json = words[0] if len(words) == 1 and object_of(blocks[0]).get("type") == "text" else blocks
    error: dict[str, Json] = {} if header.is_error is None else {"is_error": header.is_error}
    return {"type": "tool_result", RESULT_ID: header.call_id or "", "content": content, **error}


def _caller_id(caller: Json) -> str | None:
    """The id of the code execution that made a call; None for `{"type": "direct"}`, a call by the model itself."""
    return word_of(object_of(caller).get("tool_id")) or None


def _listed(messages: Json) -> list[Json]:
    return messages if isinstance(messages, list) else [messages]


def as_chat(body: dict[str, Json]) -> dict[str, Json]:
    """A request's body with its messages in the shape of chat completions; what has that shape already stays.

    `system` becomes the first message, a `tool_use` block a call, a `tool_result` block a separate message.
    """
    messages = body.get("messages", body.get("input"))
    listed: list[Json] = messages if isinstance(messages, list) else [{"role": "user", "content": messages}]
    system: list[Json] = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    settings = {key: value for key, value in body.items() if key not in ("system", "messages", "input")}
    return {**settings, "messages": [*system, *(new for message in listed for new in _chat_messages(message))]}


def _chat_messages(message: Json) -> Iterator[Json]:
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(content, list):
        yield message
        return
    blocks = [(block, block.get("type") if isinstance(block, dict) else "") for block in content]
    for block, kind in blocks:
        if kind == "tool_result" and isinstance(block, dict):
            yield _chat_result(block)
    calls: list[Json] = [_chat_call(block) for block, kind in blocks if kind == "tool_use" and isinstance(block, dict)]
    rest = [block for block, kind in blocks if kind not in ("tool_use", "tool_result")]
    if calls:
        yield {**message, "content": rest or None, CALLS: [*list_of(message.get(CALLS)), *calls]}
    elif rest or not content:
        yield {**message, "content": rest}


def _chat_call(block: dict[str, Json]) -> dict[str, Json]:
    input_value = block.get("input")
    arguments = input_value if isinstance(input_value, str) else compact_json(input_value)
    return call_object(block.get("name"), arguments, block.get("id"))


def _chat_result(block: dict[str, Json]) -> dict[str, Json]:
    kept = {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": block.get("content", "")}
    return {**kept, "is_error": block["is_error"]} if "is_error" in block else kept


class ContentBlockShape(msgspec.Struct, forbid_unknown_fields=True):
    """A content block of a kind that weaklink reads; a block of another kind is kept as its text."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = NOTHING
    citations: msgspec.Raw = NOTHING
    caller: Any = None
    toolset_name: str | None = None


class BlockKindShape(msgspec.Struct):
    """The kind of a block."""

    type: str = ""


class BlockDelta(msgspec.Struct, forbid_unknown_fields=True):
    """An addition to a block, or to the message's head."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    citation: msgspec.Raw = NOTHING
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: msgspec.Raw = NOTHING
    container: Any = None
    estimated_tokens: Any = None
    content: str | None = None
    encrypted_content: str | None = None


class AnthropicOutputDetails(msgspec.Struct):
    """Details of the output count."""

    thinking_tokens: int | None = None


class AnthropicUsageShape(msgspec.Struct):
    """Token counts; those of `message_delta` are cumulative, and name only what changed."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens_details: AnthropicOutputDetails | None = None

    def after(self, known: "AnthropicUsageShape") -> "AnthropicUsageShape":
        """These counts, completed with those from `known`."""
        pairs = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return AnthropicUsageShape(**{name: getattr(known, name) if value is None else value for name, value in pairs})

    def usage(self) -> Usage:
        """The counts as `Usage`: input includes what was read from the cache or written to it."""
        counts = (self.input_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens)
        known = [count for count in counts if count is not None]
        details = self.output_tokens_details or AnthropicOutputDetails()
        return Usage(
            sum(known) if known else None, self.output_tokens, details.thinking_tokens, self.cache_read_input_tokens
        )


class AnthropicMessageShape(msgspec.Struct):
    """A message: the head of a stream, or the whole answer."""

    type: str | None = None
    id: str | None = None
    model: str | None = None
    content: list[msgspec.Raw] | None = None
    stop_reason: str | None = None
    stop_details: msgspec.Raw = NOTHING
    usage: AnthropicUsageShape | None = None


class AnthropicEvent(AnthropicMessageShape):
    """One event of a stream, or a message that came whole."""

    message: AnthropicMessageShape | None = None
    index: int | None = None
    content_block: msgspec.Raw = NOTHING
    delta: BlockDelta | None = None
    error: Any = None


read_event = StructReader(AnthropicEvent)
read_block = StructReader(ContentBlockShape)
read_kind = StructReader(BlockKindShape)


class MessagesReader(ObjectReader):
    """Reads the events of one answer, or a message that came whole; see `inspector.wire.answer_reader`."""

    __slots__ = ("_blocks", "_counts", "_is_stopped")

    api = API
    unended = "The stream ended without `message_stop`."

    def __init__(self, *, status: int | None = None, whole: bool = False) -> None:
        super().__init__(status=status, whole=whole)
        self._blocks = ContentBlocksReader()
        self._counts = AnthropicUsageShape()
        self._is_stopped = False

    @property
    def has_ended(self) -> bool:
        """Whether `message_stop` came."""
        return self._is_stopped

    def read(self, text: str, raw: str, at_s: float | None, wire_events: list[WireEvent]) -> bool:
        """Append the events of one object, `text`; `raw` is its text on the wire. False if it is no answer at all."""
        try:
            event, strange = read_event(text)
        except ValueError:
            return self.faults.read_error(text, raw, at_s, wire_events)
        if event.type == "error" or event.error:
            self.faults.fail(event.error or {"type": "error"}, raw, at_s, wire_events)
            return True
        more = self._read_event(event, at_s, wire_events)
        if more is None:
            return self.faults.read_error(text, raw, at_s, wire_events)
        strange += more
        self.faults.last_part = self._blocks.last_part
        self._keep(strange, raw, at_s, wire_events)
        return True

    def _read_event(self, event: AnthropicEvent, at_s: float | None, wire_events: list[WireEvent]) -> list[str] | None:
        """The paths of what could not be read; None for an unknown event."""
        match event.type:
            case "content_block_delta" if event.delta is not None:
                return self._blocks.grow(event.index or 0, event.delta, at_s, wire_events)
            case "content_block_start":
                return self._blocks.open(event.index or 0, raw_text(event.content_block), at_s, wire_events)
            case "content_block_stop":
                self._blocks.close(event.index or 0, at_s, wire_events)
            case "message_start":
                return self._read_message(event.message or AnthropicMessageShape(), at_s, wire_events)
            case "message":
                self._is_stopped = True
                return self._read_message(event, at_s, wire_events)
            case "message_delta":
                self._learn_end(event.delta or BlockDelta(), event.usage, at_s, wire_events)
            case "message_stop":
                self._is_stopped = True
            case "ping":
                pass
            case _:
                return None
        return []

    def _read_message(
        self, message: AnthropicMessageShape, at_s: float | None, wire_events: list[WireEvent]
    ) -> list[str]:
        wire_events.append(FactsLearned(message.id or None, message.model or None))
        strange = []
        for index, block in enumerate(message.content or ()):
            strange += self._blocks.open(index, raw_text(block), at_s, wire_events)
            self._blocks.close(index, at_s, wire_events, is_whole=True)
        self._learn_end(message, message.usage, at_s, wire_events)
        return strange

    def _learn_end(
        self,
        end: BlockDelta | AnthropicMessageShape,
        usage: AnthropicUsageShape | None,
        at_s: float | None,
        wire_events: list[WireEvent],
    ) -> None:
        if usage is not None:
            self._counts = usage.after(self._counts)
            wire_events.append(FactsLearned(usage=self._counts.usage()))
        if end.stop_reason:
            self._learn_finish(end.stop_reason, wire_events)
        if details := raw_text(end.stop_details):
            wire_events.append(PartGrew(DETAILS_PART, details, at_s))


class ContentBlocksReader:
    """Assigns parts to each block. A block is opened, grows, and is closed; `last_part` is the part that grew last."""

    __slots__ = ("_count", "_grown", "_inputs", "_parts", "last_part")

    def __init__(self) -> None:
        self._count = 0  # of calls
        self._parts: dict[int, str] = {}  # where a block's input goes, by index
        self._inputs: dict[int, str] = {}  # the input with which an open call began
        self._grown: set[int] = set()  # calls whose input was streamed
        self.last_part = "text"

    def open(self, index: int, text: str, at_s: float | None, wire_events: list[WireEvent]) -> list[str]:
        """Append the events of a new block, whose JSON text is `text`; returns the paths of unknown members."""
        try:
            kind, _ = read_kind(text)
        except ValueError:
            return [f"content_block[{index}]"]
        if kind.type not in _READ:
            wire_events.append(PartGrew(f"content:{index}", text, at_s))
            self._parts[index] = f"content:{index}:input"
            is_known = kind.type in _VERBATIM_KINDS or kind.type.endswith(_VERBATIM_ENDINGS)
            return [] if is_known else [f"content_block.type {kind.type}"]
        block, strange = read_block(text)
        self._read(index, block, at_s, wire_events)
        return [f"content_block.{path}" for path in strange]

    def grow(self, index: int, delta: BlockDelta, at_s: float | None, wire_events: list[WireEvent]) -> list[str]:
        """Append the events of an addition to a block; returns the paths of unknown members."""
        match delta.type:
            case "text_delta":
                self._grow("text", delta.text, at_s, wire_events)
            case "input_json_delta":
                return self._grow_input(index, delta.partial_json, at_s, wire_events)
            case "thinking_delta":
                self._grow("reasoning", delta.thinking, at_s, wire_events)
            case "signature_delta" if delta.signature:
                wire_events.append(PartGrew(f"wire:signature:{index}", delta.signature, at_s))
            case "citations_delta":
                wire_events.append(PartGrew(CITATIONS_PART, raw_text(delta.citation), at_s))
            case "compaction_delta":
                self._grow(f"content:{index}:delta", delta.content, at_s, wire_events)
                self._grow(f"content:{index}:encrypted", delta.encrypted_content, at_s, wire_events)
            case "signature_delta":
                pass
            case _:
                return [f"delta.type {delta.type}"]
        return []

    def close(self, index: int, at_s: float | None, wire_events: list[WireEvent], *, is_whole: bool = False) -> None:
        """The block is complete: a call whose input was not streamed gets the one that it began with.

        An empty object at the start of a stream is a placeholder; in a message that `is_whole` it is the input.
        """
        text = self._inputs.pop(index, "")
        if text and index not in self._grown and (is_whole or text.replace(" ", "") != "{}"):
            self._grow(self._parts[index], text, at_s, wire_events)

    def _read(self, index: int, block: ContentBlockShape, at_s: float | None, wire_events: list[WireEvent]) -> None:
        match block.type:
            case "text":
                self._grow("text", block.text, at_s, wire_events)
            case "thinking":
                self._grow("reasoning", block.thinking, at_s, wire_events)
            case "redacted_thinking" if block.data:
                wire_events.append(PartGrew(f"wire:redacted_thinking:{index}", block.data, at_s))
            case "tool_use":
                caller = _caller_id(block.caller)
                self._open_call(
                    index, CallNamed(f"call:{self._count}", block.name, block.id, caller=caller), wire_events
                )
                self._inputs[index] = raw_text(block.input)
        if block.signature:
            wire_events.append(PartGrew(f"wire:signature:{index}", block.signature, at_s))
        if (citations := raw_text(block.citations)) and citations != "[]":
            wire_events.append(PartGrew(CITATIONS_PART, citations, at_s))

    def _open_call(self, index: int, call: CallNamed, wire_events: list[WireEvent]) -> None:
        self._count += 1
        self._parts[index] = self.last_part = call.part
        self._grown.discard(index)
        wire_events.append(call)

    def _grow_input(self, index: int, text: str | None, at_s: float | None, wire_events: list[WireEvent]) -> list[str]:
        is_known = index in self._parts
        if not is_known:
            self._open_call(index, CallNamed(f"call:{self._count}"), wire_events)
        if text:
            self._grown.add(index)
            self._grow(self._parts[index], text, at_s, wire_events)
        return [] if is_known else ["index"]

    def _grow(self, part: str, text: str | None, at_s: float | None, wire_events: list[WireEvent]) -> None:
        if text:
            if not part.startswith("content:"):
                self.last_part = part
            wire_events.append(PartGrew(part, text, at_s))
