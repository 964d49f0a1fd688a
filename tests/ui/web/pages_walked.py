"""Browser pages whose every misdeed is noted, and the moment at which a page of the dashboard stands still."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal
from weakref import WeakKeyDictionary

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, ViewportSize

from tests.ui.web.dashboards import ended

_OWN = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:http://127.0.0.1:")
PATIENCE_MS = 60_000
"""How long a page of a loaded machine may take to show what is expected; `expect` waits as long."""
_LOST_CONNECTION = re.compile(r"net::ERR_|WebSocket connection")
_STILL = "[data-testid=stApp][data-test-script-state=notRunning]"


_CONTEXTS: WeakKeyDictionary[Browser, dict[tuple[str, int, int], BrowserContext]] = WeakKeyDictionary()


@contextmanager
def watched(browser: Browser, scheme: str = "light", *, width: int = 1280, height: int = 900) -> Iterator[Page]:
    """A fresh page that ends in AssertionError where it met an error, a dialog, or a request to any other machine.

    Pages of one look share what the browser caches of scripts, which takes most of the time of a page, and nothing
    else: cookies and what a page stored go with the page.
    """
    context = _context(browser, scheme, width, height)
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE_MS)
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    opened.on("console", lambda message: wrong.extend(_complaints(message)))
    opened.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
    opened.on("request", lambda request: wrong.extend(_foreign(request.url)))

    def note_other(other: Page) -> None:
        wrong.append(f"another page: {other.url}")

    context.on("page", note_other)
    try:
        yield opened
    finally:
        context.remove_listener("page", note_other)
        _forget(context)
    assert not wrong, wrong


def _context(browser: Browser, scheme: str, width: int, height: int) -> BrowserContext:
    known = _CONTEXTS.setdefault(browser, {})
    if (scheme, width, height) not in known:
        wanted: Literal["light", "dark"] = "dark" if scheme == "dark" else "light"
        size: ViewportSize = {"width": width, "height": height}
        known[scheme, width, height] = browser.new_context(viewport=size, color_scheme=wanted)
    return known[scheme, width, height]


def _forget(context: BrowserContext) -> None:
    """Close the pages of a context and drop what they stored."""
    for page in context.pages:
        if page.url.startswith("http"):
            page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
        page.close()
    context.clear_cookies()
    context.clear_permissions()


def settled(page: Page) -> None:
    """Wait until the script of a page has run and nothing of it is still to come, or being counted."""
    page.wait_for_selector("[data-testid=stMain] h1, [data-testid=stMain] [data-testid=stAlert]")
    page.wait_for_selector(_STILL, state="attached")
    page.wait_for_timeout(150)  # a component tells what was done in it a moment later, and the script runs anew
    page.wait_for_selector(_STILL, state="attached")
    page.wait_for_function(
        "() => !document.querySelector('[data-testid=stSkeleton], [data-stale=true], .wl-room, .wl-aside')"
    )


def _complaints(message: ConsoleMessage) -> Iterator[str]:
    if message.type == "error" and not _only_reconnects(message):
        yield f"console: {message.text} ({message.location['url']})"


def _only_reconnects(message: ConsoleMessage) -> bool:
    """Whether this is a page that tries to reach its dashboard, which its test has already stopped."""
    said = f"{message.text} {message.location['url']}"
    return bool(_LOST_CONNECTION.search(message.text)) and any(f"127.0.0.1:{port}/" in said for port in ended)


def _foreign(url: str) -> Iterator[str]:
    if not url.startswith(_OWN):
        yield f"request: {url}"
