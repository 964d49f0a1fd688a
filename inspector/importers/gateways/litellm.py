"""LiteLLM's logs: a standard logging payload for each request, and the rows of its table `LiteLLM_SpendLogs`.

Payloads are lines (custom callbacks), arrays (the generic API logger), or one indented object per file (the S3 and GCS
loggers); SpendLogs are rows of its API, or of a table's export. Requests in Anthropic's shape become chat completions,
because LiteLLM logs their answers in that shape.
"""

import re

from msgspec import Struct

from weaklink.inspector.apis.anthropic.messages import as_chat
from weaklink.inspector.importers.gateways.logged_requests import (
    INPUT_KEYS,
    GatewayImporter,
    LoggedRequest,
    ReadEntry,
    answer_of,
    body_of,
    number_of,
    parsed_object,
    sent_headers,
)
from weaklink.inspector.importers.identity import seconds_of, text_of
from weaklink.inspector.importers.records import json_within
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.model import Json
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.sessions.exchange import Exchange, ExchangeEnd, Headers, RequestHead, header_of

_ONLY_PAYLOADS = frozenset({"litellm_call_id", "status_fields", "model_map_information", "hidden_params"})
_SPEND = frozenset({"request_id", "call_type", "spend", "startTime"})
_NO_REQUEST = "the row contains no messages: SpendLogs store them only with `store_prompts_in_spend_logs`"
_NOT_KEPT = "the payload contains no messages, so the request is unknown"
_IS_REDACTED = "LiteLLM redacted the messages before it logged them (`turn_off_message_logging`)"
_AS_CHAT = "requests to the endpoint `messages` are shown as chat completions, as LiteLLM logs the answers to them"

_TARGETS = {
    "chat": "/v1/chat/completions",
    "messages": "/v1/messages",
    "responses": "/v1/responses",
    "completions": "/v1/completions",
}

_INPUT_KEY = {"chat": "messages", "messages": "messages", "responses": "input", "completions": "prompt"}
ASSEMBLED = "the source stores answers as LiteLLM assembled them: no chunks, and no chunk times"
CUT = "LiteLLM truncated long texts before it stored them (`litellm_truncated`)"

_NO_WORDS = lazy_pattern(
    r"embed|image|speech|audio|transcri|moderat|rerank|batch|file|fine_tun|vector|search|ocr|video|realtime|mcp",
    re.IGNORECASE,
)
"""Call types whose answers are not text of a model."""

_NOT_CONNECTED = lazy_pattern(r"connect", re.IGNORECASE)
_TIMED_OUT = lazy_pattern(r"timeout", re.IGNORECASE)
_CUT = b"litellm_truncated"
_REDACTED = "redacted-by-litellm"


def _new_reader() -> ReadEntry:
    seen: set[tuple[str, ...]] = set()

    def read(value: JsonObject, record: str) -> LoggedRequest | Skipped:
        if not _is_ours(value):
            return Skipped(record, "this is neither a standard logging payload of LiteLLM nor a SpendLogs row")
        key = _key(value)
        if key in seen:
            return Skipped(record, f"the request `{key[0][:80]}` is logged twice", is_irrelevant=True)
        seen.update([key] if key[0] else [])
        return logged_request(value, record)

    return read


def _unwrapped(value: JsonObject) -> JsonObject:
    """The payload in the arguments of a callback, which some users log as a whole."""
    payload = value.get("standard_logging_object")
    return payload if isinstance(payload, dict) else value


def _is_ours(value: JsonObject) -> bool:
    is_payload = "messages" in value and "response" in value and not _ONLY_PAYLOADS.isdisjoint(value)
    return is_payload or value.keys() >= _SPEND


LITELLM = GatewayImporter(
    name="litellm",
    signs="LiteLLM's logging payloads, or rows of its SpendLogs",
    confidence=lambda value: 0.95 if _is_ours(value) else 0.0,
    new_reader=_new_reader,
    unwrapped=_unwrapped,
)


def _key(value: JsonObject) -> tuple[str, ...]:
    """What two records of one request have in common, unlike the records of its retry."""
    ids = (value.get("litellm_call_id"), value.get("id", value.get("request_id")))
    return tuple(str(one or "") for one in (*ids, value.get("startTime"), value.get("status")))


class LiteLLMRequest(Struct, frozen=True):
    """A request: the path of its API, its body, whether the client requested a stream, and warnings about it."""

    target: str
    body: bytes
    streams: bool
    warnings: tuple[str, ...] = ()


def request_in(row: JsonObject, answer: Json, call_type: str) -> LiteLLMRequest | str:
    """The client's request in a row; a text with the reason if it is unknown."""
    kind = _kind(answer, call_type)
    body = _as_sent(row)
    if body is None:
        messages = json_within(row.get("messages"))
        if _is_redacted_text(messages):
            return _IS_REDACTED
        if not messages:
            return _NO_REQUEST if "spend" in row else _NOT_KEPT
        settings = parsed_object(row.get("model_parameters"))
        body = {"model": text_of(row, "model_group", "model"), _INPUT_KEY[kind]: _input_of(messages, kind), **settings}
    warnings: tuple[str, ...] = ()
    if kind == "chat" and (call_type.endswith("anthropic_messages") or "messages" not in body):
        body, warnings = as_chat(body), (_AS_CHAT,) if call_type.endswith("anthropic_messages") else ()
    return LiteLLMRequest(_TARGETS[kind], body_of(body), body.get("stream") is True, warnings)


def _as_sent(row: JsonObject) -> JsonObject | None:
    """The body that the proxy received, as newer SpendLogs store it; None if they do not."""
    request = parsed_object(row.get("proxy_server_request"))
    body = parsed_object(request.get("body")) or request
    return body if any(body.get(key) for key in INPUT_KEYS) else None


def _kind(answer: Json, call_type: str) -> str:
    """The API whose shape the answer has; without an answer, the API of the call's type."""
    if isinstance(answer, dict):
        choices = answer.get("choices")
        if isinstance(choices, list):
            is_text = any(
                isinstance(choice, dict) and "text" in choice and "message" not in choice for choice in choices
            )
            return "completions" if is_text else "chat"
        if isinstance(answer.get("output"), list):
            return "responses"
        if answer.get("type") == "message":
            return "messages"
    named = call_type.removeprefix("a") if call_type != "anthropic_messages" else call_type
    return {"anthropic_messages": "messages", "responses": "responses", "text_completion": "completions"}.get(
        named, "chat"
    )


def _input_of(messages: Json, kind: str) -> Json:
    """The request's input in the shape of its endpoint: a text is one message, and prompts are texts."""
    if kind == "completions" and isinstance(messages, list):
        texts = [message.get("content") if isinstance(message, dict) else message for message in messages]
        return texts[0] if len(texts) == 1 else texts
    if isinstance(messages, str) and kind in ("chat", "messages"):
        return [{"role": "user", "content": messages}]
    return messages


def _is_redacted_text(messages: Json) -> bool:
    if isinstance(messages, list):
        return bool(messages) and all(
            isinstance(message, dict) and message.get("content") == _REDACTED for message in messages
        )
    return messages == _REDACTED


def logged_request(row: JsonObject, record: str) -> LoggedRequest | Skipped:
    """The request and answer of a payload or a SpendLogs row; a Skipped with the reason if it contains none."""
    call_type = text_of(row, "call_type")
    if _NO_WORDS.search(call_type):
        reason = f"a request of the type `{call_type[:60]}` does not request text from a model"
        return Skipped(record, reason, is_irrelevant=True)
    answer = json_within(row.get("response"))
    request = request_in(row, answer, call_type)
    if isinstance(request, str):
        return Skipped(record, request)
    exchange = _exchange(row, record, request, None if _is_redacted(answer) else answer)
    bodies = (request.body, *(raw for _, raw in exchange.answer or ()))
    cut = (CUT,) if any(_CUT in body for body in bodies) else ()
    return LoggedRequest(exchange, _doubtful(row), (ASSEMBLED, *request.warnings, *cut))


def _exchange(row: JsonObject, record: str, request: LiteLLMRequest, answer: Json) -> Exchange:
    metadata = parsed_object(row.get("metadata"))
    started, first, ended = (_moment(row.get(key)) for key in ("startTime", "completionStartTime", "endTime"))
    streams = request.streams or row.get("stream") is True
    is_early = streams and first is not None and ended is not None and (started or 0.0) < first < ended
    head = RequestHead(
        "POST",
        request.target,
        _headers(row, metadata),
        upstream=text_of(row, "api_base"),
        client=_client(row, metadata),
        at_s=started,
    )
    status, end, message = _ending(row, metadata, had_begun=is_early)
    stored = answer_of(answer, ended)
    return Exchange(
        head,
        request.body,
        200 if stored.pieces is not None and status is None else status,
        stored.headers,
        stored.pieces,
        end,
        ended,
        message,
        record,
        first if is_early else None,
    )


def _ending(row: JsonObject, metadata: JsonObject, *, had_begun: bool) -> tuple[int | None, ExchangeEnd, str]:
    """The answer's status, how the exchange ended, and the error's message.

    LiteLLM gives its own error code to a stream that broke off. Text that had already arrived distinguishes such a
    stream from a refused request.
    """
    if (text_of(row, "status") or text_of(metadata, "status")) != "failure":
        return 200, ExchangeEnd.COMPLETE, ""
    error = parsed_object(row.get("error_information")) or parsed_object(metadata.get("error_information"))
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
    """The client's headers that LiteLLM stored, and the session id that the client certainly sent."""
    requester = parsed_object(metadata.get("requester_metadata"))
    sent = sent_headers(requester.get("headers"))
    session = text_of(requester, "session_id") or ("" if "spend" in row else text_of(row, "session_id"))
    is_sent = session == header_of(sent, "x-session-id")
    return sent if is_sent else (*sent, ("x-litellm-session-id", session))


def _doubtful(row: JsonObject) -> Headers:
    """The ids that LiteLLM generates if the client sends none: each payload's trace, each SpendLogs row's session."""
    named = (("x-litellm-session-id", "session_id"), ("x-litellm-trace-id", "trace_id"))
    return tuple((header, value) for header, key in named if (value := text_of(row, key)))


def _client(row: JsonObject, metadata: JsonObject) -> str:
    """The client: the hash of the key, the address and the program, as far as they were stored."""
    key = text_of(metadata, "user_api_key_hash") or text_of(row, "api_key")
    address = text_of(metadata, "requester_ip_address") or text_of(row, "requester_ip_address")
    return " ".join((key, address, text_of(metadata, "user_agent"), text_of(row, "end_user")))


def _moment(value: Json) -> float | None:
    """A time in seconds; logs contain numbers, texts of numbers, and dates."""
    number = number_of(value)
    return seconds_of(value if number is None else number)


def _is_redacted(answer: Json) -> bool:
    return answer == _REDACTED or (isinstance(answer, dict) and answer.get("text") == _REDACTED)
