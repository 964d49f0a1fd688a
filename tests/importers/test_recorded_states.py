"""What sources record about a run beside its text, and what Codex and Claude Code store elsewhere."""

import json
from pathlib import Path
from typing import Any

import pytest

from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.recorded_states import STATE_FIELDS, read_state
from weaklink.inspector.model import Json, RecordedState, Role, RunState, Trace

PAGE = Path(__file__).parents[2] / "docs" / "verdicts.md"


def traces(folder: Path, rows: list[Any]) -> Trace:
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (trace,) = [record for record in read_source(path).records if isinstance(record, Trace)]
    return trace


@pytest.mark.parametrize(
    ("source", "record", "expected"),
    [
        ("codex", {"exit_code": 2, "status": "failed"}, RecordedState(2, RunState.FAILED, "exit_code, status")),
        ("codex", {"exit_code": 0}, RecordedState(0, None, "exit_code")),
        ("codex", {"status": "declined"}, RecordedState(None, RunState.REJECTED, "status")),
        ("codex-output", {"status": "in_progress"}, RecordedState(None, RunState.RUNNING, "status")),
        ("claude-code", {"interrupted": True}, RecordedState(None, RunState.INTERRUPTED, "interrupted")),
        ("claude-code", {"interrupted": False}, None),
        (
            *("openhands", {"extras": {"metadata": {"exit_code": 2}}}),
            RecordedState(2, None, "extras.metadata.exit_code"),
        ),
        ("openhands", {"extras": {"metadata": {"exit_code": -1}}}, None),
        ("openhands", {"observation": "user_rejected"}, RecordedState(None, RunState.REJECTED, "observation")),
        ("mini-swe-agent", {"extra": {"returncode": 1}}, RecordedState(1, None, "extra.returncode")),
        ("inspect", {"error": {"type": "timeout"}}, RecordedState(None, RunState.TIMED_OUT, "error.type")),
        ("goose", {"structuredContent": {"exit_code": 7}}, RecordedState(7, None, "structuredContent.exit_code")),
        ("codex", {"exit_code": True, "status": 7}, None),
        ("codex", "text", None),
        ("no-such-source", {"exit_code": 2}, None),
    ],
)
def test_a_record_is_read_by_the_table(source: str, record: Json, expected: RecordedState | None) -> None:
    assert read_state(source, record) == expected


def test_the_page_lists_every_field() -> None:
    page = PAGE.read_text(encoding="utf-8")
    missing = [
        one for one in STATE_FIELDS if f"| `{one.source}` | `{one.path}` | {one.meaning} | {one.seen_in} |" not in page
    ]
    assert missing == []


def _item(payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": "2026-05-01T10:00:05Z", "type": "response_item", "payload": payload}


def _event(payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": "2026-05-01T10:00:05Z", "type": "event_msg", "payload": payload}


def test_codex_keeps_searches_and_prompts_that_only_an_event_has(tmp_path: Path) -> None:
    search = {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "port"}}
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "8080."}]}
    rows = [
        {"type": "session_meta", "payload": {"id": "s1", "timestamp": "2026-05-01T10:00:00Z"}},
        _event({"type": "user_message", "message": "which port?"}),
        _item(search),
        _item(answer),
    ]
    trace = traces(tmp_path, rows)
    assert trace.name == "which port?"
    assert [header.name for turn in trace.turns for header in turn.calls] == ["web_search"]
    results = [turn.result for turn in trace.turns if turn.role is Role.TOOL]
    assert [result.recorded for result in results if result] == [RecordedState(None, RunState.COMPLETED, "status")]
    asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "which port?"}]}
    for both in ([rows[0], rows[1], _item(asked), *rows[2:]], [rows[0], _item(asked), *rows[1:]]):
        turns = traces(tmp_path, both).turns
        assert [turn.parts[0].text for turn in turns if turn.role is Role.USER] == ["which port?"]


def test_codex_records_the_exit_code_of_a_command(tmp_path: Path) -> None:
    call = {"type": "function_call", "name": "shell", "call_id": "c1", "arguments": '{"command": ["make"]}'}
    end = {"type": "exec_command_end", "call_id": "c1", "command": ["make"], "exit_code": 2, "status": "failed"}
    rows = [
        {"type": "session_meta", "payload": {"id": "s1", "timestamp": "2026-05-01T10:00:00Z"}},
        _item(call),
        _event({**end, "aggregated_output": "no"}),
        _item({"type": "function_call_output", "call_id": "c1", "output": "no"}),
    ]
    result = traces(tmp_path, rows).turns[-1].result
    assert result is not None
    assert result.recorded == RecordedState(2, RunState.FAILED, "exit_code, status")


def test_snapshots_of_one_message_replace_each_other(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    contents: list[list[dict[str, Any]]] = [
        [],
        [{"type": "text", "text": "Opening"}],
        [{"type": "text", "text": "Opening the page."}, {**call, "input": {}}],
        [{"type": "text", "text": "Opening the page."}, call],
    ]
    rows = [
        {
            "type": "assistant",
            "uuid": f"u{number}",
            "sessionId": "s",
            "requestId": "r",
            "message": {"id": "m", "role": "assistant", "model": "x", "content": content},
        }
        for number, content in enumerate(contents)
    ]
    (turn,) = traces(tmp_path, rows).turns
    assert [part.text for part in turn.parts] == ["Opening the page.", '{"command":"ls"}']
