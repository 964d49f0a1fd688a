"""`weaklink import` without a path: the logs of agents are found in their usual places, and imported."""

import json
import os
import re
import shlex
import shutil
import time
from pathlib import Path

import pytest

from tests.ui.conftest import Run
from weaklink.inspector.importers.places import PLACES, found_logs
from weaklink.inspector.importers.registry import source_names

CASES = Path(__file__).parents[2] / "cases" / "importers"
LOGS = {
    "claude-code": (".claude/projects/-home-ada/session.jsonl", "claude-code/session.jsonl"),
    "codex": (".codex/sessions/2026/11/02/rollout.jsonl", "codex/rollout.jsonl"),
    "pi": (".pi/agent/sessions/--home-ada--/session.jsonl", "pi/branches.jsonl"),
    "gemini-cli": (".gemini/tmp/harbour/chats/session-1.jsonl", "gemini-cli/lines.jsonl"),
    "opencode": (".local/share/opencode/opencode.db", "opencode/sessions.db"),
    "copilot-cli": (".copilot/session-state/co-1/events.jsonl", "copilot-cli/events.jsonl"),
    "cline": (".cline/data/sessions/cl-1/cl-1.messages.json", "cline/tide.messages.json"),
    "qwen-code": (".qwen/projects/-home-ada/chats/qw-1.jsonl", "qwen-code/session.jsonl"),
    "continue": (".continue/sessions/ct-1.json", "continue/session.json"),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a log of nine agents."""
    put_logs(tmp_path)
    return tmp_path


def put_logs(home: Path) -> None:
    """Write a log of nine agents below a home, and beside them a file that is none."""
    for log, case in LOGS.values():
        path = home / log
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CASES / case, path)
    (home / ".continue/sessions/sessions.json").write_text("[]", encoding="utf-8")
    (home / ".claude/projects/-home-ada/empty.jsonl").touch()


def environment(home: Path, **more: str) -> dict[str, str]:
    moved = {log_folder.variable: "" for log_folder in PLACES if log_folder.variable}
    return moved | {"HOME": str(home)} | more


def test_one_command_imports_what_all_agents_wrote(weaklink: Run, home: Path) -> None:
    done = weaklink("import", "--db", str(home / "runs.db"), **environment(home))
    assert done.returncode == 0, done.stderr
    assert b"found 9 logs of claude-code, codex, pi, " in done.stderr
    lines = weaklink("list", "--json", "--db", str(home / "runs.db")).stdout.splitlines()
    assert {json.loads(line)["source"] for line in lines} == set(LOGS)
    command = re.search(r"what broke, newest first: `weaklink (.*)`", done.stderr.decode())
    assert command is not None
    assert weaklink(*shlex.split(command[1]), "--json").stdout  # however old the logs are


def test_what_is_found_is_listed_by_agent_and_project(weaklink: Run, home: Path) -> None:
    done = weaklink("import", "--discover", **environment(home))
    rows = [line.split() for line in done.stdout.decode().splitlines()]
    assert rows[0] == ["agent", "project", "logs", "new", "newest", "where"]
    assert ["pi", "harbour", "1", "1"] in [row[:4] for row in rows]
    assert not (home / ".local/share/weaklink").exists()
    payload = json.loads(weaklink("import", "--discover", "--json", **environment(home)).stdout)
    assert [log["source"] for log in payload] == list(LOGS)


def test_one_agent_or_project_or_what_is_new(weaklink: Run, home: Path) -> None:
    old = home / LOGS["qwen-code"][0]
    os.utime(old, (time.time() - 9 * 86_400,) * 2)

    def listed(*words: str) -> list[str]:
        done = weaklink("import", "--discover", "--json", *words, **environment(home))
        return [log["source"] for log in json.loads(done.stdout)]

    assert listed("pi", "continue") == ["pi", "continue"]
    assert set(LOGS) - set(listed("--since", "7d")) == {"qwen-code"}
    assert set(listed("--project", "harbour")) == {
        "pi",
        "gemini-cli",
        "opencode",
        "copilot-cli",
        "cline",
        "qwen-code",
        "continue",
    }
    database = ("--db", str(home / "runs.db"))
    assert weaklink("import", "opencode", "--project", "elsewhere", *database, **environment(home)).returncode == 0
    assert weaklink("list", "--json", *database).stdout == b""


def test_a_variable_moves_a_folder(home: Path, tmp_path: Path) -> None:
    (home / ".pi/agent").rename(home / "elsewhere")
    moved = environment(home, PI_CODING_AGENT_DIR=str(home / "elsewhere"))
    assert [log.path for log in found_logs(["pi"], moved)] == [
        str(home / "elsewhere/sessions/--home-ada--/session.jsonl")
    ]
    assert list(found_logs(["pi"], environment(home))) == []


def test_without_logs_a_sentence_says_where_they_were_looked_for(weaklink: Run, tmp_path: Path) -> None:
    done = weaklink("import", **environment(tmp_path))
    assert done.returncode == 2
    assert b"no logs of agents were found in their usual places (claude-code, codex, pi, " in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_path_and_an_agent_are_not_mixed(weaklink: Run, home: Path) -> None:
    done = weaklink("import", "pi", str(home / LOGS["pi"][0]), **environment(home))
    assert done.returncode == 2
    assert b"cannot be combined with a PATH" in done.stderr


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("claude-cod", "there is no file claude-cod; did you mean the agent claude-code?"),
        ("Gemini", "there is no file Gemini; did you mean the agent gemini-cli?"),
        ("swe-agent", "the logs of swe-agent have no usual place; name a PATH"),
        ("logs/today.jsonl", None),
    ],
)
def test_a_misspelt_agent_is_named(name: str, hint: str | None, weaklink: Run, home: Path) -> None:
    done = weaklink("import", name, "--db", str(home / "runs.db"), **environment(home))
    assert done.returncode == 2
    notices = [line for line in done.stderr.decode().splitlines() if "weaklink: " in line]
    assert notices == ([] if hint is None else [f"weaklink: {hint}"])


def test_what_another_file_of_the_session_tells_is_not_found(tmp_path: Path) -> None:
    sessions = tmp_path / ".openclaw/agents/main/sessions"
    sessions.mkdir(parents=True)
    shutil.copy(CASES / "pi/branches.jsonl", sessions / "s-41.jsonl")
    shutil.copy(CASES / "openclaw-trajectory/two_sessions.jsonl", sessions / "s-41.trajectory.jsonl")
    logs = found_logs(environ=environment(tmp_path))
    assert [Path(log.path).name for log in logs] == ["s-41.jsonl"]


def test_logs_in_a_project_are_found_from_any_folder_of_its_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "harbour"
    (project / ".git").mkdir(parents=True)
    (project / ".crush").mkdir()
    (project / "src").mkdir()
    (project / ".aider.chat.history.md").write_text("# aider chat started at 2026-11-02 10:00:00\n", encoding="utf-8")
    (project / ".crush/crush.db").write_bytes(b"SQLite")
    (tmp_path / ".aider.chat.history.md").write_text("# another project's\n", encoding="utf-8")
    monkeypatch.chdir(project / "src")
    logs = [(log.source, log.path, log.project) for log in found_logs(environ=environment(tmp_path / "empty"))]
    assert logs == [
        ("crush", str(project / ".crush/crush.db"), "harbour"),
        ("aider", str(project / ".aider.chat.history.md"), "harbour"),
    ]


def test_the_projects_that_crush_lists_are_found_from_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    databases = [tmp_path / "one/.crush/crush.db", tmp_path / "two/data/crush.db"]
    for database in databases:
        database.parent.mkdir(parents=True)
        database.write_bytes(b"SQLite")
    listed = [
        {"path": str(tmp_path / "one"), "data_dir": str(tmp_path / "one/.crush")},
        {"path": str(tmp_path / "two"), "data_dir": "data"},
        {"path": str(tmp_path / "gone"), "data_dir": ".crush"},
        {"path": 7},
    ]
    (tmp_path / "share/crush").mkdir(parents=True)
    projects = tmp_path / "share/crush/projects.json"
    projects.write_text(json.dumps({"projects": listed}), encoding="utf-8")
    monkeypatch.chdir(tmp_path / "one")
    moved = environment(tmp_path / "empty", XDG_DATA_HOME=str(tmp_path / "share"))
    assert [log.path for log in found_logs(["crush"], moved)] == list(map(str, databases))
    projects.write_text("[" * 9, encoding="utf-8")
    assert [log.path for log in found_logs(["crush"], moved)] == [str(databases[0])]


def test_every_place_is_of_a_source() -> None:
    assert {log_folder.source for log_folder in PLACES} <= set(source_names())
