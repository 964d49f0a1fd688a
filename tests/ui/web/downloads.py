"""The files that a page of the dashboard offers, downloaded in a real browser."""

import re
from pathlib import Path

from playwright.sync_api import Download, Locator, Page

_OFFERS = re.compile(r"^(downloadHTML file|Download as \w+)$")  # an icon's name precedes the words of its button
WITHOUT_PICKER = "delete window.showSaveFilePicker"
"""A script for pages: Chromium would ask where to store a table, with a dialog."""


def offers(page: Page) -> list[Locator]:
    """The buttons of a page that download something."""
    buttons = page.locator("button").all()
    return [
        button
        for button in buttons
        if _OFFERS.match(name_of(button)) and button.evaluate("(button) => button.checkVisibility()")
    ]


def name_of(button: Locator) -> str:
    """A button's name."""
    return button.get_attribute("aria-label") or button.text_content() or ""


def downloaded(page: Page, button: Locator) -> Download:
    """What a button downloads."""
    with page.expect_download() as download:
        button.evaluate("(button) => button.click()")  # those of charts and tables are visible only under the mouse
    return download.value


def content_of(download: Download) -> bytes:
    """The downloaded file."""
    return Path(download.path()).read_bytes()
