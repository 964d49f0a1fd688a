"""An upgraded database has the tables of a new one, and what was in it."""

import ast
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from msgspec.structs import replace

from tests.storage.samples import GOOD_CALL, inspected, trace
from tests.storage.stored_databases import restore_database, stored_traces
from weaklink.inspector.errors import StoreError
from weaklink.inspector.model import Outcome
from weaklink.storage import migrations, tables
from weaklink.storage.database_file import REVISIONS, VERSION_TABLE
from weaklink.storage.engine import location_of, new_engine, writing
from weaklink.storage.migrations import UPGRADE_STEPS
from weaklink.storage.schema import _fill_in_facts
from weaklink.storage.store import Store, open_store, upgrade_store
from weaklink.storage.tables import metadata


def test_every_step_is_to_a_known_version_and_in_order() -> None:
    assert list(UPGRADE_STEPS) == [version for version in REVISIONS[1:] if version != "v0009"]


def test_a_step_stays_what_it_was_when_the_code_changes() -> None:
    nodes = ast.walk(ast.parse(Path(migrations.__file__).read_bytes()))
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert modules == {"collections.abc", "alembic.operations"}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("revision", REVISIONS)
def test_an_upgraded_database_has_the_tables_of_a_new_one(database: str, revision: str) -> None:
    restore_database("postgresql" if "://" in database else "sqlite", revision, database)
    upgrade_store(database)
    with open_store(database) as store:
        _check_tables(store)


def _check_tables(store: Store) -> None:
    with store._database.engine.connect() as connection:
        ours = {"version_table": VERSION_TABLE, "include_name": _is_ours, "compare_type": True}
        ours["include_object"] = _is_on_both if connection.dialect.name == "postgresql" else None
        assert compare_metadata(MigrationContext.configure(connection, opts=ours), metadata) == []


def _is_ours(name: str | None, _kind: str, _parents: object) -> bool:
    """The text index and the index of names are made by hand, in each database's own way."""
    return not (name or "").startswith(("search_text", "ix_trace_folded_name"))


def _is_on_both(made: object, _name: str | None, _kind: str, _reflected: bool, _other: object) -> bool:
    """PostgreSQL has no foreign key on `trace`, whose rows `delete_traces` deletes."""
    return not (isinstance(made, sa.ForeignKeyConstraint) and made.elements[0].target_fullname == "trace.id")


_PARTITIONS = sa.text("SELECT relname FROM pg_class WHERE relkind = 'p' OR relname ~ '_p[0-9]+$'")


def test_a_database_with_partitions_is_upgraded_to_plain_tables_with_all_their_rows(postgresql_database: str) -> None:
    restore_database("postgresql", "v0016", postgresql_database)
    engine = new_engine(location_of(postgresql_database))
    with engine.connect() as connection:
        assert len(connection.scalars(_PARTITIONS).all()) > 13
    with pytest.raises(StoreError, match="weaklink db upgrade"):
        open_store(postgresql_database)
    assert upgrade_store(postgresql_database) is True
    with open_store(postgresql_database) as store:
        _check_tables(store)
        expected = {stored.name: stored for stored in stored_traces()}
        assert {summary.name: store.trace(summary.id) for summary in store.traces()} == expected
        assert store.maintenance.check().problems == ()
        store.save(inspected(trace("e", GOOD_CALL)))
        store.search.index_pending()
        assert len(store.traces()) == len(expected) + 1
    with engine.connect() as connection:
        assert connection.scalars(_PARTITIONS).all() == []
    engine.dispose()


@pytest.mark.one_in(2)
def test_an_older_database_learns_the_projects_of_its_traces_and_what_the_sources_said_of_tasks(database: str) -> None:
    said = {"won": Outcome(reward=1.0), "lost": Outcome(completed=False), "silent": None}
    traces = [replace(trace(name, GOOD_CALL), outcome=outcome) for name, outcome in said.items()]
    with open_store(database) as store:
        store.save(inspected(replace(traces[0], project="shop api"), *traces[1:]))
        with writing(store._database.engine) as connection:
            connection.execute(sa.text("UPDATE trace SET project = '', outcome = 'unknown', reward = NULL"))
            _fill_in_facts(connection)
    with open_store(database) as store:
        for words, names in {
            'project:"Shop API"': {"won"},
            "project:shop*": {"won"},
            'project:""': {"lost", "silent"},
            "outcome:success": {"won"},
            "reward:1": {"won"},
            "outcome:failure": {"lost"},
            "outcome:unknown": {"silent"},
        }.items():
            assert {summary.name for summary in store.traces(words)} == names, words


@pytest.mark.one_in(2)
@pytest.mark.parametrize("is_success", [0, 1])
def test_an_older_database_compares_tasks_with_chains(database: str, is_success: int) -> None:
    restore_database("postgresql" if "://" in database else "sqlite", "v0007", database)
    engine = new_engine(location_of(database))
    with writing(engine) as connection:
        connection.execute(sa.text(f"UPDATE figures SET is_judged = 1, is_judged_success = {is_success}"))
    engine.dispose()
    upgrade_store(database)
    with open_store(database) as store, store._database.engine.connect() as connection:
        for row in connection.execute(sa.select(tables.figures)).mappings():
            is_unbroken = row["is_ok"] + row["is_recovered"]
            assert row["is_unbroken_success"] == is_unbroken * is_success
            assert row["is_unbroken_failure"] == is_unbroken * (1 - is_success)
            assert row["is_broken_success"] == row["is_broken"] * is_success
            assert row["is_broken_failure"] == row["is_broken"] * (1 - is_success)
            assert row["is_unknown"] == 0
