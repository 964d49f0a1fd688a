"""Escapes from the SQL console: a corpus for each database, none of which may read or do anything."""

import json
import re
import sqlite3
from contextlib import closing

import psycopg
import pytest
from sqlalchemy.dialects import postgresql, sqlite

from tests.storage.escapes import POSTGRESQL, POSTGRESQL_SHADOWED, SQLITE, SQLITE_SHADOWED
from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from weaklink.inspector.errors import StoreError
from weaklink.storage.console import ask
from weaklink.storage.console.sql_executor import _allowed, _selects
from weaklink.storage.console.statement_reader import SqlRequest, reply_to
from weaklink.storage.engine import DatabaseLocation, location_of
from weaklink.storage.store import open_store


@pytest.fixture(scope="module")
def sqlite_place(tmp_path_factory: pytest.TempPathFactory) -> DatabaseLocation:
    location = location_of(tmp_path_factory.mktemp("console") / "w.db")
    _fill(str(location))
    return location


@pytest.fixture(scope="module")
def postgresql_place(postgresql_database_of_module: str) -> DatabaseLocation:
    _fill(postgresql_database_of_module)
    with psycopg.connect(postgresql_database_of_module) as connection:
        for statement in (
            "CREATE FUNCTION lower(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT name FROM public.part LIMIT 1'",
            "CREATE FUNCTION first_part(text) RETURNS text LANGUAGE sql AS 'SELECT name FROM public.part LIMIT 1'",
            "CREATE FUNCTION before(text, text) RETURNS bool LANGUAGE sql AS 'SELECT count(*) > 0 FROM public.part'",
            "CREATE OPERATOR <<< (LEFTARG = text, RIGHTARG = text, FUNCTION = before)",
            "CREATE DOMAIN part_name AS text CHECK (public.first_part(VALUE) IS NOT NULL)",
        ):
            connection.execute(statement.encode())
    return location_of(postgresql_database_of_module)


def _fill(where: str) -> None:
    with open_store(where) as store:
        store.save(inspected(trace("good", GOOD_CALL), trace("bad", BAD_CALL)))
        store.search.index_pending()
        store.marks.put("good", note="keep")


def _request(database_location: DatabaseLocation, statement: str) -> SqlRequest:
    return SqlRequest(
        path=str(database_location.path),
        views=_selects(sqlite),
        allowed=_allowed(),
        statement=statement,
        rows=10,
        value_bytes=1000,
        total_bytes=10_000,
        seconds=5.0,
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("statement", [*SQLITE, *SQLITE_SHADOWED])
def test_sqlite_lets_nothing_out(sqlite_place: DatabaseLocation, statement: str) -> None:
    before = sqlite_place.path.read_bytes() if sqlite_place.path else b""
    reply = reply_to(_request(sqlite_place, statement))
    assert "refused" in reply, json.dumps(reply)
    assert "rows" not in reply
    assert sqlite_place.path is not None
    assert sqlite_place.path.read_bytes() == before


@pytest.mark.one_in(4)
@pytest.mark.parametrize("statement", [*POSTGRESQL, *POSTGRESQL_SHADOWED])
def test_postgresql_lets_nothing_out(postgresql_place: DatabaseLocation, statement: str) -> None:
    with pytest.raises(StoreError) as refused:
        ask(postgresql_place, statement)
    assert str(refused.value)


def test_the_postgresql_database_is_as_it_was(postgresql_place: DatabaseLocation) -> None:
    assert ask(postgresql_place, "SELECT count(*) FROM traces").rows == ((2,),)
    assert ask(postgresql_place, "SELECT note FROM marks").rows == (("keep",),)


def test_the_corpora_are_large_and_none_comes_twice() -> None:
    for corpus, shadowed in ((SQLITE, SQLITE_SHADOWED), (POSTGRESQL, POSTGRESQL_SHADOWED)):
        assert len(set(corpus)) == len(corpus) > 80
        assert len(shadowed) > 50


def test_what_is_refused_on_sqlite_would_run_without_restrictions(sqlite_place: DatabaseLocation) -> None:
    """Or fails for another reason than that it cannot be understood."""
    assert sqlite_place.path is not None
    failed = []
    for statement in [*SQLITE, *SQLITE_SHADOWED]:
        with closing(sqlite3.connect(f"file:{sqlite_place.path}?mode=ro", uri=True)) as connection:
            connection.text_factory = bytes  # packed columns are no UTF-8
            for name, select in _selects(sqlite).items():
                connection.execute(f"CREATE TEMP VIEW {name} AS {select}")
            try:
                connection.execute(statement).fetchmany(5)
            except (sqlite3.Error, sqlite3.Warning) as error:
                failed.append(str(error))
    reasons = (
        *("attempt to write a readonly database", "You can only execute one statement at a time", "no such function"),
        *("not authorized", "SQL logic error", "malformed JSON", "sub-select returns"),
    )
    assert [statement for statement in failed if not statement.startswith(reasons)] == []
    assert len(failed) < 25


@pytest.mark.slow
def test_what_is_refused_on_postgresql_would_run_without_restrictions(postgresql_place: DatabaseLocation) -> None:
    """Or fails for another reason than that it cannot be understood."""
    url = postgresql_place.url.set(drivername="postgresql").render_as_string(hide_password=False)
    failed = []
    for statement in [*POSTGRESQL, *POSTGRESQL_SHADOWED]:
        if statement.startswith("SELECT 1;"):
            continue
        with psycopg.connect(url) as connection:
            for name, select in _selects(postgresql).items():
                connection.execute(f"CREATE TEMP VIEW {name} AS {select}".encode())
            connection.execute("SET TRANSACTION READ ONLY")
            try:
                connection.execute(statement.encode()).fetchmany(5)
            except psycopg.Error as error:
                failed.append(str(error).splitlines()[0])
            connection.rollback()
    reasons = (
        r"does not exist|read-only transaction|is not an index|not yet defined|there is no parameter|can only be called"
    )
    assert [statement for statement in failed if not re.search(reasons, statement)] == []
    assert len(failed) < 30
