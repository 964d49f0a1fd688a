"""Agents' logs keep what ran and what the tool returned beside what the model read, and no difference is invented."""

import json
from pathlib import Path
from typing import Any

import pytest

from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Trace, Turn
from weaklink.inspector.trace_file import read_trace_file, write_trace_file
from weaklink.storage.store import open_store

_OUTPUT = "".join(f"line {number} of the build\n" for number in range(200))
OWN_FORM = "kept in the form of the source"
_PREVIEW = "<persisted-output>\nOutput too large (4KB). Full output saved to: /x\n\nPreview (first 1KB):\n"


def trace_of(tmp_path: Path, rows: list[Any]) -> Trace:
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (trace,) = (record for record in read_source(path).records if isinstance(record, Trace))
    return trace


def codes(trace: Trace) -> list[str]:
    return [one.rule.code for one in inspect_trace(trace).diagnostics if one.rule.layer]


def result_turn(trace: Trace) -> Turn:
    return next(turn for turn in trace.turns if turn.result is not None)


def claude_rows(name: str, record: Any, read: Any, *, is_error: bool = False) -> list[Any]:
    head = {"sessionId": "session", "cwd": "/srv/tide", "version": "2.1.197"}
    block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {"command": "make"}}
    answer = {"id": "msg_1", "role": "assistant", "model": "m", "content": [block]}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": read, "is_error": is_error}
    return [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Build it."}, **head},
        {"type": "assistant", "uuid": "a1", "parentUuid": "u1", "requestId": "r1", "message": answer, **head},
        {
            "type": "user",
            "uuid": "u2",
            "parentUuid": "a1",
            "timestamp": "2026-04-02T08:00:00.000Z",
            "message": {"role": "user", "content": [result]},
            "toolUseResult": record,
            **head,
        },
    ]


def bash(stdout: str, stderr: str = "", **more: Any) -> dict[str, Any]:
    return {"stdout": stdout, "stderr": stderr, "interrupted": False, "isImage": False, **more}


@pytest.mark.parametrize(
    ("name", "record", "read", "returned"),
    [
        ("Bash", bash("\n\n05:12\n", " late \n"), "05:12\nlate", "05:12\nlate"),
        ("Bash", bash(""), "(Bash completed with no output)", OWN_FORM),
        ("Bash", bash("so f", interrupted=True), "so f\n<error>Command was aborted</error>", OWN_FORM),
        ("Bash", bash("", backgroundTaskId="b1"), "Command running in background with ID: b1", OWN_FORM),
        ("Bash", "Error: Exit code 2\nno rule", "Exit code 2\nno rule", "Exit code 2\nno rule"),
        ("Bash", "User rejected tool use", "The user doesn't want to proceed with this tool use.", None),
        ("Fly", "Error: No such tool: Fly", "<tool_use_error>Error: No such tool: Fly</tool_use_error>", None),
        (
            "Read",
            {"type": "text", "file": {"filePath": "/a", "content": "one\n\n\ttwo\n", "startLine": 9, "numLines": 4}},
            "     9→one\n    10→\n    11→\ttwo\n    12→\n<system-reminder>\nBe careful.\n</system-reminder>",
            "one\n\n\ttwo\n",
        ),
        (
            "Read",
            {"type": "text", "file": {"filePath": "/a", "content": "one\n2\tb", "startLine": 1, "numLines": 2}},
            "1\tone\n2\t2\tb",
            "one\n2\tb",
        ),
        ("mcp__tide__at", [{"type": "text", "text": "05:12"}], [{"type": "text", "text": "05:12"}], None),
        ("Edit", {"filePath": "/a", "oldString": "a", "newString": "b"}, "The file /a has been updated.", OWN_FORM),
        ("Write", {"type": "create", "filePath": "/a", "content": "one"}, "File created successfully at: /a", OWN_FORM),
        ("Edit", {"filePath": "/a", "originalFile": "before"}, "The file /a has been updated.", OWN_FORM),
        ("Glob", {"filenames": ["/a", "/b"], "numFiles": 2, "truncated": False}, "/a\n/b", OWN_FORM),
        ("Grep", {"mode": "count", "numFiles": 1, "content": "/a:2"}, "/a:2\n\nFound 2 total occurrences", OWN_FORM),
        (
            "Task",
            {"content": [{"type": "text", "text": "It is high at 05:12."}], "totalTokens": 900},
            [{"type": "text", "text": "It is high at 05:12."}, {"type": "text", "text": "agentId: a1"}],
            OWN_FORM,
        ),
        ("mcp__x__y", {"what the": "server sends"}, "another form of it", OWN_FORM),
        ("Bash", {}, "nothing", None),
    ],
)
def test_claude_codes_record_is_the_returned_layer_and_its_decoration_no_difference(
    name: str, record: Any, read: Any, returned: str | None, tmp_path: Path
) -> None:
    trace = trace_of(tmp_path, claude_rows(name, record, read, is_error=isinstance(record, str)))
    run = result_turn(trace).run
    if name == "mcp__tide__at":
        returned = '[{"type":"text","text":"05:12"}]'
    assert "before" not in (run.result or "" if run else "")
    if returned is OWN_FORM:
        record = {key: record[key] for key in record if key != "originalFile"}
        assert run is not None
        assert run.own_form == ("result",)
        returned = json.dumps(record, separators=(",", ":"))
    assert (run.result if run else None) == returned
    assert codes(trace) == []


@pytest.mark.parametrize(
    ("record", "read", "expected"),
    [
        (bash("05:12 and 17:40"), "17:40", "L808"),
        (bash(_OUTPUT), _OUTPUT[:300], "L809"),
        (
            bash(_OUTPUT, persistedOutputPath="/x/b1.txt"),
            f"{_PREVIEW}{_OUTPUT[:1000]}\n...\n</persisted-output>",
            "L809",
        ),
        ({"type": "text", "file": {"content": "one\ntwo"}}, "1\tone\n2\tthree", "L808"),
        ({"type": "text", "file": {"content": "one\ntwo"}}, "1\tone\nAdded.\n2\ttwo", "L808"),
    ],
    ids=["another result", "cut", "a preview", "another line", "a line in between"],
)
def test_a_result_that_claude_code_changed_is_reported(record: Any, read: str, expected: str, tmp_path: Path) -> None:
    assert codes(trace_of(tmp_path, claude_rows("Bash", record, read))) == [expected]


def test_a_preview_says_what_of_the_output_was_kept(tmp_path: Path) -> None:
    read = f"{_PREVIEW}{_OUTPUT[:1000]}\n...\n</persisted-output>"
    trace = trace_of(tmp_path, claude_rows("Bash", bash(_OUTPUT), read))
    (found,) = (one for one in inspect_trace(trace).diagnostics if one.rule.layer)
    assert found.range.start == len(_PREVIEW) + 1000
    assert f"1000 of {len(_OUTPUT.strip())} characters are kept" in found.fault.message


def test_a_result_without_a_record_of_claude_codes_is_no_call_that_did_not_run(tmp_path: Path) -> None:
    rows = claude_rows("Bash", bash("05:12"), "05:12")
    again = json.loads(json.dumps(rows[1:]).replace('1"', '9"').replace('"u2"', '"u3"'))
    del again[1]["toolUseResult"]
    assert "toolu_9" in json.dumps(again)
    assert codes(trace_of(tmp_path, [*rows, *again])) == []


def codex_rows(call: Any, event: Any, read: str) -> list[Any]:
    def row(kind: str, payload: Any) -> Any:
        return {"timestamp": "2026-04-02T08:00:00.000Z", "type": kind, "payload": payload}

    words = [{"type": "input_text", "text": "Build it."}]
    return [
        row("session_meta", {"id": "019a", "timestamp": "2026-04-02T08:00:00.100Z", "cwd": "/srv/tide"}),
        row("response_item", {"type": "message", "role": "user", "content": words}),
        row("response_item", {"type": "function_call", "call_id": "c1", **call}),
        row("event_msg", {"call_id": "c1", **event}),
        row("response_item", {"type": "function_call_output", "call_id": "c1", "output": read}),
    ]


def shell(command: Any, key: str = "cmd") -> dict[str, str]:
    return {"name": "exec_command", "arguments": json.dumps({key: command, "workdir": "/srv"})}


def ended(command: list[str], output: str, code: int = 0, **more: Any) -> dict[str, Any]:
    told = {"command": command, "aggregated_output": output, "exit_code": code, "stdout": "", "stderr": ""}
    return {"type": "exec_command_end", **told, "status": "failed" if code else "completed", **more}


_LOOKUP = {"name": "mcp__tide__lookup", "arguments": '{"port": "Brest"}'}


def mcp(arguments: Any, result: Any) -> dict[str, Any]:
    invocation = {"server": "tide", "tool": "lookup", "arguments": arguments}
    return {"type": "mcp_tool_call_end", "invocation": invocation, "result": result}


_PATCH = {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch\n*** End Patch"}
_PATCH_HEAD = "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\n"


def patched(stdout: str) -> dict[str, Any]:
    changes = {"/srv/a.txt": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-a\n+b\n", "move_path": None}}
    return {"type": "patch_apply_end", "stdout": stdout, "stderr": "", "success": True, "changes": changes}


_WRAPPED = ["/bin/zsh", "-lc", "make all"]
_HEAD = "Chunk ID: f800eb\nWall time: 1.0 seconds\nProcess exited with code 0\nOriginal token count: 9\nOutput:\n"
_FAILED_HEAD = "Exit code: 1\nWall time: 0 seconds\nOutput:\n"
_CUT_HEAD = "Exit code: 0\nWall time: 0.1 seconds\nTotal output lines: 200\nOutput:\n"


@pytest.mark.parametrize(
    ("call", "event", "read", "expected"),
    [
        (shell("make all"), ended(_WRAPPED, "done\n"), f"{_HEAD}done\n", []),
        (shell(["make"], "command"), ended(["make"], "bad", 2), '{"output":"bad","metadata":{"exit_code":2}}', []),
        (
            shell("make all"),
            ended(_WRAPPED, "", 1, stdout="bad"),
            "Exit code: 1\nWall time: 0 seconds\nOutput:\nbad",
            [],
        ),
        (
            shell("make all"),
            ended(_WRAPPED, "a\nb\n"),
            "Wall time: 30.0024 seconds\nProcess running with session ID 7\nOutput:\na\n",
            [],
        ),
        (shell("make all"), ended(_WRAPPED, f"{'x' * 4990}…12 chars truncated…{'x' * 4990}"), "x" * 9992, []),
        (shell("make all"), ended(_WRAPPED, "", -1, status="declined"), "exec command rejected by user", []),
        (shell("make all"), ended(["/bin/zsh", "-lc", "make clean"], "done"), f"{_HEAD}done", ["L805"]),
        (shell("make all"), ended(_WRAPPED, "done"), f"{_HEAD}failed", ["L808"]),
        (
            shell("make all"),
            ended(_WRAPPED, _OUTPUT),
            f"{_CUT_HEAD}{_OUTPUT[:300]}…900 tokens truncated…{_OUTPUT[-300:]}",
            ["L809"],
        ),
        (_LOOKUP, mcp({"port": "Brest"}, {"Ok": {"content": [{"type": "text", "text": "05:12"}]}}), "05:12", []),
        (
            _LOOKUP,
            mcp({"port": "Brest"}, {"Ok": {"content": [{"type": "text", "text": "05:12"}], "isError": False}}),
            'Wall time: 0.1 seconds\nOutput:\n[{"type":"text","text":"05:12"}]',
            [],
        ),
        (
            _LOOKUP,
            mcp({"port": "Brest"}, {"Ok": {"content": [], "structuredContent": {"high": "05:12"}}}),
            '{"high": "05:12"}',
            [],
        ),
        (_LOOKUP, mcp({"port": "Brest"}, {"Err": "no server"}), "tool call error: no server", []),
        (_PATCH, patched("Success. Updated the following files:\nM a.txt\n"), f"{_PATCH_HEAD}M a.txt\n", []),
        (_PATCH, patched("Success. Updated the following files:\nM a.txt\n"), f"{_PATCH_HEAD}M b.txt\n", ["L808"]),
        (_LOOKUP, mcp({"port": "Nice"}, {"Ok": {"content": [{"type": "text", "text": "05:12"}]}}), "05:12", ["L805"]),
        (_LOOKUP, mcp({"port": "Brest"}, {"Ok": {"content": [{"type": "text", "text": "05:12"}]}}), "06:12", ["L808"]),
    ],
)
def test_codex_events_are_what_ran_and_what_it_returned(
    call: Any, event: Any, read: str, expected: list[str], tmp_path: Path
) -> None:
    assert codes(trace_of(tmp_path, codex_rows(call, event, read))) == expected


def test_codex_events_give_the_exit_code_the_tool_and_the_texts(tmp_path: Path) -> None:
    run = result_turn(trace_of(tmp_path, codex_rows(shell("make all"), ended(_WRAPPED, "bad", 2), f"{_HEAD}bad"))).run
    assert run is not None
    assert (run.source, run.call_id, run.result, run.failed) == ("codex", "c1", "bad", True)
    assert json.loads(run.arguments or "") == {"command": _WRAPPED}
    answered = mcp({"port": "Brest"}, {"Ok": {"content": []}})
    run = result_turn(trace_of(tmp_path, codex_rows(_LOOKUP, answered, "[]"))).run
    assert run is not None
    assert (run.name, run.arguments, run.failed) == ("lookup", '{"port":"Brest"}', False)


def test_what_codex_kept_in_part_or_in_another_form_is_kept_and_compared_with_nothing(tmp_path: Path) -> None:
    cut = f"{'x' * 4990}…12 chars truncated…{'x' * 4990}"
    run = result_turn(trace_of(tmp_path, codex_rows(shell("make all"), ended(_WRAPPED, cut), "x" * 9992))).run
    assert run is not None
    assert (run.result, run.own_form) == (cut, ("result",))
    read = "Wall time: 30.0024 seconds\nProcess running with session ID 7\nOutput:\na\n"
    run = result_turn(trace_of(tmp_path, codex_rows(shell("make all"), ended(_WRAPPED, "a\nb\n"), read))).run
    assert run is not None
    assert (run.result, run.own_form) == ("a\nb\n", ("result",))
    run = result_turn(trace_of(tmp_path, codex_rows(_PATCH, patched("done"), "done"))).run
    assert run is not None
    assert run.own_form == ("arguments",)
    assert json.loads(run.arguments or "")["changes"]["/srv/a.txt"]["type"] == "update"


def test_claude_codes_printed_stream_has_the_record_too(tmp_path: Path) -> None:
    def row(kind: str, message: Any, **more: Any) -> Any:
        return {"type": kind, "session_id": "s1", "message": message, **more}

    block = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "05:12"}
    rows = [
        row("assistant", {"id": "msg_1", "role": "assistant", "model": "m", "content": [block]}),
        row("user", {"role": "user", "content": [result]}, tool_use_result=bash("05:12 and 17:40")),
    ]
    trace = trace_of(tmp_path, rows)
    run = result_turn(trace).run
    assert run is not None
    assert run.result == "05:12 and 17:40"
    assert codes(trace) == ["L808"]


def test_a_run_in_a_form_of_its_own_stays_so_in_a_trace_file_and_in_a_database(tmp_path: Path) -> None:
    record = {"filePath": "/a", "oldString": "a", "newString": "b"}
    trace = trace_of(tmp_path, claude_rows("Edit", record, "The file /a has been updated."))
    write_trace_file(tmp_path / "kept.jsonl", [trace])
    (again,) = read_trace_file(tmp_path / "kept.jsonl")
    with open_store(tmp_path / "w.db") as store:
        (saved,) = store.save([(trace, inspect_trace(trace))])
        stored = store.trace(saved.id)
    for one in (again, stored):
        assert result_turn(one).run == result_turn(trace).run


def test_codex_says_how_many_tokens_the_window_holds(tmp_path: Path) -> None:
    rows = codex_rows(shell("make all"), ended(_WRAPPED, "done"), f"{_HEAD}done")
    started = {"type": "task_started", "model_context_window": 258_400}
    for at in (1, len(rows)):
        told = [*rows[:at], {**rows[0], "type": "event_msg", "payload": started}, *rows[at:]]
        made = [turn.generation for turn in trace_of(tmp_path, told).turns if turn.generation is not None]
        assert [one.context_window for one in made] == [258_400]
