"""A check of a whole database, and a copy of one that is in use."""

import stat
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from weaklink.inspector.capture.events import TurnEnded
from weaklink.inspector.errors import StoreError
from weaklink.inspector.inspection import inspect_trace
from weaklink.storage import tables
from weaklink.storage.live import StoreSink
from weaklink.storage.maintenance import Retention
from weaklink.storage.store import Store, open_store


@pytest.fixture
def filled(store: Store) -> Store:
    store.save(
        inspected(
            trace("a", GOOD_CALL, BAD_CALL, started_s=-0.0),
            trace("b", '<tool_call>\n{"name": "get_weather", "arguments": {"city": 3, "n": 2.5}}\n</tool_call>'),
            trace("c", "no call\0\ud800\x1a", words=""),
        )
    )
    store.search.index_pending()
    return store


def test_a_database_as_it_was_written_has_no_problem(filled: Store) -> None:
    advanced: list[int] = []
    check = filled.maintenance.check(advanced.append)
    assert check.problems == ()
    assert (check.traces, check.turns, check.toolsets) == (3, 7, 1)
    assert (check.without_checksums, check.outdated) == (0, 0)
    assert advanced == [1, 1, 1]


def test_what_was_recorded_live_has_no_problem(store: Store) -> None:
    with_calls = trace("live", GOOD_CALL, BAD_CALL, GOOD_CALL, started_s=5.0)
    sink = StoreSink(store)
    for number, turn in enumerate(with_calls.turns, 1):
        sink.accept(TurnEnded("key", number, turn))
        sink.flush()
        assert store.maintenance.check().problems == ()
    sink.close()
    assert store.maintenance.check().problems == ()


_CHANGES: list[tuple[sa.Column[Any], Any]] = [
    (tables.trace.c.name, "another"),
    (tables.trace.c.status, "ok!"),
    (tables.trace.c.errors, 77),
    (tables.trace.c.derived_checksum, 5),
    (tables.trace.c.turns_checksum, None),
    (tables.turn.c.answered_model, "another"),
    (tables.turn.c.role, "system"),
    (tables.turn.c.input_tokens, 99),
    (tables.turn.c.facts, b"\1damaged"),
    (tables.part.c.name, "another"),
    (tables.part.c.text, b"\x3c\0\0\0\0changed"),
    (tables.external_id.c.value, "another"),
    (tables.call.c.name, "another"),
    (tables.call.c.outcome, "ok?"),
    (tables.diagnostic.c.start, 7_777),
    (tables.trace_tool.c.calls, 99),
    (tables.trace_code.c.diagnostics, 99),
    (tables.argument.c.value, "another"),
    (tables.figures.c.calls, 99),
    (tables.inspection.c.body, b"\x3c\0\0\0\0changed"),
    (tables.inspection.c.digest, b"another"),
    (tables.tool.c.body, b"\x3c\0\0\0\0changed"),
    (tables.toolset.c.hash, b"another"),
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("column", "value"), _CHANGES, ids=[str(column) for column, _ in _CHANGES])
def test_a_check_finds_every_changed_column(filled: Store, column: sa.Column[Any], value: Any) -> None:
    with filled._database.engine.begin() as connection:
        keys = list(column.table.primary_key.columns)
        row = connection.execute(sa.select(*keys)).first()
        assert row is not None
        where = [key == part for key, part in zip(keys, row, strict=True)]
        connection.execute(sa.update(column.table).where(*where).values({column.name: value}))
    assert filled.maintenance.check().problems != ()


def test_a_missing_row_is_found(filled: Store) -> None:
    for table in (tables.inspection, tables.argument, tables.call, tables.external_id, tables.part, tables.turn):
        with filled._database.engine.begin() as connection:
            connection.execute(sa.delete(table).where(table.c.trace_id == 1))
        assert filled.maintenance.check().problems
        assert len(filled.inspected(1)[0].turns) in (0, 3)


def test_a_damaged_trace_is_marked_in_lists_and_the_others_are_as_they_were(filled: Store) -> None:
    before = {summary.name: summary for summary in filled.traces()}
    with filled._database.engine.begin() as connection:
        connection.execute(sa.update(tables.trace).where(tables.trace.c.id == 2).values(errors=12))
    by_id = {summary.id: summary for summary in filled.traces()}
    assert [id_ for id_, summary in by_id.items() if summary.damaged] == [2]
    assert by_id[1] == before["a"]
    assert filled.trace("b") == trace("b", *[part.text for turn in filled.trace("b").turns[1:] for part in turn.parts])


def test_a_damaged_trace_does_not_keep_the_others_from_being_searched_and_inspected(filled: Store) -> None:
    damage = sa.update(tables.part).where(tables.part.c.trace_id == 1).values(text=b"\x3c\0\0\0\0changed")
    with filled._database.engine.begin() as connection:
        connection.execute(damage)
    assert [hit.trace.name for hit in filled.search.find("weather").hits] == ["b", "a"]
    with pytest.raises(StoreError, match="trace 1 is damaged"):
        filled.maintenance.reinspect(inspect_trace)
    skipped: list[StoreError] = []
    assert filled.maintenance.reinspect(inspect_trace, on_damaged=skipped.append) == 2
    assert ["trace 1 is damaged" in str(item) for item in skipped] == [True]


def test_a_damaged_inspection_is_computed_again_and_says_how_it_is_stored(filled: Store) -> None:
    with filled._database.engine.begin() as connection:
        connection.execute(sa.update(tables.inspection).values(body=b"\x3c\0\0\0\0changed"))
    read, inspection = filled.inspected(1)
    (warning,) = read.provenance.warnings
    assert "The stored inspection is damaged" in warning
    assert "`weaklink db repair 1` stores the new one" in warning
    assert inspection == inspect_trace(filled.trace(1))
    assert filled.maintenance.reinspect(inspect_trace, ["a"]) == 1
    assert filled.inspected(1) == (filled.trace(1), inspect_trace(filled.trace(1)))


def test_a_file_with_a_broken_index_has_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "w.db"
    with open_store(path) as store:
        store.save(inspected(trace("a", GOOD_CALL)))
        with store._database.engine.begin() as connection:
            connection.exec_driver_sql("PRAGMA writable_schema = ON")
            connection.exec_driver_sql(
                "UPDATE sqlite_master SET sql = 'CREATE INDEX ix_trace_tokens ON trace (turns)' "
                "WHERE name = 'ix_trace_tokens'"
            )
    with open_store(path, read_only=True) as store:
        assert any("ix_trace_tokens" in problem for problem in store.maintenance.check().problems)


def test_a_copy_is_the_database_while_it_is_written(tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with open_store(tmp_path / "w.db") as store:
        store.save(inspected(trace("a", GOOD_CALL)))
        with open_store(tmp_path / "w.db", read_only=True) as reader:
            reader.maintenance.back_up(copy)
        store.save(inspected(trace("b", GOOD_CALL)))
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "w.db"]
    with open_store(copy) as copied:
        assert [summary.name for summary in copied.traces()] == ["a"]
        assert copied.maintenance.check().problems == ()


def test_a_copy_never_takes_the_place_of_a_file(tmp_path: Path) -> None:
    with open_store(tmp_path / "w.db") as store:
        with pytest.raises(StoreError, match="the file already exists"):
            store.maintenance.back_up(tmp_path / "w.db")
        with pytest.raises(StoreError, match="cannot write the copy"):
            store.maintenance.back_up(tmp_path / "none" / "copy.db")


def test_a_database_on_a_server_names_the_tool_that_copies_it(postgresql_database: str, tmp_path: Path) -> None:
    with open_store(postgresql_database) as store, pytest.raises(StoreError, match="pg_dump"):
        store.maintenance.back_up(tmp_path / "copy.db")


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_rows_of_no_trace_are_a_problem(store: Store) -> None:
    """PostgreSQL has no foreign keys to `trace`."""
    zeros = {column.name: 0 for column in tables.figures.c if column.name != "trace_id"}
    with store._database.writing() as connection:
        connection.execute(sa.insert(tables.figures), {"trace_id": 77, **zeros})
        connection.execute(sa.insert(tables.live), {"trace_id": 78, "owner": "host 1 x", "beat_at_s": 0.0})
    assert store.maintenance.check().problems == (
        "1 row of the table `figures` refers to traces that do not exist",
        "1 row of the table `live` refers to traces that do not exist",
    )
    assert store.recover() == 0
    assert store.maintenance.prune(Retention(1.0)) == 0
