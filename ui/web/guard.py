"""The middleware before every path of the dashboard: Host, Origin, token, and the headers of every answer."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode

from ui.web.access import Access

_Message: TypeAlias = MutableMapping[str, Any]
_Receive: TypeAlias = Callable[[], Awaitable[_Message]]
_Send: TypeAlias = Callable[[_Message], Awaitable[None]]
_App: TypeAlias = Callable[[_Message, _Receive, _Send], Awaitable[None]]
_Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]

_COOKIE = "weaklink_token"  # and the port, since browsers send the cookies of a host to all its ports
_SAFE = ("GET", "HEAD", "OPTIONS")


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
