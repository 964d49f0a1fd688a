"""One row of LiteLLM's logs as the exchange that it tells of."""

import re

from inspector.importers.gateway_values import answer_of, number_of, object_of, parsed
from inspector.importers.gateways import LoggedRequest
from inspector.importers.identity import instant, text_of
from inspector.importers.litellm_requests import LiteLLMRequest, request_in
from inspector.importers.source import JsonObject, Skipped
from inspector.model import Json
from inspector.sessions.exchange import Exchange, ExchangeEnd, Headers, RequestHead, header_of

ASSEMBLED = "the source keeps answers as LiteLLM put them together: no chunks, and no times of them"
CUT = "LiteLLM cut long texts before it stored them (`litellm_truncated`)"

_NO_WORDS = re.compile(
    r"embed|image|speech|audio|transcri|moderat|rerank|batch|file|fine_tun|vector|search|ocr|video|realtime|mcp",
    re.IGNORECASE,
)
"""Call types whose answers are no words of a model."""

_NOT_CONNECTED = re.compile(r"connect", re.IGNORECASE)
_TIMED_OUT = re.compile(r"timeout", re.IGNORECASE)
_CUT = b"litellm_truncated"
_REDACTED = "redacted-by-litellm"


def logged_request(row: JsonObject, record: str) -> LoggedRequest | Skipped:
    """A payload's or a SpendLogs row's request and answer; why it tells of none."""
    call_type = text_of(row, "call_type")
    if _NO_WORDS.search(call_type):
        said = f"a request of the type `{call_type[:60]}` asks no model for words"
        return Skipped(record, said, is_irrelevant=True)
    answer = parsed(row.get("response"))
    asked = request_in(row, answer, call_type)
    if isinstance(asked, str):
        return Skipped(record, asked)
    exchange = _exchange(row, record, asked, None if _is_redacted(answer) else answer)
    bodies = (asked.body, *(raw for _, raw in exchange.answer or ()))
    cut = (CUT,) if any(_CUT in body for body in bodies) else ()
    return LoggedRequest(exchange, _doubtful(row), (ASSEMBLED, *asked.warnings, *cut))


def _exchange(row: JsonObject, record: str, asked: LiteLLMRequest, answer: Json) -> Exchange:
    metadata = object_of(row.get("metadata"))
    started, first, ended = (_moment(row.get(key)) for key in ("startTime", "completionStartTime", "endTime"))
    streams = asked.streams or row.get("stream") is True
    is_early = streams and first is not None and ended is not None and (started or 0.0) < first < ended
    head = RequestHead(
        "POST",
        asked.target,
        _headers(row, metadata),
        upstream=text_of(row, "api_base"),
        client=_client(row, metadata),
        at_s=started,
    )
    status, end, message = _ending(row, metadata, had_begun=is_early)
    kept = answer_of(answer, ended)
    return Exchange(
        head,
        asked.body,
        200 if kept.pieces is not None and status is None else status,
        kept.headers,
        kept.pieces,
        end,
        ended,
        message,
        record,
        first if is_early else None,
    )


def _ending(row: JsonObject, metadata: JsonObject, *, had_begun: bool) -> tuple[int | None, ExchangeEnd, str]:
    """The answer's status, how the exchange ended, and the error's words.

    LiteLLM gives a code of its own to a stream that broke off: what tells it from a refusal is that words had come.
    """
    if (text_of(row, "status") or text_of(metadata, "status")) != "failure":
        return 200, ExchangeEnd.COMPLETE, ""
    error = object_of(row.get("error_information")) or object_of(metadata.get("error_information"))
    message = text_of(row, "error_str") or text_of(error, "error_message")
    kind, code = text_of(error, "error_class"), str(error.get("error_code") or "")
    if had_begun:
        return 200, ExchangeEnd.UPSTREAM_DROPPED, message
    if code.isascii() and code.isdigit() and 400 <= int(code[:9]) < 1000:
        return int(code[:9]), ExchangeEnd.COMPLETE, message
    if _TIMED_OUT.search(kind):
        return None, ExchangeEnd.TIMED_OUT, message
    return None, ExchangeEnd.NOT_CONNECTED if _NOT_CONNECTED.search(kind) else ExchangeEnd.UPSTREAM_DROPPED, message


def _headers(row: JsonObject, metadata: JsonObject) -> Headers:
    """The client's headers as far as LiteLLM kept them, and the session's id that it certainly sent."""
    asked = object_of(metadata.get("requester_metadata"))
    sent = tuple(
        (name, value)
        for name, value in object_of(asked.get("headers")).items()
        if isinstance(value, str) and not name.lower().startswith("content-")
    )
    session = text_of(asked, "session_id") or ("" if "spend" in row else text_of(row, "session_id"))
    known = session == header_of(sent, "x-session-id")
    return sent if known else (*sent, ("x-litellm-session-id", session))


def _doubtful(row: JsonObject) -> Headers:
    """The ids that LiteLLM makes up where the client sends none: each payload's trace, each SpendLogs row's session."""
    named = (("x-litellm-session-id", "session_id"), ("x-litellm-trace-id", "trace_id"))
    return tuple((header, value) for header, key in named if (value := text_of(row, key)))


def _client(row: JsonObject, metadata: JsonObject) -> str:
    """Whoever asked: the hash of the key, the address and the program, as far as they were kept."""
    key = text_of(metadata, "user_api_key_hash") or text_of(row, "api_key")
    address = text_of(metadata, "requester_ip_address") or text_of(row, "requester_ip_address")
    return " ".join((key, address, text_of(metadata, "user_agent"), text_of(row, "end_user")))


def _moment(value: Json) -> float | None:
    """When it was, in seconds; logs hold numbers, texts of numbers, and dates."""
    number = number_of(value)
    at = instant(value if number is None else number)
    return None if at is None else at.at_s


def _is_redacted(answer: Json) -> bool:
    return answer == _REDACTED or (isinstance(answer, dict) and answer.get("text") == _REDACTED)
