"""Portkey's logs: the rows of a logs export, and the objects that its API for custom logs accepts.

A row has `request` and `response` beside the columns that the user chose; a log object has whole HTTP messages with
their metadata (portkey.ai/docs: product/observability/logs-export, api-reference/logs).
"""

from weaklink.inspector.importers.gateways.logged_requests import (
    GatewayImporter,
    LoggedRequest,
    address_of,
    answer_of,
    body_of,
    number_of,
    parsed_member,
    parsed_object,
)
from weaklink.inspector.importers.identity import instant, text_of
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.model import Json
from weaklink.inspector.sessions.exchange import Exchange, Headers, RequestHead

NOT_TIMED = "the source does not store chunk times, and stores most answers as Portkey assembled them"

_COLUMNS = frozenset({
    "ai_org", "ai_model", "req_units", "res_units", "total_units", "request_url", "response_status_code", "is_success",
    "cost_currency", "prompt_slug",
})  # fmt: skip

_INPUT_KEYS = frozenset({"messages", "input", "prompt", "contents"})
_NO_REQUEST = "the row contains no request: the columns `request` and `response` were not exported, or not stored"


def _is_ours(value: JsonObject) -> bool:
    is_row = "trace_id" in value or "created_at" in value
    return (is_row and len(_COLUMNS & value.keys()) >= 2) or _is_log(value)


def _is_log(value: JsonObject) -> bool:
    """Whether it is an object of the API for logs: a request with its address, a response, and metadata."""
    request, response = value.get("request"), value.get("response")
    if not isinstance(request, dict) or not isinstance(response, dict) or not isinstance(value.get("metadata"), dict):
        return False
    return "url" in request and "body" in request and "body" in response


def _read(value: JsonObject, record: str) -> LoggedRequest | Skipped:
    if _is_log(value):
        return _log(value, record)
    if _is_ours(value):
        return _row(value, record)
    return Skipped(record, "this is neither a row of Portkey's export nor an object of its log API")


PORTKEY = GatewayImporter(
    name="portkey",
    signs="a request and its response with the columns of Portkey's export, or with metadata",
    confidence=lambda value: 0.95 if _is_ours(value) else 0.0,
    new_reader=lambda: _read,
)


def _log(value: JsonObject, record: str) -> LoggedRequest | Skipped:
    request, response, metadata = (parsed_object(value.get(key)) for key in ("request", "response", "metadata"))
    began = instant(value.get("created_at", metadata.get("created_at", metadata.get("start_time"))))
    return _request(
        record,
        request_body=parsed_member(request.get("body")),
        response_body=response.get("body"),
        address=text_of(request, "url"),
        headers=_texts(request.get("headers")),
        metadata=metadata,
        trace=text_of(metadata, "trace_id", "traceId"),
        status=number_of(response.get("status", 200)),
        started=None if began is None else began.at_s,
        took_ms=number_of(response.get("response_time", response.get("time"))),
    )


def _row(value: JsonObject, record: str) -> LoggedRequest | Skipped:
    began = instant(value.get("created_at"))
    return _request(
        record,
        request_body=_inner(parsed_member(value.get("request"))),
        response_body=_inner(parsed_member(value.get("response"))),
        address=text_of(value, "request_url"),
        headers=(),
        metadata=parsed_object(value.get("metadata")),
        trace=text_of(value, "trace_id"),
        status=number_of(value.get("response_status_code")),
        started=None if began is None else began.at_s,
        took_ms=number_of(value.get("response_time")),
    )


def _request(
    record: str,
    *,
    request_body: Json,
    response_body: Json,
    address: str,
    headers: Headers,
    metadata: JsonObject,
    trace: str,
    status: float | None,
    started: float | None,
    took_ms: float | None,
) -> LoggedRequest | Skipped:
    if not isinstance(request_body, dict) or _INPUT_KEYS.isdisjoint(request_body):
        return Skipped(record, _NO_REQUEST)
    ended = None if started is None or took_ms is None else started + took_ms / 1000
    upstream, target = address_of(address)
    answer = answer_of(response_body, ended)
    exchange = Exchange(
        RequestHead("POST", target, headers, upstream, text_of(metadata, "_user", "user_id", "userId"), started),
        body_of(request_body),
        int(status) if status is not None and 100 <= status < 1000 else 200 if answer.pieces is not None else None,
        answer.headers,
        answer.pieces,
        ended_s=ended,
        record=record,
    )
    return LoggedRequest(exchange, (("x-portkey-trace-id", trace),) if trace else (), (NOT_TIMED,))


def _inner(value: Json) -> Json:
    """The body, if a column contains the whole HTTP message."""
    return (
        parsed_member(value["body"])
        if isinstance(value, dict) and "body" in value and "messages" not in value
        else value
    )


def _texts(headers: Json) -> Headers:
    members = parsed_object(headers).items()
    return tuple(
        (name, value) for name, value in members if isinstance(value, str) and not name.lower().startswith("content-")
    )
