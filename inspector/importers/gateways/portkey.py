"""Portkey's logs: the rows of a logs export, and the objects that its API for custom logs accepts.

A row has `request` and `response` beside the columns that the user chose; a log object has whole HTTP messages with
their metadata (portkey.ai/docs: product/observability/logs-export, api-reference/logs).
"""

from weaklink.inspector.importers.gateways.logged_requests import (
    INPUT_KEYS,
    GatewayImporter,
    LoggedRequest,
    address_of,
    answer_of,
    body_of,
    number_of,
    only_rows,
    parsed_object,
    sent_headers,
    status_of,
)
from weaklink.inspector.importers.identity import seconds_of, text_of
from weaklink.inspector.importers.records import json_within
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.json_text import object_of
from weaklink.inspector.model import Json
from weaklink.inspector.sessions.exchange import Exchange, RequestHead

NOT_TIMED = "the source does not store chunk times, and stores most answers as Portkey assembled them"

_COLUMNS = frozenset({
    "ai_org", "ai_model", "req_units", "res_units", "total_units", "request_url", "response_status_code", "is_success",
    "cost_currency", "prompt_slug",
})  # fmt: skip

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


def _row_of(log: JsonObject) -> JsonObject:
    """An object of the API for logs as a row of the export."""
    request, response, metadata = (parsed_object(log.get(key)) for key in ("request", "response", "metadata"))
    return {
        "request": json_within(request.get("body")),
        "response": response.get("body"),
        "request_url": request.get("url"),
        "metadata": log.get("metadata"),
        "trace_id": text_of(metadata, "trace_id", "traceId"),
        "created_at": log.get("created_at", metadata.get("created_at", metadata.get("start_time"))),
        "response_status_code": response.get("status", 200),
        "response_time": response.get("response_time", response.get("time")),
    }


def _request(value: JsonObject, record: str) -> LoggedRequest | Skipped:
    is_log = _is_log(value)
    row = _row_of(value) if is_log else value
    body, answered = row.get("request"), row.get("response")
    if not is_log:
        body, answered = _inner(json_within(body)), _inner(json_within(answered))
    if not isinstance(body, dict) or INPUT_KEYS.isdisjoint(body):
        return Skipped(record, _NO_REQUEST)
    headers = sent_headers(object_of(value["request"]).get("headers")) if is_log else ()
    metadata, trace = parsed_object(row.get("metadata")), text_of(row, "trace_id")
    started, took_ms = seconds_of(row.get("created_at")), number_of(row.get("response_time"))
    ended = None if started is None or took_ms is None else started + took_ms / 1000
    upstream, target = address_of(text_of(row, "request_url"))
    answer = answer_of(answered, ended)
    exchange = Exchange(
        RequestHead("POST", target, headers, upstream, text_of(metadata, "_user", "user_id", "userId"), started),
        body_of(body),
        status_of(row.get("response_status_code")) or (200 if answer.pieces is not None else None),
        answer.headers,
        answer.pieces,
        ended_s=ended,
        record=record,
    )
    return LoggedRequest(exchange, (("x-portkey-trace-id", trace),) if trace else (), (NOT_TIMED,))


def _inner(value: Json) -> Json:
    """The body, if a column contains the whole HTTP message."""
    return (
        json_within(value["body"]) if isinstance(value, dict) and "body" in value and "messages" not in value else value
    )


PORTKEY = GatewayImporter(
    name="portkey",
    signs="a request and its response with the columns of Portkey's export, or with metadata",
    confidence=lambda value: 0.95 if _is_ours(value) else 0.0,
    new_reader=only_rows(_is_ours, _request, "this is neither a row of Portkey's export nor an object of its log API"),
)
