"""Traces whose source gave no time: lists sort and show them by their import, and no filter by time finds them."""

import random
import time

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from tests.storage.conftest import NewStore
from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Instant
from weaklink.storage import tables
from weaklink.storage.listing import Order
from weaklink.storage.maintenance import Retention
from weaklink.storage.store import Store
from weaklink.storage.summaries import ListCursor, TraceSummary
from weaklink.ui.views.styled_text import plain
from weaklink.ui.views.trace_columns import FittedColumns, ListedTrace, fitted, summary_object, tab_separated
from weaklink.ui.web.components import HintCell
from weaklink.ui.web.trace_listing import LISTING_COLUMNS, _listing_row

NOW_S = time.time()
FILTERS = ["", "status:broken", "weather", "tool:get_*", "code:J1", "weather or status:ok", "code:J104 weather"]


@pytest.fixture(scope="module")
def filled(new_store: NewStore) -> Store:
    """A store for tests that only read; see `fill`."""
    store = new_store()
    fill(store, seed=3)
    return store


def fill(store: Store, seed: int, *, many: int = 40) -> None:
    """Traces of which every other, by chance, has no time; those that have one have few different ones."""
    chance = random.Random(seed)
    traces = []
    for number in range(many):
        sample = trace(f"s{number}", BAD_CALL if chance.random() < 0.5 else GOOD_CALL)
        at_s = NOW_S - 3_600.0 * chance.randint(0, 5)
        traces.append(replace(sample, started=Instant(at_s) if chance.random() < 0.5 else None))
    store.save(inspected(*traces))
    ids = [summary.id for summary in store.traces("", limit=1_000) if summary.started_at_s is None]
    for id_ in ids:  # as if each had been imported at another time
        import_at(store, id_, NOW_S - 3_600.0 * chance.randint(0, 5))
    store.search.index_pending()


def import_at(store: Store, id_: int, at_s: float) -> None:
    """Set when a trace was imported, as `save` would have then."""
    with store._database.writing() as connection:
        for table in (tables.trace, tables.trace_tool, tables.trace_code, tables.argument):
            of_trace = (table.c.id if table is tables.trace else table.c.trace_id) == id_
            imported = {"imported_at_s": at_s} if table is tables.trace else {}
            connection.execute(sa.update(table).where(of_trace).values(sort_at_s=at_s, **imported))


def walked(store: Store, wanted: str, limit: int) -> list[TraceSummary]:
    """All traces that match, a page at a time."""
    summaries: list[TraceSummary] = []
    after: ListCursor | None = None
    while page := store.traces(wanted, limit=limit, after=after):
        summaries += page
        after = page[-1].cursor
    return summaries


@pytest.mark.one_in(8)
@pytest.mark.parametrize("wanted", FILTERS)
@pytest.mark.parametrize("limit", [1, 3, 7])
def test_pages_hold_every_trace_once_and_those_without_a_time_by_their_import(
    filled: Store, wanted: str, limit: int
) -> None:
    store = filled
    listed = walked(store, wanted, limit)
    whole = {summary.id for summary in store.traces(wanted, limit=1_000)}
    assert len(whole) > 5
    assert [summary.id for summary in listed] == [summary.id for summary in store.traces(wanted, limit=1_000)]
    assert len({summary.started_at_s is None for summary in listed}) > 1
    places = [
        (summary.imported_at_s if summary.started_at_s is None else summary.started_at_s, summary.id)
        for summary in listed
    ]
    assert places == sorted(places, reverse=True)


def test_stretches_and_single_steps_back_keep_that_order(filled: Store) -> None:
    paging, whole = filled.paging(), filled.traces("", limit=1_000)
    assert list(paging.section("", limit=1_000, page=1).edges) == [row.cursor for row in whole]
    for before, current in zip([None, *whole], whole, strict=False):
        earlier = paging.before("", Order.TIME, start=current.cursor)
        assert (earlier.summary if earlier is not None else None) == before


@pytest.mark.one_in(2)
def test_no_moment_finds_a_trace_without_a_time(filled: Store) -> None:
    store = filled
    whole = store.traces("", limit=1_000)
    unknown = {summary.id for summary in whole if summary.started_at_s is None}
    assert unknown
    for moment in ("1h", "150m", "1d", "2000-01-01", "today", "1900-01-01"):
        since = {summary.id for summary in walked(store, f"since:{moment}", 5)}
        before = {summary.id for summary in walked(store, f"before:{moment}", 5)}
        assert not (since | before) & unknown
        assert since | before == {summary.id for summary in whole} - unknown
        assert {summary.id for summary in walked(store, f"-since:{moment}", 5)} == before | unknown
        both = walked(store, f"since:{moment} or before:{moment}", 5)
        assert {summary.id for summary in both} == since | before


def test_a_time_is_known_once_a_longer_version_has_one(store: Store) -> None:
    short = replace(trace("s", GOOD_CALL), started=None)
    store.save(inspected(short))
    longer = replace(short, turns=(*short.turns, *short.turns), started=Instant(NOW_S - 60))
    store.save(inspected(longer))
    assert len(store.traces("since:1h")) == 1


def test_a_saved_trace_without_a_time_comes_before_older_ones(store: Store) -> None:
    store.save(inspected(trace("old", BAD_CALL, GOOD_CALL, started_s=NOW_S - 3_600)))
    undated = replace(trace("undated", BAD_CALL, GOOD_CALL), started=None)
    store.save(inspected(undated))
    store.save(inspected(replace(undated, turns=(*undated.turns, *undated.turns))))  # it has grown
    store.maintenance.reinspect(inspect_trace)
    store.search.index_pending()
    for wanted in FILTERS:
        assert [summary.name for summary in store.traces(wanted)] == ["undated", "old"], wanted


def test_lists_show_the_import_in_place_of_the_time(store: Store) -> None:
    store.save(inspected(replace(trace("s", GOOD_CALL), started=None)))
    (summaries,) = store.traces()
    assert summary_object(summaries)["started_at"] is None
    listed = ListedTrace(summaries, NOW_S)
    row = FittedColumns({"status": 2, "started_at": 12, "age": 4})
    assert plain(row.row(listed)).split()[1:] == ["imported", "0s", "-"]
    old = ListedTrace(summaries, NOW_S + 86_400 * 388.5)
    assert plain(row.row(old)).split()[1:] == ["imp.", "388d", "-"]
    assert "started_at" not in fitted(200, [listed]).widths
    (dated, undated) = (ListedTrace(replace(summaries, started_at_s=at_s), NOW_S) for at_s in (NOW_S, None))
    assert fitted(200, [dated, undated]).widths["started_at"] == len("imported 0s")
    assert tab_separated(listed, ("started_at", "id")) == f"\t{summaries.id}"
    (index,) = (number for number, column in enumerate(LISTING_COLUMNS) if column.title == "when")
    cell = _listing_row(listed).cells[index]
    assert isinstance(cell, HintCell)
    assert [run.text for run in cell.line] == ["imp. 0s"]
    assert cell.hint.startswith("No time was recorded. Imported 20")


def test_the_newest_trace_is_the_last_recorded_or_imported_one(store: Store) -> None:
    store.save(inspected(trace("recorded", BAD_CALL, started_s=NOW_S - 3_600)))
    store.save(
        inspected(replace(trace("imported", BAD_CALL), started=None), replace(trace("ok", GOOD_CALL), started=None))
    )
    by_name = {name: store.summary(name).id for name in ("recorded", "imported", "ok")}
    assert store.summary("latest").id == by_name["ok"]
    assert newest(store, "status:broken") == by_name["imported"]
    store.save(inspected(trace("later", BAD_CALL, started_s=NOW_S + 3_600)))
    later = store.summary("later").id
    assert (store.summary("latest").id, newest(store, "status:broken")) == (later, later)
    assert store.newest("code:J999") is None


def newest(store: Store, wanted: str) -> int | None:
    """The id of the newest trace that matches."""
    summary = store.newest(wanted)
    return None if summary is None else summary.id


def test_old_records_of_unknown_time_are_pruned_by_their_import(store: Store) -> None:
    store.save(inspected(replace(trace("s", GOOD_CALL), started=None)))
    assert store.maintenance.prune(Retention(before_s=NOW_S - 3_600, keep_broken=False)) == 0
    assert store.maintenance.prune(Retention(before_s=time.time() + 60, keep_broken=False)) == 1
