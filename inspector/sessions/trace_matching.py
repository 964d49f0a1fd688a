"""Finds where a request belongs: its session hints and digests, and which trace it continues, repeats or comes from.

The search first looks for the longest beginning of the conversation that a trace of its scope has. The scope is the
session's id or, without one, the client and its system prompt. The search then looks for the last messages, and then,
if the id is known, for other traces with that id.
"""

import re
from collections.abc import Callable, Iterator, Sequence, Set
from enum import StrEnum
from hashlib import blake2b
from typing import NamedTuple

from msgspec import Struct

from weaklink.inspector.model import ExternalId, Json, ParentWhy, RecognisedBy, Role, Turn
from weaklink.inspector.sessions import fingerprints
from weaklink.inspector.sessions.exchange import RequestHead
from weaklink.inspector.sessions.session_cache import CachedTrace, SessionCache, TracePosition
from weaklink.inspector.text import Range
from weaklink.inspector.wire.events import DecodedRequest
from weaklink.inspector.wire.provider_json import parse_json

RETRY_WITHIN_S = 120.0
"""How long after a first request the same request still counts as its repetition, if the client does not count.

SDKs and agents wait for a minute at most before they try again (those of openai and anthropic ignore a longer
`Retry-After`); the same words later are a new conversation.
"""
_SUMMARY = re.compile(r"summar|compact|previous conversation|ran out of context|continued from", re.IGNORECASE)
_SUMMARY_WITHIN = 2_000
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


class Relation(StrEnum):
    """How a request relates to a trace."""

    CONTINUES = "continues"
    REPEATS = "repeats"
    BEGINS = "begins"


class SessionQuery(Struct, frozen=True):
    """The request to search for: where to search, what to compare, and when it came.

    `first_words` is the text of the first message. `by_id`: the scope is an id from the client. `retry_count` is the
    client's count of repetitions, None if it does not count; `request_key` is the same for all attempts of one request.
    `continues` is the response whose history the request continues, `continued` the trace that contains it. `model` is
    the requested model, `body` a digest of the whole request, which the SDKs' own retries repeat byte for byte.
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
    model: str = ""
    body: bytes = b""


class Growth(NamedTuple):
    """How a prompt that is one text has grown: by an answer and by what is new, before and behind it.

    Both are from `start` on; behind them are `rest_length` code points of the prompt before.
    """

    start: int
    answer: Range
    rest_length: int


class SessionMatch(Struct, frozen=True):
    """Where a request belongs.

    `known` counts its messages that the trace has. `edited`: some of those may have other words than in the trace;
    `observed`: an answer among them was recorded when it came. `growth` is for a prompt that is one text and has grown.
    For a trace that begins, `trace` is its parent, None if it has none, and `why` is its relation to that.
    """

    relation: Relation
    trace: CachedTrace | None = None
    known: int = 0
    growth: Growth | None = None
    edited: bool = False
    observed: bool = False
    why: ParentWhy | None = None


def find_match(
    cache: SessionCache, query: SessionQuery, digests_so_far: Callable[[CachedTrace], Set[bytes]]
) -> SessionMatch:
    """Where the request belongs; see the module's docstring.

    `digests_so_far` returns the digests of the answers that a trace waits for, as far as they have arrived.
    """
    longest = cache.longest(query.scope, query.prints.chain)
    if longest is not None and (session_match := _of_chain(cache, query, *longest, digests_so_far)) is not None:
        return session_match
    if (session_match := _of_last_messages(cache, query)) is not None:
        return session_match
    if longest is not None and (longest[1].observed or (query.by_id and _has_prompt_of(query, longest[1].trace))):
        return _branch(query, *longest)
    if query.by_id and (others := cache.in_scope(query.scope)):
        return _of_same_id(query, others)
    elsewhere = cache.answered(query.client, query.prints.chain[1:])
    if elsewhere is not None and not query.prints.calls_in_words:
        return SessionMatch(Relation.BEGINS, elsewhere, why=ParentWhy.RESUME)
    return _under_other_prompt(cache, query) or SessionMatch(Relation.BEGINS)


def _under_other_prompt(cache: SessionCache, query: SessionQuery) -> SessionMatch | None:
    """The trace that goes on under another system prompt, with its last answer in other words.

    At its step limit, smolagents asks for an answer to what "an agent tried", with the calls as texts (1.26).
    """
    prints = query.prints
    for known in range(len(prints.messages) - 1, 1, -1):
        trace = cache.asked(query.client, prints.chain[known]) if prints.roles[known] is Role.ASSISTANT else None
        if trace is not None and trace.complete and not trace.in_flight and trace.model == query.model:
            return SessionMatch(Relation.CONTINUES, trace, known + 1, edited=True)
    return None


def _of_chain(
    cache: SessionCache,
    query: SessionQuery,
    known: int,
    point: TracePosition,
    digests_so_far: Callable[[CachedTrace], Set[bytes]],
) -> SessionMatch | None:
    """The trace whose end this request continues, or whose last request it repeats; None if it branches off earlier."""
    prints = query.prints
    here = prints.chain[known]
    ends = _likeliest_last(query, cache.ends(query.scope, here))
    answered = [trace for trace in ends if here in trace.answers and query.continued in (None, trace)]
    if answered:
        return SessionMatch(Relation.CONTINUES, answered[-1], known)
    waiting = [trace for trace in ends if trace.request == here]
    if known == len(prints.messages):
        same = [trace for trace in waiting if trace.continues == query.continues]
        return _again(cache, query, known, point, same)
    waiting = [trace for trace in waiting if query.continued in (None, trace)]
    if waiting and prints.roles[known] is Role.ASSISTANT:
        arriving = [trace for trace in waiting if trace.in_flight and len(waiting) > 1]
        arrived = {trace.key: digests_so_far(trace) for trace in arriving}
        matching = next((trace for trace in arriving if prints.messages[known] in arrived[trace.key]), None)
        begun = [trace for trace in waiting if arrived.get(trace.key, True)]
        trace = matching or max(begun or waiting, key=_answer_likelihood)
        return SessionMatch(Relation.CONTINUES, trace, known + 1, edited=True)
    unanswered = [trace for trace in waiting if not (trace.complete or trace.in_flight)]
    if unanswered:
        return SessionMatch(Relation.CONTINUES, unanswered[-1], known)
    return _waiting_sibling(cache, query, point.trace) or _after_refused_answer(query, known, waiting)


def _again(
    cache: SessionCache, query: SessionQuery, known: int, point: TracePosition, same: list[CachedTrace]
) -> SessionMatch | None:
    """The same messages again: a retry, a sibling's request, or the same words on another day.

    Evidence of a retry is the request's key, the client's count of repetitions, or an earlier attempt that failed or,
    later in a conversation or with a session's id, whose call nobody can read; the last two only if the client does not
    count, or if no other request with these messages is open, since a client that counts marks a first attempt as such.
    Without any, a request that overlaps another one is its sibling, unless a sibling that got the same answer earlier
    in the conversation has not continued yet: then it is the request of that sibling. Without overlap it is the same
    request again, unless the trace has siblings already (samples that are drawn one after the other), or the client
    counts this one as a first attempt (an agent that is started twice).
    Without a session's id, the first request to another model is no retry but a sibling: a program that compares models
    asks each the same. Later in a conversation, another model takes it over.
    """
    alike = [trace for trace in same if point.observed or _same_speaker(query, trace)]
    recent = [trace for trace in alike if point.observed or _is_recent(query, trace)]
    if query.request_key and (keyed := [trace for trace in same if query.request_key in trace.request_keys]):
        return SessionMatch(Relation.REPEATS, keyed[0], known)
    if query.retry_count and (counted := _counted_retry(cache, query, query.retry_count, point, same)) is not None:
        return counted
    repeatable = [trace for trace in recent if point.observed or query.by_id or trace.model == query.model]
    in_agent = point.observed or query.by_id  # otherwise they may be samples of one prompt
    failed = [
        trace for trace in repeatable if not trace.in_flight and (not trace.complete or (trace.unreadable and in_agent))
    ]
    failed.sort(key=lambda trace: trace.body != query.body)
    if failed and query.retry_count is None:
        return SessionMatch(Relation.REPEATS, failed[0], known)
    if (waiting := _waiting_sibling(cache, query, point.trace)) is not None:
        return waiting
    prompted = [trace for trace in same if point.observed or trace.system == query.prints.system]
    if any(trace.in_flight for trace in prompted):
        return SessionMatch(Relation.BEGINS, prompted[0], known, observed=point.observed, why=ParentWhy.SIBLING)
    if failed:
        return SessionMatch(Relation.REPEATS, failed[0], known)
    counts_as_first = query.retry_count == 0 and any(trace.complete for trace in recent)
    if counts_as_first or (recent and not repeatable) or any(trace.has_siblings for trace in recent):
        return SessionMatch(Relation.BEGINS, recent[0], known, observed=point.observed, why=ParentWhy.SIBLING)
    return SessionMatch(Relation.REPEATS, repeatable[-1], known) if repeatable else None


def _counted_retry(
    cache: SessionCache, query: SessionQuery, count: int, point: TracePosition, same: list[CachedTrace]
) -> SessionMatch | None:
    """Where a request belongs of which a client says that it is the `count`-th repetition.

    A client that counts sends the same bytes again. Of several traces, one whose last attempt failed comes first, then
    one that still waits for its answer, on which the client may have given up; a gateway may send a failed attempt
    again under the same count. But if in between another agent's first attempt was taken for the repetition of the one
    that failed, this is the request of a sibling.
    """

    def unlikelihood(trace: CachedTrace) -> tuple[bool, ...]:
        return (
            trace.body != query.body,
            trace.model != query.model,
            trace.system != query.prints.system,
            trace.retry_count not in (count - 1, None),
            not trace.has_failed,
            not trace.in_flight,
        )

    known = len(query.prints.messages)
    counted = [
        trace
        for trace in same
        if (before := trace.retry_count) is None or before < count or (before == count and trace.has_failed)
    ]
    likeliest = min(counted, key=unlikelihood, default=None)
    is_certain = likeliest is not None and not any(unlikelihood(likeliest)[:5])
    is_overtaken = not is_certain and cache.resume_overtaken(query.scope, query.body, count - 1)
    if likeliest is not None and not is_overtaken:
        return SessionMatch(Relation.REPEATS, likeliest, known)
    if same or is_overtaken:
        return SessionMatch(Relation.BEGINS, point.trace, known, observed=point.observed, why=ParentWhy.SIBLING)
    return None


def _waiting_sibling(cache: SessionCache, query: SessionQuery, other: CachedTrace) -> SessionMatch | None:
    """The trace that ends with the last answer of this request, as a sibling of `other` that got the same answer.

    Or as a conversation that began with the same words a little later than `other`, so that it is no sibling: agents
    that are started together often do. Or the trace with the response that the request names, if another trace with
    the same words has continued.
    """
    known = query.prints.last_answer
    here = query.prints.chain[known]
    for trace in reversed(_likeliest_last(query, cache.ends(query.scope, here))):
        if here not in trace.answers:
            continue
        alike = trace.group == other.group or (_same_speaker(query, trace) and _is_recent(query, trace))
        if trace is query.continued or (not query.continued and alike):
            return SessionMatch(Relation.CONTINUES, trace, known)
    return None


def _after_refused_answer(query: SessionQuery, known: int, waiting: list[CachedTrace]) -> SessionMatch | None:
    """The trace whose answer the agent left out, and said why: mini-swe-agent, of an answer without a call.

    The request is the last one of the trace with nothing but words of the user after it. Without an id they must come
    soon, since another conversation may begin with the same words.
    """
    if query.prints.last_answer > known or query.prints.roles[known] is not Role.USER:
        return None
    refusing = [trace for trace in waiting if not trace.in_flight and _same_speaker(query, trace)]
    recent = [trace for trace in refusing if query.by_id or _is_recent(query, trace)]
    return SessionMatch(Relation.CONTINUES, recent[-1], known) if recent else None


def _likeliest_last(query: SessionQuery, traces: tuple[CachedTrace, ...]) -> list[CachedTrace]:
    """The traces in the order in which they came, but those with the same spans, prompt, model and client last."""
    return sorted(
        traces,
        key=lambda trace: (
            _same_spans(query, trace),
            trace.system == query.prints.system,
            trace.model == query.model,
            trace.client == query.client,
        ),
    )


def _answer_likelihood(trace: CachedTrace) -> int:
    """How likely an unknown answer belongs to this trace: one still arriving (2), broken off (1) or rewritten (0)."""
    return 2 if trace.in_flight else 1 if not trace.complete else 0


def _same_speaker(query: SessionQuery, trace: CachedTrace) -> bool:
    """Whether spans and system prompt are the same; another prompt is another agent, even if only a number differs."""
    return query.prints.system == trace.system and _same_spans(query, trace)


def _same_spans(query: SessionQuery, trace: CachedTrace) -> bool:
    return not (query.span_trace and trace.span_trace and query.span_trace != trace.span_trace)


def _is_recent(query: SessionQuery, trace: CachedTrace) -> bool:
    """Whether the same words can be the same request, and are not those of another day."""
    if trace.in_flight or query.at_s is None or trace.last_s is None:
        return True
    return query.at_s - trace.last_s <= RETRY_WITHIN_S


def _of_last_messages(cache: SessionCache, query: SessionQuery) -> SessionMatch | None:
    """The trace whose last two messages are in the request, although those before them were removed or rewritten.

    An answer with calls that have ids is enough, without the message before it.
    Two messages may be alike in any two conversations; without an id the first message must be known as well.
    """
    messages, roles = query.prints.messages, query.prints.roles
    for index in range(len(messages) - 1, 0, -1):
        if roles[index] is not Role.ASSISTANT:
            continue
        ending = cache.windows(query.scope, messages[index - 1], messages[index])
        ending = ending or cache.windows(query.scope, b"", messages[index])
        if not ending:
            continue
        trace = _likeliest_last(query, ending)[-1]
        if messages[0] in trace.known or (query.by_id and len(messages) > trace.size):
            return SessionMatch(Relation.CONTINUES, trace, index + 1, edited=True)
        if query.by_id:
            return SessionMatch(Relation.BEGINS, trace, why=ParentWhy.RESUME)  # a summary precedes what was kept
    return None


def _has_prompt_of(query: SessionQuery, trace: CachedTrace) -> bool:
    """Whether it is the same agent: two agents of one session may begin with the same words of the user."""
    return query.prints.system_words == trace.system_words


def _branch(query: SessionQuery, known: int, point: TracePosition) -> SessionMatch:
    """The request branches off a trace before its end: with answers that are not in it, or with other words."""
    strange = not point.observed and Role.ASSISTANT in query.prints.roles[known:]
    why = ParentWhy.RESUME if strange else ParentWhy.FORK
    return SessionMatch(Relation.BEGINS, query.continued or point.trace, known, observed=point.observed, why=why)


def _of_same_id(query: SessionQuery, others: tuple[CachedTrace, ...]) -> SessionMatch:
    """The session starts again under its id: with another history, or with another agent."""
    system = query.prints.system_words
    alike = next((trace for trace in reversed(others) if trace.system_words == system and not trace.in_flight), None)
    if alike is not None and (query.prints.last_answer or _SUMMARY.search(query.first_words[:_SUMMARY_WITHIN])):
        return SessionMatch(Relation.BEGINS, alike, why=ParentWhy.RESUME)
    return SessionMatch(Relation.BEGINS, others[0], why=ParentWhy.SUBAGENT)


class SessionHints(Struct, frozen=True):
    """The ids that a request has, each under the name that its source has, in order of precedence.

    `key` is the one that identifies the session, None if none does: an end user (`user`), a trace of spans
    (`traceparent`) or a cache key that many sessions may share is no session. `span_trace` is the trace id of
    `traceparent`, `""` without one. `retry_count` is the client's own count of repetitions, 0 for the first attempt,
    None if it does not count. `request_key` is a key that the client sends with each attempt of one request, `""` if it
    sends none.
    """

    ids: tuple[ExternalId, ...] = ()
    key: ExternalId | None = None
    recognised_by: RecognisedBy = RecognisedBy.PREFIX_CHAIN
    span_trace: str = ""
    retry_count: int | None = None
    request_key: str = ""


def read_session_hints(head: RequestHead, json: Json) -> SessionHints:
    """The session's ids in a request's headers and body, in order of precedence; never raises.

    A value of more than 512 characters is no id. `metadata.user_id` is from Claude Code: a JSON text with a
    `session_id`, or the older `user_..._session_UUID`. `prompt_cache_key` is the session for Codex, which puts a
    unique id there; any other value may be shared by all of an application's sessions.
    """
    headers = {name.lower(): value.strip() for name, value in reversed(head.headers)}
    hints = list(_hints(headers, json if isinstance(json, dict) else {}))
    key, by = next(((value, by) for value, by, is_session in hints if is_session), (None, RecognisedBy.PREFIX_CHAIN))
    ids = tuple(dict.fromkeys(value for value, _, _ in hints))
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
    """The highest count in a header; a proxy may count in addition to the client."""
    counts = [int(word) for name in _RETRY_COUNTS if (word := headers.get(name, "")).isascii() and _is_count(word)]
    attempts = [int(match[1]) for name in _ATTEMPTS if (match := _ATTEMPT.fullmatch(headers.get(name, "")))]
    return max([*counts, *(max(attempt - 1, 0) for attempt in attempts)], default=None)


def _is_count(word: str) -> bool:
    return word.isdigit() and len(word) < 9


class RequestFeatures(Struct, frozen=True):
    """A request, read for the search.

    `begins` is the chain that it continues if the server keeps the history. `raw`: its prompt is one raw text; `prompt`
    is that text if no template splits it into turns, or the text of the only message, to which some agents add all that
    follows (LangChain's `{agent_scratchpad}`); None for any other request.
    """

    query: SessionQuery
    hints: SessionHints
    turns: tuple[Turn, ...]
    begins: bytes
    raw: bool
    prompt: str | None

    @property
    def gaps(self) -> tuple[fingerprints.Gap, ...]:
        """Where the answer may be added to the prompt; to a raw one, only at its end."""
        gaps = () if self.prompt is None else fingerprints.gaps_of(self.prompt)
        return gaps[-1:] if self.raw else gaps

    @property
    def prefill(self) -> Turn | None:
        """The beginning of the answer, if the client wrote one at the end of the conversation."""
        last = self.turns[-1] if self.turns else None
        return last if last is not None and last.role is Role.ASSISTANT and not self.raw else None


def request_features(
    cache: SessionCache, head: RequestHead, request: DecodedRequest, body: bytes, json: Json
) -> RequestFeatures:
    """Read a request in order to compare it with the traces of `cache`."""
    hints = read_session_hints(head, json)
    raw = fingerprints.is_raw(request)
    turns = fingerprints.split_prompt(request) if raw else fingerprints.refusals_apart(request.turns)
    prints = fingerprints.fingerprint_of(turns, body=body, raw=raw)
    scope = _scope(head, hints, prints)
    begins = b""
    continued = cache.response(request.continues)
    if continued is not None:
        scope, begins = continued[0].scope, continued[1]
    elif hints.key is not None and hints.key.name == "conversation" and (held := cache.in_scope(scope)):
        begins = _end_of(held[-1], turns, body)
    if begins:
        prints = fingerprints.fingerprint_of(turns, body=body, begins=begins, raw=raw)
    by_id, first = hints.key is not None, _text_of(turns)
    query = SessionQuery(
        scope,
        by_id,
        head.client,
        prints,
        first,
        span_trace=hints.span_trace,
        retry_count=hints.retry_count,
        request_key=hints.request_key,
        continues=request.continues,
        continued=continued[0] if continued is not None else None,
        at_s=head.at_s,
        model=request.model,
        body=blake2b(body, digest_size=16).digest(),
    )
    prompt = fingerprints.only_text(turns) if turns is request.turns and not begins else None
    return RequestFeatures(query, hints, turns, begins, raw, prompt)


def _scope(head: RequestHead, hints: SessionHints, prints: fingerprints.Fingerprint) -> str:
    """Where conversations are compared: within a session's id, else within a client's use of one system prompt.

    Without an id, a system prompt that differs in more than dates and numbers is that of another agent: many agents of
    one client may start with the same words.
    """
    if hints.key is not None:
        return f"id\0{hints.key.name}\0{hints.key.value}"
    return f"client\0{head.client}\0{prints.system_words.hex()}"


def _text_of(turns: Sequence[Turn]) -> str:
    """The text of the first turn after the system prompt."""
    first = turns[fingerprints.count_system(turns)].part("text") if turns else None
    return first.text if first else ""


def _end_of(trace: CachedTrace, turns: Sequence[Turn], body: bytes) -> bytes:
    """The chain that a request continues if the server keeps its history; for the same request again, its old one."""
    again = fingerprints.fingerprint_of(turns, body=body, begins=trace.begins)
    return trace.begins if again.chain[-1] == trace.request else trace.last_answer or trace.request
