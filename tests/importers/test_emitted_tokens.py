"""Where an answer has its tokens beside the parsed message, they show the calls that the server lost or changed."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from weaklink.inspector.chain.emitted import emitted_text
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Role, Trace, Turn

CALL = '<tool_call>\n{"name": "tide", "arguments": {"port": "Oslo", "days": "05"}}\n</tool_call>'
TOKENS = [token for token in re.split(r'(<tool_call>|</tool_call>|\s+|[{}":,])', CALL) if token]
SAME, OTHER = '{"port": "Oslo", "days": "05"}', '{"port": "Oslo", "days": 5}'
REQUEST: dict[str, Any] = {
    "model": "hermes-4",
    "messages": [{"role": "user", "content": "When is high tide in Oslo?"}],
    "tools": [{"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}}],
    "logprobs": True,
}


def calls(arguments: str) -> list[dict[str, Any]]:
    return [{"id": "a", "type": "function", "function": {"name": "tide", "arguments": arguments}}]


def logprobs(tokens: list[str]) -> dict[str, Any]:
    listed = [{"token": token, "logprob": -0.1, "bytes": list(token.encode()), "top_logprobs": []} for token in tokens]
    return {"content": listed}


def body(content: str | None, arguments: str | None, tokens: list[str]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if arguments is not None:
        message["tool_calls"] = calls(arguments)
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": logprobs(tokens)}
    head = {"id": "c1", "object": "chat.completion", "created": 1_795_000_000, "model": "hermes-4"}
    return {**head, "choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 9, "total_tokens": 14}}


def chat_completions(answer: dict[str, Any]) -> str:
    return json.dumps(answer)


def har(answer: dict[str, Any]) -> str:
    request = {
        "method": "POST",
        "url": "http://127.0.0.1:8000/v1/chat/completions",
        "httpVersion": "HTTP/1.1",
        "headers": [],
        "queryString": [],
        "cookies": [],
        "headersSize": -1,
        "bodySize": -1,
        "postData": {"mimeType": "application/json", "text": json.dumps(REQUEST)},
    }
    response = {
        "status": 200,
        "statusText": "OK",
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "redirectURL": "",
        "headers": [{"name": "content-type", "value": "application/json"}],
        "headersSize": -1,
        "bodySize": -1,
        "content": {"size": 1, "mimeType": "application/json", "text": json.dumps(answer)},
    }
    entry = {"startedDateTime": "2026-11-03T08:00:00.000Z", "time": 9, "request": request, "response": response}
    timed = {**entry, "cache": {}, "timings": {"send": 0, "wait": 8, "receive": 1}}
    return json.dumps({"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": [timed]}})


def cassette(answer: dict[str, Any]) -> str:
    request = {
        "method": "POST",
        "uri": "http://127.0.0.1:8000/v1/chat/completions",
        "body": json.dumps(REQUEST),
        "headers": {"Content-Type": ["application/json"]},
    }
    response = {
        "status": {"code": 200, "message": "OK"},
        "headers": {"Content-Type": ["application/json"]},
        "body": {"string": json.dumps(answer)},
    }
    return json.dumps({"version": 1, "interactions": [{"request": request, "response": response}]})


def batch(answer: dict[str, Any]) -> str:
    response = {"status_code": 200, "request_id": "r", "body": answer}
    return json.dumps({"id": "batch_req_1", "custom_id": "one", "response": response, "error": None}) + "\n"


def verifier(answer: dict[str, Any]) -> str:
    row = {"data_index": 1, "request": REQUEST, "extra_body": {}, "response": answer, "status": "success"}
    more = {"finish_reason": "stop", "tool_calls_valid": None, "last_run_at": "2026-11-03T08:00:00", "duration_ms": 9}
    return json.dumps({**row, **more, "hash": "h"}) + "\n"


def of_case(case: str, **members: object) -> str:
    """The first row of a case, with other members."""
    row = json.loads((CASES / case).read_text().splitlines()[0])
    return json.dumps({**row, **members}) + "\n"


def litellm(answer: dict[str, Any]) -> str:
    return of_case("litellm/payloads.jsonl", response=answer, call_type="acompletion")


def portkey(answer: dict[str, Any]) -> str:
    return of_case("portkey/export.jsonl", response=answer, request=REQUEST)


def helicone(answer: dict[str, Any]) -> str:
    return of_case("helicone/export.jsonl", response_body=answer, request_body=REQUEST)


def inspect(answer: dict[str, Any]) -> str:
    choice, messages = answer["choices"][0], REQUEST["messages"]
    message: dict[str, Any] = {"role": "assistant", "content": choice["message"]["content"] or "", "source": "generate"}
    if written := choice["message"].get("tool_calls"):
        function = written[0]["function"]
        call = {
            "id": "a",
            "function": function["name"],
            "arguments": json.loads(function["arguments"]),
            "type": "function",
        }
        message["tool_calls"] = [call]
    output = {
        "model": "hermes-4",
        "usage": {"input_tokens": 5, "output_tokens": 9, "total_tokens": 14},
        "choices": [{"message": message, "stop_reason": "stop", "logprobs": choice["logprobs"]}],
    }
    event = {
        "event": "model",
        "timestamp": "2026-11-03T08:00:00+00:00",
        "model": "hermes-4",
        "config": {},
        "input": messages,
        "tools": [],
        "tool_choice": "auto",
        "output": output,
        "uuid": "u",
    }
    sample = {
        "id": 1,
        "epoch": 1,
        "input": "High tide?",
        "target": "noon",
        "messages": [*messages, message],
        "output": output,
        "events": [event],
        "scores": {},
        "metadata": {},
        "store": {},
        "model_usage": {},
    }
    spec = {"created": "2026-11-03T08:00:00+00:00", "task": "tides", "dataset": {}, "model": "hermes-4", "config": {}}
    head = {"version": 2, "status": "success", "eval": spec, "plan": {"steps": []}, "results": {}, "stats": {}}
    return json.dumps({**head, "samples": [sample]})


CASES = Path(__file__).parents[1] / "cases" / "importers"
SOURCES: dict[str, Callable[[dict[str, Any]], str]] = {
    "chat-completions": chat_completions,
    "har": har,
    "vcr": cassette,
    "batch": batch,
    "vendor-verifier": verifier,
    "litellm": litellm,
    "portkey": portkey,
    "helicone": helicone,
    "inspect": inspect,
}


def answer_of(source: str, answer: dict[str, Any], folder: Path) -> tuple[Turn, list[Diagnostic]]:
    path = folder / "log"
    path.write_text(SOURCES[source](answer))
    (trace,) = [record for record in read_source(path).records if isinstance(record, Trace)]
    assert trace.provenance.source == source
    (turn,) = [turn for turn in trace.turns if turn.role is Role.ASSISTANT]
    return turn, [one for one in inspect_trace(trace).diagnostics if one.fault.rule.code.startswith("L80")]


@pytest.mark.parametrize("source", SOURCES)
def test_a_call_that_the_server_dropped_is_lost(source: str, tmp_path: Path) -> None:
    turn, (lost,) = answer_of(source, body(None, None, TOKENS), tmp_path)
    assert emitted_text(turn) == CALL
    assert (lost.fault.rule.code, lost.location.part) == ("L801", "wire:tokens")
    assert "neither as a call nor as content" in lost.fault.message


@pytest.mark.parametrize("source", SOURCES)
def test_arguments_that_the_server_changed_are_told(source: str, tmp_path: Path) -> None:
    _, (changed,) = answer_of(source, body(None, OTHER, TOKENS), tmp_path)
    assert (changed.fault.rule.code, changed.location.part) == ("L803", "call:0")
    assert changed.fault.against is not None
    assert changed.fault.against.part == "wire:tokens"


@pytest.mark.parametrize("source", SOURCES)
def test_a_call_that_was_delivered_is_no_difference(source: str, tmp_path: Path) -> None:
    assert answer_of(source, body(None, SAME, TOKENS), tmp_path)[1] == []


def test_a_call_in_the_content_was_delivered(tmp_path: Path) -> None:
    _, found = answer_of("har", body(CALL, None, TOKENS), tmp_path)
    assert found == []  # nothing says that the server parses calls: the client may


def test_tokens_that_are_half_characters_say_nothing(tmp_path: Path) -> None:
    turn, found = answer_of("har", body(None, None, ["bytes:\\xe2", *TOKENS]), tmp_path)
    assert (emitted_text(turn), found) == (None, [])


def test_a_stream_is_put_together_in_the_order_of_its_chunks(tmp_path: Path) -> None:
    def chunk(delta: dict[str, Any], tokens: list[str], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": logprobs(tokens) if tokens else None}
        record = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "hermes-4", "choices": [choice]}
        return f"data: {json.dumps(record)}\n\n"

    call = {"index": 0, "id": "a", "type": "function", "function": {"name": "tide", "arguments": ""}}
    rest = {"index": 0, "function": {"arguments": OTHER}}
    path = tmp_path / "log"
    path.write_text(
        chunk({"role": "assistant", "content": ""}, [])
        + chunk({"content": "I look."}, ["I", " look", "."])
        + chunk({"content": None}, TOKENS[:3])
        + chunk({"tool_calls": [call]}, TOKENS[3:12])
        + chunk({"tool_calls": [rest]}, TOKENS[12:])
        + chunk({}, [], "tool_calls")
        + "data: [DONE]\n\n"
    )
    (trace,) = [record for record in read_source(path).records if isinstance(record, Trace)]
    assert emitted_text(trace.turns[-1]) == f"I look.{CALL}"
    assert [one.fault.rule.code for one in inspect_trace(trace).diagnostics if one.fault.rule.code[0] == "L"] == [
        "L803"
    ]
