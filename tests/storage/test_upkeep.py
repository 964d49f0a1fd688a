"""Counting, inspecting again, deleting what is old."""

import time
from pathlib import Path
from secrets import token_hex

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from tests.storage.test_live import WHOLE, events_of
from weaklink.inspector.chain.metrics_groups import GroupKey
from weaklink.inspector.errors import StoreError
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import ExternalId, Trace
from weaklink.storage import tables
from weaklink.storage.engine import new_engine, used_bytes
from weaklink.storage.live import StoreSink
from weaklink.storage.maintenance import Retention
from weaklink.storage.store import Store, open_store


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


@pytest.mark.parametrize("change", ["delete", "mark", "reinspect"])
def test_a_store_notices_what_another_program_changes(change: str, filled: Store, database: str) -> None:
    filled.close()
    with open_store(database) as reader:
        time.sleep(0 if reader.location.path is not None else 1.5)  # until the server has counted the first writes
        before = reader.stamp()
        assert reader.stamp() == before
        with open_store(database) as other:
            if change == "delete":
                other.delete([other.summary("old").id])
            elif change == "mark":
                other.marks.put("old", note="seen")
            else:
                assert other.maintenance.reinspect(inspect_trace) == 3
        until_s = time.monotonic() + 30
        while reader.stamp() == before and time.monotonic() < until_s:
            time.sleep(0.05)
        assert reader.stamp() != before


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
    assert [summary.name for summary in filled.traces("code:J1")] == ["broken"]
    assert filled.maintenance.stats().outdated == 2


def test_others_write_while_traces_are_inspected_again(filled: Store, database: str) -> None:
    ids = [summary.id for summary in filled.traces()]
    turns: list[int] = []

    def inspect(made: Trace) -> Inspection:
        turns.append(len(made.turns))
        with open_store(database, busy_timeout_s=0.05) as other:
            if len(turns) == 1:
                other.marks.put("broken", note="seen")
                other.delete([id_ for id_ in ids if id_ != other.summary("broken").id][:1])
            elif len(turns) == 3:  # all were inspected, none written
                longer = other.trace("broken")
                grown = replace(longer, turns=(*longer.turns, longer.turns[-1]))
                other.save([(grown, replace(inspect_trace(grown), diagnostics=()))])
        return inspect_trace(made)

    assert filled.maintenance.reinspect(inspect) == 2
    assert len(turns) == 4
    assert filled.inspection("broken") == inspect_trace(filled.trace("broken"))
    assert filled.summary("broken").note == "seen"
    assert len(filled.traces()) == 2


def test_what_the_inspection_raises_changes_nothing(filled: Store) -> None:
    def fail(_: Trace) -> Inspection:
        raise ValueError("the plug-in failed")

    with pytest.raises(ValueError, match="the plug-in failed"):
        filled.maintenance.reinspect(fail)
    assert len(filled.traces("code:J1")) == 1


def test_pruning_deletes_the_old_with_all_that_hangs_on_them(filled: Store) -> None:
    filled.search.index_pending()
    assert filled.maintenance.prune(Retention(before_s=2.5, keep_broken=True)) == 1
    assert filled.maintenance.prune(Retention(before_s=2.5)) == 1
    assert [summary.name for summary in filled.traces()] == ["new"]
    assert filled.maintenance.prune(Retention(before_s=99.0)) == 1
    assert filled.maintenance.stats().tools == 0


@pytest.mark.one_in(2)
def test_vacuum_gives_room_back(store: Store) -> None:
    store.save(inspected(*(trace(f"s{n}", GOOD_CALL * 20, words=f"{n}" * 3000) for n in range(200))))
    before = store.maintenance.stats().size_bytes
    store.delete(range(1, 200))
    store.maintenance.vacuum()
    assert store.maintenance.stats().size_bytes < before


def test_deleting_what_is_not_there_deletes_nothing(filled: Store) -> None:
    with pytest.raises(StoreError, match="no trace `"):
        filled.delete([1, 99])
    assert filled.maintenance.stats().traces == 3


@pytest.mark.one_in(2)
def test_a_share_of_what_did_not_break_is_kept_the_same_one_every_time(store: Store) -> None:
    store.save(inspected(*(trace(f"s{number}", GOOD_CALL, started_s=float(number)) for number in range(400))))
    store.save(inspected(trace("broken", BAD_CALL, started_s=0.0)))
    retention = Retention(before_s=1e9, keep_ok=0.1)
    assert store.maintenance.count_to_prune(retention) == store.maintenance.prune(retention)
    kept = {summary.name for summary in store.traces(limit=1_000)}
    assert "broken" in kept
    assert 20 <= len(kept) <= 60
    assert store.maintenance.prune(retention) == 0
    assert store.maintenance.prune(Retention(before_s=1e9, keep_ok=0.5)) == 0
    assert store.maintenance.prune(Retention(before_s=1e9, keep_broken=True)) == len(kept) - 1


@pytest.mark.one_in(2)
def test_the_oldest_go_until_the_rest_has_room(store: Store) -> None:
    sessions = (trace(f"s{number:03}", GOOD_CALL, words=token_hex(12_000), started_s=number) for number in range(200))
    store.save(inspected(*sessions))
    before = _used(store)
    assert store.maintenance.prune(Retention(max_bytes=2 * before)) == 0
    gone = store.maintenance.prune(Retention(max_bytes=before // 2))
    assert 80 <= gone <= 130
    assert sorted(summary.name for summary in store.traces(limit=1_000)) == [
        f"s{number:03}" for number in range(gone, 200)
    ]
    store.maintenance.vacuum()
    assert _used(store) <= 0.65 * before


def _used(store: Store) -> int:
    with store._database.reading() as connection:
        return used_bytes(connection)


def test_what_is_still_recorded_is_not_pruned(store: Store) -> None:
    sink = StoreSink(store)
    for event in list(events_of(WHOLE, known=1))[:-1]:
        sink.accept(event)
    sink.flush()
    assert store.maintenance.prune(Retention(before_s=1e12)) == 0
    sink.close()
    assert store.maintenance.prune(Retention(before_s=1e12)) == 1


def test_of_an_erased_session_no_word_is_left_in_the_file(tmp_path: Path) -> None:
    words = [token_hex(8) for _ in range(40)]
    shared = [ExternalId("session", "erased-session")]
    with open_store(tmp_path / "weaklink.db") as store:
        for index, word in enumerate(words):
            made = trace(word, GOOD_CALL.replace("Oslo", word), words=f"{word} " * 30, model=f"model-{word}")
            store.save(inspected(replace(made, external_ids=(*made.external_ids, *(shared if index % 2 else ())))))
            store.marks.put(index + 1, note=f"note {word}")
        store.search.index_pending()
        ids = store.ids_of(["erased-session"])
        assert len(ids) == 20
        store.erase(ids)
        assert [summary.id for summary in store.traces(words[0])] == [1]
        assert store.traces(words[1]) == []
        assert store.maintenance.check().problems == ()
        with pytest.raises(StoreError, match="no trace `erased-session`"):
            store.ids_of(["erased-session"])
    raw = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert [word for word in words[1::2] if word.encode() in raw or word[:14].encode() in raw] == []
    assert words[0].encode() in raw


@pytest.mark.one_in(2)
def test_nothing_of_an_erased_session_is_in_any_table_index_or_sum(store: Store) -> None:
    def sums() -> object:
        return store.statistics.figures(by=[GroupKey.MODEL, GroupKey.TOOL])

    kept = [trace(f"kept {index}", GOOD_CALL, BAD_CALL) for index in range(3)]
    store.save(inspected(*kept))
    store.search.index_pending()
    before = sums()
    word = token_hex(8)
    made = trace(word, GOOD_CALL.replace("Oslo", word), BAD_CALL, words=f"{word} " * 30, model=f"model-{word}")
    (saved,) = store.save(inspected(made))
    store.marks.put(saved.id, note=word)
    store.search.index_pending()
    assert [summary.id for summary in store.traces(word)] == [saved.id]
    assert sums() != before
    store.erase([saved.id])
    store.search.index_pending()
    assert store.traces(word) == []
    assert sums() == before
    assert store.maintenance.check().problems == ()
    engine = new_engine(store.location)
    with engine.connect() as connection:
        for table in tables.metadata.tables.values():
            assert word not in repr(connection.execute(sa.select(table)).all()), table.name
        if engine.dialect.name == "postgresql":
            assert word not in repr(connection.exec_driver_sql("SELECT * FROM search_text").all())
    engine.dispose()
