"""Helicone's requests from its export tool and its API: a row has the bodies of a request and of its answer.

Bodies are included only with `--include-body`. The answer to a stream is assembled by Helicone, or is the stream's own
text in `streamed_data` (docs.helicone.ai: rest/request/post-v1requestquery).
"""

from weaklink.inspector.importers.gateways.logged_requests import (
    INPUT_KEYS,
    GatewayAnswer,
    GatewayImporter,
    LoggedRequest,
    address_of,
    answer_of,
    body_of,
    number_of,
    only_rows,
    parsed_object,
    status_of,
)
from weaklink.inspector.importers.identity import seconds_of, text_of
from weaklink.inspector.importers.records import json_within
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.model import Json
from weaklink.inspector.sessions.exchange import Exchange, ExchangeEnd, Headers, RequestHead

NOT_TIMED = "the source does not store chunk times, and stores most answers as Helicone assembled them"
_ROW = frozenset({"request_id", "request_created_at"})
_BODIES = frozenset({"request_body", "response_body", "signed_body_url"})
_NO_BODIES = "the row contains no request: Helicone exports bodies only with `--include-body`"
_OMITTED = "Helicone did not store the request's body, so the request is unknown"

_ENDS = {
    -2: (ExchangeEnd.NOT_STORED, ""),
    -3: (ExchangeEnd.CLIENT_LEFT, ""),
    -4: (ExchangeEnd.NOT_CONNECTED, "Helicone blocked the request as a threat and did not forward it."),
}
"""Helicone's own status codes: pending, cancelled, refused as a threat."""


def _is_ours(value: JsonObject) -> bool:
    return value.keys() >= _ROW and not _BODIES.isdisjoint(value)


def _request(row: JsonObject, record: str) -> LoggedRequest | Skipped:
    request_body = parsed_object(row.get("request_body"))
    if INPUT_KEYS.isdisjoint(request_body):
        return Skipped(record, _OMITTED if request_body or not row.get("signed_body_url") else _NO_BODIES)
    started, ended, first = _times(row)
    upstream, target = address_of(text_of(row, "request_path"))
    status, end, message = _ending(row.get("response_status"))
    answer = _answer(row.get("response_body"), ended)
    if status is None and answer.pieces is not None:
        status = 200
    exchange = Exchange(
        RequestHead("POST", target, _headers(row), upstream, text_of(row, "request_user_id", "helicone_user"), started),
        body_of(request_body),
        status,
        answer.headers,
        answer.pieces,
        end,
        ended,
        message,
        record,
        first if status is not None and status < 400 else None,
    )
    return LoggedRequest(exchange, warnings=(NOT_TIMED,))


def _times(row: JsonObject) -> tuple[float | None, float | None, float | None]:
    """The times of the request, of the answer's end and of its first token; Helicone's delays are in milliseconds."""
    started, ended = seconds_of(row.get("request_created_at")), seconds_of(row.get("response_created_at"))
    delay_ms, first_token_ms = number_of(row.get("delay_ms")), number_of(row.get("time_to_first_token"))
    if started is None:
        return None, ended, None
    first = started + first_token_ms / 1000 if first_token_ms is not None and first_token_ms > 0 else None
    return started, started + delay_ms / 1000 if delay_ms is not None and delay_ms > 0 else ended, first


def _headers(row: JsonObject) -> Headers:
    """The ids that the client gave to its session, as headers; properties contain them."""
    properties = parsed_object(row.get("request_properties")) or parsed_object(row.get("properties"))
    return tuple(
        (name, str(value))
        for name, value in properties.items()
        if name.lower().startswith("helicone-session") and isinstance(value, str | int)
    )


def _ending(status: Json) -> tuple[int | None, ExchangeEnd, str]:
    number = number_of(status)
    if number is not None and number in _ENDS:
        return (None, *_ENDS[int(number)])
    return status_of(number), ExchangeEnd.COMPLETE, ""


def _answer(body: Json, ended_s: float | None) -> GatewayAnswer:
    """The answer; the stream's own text has priority over the answer that Helicone assembled from it."""
    parsed = json_within(body)
    if isinstance(parsed, dict):
        streamed = answer_of(parsed.get("streamed_data"), ended_s)
        if streamed.pieces is not None:
            return streamed
        parsed = {key: value for key, value in parsed.items() if key not in ("streamed_data", "helicone_message")}
    return answer_of(parsed, ended_s)


HELICONE = GatewayImporter(
    name="helicone",
    signs="rows of Helicone's requests: `request_id`, `request_created_at` and bodies",
    confidence=lambda value: 0.95 if _is_ours(value) else 0.0,
    new_reader=only_rows(
        _is_ours, _request, "this is not a row of Helicone's requests: it lacks `request_created_at` or bodies"
    ),
)
