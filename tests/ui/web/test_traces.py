"""The list of traces: how it is paged, and what is chosen in it."""

from itertools import pairwise
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from tests.ui.web.apps import address, page
from weaklink.storage.store import open_store
from weaklink.ui.web.pages import traces

_PAGE = 10


@pytest.fixture(autouse=True)
def _short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "_PAGE", _PAGE)


def _button(app: AppTest, label: str) -> Button:
    return next(button for button in app.button if button.label == label)


def _looked_at(app: AppTest) -> int:
    """The trace whose look is drawn."""
    drawn = next(html.proto.body for html in app.get("html") if '<span class="strong">' in html.proto.body)
    return int(drawn.partition('<span class="dim">')[2].split()[0])


def test_older_and_newer_walk_the_list_and_the_address_holds_the_page(demo_database: Path) -> None:
    with open_store(demo_database, create=False) as store:
        ids = [summary.id for summary in store.traces(limit=100)]
    app = page("traces", demo_database)
    assert _looked_at(app) == ids[0]
    assert _button(app, "Newest").disabled
    _button(app, "Older").click().run()
    second = address(app)
    assert _looked_at(app) == ids[_PAGE]
    assert _looked_at(page("traces", demo_database, **second)) == ids[_PAGE]
    _button(app, "Older").click().run()
    assert _looked_at(app) == ids[2 * _PAGE]
    _button(app, "Newer").click().run()
    assert address(app) == second
    _button(app, "Newest").click().run()
    assert address(app) == {}
    assert _looked_at(app) == ids[0]


@pytest.mark.parametrize("order", ["", "broken"])
def test_a_page_that_is_opened_by_its_address_knows_the_one_before_it(demo_database: Path, order: str) -> None:
    app = page("traces", demo_database, order=order)
    addresses = [address(app)]
    while not _button(app, "Older").disabled:
        _button(app, "Older").click().run()
        addresses.append(address(app))
    assert len(addresses) > 3
    for earlier, later in pairwise(addresses):
        app = page("traces", demo_database, **later)
        _button(app, "Newer").click().run()
        assert {name: word for name, word in address(app).items() if word} == {n: w for n, w in earlier.items() if w}
    assert _button(page("traces", demo_database, order=order), "Newer").disabled


def test_the_last_page_has_no_older_one(demo_database: Path) -> None:
    app = page("traces", demo_database, filter="status:recovered or status:aborted")
    assert _button(app, "Older").disabled
    assert _button(app, "Newer").disabled


def test_the_address_names_the_trace_that_is_looked_at(demo_database: Path) -> None:
    with open_store(demo_database, create=False) as store:
        third = store.traces(limit=3)[2].id
    assert _looked_at(page("traces", demo_database, look=str(third))) == third


@pytest.mark.one_in(3)
@pytest.mark.parametrize("after", ["", "x", "1_", "_", "nan_1", "1e999_9", f"1_{10**40}"])
def test_an_address_that_names_no_page_is_no_error(demo_database: Path, after: str) -> None:
    page("traces", demo_database, after=after)


def test_traces_are_chosen_one_by_one_to_be_compared(demo_database: Path) -> None:
    with open_store(demo_database, create=False) as store:
        first, second = (summary.id for summary in store.traces(limit=2))
    app = page("traces", demo_database)
    app.button(key="weaklink_more").click().run()
    assert address(app) == {"runs": str(first)}
    app = page("traces", demo_database, runs=str(first), look=str(second))
    app.button(key="weaklink_more").click().run()
    assert address(app)["runs"] == f"{first} {second}"
    assert not _button(app, "Compare 2").disabled
    app.button(key="weaklink_less").click().run()
    assert address(app)["runs"] == str(first)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("order", ["", "broken"])
def test_a_filter_that_nothing_matches_says_so(demo_database: Path, order: str) -> None:
    app = page("traces", demo_database, filter="name:*zzz*", order=order)
    assert [info.value for info in app.info] == ["No trace matches this filter."]
