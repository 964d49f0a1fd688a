"""Starts the dashboard: Streamlit's Starlette application behind the guard, with a content policy."""

import base64
import hashlib
import os
import re
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Timer
from types import FrameType
from typing import Any

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.starlette import App

from weaklink.inspector.errors import WeaklinkError
from weaklink.ui.web.guard import Access, Guard, cookie_of
from weaklink.ui.web.markup import MENU_COOKIE, MENUS, RULES, colour_rules, theme_options
from weaklink.ui.web.prices import find_prices
from weaklink.ui.web.results.opening import opened_again
from weaklink.ui.web.stores import DashboardOptions, set_options, store
from weaklink.ui.web.trace_api import trace_route
from weaklink.ui.web.watching import watch_route

_MAX_UPLOAD_MB = 500  # Streamlit shows 512 as 1 GB
_GRACE_S = 3.0  # for responses that are on their way when the dashboard shall end

_OPTIONS = {
    "server.headless": True,
    "server.fileWatcherType": "none",
    "server.runOnSave": False,
    "server.enableStaticServing": False,
    "server.maxUploadSize": _MAX_UPLOAD_MB,
    "browser.gatherUsageStats": False,
    "client.toolbarMode": "minimal",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": "false",  # they open search engines, with the error in the address
    "client.showSidebarNavigation": True,
    "logger.hideWelcomeMessage": True,
    "logger.level": "error",  # warnings of fragments of pages that were left are for nobody
    "logger.enableRich": False,  # it would write to standard output, in colours
}

_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_MEDIA = "/media/"  # Streamlit's folder of the files that pages offer
SCRIPT = Path(__file__).parent / "script" / "weaklink_page.py"
"""The page's script. It is alone in its folder, since Streamlit puts that folder first on the import path."""


def serve(access: Access, where: str | None, *, is_local: bool, results: str = "") -> None:
    """Serve the dashboard until it is interrupted: over the database, or over results in Parquet.

    The port must be free: see `free_port`.
    """
    prices = find_prices(Path.cwd())
    set_options(DashboardOptions(where, is_local=is_local, access=access, results=results, prices=prices))
    guard = Middleware(Guard, access=access, headers=security_headers(index_page()), role_of=_role_of)
    options = {**_OPTIONS, **theme_options(), "server.address": access.host, "server.port": access.port}
    App(
        SCRIPT,
        routes=[trace_route(opened_again) if results else trace_route(), watch_route()],
        middleware=[guard, Middleware(IndexMiddleware, pages={menu: index_page(menu) for menu in ("", *MENUS)})],
        lifespan=_ended_in_time,
    ).run(config=options)


@asynccontextmanager
async def _ended_in_time(_: App) -> AsyncIterator[None]:
    """End the process `_GRACE_S` after SIGINT or SIGTERM, whatever it still waits for.

    uvicorn closes the connections that it knows of and waits for all others: for one that it accepted in that moment
    (browsers open some before they need them) as long as the browser keeps it open, and so for a browser that reads
    nothing more, a slow download, and a thread that waits for a database.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _with_deadline(signal.getsignal(number)))
    yield


def _with_deadline(handler: Any) -> Callable[[int, FrameType | None], None]:
    def end(number: int, frame: FrameType | None) -> None:
        timer = Timer(_GRACE_S, os._exit, (0,))
        timer.daemon = True
        timer.start()
        handler(number, frame)

    return end


def _role_of(word: str) -> str:
    """The role of a token of the database; "" for an invalid one. Raises StoreError if the database cannot be read."""
    held = store().tokens.holder(word)
    return "" if held is None else held.role.value


def free_port(access: Access) -> int:
    """The port to listen on, any free one for 0. Raises WeaklinkError if it is taken: the server prints a traceback."""
    try:
        addresses = socket.getaddrinfo(access.host, access.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = addresses[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            port: int = probe.getsockname()[1]
            return port
    except OSError as error:
        raise WeaklinkError(
            f"the dashboard cannot listen on {access.host}, port {access.port}: {error.strerror}; "
            "`--port` names another port, `--port 0` takes any free one"
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


def index_page(menu: str = "") -> str:
    """The HTML of every page: Streamlit's with our style sheet, and a visitor's choice of a menu of names or icons."""
    import streamlit  # noqa: PLC0415  # only the running dashboard pays for it

    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    styles = f"<style>{colour_rules()}{RULES}</style>"  # after Streamlit's own, which are in the head
    chosen = f'<html data-menu="{menu}"' if menu else "<html"
    return page.replace("<html", chosen, 1).replace("</body>", f"{styles}</body>", 1)


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


class IndexMiddleware:
    """ASGI middleware that adds the style sheet to Streamlit's page.

    Streamlit's own ways to add style sheets (`st.html`, `st.markdown`, components) load a script first, a quarter of a
    second after the page is drawn: by then, everything would move. The menu is as the visitor's cookie says.

    Files that a page offers, below `/media/`, are no pages: browsers save them instead of showing them, since a trace's
    HTML must never run or be displayed as a part of the dashboard. Only pictures are shown. Browsers may cache those,
    whose addresses identify their content; without it they would fetch the icon again for each new address.
    """

    def __init__(self, app: ASGIApp, pages: Mapping[str, str]) -> None:
        self._app = app
        self._pages = {menu: page.encode() for menu, page in pages.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on, and replace the body of every response whose content type is HTML."""
        if scope["type"] != "http" or scope["path"].startswith(_MEDIA):
            await self._app(scope, receive, _sending_file(send) if scope["type"] == "http" else send)
            return
        page = self._pages.get(cookie_of(scope, MENU_COOKIE)) or self._pages[""]
        is_html = False

        async def sending(message: Message) -> None:
            nonlocal is_html
            if message["type"] == "http.response.start":
                kind = _content_type(message)
                is_html = kind.startswith(b"text/html") and message["status"] == 200
                if is_html:
                    length = (b"content-length", str(len(page)).encode())
                    message = {**message, "headers": [(b"content-type", kind), (b"cache-control", b"no-cache"), length]}
            elif is_html:
                if message.get("more_body"):
                    return
                message = {"type": "http.response.body", "body": page}
            await send(message)

        await self._app(scope, receive, sending)


def _sending_file(send: Send) -> Send:
    """Send a response for a file of a page: a picture for the page itself, anything else to be saved."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: list[tuple[bytes, bytes]] = [*message["headers"]]
            if _content_type(message) == b"image/png":
                headers.append((b"cache-control", b"private, max-age=86400, immutable"))
            elif not any(name.lower() == b"content-disposition" for name, _ in headers):
                headers.append((b"content-disposition", b"attachment"))
            message = {**message, "headers": headers}
        await send(message)

    return sending


def _content_type(message: Message) -> bytes:
    headers: Iterable[tuple[bytes, bytes]] = message["headers"]
    return next((value for name, value in headers if name.lower() == b"content-type"), b"")
