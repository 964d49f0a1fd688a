"""Results: files in the fields of K2-Vendor-Verifier with its counts, measures, and comparisons."""

import asyncio
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # no stubs installed
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.probe.model_server import Body, Fault, call_text, running
from weaklink.inspector.probe.measures import call_f1, compare_endpoints, measure, paired_difference, summary_json
from weaklink.inspector.probe.results import ProbeMode, ProbeRecord, ResultsError, read_results, result_line
from weaklink.inspector.probe.running import ProbedAnswer, ProbePlan, ProbeRun, endpoint_target
from weaklink.inspector.probe.suite import read_suites

_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    },
    {"type": "function", "function": {"name": "loose", "parameters": {"query": "anything"}}},
    {"type": "function", "function": {"name": "bare", "parameters": {}}},
    {"type": "function", "function": {"name": "broken", "parameters": {"type": "objekt"}}},
]
# what the model writes for each line of the made-up suite
_TEXTS = [
    call_text("get_weather", {"city": "Oslo"}),
    call_text("get_weather", {"city": 5}),
    call_text("get_weather", {}),
    call_text("weather", {"city": "Oslo"}),
    call_text("loose", {"query": 1}),
    call_text("bare", {}),
    call_text("broken", {"a": 1}),
    call_text("get_weather", {"city": "Oslo"}).replace('"Oslo"}}', '"Oslo"}'),
    f"{call_text('get_weather', {'city': 'Oslo'})}\n{call_text('get_weather', {'town': 'Oslo'})}",
    "No call at all.",
]


def _made_up(tmp_path: Path) -> Path:
    lines = [
        {"messages": [{"role": "user", "content": f"question {number}"}], "tools": _TOOLS, "stream": number % 2 == 0}
        for number, _ in enumerate(_TEXTS)
    ]
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


class _Verifier:
    """The counts of MoonshotAI/K2-Vendor-Verifier, computed by its rules with the `jsonschema` that it uses."""

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self.lines = lines

    def valid(self, line: dict[str, Any]) -> bool | None:
        choice = (line["response"].get("choices") or [{}])[0]
        if choice.get("finish_reason") != "tool_calls":
            return None
        return all(self._call(call, line["request"]["tools"]) for call in choice["message"]["tool_calls"])

    def _call(self, call: Body, tools: list[Body]) -> bool:
        name = call["function"]["name"]
        schemas = [tool["function"]["parameters"] for tool in tools if tool["function"]["name"] == name]
        if not schemas or not schemas[0]:
            return False
        try:
            jsonschema.validate(instance=json.loads(call["function"]["arguments"]), schema=schemas[0])
        except (ValueError, jsonschema.ValidationError, jsonschema.SchemaError):
            return False
        return True

    def summary(self) -> dict[str, Any]:
        finishes = Counter(line["finish_reason"] for line in self.lines)
        valid = sum(line["finish_reason"] == "tool_calls" and bool(self.valid(line)) for line in self.lines)
        return {
            "success_count": sum(line["status"] == "success" for line in self.lines),
            "failure_count": sum(line["status"] != "success" for line in self.lines),
            "finish_stop": finishes["stop"],
            "finish_tool_calls": finishes["tool_calls"],
            "schema_validation_error_count": finishes["tool_calls"] - valid,
            "successful_tool_call_count": valid,
        }


def _probed(path: Path, fault: Fault, **plan: Any) -> list[ProbedAnswer]:
    async def run() -> list[ProbedAnswer]:
        answers: list[ProbedAnswer] = []
        async with running(fault) as server:
            server.written = lambda body: _TEXTS[int(body["messages"][0]["content"].split()[1])]  # type: ignore[method-assign] # not the built-in suite
            made = ProbePlan(server.url, tuple(read_suites([path])), model="k2", is_owner_sought=False, **plan)
            await ProbeRun(made, endpoint_target(server.url, {}), answers.extend).run()
        return answers

    return asyncio.run(run())


def _fail_some(body: Body) -> int:
    return 418 if body["messages"][0]["content"] == "question 0" else 200


@pytest.mark.parametrize("fault", [Fault(), Fault(status=_fail_some)])
def test_counts_equal_those_of_the_vendor_verifier(tmp_path: Path, fault: Fault) -> None:
    answers = _probed(_made_up(tmp_path), fault, as_written=True)
    path = tmp_path / "results.jsonl"
    path.write_text(
        "".join(f"{result_line(answer.record, answer.judged.answer, datetime.now(UTC))}\n" for answer in answers)
    )
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    verifier = _Verifier(lines)
    assert [line["tool_calls_valid"] for line in lines] == [verifier.valid(line) for line in lines]
    records = read_results(path)
    summary = summary_json(records, measure(records), url="u", model="k2", suite=[])
    assert summary.items() >= verifier.summary().items()
    assert summary["success_count"] in (len(_TEXTS), len(_TEXTS) - 1)
    shares = {share.name: share for share in measure([answer.record for answer in answers]).shares}
    assert {share.name: share for share in measure(records).shares} == shares


def test_a_file_of_the_verifier_itself_is_read(tmp_path: Path) -> None:
    """Without weaklink's member, and without the fields that only newer versions write."""
    call = {"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    choice = {"finish_reason": "tool_calls", "message": {"tool_calls": [call]}}
    line = {
        "data_index": 7,
        "request": {"messages": [], "tools": _TOOLS, "model": "k2"},
        "response": {"choices": [choice]},
        "status": "success",
        "finish_reason": "tool_calls",
        "tool_calls_valid": False,
        "last_run_at": "2025-11-15T10:00:00",
        "duration_ms": 12,
        "hash": "h",
    }
    path = tmp_path / "results.jsonl"
    path.write_text(
        f"{json.dumps(line)}\n{json.dumps({**line, 'tool_calls_valid': True})}\n" + '{"data_index": 8, "req'
    )
    (record,) = read_results(path)  # of two with one hash the later, and no incomplete last line
    assert (record.number, record.tool_calls_valid, record.mode) == (7, True, ProbeMode.WHOLE)
    path.write_text('{"a": 1}\n')
    with pytest.raises(ResultsError, match="line 1: not a result"):
        read_results(path)


def _record(number: int, finish: str, *, wants: bool | None = None, **members: Any) -> ProbeRecord:
    return ProbeRecord(
        number, f"r{number}", "f", ProbeMode.WHOLE, f"h{number}", "m", True, finish, None, wants_call=wants, **members
    )


def test_f1_is_that_of_the_verifier() -> None:
    ours = [_record(n, finish) for n, finish in enumerate(["tool_calls"] * 5 + ["stop"] * 5)]
    official = [_record(n, finish) for n, finish in enumerate(["tool_calls"] * 4 + ["stop"] * 3 + ["tool_calls"] * 3)]
    tp, fp, fn = 4, 1, 3
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    score = call_f1(ours, official)
    assert score.value == pytest.approx(2 * precision * recall / (precision + recall))
    assert score.interval.low < (score.value or 0) < score.interval.high
    assert call_f1([_record(1, "stop", wants=False)]).value is None


@given(st.lists(st.integers(0, 30), min_size=4, max_size=4))
def test_a_paired_difference_lies_in_its_interval(counts: list[int]) -> None:
    difference = paired_difference(*counts)
    if difference is None:
        assert not sum(counts)
        return
    assert -1 <= difference.interval.low <= difference.value <= difference.interval.high <= 1
    assert 0 <= difference.p <= 1
    other = paired_difference(counts[0], counts[2], counts[1], counts[3])
    assert other is not None
    assert other.value == pytest.approx(-difference.value)
    assert other.interval.low == pytest.approx(-difference.interval.high)


def test_newcombes_interval_for_paired_data() -> None:
    """Newcombe (1998), table II, method 10: 36 of 40 agree; cells 36, 12, 2, 0 give 0.0569 to 0.3404."""
    difference = paired_difference(36, 12, 2, 0)
    assert difference is not None
    assert difference.value == pytest.approx(0.2)
    assert (difference.interval.low, difference.interval.high) == pytest.approx((0.0569, 0.3404), abs=5e-4)


def test_endpoints_are_compared_on_the_requests_of_both() -> None:
    first = [_record(n, "stop", right=True) for n in range(20)]
    second = [_record(n, "stop", right=n % 2 == 0) for n in range(5, 30)]
    right = next(endpoint for endpoint in compare_endpoints(first, second) if endpoint.name == "right")
    assert (right.trials, right.both, right.only_first) == (15, 7, 8)
    assert right.difference is not None
    assert right.difference.value == pytest.approx(8 / 15)
