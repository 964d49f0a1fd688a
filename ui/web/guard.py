"""Access control of the dashboard: allowed hosts, origins and the token, and the middleware that checks requests."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit

from msgspec import Struct

from inspector.errors import WeaklinkError
from inspector.host_header import address_of, host_name, is_loopback
from inspector.scanning import lazy_pattern

_TOKEN = lazy_pattern(r"[A-Za-z0-9._~-]+")
_COOKIE = "weaklink_token"  # and the port, since browsers send the cookies of a host to all its ports
_SAFE = ("GET", "HEAD", "OPTIONS")


class Access(Struct, frozen=True):
    """What the dashboard was told at its start.

    `host` is the address it listens on. `token` must be shown by every browser where it is not empty. `names` are the
    host names that it may be called by beside addresses and `localhost`: a name that is not listed may be a foreign
    page's, which resolved its own name to this machine.
    """

    host: str
    port: int
    token: str = ""
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.token and not _TOKEN.fullmatch(self.token):
            raise WeaklinkError("a token is made of letters, digits and `-._~`, so that it fits into an address")
        if not is_loopback(self.host.strip("[]")) and not self.token:
            raise WeaklinkError(
                f"`--host {self.host}` can be reached from other machines, and then the dashboard needs a token: "
                "say `--token WORD`, or leave `--host` away."
            )

    def answers_to(self, host: str) -> bool:
        """Whether a request with this Host header is meant for us: an address, `localhost`, or one of our names."""
        name = host_name(host)
        return name is not None and (name in ("localhost", *self.names) or address_of(name) is not None)

    def takes_origin(self, origin: str, host: str) -> bool:
        """Whether a page of this Origin may open the socket of this Host: it must be our own page."""
        return urlsplit(origin).netloc.lower() == host.lower() if origin else False

    def is_token(self, word: str) -> bool:
        """Whether the word is the token, compared in constant time."""
        return compare_digest(word.encode(errors="surrogatepass"), self.token.encode(errors="surrogatepass"))


def links(access: Access) -> Sequence[str]:
    """The addresses to open, the token in them."""
    shown = f"[{access.host}]" if ":" in access.host else access.host
    word = f"/?token={access.token}" if access.token else "/"
    return (f"http://{shown}:{access.port}{word}",)


_Message: TypeAlias = MutableMapping[str, Any]
_Receive: TypeAlias = Callable[[], Awaitable[_Message]]
_Send: TypeAlias = Callable[[_Message], Awaitable[None]]
_App: TypeAlias = Callable[[_Message, _Receive, _Send], Awaitable[None]]
_Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]


class Guard:
    """An ASGI application before another one, which sees only what may come in."""

    def __init__(self, app: _App, access: Access, headers: _Headers) -> None:
        self._app, self._access, self._headers = app, access, headers
        self._cookie_name = f"{_COOKIE}_{access.port}"

    async def __call__(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        """Pass the request on, or refuse it in a sentence."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, self._with_headers(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": refusal[1][:100]})
        elif (clean := self._without_token(scope)) is not None:
            await self._answer(send, 303, "", ((b"location", clean), (b"set-cookie", self._cookie())))
        else:
            await self._answer(send, *refusal)

    def _refusal(self, scope: _Message) -> tuple[int, str] | None:
        """The status and the sentence that a request is refused with."""
        host = _header(scope, b"host")
        if not self._access.answers_to(host):
            return 421, (
                f"This dashboard does not answer to the host `{host[:200]}`; open it by its address, "
                "or start it with `--name` and this host's name."
            )
        origin = _header(scope, b"origin")
        changes = scope["type"] == "websocket" or scope["method"] not in _SAFE
        if (changes or origin) and not self._access.takes_origin(origin, host):
            return 403, "Another page asked; only the dashboard's own pages may."
        if self._access.token and not self._access.is_token(_cookie_of(scope, self._cookie_name)):
            return 401, "This dashboard wants its token: open the address that `weaklink web` printed."
        return None

    def _without_token(self, scope: _Message) -> bytes | None:
        """Where a browser that brings the right token in its address is sent, without it; None for any other."""
        host = _header(scope, b"host")
        if not self._access.token or not self._access.answers_to(host) or scope["method"] != "GET":
            return None
        asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if not any(key == "token" and self._access.is_token(value) for key, value in asked):
            return None
        rest = urlencode([(key, value) for key, value in asked if key != "token"])
        path = "/" + scope.get("raw_path", b"/").decode("latin-1").split("?")[0].lstrip("/\\")
        return f"{path}{'?' if rest else ''}{rest}".encode("latin-1")

    def _cookie(self) -> bytes:
        cookie: SimpleCookie = SimpleCookie()
        name = self._cookie_name
        cookie[name] = self._access.token
        for attribute, value in (("path", "/"), ("httponly", "yes"), ("samesite", "Strict")):
            cookie[name][attribute] = value
        return cookie[name].OutputString().encode("latin-1")

    def _with_headers(self, send: _Send) -> _Send:
        ours = {name for name, _ in self._headers}

        async def sending(message: _Message) -> None:
            if message["type"] == "http.response.start":
                theirs = ((name, value) for name, value in message.get("headers", ()) if name.lower() not in ours)
                message = {**message, "headers": [*theirs, *self._headers]}
            await send(message)

        return sending

    async def _answer(self, send: _Send, status: int, words: str, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
        body = f"{words}\n".encode(errors="backslashreplace")
        headers = [*self._headers, (b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
        headers += [(b"content-length", str(len(body)).encode()), *more]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _header(scope: _Message, name: bytes) -> str:
    """The value of a header; nothing where it is not there, or there twice."""
    values = [value for key, value in scope["headers"] if key.lower() == name]
    return values[0].decode("latin-1") if len(values) == 1 else ""


def _cookie_of(scope: _Message, name: str) -> str:
    cookie: SimpleCookie = SimpleCookie()
    try:
        cookie.load(_header(scope, b"cookie"))
    except CookieError:
        return ""
    return cookie[name].value if name in cookie else ""
