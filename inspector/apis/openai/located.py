"""OpenAI's APIs with positions: messages, chat completions, their chunks, and the Responses API's items and events.

Sources: OpenAI's API reference (chat completion object, messages); langchain-openai:tests/unit_tests/chat_models/
test_base.py; `reasoning_content` (DeepSeek, SGLang), `reasoning` (vLLM, OpenRouter), content blocks of kind `thinking`
(Mistral).

The call of a chunk's piece is found as for a recorded stream (`apis.openai.chat`): by its index, and by id and name if
a server gives every call the same index.

Source: OpenAI's API reference (Responses: object, streaming events); langchain-openai:tests/unit_tests/chat_models/
test_base.py. Final events repeat what deltas contained before; what was read once counts as structure the second time.
"""

from collections.abc import Iterator

import msgspec

from weaklink.inspector.apis.located_pieces import (
    ApiCallPiece,
    ApiFault,
    ApiPiece,
    CallsEnd,
    ResultPiece,
    TextPiece,
    TurnBegins,
    another_answer,
    cut_off,
    error_inside,
    filled,
    items,
    member,
    number,
    objects,
    string,
    text_of,
)
from weaklink.inspector.apis.openai.chat import (
    BLOCK_TEXTS,
    DETAIL_KEYS,
    LEGACY_INDEX,
    REASONING_KEYS,
    CallParts,
    FunctionDelta,
)
from weaklink.inspector.apis.openai.chat import ToolCallDelta as WirePiece
from weaklink.inspector.apis.openai.client_tools import (
    ARGUMENTS,
    CALL_MEMBERS,
    OWN_CALLS,
    OWN_RESULTS,
    RESULT_ITEMS,
    TEXT_ITEMS,
    is_run_by_client,
)
from weaklink.inspector.apis.openai.messages import API_ROLES, CALLS, RESULT_ROLES, TEXT_BLOCKS
from weaklink.inspector.apis.openai.responses import CALL_ITEMS, END_EVENTS, text_of_event
from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.json_scanner import JsonKind, JsonNode
from weaklink.inspector.model import Json, SpanKind
from weaklink.inspector.rules.recording import REUSED_CALL_INDEX
from weaklink.inspector.text import Range

_WORDS_KEYS = ("content", CALLS, "function_call", *REASONING_KEYS, "refusal")


class OpenAiShapes:
    """The `ApiShapeReader` of chat completions and the Responses API: whole, and as streams."""

    def __init__(self) -> None:
        self._chunks = ChunkReader()
        self._events = EventReader()
        self._done = False

    @property
    def expects_end(self) -> bool:
        """See `ApiShapeReader`."""
        chunks = self._chunks.is_stream and not self._chunks.has_ended
        return not self._done and (chunks or (self._events.begun and not self._events.has_ended))

    def read(self, value: JsonNode, text: str) -> list[ApiPiece] | None:
        """See `ApiShapeReader`."""
        if value.kind is JsonKind.ARRAY:
            read = [self._one(item) for item in value.items]
            return (
                [piece for pieces in read for piece in pieces or ()]
                if read and all(r is not None for r in read)
                else None
            )
        return self._one(value)

    def end(self, marker: Range) -> list[ApiPiece]:
        """See `ApiShapeReader`."""
        self._done = True
        return [CallsEnd(marker)]

    def _one(self, node: JsonNode) -> list[ApiPiece] | None:
        if is_completion(node):
            return [*self._chunks.read(items(node, "choices")), *error_inside(node)]
        if is_event(node):
            return list(self._events.read(node))
        if is_response(node):
            return [*(piece for item in items(node, "output") for piece in read_item(item)), *how_it_ended(node)]
        if is_item(node):
            return list(read_item(node))
        if is_message(node):
            return list(read_message(node))
        if is_call(node):
            return [read_call(node)]
        messages = items(node, "messages")
        if messages and all(map(is_message, messages)):
            return [piece for message in messages for piece in read_message(message)]
        return self._in_stream(node)

    def _in_stream(self, node: JsonNode) -> list[ApiPiece] | None:
        """The pieces of an object that occurs only between the events of a stream; None if it is none."""
        if not self._chunks.is_stream and not self._events.begun:
            return None
        if text_of(node, "type") == "error" or member(node, "error") is not None:
            self._done = True
            return list(error_inside(node))
        return [] if node.member("usage") is not None or node.member("choices") is not None else None


class ChunkReader:
    """Reads the `choices` of one answer; choice 0 is the answer, any other is only reported."""

    def __init__(self) -> None:
        self._calls = CallParts()
        self._parts_by_index: dict[int, str] = {}
        self._others_reported = False
        self._index_reported = False
        self.is_stream = False
        self.has_ended = False
        """Whether a finish reason has come."""

    def read(self, choices: tuple[JsonNode, ...]) -> Iterator[ApiPiece]:
        """The pieces of one object's choices."""
        for choice in choices:
            index = number(choice, "index")
            if index:
                if not self._others_reported:
                    yield another_answer(choice, index)
                self._others_reported = True
                continue
            delta, message = member(choice, "delta"), member(choice, "message")
            if message is not None and not self.is_stream:
                yield from read_message(message)
            elif delta is not None:
                self.is_stream = True
                yield from read_words(delta)
                yield from self._pieces(delta)
            elif (text := string(choice, "text")) is not None and text.scalar:
                yield TextPiece(SpanKind.TEXT, text)
            finish = string(choice, "finish_reason")
            if finish is not None:
                self.has_ended = True
                yield CallsEnd(finish.range)
                yield from cut_off(finish)

    def _pieces(self, delta: JsonNode) -> Iterator[ApiPiece]:
        for call in objects(delta, CALLS):
            yield from self._placed(read_call(call), number(call, "index"))
        legacy = member(delta, "function_call")
        if legacy is not None:
            yield from self._placed(call_of(legacy, legacy), LEGACY_INDEX)

    def _placed(self, piece: ApiCallPiece, index: int | None) -> Iterator[ApiPiece]:
        """The piece with the key of its call."""
        name, id_, arguments = (_scalar_text(node) for node in (piece.name, piece.id, piece.arguments))
        function = FunctionDelta(name, arguments)
        wire = WirePiece(index, id_, function=function)
        call = self._calls.assign(wire, function)
        call.learn(wire, function)
        before = self._parts_by_index.setdefault(index, call.part) if index is not None else call.part
        if before != call.part and index is not None:
            self._parts_by_index[index] = call.part
            if not self._index_reported:
                self._index_reported = True
                yield ApiFault(_reused(piece.range, index, call.name))
        yield msgspec.structs.replace(piece, key=call.part)


def is_completion(node: JsonNode) -> bool:
    """Whether a value is a chat completion, a chunk of one, or a text completion."""
    kind = text_of(node, "object")
    if kind in ("chat.completion", "chat.completion.chunk", "text_completion"):
        return member(node, "choices") is not None
    return any(member(choice, "delta", "message") is not None for choice in items(node, "choices"))


def _scalar_text(node: JsonNode | None) -> str | None:
    return node.scalar if node is not None and isinstance(node.scalar, str) else None


def _reused(call_range: Range, index: int, name: str) -> Fault:
    return Fault(
        REUSED_CALL_INDEX,
        call_range,
        f"The call of `{name}` has index {index}, which an earlier call of this answer has too.",
        "Clients that match calls by index merge both into one; weaklink matched by id and name.",
    )


def is_item(node: JsonNode) -> bool:
    """Whether a value is an item of a response's output, or of the next request's input."""
    match text_of(node, "type"):
        case kind if kind in CALL_ITEMS:
            return string(node, "name") is not None
        case kind if kind in RESULT_ITEMS:
            return string(node, "call_id") is not None
        case kind if kind in OWN_CALLS or kind in OWN_RESULTS:
            return string(node, "call_id", "id") is not None
        case "reasoning":
            return any(node.member(key) is not None for key in ("summary", "content", "encrypted_content"))
        case "message":
            return is_message(node)
    return False


def is_response(node: JsonNode) -> bool:
    """Whether a value is a whole response."""
    output = items(node, "output")
    return text_of(node, "object") == "response" or (bool(output) and all(map(is_item, output)))


def is_event(node: JsonNode) -> bool:
    """Whether a value is an event of a response's stream."""
    return text_of(node, "type").startswith("response.")


def read_item(node: JsonNode, key: str | None = None) -> Iterator[ApiPiece]:
    """The pieces of an item; `key` is that of its call if fragments of it came or may come."""
    kind = text_of(node, "type")
    if kind in CALL_ITEMS:
        text_key = CALL_MEMBERS[kind] if kind in TEXT_ITEMS else ""
        yield call_of(node, node, key, text_key=text_key, requires_id=True)
    elif kind in OWN_CALLS:
        yield from _own_call(node, kind)
    elif kind in RESULT_ITEMS or (kind in OWN_RESULTS and text_of(node, "execution") != "server"):
        output = member(node, "output", "tools")
        output_range = output.range if output is not None else node.range
        yield ResultPiece(output_range, output, string(node, "call_id", "id"))
    elif kind == "reasoning":
        blocks = (block for key in ("summary", "content") for block in objects(node, key))
        yield from (TextPiece(SpanKind.REASONING, text) for block in blocks for text in filled(block, "text"))
    elif kind == "message":
        by_model = text_of(node, "role") == "assistant"
        for piece in read_message(node):
            if isinstance(piece, TextPiece):
                yield msgspec.structs.replace(piece, by_model=by_model, in_order=True)
            elif not by_model or not isinstance(piece, TurnBegins):
                yield piece


def _own_call(node: JsonNode, kind: str) -> Iterator[ApiCallPiece]:
    """A call of a tool of OpenAI's that the client runs; its type stands for its name."""
    type_, environment = string(node, "type"), member(node, "environment")
    where = environment.value() if environment is not None else None
    if type_ is not None and is_run_by_client(kind, text_of(node, "execution"), where):
        name = msgspec.structs.replace(type_, scalar=OWN_CALLS[kind])
        id_, arguments = string(node, "call_id", "id"), member(node, *ARGUMENTS)
        yield ApiCallPiece(node.range, None, name, id_, arguments, requires_id=True)


class EventReader:
    """Reads the events of one response."""

    def __init__(self) -> None:
        self._read_keys: set[str] = set()
        self._has_no_output = True
        self.begun = False
        self.has_ended = False

    def read(self, node: JsonNode) -> Iterator[ApiPiece]:
        """The pieces of one event."""
        self.begun = True
        kind = text_of(node, "type")
        key = text_of(node, "item_id") or f"output {number(node, 'output_index')}"
        text, step = text_of_event(kind)
        if text is not None and text.item_text.part == "call":
            words = string(node, "delta" if step == "delta" else text.member)
            if words is not None and (step == "delta" or f"{key} arguments" not in self._read_keys):
                self._mark_read(key)
                self._read_keys.add(f"{key} arguments")
                is_text = text.member != "arguments"
                yield ApiCallPiece(words.range, key, arguments=words, is_encoded=True, is_text=is_text)
        elif text is not None and step == "delta":
            for words in filled(node, "delta"):
                self._mark_read(key)
                yield _text_piece(text.item_text.part, words)
        elif kind in ("response.output_item.added", "response.output_item.done"):
            yield from self._item(node, is_done=kind.endswith("done"))
        elif kind in END_EVENTS:
            yield from self._end(node, member(node, "response"))

    def _item(self, node: JsonNode, *, is_done: bool) -> Iterator[ApiPiece]:
        item = member(node, "item")
        if item is None:
            return
        key = text_of(item, "id") or f"output {number(node, 'output_index')}"
        if text_of(item, "type") in CALL_ITEMS and key not in self._read_keys:
            self._mark_read(key)
            yield from (
                _streamed(piece, self._read_keys) for piece in read_item(item, key) if isinstance(piece, ApiCallPiece)
            )
        elif is_done and key not in self._read_keys:
            self._mark_read(key)
            yield from read_item(item)
        elif is_done and f"{key} arguments" not in self._read_keys:
            for late in filled(item, CALL_MEMBERS.get(text_of(item, "type"), "")):
                yield ApiCallPiece(late.range, key, arguments=late, is_encoded=True)
        if is_done:
            yield CallsEnd(item.range, key)

    def _end(self, node: JsonNode, response: JsonNode | None) -> Iterator[ApiPiece]:
        self.has_ended = True
        if response is None:
            return
        if self._has_no_output:
            yield from (piece for item in objects(response, "output") for piece in read_item(item))
        yield CallsEnd(node.range)
        yield from how_it_ended(response)

    def _mark_read(self, key: str) -> None:
        self._read_keys.add(key)
        self._has_no_output = False


def how_it_ended(response: JsonNode) -> Iterator[ApiFault]:
    """The faults of a response that was stopped at its limit, or failed."""
    yield from cut_off(string(member(response, "incomplete_details"), "reason"))
    yield from error_inside(response)


def _streamed(piece: ApiCallPiece, read_keys: set[str]) -> ApiCallPiece:
    """An item's call as the first piece of a streamed one; an empty string is only a placeholder."""
    if piece.arguments is not None and piece.arguments.scalar == "":
        return msgspec.structs.replace(piece, arguments=None)
    if piece.arguments is not None:
        read_keys.add(f"{piece.key} arguments")
    return piece


def is_message(node: JsonNode) -> bool:
    """Whether a value is a message: of a known role with text or calls or, without a role, with whole calls."""
    if text_of(node, "role") in API_ROLES:
        content = member(node, "content")
        is_content = content is None or content.kind in (JsonKind.STRING, JsonKind.ARRAY)
        return is_content and any(node.member(key) is not None for key in _WORDS_KEYS)
    calls = items(node, CALLS)
    return bool(calls) and all(string(member(call, "function"), "name") is not None for call in calls)


def is_call(node: JsonNode) -> bool:
    """Whether a value is a call of a message's `tool_calls`, and no tool's definition."""
    function = member(node, "function")
    return string(function, "name") is not None and function is not None and function.member("arguments") is not None


def read_message(node: JsonNode) -> Iterator[ApiPiece]:
    """The pieces of a message; the order of its members does not show the order of text and calls."""
    role = text_of(node, "role")
    yield TurnBegins(Range(node.range.start, node.range.start))
    if role in RESULT_ROLES:
        yield _result(node)
        return
    by_model = role in ("", "assistant")
    yield from read_words(node, by_model=by_model, in_order=False)
    yield from read_calls(node)


def read_words(node: JsonNode, *, by_model: bool = True, in_order: bool = True) -> Iterator[TextPiece]:
    """The texts of a message or of a stream's delta: reasoning, text and refusal."""
    for part, words in _words(node):
        yield _text_piece(part, words, by_model=by_model, in_order=in_order)


def _text_piece(part: str, words: JsonNode, *, by_model: bool = True, in_order: bool = True) -> TextPiece:
    kind = SpanKind.REASONING if part == "reasoning" else SpanKind.TEXT
    return TextPiece(kind, words, "refusal" if part == "refusal" else "", by_model, in_order)


def _words(node: JsonNode) -> Iterator[tuple[str, JsonNode]]:
    yield from (("reasoning", words) for words in _reasoning(node))
    yield from (("text", words) for words in filled(node, "content"))
    for block in items(node, "content"):
        yield from _block(block)
    yield from (("refusal", words) for words in filled(node, "refusal"))


def _reasoning(node: JsonNode) -> list[JsonNode]:
    plain: dict[Json, JsonNode] = {}
    for words in filled(node, *REASONING_KEYS):
        plain.setdefault(words.scalar, words)
    details = (next(filled(detail, *DETAIL_KEYS), None) for detail in objects(node, "reasoning_details"))
    return [*plain.values()] or [words for words in details if words is not None]


def _block(block: JsonNode) -> Iterator[tuple[str, JsonNode]]:
    if block.kind is JsonKind.STRING and block.scalar:
        yield "text", block
    part, key = BLOCK_TEXTS.get(text_of(block, "type"), ("", ""))
    if part:
        yield from ((part, words) for words in filled(block, key))
    if part == "reasoning":
        inner = (piece for piece in objects(block, key) if text_of(piece, "type") in TEXT_BLOCKS)
        yield from ((part, words) for piece in inner for words in filled(piece, "text"))


def read_calls(message: JsonNode) -> Iterator[ApiCallPiece]:
    """The calls of a message, in order."""
    yield from map(read_call, items(message, CALLS))
    legacy = member(message, "function_call")
    if legacy is not None:
        yield call_of(legacy, legacy)


def read_call(node: JsonNode) -> ApiCallPiece:
    """One element of `tool_calls`: the call of a function, or of a custom tool, whose input is free text."""
    custom = member(node, "custom")
    if custom is not None:
        return call_of(node, custom, text_key="input", requires_id=True)
    return call_of(node, member(node, "function") or node, requires_id=True)


def call_of(
    node: JsonNode, function: JsonNode, key: str | None = None, *, text_key: str = "", requires_id: bool = False
) -> ApiCallPiece:
    """The call that `node` is, whose name and arguments are in `function`; they are free text under `text_key`."""
    arguments = string(function, text_key) if text_key else member(function, "arguments", "parameters")
    foreign = function.member("parameters") if arguments is not None and member(function, "arguments") is None else None
    return ApiCallPiece(
        node.range,
        key,
        string(function, "name"),
        string(node, "call_id", "id"),
        arguments,
        is_encoded=True,
        is_text=bool(text_key),
        foreign_key=foreign.key_range if foreign is not None else None,
        requires_id=requires_id,
    )


def _result(node: JsonNode) -> ResultPiece:
    content = member(node, "content")
    result_range = content.range if content is not None else node.range
    return ResultPiece(result_range, content, string(node, "tool_call_id"), string(node, "name"))
