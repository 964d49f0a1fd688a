"""Where a request belongs: its session hints and digests, and which trace it continues, repeats or comes from.

The longest beginning of its conversation that a trace of its scope has decides, the scope being the session's id, or
without one the client and its system prompt. Then its last messages, then, if the id is known, what else has that id.
"""

import re
from collections.abc import Callable, Iterator, Sequence, Set
from enum import StrEnum

from msgspec import Struct

from inspector.model import ExternalId, Json, ParentWhy, RecognisedBy, Role, Turn
from inspector.scanning import lazy_pattern
from inspector.sessions import fingerprints
from inspector.sessions.exchange import RequestHead
from inspector.sessions.session_cache import CachedTrace, SessionCache, TracePosition
from inspector.wire.events import DecodedRequest
from inspector.wire.provider_json import parse_json

RETRY_WITHIN_S = 120.0
"""How long after it a first request may come again and still be its repetition, where the client does not count.

SDKs and agents wait for a minute at most before they try again (`Retry-After` beyond that is ignored by openai's or
anthropic's); the same words later are a new conversation.
"""
_SUMMARY = lazy_pattern(r"summar|compact|previous conversation|ran out of context|continued from", re.IGNORECASE)
_SUMMARY_WITHIN = 2_000
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


class Relation(StrEnum):
    """What a request is to a trace."""

    CONTINUES = "continues"
    REPEATS = "repeats"
    BEGINS = "begins"


class SessionQuery(Struct, frozen=True):
    """A request in the words of this search: where to search, what to compare, and when it came.

    `first_words` is the text of the first message. `by_id` says that the scope is an id that the client gave.
    `retry_count` is the client's count of repetitions, None where it does not count; `request_key` is the same for all
    attempts of one request. `continues` is the response whose history the request goes on with, `continued` the trace
    that holds it.
    """

    scope: str
    by_id: bool
    client: str
    prints: fingerprints.Fingerprint
    first_words: str = ""
    span_trace: str = ""
    retry_count: int | None = None
    request_key: str = ""
    continues: str = ""
    continued: CachedTrace | None = None
    at_s: float | None = None


class SessionPlace(Struct, frozen=True):
    """Where a request belongs.

    `known` counts its messages that the trace has, `edited` says that some of those may have other words than in the
    trace, `own` that an answer among them was recorded as it came. `cut` is for a raw prompt that is one text: how many
    of its code points are known. For a trace that begins, `track` is its parent, None where it has none, and `why` says
    what it is to it.
    """

    relation: Relation
    track: CachedTrace | None = None
    known: int = 0
    cut: int = 0
    edited: bool = False
    own: bool = False
    why: ParentWhy | None = None


def find_match(tracks: SessionCache, asked: SessionQuery, arrived: Callable[[CachedTrace], Set[bytes]]) -> SessionPlace:
    """Where the request belongs; see the head of this module.

    `arrived` gives the digests of what came so far of the answers that a track waits for.
    """
    longest = tracks.longest(asked.scope, asked.prints.chain)
    if longest is not None and (place := _of_chain(tracks, asked, *longest, arrived)) is not None:
        return place
    if (place := _of_last_messages(tracks, asked)) is not None:
        return place
    if longest is not None and (longest[1].own or (asked.by_id and _has_prompt_of(asked, longest[1].track))):
        return _branch(asked, *longest)
    if asked.by_id and (others := tracks.in_scope(asked.scope)):
        return _of_same_id(asked, others)
    elsewhere = tracks.answered(asked.client, asked.prints.chain[1:])
    if elsewhere is not None:
        return SessionPlace(Relation.BEGINS, elsewhere, why=ParentWhy.RESUME)
    return SessionPlace(Relation.BEGINS)


def _of_chain(
    tracks: SessionCache,
    asked: SessionQuery,
    at: int,
    point: TracePosition,
    arrived: Callable[[CachedTrace], Set[bytes]],
) -> SessionPlace | None:
    """The trace whose end this request goes on from, or whose last request it is; None where it leaves it earlier."""
    prints = asked.prints
    here = prints.chain[at]
    ends = _likeliest_last(asked, tracks.ends(asked.scope, here))
    answered = [track for track in ends if here in track.answers and asked.continued in (None, track)]
    if answered:
        return SessionPlace(Relation.CONTINUES, answered[-1], at)
    asking = [track for track in ends if track.request == here]
    if at == len(prints.messages):
        same = [track for track in asking if track.continues == asked.continues]
        return _again(tracks, asked, at, point, same)
    asking = [track for track in asking if asked.continued in (None, track)]
    if asking and prints.roles[at] is Role.ASSISTANT:
        arriving = (track for track in asking if track.in_flight and len(asking) > 1)
        said = next((track for track in arriving if prints.messages[at] in arrived(track)), None)
        track = said or max(asking, key=_may_have_said_otherwise)
        return SessionPlace(Relation.CONTINUES, track, at + 1, edited=True)
    unanswered = [track for track in asking if not (track.complete or track.in_flight)]
    return (
        SessionPlace(Relation.CONTINUES, unanswered[-1], at)
        if unanswered
        else _waiting_sibling(tracks, asked, point.track)
    )


def _again(
    tracks: SessionCache, asked: SessionQuery, at: int, point: TracePosition, same: list[CachedTrace]
) -> SessionPlace | None:
    """The same messages once more: a retry, a sibling's request, or the same words on another day.

    Signs of a retry are the request's key, the client's count of repetitions, and an earlier attempt that failed, the
    last only where the client does not count: one that counts says of a first attempt that it is one. Without any, a
    request that overlaps another one is its sibling, unless a sibling that got the same answer earlier in the
    conversation has yet to go on: then it is that one's. Without overlap it is the same request once more, unless the
    trace has siblings already: samples that are taken one after the other.
    """
    alike = [track for track in same if point.own or _same_speaker(asked, track)]
    recent = [track for track in alike if point.own or _is_recent(asked, track)]
    if (counted := _counted_retry(asked, same)) is not None:
        return SessionPlace(Relation.REPEATS, counted, at)
    failed = [track for track in recent if not (track.in_flight or track.complete)]
    if failed and asked.retry_count is None:
        return SessionPlace(Relation.REPEATS, failed[0], at)
    if (waiting := _waiting_sibling(tracks, asked, point.track)) is not None:
        return waiting
    prompted = [track for track in same if point.own or track.system == asked.prints.system]
    if any(track.in_flight for track in prompted):
        return SessionPlace(Relation.BEGINS, prompted[0], at, own=point.own, why=ParentWhy.SIBLING)
    if failed:
        return SessionPlace(Relation.REPEATS, failed[0], at)
    if any(track.has_siblings for track in recent):
        return SessionPlace(Relation.BEGINS, recent[0], at, own=point.own, why=ParentWhy.SIBLING)
    return SessionPlace(Relation.REPEATS, recent[-1], at) if recent else None


def _counted_retry(asked: SessionQuery, same: list[CachedTrace]) -> CachedTrace | None:
    """The trace whose request is sent again, as the client says; None where it does not say so.

    A client that counts has made as many attempts before; of several traces, one whose last attempt failed comes first,
    then one that still waits for its answer, which the client may have given up.
    """
    if asked.request_key and (keyed := [track for track in same if asked.request_key in track.request_keys]):
        return keyed[0]
    if not asked.retry_count:
        return None
    count = asked.retry_count
    return min(
        same,
        key=lambda track: (
            track.system != asked.prints.system,
            track.attempts != count,
            not track.in_flight and track.complete,
            bool(track.in_flight),
        ),
        default=None,
    )


def _waiting_sibling(tracks: SessionCache, asked: SessionQuery, other: CachedTrace) -> SessionPlace | None:
    """The trace that ends with the last answer of this request, which a sibling of `other` got word for word too.

    Or the trace that holds the response that the request names, where another with the same words has gone on.
    """
    at = asked.prints.last_answer
    here = asked.prints.chain[at]
    for track in reversed(_likeliest_last(asked, tracks.ends(asked.scope, here))):
        if here in track.answers and (track is asked.continued or (not asked.continued and track.group == other.group)):
            return SessionPlace(Relation.CONTINUES, track, at)
    return None


def _likeliest_last(asked: SessionQuery, tracks: tuple[CachedTrace, ...]) -> list[CachedTrace]:
    """In the order in which they came where they are, those of the same spans, prompt and client at the end."""
    return sorted(
        tracks,
        key=lambda track: (
            _same_spans(asked, track),
            track.system == asked.prints.system,
            track.client == asked.client,
        ),
    )


def _may_have_said_otherwise(track: CachedTrace) -> int:
    """How likely an unknown answer is this trace's: one that is on its way, one that broke off, or one rewritten."""
    return 2 if track.in_flight else 1 if not track.complete else 0


def _same_speaker(asked: SessionQuery, track: CachedTrace) -> bool:
    """Spans of another trace ask for themselves, and so does another system prompt, if it differs only in a number."""
    return asked.prints.system == track.system and _same_spans(asked, track)


def _same_spans(asked: SessionQuery, track: CachedTrace) -> bool:
    return not (asked.span_trace and track.span_trace and asked.span_trace != track.span_trace)


def _is_recent(asked: SessionQuery, track: CachedTrace) -> bool:
    """Whether the same words are the same request, and not those of another day."""
    if track.in_flight or asked.at_s is None or track.last_s is None:
        return True
    return asked.at_s - track.last_s <= RETRY_WITHIN_S


def _of_last_messages(tracks: SessionCache, asked: SessionQuery) -> SessionPlace | None:
    """The trace whose last two messages are in the request, though what is before them was cut or written again.

    An answer with calls that have ids may stand for both.
    Two messages may be alike in any two conversations; without an id the first must be known as well.
    """
    messages, roles = asked.prints.messages, asked.prints.roles
    for at in range(len(messages) - 1, 0, -1):
        if roles[at] is not Role.ASSISTANT:
            continue
        ending = tracks.windows(asked.scope, messages[at - 1], messages[at])
        ending = ending or tracks.windows(asked.scope, b"", messages[at])
        if not ending:
            continue
        track = _likeliest_last(asked, ending)[-1]
        if messages[0] in track.known or (asked.by_id and len(messages) > track.size):
            return SessionPlace(Relation.CONTINUES, track, at + 1, edited=True)
        if asked.by_id:
            return SessionPlace(Relation.BEGINS, track, why=ParentWhy.RESUME)  # a summary is before what was kept
    return None


def _has_prompt_of(asked: SessionQuery, track: CachedTrace) -> bool:
    """Whether it is the same agent at work: two of one session may begin with the same words of the user."""
    return asked.prints.system_words == track.system_words


def _branch(asked: SessionQuery, at: int, point: TracePosition) -> SessionPlace:
    """It leaves a trace before its end: with answers that are not in it, or with other words."""
    strange = not point.own and Role.ASSISTANT in asked.prints.roles[at:]
    why = ParentWhy.RESUME if strange else ParentWhy.FORK
    return SessionPlace(Relation.BEGINS, asked.continued or point.track, at, own=point.own, why=why)


def _of_same_id(asked: SessionQuery, others: tuple[CachedTrace, ...]) -> SessionPlace:
    """The session starts again under its id: its history replaced, or somebody else at work within it."""
    system = asked.prints.system_words
    alike = next((track for track in reversed(others) if track.system_words == system and not track.in_flight), None)
    if alike is not None and (asked.prints.last_answer or _SUMMARY.search(asked.first_words[:_SUMMARY_WITHIN])):
        return SessionPlace(Relation.BEGINS, alike, why=ParentWhy.RESUME)
    return SessionPlace(Relation.BEGINS, others[0], why=ParentWhy.SUBAGENT)


class SessionHints(Struct, frozen=True):
    """The ids that a request has, each under its source's own name, in the order in which they count.

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
    text: fingerprints.RunningDigest | None

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
    raw = fingerprints.is_raw(request)
    turns = fingerprints.split_prompt(request) if raw else request.turns
    prints = fingerprints.fingerprint_of(turns, body=body, raw=raw)
    scope = _scope(head, signs, prints)
    begins = b""
    continued = tracks.response(request.continues)
    if continued is not None:
        scope, begins = continued[0].scope, continued[1]
    elif signs.key is not None and signs.key.name == "conversation" and (held := tracks.in_scope(scope)):
        begins = _end_of(held[-1], turns, body)
    if begins:
        prints = fingerprints.fingerprint_of(turns, body=body, begins=begins, raw=raw)
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
    prompt = fingerprints.raw_prompt(request) if raw and turns is request.turns else None
    return RequestFeatures(
        asked, signs, turns, begins, raw, prompt or "", None if prompt is None else fingerprints.RunningDigest()
    )


def _scope(head: RequestHead, signs: SessionHints, prints: fingerprints.Fingerprint) -> str:
    """Where conversations are compared: within a session's id, else within a client's use of one system prompt.

    Without an id a system prompt that changes in more than dates and numbers is another's: many agents of one client
    may start with the same words.
    """
    if signs.key is not None:
        return f"id\0{signs.key.name}\0{signs.key.value}"
    return f"client\0{head.client}\0{prints.system_words.hex()}"


def _text_of(turns: Sequence[Turn]) -> str:
    """The text of the first turn behind the system prompt."""
    first = turns[fingerprints.count_system(turns)].part("text") if turns else None
    return first.text if first else ""


def _end_of(track: CachedTrace, turns: Sequence[Turn], body: bytes) -> bytes:
    """What a request goes on from whose history the server keeps: where the last one did, if it is that one again."""
    again = fingerprints.fingerprint_of(turns, body=body, begins=track.begins)
    return track.begins if again.chain[-1] == track.request else track.last_answer or track.request
