"""The two sides of an HTTP exchange: the model request that it makes, and the assistant turn that answers it."""

import re

from msgspec.structs import replace

from inspector.apis.providers import read_request
from inspector.model import BodyState, ErrorPhase, FinishReason, Generation, GenerationError, Instant, Json, Turn, Usage
from inspector.scanning import lazy_pattern
from inspector.sessions.exchange import ExchangeEnd, RequestHead
from inspector.sessions.resolver import Placement
from inspector.wire.events import UNREAD_PART, WIRE_PREFIX, DecodedTurn
from inspector.wire.provider_json import parse_json
from inspector.wire.request import DecodedRequest

_NO_ANSWER = "The body is no answer of a model."
_NOTHING = "The body ended without anything of an answer in it."
_EVENT = lazy_pattern(r"(?:data|event|id|retry)?:")

_ENDS = {
    ExchangeEnd.UPSTREAM_DROPPED: (
        ErrorPhase.TRANSPORT,
        "The server closed the connection before the answer ended.",
    ),
    ExchangeEnd.CLIENT_LEFT: (ErrorPhase.CLIENT_ABORT, "The client left before the answer ended."),
    ExchangeEnd.NOT_CONNECTED: (ErrorPhase.CONNECT, "The server could not be reached."),
    ExchangeEnd.TIMED_OUT: (ErrorPhase.TRANSPORT, "The server was silent for too long."),
}

_WORDS = lazy_pattern(r"[A-Za-z_-]+")

_OTHER_ENDPOINTS = lazy_pattern(
    r"count_?tokens|input_tokens|(?:de)?tokenize|apply[-_]template|(?:batch)?embed(?:dings|content|contents)?|rerank"
    r"|score|classify|pooling|moderations|batches|files|jobs|threads|runs|assistants|show|pull|create|compact",
    re.IGNORECASE,
)
"""The last words of paths that take messages, prompts or inputs and generate nothing (the APIs' own references)."""


def answer_turn(
    request: DecodedRequest,
    decoded: DecodedTurn,
    end: ExchangeEnd,
    *,
    placement: Placement,
    started_s: float | None = None,
    ended_s: float | None = None,
    status: int | None = None,
    message: str = "",
    is_stored: bool = True,
    first_s: float | None = None,
) -> Turn:
    """The turn of an answer with all the facts of its generation, the same whether it is recorded or imported.

    `decoded` is the answer as far as it came, its times relative to `started_s`, when the request was sent. `ended_s`
    is when the exchange ended; both are seconds since 1970-01-01 UTC, None where nobody kept them. `status` is None
    where no answer began. `message` is the error's own words. `is_stored` says whether the answer's body was kept,
    `first_s` when its first words came where its pieces do not tell.
    What the server said of its own failure comes before how the connection ended; an answer that was complete before
    its connection broke has no error. A body of a good status that is no answer at all is the server's failure.
    """
    learned = decoded.turn.generation or Generation()
    if end is ExchangeEnd.COMPLETE and is_stored and status is not None and status < 400:
        why = _why_no_answer(decoded.turn, learned)
        learned = _failed(learned, GenerationError(ErrorPhase.HTTP, why, status)) if why else learned
    generation = replace(
        started_generation(request, placement, started_s=started_s),
        api=learned.api or request.api,
        answered_model=learned.answered_model,
        started=learned.started if started_s is None else Instant(started_s),
        first_token=(None if started_s is None else _first_token(decoded.turn, started_s)) or _at(first_s),
        ended=learned.ended if ended_s is None else Instant(ended_s),
        usage=learned.usage,
        finish_reason=learned.finish_reason,
        finish=learned.finish,
        error=learned.error,
        body=learned.body,
    )
    generation = _ended(generation, end, status, message)
    if not is_stored or end is ExchangeEnd.NOT_STORED:
        generation = replace(generation, body=BodyState.NOT_STORED)
    return replace(decoded.turn, generation=generation)


def started_generation(request: DecodedRequest, placement: Placement, *, started_s: float | None = None) -> Generation:
    """What is known of a generation when its request was sent: model, parameters, tools, the attempt and its start."""
    return replace(
        request.generation(),
        attempt=placement.attempt,
        retry_of=placement.retry_of,
        started=_at(started_s),
        request=placement.request,
    )


def _at(moment_s: float | None) -> Instant | None:
    return None if moment_s is None else Instant(moment_s)


def _first_token(turn: Turn, started_s: float) -> Instant | None:
    """When the first words, thoughts or arguments came, but not what only the wire knows."""
    firsts = [
        next((offset for offset in part.chunks.offsets_s if offset is not None), None)
        for part in turn.parts
        if part.chunks is not None and part.chunks.offsets_s is not None and not part.name.startswith(WIRE_PREFIX)
    ]
    known = [first for first in firsts if first is not None]
    return Instant(started_s + min(known)) if known else None


def _why_no_answer(turn: Turn, learned: Generation) -> str:
    """Why a body that came whole is no answer: all of it is unknown to the decoder, or it says nothing; else `""`."""
    if learned.error is not None or learned.finish_reason is not None or turn.calls:
        return ""
    if any(part.text for part in turn.parts if not part.name.startswith(WIRE_PREFIX)):
        return ""
    unread = turn.part(UNREAD_PART)
    if unread is None or not unread.text:
        says_nothing = learned.body is BodyState.COMPLETE and not learned.answered_model and learned.usage == Usage()
        return _NOTHING if says_nothing else ""
    return _NO_ANSWER if learned.body is BodyState.COMPLETE or not _looks_cut(unread.text) else ""


def _looks_cut(text: str) -> bool:
    """Whether a text is the beginning of an answer: of JSON, or of an event that has no end."""
    start = text.lstrip("\ufeff \t\r\n")
    if _EVENT.match(start):
        return not start.endswith(("\n\n", "\r\n\r\n", "\r\r"))
    return start[:1] in ("{", "[") and any(_is_cut_json(line) for line in (start, *start.splitlines()[-1:]))


def _is_cut_json(text: str) -> bool:
    try:
        parse_json(text)
    except ValueError:
        return True
    return False


def _ended(generation: Generation, end: ExchangeEnd, status: int | None, message: str) -> Generation:
    """The facts with the end of the exchange taken into account."""
    is_http_error = status is not None and status >= 400
    if is_http_error and (generation.error is None or not generation.error.message):
        words = message or f"The server answered with status {status} and said no more."
        code = generation.error.code if generation.error else None
        return _failed(generation, GenerationError(ErrorPhase.HTTP, words, status, code))
    if generation.error is not None or end not in _ENDS:
        return generation
    phase, words = _ENDS[end]
    if status is None:  # no answer began: there was nothing that could be cut off
        return _failed(replace(generation, body=BodyState.COMPLETE), GenerationError(phase, message or words))
    if generation.body is BodyState.COMPLETE and generation.finish is not None:
        return generation
    return _failed(replace(generation, body=BodyState.TRUNCATED), GenerationError(phase, message or words))


def _failed(generation: Generation, error: GenerationError) -> Generation:
    finish = generation.finish if error.phase is ErrorPhase.CLIENT_ABORT else FinishReason.ERROR
    return replace(generation, error=error, finish=finish)


def request_of(head: RequestHead, json: Json) -> DecodedRequest | None:
    """What an exchange asks a model; None where it asks none, as most of what passes a proxy. Never raises.

    Counting tokens, embedding and the like have bodies like a generation's and answers that are none.
    """
    path = head.target.partition("?")[0].partition("#")[0]
    words = _WORDS.findall(path.rsplit("/", 1)[-1] or path)
    return None if words and _OTHER_ENDPOINTS.fullmatch(words[-1]) else read_request(head.target, json)
