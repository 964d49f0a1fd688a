"""A store on each kind of database; the PostgreSQL server is a real one, started here and stopped again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.postgresql_server import NOT_INSTALLED, new_database, programs, running_server
from storage import Store, open_store

DATABASES = ("sqlite", "postgresql")


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new, empty database may be made, on SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        return str(tmp_path / "weaklink.db")
    made: str = request.getfixturevalue("postgresql_database")
    return made


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An empty store."""
    with open_store(database) as opened:
        yield opened


@pytest.fixture
def postgresql_database(postgresql: str) -> Iterator[str]:
    """The URL of an empty database, which is dropped at the end."""
    with new_database(postgresql) as url:
        yield url


@pytest.fixture(scope="module")
def postgresql_database_of_module(postgresql: str) -> Iterator[str]:
    """The URL of a database that the tests of a module share."""
    with new_database(postgresql) as url:
        yield url


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a running server, without a database's name."""
    found = programs()
    if found is None:
        pytest.skip(NOT_INSTALLED)
    with running_server(found) as url:
        yield url
