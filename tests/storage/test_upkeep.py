"""Counting, inspecting again, deleting what is old."""

from dataclasses import replace

import pytest

from inspector.errors import StoreError
from inspector.inspection import Inspection, inspect_trace
from inspector.model import Trace
from storage import Store
from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace


@pytest.fixture
def filled(store: Store) -> Store:
    """Three traces, one of them broken."""
    store.save(
        inspected(
            trace("old", GOOD_CALL, started_s=1.0),
            trace("broken", BAD_CALL, started_s=2.0),
            trace("new", GOOD_CALL, started_s=3.0),
        )
    )
    return store


def test_stats_count_what_is_there(filled: Store) -> None:
    stats = filled.maintenance.stats()
    assert (stats.traces, stats.turns, stats.tool_calls, stats.errors, stats.tools) == (3, 6, 3, 1, 2)
    assert stats.by_status == {"ok": 2, "broken": 1}
    assert (stats.not_indexed, stats.outdated) == (3, 0)
    assert stats.size_bytes > 10_000


def _inspect_otherwise(made: Trace) -> Inspection:
    return replace(inspect_trace(made), version="0.0.0", diagnostics=())


def test_reinspecting_replaces_what_was_derived(filled: Store) -> None:
    before = filled.trace("broken")
    assert filled.maintenance.reinspect(_inspect_otherwise) == 3
    assert filled.traces("code:J1") == []
    assert filled.summary("broken").errors == 0
    assert filled.maintenance.stats().outdated == 3
    assert filled.maintenance.reinspect(inspect_trace, ["broken"]) == 1
    assert filled.inspected("broken") == (before, inspect_trace(before))
    assert [one.name for one in filled.traces("code:J1")] == ["broken"]
    assert filled.maintenance.stats().outdated == 2


def test_what_the_inspection_raises_changes_nothing(filled: Store) -> None:
    def fail(_: Trace) -> Inspection:
        raise ValueError("the plug-in failed")

    with pytest.raises(ValueError, match="the plug-in failed"):
        filled.maintenance.reinspect(fail)
    assert len(filled.traces("code:J1")) == 1


def test_pruning_deletes_the_old_with_all_that_hangs_on_them(filled: Store) -> None:
    filled.search.index_pending()
    assert filled.maintenance.prune(before_s=2.5, keep_broken=True) == 1
    assert filled.maintenance.prune(before_s=2.5) == 1
    assert [one.name for one in filled.traces()] == ["new"]
    assert filled.maintenance.prune(before_s=99.0) == 1
    assert filled.maintenance.stats().tools == 0


def test_vacuum_gives_room_back(store: Store) -> None:
    store.save(inspected(*(trace(f"s{n}", GOOD_CALL * 20, words=f"{n}" * 3000) for n in range(200))))
    before = store.maintenance.stats().size_bytes
    store.delete(range(1, 200))
    store.maintenance.vacuum()
    assert store.maintenance.stats().size_bytes < before


def test_deleting_what_is_not_there_deletes_nothing(filled: Store) -> None:
    with pytest.raises(StoreError, match="there is no trace"):
        filled.delete([1, 99])
    assert filled.maintenance.stats().traces == 3
