"""Logs that were joined to one file are the sessions of each, whichever agent wrote them."""

import json
from pathlib import Path

import pytest

from weaklink.inspector.importers.agents import agent_session, session_logs
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.memory import estimated_memory
from weaklink.inspector.model import ParentWhy, Trace, TurnFlag

_CASES = Path(__file__).parents[1] / "cases" / "importers"
_LOGS = (
    *("claude-code-output/blocks", "claude-code/fork", "claude-code/session", "codex-output/exec", "codex/bare"),
    *("codex/fork", "codex/rollout", "codex/subagent", "copilot-chat/session"),
    *("copilot-cli/events", "droid/session", "gemini-cli/lines"),
    *("pi/branches", "pi/first_version", "qwen-code/session"),
)


def _traces(path: Path) -> list[Trace]:
    return [record for record in read_source(path).records if isinstance(record, Trace)]


@pytest.mark.parametrize("log", _LOGS)
def test_two_sessions_in_one_file_are_two(log: str, tmp_path: Path) -> None:
    path = _CASES / f"{log}.jsonl"
    text = other = path.read_text(encoding="utf-8", errors="surrogateescape")
    for id_ in {one.value for trace in _traces(path) for one in trace.external_ids}:
        other = other.replace(id_, f"x{id_[1:]}")
    alone = []
    for name, content in (("one.jsonl", text), ("two.jsonl", other)):
        (tmp_path / name).write_text(content, encoding="utf-8", errors="surrogateescape")
        alone += _traces(tmp_path / name)
    joined = tmp_path / "joined.jsonl"
    joined.write_text(text.rstrip("\n") + "\n" + other, encoding="utf-8", errors="surrogateescape")
    expected = [(trace.external_ids, trace.parent, tuple(trace.turns)) for trace in alone]
    assert [(trace.external_ids, trace.parent, tuple(trace.turns)) for trace in _traces(joined)] == expected


def test_a_fork_is_one_session_however_many_it_continues(tmp_path: Path) -> None:
    first, *rows = (_CASES / "codex" / "fork.jsonl").read_text(encoding="utf-8").splitlines()
    parent = "019a0000-0000-7000-8000-000000000001"
    elder = "019a0000-0000-7000-8000-00000000000f"
    forked = rows[0].replace(f'"id":"{parent}"', f'"id":"{parent}","forked_from_id":"{elder}"')
    path = tmp_path / "fork.jsonl"
    path.write_text("\n".join([first, forked, rows[0].replace(parent, elder), *rows[1:]]), encoding="utf-8")
    (trace,) = _traces(path)
    assert trace.parent is not None
    assert trace.parent.external_id.value == parent


_WITHOUT_IDS = ("goose/legacy", "kimi/context", "kimi/wire")
"""Logs that begin with a row of their own, and whose sessions are named by their file."""


@pytest.mark.parametrize("log", _WITHOUT_IDS)
def test_sessions_named_by_their_file_are_told_apart(log: str, tmp_path: Path) -> None:
    text = (_CASES / f"{log}.jsonl").read_text(encoding="utf-8")
    (tmp_path / "log.jsonl").write_text(text, encoding="utf-8")
    (alone,) = _traces(tmp_path / "log.jsonl")
    (tmp_path / "log.jsonl").write_text(text + text.replace("Tow", "Pull"), encoding="utf-8")
    first, second = _traces(tmp_path / "log.jsonl")
    assert (first.external_ids, first.turns) == (alone.external_ids, alone.turns)
    assert (len(second.turns), second.external_ids != first.external_ids) == (len(alone.turns), True)


_AGENTS = (
    *("claude-code", "codex", "copilot-chat", "copilot-cli", "cursor-cli", "droid", "gemini-cli", "goose"),
    *("hermes-sessions", "kimi", "pi", "qwen-code"),
)
_LINES = sorted(path for agent in _AGENTS for path in (_CASES / agent).glob("*.jsonl"))


@pytest.mark.parametrize("path", _LINES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_foreign_object_before_a_log_changes_nothing_else(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.parent.name / path.name
    copy.parent.mkdir()
    copy.write_bytes(path.read_bytes())
    alone = _traces(copy)
    copy.write_bytes(b'{"level": "info", "msg": "started"}\n' + path.read_bytes())
    assert read_source(copy).source == read_source(path).source
    expected = [(trace.external_ids, trace.parent, tuple(trace.turns)) for trace in alone]
    assert [(trace.external_ids, trace.parent, tuple(trace.turns)) for trace in _traces(copy)] == expected


def test_what_a_rewind_left_is_a_fork() -> None:
    main, fork = _traces(_CASES / "gemini-cli" / "lines.jsonl")
    assert fork.parent is not None
    assert (fork.parent.why, (fork.parent.external_id,)) == (ParentWhy.FORK, main.external_ids)
    own = [turn for turn in fork.turns if TurnFlag.COPIED_CONTEXT not in turn.flags]
    assert [turn.parts[0].text for turn in own] == ["Leave it.", "Left."]
    assert [turn.parts for turn in fork.turns[:-2]] == [turn.parts for turn in main.turns[:-2]]


@pytest.mark.parametrize(
    "log",
    [
        *("chatgpt-export/conversations.json", "open-webui/export.json", "continue/session.json"),
        *("amp/thread.json", "lm-studio/a.conversation.json", "opencode/export.json", "cline/tide.messages.json"),
    ],
)
def test_an_export_of_many_sessions_is_read_whole(log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may be in memory at once bounds a session, not the sessions that an export holds beside each other."""
    value = json.loads((_CASES / log).read_text(encoding="utf-8"))
    lines = [json.dumps(one) for one in (value if isinstance(value, list) else [value])] * 9
    (tmp_path / "export.jsonl").write_text("\n".join(lines), encoding="utf-8")
    least = max(estimated_memory(line.encode()) for line in lines)
    monkeypatch.setattr(agent_session, "RECORD_MEMORY", 2 * least)
    alone = len(_traces(_CASES / log))
    assert alone > 0
    assert len(_traces(tmp_path / "export.jsonl")) == 9 * alone


@pytest.mark.parametrize("head", ["{}", '{"id": 5}'])
def test_a_head_without_an_id_begins_a_session(head: str, tmp_path: Path) -> None:
    text = (_CASES / "codex" / "rollout.jsonl").read_text(encoding="utf-8")
    _, *rows = text.splitlines()
    nameless = "\n".join([f'{{"type": "session_meta", "payload": {head}}}', *rows])
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([text.rstrip("\n"), nameless, nameless]), encoding="utf-8")
    first, *others = _traces(path)
    assert [one.turns[-1].parts for one in others] == 2 * [first.turns[-1].parts]
    assert len({one.external_ids for one in (first, *others)}) == 3


def test_each_session_of_claude_code_on_the_web_has_its_own_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = json.dumps(json.loads((_CASES / "claude-code" / "web.json").read_text(encoding="utf-8")))
    (alone,) = _traces(_CASES / "claude-code" / "web.json")
    (id_,) = (one.value for one in alone.external_ids)
    path = tmp_path / "web.jsonl"
    path.write_text("\n".join(line.replace(id_, f"{number}{id_[1:]}") for number in range(9)), encoding="utf-8")
    monkeypatch.setattr(session_logs, "RECORD_MEMORY", 2 * estimated_memory(line.encode()))
    assert [len(trace.turns) for trace in _traces(path)] == 9 * [len(alone.turns)]
