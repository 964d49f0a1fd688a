"""One answer of an endpoint: its bytes as they came, read as JSON objects, as a turn, and as a client would hold it."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from weaklink.inspector.apis.providers import decoder_for
from weaklink.inspector.json_text import list_of, object_of, objects_of, word_of
from weaklink.inspector.model import Json, Turn
from weaklink.inspector.text import decode
from weaklink.inspector.wire.decoder import DONE, decode_answer
from weaklink.inspector.wire.framing import SseDecoder
from weaklink.inspector.wire.provider_json import try_parse_json

CHAT_PATH = "/chat/completions"


class ProbeAnswer:
    """An answer to a request `body`; everything that is read from it is read once, when it is needed.

    `status` is None if the server could not be reached; `failure` is then the reason. `pieces` are the bytes with the
    times of their arrival, on the clock of `began_s`.
    """

    def __init__(
        self,
        body: Mapping[str, Json],
        status: int | None,
        *,
        failure: str = "",
        content_type: str = "",
        pieces: Sequence[tuple[float, bytes]] = (),
        began_s: float = 0.0,
        ended_s: float = 0.0,
    ) -> None:
        self.body, self.status, self.failure, self.content_type = dict(body), status, failure, content_type
        self.pieces, self.began_s, self.ended_s = tuple(pieces), began_s, ended_s

    @property
    def is_answered(self) -> bool:
        """Whether the server answered, completely and without an error."""
        return self.status is not None and self.status < 300 and not self.failure and bool(self.choice)

    @property
    def is_refused(self) -> bool:
        """Whether the server refused the request, as one that it does not support."""
        return self.status is not None and 400 <= self.status < 500 and self.status not in (408, 429)

    @property
    def asked_stream(self) -> bool:
        """Whether a stream was requested."""
        return self.body.get("stream") is True

    @cached_property
    def is_stream(self) -> bool:
        """Whether the body is an event stream, whatever was requested."""
        start = b"".join(raw for _, raw in self.pieces[:4])[:64].lstrip()
        return start.startswith((b"data:", b"event:", b"id:", b":", b"retry:"))

    @cached_property
    def raw(self) -> bytes:
        """The whole body."""
        return b"".join(raw for _, raw in self.pieces)

    @cached_property
    def events(self) -> tuple[str, ...]:
        """The data of the stream's events; for a whole body, the body."""
        if not self.is_stream:
            return (decode(self.raw),)
        decoder = SseDecoder()
        events = [*decoder.feed(self.raw), *decoder.close()]
        return tuple(event.data for event in events if event.data is not None)

    @property
    def has_end_mark(self) -> bool:
        """Whether the stream ends with `[DONE]`."""
        return bool(self.events) and self.events[-1].strip() == DONE

    @cached_property
    def objects(self) -> tuple[dict[str, Json], ...]:
        """The JSON objects of the body, in order."""
        return tuple(value for event in self.events if isinstance(value := try_parse_json(event), dict))

    @cached_property
    def unreadable(self) -> tuple[str, ...]:
        """The events that are no JSON object."""
        return tuple(
            event for event in self.events if event.strip() != DONE and not isinstance(try_parse_json(event), dict)
        )

    @cached_property
    def turn(self) -> Turn:
        """The assistant's turn, read tolerantly."""
        decoder = decoder_for(CHAT_PATH, self.body, self.content_type, status=self.status)
        return decode_answer(decoder, self.pieces, started_s=self.began_s).turn

    @cached_property
    def response(self) -> dict[str, Json]:
        """The answer as a chat completion; a stream is put together by index, as the clients of the API do."""
        if not self.is_stream:
            return self.objects[0] if self.objects else {}
        return joined_stream(self.objects)

    @property
    def choice(self) -> dict[str, Json]:
        """The first choice of the response."""
        return next(iter(objects_of(self.response.get("choices"))), {})

    @property
    def message(self) -> dict[str, Json]:
        """The message of the first choice."""
        return object_of(self.choice.get("message"))

    @property
    def finish_reason(self) -> str:
        """The finish reason as the server sent it, `""` if there is none."""
        return word_of(self.choice.get("finish_reason"))

    @property
    def first_token_s(self) -> float | None:
        """Seconds until the first text of a stream; None for a whole body."""
        if not self.is_stream:
            return None
        times = [
            part.chunks.offsets_s[0]
            for part in self.turn.parts
            if part.chunks is not None and part.chunks.offsets_s and not part.name.startswith("wire:")
        ]
        return min((time for time in times if time is not None), default=None)

    @property
    def output_tokens(self) -> int | None:
        """The tokens of the answer, as the server counts them."""
        generation = self.turn.generation
        return generation.usage.output_tokens if generation is not None else None

    @property
    def token_text(self) -> str | None:
        """The text of the tokens that came with log probabilities, None if none came.

        Bytes count before texts: a token may be half a character.
        """
        tokens = [
            token
            for value in self.objects
            for choice in objects_of(value.get("choices"))
            for token in objects_of(object_of(choice.get("logprobs")).get("content"))
        ]
        return _joined_tokens(tokens) if tokens else None

    @property
    def verbose_text(self) -> str | None:
        """The model's text in the member `__verbose` that llama.cpp's server adds when started with `--verbose`."""
        texts = [word_of(object_of(value.get("__verbose")).get("content")) for value in self.objects]
        return next((text for text in texts if text), None)


def _joined_tokens(tokens: Sequence[Mapping[str, Json]]) -> str:
    raw = bytearray()
    for token in tokens:
        values = token.get("bytes")
        if isinstance(values, list) and values and all(isinstance(value, int) and 0 <= value < 256 for value in values):
            raw += bytes(value for value in values if isinstance(value, int))
        else:
            raw += word_of(token.get("token")).encode("utf-8", "surrogatepass")
    return raw.decode("utf-8", "replace")


def joined_stream(chunks: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """One chat completion of the chunks: deltas of the first choice, calls by index (a missing index is 0)."""
    content, reasoning, role, finish = "", "", "", ""
    calls: dict[int, dict[str, str]] = {}
    usage: Json = None
    for chunk in chunks:
        usage = chunk.get("usage") or usage
        for choice in objects_of(chunk.get("choices"))[:1]:
            delta = object_of(choice.get("delta"))
            role = role or word_of(delta.get("role"))
            content += word_of(delta.get("content"))
            reasoning += word_of(delta.get("reasoning_content")) or word_of(delta.get("reasoning"))
            finish = word_of(choice.get("finish_reason")) or finish
            for piece in objects_of(delta.get("tool_calls")):
                _add_piece(calls, piece)
    message: dict[str, Json] = {"role": role or "assistant", "content": content}
    if reasoning:
        message["reasoning_content"] = reasoning
    message["tool_calls"] = [_call(call) for _, call in sorted(calls.items())] or None
    has_choice = any(list_of(chunk.get("choices")) for chunk in chunks)
    choice_: dict[str, Json] = {"index": 0, "message": message, "finish_reason": finish or None}
    first = chunks[0] if chunks else {}
    return {
        "id": first.get("id"),
        "object": "chat.completion",
        "created": first.get("created"),
        "model": first.get("model"),
        "choices": [choice_] if has_choice else [],
        "usage": usage,
    }


def _add_piece(calls: dict[int, dict[str, str]], piece: Mapping[str, Json]) -> None:
    index, function = piece.get("index"), object_of(piece.get("function"))
    number = index if isinstance(index, int) else 0
    call = calls.setdefault(number, {"id": "", "type": "", "name": "", "arguments": ""})
    call["id"] = call["id"] or word_of(piece.get("id"))
    call["type"] = call["type"] or word_of(piece.get("type"))
    call["name"] = call["name"] or word_of(function.get("name"))
    call["arguments"] += word_of(function.get("arguments"))


def _call(call: Mapping[str, str]) -> Json:
    function: Json = {"name": call["name"], "arguments": call["arguments"]}
    return {"id": call["id"] or None, "type": call["type"] or None, "function": function}
