"""Logs of agents that asked at once: importers tell siblings from retries as the recorder does."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.importers.flow_files import flow, request, response, tnetstring
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.model import Json, ParentWhy, Trace

OPENING: Json = [{"role": "system", "content": "You plan."}, {"role": "user", "content": "Plan the week."}]
START_S = 1_790_000_000.0
ENDS_S = {"overlapping": 5.0, "one after the other": 0.5}


def answer(words: str) -> dict[str, Json]:
    message: Json = {"role": "assistant", "content": words}
    return {
        "id": words,
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }


def litellm(asked: list[tuple[float, float, str]]) -> bytes:
    base = Path(__file__).parents[1] / "cases" / "importers" / "litellm" / "payloads.jsonl"
    like = json.loads(base.read_text(encoding="utf-8").splitlines()[0])
    rows = []
    for number, (at_s, ends_s, words) in enumerate(asked):
        names = {"id": f"r{number}", "litellm_call_id": f"call-{number}", "trace_id": f"trace-{number}"}
        times = {"startTime": START_S + at_s, "endTime": START_S + ends_s, "completionStartTime": START_S + ends_s}
        row = {**like, **names, **times, "stream": False, "messages": OPENING, "response": answer(words)}
        rows.append({**row, "model_parameters": {}})
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def mitmproxy(asked: list[tuple[float, float, str]]) -> bytes:
    flows = []
    for at_s, ends_s, words in asked:
        sent = request(json.dumps({"model": "m", "messages": OPENING}).encode(), at_s=at_s)
        got = response(json.dumps(answer(words)).encode(), kind="application/json", at_s=at_s)
        flows.append(tnetstring(flow(request=sent, response={**got, "timestamp_end": START_S + ends_s})))
    return b"".join(flows)


def har(asked: list[tuple[float, float, str]]) -> bytes:
    entries: list[Json] = []
    for at_s, ends_s, words in asked:
        body = json.dumps({"model": "m", "messages": OPENING})
        headers: Json = [{"name": "Content-Type", "value": "application/json"}]
        sent: Json = {
            "method": "POST",
            "url": "http://127.0.0.1:8000/v1/chat/completions",
            "headers": headers,
            "postData": {"mimeType": "application/json", "text": body},
        }
        content: Json = {"mimeType": "application/json", "text": json.dumps(answer(words))}
        wait_ms = (ends_s - at_s) * 1_000
        entries.append(
            {
                "startedDateTime": f"2026-09-21T12:00:{at_s:06.3f}Z",
                "time": wait_ms,
                "request": sent,
                "response": {"status": 200, "headers": headers, "content": content},
                "timings": {"send": 0, "wait": wait_ms, "receive": 0},
            }
        )
    return json.dumps({"log": {"version": "1.2", "creator": {"name": "x"}, "entries": entries}}).encode()


@pytest.mark.parametrize("write", [litellm, mitmproxy, har])
@pytest.mark.parametrize("how", ENDS_S)
def test_requests_that_overlap_in_a_log_are_siblings(
    how: str, write: Callable[[list[tuple[float, float, str]]], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "log"
    path.write_bytes(write([(n, n + ENDS_S[how], f"plan {n}") for n in range(3)]))
    traces = [record for record in read_source(path).records if isinstance(record, Trace)]
    attempts = [[turn.generation.attempt for turn in one.turns if turn.generation] for one in traces]
    if how == "one after the other":
        assert attempts == [[1, 2, 3]]
        return
    assert attempts == [[1], [1], [1]]
    parents = [trace.parent for trace in traces]
    assert parents[0] is None
    for parent in parents[1:]:
        assert parent is not None
        assert parent.why is ParentWhy.SIBLING
        assert parent.external_id in traces[0].external_ids


def _attempts(path: Path) -> list[list[int]]:
    traces = [record for record in read_source(path).records if isinstance(record, Trace)]
    return [[turn.generation.attempt for turn in trace.turns if turn.generation] for trace in traces]


@pytest.mark.parametrize("ends_s", [(1.0, 1.0, 1.0), (1.0, 1.0004, 1.0)])
def test_requests_in_one_millisecond_are_siblings(ends_s: tuple[float, ...], tmp_path: Path) -> None:
    path = tmp_path / "log.har"
    path.write_bytes(har([(1.0, end_s, f"plan {number}") for number, end_s in enumerate(ends_s)]))
    assert _attempts(path) == [[1], [1], [1]]


def test_a_request_that_failed_is_repeated_in_its_millisecond(tmp_path: Path) -> None:
    path = tmp_path / "log.har"
    log = json.loads(har([(1.0, 1.0, "plan"), (1.0, 1.0, "plan")]))
    log["log"]["entries"][0]["response"] |= {"status": 503, "content": {"text": '{"error": {"message": "busy"}}'}}
    path.write_text(json.dumps(log))
    assert _attempts(path) == [[1, 2]]


def test_a_conversation_in_one_millisecond_is_one_trace(tmp_path: Path) -> None:
    path = tmp_path / "log.har"
    log = json.loads(har([(1.0, 1.0, f"plan {number}") for number in range(3)]))
    messages: list[Json] = list(OPENING)  # type: ignore[arg-type]  # it is a list
    for number, entry in enumerate(log["log"]["entries"]):
        entry["request"]["postData"]["text"] = json.dumps({"model": "m", "messages": messages})
        messages += [{"role": "assistant", "content": f"plan {number}"}, {"role": "user", "content": f"{number}?"}]
    path.write_text(json.dumps(log))
    assert _attempts(path) == [[1, 1, 1]]
