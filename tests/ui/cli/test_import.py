"""What `import` takes and leaves: patterns, standard input, dry runs, several processes, and Ctrl-C among them."""

import gzip
import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Sequence
from contextlib import closing
from multiprocessing import active_children
from pathlib import Path
from threading import Timer

import pytest

from tests.ui.conftest import ROOT, START, Run, environment, run_text
from weaklink.inspector.errors import StoreError
from weaklink.storage.store import open_store
from weaklink.ui.cli import import_rounds
from weaklink.ui.cli.import_paths import _import_all
from weaklink.ui.cli.import_rounds import job_count, read_in_order
from weaklink.ui.importing.files import ReadItem
from weaklink.ui.importing.input_files import InputFile, files_below, find_files
from weaklink.ui.importing.unchanged_files import ImportOptions
from weaklink.ui.reports.import_report import FileReport

CASES = ROOT / "tests" / "cases" / "importers"


def chat(words: str) -> str:
    row = {"conversations": [{"from": "human", "value": words}, {"from": "gpt", "value": "Hello!"}]}
    return json.dumps(row) + "\n"


def write(path: Path, words: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(chat(words), encoding="utf-8")
    return path


def test_a_pattern_stands_for_the_files_that_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b/2.jsonl", "b/deep/3.jsonl", "a/1.jsonl", "a/1.txt", "[odd].jsonl"):
        write(tmp_path / name, name)
    assert list(files_below(["*/*.jsonl"])) == ["a/1.jsonl", "b/2.jsonl"]
    assert list(files_below(["**/*.jsonl"])) == ["[odd].jsonl", "a/1.jsonl", "b/2.jsonl", "b/deep/3.jsonl"]
    assert list(files_below(["b*"])) == ["b/2.jsonl", "b/deep/3.jsonl"]
    assert list(files_below(["[odd].jsonl"])) == ["[odd].jsonl"]
    assert list(files_below(["none*"])) == ["none*"]
    assert list(files_below([str(tmp_path / "a" / "*.txt")])) == [str(tmp_path / "a" / "1.txt")]


def test_a_file_that_is_named_several_times_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "logs/1.jsonl", "one")
    write(tmp_path / "logs/2.jsonl", "two")
    spellings = ("logs/1.jsonl", "./logs/1.jsonl", str(tmp_path / "logs/1.jsonl"), "logs/../logs/1.jsonl")
    for first in (*spellings, "logs", "logs/*.jsonl"):
        names = [str(Path(path).resolve().name) for path in files_below((first, *spellings, "logs", "logs/*.jsonl"))]
        assert names == ["1.jsonl", "2.jsonl"]
    assert [file.is_walked for file in find_files(("logs", "logs/1.jsonl"))] == [False, True]
    imported = run_text(tmp_path, "import", *spellings, "logs", "--db", "t.db")
    assert (imported.returncode, imported.stderr) == (0, "")
    assert imported.stdout.splitlines()[-1].startswith("2 files read: 2 traces, ")
    checked = run_text(tmp_path, "check", *spellings, "logs")
    assert checked.stdout.splitlines()[-1].startswith("2 traces in 2 files:")
    linted = run_text(tmp_path, "data", "lint", *spellings, "logs")
    assert linted.stdout.splitlines()[-1].startswith("2 traces in 2 files:")
    counted = run_text(tmp_path, "stats", *spellings, "logs")
    assert counted.stdout.splitlines()[0] == "2 traces, 0 broken."


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_a_file_like_any_other(weaklink: Run, packed: bool) -> None:
    content = chat("one").encode() + chat("two").encode()
    stdin = gzip.compress(content, mtime=0) if packed else content
    first, again = (json.loads(weaklink("import", "--json", "--db", "t.db", "-", stdin=stdin).stdout) for _ in range(2))
    assert first == again
    (file,) = first["files"]
    assert (file["path"], file["source"], file["traces"]) == ("-", "sharegpt", 2)
    listed = [json.loads(line) for line in weaklink("list", "--json", "--db", "t.db").stdout.splitlines()]
    assert [record["file"] for record in listed] == ["-", "-"]


def test_what_comes_by_standard_input_is_refused_by_its_name(weaklink: Run) -> None:
    done = weaklink("import", "--json", "--db", "t.db", "-", stdin=b"")
    assert done.returncode == 2
    assert json.loads(done.stdout)["files"][0]["refused"] == "-: the file is empty"


def test_a_pipe_is_read_to_its_end(weaklink: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    write(tmp_path / "log", "one")
    with subprocess.Popen(["sh", "-c", "cat log > pipe"], cwd=tmp_path):
        done = weaklink("import", "--json", "--db", "t.db", "pipe")
    assert json.loads(done.stdout)["totals"]["traces"] == 1


def test_a_dry_run_says_what_an_import_would_and_writes_nothing(weaklink: Run, tmp_path: Path) -> None:
    write(tmp_path / "log", "my key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD")
    write(tmp_path / "diary", "x").write_text("Dear diary,\n", encoding="utf-8")
    dry = weaklink("import", "--json", "--dry-run", "--db", "t.db", "log", "diary")
    assert b"nothing was written" in dry.stderr
    assert not (tmp_path / "t.db").exists()
    assert weaklink("import", "--json", "--db", "t.db", "log", "diary").stdout == dry.stdout
    assert json.loads(dry.stdout)["totals"]["redacted"] == 1


def test_a_dry_run_ends_with_2_where_nothing_can_be_read(weaklink: Run) -> None:
    assert weaklink("import", "--dry-run", "none").returncode == 2


@pytest.mark.slow
def test_many_processes_report_and_write_what_one_does(weaklink: Run, tmp_path: Path) -> None:
    told = []
    for jobs in ("1", "3"):
        done = weaklink("import", "--json", "--jobs", jobs, "--db", f"{jobs}.db", str(CASES))
        assert (done.returncode, done.stderr) == (0, b"")
        told.append(done.stdout)
    assert told[0] == told[1]
    with open_store(tmp_path / "1.db") as first_store, open_store(tmp_path / "3.db") as three:
        ids = sorted(summary.id for summary in first_store.traces(limit=1_000))
        assert ids == sorted(summary.id for summary in three.traces(limit=1_000))
        assert len(ids) > 50
        for id_ in ids:
            assert first_store.inspected(id_) == three.inspected(id_)


def reports(files: Sequence[InputFile], jobs: int) -> list[FileReport]:
    with read_in_order(files, ImportOptions(), jobs) as read:
        read_items: list[ReadItem] = [item for items in read for item in items]
    return [report for item in read_items if isinstance(item, tuple) for report in item]


def test_a_process_that_dies_costs_its_file_and_no_other(tmp_path: Path) -> None:
    files = [InputFile(str(write(tmp_path / f"{number}", str(number)))) for number in range(5)]
    with (tmp_path / "1").open("a", encoding="utf-8") as stream:
        stream.writelines(chat(str(number)) for number in range(2_000))
    with read_in_order(files, ImportOptions(), 2) as read:
        assert len(list(next(read))) == 2
        second = next(read)
        next(second)
        for process in active_children():
            process.kill()
        *_, last = second
        rest = [list(items)[-1] for items in read]
    assert isinstance(last, tuple)
    assert "the process that read it exited unexpectedly (signal 9)" in str(last[0].refused)
    refused = [reading[0].refused for reading in rest if isinstance(reading, tuple)]
    assert len(refused) == 3
    assert (
        len([refusal for refusal in refused if refusal is not None]) <= 1
    )  # what the other process read when it was killed


def test_it_waits_for_another_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [InputFile(str(write(tmp_path / f"{number}", str(number)))) for number in range(3)]
    file_reports: list[FileReport] = []
    with (
        open_store(tmp_path / "t.db", busy_timeout_s=0.05) as store,
        closing(sqlite3.connect(tmp_path / "t.db", check_same_thread=False)) as other,
    ):
        _import_all(store, files[:1], ImportOptions(), 1, file_reports)
        other.execute("BEGIN IMMEDIATE")
        release = Timer(1, other.rollback)
        release.start()
        _import_all(store, files, ImportOptions(), 1, file_reports)
        release.join()
        assert len(store.traces()) == 3
    assert sorted(report.path for report in file_reports) == [file.path for file in files]
    assert all(report.counts.traces == 1 and not report.unchanged for report in file_reports)
    assert capsys.readouterr().err.count("the database is locked") == 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize("database", ["gone.db", "postgresql://weaklink@127.0.0.1:1/gone"])
def test_a_database_that_no_process_can_read_is_an_error_and_no_refusal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_rounds, "_SHARED_BYTES", 0)  # the workers read the first file, too
    files = [InputFile(str(write(tmp_path / f"{number}", str(number)))) for number in range(5)]
    address = database if "://" in database else str(tmp_path / database)
    with read_in_order(files, ImportOptions(), 2, address) as read, pytest.raises(StoreError, match="gone"):
        next(next(read))
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_there_are_as_many_reports_as_files_however_many_processes(tmp_path: Path) -> None:
    files = [InputFile(str(write(tmp_path / f"{number}", str(number)))) for number in range(2)]
    files.append(InputFile(str(tmp_path / "none")))
    assert reports(files, 2) == reports(files, 64) == reports(files, 1)


def test_another_process_must_be_worth_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    large = tmp_path / "large"
    large.write_bytes(b" " * (5 << 20))
    small = write(tmp_path / "small", "x")
    assert job_count([InputFile(str(small)), InputFile("a\0b")]) == 1
    assert job_count([InputFile(str(large))]) == 2
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert job_count([InputFile(str(large))]) == 1


def test_a_mark_waits_only_while_the_rows_of_a_large_file_are_written(tmp_path: Path) -> None:
    write(tmp_path / "first", "first")
    assert run_text(tmp_path, "import", "--db", "t.db", "first").returncode == 0
    with (tmp_path / "large").open("w", encoding="utf-8") as stream:
        stream.writelines(chat(f"{number} " * 100) for number in range(3_000))
    marks, longest_s, start_s = 0, 0.0, time.monotonic()
    with (
        open_store(tmp_path / "t.db", busy_timeout_s=60) as store,
        subprocess.Popen(
            [*START, "import", "--jobs", "1", "--db", "t.db", "large"],
            cwd=tmp_path,
            env=environment(tmp_path),
            stdout=subprocess.PIPE,
        ) as process,
    ):
        while process.poll() is None:
            asked_s = time.monotonic()
            store.marks.put(1, note=str(marks))
            longest_s = max(longest_s, time.monotonic() - asked_s)
            marks += 1
            time.sleep(0.05)
        assert longest_s < (time.monotonic() - start_s) / 2
        assert process.stdout is not None
        assert b"3,000 traces" in process.stdout.read()
        assert store.marks.of([1])[1][0].note == str(marks - 1)


def test_ctrl_c_ends_all_processes_and_keeps_what_is_finished(tmp_path: Path) -> None:
    write(tmp_path / "a", "first")
    with (tmp_path / "b").open("w", encoding="utf-8") as stream:
        stream.writelines(chat(f"{number} " * 100) for number in range(100_000))
    write(tmp_path / "c", "last")
    command = [*START, "import", "--json", "--jobs", "2", "--db", "t.db", "a", "b", "c"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        while not _holds_a_trace(tmp_path / "t.db"):
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert b"interrupted; 1 file of 3 is in the database, nothing of the rest" in err
    assert [file["path"] for file in json.loads(out)["files"]] == ["a"]
    assert _all_end(process.pid)


def _all_end(group: int) -> bool:
    """Whether no process of the group is left, once each had the time to end."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def _holds_a_trace(path: Path) -> bool:
    if not path.exists():
        return False
    with open_store(path) as store:
        return bool(store.traces())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("options", [(), ("--jobs", "2"), ("--dry-run",)])
def test_a_gateways_objects_in_a_folder_are_one_log(weaklink: Run, tmp_path: Path, options: tuple[str, ...]) -> None:
    rows = (CASES / "litellm" / "payloads.jsonl").read_text(encoding="utf-8").splitlines()
    bucket = tmp_path / "bucket"
    bucket.mkdir()
    for number, row in enumerate(rows):
        (bucket / f"{number:02}.json").write_text(row, encoding="utf-8")
    report = json.loads(weaklink("import", "bucket", "--json", "--db", "t.db", *options).stdout)
    whole = json.loads(weaklink("import", str(CASES / "litellm" / "payloads.jsonl"), "--json", "--dry-run").stdout)
    first, *others = report["files"]
    assert len(others) == len(rows) - 1
    assert [report["totals"][key] for key in ("traces", "turns", "tool_calls")] == [
        whole["totals"][key] for key in ("traces", "turns", "tool_calls")
    ]
    assert {(record["source"], record["refused"]) for record in others} == {("litellm", None)}
    assert sum(file["traces"] for file in report["files"]) == whole["totals"]["traces"] > 1
    assert max(file["traces"] for file in report["files"]) == 1
    assert first["path"] in others[0]["why"]


def test_a_tool_whose_name_is_half_a_character_is_imported_and_reported_again(weaklink: Run, tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "send_\ud83d", "arguments": "{}"}}
    messages = [{"role": "user", "content": "Send it."}, {"role": "assistant", "tool_calls": [call]}]
    (tmp_path / "log.jsonl").write_text(json.dumps({"messages": messages}) + "\n")
    for _ in range(2):
        done = weaklink("import", "log.jsonl", "--db", "a.db", "--json")
        assert (done.returncode, done.stderr) == (0, b"")
        (file,) = json.loads(done.stdout)["files"]
        assert file["tools"] == {"send_\ud83d": 1}
