"""The tables that the migrations make are the tables that the code speaks of."""

import ast

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from msgspec.structs import replace

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from weaklink.inspector.chain.metrics import TASK_CASES
from weaklink.inspector.errors import StoreError
from weaklink.inspector.model import Outcome
from weaklink.storage import Store, open_store, upgrade_store
from weaklink.storage.database_file import REVISIONS, VERSION_TABLE
from weaklink.storage.engine import new_engine, place_of, writing
from weaklink.storage.schema import SCRIPTS, config, migrate
from weaklink.storage.tables import metadata


def test_every_script_is_known_and_in_order() -> None:
    scripts = ScriptDirectory.from_config(config()).walk_revisions()
    assert tuple(script.revision for script in scripts)[::-1] == REVISIONS


def test_a_migration_stays_what_it_was_when_the_code_changes() -> None:
    for script in (SCRIPTS / "versions").glob("*.py"):
        imports = [
            node for node in ast.walk(ast.parse(script.read_bytes())) if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        named = {
            name for node in imports for name in (getattr(node, "module", None), *(one.name for one in node.names))
        }
        assert named <= {None, "sqlalchemy", "alembic", "op"}, script.name


# The one index on an expression is SQLite's alone and is made by hand, as the text index is.
@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection of expression-based index search_text_times")
def test_migrations_make_the_tables_of_the_code(store: Store) -> None:
    with store._database.engine.connect() as connection:
        ours = {"version_table": VERSION_TABLE, "include_name": _is_ours, "compare_type": True}
        ours["include_object"] = _is_on_both if connection.dialect.name == "postgresql" else None
        assert compare_metadata(MigrationContext.configure(connection, opts=ours), metadata) == []


def _is_ours(name: str | None, _kind: str, _parents: object) -> bool:
    """The text index is made by hand, in each database's own way."""
    return not (name or "").startswith("search_text")


def _is_on_both(made: object, name: str | None, kind: str, _reflected: bool, _other: object) -> bool:
    """PostgreSQL has no foreign key on `trace`, whose rows `delete_traces` deletes, and folds case by expressions."""
    if kind == "index" and "_folded_" in (name or ""):
        return False
    return not (isinstance(made, sa.ForeignKeyConstraint) and made.elements[0].target_fullname == "trace.id")


@pytest.mark.one_in(2)
def test_an_older_database_is_upgraded_with_what_it_holds(database: str) -> None:
    with open_store(database) as store:
        store.save(inspected(trace("a", GOOD_CALL)))
    engine = new_engine(place_of(database))
    for revision in REVISIONS[-2::-1]:
        with writing(engine) as connection:
            command.downgrade(config(connection), revision)
    engine.dispose()
    with pytest.raises(StoreError, match="weaklink db upgrade"):
        open_store(database)
    assert upgrade_store(database) is True
    with open_store(database) as store:
        assert store.trace("a") == trace("a", GOOD_CALL)


_PARTITIONED = (
    *("external_id", "turn", "part", "inspection", "call", "diagnostic", "trace_tool", "trace_code", "argument"),
    *("figures", "violation", "exchange", "search_text"),
)


def _partition(connection: sa.Connection, step: int) -> None:
    """Split the tables by the ids of traces as versions before `v0017` did, with `step` ids to a partition."""
    for name in _PARTITIONED:
        of = f"""'"{name}"'\\:\\:regclass"""
        keys = connection.execute(
            sa.text(f"SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = {of}")
        ).all()
        defined = "SELECT relname, pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
        indexes = connection.execute(sa.text(f"{defined} WHERE indrelid = {of} AND NOT indisprimary")).all()
        statements = [f'ALTER TABLE "{name}" RENAME TO "{name}_old"']
        statements += [f'ALTER TABLE "{name}_old" DROP CONSTRAINT "{key}"' for key, _ in keys]
        statements += [f'DROP INDEX "{index}"' for index, _ in indexes]
        like = f'(LIKE "{name}_old" INCLUDING DEFAULTS INCLUDING STORAGE)'
        statements.append(f'CREATE TABLE "{name}" {like} PARTITION BY RANGE (trace_id)')
        statements += [f'ALTER TABLE "{name}" ADD CONSTRAINT "{key}" {definition}' for key, definition in keys]
        statements += [definition for _, definition in indexes]
        for number in range(3):
            bounds = f"FROM ({number * step or 'MINVALUE'}) TO ({(number + 1) * step})"
            statements.append(f'CREATE TABLE "{name}_p{number}" PARTITION OF "{name}" FOR VALUES {bounds}')
        statements += [f'INSERT INTO "{name}" SELECT * FROM "{name}_old"', f'DROP TABLE "{name}_old"']
        for statement in statements:
            connection.exec_driver_sql(statement)


def test_a_database_with_partitions_is_upgraded_to_plain_tables_with_all_their_rows(postgresql_database: str) -> None:
    with open_store(postgresql_database) as store:
        store.save(inspected(*(trace(name, BAD_CALL) for name in "abcd")))
        store.search.index_pending()
        figures = store.statistics.figures()
    engine = new_engine(place_of(postgresql_database))
    with writing(engine) as connection:
        command.downgrade(config(connection), "v0016")
        _partition(connection, 2)
    with pytest.raises(StoreError, match="weaklink db upgrade"):
        open_store(postgresql_database)
    assert upgrade_store(postgresql_database) is True
    with open_store(postgresql_database) as store:
        test_migrations_make_the_tables_of_the_code(store)
        assert {one.name: store.trace(one.id) for one in store.traces("weather")} == {
            name: trace(name, BAD_CALL) for name in "abcd"
        }
        assert store.statistics.figures() == figures
        assert store.maintenance.check().problems == ()
        store.save(inspected(trace("e", GOOD_CALL)))
        store.search.index_pending()
        assert len(store.traces("weather")) == 5
    with engine.connect() as connection:
        partitions = sa.text("SELECT relname FROM pg_class WHERE relkind = 'p' OR relname ~ '_p[0-9]$'")
        assert connection.scalars(partitions).all() == []
    engine.dispose()


@pytest.mark.one_in(2)
def test_an_older_database_learns_the_projects_of_its_traces(database: str) -> None:
    with open_store(database) as store:
        store.save(inspected(replace(trace("a", GOOD_CALL), project="shop api"), trace("b", GOOD_CALL)))
    engine = new_engine(place_of(database))
    with writing(engine) as connection:
        command.downgrade(config(connection), "v0014")
    engine.dispose()
    assert upgrade_store(database) is True
    with open_store(database) as store:
        assert [one.name for one in store.traces('project:"Shop API"')] == ["a"]
        assert [one.name for one in store.traces("project:shop*")] == ["a"]
        assert [one.name for one in store.traces('project:""')] == ["b"]


@pytest.mark.one_in(2)
def test_an_older_database_learns_what_the_sources_said_of_tasks(database: str) -> None:
    said = {"won": Outcome(reward=1.0), "lost": Outcome(completed=False), "silent": None}
    traces = [replace(trace(name, BAD_CALL if name == "won" else GOOD_CALL), outcome=one) for name, one in said.items()]
    with open_store(database) as store:
        store.save(inspected(*traces))
        made = store.statistics.figures()
    engine = new_engine(place_of(database))
    with writing(engine) as connection:
        command.downgrade(config(connection), "v0007")
    engine.dispose()
    assert upgrade_store(database) is True
    with open_store(database) as store:
        assert [one.name for one in store.traces("outcome:success")] == ["won"]
        assert [one.name for one in store.traces("reward:1")] == ["won"]
        assert [one.name for one in store.traces("outcome:failure")] == ["lost"]
        assert [one.outcome for one in store.traces("outcome:unknown")] == [None]
        assert store.statistics.figures() == made
        assert {name: made[0].tally(name).hits for name in TASK_CASES} == {
            "unbroken_success": 0,
            "unbroken_failure": 1,
            "broken_success": 1,
            "broken_failure": 0,
        }


@pytest.mark.one_in(2)
def test_down_and_up_again_leaves_an_empty_database_that_works(database: str) -> None:
    with open_store(database) as store:
        store.save(inspected(trace("a", GOOD_CALL)))
    engine = new_engine(place_of(database))
    with writing(engine) as connection:
        migrate(connection, "base")
    with engine.connect() as connection:
        assert sa.inspect(connection).get_table_names() == [VERSION_TABLE]
    with writing(engine) as connection:
        migrate(connection, "head")
    engine.dispose()
    with open_store(database) as store:
        assert store.traces() == []
        store.save(inspected(trace("a", GOOD_CALL)))
        assert store.search.index_pending() == 1
