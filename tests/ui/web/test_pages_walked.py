"""What tests of the dashboard count as an error of a page."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.ui.web.dashboards import dashboard, free_port
from tests.ui.web.pages_walked import settled, watched


@pytest.mark.slow
def test_a_page_may_outlive_its_dashboard(browser: Browser, demo_database: Path, tmp_path: Path) -> None:
    with watched(browser) as page:
        with dashboard(tmp_path, demo_database) as address:
            page.goto(address)
            settled(page)
        with page.expect_event("requestfailed"):  # it tries to reach the server that is gone
            pass


def test_a_failed_request_to_a_server_that_no_test_stopped_fails_the_test(browser: Browser) -> None:
    with pytest.raises(AssertionError, match="ERR_CONNECTION_REFUSED"):
        _ask_a_port_that_nobody_listens_on(browser)


def _ask_a_port_that_nobody_listens_on(browser: Browser) -> None:
    with watched(browser) as page:
        page.goto("data:text/html,<p>A page</p>")
        with page.expect_event("console"):
            page.evaluate(f"() => fetch('http://127.0.0.1:{free_port()}/').catch(() => null)")
