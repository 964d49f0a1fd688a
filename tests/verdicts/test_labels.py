"""The labels of `tuning/` and `held-out/`: each refers to a call of its session, in the words of the README.

The sessions are read here by a few lines per format, so that no code of weaklink decides what the labels mean.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
LABELS = sorted(FOLDER.glob("*/*.labels.json"))
KINDS = {"failure", "finding", "probe", "rejected", "not-run", None}
REPAIRS = {"answered", "same-intent", "other-tool", "worked-around", "not-needed"}
SAID = {"reported", "silent", "concealed"}
STATUSES = {"ok", "recovered", "broken", "aborted", "unknown"}
CODEX_CALLS = {"function_call", "custom_tool_call", "local_shell_call", "web_search_call"}
CODEX_ITEMS = {"command_execution", "mcp_tool_call", "file_change", "web_search"}


def _labels(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _session(labels: Path) -> Path:
    return labels.with_name(labels.name.removesuffix(".labels.json"))


def _records(path: Path) -> list[Any]:
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else [json.loads(text)]


def _calls(path: Path, source: str) -> list[str | None]:
    """The id of each call that the model made, in order; None where the source has no ids."""
    return list(_READERS[source](_records(path)))


def _claude_code(rows: list[Any]) -> Iterator[str | None]:
    for row in rows:
        if row["type"] == "assistant":
            yield from (block["id"] for block in row["message"]["content"] if block["type"] == "tool_use")


def _codex(rows: list[Any]) -> Iterator[str | None]:
    for row in rows:
        if row["type"] == "response_item" and row["payload"]["type"] in CODEX_CALLS:
            yield row["payload"].get("call_id")


def _codex_output(rows: list[Any]) -> Iterator[str | None]:
    for row in rows:
        if row["type"] == "item.completed" and row["item"]["type"] in CODEX_ITEMS:
            yield row["item"]["id"]


def _openhands(documents: list[Any]) -> Iterator[str | None]:
    for event in documents[0]:
        if "action" in event and "tool_call_metadata" in event:
            yield event["tool_call_metadata"]["tool_call_id"]


def _messages(messages: list[Any]) -> Iterator[str | None]:
    for message in messages:
        if message["role"] == "assistant":
            yield from (call["id"] for call in message.get("tool_calls") or ())


def _swe_agent(documents: list[Any]) -> Iterator[str | None]:
    for message in documents[0]["history"]:
        if message["role"] == "assistant":
            yield from [call["id"] for call in message.get("tool_calls") or ()] or [None]


def _harbor(documents: list[Any]) -> Iterator[str | None]:
    for step in documents[0]["steps"]:
        if step["source"] == "agent" and step["message"].startswith("{"):
            yield from (None for _ in json.loads(step["message"])["commands"])
        yield from (call["tool_call_id"] for call in step.get("tool_calls", ()))


_READERS = {
    "claude-code": _claude_code,
    "claude-code-output": _claude_code,
    "codex": _codex,
    "codex-output": _codex_output,
    "openhands": _openhands,
    "swe-agent": _swe_agent,
    "mini-swe-agent": lambda documents: _messages(documents[0]["messages"]),
    "openai-messages": lambda rows: _messages(rows[0]["messages"]),
    "tau-bench": lambda documents: _messages(documents[0][0]["traj"]),
    "inspect": lambda documents: _messages(documents[0]["samples"][0]["messages"]),
    "harbor-atif": _harbor,
}


def test_each_session_has_labels_and_each_labels_file_a_session() -> None:
    files = {path for folder in ("tuning", "held-out") for path in (FOLDER / folder).iterdir()}
    assert files == set(LABELS) | set(map(_session, LABELS))


@pytest.mark.parametrize("path", LABELS, ids=lambda path: path.name.removesuffix(".labels.json"))
def test_labels_refer_to_calls_in_the_words_of_the_readme(path: Path) -> None:
    labels = _labels(path)
    calls = _calls(_session(path), labels["source"])
    assert labels["status"] in STATUSES
    assert labels["healthy"] == (labels["status"] != "broken") == (labels["break"] is None)
    numbers = [result["call"] for result in labels["results"]]
    assert numbers == sorted(set(numbers))
    for result in labels["results"]:
        assert 1 <= result["call"] <= len(calls)
        assert result["call_id"] == calls[result["call"] - 1]
        assert result["kind"] in KINDS
        assert result.get("kind_or", "") in (KINDS | {""}) - {result["kind"]}
        assert result.get("became_or", "") in (REPAIRS | {""}) - {result["became"]}
        assert result["why"].strip()
        assert result.get("doubtful", True) is True
        if result["kind"] not in ("failure", "finding"):
            assert (result["became"], result["by"], result["said"]) == (None, None, None)
            continue
        assert result["said"] in SAID
        assert result["became"] in REPAIRS | {None}
        assert (result["by"] is not None) == (result["became"] not in ("not-needed", None))
        assert result["by"] is None or result["call"] < result["by"] <= len(calls)


@pytest.mark.parametrize("path", LABELS, ids=lambda path: path.name.removesuffix(".labels.json"))
def test_status_and_break_follow_from_the_results(path: Path) -> None:
    labels = _labels(path)
    faults = [result for result in labels["results"] if result["kind"] in ("failure", "finding")]
    breaks = [
        result["call"]
        for result in faults
        if result["became"] is None and (result["kind"] == "failure" or result["said"] != "reported")
    ]
    assert labels["break"] == ({"call": breaks[0]} if breaks else None)
    is_recovered = any(result["became"] for result in faults)
    assert is_recovered or labels["status"] != "recovered"
    assert not is_recovered or labels["status"] in ("recovered", "broken", "aborted")


def test_the_set_is_large_and_both_halves_have_the_same_mix() -> None:
    statuses: Counter[str] = Counter()
    kinds: Counter[str | None] = Counter()
    halves: Counter[str] = Counter()
    for path in LABELS:
        labels = _labels(path)
        statuses[labels["status"]] += 1
        halves[path.parent.name] += 1
        kinds.update(result["kind"] for result in labels["results"])
    assert statuses.total() >= 60
    assert statuses["broken"] >= 25
    assert statuses.total() - statuses["broken"] >= 25
    assert kinds.total() - kinds[None] >= 160
    assert kinds[None] >= 40
    assert abs(halves["tuning"] - halves["held-out"]) <= statuses.total() // 10


def test_no_two_sessions_are_equal() -> None:
    contents = [_session(path).read_bytes() for path in LABELS]
    assert len(set(contents)) == len(contents)
