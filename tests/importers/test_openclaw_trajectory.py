"""Trajectories of OpenClaw that break off, are cut, alternate, or lie beside the session that they tell."""

import json
from pathlib import Path
from typing import Any

import pytest

from weaklink.inspector.importers.reading import read_source
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
