"""The whole story in a real browser: from what breaks most to the characters, to their origin, to a good run, and back.

Screenshots of every station are kept in build/screenshots.
"""

import re
from pathlib import Path
from time import monotonic

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.ui.web.pages_walked import watched

_SCREENSHOTS = Path(__file__).parents[3] / "build" / "screenshots"
_SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
_WORST = "T406 error-result"
_TIMEOUT_S = 10.0
_LIT = ".streambox .piece.selected"


@pytest.mark.slow
@pytest.mark.parametrize("size", ["desktop", pytest.param("phone", marks=pytest.mark.slow)])
def test_from_what_breaks_most_to_its_characters_to_a_good_run_and_by_a_link_back(
    demo_dashboard: str, browser: Browser, size: str
) -> None:
    width, height = _SIZES[size]
    with watched(browser, width=width, height=height) as page:
        page.goto(demo_dashboard)
        rules = page.locator('tbody[aria-label^="First breaks by rule;"] tr')
        expect(rules.first).to_contain_text(_WORST)
        _keep(page, size, "1-what-breaks")

        rules.first.click()
        expect(page).to_have_url(re.compile("/traces.filter=break%3AT406"))
        expect(page.get_by_role("heading", name="Traces", exact=True)).to_be_visible()
        page.locator(".listing tbody tr", has_text="Refund invoice 2025-0114").dblclick()

        expect(page.locator(".streambox")).to_contain_text("[T406] error-result")
        _lit(page, "service unavailable, try again later")
        _keep(page, size, "2-the-break")

        page.get_by_role("button", name=re.compile("^turn 5: tool call of step 2, refund_payment")).click()
        page.get_by_role("tab", name="Data flow").scroll_into_view_if_needed()
        expect(page.get_by_role("listitem").filter(has_text="/payment_id")).to_contain_text("not found earlier")
        _keep(page, size, "3-a-value-from-nowhere")
        page.get_by_role("button", name=re.compile("^step 1, get_invoice")).click()
        page.get_by_role("button", name=re.compile("number .*a user message")).click()
        _lit(page, "2025-0114")
        expect(page).to_have_url(re.compile(r"turn=2&part=text&start=\d+&end=\d+"))
        _keep(page, size, "4-where-the-cause-got-its-value-from")
        link = page.url

        page.get_by_role("button", name="Compare", exact=True).click()
        page.locator(".listing tbody tr", has_text="ok").first.dblclick()
        expect(page.locator('tbody[aria-label^="Runs;"] tr').nth(1).get_by_role("link")).to_have_attribute(
            "href", re.compile(r"trace\?trace=\d+&turn=\d+&part=")
        )
        expect(page.get_by_text("Click a run to open it at the step where it diverges.")).to_be_visible()
        _keep(page, size, "5-beside-a-good-run")

    with watched(browser, width=width, height=height) as fresh:
        fresh.goto(link)
        _lit(fresh, "2025-0114")
        _keep(fresh, size, "6-the-link-in-a-fresh-browser")


def _lit(page: Page, text: str) -> None:
    """Exactly these characters are lit, however many rows they are cut into."""
    lit, until = page.locator(_LIT), monotonic() + _TIMEOUT_S
    while lit.evaluate_all("found => found.map((one) => one.textContent).join('')") != text and monotonic() < until:
        page.wait_for_timeout(100)
    assert "".join(lit.all_text_contents()) == text


def _keep(page: Page, size: str, name: str) -> None:
    _SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=_SCREENSHOTS / f"{size}-{name}.png", full_page=True)
