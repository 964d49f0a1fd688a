"""Logs that were joined to one file are the sessions of each, whichever agent wrote them."""

from pathlib import Path

import pytest

from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.model import Trace

_CASES = Path(__file__).parents[1] / "cases" / "importers"
_LOGS = (
    *("claude-code-output/blocks", "claude-code/fork", "claude-code/session", "codex-output/exec", "codex/bare"),
    *("codex/fork", "codex/rollout", "codex/subagent", "copilot-cli/events", "droid/session", "gemini-cli/lines"),
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
