"""Copies of databases, from each kind to each kind."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from benchmarks.postgresql_server import new_database
from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from tests.storage.test_live import WHOLE, events_of
from weaklink import sample_traces
from weaklink.inspector.capture.events import RecordEvent
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import Trace
from weaklink.inspector.model.exchange import RecordedExchange
from weaklink.inspector.trace_file.lines import ExchangePacker
from weaklink.storage import copying, tables
from weaklink.storage.copying import CopyReport, copy_traces
from weaklink.storage.exchanges import pack_exchange, put_exchanges
from weaklink.storage.live import StoreSink
from weaklink.storage.store import Store, open_store

_MOST_BYTES = 10_000  # of a sample


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """An empty store into which another is copied."""
    if request.param == "sqlite":
        with open_store(tmp_path_factory.mktemp("target") / "copy.db") as opened:
            yield opened
    else:
        with new_database(request.getfixturevalue("postgresql")) as url, open_store(url) as opened:
            yield opened


@cache
def _samples() -> list[tuple[Trace, Inspection]]:
    paths = sorted(Path(sample_traces.__file__).parent.glob("*.jsonl"))
    short = [path for path in paths if path.stat().st_size < _MOST_BYTES]
    return inspected(*(record for path in short for record in read_source(path).records if isinstance(record, Trace)))


def _fill(store: Store) -> None:
    """Traces of every sample, marks, and an exchange; the ids have a gap."""
    store.save(_samples())
    store.delete([2, 5])
    store.marks.put(1, note="ü🙂")
    store.marks.put(3, turn=1)
    packer = ExchangePacker()
    lines = [packer.line(RecordedExchange("POST", "/v1", request=b"a" * 100 + bytes([index]))) for index in range(3)]
    with store._database.writing() as connection:
        put_exchanges(connection, 3, [pack_exchange(line) for line in lines])


def _ids(store: Store) -> list[int]:
    return sorted(summary.id for summary in store.traces(limit=1_000))


def _problems(store: Store) -> list[str]:
    """What `db check` says, without the numbers of tool sets: a copy counts them anew."""
    return sorted(re.sub(r"tool set \d+", "tool set", problem) for problem in store.maintenance.check().problems)


def _marks(store: Store) -> list[tuple[int, int | None, int | None, str]]:
    marks_by_trace = store.marks.of(_ids(store)).values()
    return sorted(
        ((mark.trace_id, mark.turn, mark.step, mark.note) for some in marks_by_trace for mark in some), key=repr
    )


@pytest.mark.one_in(3)
def test_a_copy_reads_as_its_original(store: Store, target: Store) -> None:
    _fill(store)
    counted: list[int] = []
    report = copy_traces(store, target, counted.append)
    ids = _ids(store)
    assert report == CopyReport(copied=len(ids))
    assert sum(counted) == 2 * len(ids)
    assert _ids(target) == ids
    assert [target.inspected(trace_id) for trace_id in ids] == [store.inspected(trace_id) for trace_id in ids]
    assert [target.summary(trace_id) for trace_id in ids] == [store.summary(trace_id) for trace_id in ids]
    assert _marks(target) == _marks(store) != []
    assert target.exchanges.of(3) == store.exchanges.of(3)
    assert len(target.exchanges.of(3).traces[3]) == 3
    assert target.statistics.figures() == store.statistics.figures()
    target.search.index_pending()
    store.search.index_pending()
    assert [summary.id for summary in target.traces("Oslo")] == [summary.id for summary in store.traces("Oslo")] != []
    assert target.maintenance.check().problems == ()
    (saved,) = target.save(inspected(trace("new", GOOD_CALL)))
    assert saved.id > max(ids)


@pytest.mark.one_in(3)
def test_a_copy_goes_on_where_it_was_interrupted(store: Store, target: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "_GROUP", 3)
    _fill(store)
    done: list[int] = []

    def fail(count: int) -> None:
        done.append(count)
        if len(done) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_traces(store, target, fail)
    assert len(_ids(target)) == 12
    store.marks.put(1, turn=2, note="later")
    report = copy_traces(store, target)
    ids = _ids(store)
    assert report == CopyReport(copied=len(ids) - 12, present=12)
    assert _ids(target) == ids
    assert _marks(target) == _marks(store)
    assert copy_traces(store, target) == CopyReport(present=len(ids))


@pytest.mark.one_in(3)
def test_traces_of_the_target_keep_their_ids_and_their_longer_versions(store: Store, target: Store) -> None:
    longer = trace("both", GOOD_CALL, BAD_CALL)
    shorter = replace(longer, turns=longer.turns[:2])
    store.save(inspected(trace("one", GOOD_CALL), longer, trace("kept", GOOD_CALL)))
    target.save(inspected(trace("own", BAD_CALL), shorter, trace("kept", GOOD_CALL, BAD_CALL)))
    target.marks.put(2, note="mine")
    assert copy_traces(store, target) == CopyReport(copied=1, replaced=1, present=1)
    assert {summary.name: summary.id for summary in target.traces()} == {"own": 1, "both": 2, "kept": 3, "one": 4}
    assert target.inspected(2) == store.inspected("both")
    assert len(target.trace(3).turns) == 3
    assert _marks(target) == [(2, None, None, "mine")]
    assert target.maintenance.check().problems == ()


@pytest.mark.one_in(3)
def test_what_is_still_recorded_is_left_out(store: Store, target: Store) -> None:
    store.save(inspected(trace("one", GOOD_CALL)))
    sink = StoreSink(store)
    events: list[RecordEvent] = list(events_of(WHOLE, known=1))
    for event in events[:-1]:
        sink.accept(event)
    sink.flush()
    assert copy_traces(store, target) == CopyReport(copied=1, running=1)
    sink.accept(events[-1])
    sink.close()
    assert copy_traces(store, target) == CopyReport(copied=1, present=1)
    assert sorted(summary.name for summary in target.traces()) == sorted(summary.name for summary in store.traces())


@pytest.mark.one_in(3)
def test_damage_is_copied_as_it_is(store: Store, target: Store) -> None:
    _fill(store)
    with store._database.writing() as connection:
        connection.execute(sa.update(tables.tool).values(body=b"no tool"))
    assert copy_traces(store, target).problems == ()
    assert _problems(target) == _problems(store) != []


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("table", "values"),
    [
        (tables.trace, {"model": "another"}),
        (tables.turn, {"toolset_id": None}),
        (tables.part, {"text": b"another"}),
        (tables.exchange, {"body": b"another"}),
        (tables.diagnostic, {"start": 77}),
        (tables.external_id, {"value": "another"}),
    ],
    ids=lambda table: table.name if isinstance(table, sa.Table) else "",
)
def test_a_copy_that_differs_is_a_problem(
    store: Store, target: Store, table: sa.Table, values: dict[str, object]
) -> None:
    _fill(store)
    assert copy_traces(store, target).problems == ()
    key = table.c.id if table is tables.trace else table.c.trace_id
    with target._database.writing() as connection:
        (changed,) = connection.scalars(sa.select(key).where(table.c[next(iter(values))].is_not(None)).limit(1))
        connection.execute(sa.update(table).where(key == changed).values(values))
    (problem,) = copy_traces(store, target).problems
    assert problem == f"trace {changed} differs from its copy, trace {changed}, in its rows of the table `{table.name}`"
