"""OpenRouter's records of generations: the facts that its API returns for an id, and the texts, if it stored them.

`GET /api/v1/generation` returns facts without texts; `GET /api/v1/generation/content` the prompt and the completion. A
record may contain both.
"""

from msgspec.structs import replace

from weaklink.inspector import model
from weaklink.inspector.apis.openai.messages import CALLS
from weaklink.inspector.importers.gateways.logged_requests import (
    GatewayImporter,
    LoggedRequest,
    answer_of,
    body_of,
    number_of,
    parsed_object,
)
from weaklink.inspector.importers.generations import stored_generation, usage_of
from weaklink.inspector.importers.identity import instant, seconds_of, text_of
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.sessions.exchange import Exchange, ExchangeEnd, RequestHead

NO_CHUNKS = "the source stores answers as text: no chunks, tools or calls"
_FACTS = frozenset({"native_tokens_prompt", "native_tokens_completion", "native_finish_reason", "generation_time"})
ONLY_FACTS = "the source stores only metadata of generations: no prompts, answers or tools"
_LEFT = "The client disconnected before the answer ended."
_FAILED = "OpenRouter reports that the generation ended with an error, without details."
_IDS = ("id", "session_id", "upstream_id")


def _has_facts(value: JsonObject) -> bool:
    return "id" in value and "model" in value and len(_FACTS & value.keys()) >= 2


def _has_content(value: JsonObject) -> bool:
    request, answer = value.get("input"), value.get("output")
    if not isinstance(request, dict) or not isinstance(answer, dict):
        return False
    return not request.keys().isdisjoint(("messages", "prompt")) and "completion" in answer


def _confidence(value: JsonObject) -> float:
    if _has_facts(value):
        return 0.95
    return 0.9 if value.keys() == {"input", "output"} and _has_content(value) else 0.0


def _read(value: JsonObject, record: str) -> LoggedRequest | model.Trace | Skipped:
    if _has_content(value):
        return LoggedRequest(_exchange(value, record), warnings=(NO_CHUNKS,))
    if _has_facts(value):
        return known_by_facts(value, record)
    return Skipped(record, "this is neither the metadata nor the content of a generation")


OPENROUTER = GatewayImporter(
    name="openrouter",
    signs="OpenRouter's metadata of a generation (`native_tokens_prompt`, ...), or its input and completion",
    confidence=_confidence,
    new_reader=lambda: _read,
    may_be_table=False,
)
"""One trace for each generation with facts only, then the sessions of those whose texts were stored."""


def _exchange(value: JsonObject, record: str) -> Exchange:
    request, output = parsed_object(value.get("input")), parsed_object(value.get("output"))
    ended, is_chat = ended_s(value), "messages" in request
    has_words = output.get("completion") or output.get("reasoning") or output.get(CALLS)
    answer = answer_of(_answer(value, output, is_chat=is_chat) if has_words else None, ended)
    facts: JsonObject = {key: value[key] for key in ("model", "session_id", "user") if value.get(key)}
    sent: JsonObject = {key: request[key] for key in ("messages", "prompt", "tools") if key in request}
    target = "/api/v1/chat/completions" if is_chat else "/api/v1/completions"
    return Exchange(
        RequestHead("POST", target, upstream="https://openrouter.ai", at_s=seconds_of(value.get("created_at"))),
        body_of({**facts, **sent}),
        200,
        answer.headers,
        answer.pieces,
        ExchangeEnd.CLIENT_LEFT if value.get("cancelled") is True else ExchangeEnd.COMPLETE,
        ended,
        record=record,
    )


def _answer(value: JsonObject, output: JsonObject, *, is_chat: bool) -> JsonObject:
    """The completion in the shape of the API's answer."""
    completion = output.get("completion")
    message: JsonObject = {
        "role": "assistant",
        "content": completion,
        **{key: output.get(key) for key in ("reasoning", CALLS)},
    }
    choice: JsonObject = {"message": message} if is_chat else {"text": completion or ""}
    usage: dict[str, model.Json] = {
        "prompt_tokens": value.get("tokens_prompt"),
        "completion_tokens": value.get("tokens_completion"),
    }
    return {
        "id": value.get("id"),
        "object": "chat.completion" if is_chat else "text_completion",
        "model": value.get("model"),
        "choices": [{"index": 0, **choice, "finish_reason": value.get("finish_reason")}],
        "usage": usage if "tokens_prompt" in value else None,
    }


def known_by_facts(value: JsonObject, record: str) -> model.Trace:
    """A trace of one answer whose text was not stored; its ids are those of the generation."""
    turn = model.Turn(model.Role.ASSISTANT, (model.Part("text", ""),), generation=_generation(value))
    return model.Trace(
        turns=(turn,),
        model=text_of(value, "model"),
        started=instant(value.get("created_at")),
        external_ids=tuple(model.ExternalId(key, text_of(value, key)) for key in _IDS if text_of(value, key)),
        recognised_by=model.RecognisedBy.RECORD,
        provenance=model.Provenance(record=record, warnings=(ONLY_FACTS,)),
    )


def ended_s(value: JsonObject) -> float | None:
    """When a generation ended, from its start and the longest of its delays; None if they are not recorded."""
    started = seconds_of(value.get("created_at"))
    waits = [wait for key in ("latency", "generation_time") if (wait := number_of(value.get(key))) is not None]
    return started + max(waits) / 1000 if started is not None and waits else None


def _generation(value: JsonObject) -> model.Generation:
    ended = ended_s(value)
    stored = stored_generation(
        requested_model=text_of(value, "model"),
        answered_model=text_of(value, "model"),
        started=value.get("created_at"),
        ended=None if ended is None else model.Instant(ended, model.InstantSource.DERIVED),
        usage=usage_of(
            value,
            *("native_tokens_prompt tokens_prompt", "native_tokens_completion tokens_completion"),
            reasoning="native_tokens_reasoning",
            cached="native_tokens_cached",
        ),
        finish=text_of(value, "finish_reason", "native_finish_reason"),
    )
    error = None
    if value.get("cancelled") is True:
        error = model.GenerationError(model.ErrorPhase.CLIENT_ABORT, _LEFT)
    elif stored.finish is model.FinishReason.ERROR:
        error = model.GenerationError(model.ErrorPhase.IN_STREAM, _FAILED)
    return replace(stored, body=model.BodyState.NOT_STORED, error=error)
