"""The stream and the values of a trace in a real browser, each lighting up the other."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from storage import open_store

_FOLDER = Path(__file__).parents[3] / "ui" / "web"


def _id_of(database: Path, name: str) -> int:
    with open_store(database, create=False) as store:
        return next(one.id for one in store.traces() if Path(one.file).stem == name)


def test_a_trace_opens_at_its_break_and_a_click_on_a_value_lights_exactly_its_characters(
    demo_database: Path, demo_dashboard: str, page: Page
) -> None:
    page.goto(f"{demo_dashboard}trace?trace={_id_of(demo_database, 'json-trailing-comma')}")
    lit = page.locator(".streambox .piece.selected")
    expect(lit).to_have_text(",")
    expect(page.locator(".streambox")).to_contain_text("error[J104] trailing-comma")
    value = page.locator(".leftbox .item", has_text=re.compile(r"target"))
    value.first.click()
    expect(lit).to_have_text('"EUR"')
    expect(page).to_have_url(re.compile(r"start=\d+&end=\d+"))


def test_a_copied_address_opens_the_same_characters(demo_database: Path, demo_dashboard: str, page: Page) -> None:
    page.goto(
        f"{demo_dashboard}trace?trace={_id_of(demo_database, 'json-trailing-comma')}&turn=2&part=text&start=0&end=3"
    )
    expect(page.locator(".streambox .piece.selected")).to_have_count(1)
    text = page.locator(".streambox .piece.selected").inner_text()
    assert len(text) == 3


def test_no_script_of_ours_makes_markup_of_text() -> None:
    scripts = sorted(_FOLDER.rglob("*.js"))
    assert scripts
    for script in scripts:
        found = re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", script.read_text()
        )
        assert found is None, f"{script.name}: {found}"
