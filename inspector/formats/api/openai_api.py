"""OpenAI's APIs: which of their shapes a JSON value has, and how calls are written as a message."""

from collections.abc import Sequence

from inspector.formats.api.ends import error_inside
from inspector.formats.api.nodes import items, member, text_of
from inspector.formats.api.openai_chunks import ChunkReader, is_completion
from inspector.formats.api.openai_messages import is_call, is_message, read_message, whole_call
from inspector.formats.api.pieces import CallsEnd, Piece
from inspector.formats.api.responses import (
    EventReader,
    failure,
    how_it_ended,
    is_event,
    is_item,
    is_response,
    read_item,
)
from inspector.formats.writing import json_of
from inspector.json_scanner import JsonKind, JsonNode
from inspector.model import ToolCall
from inspector.text import Range


class OpenAiShapes:
    """The ShapeReader of chat completions and the Responses API: whole, and as streams."""

    strings = True

    def __init__(self) -> None:
        self._chunks = ChunkReader()
        self._events = EventReader()
        self._done = False

    @property
    def awaits_end(self) -> bool:
        """See ShapeReader."""
        chunks = self._chunks.is_stream and not self._chunks.has_ended
        return not self._done and (chunks or (self._events.begun and not self._events.has_ended))

    def read(self, value: JsonNode, text: str) -> list[Piece] | None:
        """See ShapeReader."""
        if value.kind is JsonKind.ARRAY:
            read = [self._one(item) for item in value.items]
            return [piece for one in read for piece in one or ()] if read and all(r is not None for r in read) else None
        return self._one(value)

    def end(self, place: Range) -> list[Piece]:
        """See ShapeReader."""
        self._done = True
        return [CallsEnd(place)]

    def _one(self, node: JsonNode) -> list[Piece] | None:
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
            return [whole_call(node)]
        messages = items(node, "messages")
        if messages and all(map(is_message, messages)):
            return [piece for message in messages for piece in read_message(message)]
        return self._in_stream(node)

    def _in_stream(self, node: JsonNode) -> list[Piece] | None:
        """What comes between the events of a stream only."""
        if not self._chunks.is_stream and not self._events.begun:
            return None
        if text_of(node, "type") == "error":
            self._done = True
            return list(failure(node))
        if member(node, "error") is not None:
            self._done = True
            return list(error_inside(node))
        return [] if node.member("usage") is not None or node.member("choices") is not None else None


def write_message(calls: Sequence[ToolCall]) -> str:
    """The assistant's message that holds the calls; a call without an id gets one from its place."""
    written = ", ".join(_written(call, at) for at, call in enumerate(calls))
    return f'{{"role": "assistant", "content": null, "tool_calls": [{written}]}}'


def _written(call: ToolCall, at: int) -> str:
    arguments = json_of(json_of(call.arguments))
    function = f'{{"name": {json_of(call.name)}, "arguments": {arguments}}}'
    return f'{{"id": {json_of(call.id or f"call_{at}")}, "type": "function", "function": {function}}}'
