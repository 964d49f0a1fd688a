"""`import --watch`: what appears and grows is imported, whole lines only, until Ctrl-C."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.ui.conftest import START, Run, environment
from weaklink.storage.store import open_store
from weaklink.ui.cli.watch import PathWatcher
from weaklink.ui.importing.input_files import InputFile, files_below

LINE = '{"role": "user", "content": "Hi"}\n'


def make_old(path: Path) -> Path:
    """The file as if it had been at rest for long."""
    os.utime(path, (1_000_000_000, 1_000_000_000))
    return path


class Clock:
    """Stands still until it is told."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def watcher(*paths: Path, clock: Callable[[], float] = time.monotonic) -> PathWatcher:
    return PathWatcher(lambda: files_below(map(str, paths)), clock=clock)


def sizes(files: list[InputFile]) -> dict[str, int | None]:
    return {Path(file.path).name: file.size_bytes for file in files}


def test_what_is_at_rest_is_handed_out_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("{\n}", encoding="utf-8")
    make_old(tmp_path / "a")
    watch = watcher(tmp_path, tmp_path / "a", tmp_path / "later")
    assert sizes(watch.due()) == {"a": 3}
    assert watch.due() == []
    watch.forget()
    assert sizes(watch.due()) == {"a": 3}


def test_what_is_being_written_waits_until_it_rests(tmp_path: Path) -> None:
    watch = watcher(tmp_path)
    (tmp_path / "document").write_text('{\n "messages": [', encoding="utf-8")
    assert watch.due() == []
    (tmp_path / "document").write_text('{\n "messages": []\n}', encoding="utf-8")
    assert watch.due() == []
    assert sizes(watch.due()) == {"document": 19}
    assert watch.due() == []


def test_of_lines_the_whole_ones_are_handed_out_while_they_grow(tmp_path: Path) -> None:
    watch = watcher(tmp_path)
    log = tmp_path / "log"
    log.write_text(LINE + LINE[:7], encoding="utf-8")
    assert sizes(watch.due()) == {"log": len(LINE)}
    log.write_text(LINE + LINE[:9], encoding="utf-8")
    assert watch.due() == []
    log.write_text(LINE * 2, encoding="utf-8")
    assert sizes(watch.due()) == {"log": 2 * len(LINE)}
    assert watch.due() == []
    log.write_text(LINE * 2 + "{", encoding="utf-8")
    assert watch.due() == []
    assert sizes(watch.due()) == {"log": 2 * len(LINE) + 1}


def test_a_line_may_be_longer_than_what_is_looked_at_at_once(tmp_path: Path) -> None:
    watch = watcher(tmp_path)
    (tmp_path / "log").write_text(LINE + '{"a": "' + "x" * 200_000, encoding="utf-8")
    assert sizes(watch.due()) == {"log": len(LINE)}


def test_a_file_that_took_long_is_not_read_again_at_once(tmp_path: Path) -> None:
    clock = Clock()
    watch = watcher(tmp_path, clock=clock)
    log = tmp_path / "log"
    log.write_text(LINE, encoding="utf-8")
    watch.due()
    log.write_text(LINE * 2, encoding="utf-8")
    (file,) = watch.due()
    watch.took(file, 10.0)
    log.write_text(LINE * 3, encoding="utf-8")
    clock.now_s = 4.0
    assert watch.due() == []
    clock.now_s = 5.0
    (file,) = watch.due()
    assert file.size_bytes == 3 * len(LINE)
    watch.took(file, 4.0)  # it should rest until 14 s, and may run 5 s ahead
    log.write_text(LINE * 4, encoding="utf-8")
    clock.now_s = 8.0
    assert watch.due() == []
    clock.now_s = 9.0
    assert sizes(watch.due()) == {"log": 4 * len(LINE)}


def test_a_file_that_took_a_second_is_read_again_at_its_next_line(tmp_path: Path) -> None:
    clock = Clock()
    watch = watcher(tmp_path, clock=clock)
    log = tmp_path / "log"
    for lines in range(1, 5):
        log.write_text(LINE * lines, encoding="utf-8")
        (file,) = watch.due()
        watch.took(file, 1.0)


def test_a_file_that_is_read_for_the_first_time_is_due_at_its_next_line(tmp_path: Path) -> None:
    clock = Clock()
    watch = watcher(tmp_path, clock=clock)
    log = tmp_path / "log"
    log.write_text(LINE, encoding="utf-8")
    (file,) = watch.due()
    watch.took(file, 10.0)
    log.write_text(LINE * 2, encoding="utf-8")
    assert sizes(watch.due()) == {"log": 2 * len(LINE)}


@pytest.mark.parametrize(("took_s", "waits"), [(0.9, [0.05] * 4), (0.05, [0.15, 0.05]), (0.0, [0.2])])
def test_a_long_session_is_looked_at_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, took_s: float, waits: list[float]
) -> None:
    clock = Clock()
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock.now_s += seconds

    monkeypatch.setattr(time, "sleep", sleep)
    watch = watcher(tmp_path, clock=clock)
    log = tmp_path / "log"
    for lines in range(1, 3):
        log.write_text(LINE * lines, encoding="utf-8")
        (file,) = watch.due()
        watch.took(file, took_s)
    assert watch.due() == []
    watch.wait()
    assert slept == pytest.approx(waits)
    slept.clear()
    log.write_text(LINE * 3, encoding="utf-8")
    watch.wait()
    assert slept == pytest.approx(waits[:1])
    (file,) = watch.due()
    assert file.size_bytes == 3 * len(LINE)
    watch.took(file, 60.0)
    log.write_text(LINE * 4, encoding="utf-8")
    slept.clear()
    watch.wait()  # it rests
    assert sum(slept) == pytest.approx(0.2)


@contextmanager
def watching(folder: Path, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        [*START, "import", "--watch", "--json", "--db", "t.db", *words],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def turns(database: Path) -> list[int]:
    if not database.exists():
        return []
    with open_store(database) as store:
        return [summary.turns for summary in store.traces()]


@pytest.mark.slow
def test_a_session_that_grows_replaces_its_shorter_self(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    answer = json.dumps({"role": "assistant", "content": "Hello!"}) + "\n"
    with watching(tmp_path, "logs") as process:
        (logs / "chat.jsonl").write_text(LINE + answer + LINE[:10], encoding="utf-8")
        until(lambda: turns(tmp_path / "t.db") == [2])
        (logs / "chat.jsonl").write_text((LINE + answer) * 2, encoding="utf-8")
        until(lambda: turns(tmp_path / "t.db") == [4])
        (logs / "diary.txt").write_text("Dear diary,\n", encoding="utf-8")
        (logs / "other.txt").write_text("Dear diary,\n", encoding="utf-8")
        assert process.stdout is not None
        reports: list[Any] = []
        while not any(file["path"] == "logs/later.jsonl" for report in reports for file in report["files"]):
            reports.append(json.loads(process.stdout.readline()))
            if any(file["path"] == "logs/other.txt" for file in reports[-1]["files"]):
                (logs / "diary.txt").write_text("Dear diary,\nagain!\n", encoding="utf-8")
                (logs / "later.jsonl").write_text(LINE + answer, encoding="utf-8")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert b"watching logs" in err
    assert b"Traceback" not in err
    refused = [file for report in reports for file in report["files"] if file["refused"]]
    assert sorted(file["path"] for file in refused) == ["logs/diary.txt", "logs/other.txt"]


@pytest.mark.parametrize("command", [("watch",), ("import", "--watch")])
def test_a_source_that_does_not_exist_ends_a_watch_at_once(command: tuple[str, ...], weaklink: Run) -> None:
    done = weaklink(*command, "logs", "--source", "claud-code", "--db", "t.db")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"claud-code is no source; did you mean claude-code?" in done.stderr


def test_a_path_that_does_not_exist_yet_is_told(tmp_path: Path) -> None:
    with watching(tmp_path, "nosuch", str(tmp_path), "*.jsonl") as process:
        assert process.stderr is not None
        notice = process.stderr.readline().decode()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert f"watching nosuch (does not exist yet), {tmp_path}, *.jsonl; Ctrl-C ends it" in notice


@pytest.mark.parametrize("command", [("watch",), ("import", "--watch")])
@pytest.mark.parametrize("url", ["file:///tmp", "s3://bucket/logs", "https://example.com/log.jsonl"])
def test_a_url_is_not_watched(command: tuple[str, ...], url: str, weaklink: Run) -> None:
    done = weaklink(*command, ".", url)
    assert done.returncode == 2
    assert f"{url} is a URL; only paths of this machine can be watched".encode() in done.stderr
    assert b"does not exist" not in done.stderr


def test_what_cannot_be_watched_is_told(weaklink: Run) -> None:
    for words in (("--watch", "-"), ("--watch", "--dry-run", ".")):
        done = weaklink("import", *words)
        assert done.returncode == 2
        assert b"it cannot be combined with --dry-run or `-`" in done.stderr
