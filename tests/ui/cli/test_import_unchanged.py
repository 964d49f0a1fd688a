"""A file that has not changed since its import is not read again, and everything that may have changed is."""

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from weaklink.storage.maintenance import Retention
from weaklink.storage.store import open_store
from weaklink.ui.cli import import_rounds
from weaklink.ui.importing import unchanged_files
from weaklink.ui.importing.input_files import InputFile
from weaklink.ui.importing.unchanged_files import ImportOptions, unchanged_reports
from weaklink.ui.reports.import_report import FileReport, report_object

CASES = Path(__file__).parents[2] / "cases" / "importers"
OLD_S = time.time() - 1_000
DEFAULTS = ImportOptions()


class Importing:
    """A database, a folder with sessions of two agents, and how many files each import read."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.database = folder / "runs.db"
        self.files = [folder / "pi.jsonl", folder / "claude.jsonl"]
        for path, case in zip(self.files, ("pi/branches.jsonl", "claude-code/session.jsonl"), strict=True):
            shutil.copy(CASES / case, path)
            os.utime(path, (OLD_S, OLD_S))
        self.read: list[str] = []
        self._import_round = import_rounds.import_round
        monkeypatch.setattr("weaklink.ui.cli.import_rounds.import_round", self._counted)

    def __call__(self, options: ImportOptions = DEFAULTS, files: Sequence[Path] = ()) -> list[FileReport]:
        self.read = []
        reports: list[FileReport] = []
        with open_store(self.database) as store:
            import_rounds.import_new(store, [InputFile(str(path)) for path in files or self.files], options, 1, reports)
        return sorted(reports, key=lambda report: report.path, reverse=True)

    def _counted(self, store: object, files: Sequence[InputFile], *rest: object) -> None:
        self.read += [Path(file.path).name for file in files]
        self._import_round(store, files, *rest)  # type: ignore[arg-type]  # as it was called


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Importing:
    importing = Importing(tmp_path, monkeypatch)
    importing()
    assert importing.read == ["pi.jsonl", "claude.jsonl"]
    return importing


def test_an_unchanged_file_is_not_read_and_is_reported_as_before(imported: Importing) -> None:
    again = imported()
    assert imported.read == []
    assert all(report.unchanged == report.counts.traces > 0 for report in again)
    imported(ImportOptions(patterns=("nothing-matches",)))
    assert imported.read == ["pi.jsonl", "claude.jsonl"]
    assert report_object(again) == report_object(imported(ImportOptions(patterns=("nothing-matches",))))


def test_a_touched_file_is_compared_by_its_hash(imported: Importing) -> None:
    os.utime(imported.files[0], (OLD_S + 5, OLD_S + 5))
    imported()
    assert imported.read == []
    text = imported.files[0].read_bytes().replace(b"harbour", b"habrour")
    imported.files[0].write_bytes(text)
    imported()
    assert imported.read == ["pi.jsonl"]


def test_a_conversation_of_openhands_is_read_again_when_it_has_another_event(imported: Importing) -> None:
    """Its state, the file that is found, is written when its run begins and ends: a killed run leaves it as it was."""
    log = imported.database.with_name("base_state.json")
    log.write_text('{"id": "oh-1", "agent": {}, "execution_status": "running", "workspace": {}}', encoding="utf-8")
    os.utime(log, (OLD_S, OLD_S))
    events = log.with_name("events")
    events.mkdir()
    lines = (CASES / "openhands-sdk/events.jsonl").read_text("utf-8").splitlines()
    for number, line in enumerate(lines[:4]):
        (events / f"event-{number:05}-a.json").write_text(line, encoding="utf-8")
    imported(files=[log])
    imported(files=[log])
    assert imported.read == []
    (events / "event-00004-a.json").write_text(lines[4], encoding="utf-8")
    (report,) = imported(files=[log])
    assert imported.read == ["base_state.json"]
    assert report.replaced == 1
    os.utime(events, (OLD_S, OLD_S))
    imported(files=[log])
    assert imported.read == []


def test_a_file_that_changed_as_it_was_imported_is_compared_by_its_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    importing = Importing(tmp_path, monkeypatch)
    log = importing.files[0]
    os.utime(log)
    state = log.stat()
    importing()
    importing()
    assert importing.read == []
    log.write_bytes(log.read_bytes().replace(b"harbour", b"habrour"))
    os.utime(log, ns=(state.st_atime_ns, state.st_mtime_ns))
    importing()
    assert importing.read == ["pi.jsonl"]


def test_a_file_that_grows_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    importing = Importing(tmp_path, monkeypatch)

    def grow(source: str | None) -> bool:
        with importing.files[0].open("a", encoding="utf-8") as stream:
            stream.write("\n")
        return False

    with monkeypatch.context() as during:
        during.setattr(unchanged_files, "reads_together", grow)
        importing(files=importing.files[:1])
    importing(files=importing.files[:1])
    assert importing.read == ["pi.jsonl"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "options",
    [
        ImportOptions(source="pi"),
        ImportOptions(project="harbour"),
        ImportOptions(no_content=True),
        ImportOptions(no_redact=True),
        ImportOptions(patterns=("tide-[0-9]+",)),
    ],
)
def test_other_options_read_it_again(imported: Importing, options: ImportOptions) -> None:
    imported(options, imported.files[:1])
    assert imported.read == ["pi.jsonl"]
    imported(options, imported.files[:1])
    assert imported.read == []


def test_a_format_that_is_registered_since_reads_it_again(imported: Importing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unchanged_files, "registered_tables", lambda: ({"name": "my-model"},))
    imported()
    assert imported.read == ["pi.jsonl", "claude.jsonl"]
    imported()
    assert imported.read == []


def test_another_version_reads_it_again(imported: Importing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unchanged_files, "__version__", "9.9.9")
    imported()
    assert imported.read == ["pi.jsonl", "claude.jsonl"]


@pytest.mark.parametrize("way", ["delete", "erase", "prune"])
def test_the_file_of_a_deleted_trace_is_read_again(imported: Importing, way: str) -> None:
    with open_store(imported.database) as store:
        traces = {trace.id: trace.source for trace in store.traces()}
        doomed = [id_ for id_, source in traces.items() if source == "pi"]
        if way == "delete":
            store.delete(doomed[:1])
        elif way == "erase":
            store.erase(doomed[:1])
        else:
            store.maintenance.prune(Retention(before_s=time.time() + 1))
    imported()
    assert imported.read == (["pi.jsonl", "claude.jsonl"] if way == "prune" else ["pi.jsonl"])
    with open_store(imported.database) as store:
        assert len(store.traces()) == len(traces)


def test_a_database_with_a_log_beside_it_is_always_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    importing = Importing(tmp_path, monkeypatch)
    database = tmp_path / "opencode.db"
    shutil.copy(CASES / "opencode/sessions.db", database)
    os.utime(database, (OLD_S, OLD_S))
    importing(files=[database])
    importing(files=[database])
    assert importing.read == []
    with closing(sqlite3.connect(database)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        importing(files=[database])
        writer.execute("CREATE TABLE later (a)")
        writer.commit()
        for _ in range(2):
            importing(files=[database])
            assert importing.read == ["opencode.db"]


def test_a_path_elsewhere_of_the_same_name_is_another_file(imported: Importing, tmp_path: Path) -> None:
    other = tmp_path / "other" / "pi.jsonl"
    other.parent.mkdir()
    shutil.copy2(imported.files[0], other)
    imported(files=[other])
    assert imported.read == ["pi.jsonl"]


def test_the_rows_hold_no_path(imported: Importing, tmp_path: Path) -> None:
    with closing(sqlite3.connect(imported.database)) as reader:
        rows = reader.execute("SELECT * FROM imported_file").fetchall()
    assert len(rows) == 2
    assert not any(str(tmp_path).encode() in value for row in rows for value in row if isinstance(value, bytes))
    assert all(json.loads(row[-1])["path"] == "" for row in rows)


def _reports(imported: Importing, where: str | Path | None = None) -> list[FileReport] | None:
    files = [InputFile(str(path)) for path in imported.files]
    return unchanged_reports(files, DEFAULTS, imported.database if where is None else where)


def test_an_import_of_nothing_new_need_not_open_the_store(imported: Importing) -> None:
    with open_store(imported.database) as store:
        store.search.index_pending()
    known = _reports(imported)
    assert known == imported()[:: 1 if known and known[0].source == "pi" else -1]
    assert not list(imported.database.parent.glob("*-wal"))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM imported_file WHERE size_bytes = (SELECT min(size_bytes) FROM imported_file)",
        "UPDATE imported_file SET report = x'7b'",
        "UPDATE imported_file SET settings = x'00'",
        "INSERT INTO search_pending SELECT id FROM trace LIMIT 1",
        "UPDATE weaklink_version SET version_num = 'v0019'",
        "DELETE FROM weaklink_version",
        "DROP TABLE search_pending",
        "PRAGMA journal_mode = DELETE",
    ],
)
def test_a_database_that_needs_more_than_to_be_read_is_opened_as_a_store(imported: Importing, change: str) -> None:
    with open_store(imported.database) as store:
        store.search.index_pending()
    assert _reports(imported) is not None
    with closing(sqlite3.connect(imported.database)) as writer:
        writer.execute(change)
        writer.commit()
    assert _reports(imported) is None


@pytest.mark.parametrize("where", ["postgresql://localhost:1/weaklink", "missing/runs.db", "pi.jsonl", "."])
def test_what_is_no_file_of_a_database_is_left_to_the_store(imported: Importing, where: str) -> None:
    folder = imported.database.parent
    assert _reports(imported, where if "://" in where else folder / where) is None
    assert not (folder / "missing").exists()


def test_one_new_or_grown_file_is_enough_to_open_the_store(imported: Importing) -> None:
    with open_store(imported.database) as store:
        store.search.index_pending()
    assert _reports(imported) is not None
    with imported.files[1].open("a", encoding="utf-8") as stream:
        stream.write("\n")
    assert _reports(imported) is None
    assert unchanged_reports([], DEFAULTS, imported.database) is None
