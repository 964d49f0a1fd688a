"""Long lists without their rows: every page of a list can be reached by the edges that a stretch of it names."""

import pytest
from msgspec.structs import replace

from tests.chain.building import trace_of
from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from weaklink.inspector.capture.events import TraceEnded, TraceStarted
from weaklink.inspector.model import Trace
from weaklink.storage.listing import Order, rank_of
from weaklink.storage.live import StoreSink
from weaklink.storage.store import Store
from weaklink.storage.summaries import ListCursor

TRACES = 23


@pytest.fixture
def filled(store: Store) -> Store:
    store.save(
        inspected(*(trace(f"s{n}", BAD_CALL if n % 3 else GOOD_CALL, started_s=float(n // 2)) for n in range(TRACES)))
    )
    store.search.index_pending()
    return store


@pytest.mark.one_in(4)
@pytest.mark.parametrize("wanted", ["", "status:broken", "weather", "code:J104 weather"])
@pytest.mark.parametrize("limit", [7, 100])
def test_the_edges_of_a_list_lead_to_each_of_its_pages(filled: Store, wanted: str, limit: int) -> None:
    listed = filled.traces(wanted, limit=1_000)
    edges: list[ListCursor] = []
    counted, after, is_last = 0, None, False
    while not is_last:
        section = filled.paging().section(wanted, limit=limit, page=7, after=after)
        edges += section.edges
        counted, after, is_last = (
            counted + section.count,
            section.edges[-1] if section.edges else after,
            section.is_last,
        )
    assert counted == len(listed)
    assert edges == [row.cursor for row in [*listed[6::7], listed[-1]]][: len(edges)]
    assert filled.traces(wanted, limit=7, after=edges[0]) == listed[7:14]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("wanted", ["", "status:broken or weather"])
def test_a_list_in_any_order_goes_on_behind_each_of_its_edges(filled: Store, wanted: str, order: Order) -> None:
    paging = filled.paging()
    whole = paging.page(wanted, order, limit=1_000)
    assert len(whole) == TRACES
    assert whole == sorted(whole, key=lambda row: (row.cursor.rank, row.cursor.sort_at_s, row.cursor.id), reverse=True)
    assert len(whole) == paging.count(wanted)
    after, pages = None, []
    for edge in paging.section(wanted, order, limit=1_000, page=7).edges:
        pages += paging.page(wanted, order, limit=7, after=after)
        after = edge
    assert pages == whole


def test_a_list_by_errors_begins_with_the_most(filled: Store) -> None:
    filled.save(inspected(trace("worst", BAD_CALL, BAD_CALL, BAD_CALL)))
    first, *_, last = filled.paging().page("", Order.ERRORS, limit=100)
    assert (first.summary.name, last.summary.errors) == ("worst", 0)


def guessed(number: int, answer: str) -> Trace:
    """A trace of one call whose result is an error by its words only; the agent goes on in silence."""
    call = f'call: book {{"seat": "{number}A"}}'
    return replace(trace_of("user: Book.", call, "result: Error: no such seat", f"say: {answer}"), name=f"g{number}")


def test_lists_put_sure_verdicts_first(store: Store) -> None:
    sure = [trace(f"s{number}", BAD_CALL if number else GOOD_CALL, started_s=float(number)) for number in range(2)]
    store.save(inspected(*sure, guessed(1, "I could not book it."), guessed(2, "I could not book it.")))
    paging = store.paging()
    broken = [(page.summary.status, page.summary.certainty) for page in paging.page("", Order.BROKEN, limit=9)]
    assert broken == [("broken", "high"), ("broken", "low"), ("broken", "low"), ("ok", "high")]
    by_certainty = [page.summary.certainty for page in paging.page("", Order.CERTAINTY, limit=9)]
    assert by_certainty == ["high", "high", "low", "low"]
    assert {summary.name for summary in store.traces("certainty:low", limit=9)} == {"g1", "g2"}
    whole = paging.page("", Order.BROKEN, limit=9)
    for index, listed in enumerate(whole[1:], 1):
        before = paging.before("", Order.BROKEN, start=listed.cursor)
        assert before is not None
        assert before.summary == whole[index - 1].summary
        assert rank_of(listed.summary) == listed.cursor.rank


def test_nothing_has_no_edges(store: Store) -> None:
    section = store.paging().section("", limit=10, page=5)
    assert (section.count, section.edges, section.is_last) == (0, (), True)
    assert store.paging().version().newest_id == 0


def test_a_pulse_changes_when_a_trace_comes(filled: Store) -> None:
    before = filled.paging().version()
    filled.save(inspected(trace("one more")))
    assert filled.paging().version().newest_id > before.newest_id


def test_traces_are_counted_by_status_and_calls_by_what_became_of_them(filled: Store) -> None:
    broken = sum(1 for n in range(TRACES) if n % 3)
    assert filled.paging().status_counts()["broken"] == broken
    counts = filled.paging().call_counts([summary.id for summary in filled.traces(limit=100)])
    assert sorted(counts.values()) == [(0, 1)] * broken + [(1, 1)] * (TRACES - broken)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("wanted", ["", "status:broken", "status:broken weather"])
def test_before_each_trace_of_a_list_stands_the_one_that_it_names(filled: Store, wanted: str, order: Order) -> None:
    paging = filled.paging()
    whole = paging.page(wanted, order, limit=1_000)
    before = [paging.before(wanted, order, start=row.cursor) for row in whole]
    assert before == [None, *whole[:-1]]
    for steps in (2, 7, len(whole)):
        earlier = [paging.before(wanted, order, start=row.cursor, steps=steps) for row in whole]
        assert earlier == [whole[index - steps] if index >= steps else None for index in range(len(whole))]


def test_a_trace_that_is_being_recorded_is_counted_as_running_alone(filled: Store) -> None:
    before = filled.paging().status_counts()
    sink = StoreSink(filled)
    sink.accept(TraceStarted("k", trace("running", BAD_CALL)))
    sink.flush()
    assert filled.paging().status_counts() == before | {"running": 1}
    assert filled.paging().status_counts("status:broken") == {"broken": before["broken"], "running": 1}
    assert filled.paging().status_counts("status:running") == {"running": 1}
    assert len(filled.paging().version().open) == 1
    sink.accept(TraceEnded("k"))
    sink.close()
    assert filled.paging().status_counts()["broken"] == before["broken"] + 1
