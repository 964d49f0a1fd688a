"""`weaklink watch` tells within a second what broke in a log, of every agent whose logs it finds.

Each log begins with a question, and grows by a failing call and what its agent wrote after it, as its agent writes:
lines are appended, a document is written anew, rows come into a database's write-ahead log, an event is a file.
"""

import json
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from tests.ui.cli.test_discovery import environment
from weaklink.inspector.importers.places import sources_with_places
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.records import layout_of
from weaklink.inspector.importers.sqlite_tables import MAGIC
from weaklink.inspector.model import Trace
from weaklink.storage.store import open_store
from weaklink.ui.cli.watch import BreakNews, LiveImport, watched_paths
from weaklink.ui.importing.unchanged_files import ImportOptions
from weaklink.ui.reports.import_report import FileReport

CASES = Path(__file__).parents[2] / "cases" / "importers"
_LATEST_S = 1.0  # of waiting, beside the time that reading takes
_NO_BREAKS = {"aider", "cursor-cli", "droid", "lm-studio", "openclaw", "qwen-code"}  # in the end of their cases
_CODE = ".config/Code/User"
_EVENTS = "openhands-sdk/events.jsonl"

LOGS = [
    ("claude-code", ".claude/projects/-home-ada/a.jsonl", "claude-code/broken.jsonl"),
    ("codex", ".codex/sessions/2026/11/02/rollout.jsonl", "codex/broken.jsonl"),
    ("pi", ".pi/agent/sessions/--home-ada--/a.jsonl", "pi/branches.jsonl"),
    ("openclaw", ".openclaw/agents/main/agent/openclaw-agent.sqlite", "openclaw/agent.sqlite"),
    ("gemini-cli", ".gemini/tmp/harbour/chats/a.jsonl", "gemini-cli/lines.jsonl"),
    ("opencode", ".local/share/opencode/opencode.db", "opencode/sessions.db"),
    ("copilot-cli", ".copilot/session-state/co-1/events.jsonl", "copilot-cli/events.jsonl"),
    ("copilot-chat", f"{_CODE}/workspaceStorage/1/chatSessions/a.jsonl", "copilot-chat/session.jsonl"),
    ("cline", ".cline/data/sessions/cl-1/cl-1.messages.json", "cline/tide.messages.json"),
    ("cursor", ".config/Cursor/User/globalStorage/state.vscdb", "cursor/state.vscdb"),
    ("cursor-cli", ".cursor/chats/1/2/store.db", "cursor-cli/store.db"),
    ("cursor-cli", ".cursor/projects/p/agent-transcripts/a.jsonl", "cursor-cli/agent-transcript.jsonl"),
    ("zed", ".local/share/zed/threads/threads.db", "zed/threads.db"),
    ("qwen-code", ".qwen/projects/-home-ada/chats/qw-1.jsonl", "qwen-code/session.jsonl"),
    ("continue", ".continue/sessions/ct-1.json", "continue/session.json"),
    ("goose", ".local/share/goose/sessions/sessions.db", "goose/sessions.db"),
    ("hermes-sessions", ".hermes/state.db", "hermes-sessions/export.jsonl"),
    ("mini-swe-agent", ".config/mini-swe-agent/a.traj.json", "mini-swe-agent/tool_calls.json"),
    ("openhands-sdk", ".openhands/conversations/1/base_state.json", _EVENTS),
    ("kimi", ".kimi/sessions/0/1/wire.jsonl", "kimi/wire.jsonl"),
    ("crush", ".crush/crush.db", "crush/crush.db"),
    ("aider", ".aider.chat.history.md", "aider/run.chat.history.md"),
    ("droid", ".factory/sessions/a.jsonl", "droid/session.jsonl"),
    ("amp", ".local/share/amp/threads/T-1.json", "amp/thread.json"),
    ("lm-studio", ".lmstudio/conversations/a.conversation.json", "lm-studio/a.conversation.json"),
    ("llm-database", ".config/io.datasette.llm/logs.db", "llm-database/threads.db"),
]


def begin(log: Path, case: Path, agents: ExitStack) -> Callable[[], None]:
    """Write the beginning of a log; returns what writes the rest of the case. `agents` keep their databases open."""
    content = case.read_bytes()
    if log.name == "base_state.json":
        return _events(log, content)
    if content.startswith(MAGIC):
        return _database(log, case, agents)
    if log.name == "state.db":
        return _database(log, _hermes_database(log.parent / "case.db", content), agents)
    if layout_of(content) == "line":
        lines = content.splitlines(keepends=True)
        log.write_bytes(b"".join(lines[:2]))
        return lambda: _write(log, b"".join(lines[2:]), "ab")
    log.write_text(json.dumps(_shortened(json.loads(content))), encoding="utf-8")
    return lambda: _write(log, content)


def _write(log: Path, content: bytes, mode: str = "wb") -> None:
    with log.open(mode) as stream:
        stream.write(content)


def _shortened(value: Any) -> Any:
    """A session with its first message only: of each list of objects, the first."""
    if isinstance(value, dict):
        return {key: _shortened(member) for key, member in value.items()}
    is_long = isinstance(value, list) and all(isinstance(item, dict) for item in value)
    return value[:1] if is_long else value


def _database(log: Path, case: Path, agents: ExitStack) -> Callable[[], None]:
    """A database without rows, which its agent has open."""
    shutil.copy(case, log)
    with closing(sqlite3.connect(log)) as agent:
        agent.execute("PRAGMA journal_mode = WAL")
        tables = [
            name
            for (name,) in agent.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
            )
        ]
        for table in tables:
            agent.execute(f'DELETE FROM "{table}"')
        agent.commit()
    agent = agents.enter_context(closing(sqlite3.connect(log)))

    def grow() -> None:
        agent.execute("PRAGMA wal_autocheckpoint = 0")
        agent.execute("ATTACH ? AS whole", (str(case),))
        for table in tables:
            agent.execute(f'INSERT INTO main."{table}" SELECT * FROM whole."{table}"')
        agent.commit()

    return grow


def _hermes_database(path: Path, export: bytes) -> Path:
    """The database from which Hermes Agent wrote an export of a session."""
    session = json.loads(export.splitlines()[0])
    messages = [message | {"session_id": session["id"], "active": 1} for message in session.pop("messages")]
    with closing(sqlite3.connect(path)) as database:
        for name, rows in (("sessions", [session]), ("messages", messages)):
            columns = list(dict.fromkeys(key for row in rows for key in row))
            database.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            values = [[_column(row.get(column)) for column in columns] for row in rows]
            database.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", values)
        database.commit()
    return path


def _column(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value


def _events(log: Path, events: bytes) -> Callable[[], None]:
    """A conversation of OpenHands: its state is written when a run begins and when it ends, an event is a file."""
    state = {"id": "oh-1", "agent": {"llm": {"model": "m"}}, "execution_status": "running", "workspace": {}}
    folder = log.parent / "events"
    folder.mkdir()
    log.write_text(json.dumps(state), encoding="utf-8")
    lines = events.splitlines()

    def write(numbers: range) -> None:
        for number in numbers:
            (folder / f"event-{number:05}-{number}.json").write_bytes(lines[number])

    write(range(2))
    return lambda: write(range(2, len(lines)))


def turns_in(log: Path) -> int:
    return sum(len(record.turns) for record in read_source(log).records if isinstance(record, Trace))


@pytest.mark.parametrize(("source", "relative_path", "case"), LOGS, ids=lambda value: str(value).rpartition("/")[2])
def test_what_breaks_is_told_within_a_second(
    source: str, relative_path: str, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    slept_s: list[float] = []
    sleep = time.sleep

    def noted_sleep(seconds: float) -> None:
        slept_s.append(seconds)
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", noted_sleep)
    log = tmp_path / relative_path
    log.parent.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []

    def put(reports: list[FileReport]) -> None:
        lines.extend("".join(run.text for run in line) for line in news.lines(reports, live))

    with open_store(tmp_path / "t.db") as store, ExitStack() as agents:
        live = LiveImport(store, watched_paths([source]), ImportOptions())
        news = BreakNews(store)

        def watch_until(is_told: Callable[[], bool]) -> None:
            slept_s.clear()
            while not is_told() and sum(slept_s) <= _LATEST_S:
                if not live.round(put):
                    live.files.wait()
            assert is_told()

        grow = begin(log, CASES / case, agents)
        watch_until(lambda: sum(slept_s) > 0.5)
        lines.clear()
        grow()
        turns = turns_in(log)
        watch_until(lambda: sum(trace.turns for trace in store.traces()) >= turns)
        if source not in _NO_BREAKS:
            assert [line for line in lines if line.startswith(source) and "broken at" in line]


def test_every_agent_whose_logs_are_found_is_among_them() -> None:
    assert {source for source, _, _ in LOGS} == set(sources_with_places())
