"""Results of K2-Vendor-Verifier, of its relatives, and of `weaklink probe`: a request and its response per line.

A line is `{"data_index", "request", "response", "status", "finish_reason", "tool_calls_valid", "last_run_at",
"duration_ms", "hash"}` (MoonshotAI/K2-Vendor-Verifier, tool_calls_eval.py at 7e5a06e0). The verifier puts streams
together before it writes them, so no chunks are known.
"""

import json
from datetime import datetime
from functools import partial

from msgspec import structs

from weaklink.inspector import model
from weaklink.inspector.apis.openai.messages import read_chat_request
from weaklink.inspector.apis.providers import decoder_for
from weaklink.inspector.importers.log_source import LogSource, trace_of_each_row
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.json_text import object_of, word_of
from weaklink.inspector.wire.decoder import decode_answer

_PATH = "/chat/completions"
_FIELDS = frozenset({"data_index", "request", "response", "status", "hash"})
_NO_CHUNKS = "the source stores whole answers, also of streams: no chunks and no times of them"


def _is_result(row: JsonObject) -> bool:
    return row.keys() >= _FIELDS and isinstance(row["request"], dict)


def _trace(row: Row) -> model.Trace | Skipped:
    value = row.value
    if not _is_result(value):
        return Skipped(row.record, "the row is not a result: it lacks `data_index`, `request`, `response` or `status`")
    request = read_chat_request(object_of(value["request"]))
    turn = _answer(value)
    ended_s = _time_s(value.get("last_run_at"))
    took_ms = value.get("duration_ms")
    started_s = ended_s - took_ms / 1000 if ended_s is not None and isinstance(took_ms, int | float) else None
    generation = structs.replace(
        request.answered_by(turn.generation),
        started=model.Instant(started_s, model.InstantSource.DERIVED) if started_s is not None else None,
        ended=model.Instant(ended_s) if ended_s is not None else None,
    )
    name = word_of(object_of(value.get("weaklink")).get("id"))
    return model.Trace(
        (*request.turns, structs.replace(turn, generation=generation)),
        name=name,
        model=request.model,
        started=generation.started,
        external_ids=(
            model.ExternalId("data_index", str(value["data_index"])),
            model.ExternalId("hash", word_of(value["hash"])),
        ),
        provenance=model.Provenance(record=row.record, warnings=(_NO_CHUNKS,)),
    )


def _answer(value: JsonObject) -> model.Turn:
    response = object_of(value.get("response"))
    if value.get("status") == "success":
        body = json.dumps(response, ensure_ascii=False).encode("utf-8", "surrogatepass")
        return decode_answer(decoder_for(_PATH, {"stream": False}), [(None, body)]).turn
    words = word_of(response.get("error")) or "the request failed; the source stores no reason"
    error = model.GenerationError(model.ErrorPhase.HTTP, words)
    return model.Turn(
        model.Role.ASSISTANT,
        (model.Part("text", ""),),
        generation=model.Generation(error=error, finish=model.FinishReason.ERROR),
    )


def _time_s(value: model.Json) -> float | None:
    """A time that has a zone; one without, as the verifier writes it, is the local time of an unknown machine."""
    try:
        time = datetime.fromisoformat(word_of(value))
    except ValueError:
        return None
    return time.timestamp() if time.tzinfo is not None else None


VERIFIER_RESULTS = LogSource(
    name="vendor-verifier",
    signs="rows with `data_index`, `request`, `response`, `status` and `hash`",
    is_row=_is_result,
    reader=partial(trace_of_each_row, trace=_trace),
)
"""One trace per result, the messages of the request and the answer; a row without a request is skipped."""
