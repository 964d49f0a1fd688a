"""Decoded answers in plain values, as the golden files of transcripts hold them."""

from typing import Any

import msgspec
from msgspec import structs

from weaklink.inspector.apis.openai.chat import ChatReader
from weaklink.inspector.wire.decoder import Framing, decode_answer, new_decoder
from weaklink.inspector.wire.events import DecodedTurn


def plain(decoded: DecodedTurn) -> dict[str, Any]:
    """Parts with the texts of their chunks, calls, faults and facts; what is empty is left out of the facts."""
    turn, generation = decoded.turn, decoded.turn.generation
    assert generation is not None
    fields = {name: msgspec.to_builtins(value) for name, value in structs.asdict(generation).items()}
    facts = {name: value for name, value in fields.items() if value not in (None, "", [], 1)}
    facts["usage"] = {key: value for key, value in facts["usage"].items() if value}
    return {
        "parts": {part.name: [arrival.text for arrival in part.arrivals()] or part.text for part in turn.parts},
        "calls": [[call.part, call.name, call.id] for call in turn.calls],
        "faults": [
            [part, fault.rule.code, [fault.range.start, fault.range.end], fault.message]
            for part, fault in decoded.faults
        ],
        "response_id": decoded.response_id,
        "generation": facts,
    }


def chat_stream(raw: bytes, *, status: int | None = None) -> DecodedTurn:
    """A streamed chat completion, decoded."""
    return decode_answer(new_decoder(Framing.EVENTS, ChatReader, status=status), [(None, raw)])


def chat_body(raw: bytes, *, status: int | None = None) -> DecodedTurn:
    """A chat completion whose body came whole, decoded."""
    return decode_answer(new_decoder(Framing.WHOLE, ChatReader, status=status), [(None, raw)])
