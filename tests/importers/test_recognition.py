"""Which importer reads a file that several know, and how the report says so."""

import json
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.reading import most_confident, read_source
from weaklink.inspector.importers.source import FileSample, Skipped, SourceFile
from weaklink.inspector.model import Trace


@dataclass(frozen=True, slots=True)
class Known:
    """An importer of a name and signs, which reads nothing."""

    name: str
    signs: str

    def recognises(self, sample: FileSample) -> float:
        return 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        yield from ()


ONE, OTHER = Known("one", "a `key`"), Known("other", "a `word`")


def test_nobody_knows_what_nobody_is_sure_of() -> None:
    assert most_confident([]) is None
    assert most_confident([(0.0, ONE), (0.0, OTHER)]) is None


def test_the_first_of_two_that_are_equally_sure_reads_the_file() -> None:
    found = most_confident([(0.5, ONE), (0.5, OTHER)])
    assert found is not None
    assert found.importer is ONE
    assert found.why == (
        "Recognised as `one`: a `key` (confidence 0.5); next best: `other` (confidence 0.5), a `word`."
    )


def test_a_runner_up_that_is_far_behind_is_not_told() -> None:
    found = most_confident([(0.3, OTHER), (0.9, ONE)])
    assert found is not None
    assert found.why == "Recognised as `one`: a `key` (confidence 0.9)."


_USER = {"role": "user", "content": "List the files."}
_CALL = {"type": "tool_use", "id": "t1", "name": "ls", "input": {"path": "."}}
_ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "I look."}, _CALL]}
_RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a b"}]}
_MESSAGES = (("user", _USER), ("assistant", _ANSWER), ("user", _RESULT))


@pytest.mark.parametrize("source", ["claude-code", "pi"])
def test_a_file_that_a_source_reads_nevertheless_says_how(source: str, tmp_path: Path) -> None:
    call = {"type": "toolCall", "id": "c", "name": "ls", "arguments": {"path": "."}}
    messages = (("user", _USER), ("assistant", {"role": "assistant", "content": [call]}))
    rows: dict[str, list[dict[str, Any]]] = {
        "claude-code": [{"type": kind, "uuid": str(id(m)), "message": m} for kind, m in _MESSAGES],
        "pi": [{"type": "message", "id": kind, "parentId": "user", "message": message} for kind, message in messages],
    }
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows[source]))
    with pytest.raises(UnreadableFileError) as raised:
        read_source(path)
    said = str(raised.value)
    assert f"; the nearest source is `{source}` (" in said
    assert {"claude-code": "but `sessionId` is missing;", "pi": "but `session`, `cwd` are missing;"}[source] in said
    (trace,) = [record for record in read_source(path, source).records if isinstance(record, Trace)]
    assert said.endswith(f"; `--source {source}` reads {len(trace.turns)} turns and 1 call at its beginning")


@pytest.mark.parametrize(
    ("rows", "member", "command"),
    [
        ([{"kind": kind, "msg": message} for kind, message in _MESSAGES], "msg", "jq -c '.msg // empty'"),
        ([{"e": {"m": message}, "n": 1} for _, message in _MESSAGES], "e.m", "jq -c '.e.m // empty'"),
        ([{"dialog": [message for _, message in _MESSAGES]}], "dialog", "jq -c '{messages: .dialog}'"),
    ],
)
def test_messages_within_the_rows_of_an_unknown_agent_can_be_taken_out(
    rows: list[dict[str, Any]], member: str, command: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with pytest.raises(UnreadableFileError) as raised:
        read_source(path)
    expected = f"; its messages are in `{member}`: `{command}` makes a file of them that can be imported"
    assert str(raised.value).endswith(expected)
    if (jq := shutil.which("jq")) is not None:
        made = tmp_path / "made.jsonl"
        made.write_bytes(subprocess.run([jq, *shlex.split(command)[1:], path], capture_output=True, check=True).stdout)
        (trace,) = read_source(made).records
        assert isinstance(trace, Trace)
        assert [call.name for turn in trace.turns for call in turn.calls] == ["ls"]


def test_the_events_of_an_unknown_agent_are_no_completions(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    rows = [{"event": "tool_call", "tool": "ls", "args": {}}, {"event": "tool_result", "output": "a b"}]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with pytest.raises(UnreadableFileError):
        read_source(path)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (
            '{"type": "session", "cwd": "/x", "version": 9}',
            "unknown format: the first row has the keys `type`, `cwd`, `version`; the nearest source is `pi` ",
        ),
        ('{"type": "session", "cwd": "/x", "version": 9}', ", but `parentId` is missing"),
        ('{"traj": 1, "task_id": 2, "reward": 3}', ", but the members have other values"),
        ('{"log": {"entry": 1}}', "unknown format: the first row has the keys `log`"),
        ("{}", "unknown format: the first row has no keys"),
    ],
)
def test_a_file_of_an_unknown_source_names_the_nearest_and_what_differs(row: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(row)
    with pytest.raises(UnreadableFileError) as raised:
        read_source(path)
    assert reason in str(raised.value)
    assert str(raised.value).endswith("`log`") is ('"log"' in row)
