"""Sends prepared requests to a model server, within bounds, and reports each answer to an observer as a proxy would.

A busy server (429, 500, 502, 503, 504, 529) gets the request again: after the time in its `retry-after`, else after 1,
2, 4 seconds and so on. All other requests wait as well. A server that refuses a request for another reason would refuse
every request, so the experiment ends. Only answers with a status below 300 are reported.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import count
from urllib.parse import urlsplit

import aiohttp
from msgspec import Struct
from yarl import URL

from weaklink.inspector.apis import gemini
from weaklink.inspector.apis.anthropic import messages as anthropic
from weaklink.inspector.capture.proxy.config import parse_upstream
from weaklink.inspector.capture.proxy.forwarding import decoded_headers, describe_error
from weaklink.inspector.capture.safeguards import now_s
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.sessions.exchange import ExchangeEnd, ExchangeObserver, Observes, RequestHead

SESSION_HEADER = "x-session-id"
"""The header that gives an observer the experiment's id of a request; it is never sent."""

NO_CONNECTION = "no connection"
"""How the failure of a request begins for which nothing accepted a connection."""
_BUSY = frozenset({429, 500, 502, 503, 504, 529})
_ATTEMPTS = 6
_MAX_DELAY_S = 600.0
_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=600)
_MAX_QUOTE = 300
_KEYS = {"openrouter.ai": "OPENROUTER_API_KEY", "api.groq.com": "GROQ_API_KEY"}


class ResendStoppedError(WeaklinkError):
    """No more requests are sent because a bound is reached or the server refuses; the message says which."""


class RequestRefusedError(ResendStoppedError):
    """The server refused a request with `status`; the message has the server's own words."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class ResendTarget:
    """Where requests go: the server's address up to the API's version, and the path after it.

    `headers` contain the key, so they are never shown or stored; `key` is the key alone, `""` if there is none.
    """

    upstream: str
    path: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    key: str = field(default="", repr=False)

    @property
    def url(self) -> str:
        """The full URL."""
        return self.upstream + self.path


def target_of(
    upstream: str, api: str, path: str, variables: Mapping[str, str], *, key_variable: str | None = None
) -> ResendTarget:
    """The target for requests to an API; the key is read from its provider's variable, or from `key_variable`.

    An address without a path gets the version that clients add (`/v1`). ProxyConfigError for an invalid address.
    """
    base = parse_upstream(upstream if "://" in upstream else f"http://{upstream}").url
    if not urlsplit(base).path.strip("/"):
        base += _version(api)
    elif urlsplit(base).path.rstrip("/") == "/api" and path.startswith("/api/"):
        base = base.removesuffix("/api")
    host = urlsplit(base).hostname or ""
    name = key_variable or _KEYS.get(host) or _key_variable(api, variables)
    key = variables.get(name, "").strip()
    return ResendTarget(base, path, _key_headers(api, key), key)


def _version(api: str) -> str:
    if api == gemini.API:
        return "/v1beta"
    return "" if api.startswith("ollama") else "/v1"


def _key_variable(api: str, variables: Mapping[str, str]) -> str:
    if api == anthropic.API:
        return "ANTHROPIC_API_KEY"
    if api == gemini.API:
        return "GEMINI_API_KEY" if "GEMINI_API_KEY" in variables else "GOOGLE_API_KEY"
    return "OPENAI_API_KEY"


def _key_headers(api: str, key: str) -> tuple[tuple[str, str], ...]:
    plain: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)
    if api == anthropic.API:
        plain += (("anthropic-version", "2023-06-01"),)
    if not key:
        return plain
    match api:
        case anthropic.API:
            return (*plain, ("x-api-key", key))
        case gemini.API:
            return (*plain, ("x-goog-api-key", key))
    return (*plain, ("authorization", f"Bearer {key}"))


class SpendingBounds(Struct):
    """Limits on requests (retries included) and on tokens (of prompts and answers), and what was used so far.

    Before a request, the estimate of its prompt and the limit of its answer are reserved, so tokens stay within the
    bound as far as the estimate is right. A request without a limit reserves the length of the longest answer so far.
    """

    max_requests: int | None = None
    max_tokens: int | None = None
    requests: int = 0
    tokens: int = 0
    reserved: int = 0
    longest_answer: int = 0

    def reserve(self, prompt: int, answer: int | None) -> int:
        """Reserve tokens for one request; returns how many. ResendStoppedError if a bound is reached."""
        if self.max_requests is not None and self.requests >= self.max_requests:
            limit_words = "1 request" if self.max_requests == 1 else f"{self.max_requests:,} requests"
            raise ResendStoppedError(f"the limit of {limit_words} is reached (`--max-requests`)")
        needed = prompt + (self.longest_answer if answer is None else answer)
        if self.max_tokens is not None and self.tokens + self.reserved + needed > self.max_tokens:
            raise ResendStoppedError(f"the limit of {self.max_tokens:,} tokens is reached (`--max-tokens`)")
        self.requests += 1
        self.reserved += needed
        return needed

    def settle(self, reserved: int, prompt: int, answer: int) -> None:
        """Release what was reserved, and count what was used."""
        self.reserved -= reserved
        self.tokens += prompt + answer
        self.longest_answer = max(self.longest_answer, answer)


class Resender(Struct):
    """Sends requests over one session; `hide` removes secrets from a server's messages before they are shown.

    `failure` is why the last attempt failed, `""` if it did not.
    """

    session: aiohttp.ClientSession
    target: ResendTarget
    observes: Observes
    bounds: SpendingBounds
    hide: Callable[[str], str]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    failure: str = ""
    _until_s: float = 0.0

    async def send(
        self, body: bytes, id: str, prompt: int, limit: int | None, *, target: ResendTarget | None = None
    ) -> tuple[int, str]:
        """Send one request, with retries; returns the tokens reserved for it and why it failed (`""` if it did not).

        `target` is another path of the same server. ResendStoppedError if a bound is reached or the server refuses.
        """
        for attempt in count(1):
            await self._wait()
            reserved = self.bounds.reserve(prompt, limit)
            try:
                failure, delay_s = await self._attempt(body, id, target or self.target)
            except BaseException:
                self.bounds.settle(reserved, 0, 0)
                raise
            self.failure = failure
            if delay_s is None:
                return reserved, failure
            self.bounds.settle(reserved, 0, 0)
            if attempt == _ATTEMPTS:
                return 0, failure
            self._until_s = max(self._until_s, _clock() + (delay_s or 2.0 ** (attempt - 1)))
        raise AssertionError("count() does not end")

    async def _wait(self) -> None:
        while (left_s := self._until_s - _clock()) > 0:
            await self.sleep(left_s)

    async def _attempt(self, body: bytes, id_: str, target: ResendTarget) -> tuple[str, float | None]:
        """One attempt: why it failed, and the delay before the next one in seconds (0: unknown, None: no retry)."""
        began_s = now_s()
        try:
            answer = await self.session.post(
                URL(target.url, encoded=True),
                data=body,
                headers=list(target.headers),
                allow_redirects=False,
            )
        except aiohttp.ClientConnectorError as error:
            return f"{NO_CONNECTION}: {describe_error(error)}", 0.0
        except (aiohttp.ClientError, OSError) as error:
            return f"no answer: {describe_error(error)}", 0.0
        async with answer:
            if answer.status >= 300:
                return await self._refused(answer)
            head = RequestHead(
                "POST",
                target.path,
                ((SESSION_HEADER, id_),),
                upstream=target.upstream,
                client="weaklink ask",
                at_s=began_s,
            )
            observer = self.observes.began(head)
            observer.request_arrived(body)
            observer.answer_began(answer.status, decoded_headers(answer.raw_headers), now_s())
            return await _read(answer, observer), None

    async def _refused(self, answer: aiohttp.ClientResponse) -> tuple[str, float]:
        message = self.hide(_error_message(await answer.read()))
        failure = f"the server answered {answer.status}{f': {message}' if message else ''}"
        if answer.status not in _BUSY:
            raise RequestRefusedError(failure, answer.status)
        delay_s = retry_after_s(answer.headers)
        if delay_s > _MAX_DELAY_S:
            raise ResendStoppedError(f"{failure}; it requests a wait of {delay_s:,.0f} seconds")
        return failure, delay_s


@asynccontextmanager
async def resending(
    target: ResendTarget, observes: Observes, bounds: SpendingBounds, hide: Callable[[str], str]
) -> AsyncIterator[Resender]:
    """A `Resender` whose connections are closed at the end; the caller limits how many requests run at a time."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=_TIMEOUT, auto_decompress=False) as session:
        yield Resender(session, target, observes, bounds, hide)


async def _read(answer: aiohttp.ClientResponse, observer: ExchangeObserver) -> str:
    """Report the body piece by piece; returns why it broke off, `""` if it is complete."""
    try:
        async for raw in answer.content.iter_any():
            observer.answer_arrived(raw, now_s())
    except asyncio.CancelledError:
        observer.ended(ExchangeEnd.CLIENT_LEFT, now_s(), "The experiment was interrupted.")
        raise
    except (aiohttp.ClientError, OSError) as error:
        observer.ended(
            ExchangeEnd.UPSTREAM_DROPPED, now_s(), f"The server truncated its answer ({describe_error(error)})."
        )
        return f"the answer was truncated: {describe_error(error)}"
    observer.ended(ExchangeEnd.COMPLETE, now_s())
    return ""


def retry_after_s(headers: Mapping[str, str]) -> float:
    """The delay that a server requests (RFC 9110, 10.2.3; OpenAI's `retry-after-ms`); 0 if it requests none."""
    for name, scale in (("retry-after-ms", 1_000.0), ("retry-after", 1.0)):
        try:
            return max(float(headers[name]) / scale, 0.0)
        except (KeyError, ValueError):
            continue
    try:
        date = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return 0.0
    return max((date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds(), 0.0)


def _error_message(raw: bytes) -> str:
    """The `message` of an error's body in any provider's shape, else the body's first characters."""
    text = raw[: 64 * 1024].decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text[:_MAX_QUOTE]
    for names in (("error", "message"), ("message",), ("error",), ("detail",)):
        message = _member(value, names)
        if isinstance(message, str):
            return message[:_MAX_QUOTE]
    return text[:_MAX_QUOTE]


def _member(value: object, names: Sequence[str]) -> object:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _clock() -> float:
    return asyncio.get_running_loop().time()
