"""Pages that wait for news, in a real browser: they are left at any moment, and ask for nothing once they are left."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Request, expect

from tests.ui.web.dashboards import running
from tests.ui.web.gates import gate_of, gated
from tests.ui.web.pages_walked import settled, watched

_WAITING = """
from tests.ui.web.gates import mind
mind()
from msgspec.structs import replace
from weaklink.ui.web import stores
told = stores.set_options
stores.set_options = lambda serving: told(replace(serving, patience_s=0.0))
"""
"""A dashboard whose figures wait at the gate of their database, and whose pages do not wait for figures."""

_TITLES = ("What breaks", "Traces", "Tools", "What breaks", "Rules", "Tools", "Traces", "Compare")


@pytest.mark.slow
def test_a_page_whose_figures_are_counted_is_left_at_any_moment_and_gets_them_when_they_are_there(
    browser: Browser, demo_database: Path, tmp_path: Path
) -> None:
    database = gated(demo_database, tmp_path / "gated.db")
    gate = gate_of(database)
    gate.touch()
    root = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[3])!r})"
    with running(tmp_path, database, first=root + _WAITING) as process:
        with watched(browser) as page:
            asked: list[str] = []

            def note(request: Request) -> None:
                asked.extend([request.url] if "/weaklink/watch/" in request.url else [])

            page.on("request", note)
            page.goto(f"{process.address}tools")
            expect(page.locator(".wl-aside").first).to_contain_text("Counting")
            for title in _TITLES:
                page.get_by_role("navigation").get_by_role("link", name=title, exact=True).click()
                expect(page.locator("h1")).to_have_text(title)
                page.wait_for_timeout(600)
            page.get_by_role("navigation").get_by_role("link", name="Tools").click()
            expect(page.locator(".wl-aside").first).to_contain_text(re.compile(r"Counting all traces …( \d+ s)?"))
            page.wait_for_timeout(1_500)
            assert asked
            gate.unlink()
            settled(page)
            expect(page.locator('tbody[aria-label^="Tools;"] tr').first).to_be_visible()
            page.remove_listener("request", note)
        said = "".join(process.said)
    assert "Traceback" not in said
    assert "fragment" not in said
