"""Access control of the dashboard: allowed hosts, origins and the token, and the middleware that checks requests.

Theory of operation. Traces contain source code, prompts and what tools read, and a browser sends requests to this
machine for every page that the user has open. Each request is checked in this order, and the first check that fails
answers it; nothing of the application runs before all have passed.

1. The Host header (421). A foreign page may let its own name point to this machine (DNS rebinding): then the browser
   takes the dashboard for a part of that page. So a name other than `localhost` must be one of `names`. An address is
   accepted as it is, since nobody can let an address point elsewhere. A missing or doubled header is refused.
2. The Origin header (403). A change, a socket, or whatever names an origin must come from a page of the dashboard
   itself: `http://127.0.0.1:8501` for the host `127.0.0.1:8501`.
3. The token (401), if one is required, from a cookie that scripts cannot read and that other sites' requests do not
   carry. The token of the command line is compared in constant time; a token of the database gives its role, which is
   cached for two seconds, so that a revoked one ends soon and a page with many requests asks once.

A browser gets the cookie with `GET /?token=WORD&page=tools` and an accepted host: the answer is a redirect (303) to
`/?page=tools`, so that the token does not stay in the address. If the database cannot be read, no token of it can be
checked, and the answer is 503: never the page.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from hmac import compare_digest
from http.cookies import SimpleCookie
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit

from msgspec import Struct

from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.host_header import address_of, host_name, is_loopback

if TYPE_CHECKING:  # Starlette is in the extra `web`, and the command needs `Access` before it says so
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_TOKEN = re.compile(r"[A-Za-z0-9._~-]+")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
_COOKIE = "weaklink_token"
_WRITES = "write"
_REMEMBERED_S = 2.0  # how long a revoked token is still accepted
_MAX_REMEMBERED = 1_000
_SAFE = ("GET", "HEAD", "OPTIONS")
_NOT_CHECKED = "The dashboard cannot check your token, since it cannot read its database. Reload this page in a moment."


class Access(Struct, frozen=True):
    """The access options that the dashboard was started with.

    `host` is the address it listens on. If `token` is not empty, every browser must send it; with `stored_tokens` a
    token is always required, and the database's tokens are accepted too. `names` are the host names that requests may
    use besides IP addresses and `localhost`: any other name may belong to a foreign page that resolved its own name to
    this machine (DNS rebinding). `user_header` is the header in which a reverse proxy names the user; "" if none is
    trusted.
    """

    host: str
    port: int
    token: str = ""
    names: tuple[str, ...] = ()
    stored_tokens: bool = False
    user_header: str = ""

    def __post_init__(self) -> None:
        if self.token and not _TOKEN.fullmatch(self.token):
            raise WeaklinkError("a token may contain only letters, digits and `-._~`, so that it can be part of a URL")
        is_local = is_loopback(self.host.strip("[]"))
        if not is_local and not self.needs_token:
            raise WeaklinkError(
                f"`--host {self.host}` can be reached from other machines, so the dashboard requires a token: "
                "pass `--token WORD` or `--tokens`, or omit `--host`."
            )
        if self.user_header and not is_local:
            raise WeaklinkError(
                f"`--user-header` requires a dashboard that only this machine can reach: on {self.host} anybody could "
                "send that header. Run the reverse proxy on this machine, and omit `--host`."
            )
        if self.user_header and not _HEADER.fullmatch(self.user_header):
            raise WeaklinkError(f"`{self.user_header}` is not a valid header name, such as `X-Forwarded-User`")

    @property
    def needs_token(self) -> bool:
        """Whether a browser must send a token."""
        return bool(self.token) or self.stored_tokens

    @property
    def cookie(self) -> str:
        """The name of the cookie with the token; contains the port, since all ports of a host share cookies."""
        return f"{_COOKIE}_{self.port}"

    def accepts_host(self, host: str) -> bool:
        """Whether this Host header is accepted: it must be an IP address, `localhost`, or one of `names`."""
        name = host_name(host)
        return name is not None and (name in ("localhost", *self.names) or address_of(name) is not None)

    def accepts_origin(self, origin: str, host: str) -> bool:
        """Whether a page of this Origin may send changes or open a socket to this Host: only the dashboard's own."""
        return urlsplit(origin).netloc.lower() == host.lower() if origin else False

    def is_token(self, word: str) -> bool:
        """Whether the word is the token of the command line; compares in constant time."""
        given, expected = (text.encode(errors="surrogatepass") for text in (word, self.token))
        return bool(expected) and compare_digest(given, expected)


def links(access: Access) -> Sequence[str]:
    """The addresses to open, with the token."""
    shown = f"[{access.host}]" if ":" in access.host else access.host
    word = f"/?token={access.token}" if access.token else "/"
    return (f"http://{shown}:{access.port}{word}",)


_Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]


class Guard:
    """ASGI middleware that passes on only permitted requests.

    `role_of` returns the role of a token of the database, "" for an invalid token; results are cached for two seconds.
    It runs in a thread, since a database may take its time, and raises WeaklinkError if it cannot read the database.
    """

    def __init__(
        self, app: "ASGIApp", access: Access, headers: _Headers, role_of: Callable[[str], str] | None = None
    ) -> None:
        self._app, self._access, self._headers = app, access, headers
        self._role_of = role_of or (lambda _: "")
        self._remembered: dict[str, tuple[float, str]] = {}

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Pass the request on, or refuse it with a message."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            redirect = await self._without_token(scope) if scope["type"] == "http" else None
            refusal = None if redirect else await self._refusal(scope)
        except WeaklinkError:
            redirect, refusal = None, (503, _NOT_CHECKED)
        if redirect is not None:
            target, token = redirect  # the token may differ from the cookie's
            await self._answer(send, 303, "", ((b"location", target), (b"set-cookie", self._cookie(token))))
            return
        if refusal is None:
            await self._app(scope, receive, self._with_headers(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": refusal[1][:100]})
        else:
            await self._answer(send, *refusal)

    async def _refusal(self, scope: "Scope") -> tuple[int, str] | None:
        """The status and message with which a request is refused; None if it is permitted."""
        host = _header(scope, b"host")
        if not self._access.accepts_host(host):
            return 421, (
                f"This dashboard does not accept requests for the host `{host[:200]}`: open it by its IP address, "
                "or start it with `--name` and the name of this host."
            )
        origin = _header(scope, b"origin")
        changes = scope["type"] == "websocket" or scope["method"] not in _SAFE
        if (changes or origin) and not self._access.accepts_origin(origin, host):
            return 403, "Request refused: its `Origin` is not this dashboard; only the dashboard's pages may send it."
        if self._access.needs_token and not await self._role(cookie_of(scope, self._access.cookie)):
            if self._access.stored_tokens:
                return 401, "This dashboard requires a token: append `?token=` and your token to its address."
            return 401, "This dashboard requires its token: open the address that `weaklink web` printed."
        return None

    async def _role(self, word: str) -> str:
        """The role of a token, "" for an invalid one; the token of the command line has the role `write`."""
        if self._access.is_token(word):
            return _WRITES
        if not self._access.stored_tokens or not _TOKEN.fullmatch(word):
            return ""
        until, role = self._remembered.get(word, (0.0, ""))
        if until < monotonic():
            if len(self._remembered) >= _MAX_REMEMBERED:
                self._remembered.clear()
            role = await asyncio.to_thread(self._role_of, word)
            self._remembered[word] = monotonic() + _REMEMBERED_S, role
        return role

    async def _without_token(self, scope: "Scope") -> tuple[bytes, str] | None:
        """The redirect target and the token, for a GET with a valid token in its address; None for any other."""
        host = _header(scope, b"host")
        if not self._access.needs_token or not self._access.accepts_host(host) or scope["method"] != "GET":
            return None
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        words = [value for key, value in pairs if key == "token" and await self._role(value)]
        if not words:
            return None
        rest = urlencode([(key, value) for key, value in pairs if key != "token"])
        path = "/" + scope.get("raw_path", b"/").decode("latin-1").split("?")[0].lstrip("/\\")
        return f"{path}{'?' if rest else ''}{rest}".encode("latin-1"), words[0]

    def _cookie(self, word: str) -> bytes:
        cookie: SimpleCookie = SimpleCookie()
        name = self._access.cookie
        cookie[name] = word
        for attribute, value in (("path", "/"), ("httponly", "yes"), ("samesite", "Strict")):
            cookie[name][attribute] = value
        return cookie[name].OutputString().encode("latin-1")

    def _with_headers(self, send: "Send") -> "Send":
        ours = {name for name, _ in self._headers}

        async def sending(message: "Message") -> None:
            if message["type"] == "http.response.start":
                theirs = ((name, value) for name, value in message.get("headers", ()) if name.lower() not in ours)
                message = {**message, "headers": [*theirs, *self._headers]}
            await send(message)

        return sending

    async def _answer(self, send: "Send", status: int, words: str, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
        body = f"{words}\n".encode(errors="backslashreplace")
        headers = [*self._headers, (b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
        headers += [(b"content-length", str(len(body)).encode()), *more]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _header(scope: "Scope", name: bytes) -> str:
    """The value of a header; empty if it is missing or occurs twice."""
    values = [value for key, value in scope["headers"] if key.lower() == name]
    return values[0].decode("latin-1") if len(values) == 1 else ""


def cookie_of(scope: "Scope", name: str) -> str:
    """The value of a cookie of a request; empty if there is none. Other programs of this host may set odd ones."""
    pairs = (pair.strip().partition("=") for pair in _header(scope, b"cookie").split(";"))
    return next((value.strip('"') for key, _, value in pairs if key == name), "")
