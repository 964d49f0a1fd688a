"""OpenAI's chat completions: whole ones, and the chunks of a stream.

Which call a chunk's piece belongs to is decided as for a recorded stream (`wire.openai_calls`): by its index, and by id
and name where a server gives every call the same index.
"""

from collections.abc import Iterator

import msgspec

from inspector.diagnostics import Fault
from inspector.formats.api.ends import another_answer, cut_off
from inspector.formats.api.nodes import items, member, number, objects, string, text_of
from inspector.formats.api.openai_messages import call_of, read_message, read_words, whole_call
from inspector.formats.api.pieces import CallPiece, CallsEnd, Oddity, Piece, TextPiece
from inspector.json_scanner import JsonNode
from inspector.model import SpanKind
from inspector.rules.recording import REUSED_CALL_INDEX
from inspector.text import Range
from inspector.wire.openai_calls import LEGACY_INDEX, CallParts
from inspector.wire.openai_shapes import FunctionPiece
from inspector.wire.openai_shapes import ToolCallDelta as WirePiece


class ChunkReader:
    """Reads the `choices` of one answer; choice 0 is the answer, any other is only told of."""

    def __init__(self) -> None:
        self._calls = CallParts()
        self._parts_by_index: dict[int, str] = {}
        self._others_told = False
        self._index_told = False
        self.is_stream = False
        self.has_ended = False
        """Whether a finish reason has come."""

    def read(self, choices: tuple[JsonNode, ...]) -> Iterator[Piece]:
        """What one object's choices say."""
        for choice in choices:
            index = number(choice, "index")
            if index:
                if not self._others_told:
                    yield another_answer(choice, index)
                self._others_told = True
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
                yield from cut_off(finish, ("length",))

    def _pieces(self, delta: JsonNode) -> Iterator[Piece]:
        for call in objects(delta, "tool_calls"):
            if member(call, "custom") is not None:
                piece = msgspec.structs.replace(whole_call(call), key="")
            else:
                piece = call_of(call, member(call, "function") or call, "", wants_id=True)
            yield from self._placed(piece, number(call, "index"))
        legacy = member(delta, "function_call")
        if legacy is not None:
            yield from self._placed(call_of(legacy, legacy, ""), LEGACY_INDEX)

    def _placed(self, piece: CallPiece, index: int | None) -> Iterator[Piece]:
        """The piece with the key of its call."""
        name, id_, arguments = (_said(node) for node in (piece.name, piece.id, piece.arguments))
        function = FunctionPiece(name, arguments)
        wire = WirePiece(index, id_, function=function)
        call = self._calls.place(wire, function)
        call.learn(wire, function)
        before = self._parts_by_index.setdefault(index, call.part) if index is not None else call.part
        if before != call.part and index is not None:
            self._parts_by_index[index] = call.part
            if not self._index_told:
                self._index_told = True
                yield Oddity(_reused(piece.place, index, call.name))
        yield msgspec.structs.replace(piece, key=call.part)


def is_completion(node: JsonNode) -> bool:
    """Whether a value is a chat completion, a chunk of one, or a text completion."""
    kind = text_of(node, "object")
    if kind in ("chat.completion", "chat.completion.chunk", "text_completion"):
        return member(node, "choices") is not None
    return any(member(choice, "delta", "message") is not None for choice in items(node, "choices"))


def _said(node: JsonNode | None) -> str | None:
    return node.scalar if node is not None and isinstance(node.scalar, str) else None


def _reused(place: Range, index: int, name: str) -> Fault:
    return Fault(
        REUSED_CALL_INDEX,
        place,
        f"The call of `{name}` comes under index {index}, which an earlier call of this answer bears.",
        "Clients that go by the index join both calls to one; weaklink went by id and name.",
    )
