"""A database of each version of the tables, as that version stored it, is read by this weaklink once it is upgraded."""

from pathlib import Path

import click
import msgspec
import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from tests.storage.stored_databases import FOLDER, KINDS, fill, restore_database, store_database, stored_traces
from tests.test_trace_file import structs_in
from weaklink.inspector.errors import StoreError
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.storage import tables
from weaklink.storage import tables as derived_tables
from weaklink.storage.database_file import REVISIONS
from weaklink.storage.packing import derived_values as findings
from weaklink.storage.store import Store, open_store, upgrade_store
from weaklink.ui.cli.database import check
from weaklink.ui.cli.export import export
from weaklink.ui.cli.list_traces import list_traces
from weaklink.ui.cli.show import show
from weaklink.ui.tui.dissector.actions import read_trace
from weaklink.ui.views.dissect.dissection import Dissection

_COUNT = len(stored_traces())


def _kind(database: str) -> str:
    return "postgresql" if "://" in database else "sqlite"


def _run(command: click.Command, *words: str) -> str:
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output


def test_every_version_has_its_stored_databases(database: str, update_goldens: bool) -> None:
    if update_goldens:
        fill(database)
        store_database(_kind(database), REVISIONS[-1], database)
    kept = {path.name for path in FOLDER.iterdir()}
    assert kept == {f"{revision}.{suffix}" for revision in REVISIONS for suffix in KINDS.values()}


@pytest.mark.one_in(12)
@pytest.mark.parametrize("revision", REVISIONS)
def test_a_stored_database_is_read_once_it_is_upgraded(database: str, revision: str, tmp_path: Path) -> None:
    restore_database(_kind(database), revision, database)
    if revision != REVISIONS[-1]:
        with pytest.raises(StoreError, match="older version of weaklink; run `weaklink db upgrade`"):
            open_store(database)
    assert upgrade_store(database) is (revision != REVISIONS[-1])
    with open_store(database) as store:
        _every_trace_is_read(store)
        assert store.traces("note:look")[0].name == "bad"
        assert store.maintenance.check().without_checksums == (_COUNT if revision == "v0006" else 0)
        assert store.maintenance.check().problems == ()
    _every_command_runs(database, tmp_path)
    with open_store(database) as store:
        assert store.maintenance.reinspect(inspect_trace) == _COUNT
        for summary in store.traces():
            trace, inspection = store.inspected(summary.id)
            assert inspection == inspect_trace(trace)
        store.save([(sample, inspect_trace(sample)) for sample in stored_traces()])
        assert len(store.traces()) == _COUNT


def _every_trace_is_read(store: Store) -> None:
    by_name = {trace.name: trace for trace in stored_traces()}
    listed = store.traces()
    assert len(listed) == _COUNT
    for summary in listed:
        assert not summary.damaged
        assert store.trace(summary.id) == by_name[summary.name]
        assert len(Dissection(*store.inspected(summary.id)).inspection.parts) >= 1  # what the dashboard loads
        assert read_trace(store, id=summary.id).dissection.trace.turns[0] == by_name[summary.name].turns[0]


def _every_command_runs(database: str, tmp_path: Path) -> None:
    assert "streamed" in _run(list_traces, "--db", database)
    for number in range(1, _COUNT + 1):
        assert f"trace {number}" in _run(show, str(number), "--db", database)
        assert _run(export, str(number), "--db", database)
    assert "no problem found" in _run(check, "--db", database)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("revision", REVISIONS[: REVISIONS.index("v0020")])
def test_an_upgrade_sorts_traces_without_a_time_by_their_import(database: str, revision: str) -> None:
    restore_database(_kind(database), revision, database)
    engine = sa.create_engine(_url(database))
    with engine.begin() as connection:  # as earlier versions stored it
        connection.execute(sa.text("UPDATE trace SET started_at_s = NULL WHERE name IN ('bad', 'many')"))
        connection.execute(sa.text("UPDATE trace SET imported_at_s = 1790000000.0 + id"))
    engine.dispose()
    upgrade_store(database)
    trace = tables.trace.c
    with open_store(database) as store, store._database.engine.connect() as connection:
        places = dict(connection.execute(sa.select(trace.name, trace.sort_at_s)).all())
        imported = dict(connection.execute(sa.select(trace.name, trace.imported_at_s)).all())
        assert {name for name in places if places[name] == imported[name]} == {"line 1", "bad", "many"}
        assert places["good"] == 1_700_000_000.0
        for table in (derived_tables.trace_code, derived_tables.trace_tool, derived_tables.argument):
            both = sa.select(trace.name, table.c.sort_at_s).join(tables.trace, trace.id == table.c.trace_id)
            sort_times = connection.execute(both).all()
            assert "bad" in {name for name, _ in sort_times}
            assert all(at_s == places[name] for name, at_s in sort_times)


def _url(database: str) -> str:
    return database.replace("postgresql://", "postgresql+psycopg://") if "://" in database else f"sqlite:///{database}"


def test_the_layout_of_inspections_covers_every_struct_that_is_packed_in_order() -> None:
    kinds = {kind.cls for kind in structs_in(msgspec.inspect.type_info(Inspection)) if kind.array_like}
    assert kinds == set(findings._STRUCTS)


@pytest.mark.one_in(2)
def test_an_inspection_in_another_layout_is_made_again_where_it_is_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weaklink.storage.packing.derived_values.LAYOUT", findings.LAYOUT + 1)
    store.save((sample, inspect_trace(sample)) for sample in stored_traces())
    monkeypatch.undo()
    for summary in store.traces():
        trace, inspection = store.inspected(summary.id)
        assert inspection == inspect_trace(trace)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("revision", ["v0001", "v0005"])
def test_a_database_from_before_the_first_release_says_what_to_do(database: str, revision: str) -> None:
    with open_store(database) as store, store._database.engine.begin() as connection:
        connection.execute(sa.text("UPDATE weaklink_version SET version_num = :version"), {"version": revision})
    for opening in (open_store, upgrade_store):
        with pytest.raises(StoreError, match=r"before the first release.*import again"):
            opening(database)


@pytest.mark.one_in(2)
def test_checksums_come_with_the_next_version_of_a_trace(database: str) -> None:
    restore_database(_kind(database), "v0006", database)
    upgrade_store(database)
    longer = stored_traces()[0]
    with open_store(database) as store:
        grown = type(longer)(
            (*longer.turns, longer.turns[0]),
            name=longer.name,
            started=longer.started,
            external_ids=longer.external_ids,
            provenance=longer.provenance,
        )
        store.save([(grown, inspect_trace(grown))])
        with store._database.engine.connect() as connection:
            known = connection.scalars(sa.select(tables.trace.c.name).where(tables.trace.c.turns_checksum.is_not(None)))
            assert list(known) == ["good"]
