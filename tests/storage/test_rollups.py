"""What is kept of blocks of traces never changes an answer, whatever is written before, between and after."""

import ast
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import TypeAlias

import pytest
import sqlalchemy as sa
from alembic import command
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import storage
from benchmarks.postgresql_server import new_database
from inspector.chain.metrics_groups import Aspect, GroupKey
from inspector.errors import StoreError
from inspector.inspected import Inspection
from inspector.inspection import inspect_trace
from inspector.model import Trace
from storage import Store, StoreSink, open_store, tables, upgrade_store
from storage.engine import new_engine, place_of, writing
from storage.maintenance import Retention
from storage.packing.values import GroupSums, pack_sums, unpack_sums
from storage.rollups import ROLLUP_QUERIES, SUMMED, blocks_without_rollups, summed_query
from storage.schema import config
from storage.writing import delete_rows, delete_traces, insert_rows, insert_traces, trace_rows, update_traces
from tests.examples import in_the_gate
from tests.storage.conftest import DATABASES
from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from tests.storage.test_live import events_of

Change: TypeAlias = Callable[[Store, int], None]
DAY_S = 86_400.0
NO_ANSWER = '<tool_call>\n{"name": "get_time", "arguments": {}}\n</tool_call>'
WRONG = '<tool_call>\n{"name": "get_weather", "arguments": [1]}\n</tool_call>'


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of two traces, of two of those, and so on: a few traces are many blocks."""
    monkeypatch.setattr("storage.blocks.SMALLEST", 2)
    monkeypatch.setattr("storage.blocks.FAN", 2)
    monkeypatch.setattr("storage.live._EVERY_S", 1e6)


def made(number: int) -> Trace:
    """One of many traces; those of equal sessions are versions of one."""
    answers = [[GOOD_CALL], [BAD_CALL], [GOOD_CALL, BAD_CALL], [NO_ANSWER, GOOD_CALL], [WRONG], []][number % 6]
    return trace(
        f"s{number % 17}",
        *answers,
        model=("hermes-4", "qwen3", "mo\0del \ud800")[number % 3],
        source=("otel", "openai-messages")[number % 2],
        started_s=None if number % 5 == 0 else DAY_S * (number % 4),
    )


def _assert_same(store: Store) -> None:
    """Every question is answered as by a sum over each trace."""
    with store._database.reading() as connection:
        for question in ROLLUP_QUERIES:
            assert question.answer(summed_query(connection, question)) == question.answer(question.sums(connection)), (
                question
            )


def _pending(store: Store) -> int:
    with store._database.reading() as connection:
        return len(blocks_without_rollups(connection))


@pytest.fixture(scope="module", params=DATABASES)
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store for many examples."""
    with ExitStack() as kept:
        if request.param == "sqlite":
            where = str(tmp_path_factory.mktemp("rollups") / "weaklink.db")
        else:
            where = kept.enter_context(new_database(request.getfixturevalue("postgresql")))
        yield kept.enter_context(open_store(where))


def _save(store: Store, number: int) -> None:
    store.save(inspected(*(made(number * 3 + at) for at in range(number % 4 + 1))))


def _save_otherwise(store: Store, number: int) -> None:
    store.save([(made(number), _inspect_otherwise(made(number)))])


def _inspect_otherwise(kept: Trace) -> Inspection:
    found = inspect_trace(kept)
    return replace(found, diagnostics=(), chain=replace(found.chain, broken=None))


def _delete(store: Store, number: int) -> None:
    ids = [one.id for one in store.traces(limit=100)]
    store.delete(ids[number % len(ids) :][:2] if ids else [])


def _reinspect(store: Store, number: int) -> None:
    ids = [one.id for one in store.traces(limit=100)]
    store.maintenance.reinspect(
        _inspect_otherwise if number % 2 else inspect_trace, ids[number % 7 :: 3] if number % 3 else None
    )


def _prune(store: Store, number: int) -> None:
    store.maintenance.prune(Retention(before_s=DAY_S * (number % 4), keep_broken=number % 2 == 0))


def _record(store: Store, number: int) -> None:
    """A session while it runs, with its end or broken off where a recorder is killed; looked at between its steps."""
    sink = StoreSink(store)
    events = events_of(made(number))
    for at, event in enumerate(events):
        sink.accept(event)
        if at % 3 == number % 3:
            sink.flush()
            _assert_same(store)
            store.statistics.sum_pending(limit=number % 4)
    sink.close()


def _upkeep(store: Store, number: int) -> None:
    for one in store.traces(limit=1):
        store.marks.put(one.id, note="seen")
    store.search.index_pending(limit=number)


def _sum_up(store: Store, number: int) -> None:
    store.statistics.sum_pending(limit=None if number % 2 else number)


_CHANGES: tuple[Change, ...] = (_save, _save_otherwise, _delete, _reinspect, _prune, _record, _upkeep)


@pytest.mark.one_in(2)
@in_the_gate(5, most=15)
@given(st.lists(st.tuples(st.sampled_from([*_CHANGES, _sum_up, _sum_up, _sum_up]), st.integers(0, 40)), max_size=8))
def test_whatever_is_done_answers_are_those_of_a_plain_sum(shared: Store, steps: list[tuple[Change, int]]) -> None:
    shared.delete([one.id for one in shared.traces(limit=1_000)])
    shared.save(inspected(*map(made, range(9))))
    shared.statistics.sum_pending()
    assert _pending(shared) == 0
    for change, number in steps:
        change(shared, number)
        _assert_same(shared)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("change", _CHANGES[:-1])
def test_no_write_leaves_what_it_changed_kept(store: Store, change: Change) -> None:
    store.save(inspected(*map(made, range(9))))
    for number in range(2):
        store.statistics.sum_pending()
        change(store, number)
        _assert_same(store)


def _insert_trace(connection: sa.Connection, at: int) -> None:
    one = trace_rows(*inspected(made(20 + at))[0])
    insert_traces(connection, {one.record.identity: one}, 0.0)


def _update_trace(connection: sa.Connection, at: int) -> None:
    update_traces(connection, [{"trace_id": at, "model": "another", "break_step": 7, "break_outcome": "invalid"}])


def _insert_violation(connection: sa.Connection, at: int) -> None:
    insert_rows(connection, tables.violation, [(at, [{"tool": "new", "path": "", "code": "S201", "times": 3}])])


def _delete_figures(connection: sa.Connection, at: int) -> None:
    delete_rows(connection, [tables.figures], [at])


def _delete_trace(connection: sa.Connection, at: int) -> None:
    delete_traces(connection, [at])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("write", [_insert_trace, _update_trace, _insert_violation, _delete_figures, _delete_trace])
def test_each_way_of_writing_by_itself_forgets_what_it_changed(
    store: Store, write: Callable[[sa.Connection, int], None]
) -> None:
    store.save(inspected(*map(made, range(9))))
    for at in (1, 4, 5):
        store.statistics.sum_pending()
        with writing(store._database.engine) as connection:
            write(connection, at)
        _assert_same(store)


def test_what_is_kept_is_what_is_read(store: Store) -> None:
    store.save(inspected(*map(made, range(9))))
    assert _pending(store) == 5 + 3 + 2 + 1
    assert store.statistics.sum_pending(limit=4) == 4
    assert store.statistics.sum_pending() == 7
    assert store.statistics.sum_pending() == 0
    asked = (
        store.statistics.figures(by=[GroupKey.CODE]),
        store.statistics.breakdown(Aspect.CODE),
        store.statistics.violations(),
    )
    with writing(store._database.engine) as connection:
        for table in SUMMED[1:]:
            connection.execute(sa.delete(table))
    assert (
        store.statistics.figures(by=[GroupKey.CODE]),
        store.statistics.breakdown(Aspect.CODE),
        store.statistics.violations(),
    ) == asked
    assert store.statistics.figures("model:*") == []


def test_only_what_changed_is_summed_up_again(store: Store) -> None:
    saved = store.save(inspected(*map(made, range(9))))
    store.statistics.sum_pending()
    store.delete([saved[1].id])
    assert _pending(store) == 4
    store.marks.put(saved[2].id, note="seen")
    store.search.index_pending()
    assert _pending(store) == 4


def test_what_is_done_after_an_import_leaves_nothing_pending(store: Store) -> None:
    store.save(inspected(*map(made, range(9))))
    assert store.catch_up(limit=6) == 6
    assert store.catch_up(limit=6) == 3
    assert (store.maintenance.stats().not_indexed, _pending(store)) == (0, 11)
    assert store.catch_up(limit=6) == 1
    assert store.catch_up() == 10
    assert store.catch_up() == 0


def test_ids_that_are_gone_are_no_work(store: Store) -> None:
    saved = store.save(inspected(*map(made, range(16))))
    store.delete([one.id for one in saved[:-1]])
    assert _pending(store) == 1
    store.statistics.sum_pending()
    _assert_same(store)
    store.delete([saved[-1].id])
    assert _pending(store) == 0
    _assert_same(store)


def test_an_answer_of_too_many_groups_is_summed_as_ever(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.rollups._MOST_GROUPS", 1)
    store.save(inspected(*map(made, range(9))))
    store.statistics.sum_pending()
    assert _pending(store) == 0
    _assert_same(store)


@pytest.mark.one_in(2)
def test_those_who_sum_up_at_once_and_those_who_write_meanwhile_do_not_disturb_each_other(store: Store) -> None:
    threads = [Thread(target=store.statistics.sum_pending) for _ in range(2)]
    store.save(inspected(*map(made, range(9))))
    for thread in threads:
        thread.start()
    for number in range(4):
        store.save(inspected(made(20 + number)))
        _assert_same(store)
    for thread in threads:
        thread.join()
    _assert_same(store)
    store.statistics.sum_pending()
    _assert_same(store)


def test_a_change_that_is_not_kept_forgets_nothing(store: Store) -> None:
    store.save(inspected(*map(made, range(9))))
    store.statistics.sum_pending()

    def broken_off() -> Iterator[tuple[Trace, Inspection]]:
        yield from inspected(*map(made, range(20, 24)))
        raise ValueError("the source failed")

    with pytest.raises(ValueError, match="the source failed"):
        store.save(broken_off())
    assert _pending(store) == 0


def test_a_damaged_rollup_is_said_to_be_one(store: Store) -> None:
    store.save(inspected(made(1)))
    store.statistics.sum_pending()
    with writing(store._database.engine) as connection:
        connection.execute(sa.update(tables.rollup).values(body=b"\x07"))
    with pytest.raises(StoreError, match="rollup is damaged"):
        store.statistics.figures()


@pytest.mark.one_in(2)
def test_rollups_of_another_meaning_are_not_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.save(inspected(*map(made, range(9))))
    store.statistics.sum_pending()
    asked = store.statistics.figures()
    with writing(store._database.engine) as connection:
        connection.execute(sa.update(tables.rollup).values(body=b"\x07"))
    monkeypatch.setattr("storage.rollups._EDITION", "later")
    assert store.statistics.figures() == asked
    assert store.statistics.sum_pending() == 11
    assert store.statistics.figures() == asked


@pytest.mark.one_in(2)
def test_a_database_that_is_lifted_is_summed_up(database: str) -> None:
    with open_store(database) as store:
        store.save(inspected(*map(made, range(9))))
        asked = store.statistics.figures(by=[GroupKey.MODEL])
    engine = new_engine(place_of(database))
    with writing(engine) as connection:
        connection.execute(sa.delete(tables.rollup))
        command.downgrade(config(connection), "v0006")
    engine.dispose()
    assert upgrade_store(database) is True
    with open_store(database) as store:
        assert _pending(store) == 0
        assert store.statistics.figures(by=[GroupKey.MODEL]) == asked


def test_rows_that_are_summed_are_written_in_one_place() -> None:
    names = {f"tables.{table.name}" for table in SUMMED}
    package = Path(storage.__file__).parent
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("sa.insert", "sa.update", "sa.delete")
        if ast.unparse(node.args[0]) in names
    }
    assert found == {"writing.py"}


_NUMBERS = st.integers(-(2**70), 2**70)


@given(
    st.tuples(st.integers(0, 3), st.integers(1, 4)).flatmap(
        lambda width: st.dictionaries(
            st.tuples(*[st.text(st.characters(codec=None), max_size=3)] * width[0]),
            st.tuples(*[_NUMBERS] * width[1]),
            max_size=5,
        )
    )
)
def test_sums_come_back_as_they_were(sums: GroupSums) -> None:
    assert unpack_sums(pack_sums(sums)) == sums
