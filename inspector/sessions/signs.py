"""What a request itself says of the session that it belongs to: its headers and the fields of its body."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from inspector.model import ExternalId, Json, RecognisedBy
from inspector.sessions.exchange import RequestHead
from inspector.wire.json_text import parse_json

_MAX_VALUE = 512
_FIRST_HEADERS = ("x-session-id", "x-claude-code-session-id")
_CODEX_HEADERS = ("session-id", "session_id", "thread-id", "thread_id")
_GATEWAY_HEADERS = ("helicone-session-id", "x-portkey-trace-id", "x-litellm-session-id", "x-litellm-trace-id")
_GATEWAY_FIELDS = ("litellm_session_id", "litellm_trace_id", "metadata.session_id", "session_id", "conversation")
_OLD_USER_ID = re.compile(r"user_.*_session_([0-9A-Za-z-]{8,})\Z")
_UNIQUE = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|[0-9a-f]{24,}", re.IGNORECASE)
_RETRY_COUNTS = ("x-stainless-retry-count", "x-retry-count")
"""Headers that count repetitions from 0: of the SDKs that Stainless generates (openai, anthropic), and a common one."""
_ATTEMPTS = ("amz-sdk-request", "x-envoy-attempt-count")
"""Headers that count attempts from 1: AWS's SDKs (`attempt=2; max=3`), and Envoy's router filter."""
_REQUEST_KEYS = ("idempotency-key", "x-idempotency-key", "amz-sdk-invocation-id")
"""Headers that are the same for all attempts of one request, and for no other request."""
_ATTEMPT = re.compile(r"(?:attempt=)?([0-9]{1,8})(?:;.*)?", re.DOTALL)
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SessionSigns:
    """The ids that a request bears, each under its source's own name, in the order in which they count.

    `key` is the one that says which session it is, None where none does: an end user (`user`), a trace of spans
    (`traceparent`) or a cache key that many sessions may share is no session. `span_trace` is the trace id of
    `traceparent`, `""` without one. `retry_count` is the client's own count of repetitions, 0 for the first, None where
    it does not count. `request_key` is what the client sends with each attempt of one request, `""` where it sends
    nothing of the kind.
    """

    ids: tuple[ExternalId, ...] = ()
    key: ExternalId | None = None
    recognised_by: RecognisedBy = RecognisedBy.PREFIX_CHAIN
    span_trace: str = ""
    retry_count: int | None = None
    request_key: str = ""


def read_signs(head: RequestHead, json: Json) -> SessionSigns:
    """The session's ids in a request's headers and body, in the order of weight; never raises.

    A value of more than 512 characters is no id. `metadata.user_id` is Claude Code's: a JSON text that holds a
    `session_id`, or the older `user_..._session_UUID`. `prompt_cache_key` is the session for Codex, which puts a
    unique id there; any other word there may be shared by all of an application's sessions.
    """
    headers = {name.lower(): value.strip() for name, value in reversed(head.headers)}
    found = list(_signs(headers, json if isinstance(json, dict) else {}))
    key, by = next(((one, by) for one, by, is_session in found if is_session), (None, RecognisedBy.PREFIX_CHAIN))
    ids = tuple(dict.fromkeys(one for one, _, _ in found))
    request_key = next((word for name in _REQUEST_KEYS if (word := _word(headers.get(name)))), "")
    return SessionSigns(ids, key, by, _span_trace(headers), _retry_count(headers), request_key)


def _signs(headers: dict[str, str], body: dict[str, Json]) -> Iterator[tuple[ExternalId, RecognisedBy, bool]]:
    yield from _of_headers(headers, _FIRST_HEADERS)
    yield from _of_field("metadata.user_id.session_id", _claude_session(_member(body, "metadata.user_id")))
    yield from _of_headers(headers, _CODEX_HEADERS)
    cache_key = _member(body, "prompt_cache_key")
    yield from _of_field("prompt_cache_key", cache_key, is_session=bool(_UNIQUE.search(_word(cache_key))))
    for name in ("client_metadata.session_id", "client_metadata.thread_id"):
        yield from _of_field(name, _member(body, name))
    yield from _of_headers(headers, _GATEWAY_HEADERS)
    for name in _GATEWAY_FIELDS:
        yield from _of_field(name, _member(body, name))
    yield from _of_field("user", _member(body, "user"), is_session=False)
    if trace := _span_trace(headers):
        yield ExternalId("traceparent", trace), RecognisedBy.HEADER, False


def _of_headers(headers: dict[str, str], names: tuple[str, ...]) -> Iterator[tuple[ExternalId, RecognisedBy, bool]]:
    for name in names:
        if value := _word(headers.get(name)):
            yield ExternalId(name, value), RecognisedBy.HEADER, True


def _of_field(name: str, value: Json, *, is_session: bool = True) -> Iterator[tuple[ExternalId, RecognisedBy, bool]]:
    word = _word(value.get("id") if isinstance(value, dict) else value)
    if word:
        yield ExternalId(name, word), RecognisedBy.FIELD, is_session


def _member(body: dict[str, Json], path: str) -> Json:
    value: Json = body
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _word(value: Json) -> str:
    """A value as an id: a short text or an integer; `""` for any other."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return text.strip() if isinstance(text, str) and len(text) <= _MAX_VALUE else ""


def _claude_session(user_id: Json) -> Json:
    if not isinstance(user_id, str) or len(user_id) > 8 * _MAX_VALUE:
        return None
    if match := _OLD_USER_ID.match(user_id):
        return match[1]
    try:
        held = parse_json(user_id)
    except ValueError:
        return None
    return held.get("session_id") if isinstance(held, dict) else None


def _span_trace(headers: dict[str, str]) -> str:
    match = _TRACEPARENT.fullmatch(headers.get("traceparent", ""))
    return match[1].lower() if match and match[1].strip("0") else ""


def _retry_count(headers: dict[str, str]) -> int | None:
    """The highest count that a header names; a proxy may count beside the client."""
    counts = [int(word) for name in _RETRY_COUNTS if (word := headers.get(name, "")).isascii() and _is_count(word)]
    attempts = [int(match[1]) for name in _ATTEMPTS if (match := _ATTEMPT.fullmatch(headers.get(name, "")))]
    return max([*counts, *(max(attempt - 1, 0) for attempt in attempts)], default=None)


def _is_count(word: str) -> bool:
    return word.isdigit() and len(word) < 9
