"""Trajectories of OpenClaw that break off, are cut, alternate, or lie beside the session that they tell."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from weaklink.inspector.importers.agents.openclaw import restore_calls
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Trace

CASE = Path(__file__).parents[1] / "cases/importers/openclaw-trajectory/two_sessions.jsonl"
_CUT = {"truncated": True, "originalChars": 40_000}


def event(kind: str, data: dict[str, Any], session: str = "s1") -> dict[str, Any]:
    head = {"traceSchema": "openclaw-trajectory", "source": "runtime", "ts": "2026-11-30T10:00:00Z", "modelId": "m"}
    return {**head, "type": kind, "sessionId": session, "data": data}


def compiled(prompt: Any = "How many?", session: str = "s1") -> dict[str, Any]:
    return event("context.compiled", {"systemPrompt": "s", "tools": [], "prompt": prompt, "messages": []}, session)


CALL = event("tool.call", {"toolCallId": "c1", "name": "exec", "args": {"command": "wc -l a"}})


def read(path: Path, *rows: dict[str, Any]) -> list[Trace | Skipped]:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return list(read_source(path).records)


def trace(path: Path, *rows: dict[str, Any]) -> Trace:
    (only,) = read(path, *rows)
    assert isinstance(only, Trace)
    return only


@pytest.mark.parametrize("count", range(1, 16))
def test_a_file_that_breaks_off_after_any_line_is_read(count: int, tmp_path: Path) -> None:
    lines = CASE.read_text(encoding="utf-8").splitlines()[:count]
    records = read(tmp_path / "s.trajectory.jsonl", *map(json.loads, lines))
    assert len(records) == (1 if count < 14 else 2)
    assert isinstance(records[0], Trace) == (count > 2)


@pytest.mark.parametrize("value", [None, 1, ["x"], {"x": 1}])
@pytest.mark.parametrize("member", ["type", "ts", "modelId"])
def test_an_event_with_a_member_of_another_type_does_not_hide_the_others(
    member: str, value: Any, tmp_path: Path
) -> None:
    result = event("tool.result", {"toolCallId": "c1", "name": "exec", "result": "3 a"})
    other = {**event("context.compiled", {}), member: value}
    only = trace(tmp_path / "s.jsonl", compiled(), CALL, other, result)
    assert [turn.role for turn in only.turns[-2:]] == ["assistant", "tool"]


def test_a_run_that_was_aborted_or_failed_says_so(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    for data, reason in (
        ({"aborted": True, "assistantTexts": []}, "client"),
        ({"timedOut": True, "assistantTexts": ["I"]}, "upstream"),
        ({"promptError": "500 overloaded", "assistantTexts": []}, "upstream"),
    ):
        chain = inspect_trace(trace(path, compiled(), event("model.completed", data))).chain
        assert (chain.status, chain.abort_reason) == ("aborted", reason)


def test_what_was_cut_is_noted_and_a_text_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    cut = trace(path, compiled(), CALL, event("tool.result", {"toolCallId": "c1", "name": "exec", "result": _CUT}))
    assert any("longer than the trajectory stores" in note for note in cut.provenance.warnings)
    told = event("tool.result", {"toolCallId": "c1", "name": "exec", "result": "12 a"})
    assert trace(path, compiled(), CALL, told).turns[-1].parts[0].text == "12 a"
    texts = event("model.completed", {"assistantTexts": ["One.", "Two."], "usage": {"input": 3, "output": 2}})
    answer = trace(path, compiled(), texts).turns[-1]
    assert answer.parts[0].text == "One.\n\nTwo."
    assert answer.generation is not None
    assert answer.generation.usage is not None
    assert answer.generation.usage.output_tokens == 2


def test_sessions_may_alternate(tmp_path: Path) -> None:
    ends = [event("model.completed", {"assistantTexts": [name]}, name) for name in ("s1", "s2")]
    found = read(tmp_path / "s.jsonl", compiled(), compiled(session="s2"), *ends)
    assert [[part.text for turn in one.turns for part in turn.parts] for one in found if isinstance(one, Trace)] == [
        ["s", "How many?", "s1"],
        ["s", "How many?", "s2"],
    ]


def test_the_session_beside_a_trajectory_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text("{}", encoding="utf-8")
    (skipped,) = read(tmp_path / "s.trajectory.jsonl", compiled())
    assert isinstance(skipped, Skipped)
    assert skipped.is_irrelevant
    assert skipped.reason == "`s.jsonl` beside it has this session"


def test_what_was_nested_too_deeply_is_left_out_of_a_schema(tmp_path: Path) -> None:
    cut = {"truncated": True, "reason": "trajectory-depth-limit", "limitDepth": 6}
    parameters = {"type": "object", "properties": {"env": {"type": "object", "patternProperties": cut}, "any": cut}}
    opened = compiled()
    opened["data"]["tools"] = [{"name": "exec", "parameters": {**parameters, "anyOf": [cut, {"required": ["env"]}]}}]
    told = event("tool.result", {"toolCallId": "c1", "name": "exec", "result": "12 a"})
    read_trace = trace(tmp_path / "s.jsonl", opened, CALL, told)
    assert any("nested deeper" in note for note in read_trace.provenance.warnings)
    assert "S207" not in [one.rule.code for one in inspect_trace(read_trace).diagnostics]


def test_an_answer_that_had_only_calls_of_missing_tools_comes_back_before_its_results() -> None:
    """Each round has its own; none goes into an answer before the user's words, or behind an entry that is lost."""

    def entry(id_: str, role: str, **members: Any) -> Row:
        return Row("e", 1, {"type": "message", "id": id_, "parentId": "p", "message": {"role": role, **members}}, b"")

    def result(call_id: str) -> Row:
        return entry(f"of {call_id}", "toolResult", toolCallId=call_id)

    sent = []
    for round_ in (("a",), ("b", "c"), ("d",), ("e",)):
        sent += [event("tool.call", {"toolCallId": id_, "name": "no_such_tool", "args": {}}) for id_ in round_]
        sent += [event("tool.result", {"toolCallId": id_}) for id_ in round_]
    text = [{"type": "text", "text": "Done."}]
    lost = Row("e", 1, {}, b"")
    entries = [entry("u", "user", content="Go."), result("a"), result("b"), result("c")]
    entries += [
        entry("t", "assistant", content=text),
        entry("v", "user", content="On."),
        result("d"),
        lost,
        result("e"),
    ]
    assert restore_calls(entries, sent)
    messages: list[Any] = [row.value.get("message", {}) for row in entries]
    told = [[block.get("id", "text") for block in one["content"]] for one in messages if one.get("role") == "assistant"]
    assert told == [["a"], ["b", "c"], ["text"], ["d"]]
    for row, after in pairwise(entries):
        if str(row.value.get("id")).endswith(":call"):
            assert (row.value["parentId"], after.value["parentId"]) == ("p", row.value["id"])
