"""The frame of the pages: what a list shows at the widths of laptops, and what is at hand as soon as it opens."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import sleep

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.ui.web.pages_walked import LATE_ANSWERS, settled, watched
from weaklink.storage.store import open_store

_LEAST_PX, _HIGHEST_PX = 180, 130
_BETWEEN = pytest.mark.slow  # a width between two that are tried in the gate, or another pair of what is tried there
_COLUMNS = """() => {
    // The columns of the list of traces with their widths in pixels; hidden ones have none.
    const tables = [...document.querySelectorAll('*')].filter((one) => one.shadowRoot);
    const body = tables.map((one) => one.shadowRoot.querySelector('tbody[aria-label^="Traces;"]')).find(Boolean);
    const heads = [...body.parentElement.querySelectorAll('th')];
    return heads.map((one) => [one.textContent.replace(/ [▴▾]$/, ''), one.getBoundingClientRect().width]);
}"""


def _widths(page: Page, address: str) -> dict[str, float]:
    page.goto(address)
    settled(page)
    page.locator("tbody tr").first.wait_for()
    return {str(title): float(width) for title, width in page.evaluate(_COLUMNS) if width}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("path", ["traces", "traces?preview=closed"])
@pytest.mark.parametrize("width", [1280, pytest.param(1366, marks=_BETWEEN), pytest.param(1440, marks=_BETWEEN), 1920])
def test_status_title_and_break_are_readable_and_figures_have_room(
    browser: Browser, demo_dashboard: str, width: int, path: str
) -> None:
    with watched(browser, width=width) as page:
        widths = _widths(page, f"{demo_dashboard}{path}")
        rows = page.locator('tbody[aria-label^="Traces;"]')
        beyond = rows.evaluate("(one) => one.closest('.listing').scrollWidth - one.closest('.listing').clientWidth")
    assert beyond == 0
    assert min(widths["status, certainty"], widths["title"], widths["break"]) >= _LEAST_PX
    assert {"took", "calls", "tokens", "when"} <= set(widths)


def test_a_guessed_verdict_says_so_beside_its_status_and_the_sure_ones_can_be_first(
    page: Page, demo_dashboard: str
) -> None:
    page.goto(f"{demo_dashboard}traces?filter=certainty:low")
    settled(page)
    first = page.locator('tbody[aria-label^="Traces;"] tr').first.locator("td").first
    expect(first).to_contain_text(", low")
    page.goto(f"{demo_dashboard}traces")
    settled(page)
    expect(first).not_to_contain_text(", ")
    page.get_by_role("button", name="status, certainty").click()
    expect(page).to_have_url(re.compile("order=certainty"))


@pytest.mark.slow
def test_ten_breaks_and_ten_tools_are_seen_whole(page: Page, demo_dashboard: str) -> None:
    page.goto(demo_dashboard)
    settled(page)
    tables = page.locator('.listing:has(tbody[aria-label^="First breaks"], tbody[aria-label^="Breaks by tool"])')
    expect(tables).to_have_count(2)
    assert tables.evaluate_all("(all) => all.map((one) => one.scrollHeight - one.clientHeight)") == [0, 0]


@pytest.mark.slow
def test_the_next_figures_follow_a_short_list_of_breaks(page: Page, demo_dashboard: str) -> None:
    page.goto(f"{demo_dashboard}?filter=break:J104")
    settled(page)
    page.reload()  # the first time, the figures may still be counted, with the room of the longest list
    settled(page)
    worst = page.get_by_role("button", name=re.compile("Worst by J104")).bounding_box()
    after = page.get_by_role("heading", name="Models and rules").bounding_box()
    assert worst is not None
    assert after is not None
    assert after["y"] - (worst["y"] + worst["height"]) < 80


@pytest.mark.one_in(2)
@pytest.mark.parametrize("width", [1280, pytest.param(1366, marks=_BETWEEN), 1920])
def test_the_cells_of_a_row_and_the_buttons_of_its_preview_stand_in_one_line(
    browser: Browser, demo_dashboard: str, width: int
) -> None:
    with watched(browser, width=width) as page:
        _widths(page, f"{demo_dashboard}traces")
        heights = page.locator("tbody tr").first.locator("td:visible").evaluate_all(_TEXT_TOPS)
        assert max(heights) - min(heights) <= 1, heights
        buttons = page.locator(".st-key-weaklink_preview_bar button:visible")
        assert len({round(record["y"]) for record in map(Locator.bounding_box, buttons.all()) if record}) == 1
        assert page.get_by_role("button", name="Close").is_visible()


_TEXT_TOPS = """(cells) => cells.map((cell) => {
    const words = document.createRange();
    words.selectNodeContents(cell.querySelector('a') || cell);
    const boxes = [...words.getClientRects()].filter((one) => one.width && one.height < 24);
    return boxes[0].top + boxes[0].height / 2;
})"""


@pytest.mark.slow
def test_without_the_preview_the_list_shows_more_and_a_click_opens_a_trace(page: Page, demo_dashboard: str) -> None:
    beside = _widths(page, f"{demo_dashboard}traces")
    page.get_by_role("button", name="Close").click()
    expect(page).to_have_url(f"{demo_dashboard}traces?preview=closed")
    expect(page.get_by_role("button", name="Preview")).to_be_visible()
    settled(page)
    alone = dict(page.evaluate(_COLUMNS))
    assert alone["title"] > beside["title"] + 50
    assert alone["model"] > 0
    page.get_by_role("link", name="Rules").click()  # it stays closed in this session
    expect(page.get_by_role("heading", name="Rules", exact=True)).to_be_visible()
    page.get_by_role("link", name="Traces").click()
    expect(page.get_by_role("button", name="Preview")).to_be_visible()
    settled(page)
    page.locator('tbody[aria-label^="Traces;"] tr', has_text="Two trains").locator("td").nth(2).click()
    expect(page).to_have_url(f"{demo_dashboard}trace?trace=28")


def test_the_keys_of_the_list_work_as_soon_as_it_is_shown(page: Page, demo_dashboard: str, demo_database: Path) -> None:
    with open_store(demo_database, create=False) as store:
        third = store.traces(limit=3)[2].id
    _widths(page, f"{demo_dashboard}traces")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{demo_dashboard}trace?trace={third}")


def test_a_row_is_a_link_that_opens_beside_the_list(browser: Browser, demo_dashboard: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    _widths(page, f"{demo_dashboard}traces?filter=status:ok")
    row = page.locator('tbody[aria-label^="Traces;"] tr').nth(1)
    address = row.locator("a").evaluate("(one) => one.href")
    assert address.startswith(f"{demo_dashboard}trace?trace=")
    assert address.endswith("filter=status%3Aok")
    acts: tuple[Callable[[], None], ...] = (
        lambda: row.locator("a").click(button="middle"),
        lambda: row.locator("td").first.click(modifiers=["Control"]),
        lambda: row.locator("td").nth(2).click(button="middle"),
    )
    for act in acts:
        with context.expect_page() as opened:
            act()
        opened.value.wait_for_url(address)
        opened.value.close()
    assert page.url == f"{demo_dashboard}traces?filter=status:ok"
    context.close()


@pytest.fixture(scope="module")
def endings(demo_database: Path) -> dict[str, int]:
    """A trace of the demo for each status."""
    with open_store(demo_database, create=False) as store:
        return {summary.status.value: summary.id for summary in store.traces(limit=100)}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("width", [1280, pytest.param(1366, marks=_BETWEEN), 1920])
def test_the_head_of_a_trace_is_low_and_the_verdict_is_beside_the_stream(
    browser: Browser, demo_dashboard: str, endings: dict[str, int], width: int
) -> None:
    with watched(browser, width=width) as page:
        page.goto(f"{demo_dashboard}trace?trace={endings['broken']}")
        settled(page)
        head = page.locator(".st-key-weaklink_trace_head").bounding_box()
        stream = page.locator(".streambox").bounding_box()
        expect(page.get_by_label("Verdict", exact=True)).to_contain_text("broke at step")
        verdict = page.get_by_label("Verdict", exact=True).bounding_box()
        assert head is not None
        assert stream is not None
        assert verdict is not None
        assert head["height"] <= _HIGHEST_PX
        assert stream["x"] + stream["width"] <= verdict["x"]
        assert verdict["y"] < stream["y"] + stream["height"] / 2
        assert page.evaluate("() => document.querySelector('.stMain').scrollWidth") <= width


@pytest.mark.slow
@pytest.mark.one_in(2)
@pytest.mark.parametrize(("status", "words"), [("recovered", "recovered by"), ("aborted", "server closed")])
def test_a_trace_that_did_not_break_has_a_sentence_too(
    page: Page, demo_dashboard: str, demo_database: Path, status: str, words: str
) -> None:
    with open_store(demo_database, create=False) as store:
        ids = [summary.id for summary in store.traces(f"status:{status}")]
    met = set[str]()
    for id_ in ids:
        page.goto(f"{demo_dashboard}trace?trace={id_}")
        settled(page)
        lines = page.get_by_label("How the trace ended").get_by_role("listitem")
        expect(lines).to_have_count(2)
        met.add(lines.nth(1).inner_text())
    assert any(words in sentence for sentence in met), met


def test_tabs_without_content_are_grey_and_the_open_one_is_in_the_address(
    page: Page, demo_dashboard: str, demo_database: Path
) -> None:
    with open_store(demo_database, create=False) as store:
        undated = next(summary.id for summary in store.traces("status:broken") if summary.started_at_s is None)
    page.goto(f"{demo_dashboard}trace?trace={undated}")
    settled(page)
    colours = (
        page.get_by_role("tab").locator("p").evaluate_all("(all) => all.map((one) => getComputedStyle(one).fontStyle)")
    )
    names = [text.strip() for text in page.get_by_role("tab").all_inner_texts()]
    shown = dict(zip([name for name in names if name not in ("Steps", "Values", "Faults")], colours, strict=True))
    assert shown["Data flow"] == "normal"
    assert shown["Timeline"] == "italic"
    page.get_by_role("tab", name="Faults").click()
    page.get_by_role("tab", name="Schema").click()
    page.wait_for_url("**tab=Schema**")
    settled(page)
    assert "pane=faults" in page.url
    page.reload()
    settled(page)
    for name in ("Faults", "Schema"):
        expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")


@pytest.mark.slow
def test_the_border_of_the_panes_is_dragged_and_remembered(
    page: Page, demo_dashboard: str, endings: dict[str, int]
) -> None:
    page.goto(f"{demo_dashboard}trace?trace={endings['broken']}")
    settled(page)
    left, border = page.locator(".leftbox"), page.locator(".divider")
    before = left.bounding_box()
    assert before is not None
    border.hover()
    page.mouse.down()
    page.mouse.move(before["x"] + 200, before["y"] + 50, steps=4)
    page.mouse.up()
    page.keyboard.press("Tab")
    border.focus()
    page.keyboard.press("ArrowRight")
    dragged = left.bounding_box()
    assert dragged is not None
    assert abs(dragged["width"] - 216) <= 4
    expect(page).to_have_url(re.compile(f"left={round(dragged['width'])}"))
    page.goto(f"{demo_dashboard}trace?trace={endings['recovered']}")
    settled(page)
    expect(page.locator(".leftbox")).to_have_css("width", f"{round(dragged['width'])}px")


def test_ask_again_is_a_panel_beside_the_stream_with_its_result(
    page: Page, demo_dashboard: str, endings: dict[str, int]
) -> None:
    page.goto(f"{demo_dashboard}trace?trace={endings['broken']}")
    settled(page)
    page.get_by_role("button", name="Ask again").click()
    expect(page).to_have_url(re.compile("beside=ask"))
    form = page.locator(".st-key-weaklink_ask_panel")
    form.get_by_role("button", name="Preview").click()
    expect(form.get_by_role("alert")).to_contain_text("server URL is required")
    stream, panel = page.locator(".streambox").bounding_box(), form.bounding_box()
    assert stream is not None
    assert panel is not None
    assert stream["x"] + stream["width"] <= panel["x"]
    page.get_by_role("button", name="Ask again").click()
    expect(form).to_have_count(0)
    expect(page.get_by_label("Verdict", exact=True)).to_be_visible()


_SHIFTS = """
window.shifts = [0];
new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
        if (entry.hadRecentInput) continue;
        window.shifts[0] += entry.value;
        const title = (one) => (one.node?.textContent || '').slice(0, 40);
        const words = (one) => `${one.previousRect.y} -> ${one.currentRect.y}: ${title(one)}`;
        window.shifts.push([entry.value, entry.sources.map(words)]);
    }
}).observe({type: 'layout-shift', buffered: true});
"""
_MOST_SHIFT = 0.1  # browsers call more in need of work


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "paths_by_width",
    [
        {1280: ("", "traces", "trace?trace={broken}", "trace?trace={recovered}")},
        {
            1280: ("tools", "rules", "rules?rule=J104", "compare"),
            390: ("", "trace?trace={broken}"),
            820: ("trace?trace={broken}",),
        },
        pytest.param({1280: ("data", "sql", "imports", "settings")}, marks=pytest.mark.slow),
        pytest.param({390: ("traces", "tools", "rules", "compare", "sql")}, marks=pytest.mark.slow),
    ],
)
def test_nothing_moves_while_a_page_is_drawn(
    browser: Browser, demo_dashboard: str, endings: dict[str, int], paths_by_width: dict[int, tuple[str, ...]]
) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{demo_dashboard}settings")  # the first page of a browser compiles Streamlit's scripts
        settled(page)
        page.add_init_script(_SHIFTS)
        for width, paths in paths_by_width.items():
            page.set_viewport_size({"width": width, "height": 900})
            for path in paths:
                _stands(page, f"{demo_dashboard}{path.format_map(endings)}")


def _stands(page: Page, address: str) -> None:
    shifts = []
    for _ in range(3):  # a page that moves does so each time; a busy machine may once paint before a style is there
        page.goto(address)
        settled(page)
        page.wait_for_timeout(300)
        shifts.append(page.evaluate("() => window.shifts"))
        if shifts[-1][0] <= _MOST_SHIFT:
            return
    raise AssertionError(page.url, page.viewport_size, shifts)


@pytest.mark.slow
def test_the_sentence_of_the_first_page_waits_for_no_script_of_its_own(browser: Browser, demo_dashboard: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    own_scripts = re.compile(r"/js/(Html|BidiComponent|ArrowVegaLiteChart)\..*js")
    page.route(own_scripts, lambda _: None)  # they never come
    with page.expect_request(own_scripts):
        page.goto(demo_dashboard)
    expect(page.locator(".stMain").get_by_text("most often by")).to_be_visible()
    context.close()


def _late(route: Route) -> None:
    sleep(0.4)
    route.continue_()


@pytest.mark.slow
def test_a_table_has_its_room_before_it_is_drawn(browser: Browser, demo_dashboard: str) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.route(re.compile("BidiComponent.*js"), _late)
    page.add_init_script(_SHIFTS)
    for path in ("traces", "tools", "rules", "settings", "tools?tool=get_weather"):
        with page.expect_request(re.compile("BidiComponent.*js")):
            page.goto(f"{demo_dashboard}{path}")
        settled(page)
        page.locator(".listing tbody tr").first.wait_for()
        page.wait_for_timeout(300)
        shifts = page.evaluate("() => window.shifts")
        assert shifts[0] <= _MOST_SHIFT, (path, shifts)
    context.close()


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("path", "row", "words"), [("tools", "get_weather", "Examples"), ("rules", "J104", "What to do")]
)
def test_the_details_of_a_row_are_beside_its_table(
    page: Page, demo_dashboard: str, path: str, row: str, words: str
) -> None:
    page.goto(f"{demo_dashboard}{path}")
    settled(page)
    table = page.locator(".listing").first
    table.locator("tr", has_text=row).first.click()
    page.wait_for_url(f"**={row}")
    beside = page.locator('[class*="st-key-weaklink_details_open"]').get_by_text(words).filter(visible=True).first
    beside.wait_for()  # the page without a selected row has such words too, below its table
    settled(page)
    shown = beside.bounding_box()
    whole = table.bounding_box()
    assert shown is not None
    assert whole is not None
    assert shown["x"] >= whole["x"] + whole["width"]
    assert shown["y"] < 900


@pytest.fixture
def late_page(browser: Browser) -> Iterator[Page]:
    """A page whose server answers later than what browsers still take for the effect of a click, once asked to."""
    with browser.new_context() as context:
        page = context.new_page()
        page.add_init_script(LATE_ANSWERS + _SHIFTS)
        yield page


def _nothing_moves_late(page: Page, act: Callable[[], None]) -> None:
    """Nothing moves after an act whose answer comes late, until the page is still again."""
    page.evaluate("[window.late, window.shifts] = [900, [0]]")
    act()
    settled(page)
    page.wait_for_timeout(1_200)
    shifts = page.evaluate("window.shifts")
    assert shifts[0] <= _MOST_SHIFT, (page.url, page.viewport_size, shifts)


@pytest.mark.slow
@pytest.mark.parametrize(
    "details",
    [
        (("tools", "get_weather", 1280), ("traces", "", 1280), ("traces", "", 390), ("rules", "J104", 390)),
        pytest.param((("tools", "get_weather", 390), ("rules", "J104", 1280)), marks=_BETWEEN),
    ],
)
def test_nothing_moves_when_the_details_of_a_row_open_and_close_by_a_late_answer(
    late_page: Page, demo_dashboard: str, details: tuple[tuple[str, str, int], ...]
) -> None:
    page = late_page
    for path, row, width in details:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{demo_dashboard}{path}")
        settled(page)
        table = page.locator(".listing").first
        table.locator("tbody tr").first.wait_for()
        opens = page.locator('[class*="_shows_details"] button')
        opens = table.locator("tr", has_text=row).first if row else opens
        closes = page.locator('[class*="_hides_details"] button')
        for button, other in ((closes, opens), (opens, closes)) if not row else ((opens, closes), (closes, opens)):
            _nothing_moves_late(page, partial(_leads_elsewhere, page, button))
            expect(other).to_be_visible()


def _leads_elsewhere(page: Page, button: Locator) -> None:
    before = page.url
    button.click()
    page.wait_for_function("(before) => location.href !== before", arg=before)


@pytest.mark.slow
@pytest.mark.parametrize(
    "traces",
    [
        (("ok", 1280), ("broken", 390)),
        pytest.param((("ok", 390), ("broken", 1280)), marks=_BETWEEN),
    ],
)
def test_nothing_moves_when_ask_again_opens_and_closes_by_a_late_answer(
    late_page: Page, demo_dashboard: str, endings: dict[str, int], traces: tuple[tuple[str, int], ...]
) -> None:
    page = late_page
    panel = page.locator(".st-key-weaklink_ask_panel")
    for ending, width in traces:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{demo_dashboard}trace?trace={endings[ending]}")
        settled(page)
        for is_open in (True, False):
            _nothing_moves_late(page, page.get_by_role("button", name="Ask again").click)
            expect(panel).to_have_count(int(is_open))


def test_room_for_details_is_given_back_when_the_server_never_answers(
    page: Page, demo_dashboard: str, endings: dict[str, int]
) -> None:
    page.clock.install()
    page.add_init_script(LATE_ANSWERS)
    page.goto(f"{demo_dashboard}trace?trace={endings['ok']}")
    settled(page)
    stream = page.locator(".streambox")
    alone = stream.bounding_box()
    page.evaluate("window.late = 1e9")
    page.get_by_role("button", name="Ask again").click()
    assert alone is not None
    page.wait_for_function("document.documentElement.dataset.details === 'open'")
    beside = stream.bounding_box()
    assert beside is not None
    assert beside["width"] < alone["width"] - 100
    page.clock.run_for(15_000)
    assert stream.bounding_box() == alone


def test_imports_reports_nothing_before_something_was_imported(page: Page, demo_dashboard: str, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("{}\n", encoding="utf-8")
    page.goto(f"{demo_dashboard}imports")
    settled(page)
    page.locator("input[type=file]").set_input_files(tmp_path / "empty.jsonl")
    expect(page.get_by_role("button", name="Import 1 file")).to_be_visible()
    settled(page)
    expect(page.get_by_text("0 files read")).to_have_count(0)


_MONOSPACED = """() => {
    // The visible texts in a monospaced font, outside of the stream, its tabs, pictures, and what is code.
    const found = [];
    const apart = '.dissector, svg, style, .code, pre, kbd, code, textarea, .wl, .line.columns';
    const walk = (root) => {
        for (const one of root.querySelectorAll('*')) {
            if (one.shadowRoot) walk(one.shadowRoot);
            const isText = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
            if (!isText || !one.checkVisibility() || one.closest(apart)) continue;
            if (getComputedStyle(one).fontFamily.includes('mono')) found.push(one.textContent);
        }
    };
    walk(document.querySelector('.stMain'));
    return found;
}"""
_PRINTED = {  # how many blocks of terminal print a page has: maps, marked streams, differences of texts
    "trace?trace={broken}": 0,
    "trace?trace={broken}&tab=Schema": 0,
    "trace?trace={broken}&tab=Request and answer": 0,
    "trace?trace={broken}&tab=What the model read": 0,
    "traces?look={broken}": 1,
    "rules?rule=J104": 2,
    "compare?runs={broken} {recovered}": 1,
    "compare?what=groups": 0,
    "settings": 0,
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("path", _PRINTED)
def test_sentences_are_in_the_font_of_the_page_and_quotes_in_a_monospaced_one(
    page: Page, demo_dashboard: str, endings: dict[str, int], path: str
) -> None:
    page.goto(f"{demo_dashboard}{path.format(**endings)}")
    settled(page)
    if "{broken}" in path:
        page.locator(".wl-prose .code, .line .code").first.wait_for()
        quotes = page.locator(".wl-prose .code, .line .code")
        assert all("mono" in quote.evaluate("(one) => getComputedStyle(one).fontFamily") for quote in quotes.all())
    assert page.locator(".wl:visible").count() == _PRINTED[path]
    assert page.evaluate(_MONOSPACED) == []


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("tab", "name", "words"),
    [("Notes and facts", "model", "format"), ("Timeline", "turn", " s "), ("Request and answer", "finish", "stop")],
)
def test_facts_of_a_trace_are_names_and_values_in_the_font_of_the_page(
    page: Page, demo_dashboard: str, tab: str, name: str, words: str
) -> None:
    page.goto(f"{demo_dashboard}trace?trace=28&tab={tab}")
    fact = page.locator(".fact", has_text=re.compile(f"^{name}.*{words}")).first
    fact.wait_for()
    fonts = fact.locator("span").evaluate_all("(all) => all.map((one) => getComputedStyle(one).fontFamily)")
    assert not any("mono" in font for font in fonts)
    assert fact.locator("> span").count() == 2


@pytest.mark.slow
def test_a_click_on_a_row_of_a_comparison_shows_what_differs_in_it(
    page: Page, demo_dashboard: str, endings: dict[str, int]
) -> None:
    page.goto(f"{demo_dashboard}compare?runs={endings['broken']} {endings['recovered']}")
    settled(page)
    before = page.locator(".wl:visible").inner_text()
    page.locator('tbody[aria-label^="Steps;"] tr').last.locator("td").first.click()
    expect(page).to_have_url(re.compile(r"&row=\d+"))
    expect(page.locator(".wl:visible")).not_to_have_text(before)
    page.reload()
    settled(page)
    expect(page.locator(".wl:visible")).not_to_have_text(before)
    page.locator('tbody[aria-label^="Runs;"] tr').last.get_by_role("link").click()
    expect(page).to_have_url(re.compile(rf"/trace\?trace={endings['recovered']}&"))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("width", "is_icons"),
    [pytest.param(800, True, marks=_BETWEEN), (1366, True), (1600, False), pytest.param(1920, False, marks=_BETWEEN)],
)
def test_the_menu_is_icons_where_names_would_take_the_streams_room_and_stays_as_it_was_left(
    browser: Browser,
    demo_dashboard: str,
    width: int,
    is_icons: bool,  # a parameter of the test
) -> None:
    with watched(browser, width=width) as page:
        page.goto(f"{demo_dashboard}rules")
        settled(page)
        links = page.get_by_role("navigation").get_by_role("link")
        assert links.count() == 10
        assert _shown_names(page) == (0 if is_icons else 10)
        assert _menu_width(page) < (60 if is_icons else 240)
        expect(links.filter(has_text="Rules")).to_have_attribute("aria-current", "page")
        links.filter(has_text="Tools").focus()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        assert _shown_names(page) == (1 if is_icons else 10)
        button = page.get_by_role("button", name="Names in the menu")
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true" if is_icons else "false")
        page.reload()
        settled(page)
        assert _shown_names(page) == (10 if is_icons else 0)
        links.filter(has_text="Tools").click()
        expect(page).to_have_url(f"{demo_dashboard}tools")
        page.mouse.move(width / 2, 10)
        assert _shown_names(page) == (10 if is_icons else 0)


def _shown_names(page: Page) -> int:
    return int(
        page.get_by_role("navigation")
        .get_by_role("link")
        .evaluate_all(
            "(links) => links.filter((one) => getComputedStyle(one.lastElementChild).clipPath === 'none').length"
        )
    )


def _menu_width(page: Page) -> float:
    box = page.get_by_role("navigation").bounding_box()
    assert box is not None
    return box["width"]
