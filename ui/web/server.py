"""Starts the dashboard: Streamlit's Starlette application behind the guard, with its content policy and quiet timers.

A page that is polled has a timer in the browser. A timer that fires while another page is being drawn requests a
fragment of the page that was left; Streamlit then shows that page for a moment, and the browser fails with
"Bad delta path index". So timers are held back while a script runs: the next one is due soon.
"""

import atexit
import base64
import hashlib
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # it brings no types
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.starlette import App

from inspector.capture.event_lines import EVENTS_PATH, INSTANCE, EventIntake
from inspector.errors import StoreError, WeaklinkError
from inspector.scanning import lazy_pattern
from storage import StoreSink
from ui.web.guard import Access, Guard
from ui.web.markup import theme_options
from ui.web.results.opening import opened_again
from ui.web.stores import DashboardOptions, current_options, set_options, store
from ui.web.trace_api import trace_route

_MOST_UPLOAD_MB = 500  # Streamlit says 512 as 1 GB

_OPTIONS = {
    "server.headless": True,
    "server.fileWatcherType": "none",
    "server.runOnSave": False,
    "server.enableStaticServing": False,
    "server.maxUploadSize": _MOST_UPLOAD_MB,
    "browser.gatherUsageStats": False,
    "client.toolbarMode": "minimal",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": "false",  # they lead to search engines, with the error in their address
    "client.showSidebarNavigation": True,
    "logger.hideWelcomeMessage": True,
    "logger.enableRich": False,  # it would write to standard output, in colours
}

_AT_ROOT = "<script>window.__streamlit = {BACKEND_BASE_URL: window.location.origin}</script>"  # else it tries paths
_INLINE = lazy_pattern(r"<script>(.*?)</script>", re.DOTALL)
_LONGEST = 65_536  # bytes: what says that a script runs is far shorter, and long messages are not read here
SCRIPT = Path(__file__).parent / "script" / "weaklink_page.py"
"""The page's script. It lies alone in its folder, since Streamlit puts that folder first on the path."""

_INTAKES: list[EventIntake] = []
_LOCK = Lock()


def serve(access: Access, where: str | None, *, is_local: bool, results: str = "") -> None:
    """Serve the dashboard until it is interrupted: over the database, or over results in Parquet.

    WeaklinkError where the port is taken.
    """
    _refuse_taken(access)
    set_options(DashboardOptions(where, is_local=is_local, access=access, results=results))
    index = index_page()
    guard = Middleware(Guard, access=access, headers=security_headers(index), role_of=_role_of)
    options = {**_OPTIONS, **theme_options(), "server.address": access.host, "server.port": access.port}
    App(
        SCRIPT,
        routes=[trace_route(opened_again)] if results else [trace_route(), collector_route()],
        middleware=[guard, Middleware(IndexMiddleware, page=index), Middleware(TimerMiddleware)],
    ).run(config=options)


def _role_of(word: str) -> str:
    """The role of a token of the database, "" for what is none; none is while the database cannot be read."""
    try:
        held = store().tokens.holder(word)
    except StoreError:
        return ""
    return "" if held is None else held.role.value


def _refuse_taken(access: Access) -> None:
    """Say in a sentence what the server would say in a traceback."""
    try:
        found = socket.getaddrinfo(access.host, access.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise WeaklinkError(
            f"the dashboard cannot listen on {access.host}, port {access.port}: {error.strerror}"
        ) from error


def security_headers(index: str) -> tuple[tuple[bytes, bytes], ...]:
    """The headers of every answer, as ASGI wants them. `index` is the page's HTML: its own inline scripts may run.

    Inline components are loaded from `blob:` (Streamlit, `st.components.v2`); nothing else is fetched from anywhere.
    """
    scripts = " ".join(_hash(script) for script in _INLINE.findall(index))
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' blob: {scripts}".rstrip(),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "media-src 'self' blob:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "manifest-src 'self'",
            "frame-src 'none'",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )
    return (
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"x-frame-options", b"DENY"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    )


def index_page() -> str:
    """The HTML of every page: Streamlit's, which is told that its server is at the root of the address."""
    import streamlit  # noqa: PLC0415  # only the running dashboard pays for it

    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    return page.replace("<head>", f"<head>{_AT_ROOT}", 1)


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


_Message: TypeAlias = MutableMapping[str, Any]
_Receive: TypeAlias = Callable[[], Awaitable[_Message]]
_Send: TypeAlias = Callable[[_Message], Awaitable[None]]
_App: TypeAlias = Callable[[_Message, _Receive, _Send], Awaitable[None]]


class IndexMiddleware:
    """An ASGI application before another one, which serves `page` where the other one serves HTML.

    Browsers keep pictures, whose addresses name their content: else they fetch the icon anew for each new address.
    """

    def __init__(self, app: _App, page: str) -> None:
        self._app, self._page = app, page.encode()

    async def __call__(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        """Pass everything on; an answer to GET that is HTML has the body of our page."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        is_html = False

        async def sending(message: _Message) -> None:
            nonlocal is_html
            if message["type"] == "http.response.start":
                kind = next((value for name, value in message["headers"] if name.lower() == b"content-type"), b"")
                is_html = message["status"] == 200 and kind.startswith(b"text/html")
                length = (b"content-length", str(len(self._page)).encode())
                if is_html:
                    message = {**message, "headers": [(b"content-type", kind), (b"cache-control", b"no-cache"), length]}
                elif kind == b"image/png" and scope["path"].startswith("/media/"):
                    kept = (b"cache-control", b"private, max-age=86400, immutable")
                    message = {**message, "headers": [*message["headers"], kept]}
            elif is_html:
                if message.get("more_body"):
                    return
                message = {"type": "http.response.body", "body": self._page}
            await send(message)

        await self._app(scope, receive, sending)


class TimerMiddleware:
    """An ASGI application before another one, which hears of a timer only when its scripts rest."""

    def __init__(self, app: _App) -> None:
        self._app = app

    async def __call__(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        """Pass everything on but the timers that go off too early."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        is_busy = False

        async def receiving() -> _Message:
            nonlocal is_busy
            while True:
                message = await receive()
                asks, is_tick = _requested_run(message)
                if not (is_busy and is_tick):
                    is_busy = is_busy or asks
                    return message

        async def sending(message: _Message) -> None:
            nonlocal is_busy
            is_busy = _is_busy_after(message, is_busy=is_busy)
            await send(message)

        await self._app(scope, receiving, sending)


def _requested_run(message: _Message) -> tuple[bool, bool]:
    """Whether a browser asks to run a script, and whether a timer does so."""
    raw = message.get("bytes") or b""
    if message["type"] != "websocket.receive" or not raw:
        return False, False
    try:
        said = BackMsg.FromString(raw)
    except DecodeError:  # whoever wrote it, Streamlit answers
        return False, False
    return said.WhichOneof("type") == "rerun_script", said.rerun_script.is_auto_rerun


def _is_busy_after(message: _Message, *, is_busy: bool) -> bool:
    """Whether a script runs when this was sent to the browser."""
    raw = message.get("bytes") or b""
    if not 0 < len(raw) <= _LONGEST:
        return is_busy
    said = ForwardMsg.FromString(raw)
    kind = said.WhichOneof("type")
    is_end = kind == "script_finished" and said.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN
    return kind == "new_session" or (is_busy and not is_end)


def collector_route() -> Route:
    """The route, for the server; the guard lets only those in who may write."""
    return Route(EVENTS_PATH, _answer, methods=["POST"])


async def _answer(request: Request) -> Response:
    try:
        intake = _intake()
    except StoreError as error:
        return Response(str(error), 503)
    status, words = await intake.answer(request.headers, _pieces(request))
    return Response(words or None, status, {INSTANCE: intake.instance})


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    async for piece in request.stream():
        yield piece


def _intake() -> EventIntake:
    """What takes the events, with a sink that writes into the database from the first body to the process's end."""
    with _LOCK:
        if not _INTAKES:
            sink = StoreSink(current_options().where)
            atexit.register(sink.close)
            _INTAKES.append(EventIntake(sink))
        return _INTAKES[0]
