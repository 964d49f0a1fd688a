"""A page that waited for a count says so no longer when the count is there, in a real browser."""

from pathlib import Path

from playwright.sync_api import Browser

from tests.ui.web.dashboards import running
from tests.ui.web.pages_walked import settled, watched

_IMPATIENT = """
from ui.web.options import DashboardOptions
DashboardOptions.__init__.__defaults__ = tuple(
    0.0 if one == 0.15 else one for one in DashboardOptions.__init__.__defaults__
)
"""
"""A dashboard that draws every page without the figures first, as on a busy machine."""


def test_counting_goes_when_the_count_is_there(browser: Browser, demo_database: Path) -> None:
    with running(demo_database.parent, demo_database, first=_IMPATIENT) as found:
        for age in ("7d", "90d"):
            with watched(browser) as page:
                page.goto(f"{found.address}settings?age={age}")
                settled(page)
