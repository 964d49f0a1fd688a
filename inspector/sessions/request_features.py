"""What of a request decides its session: session hints in headers and body, and the digests of its turns."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from inspector.model import ExternalId, Json, RecognisedBy, Role, Turn
from inspector.scanning import lazy_pattern
from inspector.sessions.exchange import RequestHead
from inspector.sessions.fingerprints import (
    Fingerprint,
    RunningDigest,
    count_system,
    fingerprint_of,
    is_raw,
    raw_prompt,
    split_prompt,
)
from inspector.sessions.session_cache import CachedTrace, SessionCache
from inspector.sessions.trace_matching import SessionQuery
from inspector.wire.provider_json import parse_json
from inspector.wire.request import DecodedRequest

_MAX_VALUE = 512
_FIRST_HEADERS = ("x-session-id", "x-claude-code-session-id")
_CODEX_HEADERS = ("session-id", "session_id", "thread-id", "thread_id")
_GATEWAY_HEADERS = ("helicone-session-id", "x-portkey-trace-id", "x-litellm-session-id", "x-litellm-trace-id")
_GATEWAY_FIELDS = ("litellm_session_id", "litellm_trace_id", "metadata.session_id", "session_id", "conversation")
_OLD_USER_ID = lazy_pattern(r"user_.*_session_([0-9A-Za-z-]{8,})\Z")
_UNIQUE = lazy_pattern(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|[0-9a-f]{24,}", re.IGNORECASE)
_RETRY_COUNTS = ("x-stainless-retry-count", "x-retry-count")
"""Headers that count repetitions from 0: of the SDKs that Stainless generates (openai, anthropic), and a common one."""

_ATTEMPTS = ("amz-sdk-request", "x-envoy-attempt-count")
"""Headers that count attempts from 1: AWS's SDKs (`attempt=2; max=3`), and Envoy's router filter."""

_REQUEST_KEYS = ("idempotency-key", "x-idempotency-key", "amz-sdk-invocation-id")
"""Headers that are the same for all attempts of one request, and for no other request."""

_ATTEMPT = lazy_pattern(r"(?:attempt=)?([0-9]{1,8})(?:;.*)?", re.DOTALL)
_TRACEPARENT = lazy_pattern(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}", re.IGNORECASE)


class SessionHints(Struct, frozen=True):
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


def read_session_hints(head: RequestHead, json: Json) -> SessionHints:
    """The session's ids in a request's headers and body, in the order of weight; never raises.

    A value of more than 512 characters is no id. `metadata.user_id` is Claude Code's: a JSON text that holds a
    `session_id`, or the older `user_..._session_UUID`. `prompt_cache_key` is the session for Codex, which puts a
    unique id there; any other word there may be shared by all of an application's sessions.
    """
    headers = {name.lower(): value.strip() for name, value in reversed(head.headers)}
    found = list(_hints(headers, json if isinstance(json, dict) else {}))
    key, by = next(((one, by) for one, by, is_session in found if is_session), (None, RecognisedBy.PREFIX_CHAIN))
    ids = tuple(dict.fromkeys(one for one, _, _ in found))
    request_key = next((word for name in _REQUEST_KEYS if (word := _word(headers.get(name)))), "")
    return SessionHints(ids, key, by, _span_trace(headers), _retry_count(headers), request_key)


def _hints(headers: dict[str, str], body: dict[str, Json]) -> Iterator[tuple[ExternalId, RecognisedBy, bool]]:
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


class RequestFeatures(Struct, frozen=True):
    """A request as it was understood.

    `begins` is the chain that it goes on from where the server keeps the history. `raw` says that its words are one raw
    text; `prompt` is that text where no template tells its turns, and `text` its digest, None for any other request.
    """

    asked: SessionQuery
    signs: SessionHints
    turns: tuple[Turn, ...]
    begins: bytes
    raw: bool
    prompt: str
    text: RunningDigest | None

    @property
    def prefill(self) -> Turn | None:
        """The beginning of the answer, which the client wrote itself, where the conversation ends with one."""
        last = self.turns[-1] if self.turns else None
        return last if last is not None and last.role is Role.ASSISTANT and not self.raw else None


def request_features(
    tracks: SessionCache, head: RequestHead, request: DecodedRequest, body: bytes, json: Json
) -> RequestFeatures:
    """A request read for comparing it with what `tracks` holds."""
    signs = read_session_hints(head, json)
    raw = is_raw(request)
    turns = split_prompt(request) if raw else request.turns
    prints = fingerprint_of(turns, body=body, raw=raw)
    scope = _scope(head, signs, prints)
    begins = b""
    continued = tracks.response(request.continues)
    if continued is not None:
        scope, begins = continued[0].scope, continued[1]
    elif signs.key is not None and signs.key.name == "conversation" and (held := tracks.in_scope(scope)):
        begins = _end_of(held[-1], turns, body)
    if begins:
        prints = fingerprint_of(turns, body=body, begins=begins, raw=raw)
    by_id, first = signs.key is not None, _text_of(turns)
    asked = SessionQuery(
        scope,
        by_id,
        head.client,
        prints,
        first,
        span_trace=signs.span_trace,
        retry_count=signs.retry_count,
        request_key=signs.request_key,
        continues=request.continues,
        continued=continued[0] if continued is not None else None,
        at_s=head.at_s,
    )
    prompt = raw_prompt(request) if raw and turns is request.turns else None
    return RequestFeatures(asked, signs, turns, begins, raw, prompt or "", None if prompt is None else RunningDigest())


def _scope(head: RequestHead, signs: SessionHints, prints: Fingerprint) -> str:
    """Where conversations are compared: within a session's id, else within a client's use of one system prompt.

    Without an id a system prompt that changes in more than dates and numbers is another's: many agents of one client
    may start with the same words.
    """
    if signs.key is not None:
        return f"id\0{signs.key.name}\0{signs.key.value}"
    return f"client\0{head.client}\0{prints.system_words.hex()}"


def _text_of(turns: Sequence[Turn]) -> str:
    """The text of the first turn behind the system prompt."""
    first = turns[count_system(turns)].part("text") if turns else None
    return first.text if first else ""


def _end_of(track: CachedTrace, turns: Sequence[Turn], body: bytes) -> bytes:
    """What a request goes on from whose history the server keeps: where the last one did, if it is that one again."""
    again = fingerprint_of(turns, body=body, begins=track.begins)
    return track.begins if again.chain[-1] == track.request else track.last_answer or track.request
