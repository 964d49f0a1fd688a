"""Writes completions of the APIs: the JSON object of the assistant's message.

Sources: OpenAI's chat completions reference (`tool_calls`; `reasoning_content` as DeepSeek and vLLM have it),
Anthropic's Messages reference (content blocks `thinking`, `text`, `tool_use`), Google's generateContent
reference (`parts`).
"""

from collections.abc import Iterator, Sequence

from inspector.formats.completion.pieces import Calls, Completion, Piece, Reasoning, Words, calls_of
from inspector.formats.format import Format
from inspector.formats.writing import json_of
from inspector.model import Json, ToolCall


def openai_message(pieces: Sequence[Piece]) -> dict[str, Json]:
    """The message of chat completions; calls without an id get one from their place."""
    message: dict[str, Json] = {"role": "assistant", "content": _joined(pieces, Words) or None}
    if reasoning := _joined(pieces, Reasoning):
        message["reasoning_content"] = reasoning
    if calls := calls_of(pieces):
        message["tool_calls"] = [_openai_call(call, at) for at, call in enumerate(calls)]
    return message


def claude_message(pieces: Sequence[Piece]) -> dict[str, Json]:
    """The message of Anthropic's API; calls without an id get one from their place."""
    return {"role": "assistant", "content": list(_claude_blocks(pieces))}


def gemini_message(pieces: Sequence[Piece]) -> dict[str, Json]:
    """The content of Google's API; it has no ids of its own."""
    return {"role": "model", "parts": list(_gemini_parts(pieces))}


def write_openai(pieces: Sequence[Piece], format: Format) -> Completion:
    """See Completion. A message has one text: words behind the calls are joined to those before them."""
    return Completion(json_of(openai_message(pieces)), dropped=tuple(_order_lost(pieces, format.name)))


def write_claude(pieces: Sequence[Piece], _format: Format) -> Completion:
    """See Completion."""
    return Completion(json_of(claude_message(pieces)))


def write_gemini(pieces: Sequence[Piece], _format: Format) -> Completion:
    """See Completion."""
    return Completion(json_of(gemini_message(pieces)))


def _openai_call(call: ToolCall, at: int) -> Json:
    function: Json = {"name": call.name, "arguments": json_of(call.arguments)}
    return {"id": call.id or f"call_{at}", "type": "function", "function": function}


def _claude_blocks(pieces: Sequence[Piece]) -> Iterator[Json]:
    calls = 0
    for piece in pieces:
        match piece:
            case Words():
                yield {"type": "text", "text": piece.text}
            case Reasoning():
                yield {"type": "thinking", "thinking": piece.text, "signature": ""}
            case Calls():
                for call in piece.calls:
                    block_id = call.id or f"toolu_{calls}"
                    yield {"type": "tool_use", "id": block_id, "name": call.name, "input": call.arguments}
                    calls += 1


def _gemini_parts(pieces: Sequence[Piece]) -> Iterator[Json]:
    for piece in pieces:
        match piece:
            case Words():
                yield {"text": piece.text}
            case Reasoning():
                yield {"text": piece.text, "thought": True}
            case Calls():
                for call in piece.calls:
                    named: dict[str, Json] = {"id": call.id} if call.id else {}
                    yield {"functionCall": {**named, "name": call.name, "args": call.arguments}}


def _joined(pieces: Sequence[Piece], kind: type[Words] | type[Reasoning]) -> str:
    return "\n\n".join(piece.text for piece in pieces if isinstance(piece, kind))


def _order_lost(pieces: Sequence[Piece], name: str) -> Iterator[str]:
    kinds = [type(piece) for piece in pieces]
    order = [kind for kind in (Reasoning, Words, Calls) if kind in kinds]
    if kinds != order:
        yield f"The order of words, reasoning and calls: a message of `{name}` holds each in a field of its own."
