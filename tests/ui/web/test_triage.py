"""The first page: what it says of a store, and what its clicks make of the filter."""

from pathlib import Path

import pytest

from inspector.chain.metrics import Tally
from inspector.chain.metrics_groups import GroupFigures, Slice
from storage import open_store
from tests.ui.web.apps import address, page, said_in
from ui.web.triage_charts import code_of, code_rows, day_rows, heat_rows, step_rows


@pytest.fixture(scope="module")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database without traces."""
    place = tmp_path_factory.mktemp("empty") / "empty.db"
    open_store(place).close()
    return place


def _group(*keys: str, traces: int, broken: int = 0) -> GroupFigures:
    counts = {"broken": broken, "ok": traces - broken}
    return GroupFigures(keys, {name: Tally(traces, hits, traces) for name, hits in counts.items()})


def test_the_sentence_counts_the_traces_and_those_that_broke(demo_database: Path) -> None:
    with open_store(demo_database, create=False) as store:
        traces = len(store.traces(limit=1_000))
        broken = len(store.traces("status:broken", limit=1_000))
    said = said_in(page("triage", demo_database))
    assert f"{traces} traces, {broken} broken" in said
    assert "most by" in said


@pytest.mark.parametrize("status", ["broken", "aborted", "ok"])
def test_a_click_on_a_status_narrows_the_filter_to_it(demo_database: Path, status: str) -> None:
    app = page("triage", demo_database, filter="name:*")
    app.button(key=f"weaklink_status_{status}").click().run()
    assert address(app) == {"filter": f"name:* status:{status}"}


def test_a_click_on_what_the_filter_says_already_changes_nothing(demo_database: Path) -> None:
    app = page("triage", demo_database, filter="status:broken")
    app.button(key="weaklink_status_broken").click().run()
    assert not app.exception
    assert address(app) == {"filter": "status:broken"}


def test_an_empty_store_says_how_traces_come_in(empty_database: Path) -> None:
    assert "weaklink import" in page("triage", empty_database).info[0].value


def test_a_filter_that_nothing_matches_can_be_cleared(demo_database: Path) -> None:
    app = page("triage", demo_database, filter="model:nobody")
    assert "No trace matches" in app.info[0].value
    app.button[-1].click().run()
    assert address(app) == {}
    assert not app.info


def test_shares_of_the_day_are_a_state_of_the_address(demo_database: Path) -> None:
    app = page("triage", demo_database)
    app.toggle(key="weaklink_day_shares").set_value(True).run()
    assert address(app) == {"days": "shares"}


def test_a_day_has_a_row_for_each_status_that_it_saw_and_old_days_are_left_out() -> None:
    days = [_group(f"2026-{month:02}-{day:02}", traces=2, broken=1) for month in (1, 2, 3) for day in range(1, 29)]
    rows = day_rows(days)
    assert len(rows) == 2 * 60
    assert rows[-1] == {"day": "2026-03-28", "status": "ok", "traces": 1, "rank": 4}


def test_breaks_add_up_down_the_list_also_where_it_is_cut() -> None:
    codes = [Slice((), "J104", 6), Slice((), "error-result", 3), *(Slice((), f"X{n}", 1) for n in range(11))]
    rows = code_rows(codes)
    assert len(rows) == 10
    assert rows[0]["said"] == "6 · 30 %"
    assert (rows[1]["rule"], rows[1]["said"]) == ("T406 error-result", "3 · 15 %")
    assert rows[1]["cumulated"] == 9 / 20


def test_an_outcome_leads_to_the_rule_of_its_name() -> None:
    assert code_of("J104") == "J104"
    assert code_of("error-result") == "T406"
    assert code_of("unheard-of") is None


def test_the_heat_map_has_every_pair_and_says_the_share_of_the_model_s_traces() -> None:
    models = (_group("a", traces=10), _group("b", traces=4), _group("never", traces=3), _group("", traces=2))
    both = (_group("a", "J104", traces=1), _group("b", "J105", traces=2), _group("", "J104", traces=2))
    cells = {(row["model"], row["rule"]): row["share"] for row in heat_rows(models, both)}
    assert cells == {("a", "J104"): 0.1, ("a", "J105"): 0, ("b", "J104"): 0, ("b", "J105"): 0.5}


def test_late_steps_are_one() -> None:
    steps = [Slice((), str(number), 1) for number in (1, 12, 13, 40)]
    assert step_rows(steps) == [
        {"step": "1", "traces": 1},
        {"step": "12", "traces": 1},
        {"step": ">12", "traces": 2},
    ]
