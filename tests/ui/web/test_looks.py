"""How pages look: one scale of type, the same colours for a status everywhere, no label cut off."""

import re

import pytest
from playwright.sync_api import Browser, Page

from tests.ui.web.pages_walked import settled, watched
from weaklink.inspector.chain.steps import Status
from weaklink.ui.views.colours import DARK, LIGHT
from weaklink.ui.views.status import status_run
from weaklink.ui.web.application import PAGES
from weaklink.ui.web.charts import STATUS_STYLES

_PATHS = (
    *("", *(entry.path for entry in PAGES[1:] if entry.path != "trace")),
    *("trace?trace=19", "trace?trace=999", "rules?rule=J104", "compare?what=groups", "compare?runs=19 20"),
)
_SCALE = {"12px", "13px", "14px", "16px", "20px", "26px"}
_TEXTS = """() => {
    // Each text that is seen, with its size and colour; icons are drawn by a font.
    const found = [];
    const walk = (root) => {
        for (const node of root.querySelectorAll('*')) {
            if (node.shadowRoot) walk(node.shadowRoot);
            const own = [...node.childNodes].filter((one) => one.nodeType === 3);
            const words = own.map((one) => one.data.trim()).join('');
            const { width, height } = node.getBoundingClientRect();
            const isSeen = node.checkVisibility({visibilityProperty: true}) && width > 1 && height > 1;
            if (!words || !isSeen || node.closest('[data-testid=stIconMaterial], .vg-tooltip, style, script')) continue;
            const { fontSize, color } = getComputedStyle(node);
            found.push([fontSize, color, words.slice(0, 60)]);
        }
    };
    walk(document);
    return found;
}"""
_CUT = """() => [...document.querySelectorAll('svg.marks')].flatMap((svg) => {
    // Words of charts that reach beyond their chart.
    const whole = svg.getBoundingClientRect();
    return [...svg.querySelectorAll('text')].filter((one) => {
        const { left, right, top, bottom, width } = one.getBoundingClientRect();
        if (!width || getComputedStyle(one).opacity === '0' || one.getAttribute('opacity') === '0') return false;
        return left < whole.left - 1 || right > whole.right + 1 || top < whole.top - 1 || bottom > whole.bottom + 1;
    }).map((one) => one.textContent);
})"""
_GLYPH = re.compile(r"^(\S+) (broken|aborted|recovered|unknown|ok)$")


def _texts(page: Page, address: str) -> list[tuple[str, str, str]]:
    page.goto(address)
    settled(page)
    return [(str(size), str(colour), str(words)) for size, colour, words in page.evaluate(_TEXTS)]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_pages_have_one_scale_of_type_and_one_colour_for_a_status(
    browser: Browser, demo_dashboard: str, scheme: str
) -> None:
    colours = DARK if scheme == "dark" else LIGHT
    wanted = {
        status_run(Status(name)).text.partition(" ")[0]: colours.of[style] for name, style in STATUS_STYLES.items()
    }
    met: set[str] = set()
    with watched(browser, scheme) as page:
        for path in _PATHS:
            texts = _texts(page, f"{demo_dashboard}{path}")
            assert {size for size, _, _ in texts} <= _SCALE, [text for text in texts if text[0] not in _SCALE]
            for _, colour, words in texts:
                match = _GLYPH.match(words)
                if match and match[1] in wanted:
                    met.add(match[1])
                    assert colour == _as_browser(wanted[match[1]]), (path, words)
    assert len(met) >= 4


def _as_browser(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[index : index + 2], 16)) for index in (1, 3, 5))})"


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_no_label_of_a_chart_is_cut_off(browser: Browser, demo_dashboard: str, scheme: str, width: int) -> None:
    with watched(browser, scheme, width=width) as page:
        page.goto(demo_dashboard)
        settled(page)
        page.wait_for_function("() => document.querySelectorAll('svg.marks').length >= 3")
        assert page.evaluate(_CUT) == []


@pytest.mark.slow
def test_a_cell_of_a_phone_shows_the_number_that_fits(browser: Browser, demo_dashboard: str) -> None:
    for width, shown in ((1280, "67 %"), (390, "67")):
        with watched(browser, width=width) as page:
            page.goto(demo_dashboard)
            settled(page)
            words = page.locator("svg.marks text", has_text="67")
            words.first.wait_for()
            seen = [word.text_content() for word in words.all() if word.get_attribute("opacity") != "0"]
            assert seen == [shown]
