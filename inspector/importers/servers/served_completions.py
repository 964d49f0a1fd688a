"""What an inference server logs of its own work, as the exchanges of a raw completion, and their traces.

Servers log the prompt as the model got it, in its chat template, and the text that came out. That is what
`/v1/completions` takes and gives, so it is read as such: which requests are one session is told from their prompts.
"""

import json
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from inspector.importers.source import JsonObject, Skipped
from inspector.memory import RECORD_BYTES
from inspector.model import ExternalId, Instant, Json, Provenance, RecognisedBy, Trace
from inspector.sessions.exchange import Exchange, ExchangeEnd, RequestHead
from inspector.sessions.gathering import SkippedExchange, decode_exchange, traces_of

_TARGET = "/v1/completions"
_NO_PROMPT = "the log has no prompt of this answer: the request is unknown"
_CUT_PROMPT = "the log cut the prompt in its middle: its turns are not whole, and it identifies no session"
_PIECE_BYTES = 200  # what a piece takes in memory beside its text
HELD_BYTES = RECORD_BYTES
"""How much of a log is held at once; a session that goes on beyond is two."""


class OutputPiece(Struct, frozen=True):
    """A text that came out, its time in seconds since 1970-01-01 UTC and its token ids where they are known."""

    text: str
    at_s: float | None = None
    token_ids: tuple[int, ...] = ()


class ServedCompletion(Struct):
    """One request to a server, as far as its log tells; `pieces` are None where the log kept no output.

    `streamed` says that the pieces are arrivals, `is_cut` that the log left out a part of the prompt. `settings` go
    into the request beside the prompt.
    """

    id: str
    record: str
    prompt: str | None = None
    settings: JsonObject = field(default_factory=dict)
    model: str = ""
    received_s: float | None = None
    ended_s: float | None = None
    pieces: list[OutputPiece] | None = None
    streamed: bool = False
    finish: str = ""
    usage: JsonObject = field(default_factory=dict)
    is_over: bool = False
    is_cut: bool = False

    def add(self, piece: OutputPiece) -> None:
        """Note a piece that came out."""
        if self.pieces is None:
            self.pieces = []
        self.pieces.append(piece)

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        pieces = self.pieces or ()
        return len(self.prompt or "") + sum(len(piece.text) + _PIECE_BYTES for piece in pieces) + _PIECE_BYTES


def traces_served(
    completions: Iterable[ServedCompletion | Skipped], warnings: tuple[str, ...], *, held_bytes: int = HELD_BYTES
) -> Iterator[Trace | Skipped]:
    """The sessions that a server's requests make up, with `warnings`, and a trace for each answer without a prompt.

    What was skipped comes at once; traces come when `held_bytes` are held, and at the end.
    """
    held: list[ServedCompletion] = []
    size = 0
    for one in completions:
        if isinstance(one, Skipped):
            yield one
            continue
        held.append(one)
        size += one.size
        if size > held_bytes:
            yield from _gathered(held, warnings)
            held, size = [], 0
    yield from _gathered(held, warnings)


def _gathered(held: list[ServedCompletion], warnings: tuple[str, ...]) -> Iterator[Trace | Skipped]:
    ids = {one.record: ExternalId("request_id", one.id) for one in held}
    whole = [one for one in held if one.prompt is not None and not one.is_cut]
    for found in traces_of(_exchange(one) for one in whole):
        yield _told(found, ids, warnings)
    for one in held:
        if one.prompt is not None and one.is_cut:
            yield from (_told(found, ids, (_CUT_PROMPT, *warnings)) for found in traces_of([_exchange(one)]))
        elif one.prompt is None and one.pieces is not None:
            yield _told(_answer_alone(one), ids, (_NO_PROMPT, *warnings))
        elif one.prompt is None:
            yield Skipped(one.record, "the log has neither the prompt nor the output of this request")


def _told(found: Trace | SkippedExchange, ids: dict[str, ExternalId], warnings: tuple[str, ...]) -> Trace | Skipped:
    """A trace with the id that the server gave to its first request: two logs may begin with the same words."""
    if isinstance(found, SkippedExchange):
        return Skipped(found.record, found.reason, is_irrelevant=found.is_irrelevant)
    known = found.provenance
    return replace(
        found,
        external_ids=(*found.external_ids, ids[known.record]),
        provenance=replace(known, warnings=(*known.warnings, *warnings)),
    )


def _answer_alone(one: ServedCompletion) -> Trace:
    decoded, _ = decode_exchange(_exchange(one), None)
    return Trace(
        turns=(decoded.turn,),
        model=one.model,
        started=None if one.received_s is None else Instant(one.received_s),
        external_ids=(ExternalId("record", one.record),),
        recognised_by=RecognisedBy.RECORD,
        provenance=Provenance(record=one.record),
    )


def _exchange(one: ServedCompletion) -> Exchange:
    request: JsonObject = {**one.settings, "prompt": one.prompt or "", "stream": one.streamed}
    if one.model:
        request["model"] = one.model
    answer = None if one.pieces is None else tuple(_events(one) if one.streamed else [(one.ended_s, _body(one))])
    kind = "text/event-stream" if one.streamed else "application/json"
    return Exchange(
        RequestHead("POST", _TARGET, at_s=one.received_s),
        _json(request),
        None if answer is None else 200,
        (("content-type", kind),),
        answer,
        ExchangeEnd.NOT_STORED if answer is None else ExchangeEnd.COMPLETE,
        ended_s=one.ended_s,
        record=one.record,
    )


def _events(one: ServedCompletion) -> Iterator[tuple[float | None, bytes]]:
    for piece in one.pieces or ():
        yield piece.at_s, _event(one, {"text": piece.text, "token_ids": list(piece.token_ids) or None})
    last = {**_chunk(one, {"text": "", "finish_reason": one.finish or None}), "usage": one.usage or None}
    yield one.ended_s, b"data: " + _json(last) + b"\n\ndata: [DONE]\n\n"


def _event(one: ServedCompletion, choice: JsonObject) -> bytes:
    return b"data: " + _json(_chunk(one, choice)) + b"\n\n"


def _body(one: ServedCompletion) -> bytes:
    choices: list[Json] = [
        {
            "index": at,
            "text": piece.text,
            "finish_reason": one.finish or None,
            "token_ids": list(piece.token_ids) or None,
        }
        for at, piece in enumerate(one.pieces or ())
    ]
    return _json({**_chunk(one, {}), "choices": choices, "usage": one.usage or None})


def _chunk(one: ServedCompletion, choice: JsonObject) -> JsonObject:
    return {"id": one.id, "object": "text_completion", "model": one.model, "choices": [{"index": 0, **choice}]}


def _json(value: JsonObject) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError, ValueError):  # lone surrogates, large numbers
        return json.dumps(value).encode("ascii")
