"""The labels of every folder: each refers to a call of its session, in the words of the README.

The sessions are read here by a few lines per format, so that no code of weaklink decides what the labels mean.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
BLIND = (
    "blind/one",
    "blind/two",
    "blind/three",
    "blind/four",
    "blind/five",
    "blind/six/first",
    "blind/six/second",
    "blind/seven",
    "blind/eight",
    "blind/nine/first",
    "blind/nine/second",
    "blind/ten/first",
    "blind/ten/second",
    "blind/eleven/first",
    "blind/eleven/second",
    "blind/twelve/first",
    "blind/twelve/second",
)
FOLDERS = ("tuning", "held-out", *BLIND)
LABELS = sorted(path for folder in FOLDERS for path in (FOLDER / folder).glob("*.labels.json"))
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
            yield from [call["id"] for call in message.get("tool_calls") or ()] or _in_text(message["content"] or "")


def _in_text(text: str) -> list[None]:
    """A call in the text has no id."""
    return [None] * text.count("<tool_call>")


def _sharegpt(rows: list[Any]) -> Iterator[str | None]:
    for message in rows[0]["conversations"]:
        if message["from"] == "gpt":
            yield from _in_text(message["value"])


def _langsmith(rows: list[Any]) -> Iterator[str | None]:
    for row in rows:
        if row["run_type"] == "llm":
            yield from (call["id"] for call in row["outputs"]["generations"][0][0]["message"]["kwargs"]["tool_calls"])


def _trace_file(rows: list[Any]) -> Iterator[str | None]:
    for row in rows:
        yield from (call["id"] for call in row.get("turn", {}).get("calls", ()))


def _pi(rows: list[Any]) -> Iterator[str | None]:
    for row in rows:
        if row["type"] == "message" and row["message"]["role"] == "assistant":
            yield from (part["id"] for part in row["message"]["content"] if part["type"] == "toolCall")


def _opencode(documents: list[Any]) -> Iterator[str | None]:
    for message in documents[0]["messages"]:
        yield from (part["callID"] for part in message["parts"] if part["type"] == "tool")


def _qwen_code(rows: list[Any]) -> Iterator[str | None]:
    for row in rows:
        if row["type"] == "assistant":
            yield from (part["functionCall"]["id"] for part in row["message"]["parts"] if "functionCall" in part)


def _gemini_cli(rows: list[Any]) -> Iterator[str | None]:
    """A message with calls is written again once they have results."""
    for row in rows:
        yield from (call["id"] for call in row.get("toolCalls", ()))


def _cline(documents: list[Any]) -> Iterator[str | None]:
    for message in documents[0]["messages"]:
        yield from (block["id"] for block in message["content"] if block["type"] == "tool_use")


def _copilot_cli(rows: list[Any]) -> Iterator[str | None]:
    for row in rows:
        if row["type"] == "assistant.message":
            yield from (call["toolCallId"] for call in row["data"]["toolRequests"])


def _goose(rows: list[Any]) -> Iterator[str | None]:
    for row in rows:
        yield from (block["id"] for block in row.get("content", ()) if block["type"] == "toolRequest")


def _continue(documents: list[Any]) -> Iterator[str | None]:
    for item in documents[0]["history"]:
        yield from (call["id"] for call in item["message"].get("toolCalls", ()))


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
    "hermes-sessions": lambda rows: _messages(rows[0]["messages"]),
    "sharegpt": _sharegpt,
    "langsmith": _langsmith,
    "trace-file": _trace_file,
    "pi": _pi,
    "opencode": _opencode,
    "qwen-code": _qwen_code,
    "gemini-cli": _gemini_cli,
    "cline": _cline,
    "copilot-cli": _copilot_cli,
    "goose": _goose,
    "continue": _continue,
    "kimi": _messages,
}


def test_each_session_has_labels_and_each_labels_file_a_session() -> None:
    files = {path for folder in FOLDERS for path in (FOLDER / folder).iterdir()}
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
        if path.is_relative_to(FOLDER / "blind"):
            assert ("sentence" in result) == (result["said"] != "silent")
            assert _is_in(result.get("sentence", ""), _records(_session(path)))
        assert result["became"] in REPAIRS | {None}
        assert (result["by"] is not None) == (result["became"] not in ("not-needed", None))
        assert result["by"] is None or result["call"] < result["by"] <= len(calls)


def _is_in(sentence: str, value: Any) -> bool:
    """Whether a text of a JSON value holds the sentence, itself or in the JSON that the text is."""
    if isinstance(value, dict | list):
        return any(_is_in(sentence, member) for member in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and (sentence in value or json.dumps(sentence, ensure_ascii=False)[1:-1] in value)


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


def _counts(folders: tuple[str, ...]) -> tuple[Counter[str], Counter[str | None]]:
    """The statuses of the sessions, and the kinds of the labelled results."""
    statuses: Counter[str] = Counter()
    kinds: Counter[str | None] = Counter()
    for path in LABELS:
        if path.parent.relative_to(FOLDER).as_posix() in folders:
            labels = _labels(path)
            statuses[labels["status"]] += 1
            kinds.update(result["kind"] for result in labels["results"])
    return statuses, kinds


@pytest.mark.parametrize("halves", [("tuning", "held-out"), BLIND[:2]], ids=["seen", "blind"])
def test_each_set_is_large_and_its_halves_have_the_same_mix(halves: tuple[str, str]) -> None:
    statuses, kinds = _counts(halves)
    assert statuses.total() >= 60
    assert statuses["broken"] >= 25
    assert statuses.total() - statuses["broken"] >= 25
    assert kinds.total() - kinds[None] >= 160
    assert kinds[None] >= 40
    for half in halves:
        of_half, _ = _counts((half,))
        assert abs(2 * of_half.total() - statuses.total()) <= statuses.total() // 10
        assert abs(2 * of_half["broken"] - statuses["broken"]) <= statuses["broken"] // 5


def test_no_two_sessions_are_equal() -> None:
    contents = [_session(path).read_bytes() for path in LABELS]
    assert len(set(contents)) == len(contents)
