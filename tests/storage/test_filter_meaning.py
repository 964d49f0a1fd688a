"""A filter lets through what it says: the database agrees with plain Python, trace by trace."""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import in_the_gate
from tests.storage.conftest import DATABASES
from tests.storage.filtered import GeneratedTrace, Said, filters, made
from weaklink.inspector.chain.steps import Status, VerdictCertainty
from weaklink.storage.listing import Order
from weaklink.storage.store import Store, open_store


class _Filled(NamedTuple):
    """A store, and what was put into it, the newest first."""

    store: Store
    traces: list[GeneratedTrace]


@pytest.fixture(scope="module", params=DATABASES)
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Filled]:
    """A store of sixty traces, some marked."""
    if request.param == "sqlite":
        where = str(tmp_path_factory.mktemp("filters") / "weaklink.db")
    else:
        where = request.getfixturevalue("postgresql_database_of_module")
    rng = Random(8)
    traces = [made(number, rng) for number in range(60)]
    with open_store(where) as store:
        saved = store.save((trace.trace, trace.inspection) for trace in traces)
        for generated, kept in zip(traces, saved, strict=True):
            for turn, note in enumerate(generated.notes):
                store.marks.put(kept.id, turn=turn or None, note=note)
        store.search.index_pending()
        by_id = {kept.id: summary for summary, kept in zip(traces, saved, strict=True)}
        yield _Filled(store, [by_id[summary.id] for summary in store.traces(limit=100)])


@given(filters())
@in_the_gate(25, most=400)
def test_filters_let_through_what_they_say(filled: _Filled, said: Said) -> None:
    text, means = said
    expected = [trace.trace.external_ids[0].value for trace in filled.traces if means(trace)]
    assert [summary.external_ids["session"] for summary in filled.store.traces(text, limit=100)] == expected


@pytest.mark.one_in(2)
@given(filters())
@in_the_gate(20, most=150)
def test_pages_of_a_filter_follow_each_other(filled: _Filled, said: Said) -> None:
    text, means = said
    expected = [trace.trace.external_ids[0].value for trace in filled.traces if means(trace)]
    names, page = [], filled.store.traces(text, limit=7)
    while page:
        names += [summary.external_ids["session"] for summary in page]
        page = filled.store.traces(text, limit=7, after=page[-1].cursor)
    assert names == expected


@pytest.mark.one_in(2)
@given(filters(), st.sampled_from([Order.TIME, Order.BROKEN]), st.sampled_from([3, 7, 100]))
@in_the_gate(25, most=200)
def test_a_scan_and_the_edges_of_pages_agree(filled: _Filled, said: Said, order: Order, limit: int) -> None:
    text, means = said
    expected = [trace for trace in filled.traces if means(trace)]
    if order is Order.BROKEN:
        expected.sort(key=_rank)
    names = [sample.trace.external_ids[0].value for sample in expected]
    paging = filled.store.paging()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weaklink.storage.listing._MAX_SCAN_TRACES", 4)
        pages = list(paging.scan(text, order, limit=limit))
    rows = [row for page in pages for row in page]
    assert [row.summary.external_ids["session"] for row in rows] == names[:limit]
    assert all(pages)
    section = paging.section(text, order, limit=100, page=1)
    assert list(section.edges) == [page.cursor for page in paging.page(text, order, limit=100)]
    assert (section.count, section.is_last) == (len(names), True)


def _rank(sample: GeneratedTrace) -> int:
    """Where a trace is in a list with broken traces first: sure breaks, then guessed ones, then the others."""
    chain = sample.inspection.chain
    if chain.status is not Status.BROKEN:
        return 2
    return int(chain.certainty is VerdictCertainty.LOW)
