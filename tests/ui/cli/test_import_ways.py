"""However files are imported, by one process or several, together or one by one, the database holds the same."""

import json
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from weaklink.inspector.errors import StoreError
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.model import Trace
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.storage.record_rows import record_rows
from weaklink.storage.saved import Saved
from weaklink.storage.store import Store, open_store
from weaklink.storage.writing import TraceDraft, UninspectedRows
from weaklink.ui.cli import import_rounds
from weaklink.ui.cli.import_rounds import import_round
from weaklink.ui.importing import files as importing
from weaklink.ui.importing.files import FileSaver, ReadRecord, import_file, read_file, save_file
from weaklink.ui.importing.input_files import InputFile, files_below
from weaklink.ui.importing.unchanged_files import ImportOptions
from weaklink.ui.reports.import_report import FileReport

_TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "required": ["at"]}}}


def conversation(number: int) -> str:
    """One call and its result; every third call is broken, every fifth breaks the tool's schema."""
    arguments = '{"at": ' if number % 3 == 0 else "{}" if number % 5 == 0 else json.dumps({"at": f"place {number}"})
    call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": arguments}}
    messages = [
        {"role": "user", "content": f"Look at place {number}, word{number % 7}."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": json.dumps({"status": "ok", "found": number})},
        {"role": "assistant", "content": "My key is sk-proj-" + "Ab1" * 16 if number % 11 == 0 else "Done."},
    ]
    return json.dumps({"id": number, "model": "hermes-4", "tools": [_TOOL], "messages": messages})


def written(folder: Path) -> list[str]:
    """A file for several processes, with lines that are skipped and traces that come twice, and small ones."""
    lines = [conversation(number) for number in range(25)]
    lines[9:9] = ["{junk", '{"messages": 1}', lines[3]]
    (folder / "b-large.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "c-none.jsonl").write_text("Dear diary,\n", encoding="utf-8")
    for number in range(4):
        name = f"{'ad'[number % 2]}-{number}.jsonl"
        (folder / name).write_text(conversation(20 + 3 * number) + "\n", encoding="utf-8")
    return list(files_below([str(folder)]))


def tables(database: Path) -> dict[str, list[str]]:
    """The rows of every table but the text index, without the time of import."""
    with closing(sqlite3.connect(database)) as connection:
        names = [row[0] for row in connection.execute("select name from sqlite_schema where type = 'table'")]
        rows_by_table = {}
        for name in (name for name in names if not name.startswith(("search_text", "sqlite_"))):
            rows = connection.execute(f'pragma table_info("{name}")')
            columns = [row[1] for row in rows if row[1] not in ("imported_at_s", "sort_at_s")]
            wanted = ", ".join(f'"{column}"' for column in columns)
            rows_by_table[name] = sorted(map(repr, connection.execute(f'select {wanted} from "{name}"')))
    return rows_by_table


def answers(database: Path) -> list[Any]:
    """What the screens read."""
    with open_store(database) as store:
        listed = [summary.id for summary in store.traces(limit=100)]
        hits = [[hit.trace.id for hit in store.search.find(f"word{number}").hits] for number in range(7)]
        return [
            [store.inspected(id_) for id_ in listed],
            hits,
            store.statistics.figures(),
            store.statistics.violations(),
            store.maintenance.check(),
        ]


def by_round(paths: list[str], database: Path, jobs: int) -> list[FileReport]:
    reports: list[FileReport] = []
    with open_store(database) as store:
        placed = [InputFile(path) for path in paths]
        import_round(store, placed, ImportOptions(), jobs, lambda _, report: reports.append(report))
    return reports


def one_by_one(paths: list[str], database: Path) -> list[FileReport]:
    with open_store(database) as store:
        reports = [import_file(store, path, None, Redactor()) for path in paths]
        store.search.index_pending()
    return reports


def test_all_ways_leave_the_same_database_and_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_rounds, "_SHARED_BYTES", 2_000)
    logs = tmp_path / "logs"
    logs.mkdir()
    paths = written(logs)
    alone = one_by_one(paths, tmp_path / "alone.db")
    assert [len(report.skipped) for report in alone] == [0, 0, 2, 0, 0, 0]
    assert sum(report.counts.traces for report in alone) == 30
    assert [bool(report.refused) for report in alone] == [False, False, False, True, False, False]
    for jobs in (1, 3):
        database = tmp_path / f"{jobs}.db"
        assert by_round(paths, database, jobs) == alone
        assert tables(database) == tables(tmp_path / "alone.db")
        assert answers(database) == answers(tmp_path / "alone.db")


def test_small_files_are_saved_together_and_a_large_one_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "_MAX_BATCH_TRACES", 3)
    paths = written(tmp_path)
    saved: list[int] = []
    with open_store(tmp_path / "t.db") as store:
        save = store.save_drafts

        def counted(items: Any) -> list[Saved]:
            saved_reports = save(items)
            saved.append(len(saved_reports))
            return saved_reports

        monkeypatch.setattr(store, "save_drafts", counted)
        import_round(store, [InputFile(path) for path in paths], ImportOptions(), 1, lambda *_: None)
        assert [count for count in saved if count] == [2, 26, 2]


def test_where_the_store_refuses_a_file_those_before_it_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [path for path in written(tmp_path) if "large" not in path]
    done: list[str] = []
    with open_store(tmp_path / "t.db") as store:
        save = store.save_drafts

        def refusing(items: Any) -> list[Saved]:
            drafts: list[TraceDraft] = list(items)
            if any("d-1" in draft.record.trace["file"] for draft in drafts):
                raise StoreError("a value is too large for the database")
            return save(drafts)

        monkeypatch.setattr(store, "save_drafts", refusing)
        saver = FileSaver(store, lambda file, _: done.append(Path(file.path).name), clock=lambda: 0.0)
        for path in paths:
            saver.save(InputFile(path), read_file(InputFile(path), None, Redactor()))
        with pytest.raises(StoreError):
            saver.flush()
        assert done == ["a-0.jsonl", "a-2.jsonl", "c-none.jsonl"]
        assert trace_files(store) == {"a-0.jsonl", "a-2.jsonl"}


def test_an_interrupt_while_saved_files_are_counted_leaves_none_out(tmp_path: Path) -> None:
    paths = [path for path in written(tmp_path) if "large" not in path]
    done: list[str] = []

    def counting(file: InputFile, _: object) -> None:
        if not done:
            signal.raise_signal(signal.SIGINT)
        done.append(Path(file.path).name)

    with open_store(tmp_path / "t.db") as store:
        saver = FileSaver(store, counting, clock=lambda: 0.0)
        for path in paths:
            saver.save(InputFile(path), read_file(InputFile(path), None, Redactor()))
        with pytest.raises(KeyboardInterrupt):
            saver.flush()
        assert done == [Path(path).name for path in paths]
        assert trace_files(store) <= set(done)


def trace_files(store: Store) -> set[str]:
    return {Path(summary.file).name for summary in store.traces()}


def test_what_the_database_keeps_already_is_not_inspected_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    paths = written(logs)
    database = tmp_path / "t.db"
    first = by_round(paths, database, 1)
    before = tables(database)
    monkeypatch.setattr(import_rounds, "_SHARED_BYTES", 2_000)
    again = by_round(paths, database, 2)
    monkeypatch.setattr(importing, "inspect_trace", None)
    assert by_round(paths, database, 1) == again
    assert tables(database) == before
    assert [report.unchanged for report in again] == [report.counts.traces for report in first]
    assert [replace(report, unchanged=0, saved=()) for report in again] == [
        replace(report, unchanged=0, saved=()) for report in first
    ]
    assert [report.unchanged for report in again] == [report.counts.traces for report in first]


def test_an_inspection_by_another_version_is_made_again(tmp_path: Path) -> None:
    paths = written(tmp_path)[:1]
    database = tmp_path / "t.db"
    by_round(paths, database, 1)
    (record,) = (record_rows(trace) for trace in read_source(paths[0]).records if isinstance(trace, Trace))
    with open_store(database) as store:
        assert store.stored_inspection(record) is not None
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("update trace set inspector_version = '0.0.1'")
    with open_store(database) as store:
        assert store.stored_inspection(record) is None


def test_what_was_kept_and_is_gone_by_the_time_it_is_written_is_inspected_then(tmp_path: Path) -> None:
    paths = written(tmp_path)
    with open_store(tmp_path / "kept.db") as kept, open_store(tmp_path / "new.db") as new:
        for path in paths:
            import_file(kept, path, None, Redactor())
        kept.search.index_pending()
        items = [list(read_file(InputFile(path), None, Redactor(), kept.stored_inspection)) for path in paths]
        drafts = [
            item.draft for some in items for item in some if isinstance(item, ReadRecord) and item.draft is not None
        ]
        assert {type(draft) for draft in drafts} == {UninspectedRows}
        for some in items:
            save_file(new, some)
        new.search.index_pending()
    assert tables(tmp_path / "new.db") == tables(tmp_path / "kept.db")
