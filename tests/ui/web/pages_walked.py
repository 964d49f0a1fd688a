"""Browser pages whose every misdeed is noted, and the moment at which a page of the dashboard stands still."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from playwright.sync_api import Browser, ConsoleMessage, Page

# Streamlit looks for these below the path of a page before it finds them at the root.
_PROBED = ("/_stcore/health", "/_stcore/host-config")
_OWN = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:http://127.0.0.1:")
_STILL = "[data-testid=stApp][data-test-script-state=notRunning]"


@contextmanager
def watched(browser: Browser, scheme: str = "light", *, width: int = 1280, height: int = 900) -> Iterator[Page]:
    """A fresh page that ends in AssertionError where it met an error, a dialog, or a request to any other machine."""
    wanted: Literal["light", "dark"] = "dark" if scheme == "dark" else "light"
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=wanted)
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    opened.on("console", lambda message: wrong.extend(_complaints(message)))
    opened.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
    opened.on("request", lambda request: wrong.extend(_foreign(request.url)))
    context.on("page", lambda other: wrong.append(f"another page: {other.url}"))
    yield opened
    context.close()
    assert not wrong, wrong


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
    if message.type == "error" and not message.location["url"].endswith(_PROBED):
        yield f"console: {message.text} ({message.location['url']})"


def _foreign(url: str) -> Iterator[str]:
    if not url.startswith(_OWN):
        yield f"request: {url}"
