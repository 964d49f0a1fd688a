"""OpenAI's Responses API: items, whole responses, and the events of a stream.

Source: OpenAI's API reference (Responses: object, streaming events); langchain-openai:tests/unit_tests/chat_models/
test_base.py. Events repeat at their end what deltas brought before; what was read once is structure the second time.
"""

from collections.abc import Iterator

import msgspec

from inspector.diagnostics import Fault
from inspector.formats.api.ends import cut_off, error_inside
from inspector.formats.api.nodes import is_filled, items, member, number, objects, string, text_of
from inspector.formats.api.openai_messages import call_of, is_message, read_message
from inspector.formats.api.pieces import CallPiece, CallsEnd, Oddity, Piece, ResultPiece, TextPiece, TurnBegins
from inspector.json_scanner import JsonNode
from inspector.model import SpanKind
from inspector.rules.recording import ERROR_INSIDE_200

_CALLS = frozenset({"function_call", "custom_tool_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_WORD_DELTAS = {
    "response.output_text.delta": (SpanKind.TEXT, ""),
    "response.refusal.delta": (SpanKind.TEXT, "refusal"),
    "response.reasoning_text.delta": (SpanKind.REASONING, ""),
    "response.reasoning_summary_text.delta": (SpanKind.REASONING, ""),
}
_CALL_DELTAS = frozenset({"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"})
_CALL_DONE = frozenset({"response.function_call_arguments.done", "response.custom_tool_call_input.done"})
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


def is_item(node: JsonNode) -> bool:
    """Whether a value is an item of a response's output, or of the next request's input."""
    match text_of(node, "type"):
        case "function_call" | "custom_tool_call":
            return string(node, "name") is not None
        case "function_call_output" | "custom_tool_call_output":
            return string(node, "call_id") is not None
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


def read_item(node: JsonNode, key: str | None = None) -> Iterator[Piece]:
    """What an item says; `key` is that of its call where pieces of it came or may come."""
    kind = text_of(node, "type")
    if kind in _CALLS:
        yield _call(node, kind, key)
    elif kind in _OUTPUTS:
        output = member(node, "output")
        place = output.range if output is not None else node.range
        yield ResultPiece(place, output, string(node, "call_id"))
    elif kind == "reasoning":
        for block in (*objects(node, "summary"), *objects(node, "content")):
            said = string(block, "text")
            if said is not None and is_filled(said):
                yield TextPiece(SpanKind.REASONING, said)
    elif kind == "message":
        by_model = text_of(node, "role") == "assistant"
        for piece in read_message(node):
            if isinstance(piece, TextPiece):
                yield TextPiece(piece.kind, piece.node, piece.label, by_model)
            elif not by_model or not isinstance(piece, TurnBegins):
                yield piece


class EventReader:
    """Reads the events of one response."""

    def __init__(self) -> None:
        self._heard: set[str] = set()
        self._is_silent = True
        self.begun = False
        self.has_ended = False

    def read(self, node: JsonNode) -> Iterator[Piece]:
        """What one event says."""
        self.begun = True
        kind = text_of(node, "type")
        key = text_of(node, "item_id") or f"output {number(node, 'output_index')}"
        if kind in _WORD_DELTAS:
            said = string(node, "delta")
            if said is not None and is_filled(said):
                self._hear(key)
                spoken, label = _WORD_DELTAS[kind]
                yield TextPiece(spoken, said, label)
        elif kind in _CALL_DELTAS or (kind in _CALL_DONE and f"{key} arguments" not in self._heard):
            said = string(node, "delta", "arguments", "input")
            if said is not None:
                self._hear(key)
                self._heard.add(f"{key} arguments")
                yield CallPiece(said.range, key, arguments=said, is_text="custom" in kind)
        elif kind in ("response.output_item.added", "response.output_item.done"):
            yield from self._item(node, is_done=kind.endswith("done"))
        elif kind in _ENDS:
            yield from self._end(node, member(node, "response"))

    def _item(self, node: JsonNode, *, is_done: bool) -> Iterator[Piece]:
        item = member(node, "item")
        if item is None:
            return
        key = text_of(item, "id") or f"output {number(node, 'output_index')}"
        if text_of(item, "type") in _CALLS and key not in self._heard:
            self._hear(key)
            yield from (_streamed(piece, self._heard) for piece in read_item(item, key) if isinstance(piece, CallPiece))
        elif is_done and key not in self._heard:
            self._hear(key)
            yield from read_item(item)
        elif is_done and f"{key} arguments" not in self._heard:
            late = string(item, "arguments", "input")
            if late is not None and is_filled(late):
                yield CallPiece(late.range, key, arguments=late)
        if is_done:
            yield CallsEnd(item.range, key)

    def _end(self, node: JsonNode, response: JsonNode | None) -> Iterator[Piece]:
        self.has_ended = True
        if response is None:
            return
        if self._is_silent:
            yield from (piece for item in objects(response, "output") for piece in read_item(item))
        yield CallsEnd(node.range)
        yield from how_it_ended(response)

    def _hear(self, key: str) -> None:
        self._heard.add(key)
        self._is_silent = False


def how_it_ended(response: JsonNode) -> Iterator[Oddity]:
    """Whether a response was stopped at its limit, or failed."""
    yield from cut_off(string(member(response, "incomplete_details"), "reason"), ("max_output_tokens", "max_tokens"))
    yield from error_inside(response)


def failure(node: JsonNode) -> Iterator[Oddity]:
    """The event `error` of a stream."""
    message = text_of(node, "message")
    words = f": {message[:200].rstrip('.')}" if message else ""
    yield Oddity(Fault(ERROR_INSIDE_200, node.range, f"The server sent an error inside the stream{words}."))


def _call(node: JsonNode, kind: str, key: str | None) -> CallPiece:
    if kind == "function_call":
        whole = call_of(node, node, key, wants_id=True)
        return msgspec.structs.replace(whole, id=string(node, "call_id", "id"))
    name, id_, words = (string(node, member_) for member_ in ("name", "call_id", "input"))
    return CallPiece(node.range, key, name, id_, words, is_text=True, wants_id=True)


def _streamed(piece: CallPiece, heard: set[str]) -> CallPiece:
    """An item's call as the first piece of a streamed one; an empty string is only a place holder."""
    if piece.arguments is not None and piece.arguments.scalar == "":
        return msgspec.structs.replace(piece, arguments=None)
    if piece.arguments is not None:
        heard.add(f"{piece.key} arguments")
    return piece
