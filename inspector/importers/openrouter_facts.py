"""A generation that OpenRouter tells the facts of, and not a word."""

from dataclasses import replace

from inspector.importers.gateway_values import number_of
from inspector.importers.identity import instant, text_of
from inspector.importers.source import JsonObject
from inspector.model import (
    BodyState,
    ErrorPhase,
    ExternalId,
    FinishReason,
    Generation,
    GenerationError,
    Instant,
    InstantSource,
    Json,
    Part,
    Provenance,
    RecognisedBy,
    Role,
    Trace,
    Turn,
    Usage,
)
from inspector.wire.finish_reasons import finish_meaning

ONLY_FACTS = "the source keeps facts of generations only: no prompts, no answers, no tools"

_IDS = ("id", "session_id", "upstream_id")


def known_by_facts(value: JsonObject, record: str) -> Trace:
    """A trace of one answer whose words were not stored; its ids are those of the generation."""
    turn = Turn(Role.ASSISTANT, (Part("text", ""),), generation=_generation(value))
    return Trace(
        turns=(turn,),
        model=text_of(value, "model"),
        started=instant(value.get("created_at")),
        external_ids=tuple(ExternalId(key, text_of(value, key)) for key in _IDS if text_of(value, key)),
        recognised_by=RecognisedBy.RECORD,
        provenance=Provenance(record=record, warnings=(ONLY_FACTS,)),
    )


def ended_s(value: JsonObject) -> float | None:
    """When a generation ended, from its beginning and the longest of its waits; None where they are not told."""
    began = instant(value.get("created_at"))
    waits = [wait for key in ("latency", "generation_time") if (wait := number_of(value.get(key))) is not None]
    return began.at_s + max(waits) / 1000 if began is not None and waits else None


def _generation(value: JsonObject) -> Generation:
    ended, reason = ended_s(value), text_of(value, "finish_reason", "native_finish_reason") or None
    made = Generation(
        requested_model=text_of(value, "model"),
        answered_model=text_of(value, "model"),
        started=instant(value.get("created_at")),
        ended=None if ended is None else Instant(ended, InstantSource.DERIVED),
        usage=Usage(
            _count(value.get("native_tokens_prompt"), value.get("tokens_prompt")),
            _count(value.get("native_tokens_completion"), value.get("tokens_completion")),
            _count(value.get("native_tokens_reasoning")),
            _count(value.get("native_tokens_cached")),
        ),
        finish_reason=reason,
        finish=finish_meaning(reason) if reason else None,
        body=BodyState.NOT_STORED,
    )
    if value.get("cancelled") is True:
        words = "The client left before the answer ended."
        return replace(made, error=GenerationError(ErrorPhase.CLIENT_ABORT, words))
    if made.finish is FinishReason.ERROR:
        words = "OpenRouter tells that the generation ended with an error, and no more."
        return replace(made, error=GenerationError(ErrorPhase.IN_STREAM, words))
    return made


def _count(*counts: Json) -> int | None:
    return next((count for count in counts if isinstance(count, int) and not isinstance(count, bool)), None)
