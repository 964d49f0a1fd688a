"""What a proxy saw beside requests to models: MCP traffic is what ran and came back, lists of models have windows."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.importers.flow_files import asked, flow, request, response, streamed, tnetstring
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import RecordedRun, Trace

READ = "17:42 and 05:12"
CALL: Any = {"id": "call_1", "type": "function", "function": {"name": "tide__at", "arguments": '{"port": "Brest"}'}}


def rpc(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", **members}


def ran(port: str = "Brest", *, id: Any = 7, name: str = "at") -> dict[str, Any]:
    return rpc(id=id, method="tools/call", params={"name": name, "arguments": {"port": port}})


def came(text: str, *, id: Any = 7) -> dict[str, Any]:
    return rpc(id=id, result={"content": [{"type": "text", "text": text}], "isError": False})


def events(*messages: Any) -> bytes:
    return b"".join(b"event: message\ndata: %s\n\n" % json.dumps(one).encode() for one in messages)


def model_flows(read: str = READ, *, call: Any = CALL) -> tuple[dict[str, object], dict[str, object]]:
    """A model calls a tool, and answers when it has read the result."""
    user: Any = {"role": "user", "content": "When is high tide?"}
    said: Any = {"role": "assistant", "content": None, "tool_calls": [call]}
    result: Any = {"role": "tool", "tool_call_id": call["id"], "content": read}
    called = streamed({"tool_calls": [{"index": 0, **call}]}, finish="tool_calls")
    answered = streamed({"content": "At 17:42."}, id="chatcmpl-2")
    first = flow(request=request(asked(user)), response=response(called), id="1")
    last = request(asked(user, said, result), at_s=10.0)
    return first, flow(request=last, response=response(answered, at_s=10.0), id="9")


def mcp_flow(
    body: Any,
    answer: bytes,
    *,
    kind: str = "application/json",
    path: str = "/mcp",
    at_s: float = 2.0,
    session: str = "",
) -> dict[str, object]:
    sent: Any = request(b"" if body is None else json.dumps(body).encode(), path=path, at_s=at_s)
    if session:
        sent["headers"] = [*sent["headers"], [b"Mcp-Session-Id", session.encode()]]
    return flow(request=sent, response=response(answer, kind=kind, at_s=at_s), id=f"{path}{at_s}")


def records_of(tmp_path: Path, *flows: dict[str, object]) -> tuple[Trace, list[Skipped]]:
    path = tmp_path / "flows.mitm"
    path.write_bytes(b"".join(map(tnetstring, flows)))
    records = list(read_source(path).records)
    (trace,) = (one for one in records if isinstance(one, Trace))
    return trace, [one for one in records if isinstance(one, Skipped)]


def run_in(trace: Trace) -> RecordedRun | None:
    return next(turn.run for turn in trace.turns if turn.result is not None)


def codes(trace: Trace) -> list[str]:
    return [one.rule.code for one in inspect_trace(trace).diagnostics if one.rule.layer]


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_a_run_is_beside_the_result_of_its_call(kind: str, tmp_path: Path) -> None:
    note = rpc(method="notifications/progress", params={"progress": 1})
    body = json.dumps(came(READ)).encode() if kind == "application/json" else events(note, came(READ))
    first, last = model_flows()
    trace, skipped = records_of(tmp_path, first, mcp_flow(ran(), body, kind=kind), last)
    run = run_in(trace)
    assert run is not None
    assert (run.source, run.name, run.arguments, run.result, run.failed) == (
        "mcp",
        "at",
        '{"port":"Brest"}',
        READ,
        False,
    )
    assert run.started is not None
    assert run.started.at_s == 1_790_000_002.0
    assert codes(trace) == []
    assert skipped == []


@pytest.mark.parametrize(
    ("sent", "answer", "expected"),
    [
        (ran("Nice"), came(READ), ["L805"]),
        (ran(), came("06:00"), ["L808"]),
        (ran(), came(f"{READ}. Low tide is at 11:30 and at 23:50, all in local time of Brest."), ["L809"]),
        (ran(), rpc(id=7, error={"code": -32602, "message": "no such port"}), []),
        (ran(), rpc(id=7, result={"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}), []),
        (ran(), rpc(id=7, result={"content": [{"type": "text", "text": one} for one in ("17:42 and", "05:12")]}), []),
        (ran(), rpc(id=7, result={"content": [{"type": "text", "text": READ}], "structuredContent": {"at": 1}}), []),
    ],
    ids=["other arguments", "another result", "cut", "an error", "a picture", "two texts", "structured"],
)
def test_a_run_that_differs_is_reported_and_another_form_is_not(
    sent: Any, answer: Any, expected: list[str], tmp_path: Path
) -> None:
    first, last = model_flows()
    trace, _ = records_of(tmp_path, first, mcp_flow(sent, json.dumps(answer).encode()), last)
    run = run_in(trace)
    assert run is not None
    assert run.result is not None
    assert codes(trace) == expected


def test_the_older_transport_answers_on_the_stream_of_the_session(tmp_path: Path) -> None:
    first, last = model_flows()
    opened = b"event: endpoint\ndata: /messages/?session_id=a1\n\n" + events(came(READ, id=0))
    other = b"event: endpoint\ndata: /messages/?session_id=b2\n\n" + events(came("another session", id=0))
    trace, _ = records_of(
        tmp_path,
        mcp_flow(None, other, kind="text/event-stream", path="/sse", at_s=0.1),
        mcp_flow(None, opened, kind="text/event-stream", path="/sse", at_s=0.2),
        first,
        mcp_flow(ran(id=0), b"Accepted", kind="text/plain", path="/messages/?session_id=a1"),
        last,
    )
    run = run_in(trace)
    assert run is not None
    assert run.result == READ


def test_runs_of_no_call_and_other_messages_are_counted(tmp_path: Path) -> None:
    first, last = model_flows()
    hello = mcp_flow(rpc(id=1, method="initialize", params={}), json.dumps(rpc(id=1, result={})).encode(), at_s=0.3)
    early = mcp_flow(ran(), json.dumps(came("before the call")).encode(), at_s=-5.0, session="s1")
    foreign = mcp_flow(ran(name="attic", id=8), json.dumps(came("no such call", id=8)).encode(), session="s2")
    trace, (rest,) = records_of(tmp_path, early, hello, first, foreign, last)
    assert run_in(trace) is None
    assert rest.record == "3 of 5 flows"
    assert "MCP messages that call no tool (1)" in rest.reason
    assert "calls of MCP tools without a matching call in a recorded answer (2)" in rest.reason


@pytest.mark.parametrize("method", [["tasks/get"], {"tasks": 1}, None, 5])
def test_a_message_whose_method_is_no_text_hides_no_run(method: Any, tmp_path: Path) -> None:
    first, last = model_flows()
    odd = mcp_flow(rpc(id=1, method=method), json.dumps(rpc(method=method, params={})).encode(), at_s=1.0)
    trace, _ = records_of(tmp_path, first, odd, mcp_flow(ran(), json.dumps(came(READ)).encode()), last)
    assert run_in(trace) is not None


def test_equal_names_are_told_apart_by_their_arguments_whatever_their_order(tmp_path: Path) -> None:
    first, last = model_flows()
    swapped = [
        mcp_flow(ran("Nice", id=1), json.dumps(came("12:00", id=1)).encode(), at_s=1.0),
        mcp_flow(ran("Brest", id=2), json.dumps(came(READ, id=2)).encode(), at_s=2.0),
    ]
    trace, (rest,) = records_of(tmp_path, first, *swapped, last)
    run = run_in(trace)
    assert run is not None
    assert run.result == READ
    assert "(1)" in rest.reason


QUESTION = {"confirm": {"method": "elicitation/create", "params": {"mode": "form", "message": "Which datum?"}}}


def asks(*, id: Any = 7, state: str = "s1") -> bytes:
    """An answer that asks for something first; revision 2026-07-28."""
    result = {"resultType": "input_required", "inputRequests": QUESTION, "requestState": state}
    return json.dumps(rpc(id=id, result=result)).encode()


def again(*, id: Any = 8, state: str = "s1") -> dict[str, Any]:
    """The same call with what was asked for."""
    sent = ran(id=id)
    answers = {"confirm": {"action": "accept", "content": {"datum": "LAT"}}}
    return {**sent, "params": {**sent["params"], "inputResponses": answers, "requestState": state}}


def polled(task_id: str, id: Any, *, method: str = "tasks/get") -> dict[str, Any]:
    return rpc(id=id, method=method, params={"taskId": task_id})


def answered(id: Any, **result: Any) -> bytes:
    return json.dumps(rpc(id=id, result=result)).encode()


CONTENT = {"content": [{"type": "text", "text": READ}], "isError": False}


def test_without_sessions_ids_may_be_used_again(tmp_path: Path) -> None:
    first, last = model_flows()
    other = mcp_flow(ran("Nice", id=1), json.dumps(came("12:00", id=1)).encode(), at_s=1.0)
    own = mcp_flow(ran("Brest", id=1), json.dumps(came(READ, id=1)).encode(), at_s=2.0)
    trace, (rest,) = records_of(tmp_path, first, other, own, last)
    run = run_in(trace)
    assert run is not None
    assert run.result == READ
    assert "calls of MCP tools without a matching call in a recorded answer (1)" in rest.reason


def test_a_request_that_a_session_sends_again_is_one_run(tmp_path: Path) -> None:
    first, last = model_flows()
    runs = [mcp_flow(ran(), json.dumps(came(READ)).encode(), at_s=at_s, session="s1") for at_s in (1.0, 2.0)]
    trace, skipped = records_of(tmp_path, first, *runs, last)
    assert run_in(trace) is not None
    assert skipped == []


def test_a_tool_that_asks_before_it_answers_runs_once(tmp_path: Path) -> None:
    first, last = model_flows()
    twice = [
        mcp_flow(ran(), asks(), at_s=1.0),
        mcp_flow(again(), asks(id=8, state="s2"), at_s=2.0),
        mcp_flow(again(id=9, state="s2"), json.dumps(came(READ, id=9)).encode(), at_s=3.0),
    ]
    trace, skipped = records_of(tmp_path, first, *twice, last)
    run = run_in(trace)
    assert run is not None
    assert (run.result, run.failed, run.own_form) == (READ, False, ())
    assert run.started is not None
    assert run.started.at_s == 1_790_000_001.0
    assert codes(trace) == []
    assert skipped == []
    notes = [one for one in trace.provenance.warnings if "MCP" in one]
    assert notes == ["the MCP tool `at` asked before it answered: `confirm`: Which datum?"] * 2


def test_a_tool_that_was_not_told_what_it_asked_has_no_result(tmp_path: Path) -> None:
    first, last = model_flows("The user declined.")
    trace, _ = records_of(tmp_path, first, mcp_flow(ran(), asks(), at_s=1.0), last)
    run = run_in(trace)
    assert run is not None
    assert run.failed is None
    assert run.own_form == ("result",)
    assert codes(trace) == []


TASK = {"taskId": "t1", "createdAt": "2026-11-01T10:00:00Z", "lastUpdatedAt": "2026-11-01T10:00:00Z", "ttlMs": None}
BEGUN_2026 = answered(7, resultType="task", status="working", **TASK)
BEGUN_2025 = answered(7, task={**TASK, "status": "working"})
TASKS = [
    (BEGUN_2026, [(polled("t1", 8), answered(8, resultType="complete", status="completed", result=CONTENT, **TASK))]),
    (
        BEGUN_2026,
        [
            (polled("t1", 8), answered(8, status="input_required", inputRequests=QUESTION, **TASK)),
            (polled("t1", 9), answered(9, status="completed", result=CONTENT, **TASK)),
        ],
    ),
    (
        BEGUN_2025,
        [
            (polled("t1", 8), answered(8, status="completed", **TASK)),
            (polled("t1", 9, method="tasks/result"), answered(9, **CONTENT)),
        ],
    ),
]


@pytest.mark.parametrize(("begun", "polls"), TASKS, ids=["2026-07-28", "asks", "2025-11-25"])
def test_a_run_that_becomes_a_task_has_the_result_of_the_task(
    begun: bytes, polls: list[tuple[Any, bytes]], tmp_path: Path
) -> None:
    first, last = model_flows()
    later = [mcp_flow(sent, came_back, at_s=2.0 + at) for at, (sent, came_back) in enumerate(polls)]
    trace, _ = records_of(tmp_path, first, mcp_flow(ran(), begun, at_s=1.0), *later, last)
    run = run_in(trace)
    assert run is not None
    assert (run.result, run.failed) == (READ, False)
    assert codes(trace) == []
    (states,) = (one for one in trace.provenance.warnings if "as a task" in one)
    assert states.startswith("the MCP tool `at` ran as a task: working, ")
    assert states.endswith("completed")


def test_a_task_may_end_on_a_stream_of_notifications(tmp_path: Path) -> None:
    first, last = model_flows()
    note = rpc(method="notifications/tasks", params={**TASK, "status": "completed", "result": CONTENT})
    listened = rpc(id=8, method="subscriptions/listen", params={"notifications": {"taskIds": ["t1"]}})
    flows = [
        mcp_flow(ran(), BEGUN_2026, at_s=1.0),
        mcp_flow(listened, events(note), kind="text/event-stream", at_s=2.0),
    ]
    trace, _ = records_of(tmp_path, first, *flows, last)
    run = run_in(trace)
    assert run is not None
    assert run.result == READ


@pytest.mark.parametrize(
    "end",
    [
        answered(8, status="failed", error={"code": -32603, "message": "no tides today"}, **TASK),
        answered(8, status="cancelled", **TASK),
    ],
    ids=["failed", "cancelled"],
)
def test_a_task_that_has_no_result_has_failed(end: bytes, tmp_path: Path) -> None:
    first, last = model_flows("That did not work.")
    flows = [mcp_flow(ran(), BEGUN_2026, at_s=1.0), mcp_flow(polled("t1", 8), end, at_s=2.0)]
    trace, _ = records_of(tmp_path, first, *flows, last)
    run = run_in(trace)
    assert run is not None
    assert run.failed
    assert run.own_form == ("result",)
    assert codes(trace) == []


def test_a_har_has_them_too_and_damaged_messages_are_other_traffic(tmp_path: Path) -> None:
    def entry(path: str, body: bytes, answer: bytes, kind: str, at: int) -> Any:
        url = f"https://127.0.0.1{path}"
        content = {"mimeType": kind, "text": base64.b64encode(answer).decode(), "encoding": "base64"}
        heads = [{"name": "Content-Type", "value": kind}]
        return {
            "startedDateTime": f"2026-04-02T08:00:{at:02}.000Z",
            "time": 500,
            "request": {"method": "POST", "url": url, "headers": [], "postData": {"text": body.decode()}},
            "response": {"status": 200, "headers": heads, "content": content},
        }

    flows: Any = model_flows()
    models = [(one["request"]["content"], one["response"]["content"]) for one in flows]
    entries = [
        entry("/v1/chat/completions", *models[0], "text/event-stream", 0),
        entry("/mcp", json.dumps(ran()).encode(), events(came(READ)), "text/event-stream", 2),
        entry("/mcp", b'{"jsonrpc": "2.0", "id": 1', b'{"jsonrpc"', "application/json", 3),
        entry("/v1/chat/completions", *models[1], "text/event-stream", 9),
    ]
    path = tmp_path / "session.har"
    path.write_text(json.dumps({"log": {"version": "1.2", "creator": {"name": "x"}, "entries": entries}}))
    records = list(read_source(path).records)
    (trace,) = (one for one in records if isinstance(one, Trace))
    run = run_in(trace)
    assert run is not None
    assert (run.source, run.result) == ("mcp", READ)
    (rest,) = (one for one in records if isinstance(one, Skipped))
    assert "requests to other services (1)" in rest.reason


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        (b'{"object": "list", "data": [{"id": "demo", "max_model_len": 8192}, {"id": "other"}]}', 8192),
        (b'{"data": [{"id": "demo", "context_length": 4096}, 7, {"id": "demo2", "context_length": "x"}]}', 4096),
        (b'{"data": {"id": "demo"}}', None),
        (b'{"data": [', None),
    ],
)
def test_the_list_of_a_servers_models_says_how_large_their_windows_are(
    listed: bytes, expected: int | None, tmp_path: Path
) -> None:
    first, last = model_flows()
    models = mcp_flow(None, listed, path="/v1/models?all", at_s=-1.0)
    trace, (rest,) = records_of(tmp_path, first, models, last)
    windows = {turn.generation.context_window for turn in trace.turns if turn.generation is not None}
    assert windows == {expected}
    assert "requests to other services (1)" in rest.reason
