"""What agents' logs mean: an answer counts once, a malformed call stays what it is, and sessions know their parents."""

import gzip
import json
import random
import shutil
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import pytest

from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    BodyState,
    ErrorPhase,
    ExternalId,
    Outcome,
    ParentTrace,
    ParentWhy,
    Role,
    Trace,
    Turn,
    TurnFlag,
)

CASES = Path(__file__).parents[1] / "cases" / "importers"


def traces(path: Path) -> list[Trace]:
    return [record for record in read_source(path).records if isinstance(record, Trace)]


def written(tmp_path: Path, rows: Iterable[object], name: str = "file") -> Path:
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def own_answers(trace: Trace) -> list[Turn]:
    """The answers that were generated in this very session."""
    return [turn for turn in trace.turns if turn.generation and not turn.flags]


def calls(trace: Trace) -> list[tuple[str | None, str]]:
    """The calls of a session's own answers: name and raw text."""
    answers = own_answers(trace)
    return [
        (header.name, part.text)
        for turn in answers
        for header in turn.calls
        if (part := turn.part(header.part)) is not None
    ]


def test_claude_codes_blocks_are_one_answer_whose_usage_counts_once() -> None:
    main, *_ = traces(CASES / "claude-code" / "session.jsonl")
    answer = next(turn for turn in own_answers(main) if len(turn.calls) == 2)
    assert [part.name for part in answer.parts] == ["reasoning", "wire:signature:0", "text", "call:0", "call:1"]
    assert answer.generation is not None
    assert (answer.generation.usage.input_tokens, answer.generation.usage.output_tokens) == (113, 40)
    at = main.turns.index(answer)
    assert [turn.result.call_id for turn in main.turns[at + 1 : at + 3] if turn.result] == ["toolu_1", "toolu_2"]


def test_claude_codes_unparsed_input_is_the_malformed_call_that_it_is() -> None:
    main, *_ = traces(CASES / "claude-code" / "session.jsonl")
    assert ("weather", '{"port": "Bre') in calls(main)


def test_claude_codes_sub_agents_are_traces_of_their_own_that_know_their_parent() -> None:
    main, old, new = traces(CASES / "claude-code" / "session.jsonl")
    assert old.parent == new.parent == ParentTrace(main.external_ids[0], ParentWhy.SUBAGENT)
    assert [turn.parts[0].text for turn in new.turns] == ["Find the tide in Le Havre.", "11:30"]
    assert not any("10:01" in part.text for turn in main.turns for part in turn.parts if turn.role is Role.USER)


def test_claude_codes_failed_requests_are_errors_and_its_own_words_no_answers() -> None:
    main, *_ = traces(CASES / "claude-code" / "session.jsonl")
    errors = [turn.generation.error for turn in main.turns if turn.generation and turn.generation.error]
    assert [(error.phase, error.status) for error in errors] == [(ErrorPhase.HTTP, 529), (ErrorPhase.HTTP, 500)]
    synthetic = [turn for turn in main.turns if TurnFlag.SYNTHETIC in turn.flags]
    assert [(turn.parts[0].text, turn.generation) for turn in synthetic] == [("No response requested.", None)]


def test_a_copied_row_of_claude_codes_is_not_read_twice(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (CASES / "claude-code" / "fork.jsonl").read_text().splitlines()]
    assert traces(written(tmp_path, rows))[0].turns == traces(written(tmp_path, rows + rows))[0].turns


def test_what_a_fork_of_claude_codes_brings_along_is_copied() -> None:
    (trace,) = traces(CASES / "claude-code" / "fork.jsonl")
    assert [TurnFlag.COPIED_CONTEXT in turn.flags for turn in trace.turns] == [True, True, False, False]


def test_claude_codes_output_gives_a_streamed_answer_once_and_as_far_as_it_came() -> None:
    (trace,) = traces(CASES / "claude-code-output" / "partial.jsonl")
    assert calls(trace) == [("Bash", '{"command": "ls"}'), ("Bash", '{"command": "ca')]
    whole, cut = own_answers(trace)
    assert whole.parts[0].chunks is not None
    assert [chunk.text for chunk in whole.parts[0].arrivals()] == ["I ", "look."]
    assert cut.generation is not None
    assert cut.generation.body is BodyState.TRUNCATED


def test_codex_events_repeat_nothing_that_the_items_say() -> None:
    (trace,) = traces(CASES / "codex" / "rollout.jsonl")
    words = [part.text for turn in trace.turns for part in turn.parts]
    assert words.count("05:12") == 2  # a result and an answer
    assert words.count("When is high tide?") == 1
    outputs = [turn.generation.usage.output_tokens for turn in trace.turns if turn.generation]
    assert outputs == [9, 5, 3, None, None, None]


def test_an_older_rollout_of_codex_has_the_usage_before_the_answer_and_results_between_its_calls() -> None:
    (trace,) = traces(CASES / "codex" / "counts_first.jsonl")
    found = [(len(turn.calls), turn.generation.usage.output_tokens) for turn in own_answers(trace) if turn.generation]
    assert found == [(2, 9), (0, 3)]
    assert [turn.role for turn in trace.turns] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.TOOL, Role.ASSISTANT]


def test_codex_malformed_and_shell_calls_keep_what_the_model_gave() -> None:
    (trace,) = traces(CASES / "codex" / "rollout.jsonl")
    assert calls(trace)[0] == ("shell", '{"command":["tide","Brest"')
    assert calls(trace)[1] == ("apply_patch", "*** Begin Patch\n*** End Patch")
    assert calls(trace)[2][0] == "local_shell"


def test_codex_tells_aborts_and_failures_once_each() -> None:
    (trace,) = traces(CASES / "codex" / "rollout.jsonl")
    errors = [turn.generation.error for turn in trace.turns if turn.generation and turn.generation.error]
    assert [(error.phase, error.status) for error in errors] == [
        (ErrorPhase.CLIENT_ABORT, None),
        (ErrorPhase.HTTP, 502),
        (ErrorPhase.HTTP, None),
    ]


@pytest.mark.parametrize(
    ("said", "phase"),
    [("server_overloaded", ErrorPhase.HTTP), ("response_stream_disconnected", ErrorPhase.TRANSPORT)],
)
def test_a_failure_that_codex_names_without_a_status_is_the_servers_or_the_connections(
    said: str, phase: ErrorPhase, tmp_path: Path
) -> None:
    path = tmp_path / "rollout.jsonl"
    rollout = (CASES / "codex" / "rollout.jsonl").read_text()
    assert '"internal_server_error"' in rollout
    path.write_text(rollout.replace('"internal_server_error"', f'"{said}"'))
    (trace,) = traces(path)
    last = trace.turns[-1].generation
    assert last is not None
    assert last.error is not None
    assert (last.error.phase, last.error.code) == (phase, said)


def test_a_fork_of_codex_counts_only_what_came_after_it() -> None:
    (trace,) = traces(CASES / "codex" / "fork.jsonl")
    assert [turn.parts[0].text for turn in own_answers(trace)] == ["10:01"]
    assert trace.parent is not None
    assert trace.parent.why is ParentWhy.FORK


def test_rollouts_put_together_in_one_file_stay_sessions_apart(tmp_path: Path) -> None:
    path = tmp_path / "all"
    path.write_bytes(b"".join((CASES / "codex" / name).read_bytes() for name in ("rollout.jsonl", "subagent.jsonl")))
    first, second = traces(path)
    assert second.parent == ParentTrace(first.external_ids[0], ParentWhy.SUBAGENT)


def test_codex_output_gives_calls_with_their_results_and_a_failed_turn_once() -> None:
    trace, _ = traces(CASES / "codex-output" / "exec.jsonl")
    assert calls(trace) == [
        ("command_execution", '{"command":"bash -lc \'tide Brest\'"}'),
        ("tide", '{"port":"Brest"}'),
    ]
    assert [turn.result.is_error for turn in trace.turns if turn.result] == [True, None]
    errors = [turn.generation.error.message for turn in trace.turns if turn.generation and turn.generation.error]
    assert errors == ["stream disconnected"]


def test_swe_agents_unread_answer_stands_where_it_was_given_and_a_demonstration_is_none() -> None:
    (trace,) = traces(CASES / "swe-agent" / "function_calling.traj")
    answers = [turn.parts[0].text for turn in own_answers(trace)]
    assert answers == ["I look.", "I forgot to call a function.", "I mend it."]
    assert [name for name, _ in calls(trace)] == ["bash", "edit"]
    assert sum(TurnFlag.DEMONSTRATION in turn.flags for turn in trace.turns) == 2


def test_swe_agents_command_in_the_words_is_a_call_that_the_next_message_answers() -> None:
    (trace,) = traces(CASES / "swe-agent" / "thought_action.traj")
    assert calls(trace)[0] == ("bash", '{"command": "ls\\n"}')
    assert [turn.role for turn in trace.turns[2:4]] == [Role.ASSISTANT, Role.TOOL]


def test_mini_swe_agents_malformed_call_is_found_in_the_users_message() -> None:
    (trace,) = traces(CASES / "mini-swe-agent" / "tool_calls.json")
    assert calls(trace)[1] == ("bash", '{"command": "cat tide.py')
    at = trace.turns.index(own_answers(trace)[1])
    assert TurnFlag.INJECTED in trace.turns[at + 1].flags


def test_harbors_copied_steps_count_nowhere_and_continuations_know_what_they_go_on_from() -> None:
    (trace,) = traces(CASES / "harbor-atif" / "continued.json")
    assert (len(own_answers(trace)), len(calls(trace))) == (1, 0)
    assert trace.parent == ParentTrace(ExternalId("session_id", "s1"), ParentWhy.RESUME)


def test_harbors_embedded_sub_agents_are_traces() -> None:
    top, sub = traces(CASES / "harbor-atif" / "embedded.json")
    assert sub.parent == ParentTrace(top.external_ids[0], ParentWhy.SUBAGENT)
    assert not any("Found." in part.text for turn in top.turns for part in turn.parts)


def test_terminuss_commands_are_calls_with_their_exact_text_even_in_broken_json() -> None:
    (trace,) = traces(CASES / "harbor-atif" / "terminus.json")
    found = calls(trace)
    assert found[:2] == [
        ("bash_command", '{"keystrokes": "ls -la\\n", "duration": 0.1}'),
        ("bash_command", '{"keystrokes": "cd a\\n"}'),
    ]
    assert found[2][1] == own_answers(trace)[1].parts[0].text


def test_openhands_response_is_one_answer_with_the_raw_text_of_its_calls() -> None:
    (trace,) = traces(CASES / "openhands" / "events.json")
    assert len(own_answers(trace)) == 3
    assert calls(trace)[1] == ("execute_bash", '{"command": "cat tide.py"')
    failed = [turn.result for turn in trace.turns if turn.result and turn.result.is_error]
    assert [result.call_id for result in failed] == ["c2"]


@pytest.mark.parametrize("packed", [False, True])
def test_llms_database_is_read_without_a_trace_of_it(packed: bool, tmp_path: Path) -> None:
    path = tmp_path / "logs"
    shutil.copyfile(CASES / "llm-database" / "threads.db", path)
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    before = path.read_bytes()
    first, fork = traces(path)
    assert (path.read_bytes(), [one.name for one in tmp_path.iterdir()]) == (before, ["logs"])
    assert calls(first) == [("tide", '{"port":"Brest"}'), ("tide", '{"port": ')]
    assert [turn.parts[0].text for turn in own_answers(fork)] == ["05:50"]


def test_llms_write_ahead_log_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "logs"
    shutil.copyfile(CASES / "llm-database" / "threads.db", path)
    writer = sqlite3.connect(path)
    try:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE parts SET text = 'At noon.' WHERE text = '05:50'")
        writer.commit()
        _, fork = traces(path)
    finally:
        writer.close()
    assert [turn.parts[0].text for turn in own_answers(fork)] == ["At noon."]


def test_a_cut_database_of_llms_is_told_from_unknown_ones(tmp_path: Path) -> None:
    path = tmp_path / "logs"
    path.write_bytes((CASES / "llm-database" / "threads.db").read_bytes()[:5000])
    (skipped,) = read_source(path).records
    assert isinstance(skipped, Skipped)
    assert "malformed" in skipped.reason


@pytest.mark.parametrize("name", ["threads.db", "conversations.db"])
def test_a_database_of_llms_that_is_damaged_anywhere_raises_nothing(name: str, tmp_path: Path) -> None:
    whole, chance, path = (CASES / "llm-database" / name).read_bytes(), random.Random(3), tmp_path / "logs"
    reasons = set()
    for _ in range(150):
        broken = bytearray(whole)
        for _ in range(chance.choice((1, 30))):
            broken[chance.randrange(100, len(broken))] = chance.randrange(256)
        path.write_bytes(broken)
        records = list(read_source(path, "llm-database").records)
        reasons |= {record.reason for record in records if isinstance(record, Skipped)}
    whole_file = {reason for reason in reasons if not reason.startswith("`")}  # others name the column
    assert {reason[:39] for reason in whole_file} == {"the rest of the database cannot be read"} != reasons


def test_another_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "logs.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE notes (id INTEGER)")
    other.close()
    with pytest.raises(UnreadableFileError, match="unknown format: an SQLite database"):
        read_source(path)


def test_hermes_agents_sessions_know_why_they_have_a_parent() -> None:
    found = traces(CASES / "hermes-sessions" / "export.jsonl")
    assert [trace.parent.why if trace.parent else None for trace in found] == [
        None,
        ParentWhy.SUBAGENT,
        ParentWhy.RESUME,
        None,
    ]
    assert calls(found[0]) == [("tide", '{"port": "Brest"}'), ("tide", '{"port": "Cher')]


def test_the_state_of_a_conversation_of_openhands_is_read_with_the_events_beside_it(tmp_path: Path) -> None:
    lines = (CASES / "openhands-sdk" / "events.jsonl").read_text().splitlines()
    state = {"id": "c1", "agent": {"llm": {"model": "m"}}, "workspace": {"working_dir": "/w"}}
    events = tmp_path / "events"
    events.mkdir()
    for number, line in enumerate(lines):
        (events / f"event-{number:05}-{number}.json").write_text(line)
    path = tmp_path / "base_state.json"
    path.write_text(json.dumps({**state, "execution_status": "finished"}))
    (listed,), (trace,) = traces(CASES / "openhands-sdk" / "events.jsonl"), traces(path)
    assert [turn.parts for turn in trace.turns] == [turn.parts for turn in listed.turns]
    assert (trace.external_ids[0].value, trace.model, trace.outcome) == ("c1", "m", Outcome(True, "finished"))
    assert [traces(event) for event in events.iterdir()] == [[]] * len(lines)


def test_an_agent_of_strands_is_read_with_the_messages_beside_it(tmp_path: Path) -> None:
    lines = (CASES / "strands" / "messages.jsonl").read_text().splitlines()
    agent = tmp_path / "session_s1" / "agents" / "agent_default"
    (agent / "messages").mkdir(parents=True)
    for number, line in enumerate([*lines, *lines]):
        (agent / "messages" / f"message_{number}.json").write_text(line)
    path = agent / "agent.json"
    path.write_text(json.dumps({"agent_id": "default", "state": {}, "conversation_manager_state": {}}))
    (listed,), (trace,) = traces(CASES / "strands" / "messages.jsonl"), traces(path)
    assert [turn.parts for turn in trace.turns] == [turn.parts for turn in listed.turns] * 2
    assert trace.external_ids[0].value == "s1/default"
    assert [traces(message) for message in (agent / "messages").iterdir()] == [[]] * 2 * len(lines)


def test_hermes_agents_database_has_the_sessions_of_its_export(tmp_path: Path) -> None:
    export = CASES / "hermes-sessions" / "export.jsonl"
    sessions = [json.loads(line) for line in export.read_text().splitlines()[:3]]
    rows = [
        {key: json.dumps(value) if isinstance(value, list) else value for key, value in message.items()}
        | {"session_id": session["id"], "active": 1}
        for session in sessions
        for message in session.pop("messages")
    ]
    rows.append({**rows[-1], "id": 90, "content": "A rewind took this back.", "active": 0})
    parts = [{"type": "text", "text": "And at night?"}]
    rows.append(
        {
            **rows[-1],
            "id": 91,
            "role": "user",
            "tool_calls": None,
            "content": f"\0json:{json.dumps(parts)}",
            "active": 1,
        }
    )
    path = tmp_path / "state.db"
    with sqlite3.connect(path) as database:
        for name, values in (("sessions", sessions), ("messages", rows)):
            columns = list(dict.fromkeys(key for value in values for key in value if key != "tools"))
            database.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            marks = ", ".join("?" * len(columns))
            for value in values:
                database.execute(f"INSERT INTO {name} VALUES ({marks})", [value.get(key) for key in columns])
    database.close()
    exported, stored = traces(export)[:3], traces(path)
    assert [trace.external_ids for trace in stored] == [trace.external_ids for trace in exported]
    assert [(trace.name, trace.model, trace.parent) for trace in stored] == [
        (trace.name, trace.model, trace.parent) for trace in exported
    ]
    assert [calls(trace) for trace in stored] == [calls(trace) for trace in exported]
    texts = [[part.text for turn in trace.turns for part in turn.parts] for trace in stored]
    assert texts[:-1] == [[part.text for turn in trace.turns for part in turn.parts] for trace in exported[:-1]]
    assert texts[-1][-1] == "And at night?"
    assert "A rewind took this back." not in texts[-1]


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_cut_session_gives_what_came_before_the_cut(cut: int, tmp_path: Path) -> None:
    whole = (CASES / "claude-code" / "session.jsonl").read_bytes()
    path = tmp_path / "cut"
    path.write_bytes(whole[: -40 * cut])
    found = list(read_source(path).records)
    assert any(isinstance(record, Trace) for record in found)
    assert all("is truncated" in record.reason for record in found if isinstance(record, Skipped))


def test_a_custom_tools_free_text_is_its_argument_and_no_malformed_json() -> None:
    (trace,) = traces(CASES / "codex" / "rollout.jsonl")
    found = inspect_trace(trace)
    ((part, call),) = ((part, call) for part in found.parts for call in part.calls if call.name == "apply_patch")
    assert call.valid
    assert call.arguments == call.raw_arguments
    assert call.raw_arguments.startswith("*** Begin Patch")
    assert [one for one in found.diagnostics if (one.location.turn, one.location.part) == (part.turn, part.part)] == []


def test_the_list_of_prompts_of_gemini_cli_is_no_session_of_claude_code(tmp_path: Path) -> None:
    prompt = {"sessionId": "s1", "type": "user", "timestamp": "2026-01-16T11:01:00.000Z"}
    rows = [{**prompt, "messageId": number, "message": words} for number, words in enumerate(("hello", "/quit"))]
    path = tmp_path / "logs.json"
    path.write_text(json.dumps(rows))
    found = read_source(path)
    assert found.source == "gemini-cli"
    assert [record.reason for record in found.records if isinstance(record, Skipped)] == [
        "this is Gemini CLI's list of prompts, without answers; its sessions are in the folder `chats` beside it"
    ]


def test_what_cline_showed_is_not_taken_for_completions(tmp_path: Path) -> None:
    path = tmp_path / "ui_messages.json"
    path.write_text(json.dumps([{"ts": 1, "type": "say", "say": "text", "text": "Count."}, {"ts": 2, "type": "ask"}]))
    found = read_source(path)
    assert found.source == "cline"
    assert [record.reason for record in found.records if isinstance(record, Skipped)] == [
        "this is what the extension showed; the messages are in `api_conversation_history.json` beside it"
    ]


def test_gemini_clis_ids_of_calls_are_those_of_the_server(tmp_path: Path) -> None:
    """Since 0.61 it writes the tool's name before an id; a recording of the same run has the id alone."""
    response = {"functionResponse": {"id": "tide__c1", "name": "tide", "response": {"output": "14:20"}}}
    call = {"id": "tide__c1", "name": "tide", "args": {}, "status": "success", "result": [response]}
    rows = (
        {"sessionId": "s", "projectHash": "p", "startTime": "2026-11-03T08:00:00Z"},
        {"id": "m1", "type": "user", "content": "When?"},
        {"id": "m2", "type": "gemini", "content": "", "toolCalls": [call]},
    )
    path = tmp_path / "log"
    path.write_text("\n".join(map(json.dumps, rows)))
    (trace,) = traces(path)
    assert [call.id for turn in trace.turns for call in turn.calls] == ["c1"]
    assert [turn.result.call_id for turn in trace.turns if turn.result] == ["c1"]


def test_a_call_whose_pieces_still_arrive_is_not_malformed(tmp_path: Path) -> None:
    lines = (CASES / "kimi" / "wire.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "wire.jsonl"
    seen: list[list[str]] = []
    for number in range(7, 11):
        path.write_text("".join(lines[:number]), encoding="utf-8")
        (trace,) = traces(path)
        seen.append([text for _, text in calls(trace)])
        assert any("still writes it" in note for note in trace.provenance.warnings) is (number in (7, 9))
    whole = '{"command": "ring"}'
    assert seen == [[], [whole], [whole], [whole, '{"command": "ri']]  # the last one after the answer's usage
