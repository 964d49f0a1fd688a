"""The first page: what it says of a store, and what its clicks make of the filter."""

import re
import sqlite3
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
import streamlit as st
from sqlalchemy import event

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from tests.ui.web.apps import address, left_for, page, said_in
from weaklink.inspector.chain.metrics import Tally
from weaklink.inspector.chain.metrics_groups import Aspect, GroupFigures, GroupKey, Slice
from weaklink.storage.store import open_store
from weaklink.ui.web.filter_bar import broken_terms, facet_rows, field
from weaklink.ui.web.pages.tools import violation_term
from weaklink.ui.web.queries import hits
from weaklink.ui.web.triage_charts import UNDATED, code_rows, heat_rows, step_rows, time_rows, worse_rules


@pytest.fixture(scope="module")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database without traces."""
    folder = tmp_path_factory.mktemp("empty") / "empty.db"
    open_store(folder).close()
    return folder


def _group(*keys: str, traces: int, broken: int = 0) -> GroupFigures:
    counts = {"broken": broken, "ok": traces - broken}
    return GroupFigures(keys, {name: Tally(traces, hits, traces) for name, hits in counts.items()})


def test_a_warm_page_reads_no_more_of_many_traces_than_of_few(tmp_path: Path) -> None:
    few, many = (_steps_of_a_warm_page(tmp_path / f"{count}.db", count) for count in (250, 900))
    assert 0 < many < few * 1.1


def _steps_of_a_warm_page(database: Path, traces: int) -> int:
    """The hundreds of steps that SQLite's machine takes for a page whose figures are known."""
    with open_store(database) as store:
        store.save(inspected(*(trace(f"s{n}", BAD_CALL if n % 2 else GOOD_CALL, started_s=n) for n in range(traces))))
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    def note(connection: sqlite3.Connection, _record: object) -> None:
        connection.set_progress_handler(count, 100)

    event.listen(sa.Engine, "connect", note)
    try:
        st.cache_resource.clear()
        app = page("triage", database)
        app.run()
        steps = 0
        app.run()
    finally:
        event.remove(sa.Engine, "connect", note)
    return steps


def test_the_sentence_counts_the_traces_and_those_that_broke(demo_database: Path) -> None:
    with open_store(demo_database, create=False) as store:
        traces = len(store.traces(limit=1_000))
        broken = len(store.traces("status:broken", limit=1_000))
    said = said_in(page("triage", demo_database))
    assert f"{traces} traces, {broken} broken" in said
    assert "most often by" in said


@pytest.mark.parametrize("status", ["broken", "aborted", "ok"])
def test_a_click_on_a_status_opens_as_many_traces_as_it_counts(demo_database: Path, status: str) -> None:
    app = page("triage", demo_database, filter="name:*")
    button = app.button(key=f"weaklink_status_{status}")
    match = re.search(r"(\d+) \w+ ·", button.label)
    assert match is not None
    button.click().run()
    assert left_for(app) == ("traces", {"filter": f"name:* status:{status}"})
    with open_store(demo_database, create=False) as store:
        assert store.paging().count(f"name:* status:{status}") == int(match[1])


def test_the_worst_example_of_what_breaks_most_is_a_click_away(demo_database: Path) -> None:
    app = page("triage", demo_database)
    app.button(key="weaklink_worst_T406").click().run()
    went = left_for(app)
    assert went is not None
    with open_store(demo_database, create=False) as store:
        broken = store.traces("break:T406")
    assert went[0] == "trace"
    assert int(went[1]["trace"]) in [
        summary.id for summary in broken if summary.errors == max(each.errors for each in broken)
    ]


def test_every_number_of_the_pages_is_that_of_the_traces_it_leads_to(demo_database: Path) -> None:
    with open_store(demo_database, create=False) as store:
        counted = store.paging().count
        codes = code_rows(store.statistics.breakdown(Aspect.CODE))
        led = [(field("break", str(row["value"])), row["traces"]) for row in codes]
        led += [(str(row["key"]), row["traces"]) for row in time_rows(store.statistics.figures(by=(GroupKey.DAY,)))]
        models = store.statistics.figures(by=(GroupKey.MODEL,))
        cells = heat_rows(models, store.statistics.figures(by=(GroupKey.MODEL, GroupKey.CODE)))
        pairs = [
            (field("model", str(cell["value"])), field("code", str(cell["rule"])), cell["traces"]) for cell in cells
        ]
        led += [(f"{model} {code}", traces) for model, code, traces in pairs]
        led += [(f"step:{row['step']}", row["traces"]) for row in step_rows(store.statistics.breakdown(Aspect.STEP))]
        led += [
            (field("break_tool", breakdown.value), breakdown.traces)
            for breakdown in store.statistics.breakdown(Aspect.TOOL)
        ]
        keys = (GroupKey.MODEL, GroupKey.SOURCE, GroupKey.FORMAT, GroupKey.PROMPT, GroupKey.REASONING, GroupKey.CODE)
        for group in store.statistics.figures(by=(GroupKey.DAY,)):
            if not group.keys[0]:
                led += [(UNDATED, group.traces), (f"{UNDATED} status:broken", hits(group, "broken"))]
        for figure in store.statistics.figures(by=(GroupKey.CODE,)):
            led.append((f"{field('code', figure.keys[0])} status:broken", hits(figure, "broken")))
        for key in (*keys, GroupKey.TOOL):
            led += [(field(key.value, figure.keys[0]), figure.traces) for figure in store.statistics.figures(by=(key,))]
            rows = facet_rows(key.value, store.statistics.figures(by=(key,)))
            led += [(" ".join(broken_terms(key.value, row.value)), row.broken) for row in rows]
        statuses = facet_rows("status", store.statistics.figures())
        led += [(field("status", figure.value), figure.traces) for figure in statuses]
        violations = store.statistics.violations()
        assert violations
        led += [(violation_term(violation), violation.traces) for violation in violations]
        assert [(wanted, counted(wanted)) for wanted, _ in led] == led


def test_charts_are_drawn_without_altair_which_takes_longer_than_the_rest_of_the_page(
    demo_database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    assert len(page("triage", demo_database).get("vega_lite_chart")) == 3


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
    app.toggle(key="weaklink_day_shares_False").set_value(True).run()
    assert address(app) == {"days": "shares"}


def test_a_day_has_a_row_for_each_status_that_it_saw_and_long_times_become_weeks_or_months() -> None:
    def rows_of(*days: str) -> list[tuple[object, object, object]]:
        rows = time_rows([_group(day, traces=2, broken=1) for day in (*days, "")])
        return [(row["time"], row["status"], row["traces"]) for row in rows]

    assert rows_of("2026-03-01", "2026-03-28") == [
        ("2026-03-01", "broken", 1),
        ("2026-03-01", "ok", 1),
        ("2026-03-28", "broken", 1),
        ("2026-03-28", "ok", 1),
    ]
    assert rows_of("2026-01-01", "2026-01-02", "2026-04-28")[0] == ("2025-12-29 to 2026-01-04", "broken", 2)
    assert rows_of("2024-01-31", "2026-12-28")[-1] == ("2026-12-01 to 2026-12-31", "ok", 1)


def test_a_bar_of_the_breaks_has_the_share_of_its_rule() -> None:
    codes = [Slice((), "J104", 6), Slice((), "error-result", 3), *(Slice((), f"X{n}", 1) for n in range(11))]
    rows = code_rows(codes)
    assert len(rows) == 10
    assert (rows[0]["said"], rows[0]["share"]) == ("6 · 30 %", 6 / 20)
    assert rows[1]["said"] == "3 · 15 %"


def test_what_got_worse_is_judged_by_shares_of_all_traces() -> None:
    now = [Slice((), "J104", 6), Slice((), "J102", 3), Slice((), "S201", 2)]
    before = [Slice((), "J104", 60), Slice((), "J102", 1)]
    worse = worse_rules(now, 100, before, 1000)
    assert [figure.value for figure in worse] == ["J102", "S201"]
    assert worse_rules(now, 100, [], 0) == []


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
