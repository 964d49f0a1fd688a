"""Batch files of OpenAI and Anthropic: requests, and their results in any order, joined by `custom_id`.

OpenAI (platform.openai.com/docs/guides/batch): `{"custom_id", "method", "url", "body"}` and `{"id", "custom_id",
"response": {"status_code", "body"} | null, "error": {"code", "message"} | null}`. Anthropic
(docs.anthropic.com/en/api/creating-message-batches): `{"custom_id", "params"}` and `{"custom_id", "result": {"type",
"message" | "error"}}`. Bodies are those of the API, so arguments of calls are as the model wrote them, except
Anthropic's. Files that are imported together are joined; a file alone gives requests without answers, or answers
without requests.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from weaklink.inspector.apis.providers import read_request
from weaklink.inspector.importers.gateways.logged_requests import body_of
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.records import Row, read_rows
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from weaklink.inspector.json_text import count_of, object_of
from weaklink.inspector.model import (
    ErrorPhase,
    ExternalId,
    Generation,
    GenerationError,
    Json,
    Part,
    Provenance,
    Role,
    Trace,
    Turn,
)
from weaklink.inspector.sessions.exchange import Exchange, RequestHead
from weaklink.inspector.sessions.gathering import answer_turn, decode_exchange
from weaklink.inspector.sessions.resolver import SessionAssignment
from weaklink.inspector.wire.events import DecodedRequest

_NO_REQUEST = "the request is in the batch's input file: import both together to join them"
_NO_ANSWER = "the answer is in the batch's output file: import both together to join them"
_NO_CHUNKS = "the source stores whole answers, without times"
_MESSAGES = "/v1/messages"
_JSON = (("content-type", "application/json"),)


class BatchImporter:
    """One trace per request."""

    name = "batch"
    signs = "a `custom_id` with a `body`, `params`, `response` or `result`"

    def recognises(self, sample: FileSample) -> float:
        """By the members of a row."""
        return 0.95 if any(_is_request(row) or _is_result(row) for row in sample.rows) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The request or the answer of each row."""
        for row in read_rows(file):
            yield row if isinstance(row, Skipped) else _trace([_BatchRow(file, row)])

    def read_together(self, files: Sequence[SourceFile]) -> Iterator[Trace | Skipped]:
        """The same for several files, of which a request and a result with the same `custom_id` are one trace.

        Rows of several batches that use the same ids are not joined.
        """
        joined: dict[str, list[_BatchRow]] = {}
        for file in files:
            for row in read_rows(file):
                if isinstance(row, Skipped):
                    yield Skipped(row.record, row.reason, row.offset, file=file.name)
                else:
                    joined.setdefault(text_of(row.value, "custom_id"), []).append(_BatchRow(file, row))
        for rows in joined.values():
            for pair in _pairs(rows):
                trace = _trace(pair)
                yield structs.replace(trace, file=pair[0].file.name) if isinstance(trace, Skipped) else trace


class _BatchRow(Struct):
    """A row and its file."""

    file: SourceFile
    row: Row


def _is_request(row: JsonObject) -> bool:
    return "custom_id" in row and (
        isinstance(row.get("params"), dict) or ("url" in row and isinstance(row.get("body"), dict))
    )


def _is_result(row: JsonObject) -> bool:
    is_anthropic = isinstance(row.get("result"), dict) and "type" in object_of(row["result"])
    return "custom_id" in row and (is_anthropic or {"response", "error"} <= row.keys())


def _pairs(rows: list[_BatchRow]) -> list[list[_BatchRow]]:
    """A request with its result; each row alone if the id belongs to several of either."""
    requests = sum(_is_request(row.row.value) for row in rows)
    return [rows] if len(rows) == 2 and requests == 1 else [[row] for row in rows]


def _trace(rows: Sequence[_BatchRow]) -> Trace | Skipped:
    request_row = next((row.row for row in rows if _is_request(row.row.value)), None)
    result_row = next((row.row for row in rows if _is_result(row.row.value)), None)
    first = next((row for row in rows if _is_request(row.row.value)), rows[0])
    if request_row is None and result_row is None:
        return Skipped(first.row.record, "the row is neither a request nor a result of a batch")
    sent = request_row.value if request_row else {}
    url = text_of(sent, "url") or (_MESSAGES if "params" in sent else "")
    body = sent.get("body", sent.get("params"))
    request = read_request(url, body) or DecodedRequest("", "", ())
    if request_row and not request.turns:
        reason = f"the request goes to `{url}`, which is no model that answers in text"
        return Skipped(request_row.record, reason, is_irrelevant=True)
    turns = request.turns
    if result_row:
        turns = (*turns, _answer(result_row.value, url, body, request))
    generation = turns[-1].generation or Generation()
    notes = (_NO_REQUEST,) if request_row is None else (_NO_ANSWER,) if result_row is None else ()
    return Trace(
        turns,
        model=request.model or generation.answered_model,
        external_ids=tuple(_ids(request_row, result_row)),
        provenance=Provenance(
            "batch", first.file.name, first.file.sha256, record=first.row.record, warnings=(*notes, _NO_CHUNKS)
        ),
    )


def _ids(request: Row | None, result: Row | None) -> Iterator[ExternalId]:
    for row in [row for row in (request, result) if row is not None][:1]:
        yield ExternalId("custom_id", text_of(row.value, "custom_id"))
    if request is not None:
        yield ExternalId("sha256", request.digest)
    if result is not None:
        yield ExternalId("result", text_of(result.value, "id") or result.digest)


def _answer(row: JsonObject, url: str, body: Json, request: DecodedRequest) -> Turn:
    response, result = object_of(row.get("response")), object_of(row.get("result"))
    answer = response.get("body") if response else result.get("message")
    if not isinstance(answer, dict):
        return _failed(object_of(row.get("error")) or object_of(result.get("error")), text_of(result, "type"), request)
    status = count_of(response.get("status_code")) or 200
    exchange = Exchange(RequestHead("POST", url), None, status, _JSON, ((None, body_of(answer)),))
    decoded, _ = decode_exchange(exchange, body)
    return answer_turn(request, decoded, exchange.end, assignment=SessionAssignment("", None, ()), status=status)


def _failed(error: JsonObject, kind: str, request: DecodedRequest) -> Turn:
    """What came of a request that got no answer: an error, or that it was cancelled or too late."""
    inner = object_of(error.get("error")) or error
    code = text_of(inner, "code", "type") or kind
    message = text_of(inner, "message") or f"the request was not answered: {code or 'the source stores no reason'}"
    generation = request.answered_by(Generation(error=GenerationError(ErrorPhase.HTTP, message, None, code or None)))
    return Turn(Role.ASSISTANT, (Part("text", ""),), "assistant", generation=generation)
