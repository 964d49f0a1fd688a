"""A page that waited for a count says so no longer when the count is there, in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.ui.web.dashboards import running
from tests.ui.web.pages_walked import settled, watched

_IMPATIENT = """
from msgspec.structs import replace
from weaklink.ui.web import stores
told = stores.set_options
stores.set_options = lambda serving: told(replace(serving, patience_s=0.0))
"""
"""A dashboard that draws every page without the figures first, as on a busy machine."""


@pytest.mark.slow
def test_counting_goes_when_the_count_is_there(browser: Browser, demo_database: Path) -> None:
    with running(demo_database.parent, demo_database, first=_IMPATIENT) as process:
        for age in ("7d", "90d"):
            with watched(browser) as page:
                page.goto(f"{process.address}settings?age={age}")
                settled(page)
