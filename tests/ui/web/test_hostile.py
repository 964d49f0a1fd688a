"""A real browser over every page of a database of attacks: nothing of a trace becomes more than text."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from playwright.sync_api import Browser, Page

from tests.ui.web.dashboards import dashboard
from tests.ui.web.hostile import ATTACKS, MARKER, make_hostile
from tests.ui.web.pages_walked import settled, watched
from weaklink.inspector.model import Json
from weaklink.storage.store import open_store
from weaklink.ui.views.styled_text import visible_line
from weaklink.ui.web.application import PAGES

_STATES = {
    "trace": ("trace={all}", "trace={long}", "trace={deep}", "trace=<img src=x onerror=alert(9)>$x$"),
    "compare": ("runs={all} {other}",),
    "traces": ("look={all}", 'filter=model:"<img src=x onerror=alert(9)>$x$"', "filter=((<b>:red[x]"),
    "rules": ("rule=<img src=x onerror=alert(9)>:red[x]$x$",),
    "sql": ('sql=select name, model, file, source as "<b>$x$</b>:red[y]" from traces', "sql=select <b>:red[x]$x$"),
    "tools": ("tool={name}",),
}
"""What the address says beside nothing, by page; a page that is not named here is opened as it is."""

_RICH = ("trace",)  # the page that shows most of a trace's text

_FOUND = (Path(__file__).parent / "made_of_text.js").read_text(encoding="utf-8")
_SEEN = (Path(__file__).parent / "seen.js").read_text(encoding="utf-8")
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\U000e0041]")
_LOOKS = 50


@pytest.fixture(scope="module")
def hostile_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_hostile(tmp_path_factory.mktemp("hostile") / "hostile.db")


@pytest.fixture(scope="module")
def hostile_dashboard(hostile_database: Path) -> Iterator[str]:
    with dashboard(hostile_database.parent, hostile_database) as address:
        yield address


def _states(database: Path, path: str) -> list[str]:
    count = len(ATTACKS)
    with open_store(database, create=False) as store:
        name = store.summary(count + 1).model
    words = {"all": count + 1, "other": 1, "long": count + 2, "deep": count + 3, "name": name[:200]}
    return ["", *(state.format(**words) for state in _STATES.get(path, ()))]


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("path", "scheme"),
    [
        pytest.param("trace", "dark", marks=pytest.mark.slow),
        *(
            pytest.param(path, "light", marks=[] if path in _RICH else [pytest.mark.slow])
            for path in ("", *(entry.path for entry in PAGES[1:]))
        ),
    ],
)
def test_no_page_makes_anything_of_hostile_text(
    browser: Browser, hostile_database: Path, hostile_dashboard: str, path: str, scheme: str
) -> None:
    """The gate opens the tabs of the trace that has all attacks; the profile `full` those of each state."""
    with watched(browser, scheme) as page:
        for state in _states(hostile_database, path):
            page.goto(f"{hostile_dashboard}{path}?{state}")
            settled(page)
            _check(page)
            if state.startswith("sql="):
                page.get_by_role("button", name="Run", exact=True).click()
                settled(page)
                _check(page)
            tabs = page.get_by_role("tab").all()
            for tab in tabs if f"{len(ATTACKS) + 1}" in state or not settings().derandomize else ():
                tab.click()
                settled(page)
                _check(page)


@pytest.mark.slow
def test_every_attack_opens_as_text_with_its_tricks_as_glyphs(
    browser: Browser, hostile_database: Path, hostile_dashboard: str
) -> None:
    with watched(browser) as page:
        page.goto(f"{hostile_dashboard}rules")
        settled(page)
        for number, attack in enumerate(ATTACKS, 1):
            page.keyboard.press("Control+k")  # a page that is left is quicker than one that is loaded
            page.keyboard.type(f"{number}\n")
            page.wait_for_url(f"{hostile_dashboard}trace?trace={number}")
            page.locator("h1", has_text=f"{number} ·").wait_for()
            settled(page)
            _check(page)
            title = page.locator("h1").text_content()  # which is no Markdown
            named = visible_line(f"subagent: {MARKER} {attack}")
            assert title == f"{number} · {named[: len(str(title)) - 4 - number // 10]}"
            assert len(str(title)) > 60
            seen = _seen(page)
            assert MARKER in seen
            for word in re.findall(r"[A-Za-z]{4,}", attack):
                assert word in seen, attack
        seen = _seen(page)


_MADE_OF_TEXT = (
    "<img src=x>",
    "<a href=/x>x</a>",
    "<p onx='1'>x</p>",
    "<iframe></iframe>",
    "<div class=katex></div>",
    "<div class=stMarkdown><em>x</em></div>",
)


def test_what_text_makes_is_found_in_a_shadow_too(browser: Browser, demo_dashboard: str) -> None:
    with watched(browser) as page:
        page.goto(f"{demo_dashboard}rules")
        settled(page)
        for made in _MADE_OF_TEXT:
            assert page.evaluate(_FOUND) == []
            page.evaluate(
                """(made) => {
                    window.host = document.createElement('div');
                    window.host.attachShadow({mode: 'open'}).setHTMLUnsafe(made);
                    document.body.append(window.host);
                }""",
                made,
            )
            assert len(page.evaluate(_FOUND)) == 1, made
            page.evaluate("() => window.host.remove()")


def test_what_cannot_be_seen_stands_as_glyphs(browser: Browser, hostile_dashboard: str) -> None:
    with watched(browser) as page:
        page.goto(f"{hostile_dashboard}trace?trace={_number_of(chr(0x202E))}")
        settled(page)
        seen = _seen(page)
        for glyph in (r"\u202eturned\u2066", r"zero\u200b", r"\ud800", r"\udfff", "␀nul", r"\U000e0041tag"):
            assert glyph in seen
        page.goto(f"{hostile_dashboard}trace?trace={_number_of(chr(0x1B))}")
        settled(page)
        for glyph in ("␛[31mred", "␛]52;c;AAAA␇", r"\u009b2J"):
            assert glyph in _seen(page)


def test_a_click_on_hostile_text_selects_it_and_nothing_more(browser: Browser, hostile_dashboard: str) -> None:
    with watched(browser) as page:
        page.goto(f"{hostile_dashboard}trace?trace={len(ATTACKS) + 1}")
        settled(page)
        for index in range(0, 12, 3):
            page.locator(".leftbox .item").nth(index).click()
            settled(page)
            _check(page)
        for button in ("Link", "Mark"):
            page.get_by_role("button", name=re.compile(button)).first.click()
            settled(page)
            _check(page)
            page.keyboard.press("Escape")


@pytest.mark.slow
@pytest.mark.parametrize("path", [pytest.param("tools", marks=pytest.mark.slow), "traces"])
def test_a_row_of_hostile_text_can_be_chosen_and_opened(browser: Browser, hostile_dashboard: str, path: str) -> None:
    with watched(browser) as page:
        page.goto(f"{hostile_dashboard}{path}")
        settled(page)
        rows = page.locator("table tbody tr")
        for index in range(1, 9, 3):
            rows.nth(index).click()
            settled(page)
            _check(page)
        assert "Try again" not in _seen(page)
        rows.nth(2).dblclick()
        settled(page)
        for _ in range(_LOOKS):  # the trace's views come by a route of their own
            if MARKER in _seen(page):
                break
            page.wait_for_timeout(200)
        _check(page)
        assert MARKER in _seen(page)


def _number_of(character: str) -> int:
    return next(number for number, attack in enumerate(ATTACKS, 1) if character in attack)


def _check(page: Page) -> None:
    """Nothing in the page was made by text: no element, no attribute, no character that hides, and no failure."""
    elements: Json = page.evaluate(_FOUND)
    assert elements == []
    seen = _seen(page)
    assert "encountered an error" not in seen, page.url
    unseen = _UNSEEN.search(seen)
    assert unseen is None, f"{page.url}: {seen[max(unseen.start() - 60, 0) : unseen.end() + 60]!r}"


def _seen(page: Page) -> str:
    return str(page.evaluate(_SEEN))
