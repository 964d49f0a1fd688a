"""Suites: the built-in one, files of chat requests, and questions of BFCL."""

import json
from pathlib import Path

import pytest

from weaklink.inspector.checks.prepared_schema import prepared_schema
from weaklink.inspector.json_text import object_of, objects_of
from weaklink.inspector.model import ToolCall
from weaklink.inspector.probe.builtin_suite import builtin_suite
from weaklink.inspector.probe.suite import SuiteCall, SuiteError, read_suites, request_hash
from weaklink.inspector.text import Range


def test_every_right_answer_of_the_builtin_suite_follows_its_own_tools_schemas() -> None:
    suite = builtin_suite()
    assert len({request.id for request in suite}) == len(suite) >= 60
    assert len({request.family for request in suite}) == 12
    for request in suite:
        tools = {object_of(tool["function"])["name"]: object_of(tool["function"]) for tool in _tools(request.body)}
        for call in request.expected.calls or ():
            prepared = prepared_schema(tools[call.name]["parameters"])
            assert prepared.faults == ()
            assert prepared.violations(call.arguments) == (), request.id
        assert request.expected.calls is not None or request.expected.text or request.expected.json_schema


def _tools(body: dict) -> list[dict]:  # type: ignore[type-arg] # JSON
    return objects_of(body.get("tools"))


def test_a_file_of_chat_requests_is_read_as_the_vendor_verifier_reads_it(tmp_path: Path) -> None:
    line = {"messages": [{"role": "_input", "content": "be brief"}, {"role": "user", "content": "hi"}], "tools": []}
    path = tmp_path / "samples.jsonl"
    path.write_text(f"{json.dumps(line)}\n\n{json.dumps(line)}\n")
    first, second = read_suites([path])
    assert (first.number, second.number) == (1, 2)
    assert objects_of(first.body["messages"])[0]["role"] == "system"
    assert first.expected.calls is None
    # `json.dumps(request, sort_keys=True, ensure_ascii=False)`, then MD5
    assert request_hash({"b": 1, "a": "ø"}) == "70b30f52d7e56830fb5dca076f3739a4"


def test_questions_of_bfcl_get_json_schema_types_and_their_answers(tmp_path: Path) -> None:
    function = {
        "name": "math.area",
        "description": "d",
        "parameters": {"type": "dict", "properties": {"base": {"type": "float"}, "unit": {"type": "string"}}},
    }
    question = {"id": "simple_0", "question": [[{"role": "user", "content": "?"}]], "function": [function]}
    answer = {"id": "simple_0", "ground_truth": [{"math.area": {"base": [10], "unit": ["cm", ""]}}]}
    (tmp_path / "possible_answer").mkdir()
    (tmp_path / "BFCL_simple.json").write_text(json.dumps(question))
    (tmp_path / "possible_answer" / "BFCL_simple.json").write_text(json.dumps(answer))
    (request,) = read_suites([tmp_path / "BFCL_simple.json"])
    tool = object_of(_tools(request.body)[0]["function"])
    assert tool["name"] == "math_area"
    assert tool["parameters"] == {
        "type": "object",
        "properties": {"base": {"type": "number"}, "unit": {"type": "string"}},
    }
    (call,) = request.expected.calls or ()
    assert call.fits(_call("math_area", {"base": 10.0}))
    assert call.fits(_call("math_area", {"base": 10, "unit": "cm"}))
    assert not call.fits(_call("math_area", {"base": 11}))
    assert not call.fits(_call("math_area", {"base": 10, "more": 1}))
    assert not call.fits(_call("math_area", {"unit": "cm"}))


def test_expected_calls_compare_values() -> None:
    call = SuiteCall("add", {"a": 1, "b": [2]})
    assert call.fits(_call("add", {"b": [2], "a": 1.0}))
    assert not call.fits(_call("add", {"a": "1", "b": [2]}))
    assert not call.fits(_call("sum", {"a": 1, "b": [2]}))


def _call(name: str, arguments: dict) -> ToolCall:  # type: ignore[type-arg] # JSON
    raw = json.dumps(arguments)
    return ToolCall(name, arguments, raw, valid=True, range=Range(0, len(raw)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not json\n", "not JSON lines"),
        ("[]\n", "line 1: not a JSON object"),
        ('{"a": 1}\n', "line 1: neither a chat request"),
        ("\n", "contains no requests"),
        ('{"request": {}}\n', "line 1: `request` has no `messages`"),
        ('{"request": {"messages": []}, "expected": {"calls": [{}]}}\n', "needs a `name`"),
    ],
)
def test_a_file_that_is_no_suite_is_refused_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "suite.jsonl"
    path.write_text(text)
    with pytest.raises(SuiteError, match=r"suite\.jsonl") as raised:
        read_suites([path])
    assert words in str(raised.value)
