"""The proxy as a running server: listens, checks access, finds the upstream of each request, and stops gracefully."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TypeAlias
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from msgspec import Struct

from weaklink.inspector.capture.proxy import access as refusal
from weaklink.inspector.capture.proxy.access import TOKEN_HEADER, Gate, ProxyRefusal
from weaklink.inspector.capture.proxy.config import OWN_PREFIX, ProxyConfig, ProxyConfigError, Upstream, leaves_root
from weaklink.inspector.capture.proxy.forwarding import Forwarding, decoded_headers, observed_headers
from weaklink.inspector.capture.proxy.upstream_connections import HeadFirstConnector, RawRequest
from weaklink.inspector.capture.safeguards import Clock
from weaklink.inspector.host_header import is_loopback
from weaklink.inspector.sessions.exchange import Observes, RequestHead
from weaklink.inspector.version import __version__

Intercept: TypeAlias = Callable[[web.BaseRequest, str], Awaitable[web.StreamResponse | bytes]]
"""Answers a request in place of its upstream; takes its path without the token.

If it returns bytes, these are the request's body, which it has read; the request is then forwarded.
"""

_NO_AUTO_HEADERS = ("Accept", "Accept-Encoding", "User-Agent", "Content-Type")
_LAST_BYTES_S = 1
_KEEPALIVE_S = 4.0
"""How long an idle connection to an upstream is kept: less than the 5 s after which uvicorn, which most open-source
model servers use, closes it. So hardly any request uses a connection that is just being closed."""

_SILENT = logging.getLogger(f"{__name__}.aiohttp")
_SILENT.disabled = True  # aiohttp quotes what it cannot parse, and that may be a token or a key


class BoundAddress(Struct, frozen=True):
    """The address where a proxy listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The URL for clients on this machine, without a token."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


@asynccontextmanager
async def running_proxy(
    config: ProxyConfig,
    observes: Observes,
    *,
    intercept: Intercept | None = None,
    on_default: Callable[[Upstream], object] = lambda upstream: None,
) -> AsyncIterator[BoundAddress]:
    """Run a proxy inside of the `async with`; yields the address where it listens.

    `intercept` may answer requests that would be forwarded. `on_default` is called before the first request is sent to
    each upstream that nobody chose. On exit, the proxy accepts nothing more, lets streams finish for `config.grace_s`,
    then ends them; before this returns, every observer has the end of its exchange. The path `/weaklink/` is the
    proxy's own and shows its version.

    Raises OSError if it cannot listen, ProxyConfigError if an upstream is the proxy itself.
    """
    proxy = _Proxy(config, observes, intercept, on_default)
    server = web.Server(
        proxy.handle,
        handler_cancellation=True,
        access_log=None,
        logger=_SILENT,
        auto_decompress=False,
        max_line_size=config.max_header_bytes,
        max_field_size=config.max_header_bytes,
        max_headers=config.max_headers,
    )
    runner = web.ServerRunner(server, shutdown_timeout=config.grace_s)
    await runner.setup()
    try:
        site = web.TCPSite(runner, config.host, config.port, reuse_address=True)
        await site.start()
        host, port = runner.addresses[0][:2]
        _refuse_loop(config, port)
        async with _session(config) as proxy.session:
            try:
                yield BoundAddress(host, port)
            finally:
                proxy.is_stopping = True
                transports = [
                    connection.transport for connection in server.connections if connection.transport is not None
                ]
                await runner.cleanup()
                await _close_transports(transports)
        await asyncio.sleep(0)  # the loop releases closed connections in its next iteration
    finally:
        await runner.cleanup()


async def _close_transports(transports: Iterable[asyncio.Transport]) -> None:
    """End closed connections once their clients have received what is still to be sent, or after a second."""
    waiting = list(transports)
    for _ in range(_LAST_BYTES_S * 100):
        waiting = [transport for transport in waiting if transport.get_write_buffer_size()]
        if not waiting:
            break
        await asyncio.sleep(0.01)
    for transport in waiting:
        transport.abort()
    await asyncio.sleep(0)


async def run_proxy(
    config: ProxyConfig,
    observes: Observes,
    *,
    until: asyncio.Event,
    on_bound: Callable[[BoundAddress], object] = lambda address: None,
) -> None:
    """Run a proxy until the event is set; `on_bound` receives its address. Raises as `running_proxy` does."""
    async with running_proxy(config, observes) as address:
        on_bound(address)
        await until.wait()


def _session(config: ProxyConfig) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=HeadFirstConnector(keepalive_timeout=_KEEPALIVE_S),
        timeout=aiohttp.ClientTimeout(total=None, connect=config.connect_timeout_s, sock_read=config.read_timeout_s),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        request_class=RawRequest,
        skip_auto_headers=_NO_AUTO_HEADERS,
        max_line_size=config.max_header_bytes,
        max_field_size=config.max_header_bytes,
        max_headers=config.max_headers,
    )


def _refuse_loop(config: ProxyConfig, port: int) -> None:
    for upstream in config.upstreams:
        parts = urlsplit(upstream.url)
        if parts.port == port and is_loopback(parts.hostname or "") and is_loopback(config.host):
            raise ProxyConfigError(
                f"The upstream `{upstream.url}` is the address of the proxy itself; let the proxy listen on "
                "another port."
            )


class _Proxy:
    """The request handler of one running proxy, and its state."""

    session: aiohttp.ClientSession

    def __init__(
        self,
        config: ProxyConfig,
        observes: Observes,
        intercept: Intercept | None,
        on_default: Callable[[Upstream], object],
    ) -> None:
        self.is_stopping = False
        self._config = config
        self._observes = observes
        self._intercept = intercept
        self._on_default = on_default
        self._announced: set[str] = set()
        self._gate = Gate(config)
        self._clock = Clock()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        if not request.raw_path.startswith("/") or request.method == "CONNECT":
            return refusal.NOT_A_PATH.response(closes=True)
        headers = request.headers
        hosts = headers.getall("Host", [])
        host = ", ".join(hosts) if hosts else None  # several headers match no known host
        path = self._gate.enter(request.raw_path, token=headers.get(TOKEN_HEADER), host=host)
        if isinstance(path, ProxyRefusal):
            return path.response(closes=True)
        bare = path.partition("?")[0]
        if bare in (OWN_PREFIX, f"{OWN_PREFIX}/"):
            return _version_response()
        if bare.startswith(f"{OWN_PREFIX}/"):
            return refusal.NOT_OURS.response(closes=True)
        return await self._forward(request, path)

    async def _forward(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        upstream = self._config.upstream_of(path)
        if upstream is None:
            return refusal.no_upstream(tuple(upstream.prefix for upstream in self._config.upstreams)).response(
                closes=True
            )
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return refusal.UPGRADE.response(closes=True)
        if (request.content_length or 0) > self._config.max_body_bytes:
            return refusal.too_large(self._config.max_body_bytes).response(closes=True)
        sent: bytes | None = None
        if self._intercept is not None:
            answer = await self._intercept(request, path)
            if not isinstance(answer, bytes):
                return answer
            sent = answer
        target, headers, now = path[len(upstream.prefix) :], decoded_headers(request.raw_headers), self._clock.start()
        if leaves_root(target):
            return refusal.outside_of_path(upstream.url).response(closes=True)
        head = RequestHead(
            request.method,
            target,
            observed_headers(headers),
            upstream=upstream.url,
            client=request.remote or "",
            at_s=now(),
        )
        forwarding = Forwarding(
            session=self.session,
            config=self._config,
            upstream=upstream,
            target=target,
            request=request,
            headers=headers,
            observer=self._observes.began(head),
            now=now,
            is_stopping=lambda: self.is_stopping,
            sent=sent,
            refused=self._refused(upstream),
        )
        return await forwarding.run()

    def _refused(self, upstream: Upstream) -> ProxyRefusal | None:
        """Why nothing is sent to this upstream; announces one that nobody chose before anything is."""
        if not upstream.default_of:
            return None
        if self._config.refuses_defaults:
            return refusal.default_upstream(upstream)
        if upstream.url not in self._announced:
            self._announced.add(upstream.url)
            self._on_default(upstream)
        return None


def _version_response() -> web.Response:
    body = json.dumps({"name": "weaklink", "version": __version__}).encode() + b"\n"
    return web.Response(body=body, content_type="application/json")
