"""Pages whose figures are still being counted: they can be used, left and come back to, and show older figures."""

from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.conftest import ROOT
from tests.ui.web.apps import field_of, said_in
from tests.ui.web.apps import page as drawn_page
from tests.ui.web.dashboards import running
from tests.ui.web.gates import break_figures, gate_of, gated, lose_newest, minding
from tests.ui.web.pages_walked import PATIENCE_MS
from weaklink.storage.store import open_store
from weaklink.ui.web import queries
from weaklink.ui.web.queries import grouped, page_results
from weaklink.ui.web.stores import DashboardOptions, set_options

_MINDS = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.ui.web.gates import mind; mind()"
_NEAR_PX = 4
_AT_REST = 4  # looks in which it stands at the same place
_TOP = "(node) => node.getBoundingClientRect().top"
_FOCUSED = """() => {
    let here = document.activeElement;
    while (here && here.shadowRoot && here.shadowRoot.activeElement) here = here.shadowRoot.activeElement;
    return here.getAttribute('aria-label') || '';
}"""


@pytest.fixture
def slow(demo_database: Path, tmp_path: Path) -> Iterator[Path]:
    """A database whose gate is shut."""
    database = gated(demo_database, tmp_path / "slow.db")
    gate_of(database).touch()
    yield database
    gate_of(database).unlink(missing_ok=True)


@pytest.fixture
def slow_dashboard(slow: Path) -> Iterator[str]:
    """A dashboard over it."""
    with running(slow.parent, slow, first=_MINDS) as process:
        yield process.address
        gate_of(slow).unlink(missing_ok=True)


@pytest.fixture
def _at_gates() -> Iterator[None]:
    """Databases of this process wait at their gates."""
    with minding():
        yield


def _count(database: Path, wanted: str) -> int:
    with open_store(database, read_only=True) as store:
        return len(store.traces(wanted, limit=1_000))


def _aside(page: Page) -> Locator:
    return page.locator(".wl-aside")


def _newest(page: Page) -> Locator:
    return page.locator('tbody[aria-label^="The newest traces;"]')


@pytest.mark.slow
def test_a_page_can_be_used_and_left_while_its_figures_are_counted(slow: Path, slow_dashboard: str, page: Page) -> None:
    broken = _count(slow, "status:broken")
    page.goto(f"{slow_dashboard}?filter=status:broken")
    expect(_aside(page)).to_contain_text("Counting the traces that match the filter")
    expect(_newest(page).locator("tr").first).to_be_visible()
    expect(page.locator(".wl-room")).to_have_count(7)

    page.get_by_role("link", name="Traces").click()
    expect(page.locator('tbody[aria-label^="Traces;"] tr').first).to_be_visible()
    page.get_by_role("link", name="What breaks").click()
    expect(_aside(page)).to_contain_text("Counting the traces that match the filter")

    rows = _newest(page)
    expect(page.locator(".wl-room")).to_have_count(7)
    rows.focus()
    rows.scroll_into_view_if_needed()
    top = _top_at_rest(rows)
    gate_of(slow).unlink()
    expect(page.get_by_text(f"{broken} traces, {broken} broken (100 %)")).to_be_visible()
    expect(page.locator(".wl-room, .wl-aside")).to_have_count(0)
    expect(page).to_have_url(f"{slow_dashboard}?filter=status%3Abroken")
    expect(page.get_by_label("Filter", exact=True)).to_have_value("status:broken")
    assert page.evaluate(_FOCUSED).startswith("The newest traces;")
    assert abs(_top_at_rest(rows) - top) <= _NEAR_PX


def _top_at_rest(rows: Locator) -> float:
    """Where they begin on the screen, once the page no longer moves."""
    tops = [rows.evaluate(_TOP)]
    while len(tops) < _AT_REST or len(set(tops[-_AT_REST:])) > 1:
        rows.page.wait_for_timeout(100)
        tops.append(rows.evaluate(_TOP))
    return float(tops[-1])


@pytest.mark.slow
def test_older_figures_stand_until_the_new_ones_are_there(slow: Path, slow_dashboard: str, page: Page) -> None:
    gate_of(slow).unlink()
    traces = _count(slow, "name:*")
    page.goto(f"{slow_dashboard}?filter=name:*")
    expect(page.get_by_text(f"{traces} traces, ")).to_be_visible()
    expect(page.locator(".wl-room, .wl-aside")).to_have_count(0)

    gate_of(slow).touch()
    lose_newest(slow)
    page.reload()
    expect(_aside(page)).to_contain_text("counting again")
    expect(page.get_by_text(f"{traces} traces, ")).to_be_visible()
    field = page.get_by_label("Filter", exact=True)
    field.press("End")
    field.press_sequentially(" turns:>")
    gate_of(slow).unlink()
    expect(page.get_by_text(f"{traces - 1} traces, ")).to_be_visible()
    expect(_aside(page)).to_have_count(0)
    expect(field).to_have_value("name:* turns:>")
    expect(field).to_be_focused()


@pytest.mark.slow
def test_a_database_that_vanishes_while_it_is_counted_is_a_sentence(
    slow: Path, slow_dashboard: str, page: Page
) -> None:
    page.goto(f"{slow_dashboard}?filter=status:broken")
    expect(_aside(page)).to_contain_text("Counting")
    slow.rename(slow.with_suffix(".gone"))
    gate_of(slow).unlink()
    expect(page.get_by_role("alert")).to_contain_text("the database was removed or renamed while it was open")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


@pytest.mark.slow
def test_what_the_database_refuses_while_it_is_counted_is_a_sentence(
    slow: Path, slow_dashboard: str, page: Page
) -> None:
    page.goto(f"{slow_dashboard}?filter=status:broken")
    expect(_aside(page)).to_contain_text("Counting")
    break_figures(slow)
    gate_of(slow).unlink()
    expect(page.get_by_role("alert")).to_contain_text("no such table")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    expect(page.get_by_label("Filter", exact=True)).to_have_value("status:broken")


@pytest.mark.slow
def test_home_has_an_address_of_its_name_too(demo_dashboard: str, page: Page) -> None:
    page.goto(f"{demo_dashboard}triage?filter=status:broken&days=shares")
    expect(page.get_by_role("heading", name="What breaks", exact=True)).to_be_visible()
    expect(page).to_have_url(f"{demo_dashboard}?filter=status%3Abroken&days=shares")
    expect(page.get_by_label("Filter", exact=True)).to_have_value("status:broken")


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("name", "what"),
    [("triage", ""), ("tools", ""), ("compare", "groups")],
)
@pytest.mark.usefixtures("_at_gates")
def test_a_page_over_a_slow_database_is_drawn_with_room_for_its_figures(slow: Path, name: str, what: str) -> None:
    app = drawn_page(name, slow, 0.01, filter="status:broken", what=what)
    assert "Counting the traces that match the filter" in said_in(app)
    assert "wl-room" in said_in(app)
    assert field_of(app).value == "status:broken"
    if name == "tools":  # what is below the table would move when the table comes
        assert not app.subheader
    gate_of(slow).unlink()
    app = drawn_page(name, slow, filter="status:broken", what=what)
    assert "wl-aside" not in said_in(app)
    assert "wl-room" not in said_in(app)


@pytest.mark.usefixtures("_at_gates")
def test_figures_of_a_database_that_is_being_filled_come_all_the_same(
    slow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "_ABANDONED_PAGE_S", 1e9)  # a slow machine does not leave the page
    set_options(DashboardOptions(str(slow), patience_s=0.0))
    question = grouped("status:broken")
    begun = page_results(question)
    assert question not in begun
    lose_newest(slow)
    assert question not in page_results(question)
    gate_of(slow).unlink()
    begun.wait(monotonic() + PATIENCE_MS / 1_000)
    assert begun.has_more()
    result = page_results(question)
    assert result.is_settled()
    gate_of(slow).touch()
    lose_newest(slow)
    later = page_results(question)
    assert later.as_of_s
    assert later[question] == result[question]
