"""A user's own SQL: what it reads, and what it cannot do."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.storage.conftest import NewStore
from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from weaklink.inspector.errors import StoreError
from weaklink.storage.console import VIEWS, ask
from weaklink.storage.store import Store, open_store

Where = Callable[[], str]


@pytest.fixture(scope="module")
def filled(new_store: NewStore) -> Store:
    """Two traces; no test here changes them."""
    store = new_store()
    store.save(inspected(trace("good", GOOD_CALL), trace("bad", BAD_CALL, model="hermes%4")))
    return store


@pytest.fixture(scope="module")
def filled_postgresql(postgresql_database_of_module: str) -> Iterator[Store]:
    """The same on PostgreSQL alone."""
    with open_store(postgresql_database_of_module) as store:
        store.save(inspected(trace("good", GOOD_CALL), trace("bad", BAD_CALL, model="hermes%4")))
        yield store


def test_every_view_reads_and_has_its_documented_columns(filled: Store) -> None:
    for view in VIEWS:
        answer = ask(filled.location, f"SELECT * FROM {view.name}")
        assert answer.columns == tuple(column.name for column in view.columns)
    assert ask(filled.location, "SELECT count(*) FROM traces").rows == ((2,),)


def test_views_join_and_texts_may_hold_a_percent_sign(filled: Store) -> None:
    statement = """
    WITH wrong AS (SELECT trace_id, code FROM diagnostics WHERE severity = 'error') -- the errors
    SELECT name, code FROM traces JOIN wrong ON wrong.trace_id = traces.id WHERE model LIKE 'hermes%%' OR model = 'a;b';
    """
    answer = ask(filled.location, statement)
    assert {row[0] for row in answer.rows} == {"bad"}


def test_more_rows_than_asked_for_are_noted(filled: Store) -> None:
    answer = ask(filled.location, "SELECT id FROM traces ORDER BY id", limit=1)
    assert len(answer.rows) == 1
    assert answer.notes == ("There are more rows; only the first 1 are shown. Use LIMIT to choose which.",)
    assert ask(filled.location, "SELECT id FROM traces ORDER BY id", limit=2).notes == ()


_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {most}) "


def _long(store: Store, length: int) -> str:
    """An expression that makes a text of so many characters."""
    if store.location.path:
        return f"printf('%.*c', {length}, 'ä')"
    if length <= 50_000:  # a statement has at most 100,000 characters
        return f"'{'ä' * length}'"
    return f"(SELECT left(t || t, {length}) FROM (VALUES ('{'ä' * (length // 2)}')) AS v(t))"


def test_a_long_value_is_cut_and_noted(filled: Store) -> None:
    answer = ask(filled.location, f"SELECT 1, {_long(filled, 60_000)}, {_long(filled, 50_000)}")
    ((_, cut, whole),) = answer.rows
    assert isinstance(cut, str)
    assert isinstance(whole, str)
    assert len(cut.encode()) == 100_000 + len("…".encode())
    assert cut.endswith("ä…")
    assert whole == "ä" * 50_000
    assert answer.notes == ("Values of more than 100,000 bytes are truncated (1 in this result).",)


def test_no_more_than_ten_megabytes_are_given_and_the_rest_is_noted(filled: Store) -> None:
    answer = ask(filled.location, f"{_NUMBERS.format(most=900)} SELECT i, {_long(filled, 50_000)} FROM n")
    assert len(answer.rows) == 99  # of 100,008 bytes each
    assert answer.notes == ("The result is larger than 10 MB; only its first 99 rows are shown.",)


def test_more_columns_than_a_table_shows_are_refused(filled: Store) -> None:
    assert len(ask(filled.location, f"SELECT {', '.join(map(str, range(100)))}").columns) == 100
    with pytest.raises(StoreError, match="columns"):
        ask(filled.location, f"SELECT {', '.join(map(str, range(101)))}")


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM traces AS t JOIN calls AS c ON c.trace_id = t.id",
        "WITH traces AS (SELECT 1 AS n) SELECT n FROM traces",
        "WITH calls AS (SELECT * FROM traces) SELECT name FROM calls",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT sum(i) FROM n",
        "WITH x AS (SELECT 1 AS n) SELECT count(*) FROM x",
        "SELECT tool, row_number() OVER (PARTITION BY tool ORDER BY start) FROM calls",
        "SELECT status, count(*), sum(errors), avg(turns) FROM traces GROUP BY status HAVING count(*) > 0",
        "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v",
        'SELECT "end" - start AS length FROM diagnostics ORDER BY 1',
        "SELECT id FROM traces WHERE id IN (SELECT trace_id FROM diagnostics WHERE code LIKE 'J1%')",
        "SELECT upper(name) || lower(status), length(name), coalesce(abort_reason, '-'), round(1.5) FROM traces",
        "SELECT CASE WHEN errors > 0 THEN 'bad' ELSE 'good' END FROM traces UNION SELECT role FROM turns",
        "SELECT id FROM traces t WHERE NOT EXISTS (SELECT 1 FROM calls c WHERE c.trace_id = t.id AND NOT c.valid)",
        "(SELECT 1)",
        'SELECT 1, 1 AS "?column?", \'a\' AS "a b"',
        "SELECT 'a;b', 'pg_class', ':relid 99' AS \":relid 99\" -- the end",
        "SELECT max(started_at), min(imported_at), CAST(id AS TEXT), CURRENT_TIMESTAMP FROM traces GROUP BY id;",
    ],
)
def test_what_reads_the_views_runs(filled: Store, statement: str) -> None:
    if statement == "(SELECT 1)" and filled.location.path:
        return  # SQLite has no such statement
    ask(filled.location, statement)


def test_functions_of_json_are_there_on_sqlite(tmp_path: Path) -> None:
    with open_store(tmp_path / "w.db") as store:
        assert ask(store.location, "SELECT value FROM json_each('[1, 2]')").rows == ((1,), (2,))


@pytest.mark.parametrize("statement", ["SELECT 'a\0b'", "SELECT '\ud800'", f"SELECT {'1' * 100_001}"])
def test_texts_that_are_no_sql_are_refused(filled: Store, statement: str) -> None:
    with pytest.raises(StoreError):
        ask(filled.location, statement)


_DOUBLED = "(SELECT t || t AS t FROM " * 30 + "(SELECT name AS t FROM traces) AS s0" + ")  AS s" * 30
_HUGE = (
    "SELECT repeat('a', 500000000)",
    "SELECT length(repeat('a', 500000000))",
    "SELECT array_fill(1, ARRAY[200000000])",
    "SELECT cardinality(array_fill(1, ARRAY[10000, 10000]))",
    "SELECT lpad('a', 500000000), rpad('a', 500000000)",
    "SELECT replace(replace('aaaaaaaaaa', 'a', name), 'a', name) FROM traces",
    "SELECT regexp_replace(name, '.', name, 'g') FROM traces",
    "SELECT overlay(name PLACING name FROM 1) FROM traces",
    "SELECT format('%500000000s', 'a')",
    "SELECT concat(name, name, name) FROM traces",
    "SELECT count(*) FROM generate_series(1, 1000000000)",
    "SELECT string_agg(i::text, ',') FROM generate_series(1, 1000000000) AS i",
    "SELECT string_agg(a.name, b.name) FROM traces a, traces b, turns c, turns d, turns e",
    "SELECT array_agg(a.name) FROM traces a, traces b, turns c",
    "SELECT json_agg(a) FROM traces a, traces b",
    "SELECT jsonb_object_agg(a.name, b.name) FROM traces a, traces b",
    "SELECT to_json(to_json(name)::text) FROM traces",
    "SELECT '[1e131071]'::jsonb::text",
    "SELECT 'a'::char(10000000)",
    "SELECT encode(convert_to(name, 'UTF8'), 'hex') FROM traces",
    "SELECT quote_literal(quote_literal(name)) FROM traces",
    "SELECT ARRAY[name, name, name]::text FROM traces",
    "SELECT 1 FROM traces WHERE 'a' = ANY(ARRAY[name, name || name])",
    "SELECT ROW(name, name)::text FROM traces",
    "SELECT t::text FROM traces AS t",
    "SELECT string_to_array(name, NULL) FROM traces",
    "WITH RECURSIVE r(t) AS (SELECT 'a' UNION ALL SELECT t || t FROM r) SELECT length(t) FROM r",
    "WITH RECURSIVE r(t) AS (SELECT 'a' UNION ALL SELECT textcat(t, t) FROM r) SELECT length(t) FROM r",
    f"SELECT length(t) FROM {_DOUBLED}",
)


@pytest.mark.parametrize("statement", _HUGE)
def test_postgresql_builds_no_value_from_nothing(filled_postgresql: Store, statement: str) -> None:
    with pytest.raises(StoreError) as refused:
        ask(filled_postgresql.location, statement)
    assert re.search(r"is not allowed|server's memory|only contain constants|with `\|\|`", str(refused.value))


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT code || ' ' || turn || ' ' || part FROM diagnostics WHERE severity IN ('error', 'warning')",
        "SELECT id FROM traces WHERE id IN (1, 2.5) AND status = ANY('{ok,broken}')",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT sum(i) FROM n",
        "SELECT left(name, 3), split_part(name, 'a', 1), to_char(now(), 'YYYY'), id::text FROM traces",
    ],
)
def test_what_builds_no_large_value_runs_on_postgresql(filled_postgresql: Store, statement: str) -> None:
    ask(filled_postgresql.location, statement)


@pytest.mark.parametrize(
    "value",
    [
        "zeroblob(500000000)",
        "randomblob(500000000)",
        "hex(zeroblob(900000))",
        "replace(hex(zeroblob(400000)), '0', 'aaaa')",
        "(SELECT group_concat(hex(zeroblob(400000))) FROM (VALUES (1), (2), (3)))",
        "(WITH RECURSIVE r(t) AS (SELECT 'a' UNION ALL SELECT t || t FROM r) SELECT max(length(t)) FROM r)",
    ],
)
def test_sqlite_builds_no_large_value(tmp_path: Path, value: str) -> None:
    with open_store(tmp_path / "w.db") as store, pytest.raises(StoreError, match="longer than 1,000,000 bytes"):
        ask(store.location, f"SELECT length({value})")


def test_sqlite_pads_no_text_beyond_the_limit(tmp_path: Path) -> None:
    with open_store(tmp_path / "w.db") as store:
        assert ask(store.location, "SELECT printf('%500000000s', 'a')").rows == ((None,),)


def test_postgresql_sorts_no_more_on_disk_than_its_limit(filled_postgresql: Store) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
    long = f"CASE WHEN b.i > a.i THEN '{'x' * 900}' ELSE '{'y' * 900}' END"
    with pytest.raises(StoreError, match="needs more than 256 MB of disk space to sort"):
        ask(filled_postgresql.location, f"{numbers} SELECT a.i, {long} FROM n a, n b ORDER BY 2", seconds=60)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "expression",
    [
        "instr({a}, {b} || 'b')",
        "length(group_concat(hex(zeroblob(400000))))",
        *(
            pytest.param(text, marks=pytest.mark.slow)
            for text in (
                "length(replace({a}, {b} || 'b', 'c'))",
                "length(trim({a}, hex(zeroblob(400000))))",
                "length(zeroblob(1000000000))",
                "length(randomblob(900000) || randomblob(900000))",
                "length(hex(randomblob(900000)))",
            )
        ),
    ],
)
def test_one_expensive_function_cannot_hold_up_sqlite_for_ever(tmp_path: Path, expression: str) -> None:
    with open_store(tmp_path / "w.db") as store:
        long = expression.format(a="printf('%.*c', 999000, 'a')", b="printf('%.*c', 499000, 'a')")
        statement = f"{_NUMBERS.format(most=1_000_000)} SELECT sum({long}) FROM n"
        if "group_concat" in long:
            statement = f"{_NUMBERS.format(most=1_000_000)} SELECT {long} FROM n"
        with pytest.raises(StoreError, match=r"took longer than|longer than 1,000,000 bytes"):
            ask(store.location, statement, seconds=0.5)


def test_a_statement_that_sorts_more_than_fits_is_stopped(tmp_path: Path) -> None:
    with open_store(tmp_path / "w.db") as store:
        statement = f"{_NUMBERS.format(most=5_000)} SELECT randomblob(900000) AS b FROM n ORDER BY b"
        with pytest.raises(StoreError, match=r"MB|took longer"):
            ask(store.location, statement, seconds=5)


@pytest.mark.one_in(4)
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
        "SELEC 1",
        "SELECT * FROM nowhere",
        "VALUES (1",
    ],
)
def test_nothing_but_reading_the_views_is_done(filled: Store, statement: str) -> None:
    with pytest.raises(StoreError) as refused:
        ask(filled.location, statement)
    assert str(refused.value)
    assert ask(filled.location, "SELECT count(*) FROM traces").rows == ((2,),)


def test_a_statement_that_never_ends_is_stopped_and_says_so(filled: Store) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(StoreError, match=r"took longer|statement timeout"):
        ask(filled.location, endless, seconds=0.2)


def test_the_views_leave_nothing_behind(filled: Store) -> None:
    ask(filled.location, "SELECT 1")
    with open_store(
        str(filled.location) if filled.location.path else filled.location.url.render_as_string(False), create=False
    ) as again:
        assert len(again.traces()) == 2
