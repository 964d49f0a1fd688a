"""Partitions by time on PostgreSQL: when one begins, what is in it, and when it is dropped whole."""

import re

import psycopg
import pytest
import sqlalchemy as sa

from benchmarks.postgresql_server import new_database
from inspector.capture.events import TraceStarted
from inspector.errors import StoreError
from inspector.model import Trace
from storage import Store, StoreSink, open_store, partitions, tables, upgrade_store
from storage.copying import copy_traces
from storage.maintenance import Retention
from storage.partitions import AHEAD, PARTITIONED, STEP, analyze_partitioned, past_partitions
from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace

_WEEK_S = 7 * 86_400.0


@pytest.fixture
def database(postgresql_database: str) -> str:
    return postgresql_database


class _Clock:
    """The time that a store sees, which tests move."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 2_000 * _WEEK_S + 1.0
        monkeypatch.setattr("storage.store.time.time", lambda: self.now_s)
        monkeypatch.setattr(partitions, "_MIN_TRACES", 2)

    def pass_weeks(self, count: int = 1) -> None:
        self.now_s += count * _WEEK_S

    def save(self, store: Store, *names: str, text: str = GOOD_CALL, age_s: float = 0.0) -> list[int]:
        made = [trace(name, text, started_s=self.now_s - age_s) for name in names]
        return [saved.id for saved in store.save(inspected(*made))]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    return _Clock(monkeypatch)


def _rows(store: Store) -> dict[tuple[str, int], int]:
    """How many rows each partition has, by table and number, where it has any."""
    found: dict[tuple[str, int], int] = {}
    with store._database.reading() as connection:
        for name in PARTITIONED:
            counted = sa.text(f'SELECT tableoid\\:\\:regclass\\:\\:text, count(*) FROM "{name}" GROUP BY 1')
            for partition, rows in connection.execute(counted):
                match = re.fullmatch(rf'"?{name}_p(\d+)"?', partition)
                assert match is not None
                found[name, int(match[1])] = rows
    return found


def _partitions(store: Store) -> set[int]:
    with store._database.reading() as connection:
        return partitions._numbers(connection)


def test_a_new_week_begins_a_partition_once_there_are_traces_enough(store: Store, clock: _Clock) -> None:
    assert clock.save(store, "a") == [1]
    clock.pass_weeks()
    assert clock.save(store, "b") == [2]  # one trace is not worth a partition
    assert clock.save(store, "c") == [3]  # still the same week
    clock.pass_weeks()
    assert clock.save(store, "d", "e") == [STEP + 1, STEP + 2]
    clock.pass_weeks(3)
    assert clock.save(store, "f") == [2 * STEP + 1]
    clock.pass_weeks(-1)
    assert clock.save(store, "g") == [2 * STEP + 2]  # never backwards
    assert {number for _, number in _rows(store)} == {0, 1, 2}
    assert _partitions(store) == set(range(2 + AHEAD + 1))
    assert {one.name for one in store.traces()} == set("abcdefg")


def test_the_days_of_a_partition_are_a_setting_of_the_database(
    store: Store, clock: _Clock, postgresql_database: str
) -> None:
    name = postgresql_database.rpartition("/")[2]
    clock.save(store, "a", "b")
    with psycopg.connect(postgresql_database, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET weaklink.partition_days = 28".encode())
    with open_store(postgresql_database) as other:
        clock.pass_weeks()
        assert clock.save(other, "c") == [3]
        clock.pass_weeks(3)
        assert clock.save(other, "d") == [STEP + 1]


def test_every_partitioned_table_gets_its_rows_where_its_trace_is(store: Store, clock: _Clock) -> None:
    clock.save(store, "a", "b", text=BAD_CALL)
    clock.pass_weeks()
    clock.save(store, "c", "d", text=BAD_CALL)
    store.catch_up()
    rows = _rows(store)
    assert {name for name, _ in rows} >= {"turn", "part", "inspection", "diagnostic", "figures", "search_text"}
    assert all(rows[name, 0] == rows[name, 1] for name, _ in rows)
    assert [one.name for one in store.traces("weather")] == [one.name for one in store.traces()]
    assert store.statistics.figures()[0].traces == 4


def test_a_week_with_more_traces_than_a_partition_has_ids_takes_two(store: Store, clock: _Clock) -> None:
    with store._database.writing() as connection:
        connection.execute(sa.text(f"SELECT setval('trace_id_seq', {STEP - 2})"))
    assert clock.save(store, "a", "b", "c") == [STEP - 1, STEP, STEP + 1]
    assert _rows(store)["turn", 0] == 2
    assert _rows(store)["turn", 1] == 4
    assert _partitions(store) == set(range(1 + AHEAD + 1))


def test_a_partition_is_dropped_once_everything_in_it_is_older(store: Store, clock: _Clock) -> None:
    clock.save(store, "a", "b")
    store.marks.put("a", note="look")
    clock.pass_weeks()
    clock.save(store, "c", "d")
    store.catch_up()
    before_s = clock.now_s - 1.0
    assert store.maintenance.count_to_prune(Retention(before_s)) == 2
    assert store.maintenance.prune(Retention(before_s)) == 2
    assert 0 not in _partitions(store)
    assert {one.name for one in store.traces()} == {"c", "d"}
    assert store.statistics.figures()[0].traces == 2
    assert store.maintenance.check().problems == ()
    assert clock.save(store, "a") == [STEP + 3]  # it may come again, under a new id


def test_a_mixed_partition_loses_rows_and_goes_when_it_is_empty(store: Store, clock: _Clock) -> None:
    clock.save(store, "long past", age_s=50 * _WEEK_S)
    clock.save(store, "a")
    clock.pass_weeks()
    clock.save(store, "c", "d")
    assert store.maintenance.prune(Retention(clock.now_s - 10 * _WEEK_S)) == 1
    assert 0 in _partitions(store)
    assert {one.name for one in store.traces()} == {"a", "c", "d"}
    assert store.delete(["a"]) == 1
    assert store.maintenance.prune(Retention(0.0)) == 0
    assert 0 not in _partitions(store)


def test_what_is_kept_or_still_recorded_keeps_its_partition(store: Store, clock: _Clock) -> None:
    clock.save(store, "a")
    clock.save(store, "broken", text=BAD_CALL)
    sink = StoreSink(store)
    sink.accept(TraceStarted("open", Trace((), name="open")))
    sink.flush()
    clock.pass_weeks()
    clock.save(store, "c", "d")
    assert store.maintenance.prune(Retention(clock.now_s - 1.0, keep_broken=True)) == 1
    assert {one.name for one in store.traces()} == {"broken", "open", "c", "d"}
    assert store.maintenance.prune(Retention(clock.now_s - 1.0)) == 1
    assert {one.name for one in store.traces()} == {"open", "c", "d"}
    assert 0 in _partitions(store)
    sink.close()


def test_the_newest_partition_stays_though_all_in_it_is_old(store: Store, clock: _Clock) -> None:
    clock.save(store, "a", "b")
    assert store.maintenance.prune(Retention(clock.now_s + 1.0)) == 2
    assert _partitions(store) == set(range(AHEAD + 1))
    with store._database.reading() as connection:
        assert past_partitions(connection) == []


@pytest.mark.slow
def test_copies_keep_ids_that_lie_partitions_apart(store: Store, clock: _Clock, tmp_path: object) -> None:
    clock.save(store, "a", "b")
    for _ in range(AHEAD + 2):
        clock.pass_weeks()
        clock.save(store, f"{clock.now_s}", f"{clock.now_s} too")
    with open_store(f"{tmp_path}/copy.db") as there:
        assert copy_traces(store, there).problems == ()
        store.delete([one.id for one in store.traces()])
        assert copy_traces(there, store).problems == ()
        ids = {one.id for one in there.traces()}
    assert len(ids) == 2 * (AHEAD + 3)
    assert len({id_ // STEP for id_ in ids}) == AHEAD + 3


def test_the_planner_knows_the_tables_as_a_whole_once_there_is_much_in_them(postgresql: str, clock: _Clock) -> None:
    with new_database(postgresql) as url, open_store(url) as store:  # one that no other test had
        clock.save(store, "a", "b")
        store.catch_up()
        assert _planned(store) == 0
        clock.save(store, "c")
        store.catch_up()
        assert _planned(store) > 0
        assert analyze_partitioned(store._database) is False  # once a week is enough


def _planned(store: Store) -> int:
    """For how many columns of partitioned tables as a whole PostgreSQL has statistics."""
    with store._database.reading() as connection:
        counted = "SELECT count(*) FROM pg_stats WHERE inherited AND tablename IN ('part', 'search_text', 'call')"
        return int(connection.scalar(sa.text(counted)) or 0)


def test_rows_of_no_trace_are_a_problem(store: Store, clock: _Clock) -> None:
    clock.save(store, "a")
    with store._database.writing() as connection:
        connection.execute(sa.insert(tables.figures), {"trace_id": 77, **_zeros(tables.figures)})
    assert store.maintenance.check().problems == ("1 rows of the table `figures` refer to traces that do not exist",)


def test_a_sign_of_life_of_a_trace_that_is_gone_stops_nothing(store: Store, clock: _Clock) -> None:
    clock.save(store, "a", "b")
    with store._database.writing() as connection:
        connection.execute(sa.insert(tables.live), {"trace_id": 77, "owner": "host 1 x", "beat_at_s": 0.0})
    assert store.recover() == 0
    clock.pass_weeks()
    clock.save(store, "c", "d")
    assert store.maintenance.prune(Retention(clock.now_s - 1.0)) == 2
    assert 0 not in _partitions(store)
    assert store.maintenance.check().problems == ()


def _zeros(table: sa.Table) -> dict[str, int]:
    return {column.name: 0 for column in table.c if column.name != "trace_id"}


def test_a_role_that_owns_no_table_writes_as_long_as_there_are_partitions(store: Store, clock: _Clock) -> None:
    url = store.place.address.replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("CREATE ROLE recorder LOGIN")
        try:
            owner.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO recorder")
            owner.execute("GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO recorder")
            with open_store(url.replace("weaklink@", "recorder@")) as other:
                for number in range(AHEAD + 2):
                    ids = clock.save(other, f"{number} a", f"{number} b")
                    assert ids[0] // STEP == min(number, AHEAD)
                    clock.pass_weeks()
                owner.execute(f"SELECT setval('trace_id_seq', {(AHEAD + 1) * STEP})".encode())
                with pytest.raises(
                    StoreError, match="no partition for new traces; its owner must run `weaklink db upgrade`"
                ):
                    clock.save(other, "more")
                upgrade_store(url)
                assert clock.save(other, "more") == [(AHEAD + 1) * STEP + 1]
        finally:
            owner.execute("DROP OWNED BY recorder")
            owner.execute("DROP ROLE recorder")
