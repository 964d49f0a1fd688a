"""The filter line: what it refuses, what it offers instead, and that the address holds it."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.web.apps import address, field_of, page
from weaklink.ui.views.links import saved_views


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def _offered(app: AppTest) -> list[str]:
    return [option.replace("\\", "") for option in app.button_group[0].options]


def test_what_is_typed_stands_in_the_address(demo_database: Path) -> None:
    app = page("traces", demo_database, after="1.0_2")
    field_of(app).input(" status:broken ").run()
    assert address(app) == {"filter": "status:broken"}


def test_each_run_tells_the_browser_what_the_line_holds(demo_database: Path) -> None:
    app = page("traces", demo_database, filter="status:broken")
    assert field_of(app).proto.default == "status:broken"
    assert field_of(app.run()).proto.default == "status:broken"  # the first run may have been ended before it was sent


def test_an_emptied_line_takes_the_filter_away(demo_database: Path) -> None:
    app = page("traces", demo_database, filter="status:broken")
    field_of(app).input("").run()
    assert address(app) == {}


def test_a_key_without_a_value_is_offered_real_values_and_a_click_puts_one_in(demo_database: Path) -> None:
    app = page("traces", demo_database, filter="code:J104 model:")
    assert "requires a value" in app.error[0].value
    offered = _offered(app)
    assert "sample-qwen-8b" in offered
    app.button_group[0].set_value(offered.index("sample-qwen-8b")).run()
    assert address(app) == {"filter": "code:J104 model:sample-qwen-8b"}
    assert not app.error


def test_a_wrong_value_in_the_middle_is_replaced_alone(demo_database: Path) -> None:
    app = page("traces", demo_database, filter="status:brk Oslo")
    offered = _offered(app)
    app.button_group[0].set_value(offered.index("broken")).run()
    assert address(app) == {"filter": "status:broken Oslo"}


def test_the_caret_stands_below_the_wrong_character(demo_database: Path) -> None:
    app = page("traces", demo_database, filter="Oslo status:brk")
    drawn = next(html.proto.body for html in app.get("html") if "^" in html.proto.body)
    line, caret = drawn.partition('">')[2].removesuffix("</div>").split("\n")
    assert line.index("brk") == re.sub("<.*?>", "", caret).index("^")


def test_words_of_a_filter_are_never_markup(demo_database: Path) -> None:
    app = page("traces", demo_database, filter="duration:**x**[y](http://a.example)")
    assert "**x" not in app.error[0].value
    assert r"\*\*x\*\*\[y\]" in app.error[0].value


def test_the_state_of_a_page_is_saved_under_a_name(demo_database: Path) -> None:
    app = page("traces", demo_database, filter="status:broken")
    app.text_input(key="weaklink_view_name").input("Broken *ones*")
    next(button for button in app.button if button.label == "Save").click().run()
    assert [(view.name, view.state) for view in saved_views()] == [("Broken *ones*", {"filter": "status:broken"})]


def test_a_view_without_a_name_is_refused_in_a_sentence(demo_database: Path) -> None:
    app = page("traces", demo_database)
    next(button for button in app.button if button.label == "Save").click().run()
    assert app.error[0].value == "a saved view needs a name"
