"""A user's own SQL: what it reads, and what it cannot do."""

from collections.abc import Callable

import pytest

from inspector.errors import StoreError
from storage import Store, open_store
from storage.console import VIEWS, ask
from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace

Where = Callable[[], str]


@pytest.fixture
def filled(store: Store) -> Store:
    store.save(inspected(trace("good", GOOD_CALL), trace("bad", BAD_CALL, model="hermes%4")))
    return store


def test_every_view_reads_and_has_its_documented_columns(filled: Store) -> None:
    for view in VIEWS:
        answer = ask(filled.place, f"SELECT * FROM {view.name}")
        assert answer.columns == tuple(column.name for column in view.columns)
    assert ask(filled.place, "SELECT count(*) FROM traces").rows == ((2,),)


def test_views_join_and_texts_may_hold_a_percent_sign(filled: Store) -> None:
    statement = """
    WITH wrong AS (SELECT trace_id, code FROM diagnostics WHERE severity = 'error') -- the errors
    SELECT name, code FROM traces JOIN wrong ON wrong.trace_id = traces.id WHERE model LIKE 'hermes%%' OR model = 'a;b';
    """
    answer = ask(filled.place, statement)
    assert {row[0] for row in answer.rows} == {"bad"}


def test_more_rows_than_asked_for_are_told(filled: Store) -> None:
    answer = ask(filled.place, "SELECT id FROM traces ORDER BY id", limit=1)
    assert (len(answer.rows), answer.is_cut) == (1, True)


@pytest.mark.parametrize(
    "statement",
    [
        "",
        "-- nothing",
        "DELETE FROM traces",
        "PRAGMA writable_schema = 1",
        "ATTACH 'other.db' AS other",
        "SELECT 1; DELETE FROM trace",
        "SELECT load_extension('x')",
        "SELECT writefile('x', 'y')",
        "SELECT * FROM trace",
        "SELECT * FROM part",
        "SELECT * FROM sqlite_master",
        'SELECT * FROM "public"."trace"',
        'SELECT * FROM U&"publ\\0069c".trace',
        "SELECT * FROM pragma_table_info('trace')",
        "SELECT sql FROM temp.sqlite_master",
        "WITH gone AS (DELETE FROM trace RETURNING id) SELECT * FROM gone",
        "SELECT * FROM public.trace",
        "SELECT pg_read_file('/etc/passwd')",
        'SELECT "pg_sleep"(1)',
        "SELECT set_config('role', 'none', false)",
        "SELECT * FROM information_schema.tables",
        "SELECT $$a$$",
        "SELEC 1",
        "SELECT * FROM nowhere",
        "VALUES (1",
    ],
)
def test_nothing_but_reading_the_views_is_done(filled: Store, statement: str) -> None:
    with pytest.raises(StoreError) as refused:
        ask(filled.place, statement)
    assert str(refused.value)
    assert ask(filled.place, "SELECT count(*) FROM traces").rows == ((2,),)


def test_a_statement_that_never_ends_is_stopped_and_says_so(filled: Store) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(StoreError, match=r"took longer|statement timeout"):
        ask(filled.place, endless, seconds=0.2)


def test_the_views_leave_nothing_behind(filled: Store) -> None:
    ask(filled.place, "SELECT 1")
    with open_store(
        str(filled.place) if filled.place.path else filled.place.url.render_as_string(False), create=False
    ) as again:
        assert len(again.traces()) == 2
