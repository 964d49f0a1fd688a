"""Every page, light and dark, wide and narrow: axe-core finds no violation, and the Tab key reaches everything."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.ui.web.pages_walked import settled, watched
from weaklink.storage.store import open_store
from weaklink.ui.web.application import PAGES

_AXE = Path(__file__).parents[3] / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
_PATHS = ("", *(entry.path for entry in PAGES[1:]))
_PHONE = 390
_LOOKS = [
    *(("light", 1280, path) for path in _PATHS),
    *(("dark", _PHONE, path) for path in ("", "trace")),
    *(pytest.param("dark", _PHONE, path, marks=pytest.mark.slow) for path in _PATHS if path not in ("", "trace")),
    *(pytest.param("dark", 1280, path, marks=pytest.mark.slow) for path in _PATHS),
    *(pytest.param("light", _PHONE, path, marks=pytest.mark.slow) for path in _PATHS),
]
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
_RUN = """async (tags) => {
    const options = {runOnly: {type: 'tag', values: tags}, resultTypes: ['violations']};
    const found = await axe.run(document, options);
    return found.violations.flatMap((one) => one.nodes.map((node) => ({
        rule: one.id, impact: node.impact, html: node.html.slice(0, 300), target: node.target.flat().join(' '),
        why: node.failureSummary,
    })));
}"""


_LIST = """() => {
    // Every control of the page that can be used, but what one stop of the Tab key stands for and arrows lead through.
    const found = [];
    const walk = (root) => {
        for (const node of root.querySelectorAll('*')) {
            if (node.shadowRoot) walk(node.shadowRoot);
            const role = node.getAttribute('role');
            const isControl = node.matches('button, input, textarea, select, a[href], summary')
                || ['button', 'tab', 'listbox', 'grid', 'tree', 'switch'].includes(role)
                || node.matches('[tabindex="0"]');
            const isWithin = role === 'tab' || node.matches('[role=radio], [role=radio] *') || node.tabIndex < 0;
            const shape = node.getBoundingClientRect();
            const isSeen = node.checkVisibility({visibilityProperty: true}) && shape.width > 1 && shape.height > 1;
            if (isControl && !isWithin && !node.disabled && isSeen && node.type !== 'file') found.push(node);
        }
    };
    walk(document);
    window.controls = found.map((node, index) => ({node, name: `${index} ${node.outerHTML.slice(0, 160)}`}));
}"""
_TOO_WIDE = """() => [document.scrollingElement, ...document.querySelectorAll('[data-testid=stMain]')]
    .filter((one) => one.scrollWidth > one.clientWidth).map((one) => `${one.tagName} ${one.scrollWidth}`)"""
_TOO_SMALL = """() => {
    // Controls of the page's own part that are lower than 24 CSS pixels; a box beside words is hit by its words.
    const found = [];
    const walk = (root) => {
        for (const node of root.querySelectorAll('*')) {
            if (node.shadowRoot) walk(node.shadowRoot);
            const kinds = 'button, label:has(input), input:not(label input), [role=button], [role=tab], summary';
            if (!node.matches(kinds)) continue;
            if (root === document && !node.closest('[data-testid=stMain]')) continue;
            const { width, height } = node.getBoundingClientRect();
            const isSeen = node.checkVisibility({visibilityProperty: true}) && width > 1 && height > 1;
            if (isSeen && height < 23.5) found.push(`${node.outerHTML.slice(0, 120)} ${height}`);
        }
    };
    walk(document);
    return found;
}"""
_FOCUSED = """() => {
    let here = document.activeElement;
    while (here && here.shadowRoot && here.shadowRoot.activeElement) here = here.shadowRoot.activeElement;
    const found = window.controls.find((one) => one.node === here);
    return found ? found.name : '';
}"""


@pytest.fixture(scope="module")
def broken(demo_database: Path) -> list[int]:
    """Traces that broke, with most calls first: their pages have most to look at."""
    with open_store(demo_database, create=False) as store:
        summaries = sorted(store.traces("status:broken"), key=lambda summary: -summary.tool_calls)
    return [summary.id for summary in summaries]


def _address(dashboard: str, path: str, broken: list[int]) -> str:
    asked = {"trace": f"?trace={broken[0]}", "compare": f"?runs={broken[0]} {broken[1]}"}
    return f"{dashboard}{path}{asked.get(path, '')}"


@pytest.mark.one_in(12)
@pytest.mark.parametrize(("scheme", "width", "path"), _LOOKS)
def test_axe_finds_nothing_and_the_tab_key_a_finger_and_a_phone_reach_everything(
    browser: Browser, demo_dashboard: str, broken: list[int], path: str, *, scheme: str, width: int
) -> None:
    if not _AXE.exists():
        pytest.skip("axe-core is not in build/axe: `make test` takes it from npm, which could not be asked")
    with watched(browser, scheme, width=width) as page:
        page.goto(_address(demo_dashboard, path, broken))
        settled(page)
        if width == _PHONE:
            assert page.evaluate(_TOO_WIDE) == []
            assert page.evaluate(_TOO_SMALL) == []
        _check(page)
        if scheme == "light":
            _check_tab_key(page)
        for tab in page.get_by_role("tab").all():
            tab.click()
            settled(page)
            _check(page)


@pytest.mark.slow
@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 1280),
        ("dark", _PHONE),
        pytest.param("dark", 1280, marks=pytest.mark.slow),
        pytest.param("light", _PHONE, marks=pytest.mark.slow),
    ],
)
def test_axe_finds_nothing_in_what_a_key_or_a_click_opens(
    browser: Browser, demo_dashboard: str, broken: list[int], *, scheme: str, width: int
) -> None:
    if not _AXE.exists():
        pytest.skip("axe-core is not in build/axe: `make test` takes it from npm, which could not be asked")
    with watched(browser, scheme, width=width) as page:
        page.goto(f"{demo_dashboard}settings")
        settled(page)
        if width == _PHONE:
            page.get_by_role("button", name="Menu").click()
            expect(page.get_by_role("link", name="Compare")).to_be_in_viewport()
            _check(page)
        for key in ("Control+k", "/"):
            _open_search(page, key)
            _check(page)
            page.keyboard.press("Escape")
            expect(page.get_by_role("dialog")).to_have_count(0)
        page.goto(f"{demo_dashboard}trace?trace={broken[0]}")
        settled(page)
        page.get_by_role("button", name="Filter by").click()
        expect(page.get_by_test_id("stPopoverBody")).to_be_visible()
        settled(page)
        _check(page)
        for opened in ("read=text", "read=markdown", "read=code", "read=diff", "beside=ask"):
            page.goto(f"{demo_dashboard}trace?trace={broken[0]}&{opened}")
            settled(page)
            _check(page)
            if width == _PHONE:
                assert page.evaluate(_TOO_WIDE) == []
                assert page.evaluate(_TOO_SMALL) == []
        page.goto(f"{demo_dashboard}compare?what=groups")
        settled(page)
        _check(page)
        page.get_by_role("button", name="Views").click()
        expect(page.get_by_test_id("stPopoverBody")).to_be_visible()
        _check(page)
        page.goto(f"{demo_dashboard}compare?runs={broken[0]} {broken[1]}")
        settled(page)
        page.get_by_text("Requests side by side").click()
        settled(page)
        _check(page)


def _open_search(page: Page, key: str) -> None:
    """Press a key until the search is open: where the script runs once more, its element is another for a moment."""
    for _ in range(5):
        page.keyboard.press(key)
        try:
            page.get_by_role("dialog").wait_for(timeout=4_000)
        except PlaywrightTimeout:
            continue
        return
    raise AssertionError(f"{key} opens nothing")


def _check_tab_key(page: Page) -> None:
    """The Tab key reaches every control."""
    page.evaluate(_LIST)
    wanted = set(page.evaluate("() => window.controls.map((one) => one.name)"))
    met: set[str] = set()
    for _ in range(3 * len(wanted) + 40):
        page.keyboard.press("Tab")
        met.add(str(page.evaluate(_FOCUSED)))
        if wanted <= met:
            break
    assert wanted <= met, wanted - met
    assert len(wanted) > 5


def _check(page: Page) -> None:
    page.evaluate(_AXE.read_text(encoding="utf-8"))
    violations = page.evaluate(_RUN, _TAGS)
    ours = [f"{record['rule']}: {record['html']} {record['why']}" for record in violations]
    assert ours == [], "\n".join((page.url, *ours))
