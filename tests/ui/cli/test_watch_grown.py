"""A session that `watch` imports line by line is stored as one that is imported at once."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from weaklink.inspector.memoized import forget_unused, is_memoizing, memoized, memoizing
from weaklink.storage import tables
from weaklink.storage.store import Store, open_store
from weaklink.ui.cli import watch as watching
from weaklink.ui.cli.import_rounds import import_round
from weaklink.ui.cli.watch import LiveImport
from weaklink.ui.importing.files import _known_sessions
from weaklink.ui.importing.input_files import InputFile
from weaklink.ui.importing.unchanged_files import ImportOptions
from weaklink.ui.reports.import_report import FileReport

CASES = Path(__file__).parents[2] / "cases" / "importers"
LOGS = [
    "claude-code/session.jsonl",
    "claude-code/broken.jsonl",
    "codex/rollout.jsonl",
    "codex/fork.jsonl",
    "pi/branches.jsonl",
    "gemini-cli/lines.jsonl",
    "kimi/wire.jsonl",
    "droid/session.jsonl",
]
SECRET = "sk-ant-api03-" + "b4Q9" * 20  # gitleaks:allow  # made up
_OWN_COLUMNS = {"imported_at_s", "sort_at_s", "provenance", "record_checksum"}
"""The time of import, and the file's hash, which stays if a line adds nothing to its session."""


def rows(database: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows of traces, but what depends on when they were imported."""
    rows_by_table: dict[str, list[tuple[object, ...]]] = {}
    with closing(sqlite3.connect(database)) as connection:
        for table in (tables.trace, *tables.RECORD, *tables.DERIVED):
            names = ", ".join(f'"{column.name}"' for column in table.columns if column.name not in _OWN_COLUMNS)
            rows_by_table[table.name] = sorted(connection.execute(f'SELECT {names} FROM "{table.name}"'), key=repr)
    return rows_by_table


class Watched:
    """A log that grows, and the database of its watcher."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "log.jsonl"
        self.database = folder / "grown.db"
        self.reports: list[FileReport] = []
        self._store = open_store(self.database)
        clock = count(0, 10).__next__
        self._live = LiveImport(self._store, lambda: [str(self.log)], ImportOptions(), clock=clock)

    def write(self, text: bytes) -> None:
        self.log.write_bytes(text)
        self._live.round(self.reports.extend)

    def at_once(self) -> tuple[dict[str, list[tuple[object, ...]]], FileReport]:
        """The rows of a database into which the log, as it is now, is imported at once, and the report."""
        database, reports = self.database.with_name("once.db"), list[FileReport]()
        database.unlink(missing_ok=True)
        with open_store(database) as store:
            import_round(
                store, [InputFile(str(self.log))], ImportOptions(), 1, lambda _, report: reports.append(report)
            )
        return rows(database), reports[0]

    def close(self) -> None:
        self._store.close()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    watch = Watched(tmp_path)
    yield watch
    watch.close()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", LOGS)
def test_a_session_that_grew_line_by_line_is_stored_as_one_imported_at_once(name: str, watched: Watched) -> None:
    lines = (CASES / name).read_bytes().splitlines(keepends=True)
    compared = {len(lines), *random.Random(name).sample(range(2, len(lines)), 2)}
    for number in range(1, len(lines) + 1):
        watched.write(b"".join(lines[:number]))
        if number in compared:
            stored, report = watched.at_once()
            assert rows(watched.database) == stored
            assert watched.reports[-1].counts == report.counts
            assert watched.reports[-1].redacted == report.redacted


def test_secrets_of_a_session_that_grows_are_redacted_and_counted(watched: Watched) -> None:
    text = (CASES / "claude-code/session.jsonl").read_text("utf-8")
    lines = text.replace("tide", f"tide {SECRET} tide", 3).encode().splitlines(keepends=True)
    for number in range(1, len(lines) + 1):
        watched.write(b"".join(lines[:number]))
    stored, report = watched.at_once()
    assert rows(watched.database) == stored
    assert watched.reports[-1].redacted == report.redacted > 0
    for path in watched.log.parent.glob("grown.db*"):
        assert SECRET.encode() not in path.read_bytes()


def test_a_turn_that_changed_is_written_again(watched: Watched) -> None:
    text = (CASES / "claude-code/session.jsonl").read_bytes()
    lines = text.splitlines(keepends=True)
    watched.write(b"".join(lines[:-2]))
    watched.write(b"".join(lines[:-1]))
    watched.write(text)
    watched.write(text.replace(b"tide", b"tides") + lines[-1])
    stored, _ = watched.at_once()
    assert rows(watched.database) == stored


def test_what_another_program_changed_in_the_database_is_written_again(watched: Watched) -> None:
    lines = (CASES / "claude-code/session.jsonl").read_bytes().splitlines(keepends=True)
    for number in range(4, len(lines)):
        watched.write(b"".join(lines[:number]))
    with open_store(watched.database) as store:
        store.delete([trace.id for trace in store.traces()])
    watched.write(b"".join(lines))
    rows_by_table, (stored, _) = rows(watched.database), watched.at_once()
    assert [row[1:] for row in rows_by_table["turn"]] == [row[1:] for row in stored["turn"]]


def test_a_function_remembers_by_value_and_by_object_only_while_memoizing() -> None:
    calls: list[object] = []

    @memoized
    def size(values: object) -> int | None:
        calls.append(values)
        return None

    listed = [1]
    size("a")
    size("a")
    assert len(calls) == 2
    with memoizing():
        assert is_memoizing()
        for value in ("a", "".join(["a"]), listed, listed, [1]):
            size(value)
    assert calls[2:] == ["a", listed, [1]]
    assert not is_memoizing()


def test_many_recent_files_are_imported_together_and_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds: list[tuple[int, bool]] = []

    def noted_round(store: Store, files: list[InputFile], *rest: Any, **options: Any) -> None:
        rounds.append((len(files), is_memoizing()))
        import_round(store, files, *rest, **options)

    monkeypatch.setattr(watching, "import_round", noted_round)
    text = (CASES / "claude-code/untitled.jsonl").read_text("utf-8")
    paths = [tmp_path / f"{number}.jsonl" for number in range(12)]
    with open_store(tmp_path / "t.db") as store:
        live = LiveImport(store, lambda: [str(path) for path in paths if path.exists()], ImportOptions(), 1)
        for number, path in enumerate(paths):
            path.write_text(text.replace('"sessionId": "', f'"sessionId": "{number}'), "utf-8")
        live.round(lambda _: None)
        paths[0].write_bytes(paths[0].read_bytes() * 2)
        live.round(lambda _: None)
    assert rounds == [(12, False), (1, True)]


@pytest.mark.parametrize(("bound", "remembered"), [(4.5, "abab"), (1.5, "aa"), (0.5, "aa")])
def test_of_sessions_that_grow_in_turn_those_within_the_bound_are_remembered(
    bound: float, remembered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (CASES / "claude-code/session.jsonl").read_bytes().splitlines(keepends=True)
    logs = {name: tmp_path / name for name in "ab"}
    rounds: list[str] = []

    def noted_round(store: Store, files: list[InputFile], *rest: Any, **options: Any) -> None:
        before = known_turns(files[0].path)
        import_round(store, files, *rest, **options)
        if before and before is known_turns(files[0].path):
            rounds.append(Path(files[0].path).name)

    def known_turns(path: str) -> object:
        """The first turn of a session as it is remembered."""
        session = next((_known_sessions.get(key) for key in keys if path in key), None)
        return None if session is None else session.record.turns[0]

    forget_unused()
    forget_unused()  # what other tests left
    keys: list[tuple[object, ...]] = []
    put = _known_sessions.put

    def noted_put(key: tuple[object, ...], value: Any) -> None:
        keys.append(key)
        put(key, value)

    monkeypatch.setattr(_known_sessions, "put", noted_put)
    monkeypatch.setattr(watching, "import_round", noted_round)
    monkeypatch.setattr(watching, "_MAX_REMEMBERED_BYTES", int(bound * sum(map(len, lines))))
    with open_store(tmp_path / "t.db") as store:
        clock = count(0, 0.1).__next__
        live = LiveImport(store, lambda: map(str, logs.values()), ImportOptions(), 1, clock=clock)
        for number in (-4, -3, -2):
            for name, log in logs.items():
                log.write_bytes(b"".join(lines[:number]).replace(b"tide", b"tide-" + name.encode()))
                live.round(lambda _: None)
    assert "".join(rounds) == remembered
