"""`weaklink watch`: sessions are imported while agents write them, and a chain that breaks is printed."""

import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.ui.cli.test_discovery import environment as agents_environment
from tests.ui.conftest import START, environment
from weaklink.storage.saved import Verdict
from weaklink.storage.store import Store, open_store
from weaklink.ui.cli import watch as watching
from weaklink.ui.cli.import_rounds import FileCallback as Done
from weaklink.ui.cli.import_rounds import import_round
from weaklink.ui.cli.watch import BreakNews, LiveImport, PathWatcher, watched_paths
from weaklink.ui.importing.input_files import InputFile
from weaklink.ui.importing.unchanged_files import ImportOptions
from weaklink.ui.reports.import_report import FileReport
from weaklink.ui.views.styled_text import Line

CASES = Path(__file__).parents[2] / "cases" / "importers"
USER = '{"role": "user", "content": "When is high tide in Oslo?"}\n'
MALFORMED = (
    '{"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": '
    '{"name": "tide", "arguments": "{\\"place\\": \\"Os"}}]}\n'
)
REFUSAL = '{"role": "tool", "tool_call_id": "a", "content": "Error: the arguments are not JSON"}\n'
SECOND = (
    '{"role": "assistant", "tool_calls": [{"id": "b", "type": "function", "function": '
    '{"name": "tide", "arguments": "{\\"place\\": \\"Oslo\\"}"}}]}\n'
    '{"role": "tool", "tool_call_id": "b", "content": "14:20"}\n'
    '{"role": "assistant", "content": "At 14:20."}\n'
)


def words(line: Line) -> str:
    return "".join(run.text for run in line)


class Round:
    """A watch of a folder whose rounds are run one by one; `lines` are what it printed."""

    def __init__(self, folder: Path, database: Path) -> None:
        self._database = database
        self.store = open_store(database, busy_timeout_s=0.1)
        clock = count(0, 1_000).__next__  # nothing waits because reading it took long
        self.live = LiveImport(self.store, watched_paths([str(folder)]), ImportOptions(), clock=clock)
        self.now_s = 0.0
        self.news = BreakNews(self.store, clock=lambda: self.now_s)
        self.reports: list[FileReport] = []

    def __call__(self) -> list[str]:
        self.reports = []
        while self.live.round(self.reports.extend):
            pass
        self.live.round(self.reports.extend)
        return [words(line) for line in self.news.lines(self.reports, self.live)]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


@contextmanager
def rounds(folder: Path, name: str = "t.db") -> Iterator[Round]:
    watch = Round(folder, folder.parent / name)
    with watch.store:
        yield watch


def test_a_break_is_printed_once_and_so_is_its_end(logs: Path) -> None:
    with rounds(logs) as watch:
        log = logs / "chat.jsonl"
        log.write_text(USER + MALFORMED, encoding="utf-8")
        assert watch() == ["openai-messages  -  trace 1  broken at #1 J102 truncated-json tide"]
        log.write_text(USER + MALFORMED + REFUSAL, encoding="utf-8")
        assert watch() == []
        log.write_text(USER + MALFORMED + REFUSAL + SECOND, encoding="utf-8")
        assert watch() == ["openai-messages  -  trace 1  no longer broken"]


def test_a_session_that_grows_is_added_to_the_text_index_in_the_next_pause(logs: Path) -> None:
    with rounds(logs) as watch:
        log = logs / "chat.jsonl"
        log.write_text(USER + MALFORMED, encoding="utf-8")
        watch()
        assert watch.store.search.waiting() == 0
        log.write_text(USER + MALFORMED + REFUSAL, encoding="utf-8")
        assert watch.live.round(watch.reports.extend)
        assert watch.store.search.waiting() == 1
        assert not watch.live.round(watch.reports.extend)
        assert watch.store.search.waiting() == 0
        assert [hit.trace.id for hit in watch.store.search.find('"are not JSON"').hits] == [1]


def test_what_broke_before_is_imported_without_a_line(logs: Path) -> None:
    log = logs / "chat.jsonl"
    log.write_text(USER + MALFORMED, encoding="utf-8")
    os.utime(log, (1_700_000_000, 1_700_000_000))
    with rounds(logs) as watch:
        assert watch() == []
        assert [report.counts.traces for report in watch.reports] == [1]


@pytest.mark.parametrize("age_s", [3_600, 1_000_000])
def test_a_session_that_broke_before_and_goes_on_is_news_when_it_recovers(age_s: float, logs: Path) -> None:
    log = logs / "chat.jsonl"
    log.write_text(USER + MALFORMED, encoding="utf-8")
    os.utime(log, (time.time() - age_s,) * 2)
    with rounds(logs) as watch:
        assert watch() == []
        log.write_text(USER + MALFORMED + REFUSAL, encoding="utf-8")
        assert watch() == []
        log.write_text(USER + MALFORMED + REFUSAL + SECOND, encoding="utf-8")
        assert watch() == ["openai-messages  -  trace 1  no longer broken"]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("before", [1, 3, 9, 20])
@pytest.mark.parametrize("age_s", [3_600, 1_000_000])
def test_of_a_file_that_gets_another_row_only_that_row_is_news(before: int, age_s: float, logs: Path) -> None:
    """One conversation a line: what broke before the watch does not break again because the file grows."""
    row = f'{{"messages": [{USER.strip()}, {MALFORMED.strip()}], "n": 0}}\n'
    log = logs / "rows.jsonl"
    log.write_text("".join(row.replace("Oslo?", f"Oslo {number}?") for number in range(before)), encoding="utf-8")
    os.utime(log, (time.time() - age_s,) * 2)
    with rounds(logs) as watch:
        assert watch() == []
        assert sum(report.counts.traces for report in watch.reports) == before
        with log.open("a", encoding="utf-8") as stream:
            stream.write(row)
        assert watch() == [f"openai-messages  -  trace {before + 1}  broken at #1 J102 truncated-json tide"]


def test_what_an_earlier_watch_imported_is_no_news_for_the_next_one(logs: Path) -> None:
    row = f'{{"messages": [{USER.strip()}, {MALFORMED.strip()}], "n": 0}}\n'
    log = logs / "rows.jsonl"
    log.write_text(row + row.replace("Oslo", "Bodø"), encoding="utf-8")
    with rounds(logs) as watch:
        watch()
        assert sum(report.counts.traces for report in watch.reports) == 2
    time.sleep(0.1)  # the clock of files ticks less often than that of the watch
    with rounds(logs) as again:
        assert again() == []
        with log.open("a", encoding="utf-8") as stream:
            stream.write(row.replace("Oslo", "Bergen"))
        assert again() == ["openai-messages  -  trace 3  broken at #1 J102 truncated-json tide"]


@pytest.mark.parametrize("age_s", [0, 3_600])
def test_a_session_that_grew_while_nobody_watched_does_not_break_again_for_the_next_watch(
    age_s: float, logs: Path
) -> None:
    log = logs / "chat.jsonl"
    with rounds(logs) as watch:
        log.write_text(USER + MALFORMED, encoding="utf-8")
        assert watch() == ["openai-messages  -  trace 1  broken at #1 J102 truncated-json tide"]
    log.write_text(USER + MALFORMED + REFUSAL, encoding="utf-8")
    os.utime(log, (time.time() - age_s,) * 2)
    with rounds(logs) as watch:
        log.touch()
        assert watch() == []
        log.write_text(USER + MALFORMED + REFUSAL + SECOND, encoding="utf-8")
        assert watch() == ["openai-messages  -  trace 1  no longer broken"]


def test_two_watchers_print_the_same_and_the_database_has_one_trace(logs: Path) -> None:
    with rounds(logs) as first, rounds(logs) as other:
        (logs / "chat.jsonl").write_text(USER + MALFORMED, encoding="utf-8")
        assert first() == other() != []
        assert [saved.verdict for report in other.reports for saved in report.saved] == [Verdict.UNCHANGED]
        assert len(first.store.traces()) == 1


@pytest.mark.one_in(3)
@pytest.mark.parametrize("age_s", [0, 3_600, 1_000_000])
@pytest.mark.parametrize("is_first_again", [True, False])
def test_a_break_that_another_watcher_imported_first_is_printed_by_both(
    is_first_again: bool, age_s: float, logs: Path
) -> None:
    log, before = logs / "chat.jsonl", USER + SECOND.splitlines(keepends=True)[-1]
    log.write_text(before, encoding="utf-8")
    os.utime(log, (time.time() - age_s,) * 2)
    with rounds(logs) as told_first, rounds(logs) as other:
        assert told_first() == other() == []
        first, second = (told_first, other) if is_first_again else (other, told_first)
        log.write_text(before + USER + MALFORMED, encoding="utf-8")
        assert first() == second() == ["openai-messages  -  trace 1  broken at #1 J102 truncated-json tide"]
        log.write_text(before + USER + MALFORMED + REFUSAL + SECOND, encoding="utf-8")
        assert second() == first() == ["openai-messages  -  trace 1  no longer broken"]


def test_numbers_of_a_database_that_was_deleted_mean_nothing_in_the_new_one(logs: Path, tmp_path: Path) -> None:
    with rounds(logs) as watch:
        (logs / "broken.jsonl").write_text(USER + MALFORMED, encoding="utf-8")
        assert watch() == ["openai-messages  -  trace 1  broken at #1 J102 truncated-json tide"]
        time.sleep(0.02)
        (logs / "good.jsonl").write_text(USER.replace("Oslo", "Bergen") + SECOND, encoding="utf-8")
        assert watch() == []
        for file in tmp_path.glob("t.db*"):
            file.unlink()
        assert watch() == ["openai-messages  -  trace 2  broken at #1 J102 truncated-json tide"]


def test_while_another_program_locks_the_database_files_stay_due(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with rounds(logs) as watch, closing(sqlite3.connect(tmp_path / "t.db")) as other:
        (logs / "chat.jsonl").write_text(USER + MALFORMED, encoding="utf-8")
        other.execute("BEGIN IMMEDIATE")
        for _ in range(3):
            assert watch.live.round(watch.reports.extend)
        assert capsys.readouterr().err.count("weaklink keeps trying") == 1
        assert watch.reports == []
        other.rollback()
        assert watch() == ["openai-messages  -  trace 1  broken at #1 J102 truncated-json tide"]


def test_a_session_that_grows_is_read_in_this_process(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[int | None] = []

    def round_with(
        store: Store, files: list[InputFile], options: ImportOptions, count: int | None, done: Done, *, index: bool
    ) -> None:
        jobs.append(count)
        import_round(store, files, options, count, done, index=index)

    monkeypatch.setattr(watching, "import_round", round_with)
    path = logs / "session.jsonl"
    path.write_text(USER)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    with rounds(logs) as watch:
        watch()
        path.write_text(USER + MALFORMED)
        watch()
    assert jobs == [None, 1]


def test_a_file_that_is_refused_is_told_once(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with rounds(logs) as watch:
        for text in ("Dear diary,\n", "Dear diary,\nagain\n"):
            (logs / "diary.txt").write_text(text, encoding="utf-8")
            assert watch() == []
            watch.now_s += 5
            watch.news.print_refusals()
        assert capsys.readouterr().err.count("diary.txt: unknown format") == 1


@pytest.mark.parametrize("vanish", [lambda path: path.unlink(missing_ok=True), lambda path: path.write_text("")])
def test_a_log_that_is_deleted_or_emptied_while_it_is_read_is_no_refusal(
    vanish: Callable[[Path], object], logs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def import_too_late(store: Store, files: Sequence[InputFile], *rest: Any, **options: Any) -> None:
        vanish(logs / "a.jsonl")
        import_round(store, files, *rest, **options)

    monkeypatch.setattr(watching, "import_round", import_too_late)
    with rounds(logs) as watch:
        (logs / "a.jsonl").write_text(USER + MALFORMED)
        (logs / "b.jsonl").write_text(USER + MALFORMED)
        assert len(watch()) == 1
        watch.now_s += 5
        watch.news.print_refusals()
    assert [report.refused for report in watch.reports] == [None]
    assert capsys.readouterr().err == ""


def test_a_log_whose_first_line_is_still_being_written_is_not_reported(
    logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = logs / "a.jsonl"
    with rounds(logs) as watch:
        for text in (USER[:20], USER):
            path.write_text(text)
            watch()
            watch.now_s += 1
            watch.news.print_refusals()
        watch.now_s += 5
        watch.news.print_refusals()
        assert "a.jsonl" not in capsys.readouterr().err
        path.write_text(USER[:20])
        watch()
        watch.now_s += 5
        watch.news.print_refusals()
        assert "a.jsonl: no JSON object found" in capsys.readouterr().err


def test_a_folder_may_appear_later(tmp_path: Path) -> None:
    with rounds(tmp_path / "logs") as watch:
        assert watch() == []
        (tmp_path / "logs/new").mkdir(parents=True)
        (tmp_path / "logs/new/chat.jsonl").write_text(USER + MALFORMED, encoding="utf-8")
        assert len(watch()) == 1


def test_a_database_is_due_when_its_log_grows(logs: Path) -> None:
    path = logs / "opencode.db"
    shutil.copy(CASES / "opencode/sessions.db", path)
    with rounds(logs) as watch:
        watch()
        before = len(watch.store.traces())
        with closing(sqlite3.connect(path)) as agent:
            agent.execute("PRAGMA journal_mode = WAL")
            agent.execute("PRAGMA wal_autocheckpoint = 0")
            (session,) = agent.execute("SELECT id FROM session ORDER BY id LIMIT 1").fetchone()
            agent.execute("DELETE FROM session WHERE id <> ?", (session,))
            agent.commit()
            size = path.stat().st_size
            watch()
            assert path.stat().st_size == size
            assert [report.counts.traces for report in watch.reports][-1:] == [1]
            watch()
            assert watch.reports == []
        assert len(watch.store.traces()) == before > 1


def test_of_a_long_history_what_is_new_comes_first(logs: Path) -> None:
    for number in range(6):
        (logs / f"{number}.jsonl").write_text(USER + " " * 1_000, encoding="utf-8")
        os.utime(logs / f"{number}.jsonl", (1_700_000_000 + number,) * 2)
    watch = PathWatcher(watched_paths([str(logs)]))
    first = [Path(file.path).name for file in watch.due(1_500)]
    (logs / "now.jsonl").write_text(USER, encoding="utf-8")
    second = [Path(file.path).name for file in watch.due(1_500)]
    assert first == ["5.jsonl", "4.jsonl"]
    assert second == ["now.jsonl", "3.jsonl", "2.jsonl"]
    assert len(watch.due()) == 2


def test_the_places_of_agents_and_a_path_are_watched_together(
    tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in agents_environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    (tmp_path / ".pi/agent/sessions/x").mkdir(parents=True)
    (tmp_path / ".codex/sessions").mkdir(parents=True)
    for path in (tmp_path / ".pi/agent/sessions/x/a.jsonl", tmp_path / ".codex/sessions/b.jsonl", logs / "c"):
        path.touch()
    assert [Path(path).name for path in watched_paths(["pi", str(logs)])()] == ["a.jsonl", "c"]
    assert {Path(path).name for path in watched_paths([])()} == {"a.jsonl", "b.jsonl"}


def test_a_pause_grows_with_what_there_is_to_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    for took_s, pause_s in ((0.001, 0.2), (0.05, 0.45), (2.0, 1.0)):
        times = iter((0.0, took_s))
        watch = PathWatcher(list, clock=lambda times=times: next(times))  # type: ignore[misc]  # mypy sees no default
        watch.due()
        assert watch.pause_s == pytest.approx(pause_s)
    assert watching._MAX_PAUSE_S <= 1


def test_the_command_prints_what_breaks_until_it_is_interrupted(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*START, "watch", "--db", "t.db"],
        cwd=tmp_path,
        env=environment(tmp_path, **agents_environment(tmp_path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    assert process.stdout is not None
    try:
        assert b"watching the usual places of claude-code, " in process.stderr.readline()
        log = tmp_path / ".kimi/sessions/0/1/wire.jsonl"
        log.parent.mkdir(parents=True)
        log.write_text(USER + MALFORMED, encoding="utf-8")
        line = process.stdout.readline().decode()  # the test ends after ten minutes if it does not come
        assert line == "openai-messages  -  trace 1  broken at #1 J102 truncated-json tide\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out, err) == (0, b"", b"")
