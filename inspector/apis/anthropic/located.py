"""Anthropic's Messages API: messages, content blocks and the events of a stream, with their positions.

The arguments of a `tool_use` are an object; in a stream they are fragments of JSON text, of which the first is often
empty, and a call without arguments has none. Sources: Anthropic's API reference (Messages, streaming).
"""

from collections.abc import Iterator

from weaklink.inspector.apis.anthropic.messages import CALL_BLOCK, RESULT_ID, STREAM_EVENTS, TEXT_BLOCKS
from weaklink.inspector.apis.located_pieces import (
    ApiCallPiece,
    ApiPiece,
    CallsEnd,
    ResultPiece,
    TextPiece,
    TurnBegins,
    cut_off,
    error_inside,
    filled,
    items,
    member,
    number,
    objects,
    string,
    text_of,
    truth,
)
from weaklink.inspector.json_scanner import JsonKind, JsonNode
from weaklink.inspector.model import SpanKind
from weaklink.inspector.text import Range

_CALLS = frozenset({CALL_BLOCK, "server_tool_use", "mcp_tool_use"})
_TEXT_DELTAS = {f"{kind}_delta": kind for kind in TEXT_BLOCKS}


class ClaudeShapes:
    """The `ApiShapeReader` of the Messages API: whole, and as a stream."""

    def __init__(self) -> None:
        self._is_stream = False
        self._has_ended = False

    @property
    def expects_end(self) -> bool:
        """See `ApiShapeReader`."""
        return self._is_stream and not self._has_ended

    def read(self, value: JsonNode, text: str) -> list[ApiPiece] | None:
        """See `ApiShapeReader`."""
        if value.kind is JsonKind.ARRAY:
            return self._array(value.items)
        kind = text_of(value, "type")
        if (kind in STREAM_EVENTS or kind == "ping") and self._is_event(value, kind):
            self._is_stream = True
            return list(self._event(value, kind))
        if kind == "error" and member(value, "error") is not None and self._is_stream:
            self._has_ended = True
            return list(error_inside(value))
        if _is_message(value):
            return list(_message(value))
        if _is_block(value) and kind != "text":
            return list(_block(value))
        return self._array(items(value, "messages")) if items(value, "messages") else None

    def end(self, marker: Range) -> list[ApiPiece]:
        """See `ApiShapeReader`."""
        self._has_ended = True
        return [CallsEnd(marker)]

    @staticmethod
    def _array(values: tuple[JsonNode, ...]) -> list[ApiPiece] | None:
        if values and all(map(_is_message, values)):
            return [piece for message in values for piece in _message(message)]
        if values and all(map(_is_block, values)):
            return [piece for block in values for piece in _block(block)]
        return None

    @staticmethod
    def _is_event(node: JsonNode, kind: str) -> bool:
        match kind:
            case "message_start":
                return member(node, "message") is not None
            case "content_block_start":
                return member(node, "content_block") is not None
            case "content_block_delta" | "message_delta":
                return member(node, "delta") is not None
            case "content_block_stop":
                return number(node, "index") is not None
        return True

    def _event(self, node: JsonNode, kind: str) -> Iterator[ApiPiece]:
        key = f"block {number(node, 'index')}"
        match kind:
            case "message_start":
                yield TurnBegins(node.range)
                yield from (piece for block in objects(member(node, "message"), "content") for piece in _block(block))
            case "content_block_start":
                block = member(node, "content_block")
                yield from _block(block, key) if block is not None else ()
            case "content_block_delta":
                yield from _delta(member(node, "delta"), key)
            case "content_block_stop":
                yield CallsEnd(node.range, key)
            case "message_delta":
                yield from cut_off(string(member(node, "delta"), "stop_reason"))
            case "message_stop":
                self._has_ended = True
                yield CallsEnd(node.range)


def _is_message(node: JsonNode) -> bool:
    if text_of(node, "role") not in ("assistant", "user", "system"):
        return False
    content = member(node, "content")
    if content is None or content.kind is JsonKind.STRING:
        return content is not None
    return content.kind is JsonKind.ARRAY and all(map(_is_block, content.items))


def _is_block(node: JsonNode) -> bool:
    match text_of(node, "type"):
        case kind if kind in TEXT_BLOCKS:
            return string(node, kind) is not None
        case "redacted_thinking":
            return string(node, "data") is not None
        case kind if kind in _CALLS:
            return node.member("input") is not None or string(node, "name") is not None
        case "tool_result":
            return node.member(RESULT_ID) is not None
        case "image" | "document" | "search_result" | "container_upload":
            return member(node, "source", "content", "file_id") is not None
        case kind:
            return kind.endswith("_tool_result") and node.member("content") is not None


def _message(node: JsonNode) -> Iterator[ApiPiece]:
    yield TurnBegins(Range(node.range.start, node.range.start))
    by_model = text_of(node, "role") == "assistant"
    yield from (TextPiece(SpanKind.TEXT, content, "text", by_model) for content in filled(node, "content"))
    for block in objects(node, "content"):
        yield from _block(block, by_model=by_model)
    yield from cut_off(string(node, "stop_reason"))


def _block(node: JsonNode, key: str | None = None, *, by_model: bool = True) -> Iterator[ApiPiece]:
    """The pieces of a content block; `key` is that of its call if fragments of it may come."""
    kind = text_of(node, "type")
    if kind in _CALLS:
        arguments = member(node, "input")
        if key is not None and arguments is not None and not arguments.members:
            arguments = None  # a stream begins each call with an empty object, and sends the arguments after it
        yield ApiCallPiece(node.range, key, string(node, "name"), string(node, "id"), arguments, requires_id=True)
    elif kind == "tool_result" or kind.endswith("_tool_result"):
        content = member(node, "content")
        result_range = content.range if content is not None else node.range
        yield ResultPiece(result_range, content, string(node, RESULT_ID), None, truth(node, "is_error"))
    elif kind in TEXT_BLOCKS:
        yield from _words(node, kind, by_model=by_model)


def _words(node: JsonNode, kind: str, *, by_model: bool = True) -> Iterator[TextPiece]:
    span_kind = SpanKind.REASONING if TEXT_BLOCKS[kind] == "reasoning" else SpanKind.TEXT
    yield from (TextPiece(span_kind, words, kind, by_model) for words in filled(node, kind))


def _delta(delta: JsonNode | None, key: str) -> Iterator[ApiPiece]:
    kind = text_of(delta, "type")
    if delta is not None and kind == "input_json_delta":
        for fragment in filled(delta, "partial_json"):
            yield ApiCallPiece(delta.range, key, arguments=fragment)
    elif delta is not None and kind in _TEXT_DELTAS:
        yield from _words(delta, _TEXT_DELTAS[kind])
