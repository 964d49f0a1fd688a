"""Starts the dashboard: Streamlit's Starlette application behind the guard, with a content policy and throttled timers.

A page that is polled has a timer in the browser. A timer that fires while another page is being drawn requests a
fragment of the page that was left; Streamlit then shows that page for a moment, and the browser fails with
"Bad delta path index". So timers are held back while a script runs: the next one is due soon.
"""

import base64
import hashlib
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any, TypeAlias

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # it brings no types
from starlette.middleware import Middleware
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.starlette import App

from weaklink.inspector.errors import StoreError, WeaklinkError
from weaklink.ui.web.guard import Access, Guard
from weaklink.ui.web.markup import RULES, colour_rules, theme_options
from weaklink.ui.web.prices import find_prices
from weaklink.ui.web.results.opening import opened_again
from weaklink.ui.web.stores import DashboardOptions, set_options, store
from weaklink.ui.web.trace_api import trace_route

_MOST_UPLOAD_MB = 500  # Streamlit shows 512 as 1 GB

_OPTIONS = {
    "server.headless": True,
    "server.fileWatcherType": "none",
    "server.runOnSave": False,
    "server.enableStaticServing": False,
    "server.maxUploadSize": _MOST_UPLOAD_MB,
    "browser.gatherUsageStats": False,
    "client.toolbarMode": "minimal",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": "false",  # they open search engines, with the error in the address
    "client.showSidebarNavigation": True,
    "logger.hideWelcomeMessage": True,
    "logger.level": "warning",  # information on fragments of pages that were left is for nobody
    "logger.enableRich": False,  # it would write to standard output, in colours
}

_AT_ROOT = "<script>window.__streamlit = {BACKEND_BASE_URL: window.location.origin}</script>"  # else it tries paths
_MENU = (  # before anything is drawn: what the visitor chose, or what the window's width has room for
    "<script>let menu; try { menu = localStorage.weaklinkMenu } catch {}"
    'document.documentElement.dataset.menu = menu || (innerWidth < 1600 ? "icons" : "names")</script>'
)
_DETAILS = (  # what is beside a table gets or loses its room at the click, not when the server has answered
    "<script>{const root = document.documentElement; let late; addEventListener('click', ({target}) => {"
    """const name = target.closest?.('[class*="s_details"]')?.className || '';"""
    "const way = /_(show|hide|toggle)s_details/.exec(name)?.[1];"
    """const isOpen = document.querySelector('[class*="weaklink_details_open_"]');"""
    "if (way) root.dataset.details = way === 'show' || (way === 'toggle' && !isOpen) ? 'open' : 'shut'}, true);"
    "new MutationObserver(() => { clearTimeout(late);"  # a server that never answers takes nothing for good
    "late = setTimeout(() => delete root.dataset.details, 10_000)}).observe(root, {attributeFilter: ['data-details']})}"
    "</script>"
)
_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_MEDIA = "/media/"  # Streamlit's folder of the files that pages offer
_LONGEST = 65_536  # bytes: messages on the state of a script are far shorter; longer ones are not parsed
SCRIPT = Path(__file__).parent / "script" / "weaklink_page.py"
"""The page's script. It is alone in its folder, since Streamlit puts that folder first on the import path."""


def serve(access: Access, where: str | None, *, is_local: bool, results: str = "") -> None:
    """Serve the dashboard until it is interrupted: over the database, or over results in Parquet.

    The port must be free: see `free_port`.
    """
    prices = find_prices(Path.cwd())
    set_options(DashboardOptions(where, is_local=is_local, access=access, results=results, prices=prices))
    index = index_page()
    guard = Middleware(Guard, access=access, headers=security_headers(index), role_of=_role_of)
    options = {**_OPTIONS, **theme_options(), "server.address": access.host, "server.port": access.port}
    App(
        SCRIPT,
        routes=[trace_route(opened_again) if results else trace_route()],
        middleware=[guard, Middleware(IndexMiddleware, page=index), Middleware(TimerMiddleware)],
    ).run(config=options)


def _role_of(word: str) -> str:
    """The role of a token of the database; "" for an invalid one, and while the database cannot be read."""
    try:
        held = store().tokens.holder(word)
    except StoreError:
        return ""
    return "" if held is None else held.role.value


def free_port(access: Access) -> int:
    """The port to listen on, any free one for 0. Raises WeaklinkError if it is taken: the server prints a traceback."""
    try:
        found = socket.getaddrinfo(access.host, access.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            port: int = probe.getsockname()[1]
            return port
    except OSError as error:
        raise WeaklinkError(
            f"the dashboard cannot listen on {access.host}, port {access.port}: {error.strerror}"
        ) from error


def security_headers(index: str) -> tuple[tuple[bytes, bytes], ...]:
    """The headers of every response, in ASGI's form. `index` is the page's HTML: its own inline scripts may run.

    Inline components are loaded from `blob:` (Streamlit, `st.components.v2`); nothing is fetched from other hosts.
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
    """The HTML of every page: Streamlit's, with scripts for the server's address and the menu's width, and our CSS."""
    import streamlit  # noqa: PLC0415  # only the running dashboard pays for it

    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    styles = f"<style>{colour_rules()}{RULES}</style>"  # after Streamlit's own, which are in the head
    return page.replace("<head>", f"<head>{_AT_ROOT}{_MENU}{_DETAILS}", 1).replace("</body>", f"{styles}</body>", 1)


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


_Message: TypeAlias = MutableMapping[str, Any]
_Receive: TypeAlias = Callable[[], Awaitable[_Message]]
_Send: TypeAlias = Callable[[_Message], Awaitable[None]]
_App: TypeAlias = Callable[[_Message, _Receive, _Send], Awaitable[None]]


class IndexMiddleware:
    """ASGI middleware that serves `page` instead of the application's HTML.

    Files that a page offers, below `/media/`, are no pages: they are passed on, and browsers save them instead of
    showing them, since a trace's HTML must never run or be displayed as a part of the dashboard. Only pictures are
    shown. Browsers may cache those, whose addresses identify their content; without it they would fetch the icon again
    for each new address.
    """

    def __init__(self, app: _App, page: str) -> None:
        self._app, self._page = app, page.encode()

    async def __call__(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        """Pass everything on, but replace the body of a page's HTML response to a GET with `page`."""
        if scope["type"] == "http" and scope["path"].startswith(_MEDIA):
            await self._app(scope, receive, _sending_file(send))
            return
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        is_html = False

        async def sending(message: _Message) -> None:
            nonlocal is_html
            if message["type"] == "http.response.start":
                kind = _content_type(message)
                is_html = message["status"] == 200 and kind.startswith(b"text/html")
                length = (b"content-length", str(len(self._page)).encode())
                if is_html:
                    message = {**message, "headers": [(b"content-type", kind), (b"cache-control", b"no-cache"), length]}
            elif is_html:
                if message.get("more_body"):
                    return
                message = {"type": "http.response.body", "body": self._page}
            await send(message)

        await self._app(scope, receive, sending)


def _sending_file(send: _Send) -> _Send:
    """Send a response for a file of a page: a picture for the page itself, anything else to be saved."""

    async def sending(message: _Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message["headers"])
            if _content_type(message) == b"image/png":
                headers.append((b"cache-control", b"private, max-age=86400, immutable"))
            elif not any(name.lower() == b"content-disposition" for name, _ in headers):
                headers.append((b"content-disposition", b"attachment"))
            message = {**message, "headers": headers}
        await send(message)

    return sending


def _content_type(message: _Message) -> bytes:
    headers: Iterable[tuple[bytes, bytes]] = message["headers"]
    return next((value for name, value in headers if name.lower() == b"content-type"), b"")


class TimerMiddleware:
    """ASGI middleware that passes a timer on only while no script runs."""

    def __init__(self, app: _App) -> None:
        self._app = app

    async def __call__(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        """Pass everything on, except for timers that fire while a script runs."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        is_busy = False

        async def receiving() -> _Message:
            nonlocal is_busy
            while True:
                message = await receive()
                is_request, is_tick = _requested_run(message)
                if not (is_busy and is_tick):
                    is_busy = is_busy or is_request
                    return message

        async def sending(message: _Message) -> None:
            nonlocal is_busy
            is_busy = _is_busy_after(message, is_busy=is_busy)
            await send(message)

        await self._app(scope, receiving, sending)


def _requested_run(message: _Message) -> tuple[bool, bool]:
    """Whether a browser requests a run of the script, and whether a timer caused the request."""
    raw = message.get("bytes") or b""
    if message["type"] != "websocket.receive" or not raw:
        return False, False
    try:
        parsed = BackMsg.FromString(raw)
    except DecodeError:  # Streamlit handles malformed messages
        return False, False
    return parsed.WhichOneof("type") == "rerun_script", parsed.rerun_script.is_auto_rerun


def _is_busy_after(message: _Message, *, is_busy: bool) -> bool:
    """Whether a script is running after this message to the browser."""
    raw = message.get("bytes") or b""
    if not 0 < len(raw) <= _LONGEST:
        return is_busy
    parsed = ForwardMsg.FromString(raw)
    kind = parsed.WhichOneof("type")
    is_end = kind == "script_finished" and parsed.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN
    return kind == "new_session" or (is_busy and not is_end)
