"""Browser pages whose every misdeed is noted, and the moment at which a page of the dashboard stands still."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal
from urllib.parse import urljoin
from weakref import WeakKeyDictionary

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Error, Page, Request, ViewportSize

from tests.ui.web.dashboards import ended

_OWN = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:http://127.0.0.1:")
PATIENCE_MS = 60_000
"""How long a page of a loaded machine may take to show what is expected; `expect` waits as long."""
_LOST_CONNECTION = re.compile(r"net::ERR_|WebSocket connection")
_SEARCH = re.compile(r":\d+/[a-z]+/_stcore/(health|host-config)$")
"""Streamlit looks for its server below the path of a page first."""

LATE_ANSWERS = """
const Real = window.WebSocket;
window.late = 0;
const held = (heard) => (event) => window.late ? setTimeout(() => heard(event), window.late) : heard(event);
window.WebSocket = class extends Real {
    set onmessage(heard) { super.onmessage = held(heard); }
    addEventListener(name, heard) { super.addEventListener(name, name === 'message' ? held(heard) : heard); }
};
"""
"""A script of a page: what the server says is heard `window.late` milliseconds later."""
_STILL = "[data-testid=stApp][data-test-script-state=notRunning]"


class _Look:
    """The context of light or dark pages, and its page that no test uses at the moment."""

    def __init__(self, browser: Browser, scheme: str) -> None:
        wanted: Literal["light", "dark"] = "dark" if scheme == "dark" else "light"
        self.context = browser.new_context(color_scheme=wanted)
        self.idle: Page | None = None

    def take(self) -> Page:
        """A page that shows nothing of an earlier test."""
        page, self.idle = self.idle, None
        return page or self.context.new_page()

    def give_back(self, used: Page) -> None:
        """Drop what pages stored, close all but one, and let that one leave what it shows."""
        for page in self.context.pages:
            if page is not used or self.idle is not None or not _is_left(page):
                page.close()
        self.idle = self.idle or (None if used.is_closed() else used)
        self.context.clear_cookies()
        self.context.clear_permissions()


_LOOKS: WeakKeyDictionary[Browser, dict[str, _Look]] = WeakKeyDictionary()


@contextmanager
def watched(browser: Browser, scheme: str = "light", *, width: int = 1280, height: int = 900) -> Iterator[Page]:
    """A page that ends in AssertionError where it met an error, a dialog, or a request to any other machine.

    Tests of one colour scheme take the same page one after another, since a new one compiles Streamlit's scripts again,
    which takes half of the time of a test. Cookies and what the page stored do not stay.
    """
    looks = _LOOKS.setdefault(browser, {})
    if scheme not in looks:
        looks[scheme] = _Look(browser, scheme)
    look = looks[scheme]
    opened = look.take()
    size: ViewportSize = {"width": width, "height": height}
    if opened.viewport_size != size:
        opened.set_viewport_size(size)
    opened.set_default_timeout(PATIENCE_MS)
    wrong: list[str] = []

    def note_error(error: Error) -> None:
        wrong.append(f"error: {error}")

    def note_message(message: ConsoleMessage) -> None:
        wrong.extend(_complaints(message))

    def note_dialog(dialog: Dialog) -> None:
        wrong.append(f"dialog: {dialog.message}")

    def note_request(request: Request) -> None:
        wrong.extend(_foreign(request.url))

    def note_other(other: Page) -> None:
        wrong.append(f"another page: {other.url}")

    opened.on("pageerror", note_error)
    opened.on("console", note_message)
    opened.on("dialog", note_dialog)
    opened.on("request", note_request)
    look.context.on("page", note_other)
    try:
        yield opened
    finally:
        look.context.remove_listener("page", note_other)
        opened.remove_listener("pageerror", note_error)
        opened.remove_listener("console", note_message)
        opened.remove_listener("dialog", note_dialog)
        opened.remove_listener("request", note_request)
        look.give_back(opened)
    assert not wrong, wrong


def _is_left(page: Page) -> bool:
    """Leave what a page shows for a text of the same server, where its process goes on, and drop what was stored."""
    if not page.url.startswith("http"):
        return False
    try:
        page.goto(urljoin(page.url, "/_stcore/health"))
        page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
    except Error:  # the server has ended
        return False
    return True


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
    if message.type == "error" and not _only_reconnects(message) and not _SEARCH.search(message.location["url"]):
        yield f"console: {message.text} ({message.location['url']})"


def _only_reconnects(message: ConsoleMessage) -> bool:
    """Whether this is a page that tries to reach its dashboard, which its test has already stopped."""
    said = f"{message.text} {message.location['url']}"
    return bool(_LOST_CONNECTION.search(message.text)) and any(f"127.0.0.1:{port}/" in said for port in ended)


def _foreign(url: str) -> Iterator[str]:
    if not url.startswith(_OWN):
        yield f"request: {url}"
