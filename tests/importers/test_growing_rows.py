"""A file that grows is read on from where it was read to, and gives what a reading from the beginning gives."""

import random
from pathlib import Path

import pytest

from weaklink.inspector.importers.agents import session_logs
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.memoized import memoizing
from weaklink.inspector.memory import TOO_MANY_ROWS, estimated_memory
from weaklink.inspector.model import Trace

CASES = Path(__file__).parents[1] / "cases" / "importers"
SOURCES = (
    *("claude-code", "codex", "codex-output", "copilot-chat", "copilot-cli", "droid", "gemini-cli", "goose", "kimi"),
    *("pi", "qwen-code"),
)
LOGS = [*(path for source in SOURCES for path in sorted((CASES / source).glob("*.jsonl")))]


def records(path: Path, source: str = "claude-code") -> list[Trace | Skipped]:
    """What the file has."""
    return list(read_source(path, source).records)


@pytest.mark.parametrize("case", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_file_read_while_it_grows_gives_what_it_gives_at_once(case: Path, tmp_path: Path) -> None:
    text = case.read_bytes()
    log = tmp_path / "log.jsonl"
    lines = text.splitlines(keepends=True)
    cuts = [len(b"".join(lines[:number])) for number in range(2, len(lines))]
    cuts += random.Random(case.name).sample(range(len(lines[0]), len(text)), min(5, len(lines) - 1))
    for size in (*sorted(cuts), len(text)):
        log.write_bytes(text[:size])
        with memoizing():
            grown = records(log, case.parent.name)
        assert grown == records(log, case.parent.name)


@pytest.mark.parametrize(
    "case",
    [
        *("claude-code/session", "codex/rollout", "copilot-cli/events", "droid/session"),
        *("kimi/wire", "pi/branches", "qwen-code/session"),
    ],
)
def test_the_known_turns_of_a_file_that_grows_are_not_read_again(case: str, tmp_path: Path) -> None:
    source = case.partition("/")[0]
    lines = (CASES / f"{case}.jsonl").read_bytes().splitlines(keepends=True)
    log = tmp_path / "log.jsonl"
    with memoizing():
        log.write_bytes(b"".join(lines[:-4]))
        before = next(record for record in records(log, source) if isinstance(record, Trace))
        log.write_bytes(b"".join(lines))
        after = next(record for record in records(log, source) if isinstance(record, Trace))
    assert before.turns[0] is after.turns[0]
    assert before.turns[1] is after.turns[1]
    assert len(after.turns) > len(before.turns)


def test_a_file_whose_beginning_changed_is_read_from_the_beginning(tmp_path: Path) -> None:
    text = (CASES / "claude-code/session.jsonl").read_bytes()
    lines = text.splitlines(keepends=True)
    log = tmp_path / "log.jsonl"
    with memoizing():
        for content in (b"".join(lines[:-1]), text.replace(b"tide", b"tides"), b"".join(lines[:3]), text):
            log.write_bytes(content)
            grown = records(log)
            with memoizing(is_on=False):
                assert grown == records(log)


@pytest.mark.parametrize("case", ["claude-code/session", "codex/rollout", "pi/branches"])
def test_a_session_that_takes_too_much_memory_is_reported_once_while_it_grows(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = case.partition("/")[0]
    lines = (CASES / f"{case}.jsonl").read_bytes().splitlines(keepends=True)
    monkeypatch.setattr(session_logs, "RECORD_MEMORY", sum(map(estimated_memory, lines[:6])))
    log = tmp_path / "log.jsonl"
    grown: list[Trace | Skipped] = []
    for number in range(5, len(lines) + 1):
        log.write_bytes(b"".join(lines[:number]))
        with memoizing():
            grown = records(log, source)
        assert grown == records(log, source)
    assert [record.reason for record in grown if isinstance(record, Skipped)].count(TOO_MANY_ROWS) == 1
