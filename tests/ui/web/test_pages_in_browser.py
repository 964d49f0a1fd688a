"""The pages over many traces in a real browser: clicks on charts, keys in lists, a phone."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from playwright.sync_api import Locator, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.ui.scenes import broken_trace
from tests.ui.web.dashboards import dashboard, running
from tests.ui.web.pages_walked import settled
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Outcome
from weaklink.storage.store import open_store


@pytest.fixture
def short_pages(demo_database: Path) -> Iterator[str]:
    """A dashboard whose list of traces has ten on a page."""
    first = "from weaklink.ui.web.pages import traces; traces._PAGE = 10"
    with running(demo_database.parent, demo_database, first=first) as process:
        yield process.address


def _listing(page: Page, label: str) -> Locator:
    """The rows of a listing, once they are there."""
    rows = page.locator(f'tbody[aria-label^="{label};"]')
    rows.locator("tr").first.wait_for()
    return rows


def _click_until(page: Page, mark: Locator, url: re.Pattern[str]) -> None:
    """Click a mark until the address says so: a chart that is just being drawn again takes no click."""
    for _ in range(8):
        mark.click()
        try:
            page.wait_for_url(url, timeout=4_000)
        except PlaywrightTimeout:
            continue
        return
    raise AssertionError(f"no click led to {url.pattern}, but to {page.url}")


def _ids(database: Path, wanted: str) -> list[str]:
    with open_store(database, create=False) as store:
        return [str(summary.id) for summary in store.traces(wanted, limit=100)]


@pytest.mark.slow
def test_a_click_on_a_cell_opens_its_traces_and_back_leads_to_the_chart_again(demo_dashboard: str, page: Page) -> None:
    page.goto(demo_dashboard)
    cell = page.locator('svg path[aria-label*="C504; model: sample-hermes-8b"][aria-label$="66.7%"]')  # of all traces
    for _ in range(2):
        _click_until(page, cell, re.compile(r"/traces\?filter=model%3Asample-hermes-8b\+code%3AC504"))
        expect(page.locator(".st-key-weaklink_summary", has_text="2 traces")).to_be_visible()
        page.go_back()
        expect(page).to_have_url(demo_dashboard)


def test_back_undoes_one_action_at_a_time(demo_dashboard: str, page: Page) -> None:
    page.goto(f"{demo_dashboard}traces")
    _listing(page, "Traces")
    page.get_by_label("Filter", exact=True).first.fill("status:broken")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{demo_dashboard}traces?filter=status%3Abroken")
    settled(page)
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page).to_have_url(re.compile(r"/trace\?trace=\d+&filter=status%3Abroken$"))
    expect(page).to_have_title(re.compile("demo.db · weaklink"))
    settled(page)
    page.go_back()
    expect(page).to_have_url(f"{demo_dashboard}traces?filter=status%3Abroken")
    expect(page.get_by_label("Filter", exact=True).first).to_have_value("status:broken")
    settled(page)
    page.reload()
    expect(page.get_by_label("Filter", exact=True).first).to_have_value("status:broken")
    settled(page)
    page.go_back()
    expect(page).to_have_url(f"{demo_dashboard}traces")
    settled(page)
    expect(page.get_by_label("Filter", exact=True).first).to_have_value("")


@pytest.mark.slow
def test_pages_of_a_sorted_and_filtered_list_are_restored_by_back_forward_and_reload(
    short_pages: str, page: Page
) -> None:
    page.goto(f"{short_pages}traces?filter=name:*&order=broken")
    first = _shown(page)
    _turn(page, "Older", first)
    second, at_second = _shown(page), page.url
    _turn(page, "Older", second)
    third, at_third = _shown(page), page.url
    for move, url, rows in (
        (page.go_back, at_second, second),
        (page.go_forward, at_third, third),
        (page.reload, at_third, third),
        (page.go_back, at_second, second),
    ):
        move()
        expect(page).to_have_url(url)
        expect(_listing(page, "Traces").locator("tr").first).to_have_text(rows[0], use_inner_text=True)
        assert _shown(page) == rows
    page.reload()
    settled(page)
    _turn(page, "Newer", second)
    assert _shown(page) == first


def _shown(page: Page) -> list[str]:
    settled(page)
    return _listing(page, "Traces").locator("tr").all_inner_texts()


def _turn(page: Page, label: str, from_rows: list[str]) -> None:
    """Click a button of the pager; the rows that were shown make way for others."""
    page.get_by_role("button", name=label, exact=True).click()
    expect(_listing(page, "Traces").locator("tr").first).not_to_have_text(from_rows[0], use_inner_text=True)


def test_the_search_from_anywhere_finds_words_and_opens_a_trace_by_its_number(demo_dashboard: str, page: Page) -> None:
    page.goto(f"{demo_dashboard}settings")
    settled(page)
    page.keyboard.press("Control+k")
    page.keyboard.type("Oslo")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{demo_dashboard}traces?filter=%22Oslo%22")
    settled(page)
    page.keyboard.press("Control+k")
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/trace\?trace=3\b"))


def test_the_numbers_lead_to_the_traces_behind_them(demo_database: Path, demo_dashboard: str, page: Page) -> None:
    page.goto(f"{demo_dashboard}?filter=code:J104")
    _listing(page, "The newest traces").locator("tr").first.click()
    expect(page).to_have_url(re.compile(rf"/trace\?trace={_ids(demo_database, 'code:J104')[0]}&filter=code%3AJ104"))


def test_keys_walk_the_list_keep_the_focus_and_open_a_trace(
    demo_database: Path, demo_dashboard: str, page: Page
) -> None:
    ids = _ids(demo_database, "")
    page.goto(f"{demo_dashboard}traces")
    rows = _listing(page, "Traces")
    rows.focus()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile(rf"look={ids[2]}$"))
    page.keyboard.press("k")
    expect(page).to_have_url(re.compile(rf"look={ids[1]}$"))
    expect(rows.locator("tr.selected")).to_contain_text(ids[1])
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/trace\?trace={ids[1]}\b"))


def test_a_facet_tells_its_values_and_a_click_on_one_narrows_the_filter(demo_dashboard: str, page: Page) -> None:
    page.goto(f"{demo_dashboard}traces")
    page.get_by_role("radio", name="status").click()
    _listing(page, "Values of status").locator("tr", has_text="broken").click()
    expect(page).to_have_url(re.compile(r"filter=status%3Abroken"))
    expect(page.locator('tbody[aria-label^="Values of"]')).to_have_count(0)


@pytest.mark.slow
def test_a_saved_view_opens_again_in_another_page(demo_dashboard: str, page: Page) -> None:
    page.goto(f"{demo_dashboard}traces?filter=status:broken")
    _listing(page, "Traces")
    page.get_by_role("button", name="Views").click()
    page.get_by_label("Save this view as").fill("Only **broken** ones")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("The view Only **broken** ones is saved.")).to_be_visible()
    page.goto(f"{demo_dashboard}tools")
    page.get_by_role("button", name="Views").click()
    page.get_by_test_id("stBaseButton-primary").filter(has_text="Open").click()
    expect(page).to_have_url(re.compile(r"/traces\?filter=status%3Abroken"))


def test_a_phone_shows_how_a_trace_ended_what_it_is_and_where_it_broke(demo_dashboard: str, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{demo_dashboard}traces?filter=status:broken")
    cells = _listing(page, "Traces").locator("tr").first.locator("td:visible")
    expect(cells).to_have_count(3)
    for cell in cells.all():
        box = cell.bounding_box()
        assert box is not None
        assert box["x"] < 300


def test_on_a_phone_the_menu_makes_way_for_the_page_that_was_chosen(demo_dashboard: str, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{demo_dashboard}rules")
    settled(page)
    menu = page.get_by_role("button", name="Menu")
    title = page.locator("h1").bounding_box()
    assert title is not None
    closes: tuple[Callable[[], None], ...] = (
        lambda: page.keyboard.press("Escape"),
        lambda: page.mouse.click(350, title["y"] + title["height"] / 2),  # a row below would open its rule meanwhile
    )
    for close in closes:
        menu.click()
        expect(_in_menu(page, "Settings")).to_be_in_viewport()
        close()
        expect(_in_menu(page, "Settings")).not_to_be_visible()
    settled(page)
    expect(page).to_have_url(f"{demo_dashboard}rules")
    menu.click()
    _in_menu(page, "Settings").click()
    expect(page).to_have_url(f"{demo_dashboard}settings")
    expect(_in_menu(page, "Settings")).not_to_be_visible()


_WIDER = """() => [...document.querySelectorAll('*')]
    .flatMap((one) => (one.shadowRoot ? [...one.shadowRoot.querySelectorAll('.listing')] : []))
    .concat([...document.querySelectorAll('.listing')])
    .filter((one) => one.clientWidth && one.scrollWidth > one.clientWidth)
    .map((one) => `${one.querySelector('tbody').getAttribute('aria-label')} ${one.scrollWidth}`)"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_no_table_is_wider_than_its_place(demo_dashboard: str, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    with_tables = ("", "traces", "tools", "rules", "compare", "compare?what=groups", "compare?runs=1 2")
    for path in (*with_tables, "data", "imports"):
        page.goto(f"{demo_dashboard}{path}")
        settled(page)
        assert page.locator(".listing").count() or path not in with_tables
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate(_WIDER) == [], path


@pytest.mark.one_in(2)
@pytest.mark.parametrize("width", [1280, 390])
def test_a_comparison_of_runs_needs_no_scrolling_sideways(demo_dashboard: str, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{demo_dashboard}compare?runs=1 2 3")
    settled(page)
    shown = page.locator(".wl:visible")
    assert shown.count() == 1
    assert "What differs" in shown.inner_text() or "makes this call" in shown.inner_text()
    expect(page.locator(".wl-prose").first).to_contain_text("Runs differ first")
    assert page.evaluate(_WIDER) == []
    assert shown.evaluate("(one) => one.scrollWidth - one.clientWidth") <= 0


def test_a_phone_shows_every_number_of_compared_groups(demo_dashboard: str, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{demo_dashboard}compare?what=groups&by=format")
    groups = _listing(page, "Groups").locator("tr").first.locator("td")
    assert groups.count() > 4
    for cell in groups.all():
        expect(cell).to_be_visible()


_SKELETON = """() => {
    const made = document.createElement('div');
    made.dataset.testid = 'stSkeleton';
    document.body.append(made);
    return getComputedStyle(made).opacity;
}"""


@pytest.mark.slow
def test_no_skeleton_flashes_while_a_part_of_the_page_comes(demo_dashboard: str, page: Page) -> None:
    page.goto(f"{demo_dashboard}traces")
    settled(page)
    assert page.evaluate(_SKELETON) == "0"
    made = page.locator("body > [data-testid=stSkeleton]")
    expect(made).to_have_css("opacity", "1")  # what takes long is announced


@pytest.mark.slow
def test_what_breaks_is_sorted_by_a_click_on_a_title(demo_dashboard: str, page: Page) -> None:
    page.goto(demo_dashboard)
    table = page.locator(".listing").filter(has=page.get_by_label(re.compile("First breaks by rule")))
    rules = table.locator("tbody tr td:first-child")
    expect(rules.first).to_be_visible()
    by_chains = rules.all_inner_texts()
    table.get_by_role("button", name="first break").click()
    expect(page).to_have_url(re.compile("breaks=rule"))
    expect(rules).to_have_text([*sorted(by_chains, key=str.casefold)])
    page.go_back()
    expect(rules).to_have_text(by_chains)


@pytest.mark.slow
def test_the_list_shows_the_outcome_of_tasks_beside_the_preview(page: Page, tmp_path: Path) -> None:
    trace, _ = broken_trace()
    judged = structs.replace(trace, outcome=Outcome(completed=True, reward=0.0))
    with open_store(tmp_path / "w.db") as store:
        store.save([(judged, inspect_trace(judged))])
    with dashboard(tmp_path, tmp_path / "w.db") as address:
        page.goto(f"{address}traces")
        settled(page)
        table = page.locator(".listing")
        heading = table.locator("th", has_text="task")
        expect(heading).to_be_visible()
        cell, around = heading.bounding_box(), table.bounding_box()
        assert cell is not None
        assert around is not None
        assert cell["x"] + cell["width"] <= around["x"] + around["width"]


_MOST_REQUESTS = 40


@pytest.mark.slow
def test_a_visit_after_the_first_takes_few_requests(demo_dashboard: str, page: Page) -> None:
    page.goto(demo_dashboard)
    settled(page)
    protocol = page.context.new_cdp_session(page)
    protocol.send("Network.enable")
    answered: dict[str, bool] = {}

    def note(event: dict[str, Any]) -> None:
        answered.setdefault(event["requestId"], not event["response"].get("fromDiskCache"))

    protocol.on("Network.requestServedFromCache", lambda event: answered.update({event["requestId"]: False}))
    protocol.on("Network.responseReceived", note)
    page.goto(demo_dashboard)
    settled(page)
    protocol.detach()
    assert 0 < sum(answered.values()) <= _MOST_REQUESTS


def _row(page: Page, label: str, words: str) -> Locator:
    return page.locator(f'tbody[aria-label^="{label};"] tr', has_text=words).first


def _in_menu(page: Page, title: str) -> Locator:
    return page.get_by_role("navigation").get_by_role("link", name=title)


_SEQUENCES: dict[str, list[tuple[Callable[[Page], Locator], str]]] = {
    "tools": [
        (lambda page: _row(page, "Tools", "get_weather"), "tools?tool=get_weather"),
        (lambda page: _row(page, "Tools", "web_search"), "tools?tool=web_search"),
        (lambda page: page.get_by_role("button", name="All tools, not only web"), "tools"),
    ],
    "rules": [
        (lambda page: page.get_by_text("Only rules that were found"), "rules?only=found"),
        (lambda page: _row(page, "Rules", "J104"), "rules?only=found&rule=J104"),
        (lambda page: page.get_by_role("button", name="Traces with J104"), "traces?filter=code%3AJ104"),
    ],
    "settings": [
        (lambda page: page.get_by_text("Keep broken traces"), "settings?keep_broken=yes"),
        (lambda page: page.get_by_text("Keep broken traces"), "settings"),
    ],
    "compare?runs=1 2": [
        (lambda page: page.get_by_text("Requests side by side"), "compare?runs=1+2&requests=shown"),
        (lambda page: page.get_by_text("Groups of traces", exact=True), "compare?runs=1+2&requests=shown&what=groups"),
    ],
    "": [
        (lambda page: page.get_by_text("As percentages"), "?days=shares"),
        (lambda page: _in_menu(page, "Tools"), "tools"),
        (lambda page: _in_menu(page, "Rules"), "rules"),
    ],
}


@pytest.mark.slow
@pytest.mark.one_in(3)
@pytest.mark.parametrize("begins", _SEQUENCES)
def test_back_and_forward_go_through_what_was_clicked_and_a_reload_keeps_it(
    demo_dashboard: str, page: Page, begins: str
) -> None:
    page.goto(f"{demo_dashboard}{begins}")
    settled(page)
    met = [page.url]
    for click, address in _SEQUENCES[begins]:
        click(page).click()
        expect(page).to_have_url(f"{demo_dashboard}{address}")
        settled(page)
        met.append(page.url)
    for move, addresses in ((page.go_back, met[-2::-1]), (page.go_forward, met[1:])):
        for address in addresses:
            move()
            expect(page).to_have_url(address)
            settled(page)
            assert page.url == address
    page.reload()
    settled(page)
    assert page.url == met[-1]


@pytest.mark.slow
def test_what_is_shown_of_a_tool_is_that_of_the_one_that_was_clicked(demo_dashboard: str, page: Page) -> None:
    page.goto(f"{demo_dashboard}tools")
    _row(page, "Tools", "web_search").click()
    expect(page).to_have_url(f"{demo_dashboard}tools?tool=web_search")
    settled(page)
    tools = page.locator('tbody[aria-label^="Schema violations;"] td:first-child')
    expect(tools.filter(has_not_text=re.compile("^web_search$"))).to_have_count(0)
    expect(tools.first).to_have_text("web_search")


@pytest.mark.slow
def test_back_restores_the_baseline_of_a_comparison(demo_dashboard: str, page: Page) -> None:
    page.goto(f"{demo_dashboard}compare?what=groups")
    settled(page)
    baseline = page.get_by_role("combobox", name="Baseline")
    before = baseline.input_value()
    baseline.click()
    page.get_by_role("option", name="sample-qwen-8b").click()
    expect(page).to_have_url(f"{demo_dashboard}compare?what=groups&base=sample-qwen-8b")
    settled(page)
    page.go_back()
    expect(page).to_have_url(f"{demo_dashboard}compare?what=groups")
    settled(page)
    expect(page).to_have_url(f"{demo_dashboard}compare?what=groups")
    assert baseline.input_value() == before


def test_the_menu_keeps_the_filter_and_opens_a_page_in_another_tab(demo_dashboard: str, page: Page) -> None:
    page.goto(f"{demo_dashboard}traces?filter=status:broken")
    settled(page)
    _in_menu(page, "Tools").click()
    expect(page).to_have_url(f"{demo_dashboard}tools?filter=status%3Abroken")
    settled(page)
    expect(_in_menu(page, "What breaks")).to_have_attribute("href", "/?filter=status%3Abroken")
    expect(_in_menu(page, "Rules")).to_have_attribute("href", "/rules?filter=status%3Abroken")
    page.get_by_role("button", name="Clear").click()
    expect(page).to_have_url(f"{demo_dashboard}tools")
    _in_menu(page, "What breaks").click()
    expect(page).to_have_url(demo_dashboard)
    page.go_back()
    expect(page).to_have_url(f"{demo_dashboard}tools")
