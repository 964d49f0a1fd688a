"""A store on each kind of database; the PostgreSQL server is a real one, started here and stopped again.

The tables are created once in a session, on each kind. A store on SQLite is a copy of that database. On PostgreSQL,
where creating tables and copying them takes longer than most tests, tests of stores use one database in turn, which is
emptied behind each.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.postgresql_server import NOT_INSTALLED, new_database, programs, running_server
from tests.storage.emptying import EmptiedDatabase
from tests.storage.templates import put_empty_database
from weaklink.storage.store import Store, open_store

DATABASES = ("sqlite", "postgresql")

NewStore = Callable[[], Store]

# What these test is packed and unpacked by Python, and only carried by the database: PostgreSQL's turn is a slow test.
_OF_PACKING = ("test_round_trip.py", "test_long_sessions.py", "test_long_streams.py", "test_long_traces.py")
# The same for single tests, whose work Python does, or of which another test shows that PostgreSQL does it too.
_REPEATED = (
    "test_a_check_finds_every_changed_column",
    "test_a_damaged_column_is_noticed_and_withholds_nothing_else",
    "test_an_agents_rows_do_not_depend_on_when_they_were_written",
    *(f"test_a_stored_database_is_read_once_it_is_upgraded[postgresql-v{version:04}" for version in range(7, 16)),
    "test_what_could_stand_at_the_end_is_offered",
    "test_a_copy_that_differs_is_a_problem",
    "test_a_session_ends_as_if_it_had_been_saved",
    "test_interleaved_traces_are_told_apart",
    "test_a_copy_reads_as_its_original[postgresql-postgresql",
    "test_what_is_still_recorded_is_left_out[postgresql-postgresql",
    "test_traces_of_the_target_keep_their_ids_and_their_longer_versions[postgresql-postgresql",
    "test_a_copy_reads_as_its_original[postgresql-sqlite",
    "test_damage_is_copied_as_it_is[",
    "test_a_copy_goes_on_where_it_was_interrupted[",
    "test_many_programs_may_open_a_new_database_at_once",
    "test_two_processes_write_while_one_reads",
    "test_a_killed_writer_leaves_everything_committed",
    "test_a_killed_recorder_leaves_its_stream_cut_where_it_was_written",
    "test_the_samples_show_all_that_is_counted",
    "test_each_counted_value_finds_the_traces_that_it_counts",
    "test_a_scan_and_the_edges_of_pages_agree",
    "test_pages_of_a_filter_follow_each_other",
    "test_the_rows_of_any_turns_do_not_depend_on_when_they_were_written",
    "test_a_database_counts_breaks_as_python_does",
    "test_vacuum_gives_room_back",
    "test_a_share_of_what_did_not_break_is_kept_the_same_one_every_time",
    "test_a_saved_trace_without_a_time_comes_before_older_ones",
    "test_no_moment_finds_a_trace_without_a_time",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what PostgreSQL would only repeat."""
    for item in items:
        is_repeated = item.path.name in _OF_PACKING or item.name.startswith(_REPEATED)
        if is_repeated and "postgresql" in item.name.partition("[")[2]:
            item.add_marker(pytest.mark.slow)


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
    if "://" not in database:
        put_empty_database(Path(database))
    with open_store(database) as opened:
        yield opened


@pytest.fixture(scope="module", params=DATABASES)
def new_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewStore]:
    """Makes an empty store, which lasts for a module: for tests that only read what a fixture of theirs saved once."""
    with ExitStack() as opened:

        def new() -> Store:
            if request.param == "sqlite":
                where = str(tmp_path_factory.mktemp("store") / "weaklink.db")
            else:
                where = opened.enter_context(new_database(request.getfixturevalue("postgresql")))
            return opened.enter_context(open_store(where))

        yield new


@pytest.fixture
def postgresql_database(postgresql: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty database, with the tables where the test has a store in it."""
    if "store" in request.fixturenames:
        with request.getfixturevalue("emptied").lent() as url:
            yield url
    else:
        with new_database(postgresql) as url:
            yield url


@pytest.fixture(scope="session")
def emptied(postgresql: str) -> Iterator[EmptiedDatabase]:
    """A database that tests of stores use one after the other."""
    with EmptiedDatabase(postgresql) as made:
        yield made


@pytest.fixture(scope="module")
def postgresql_database_of_module(postgresql: str) -> Iterator[str]:
    """The URL of a database that the tests of a module share."""
    with new_database(postgresql) as url:
        yield url


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a running server, without a database's name."""
    folder = programs()
    if folder is None:
        pytest.skip(NOT_INSTALLED)
    with running_server(folder) as url:
        yield url
