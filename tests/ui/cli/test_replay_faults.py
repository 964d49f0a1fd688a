"""`weaklink replay --inject` and `--fork`: faults on purpose, and runs that go on live."""

import json
import sys
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # has no types
import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.upstream import Answer, Received, running_upstream
from tests.ui.cli.test_replay import weaklink
from weaklink.inspector.model import Json
from weaklink.storage.store import open_store
from weaklink.ui.cli.reference import schema_of

_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["c", "f"]}},
            "required": ["city"],
        },
    },
}
_AGENT = f"""
import http.client, json, os, sys, urllib.error, urllib.request
address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
messages = [{{"role": "user", "content": "Is it warm in Oslo?"}}]
for attempt in range(8):
    body = {{"model": "m", "messages": messages, "tools": [{_TOOL!r}]}}
    request = urllib.request.Request(address, json.dumps(body).encode(), {{"content-type": "application/json"}})
    try:
        message = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
    except (OSError, ValueError, http.client.HTTPException) as error:
        if sys.argv[1:] == ["careless"]:
            sys.exit(7)
        continue
    messages.append(message)
    if not message.get("tool_calls"):
        print(message["content"])
        break
    for call in message["tool_calls"]:
        try:
            given = json.loads(call["function"]["arguments"])
            assert call["function"]["name"] == "get_weather" and set(given) <= {{"city", "unit"}}
            assert isinstance(given["city"], str) and given.get("unit", "c") in ("c", "f")
            result = "12 degrees"
        except (ValueError, AssertionError, KeyError) as error:
            if sys.argv[1:] == ["careless"]:
                sys.exit(7)
            result = f"Error: {{type(error).__name__}}: invalid call"
        messages.append({{"role": "tool", "tool_call_id": call["id"], "content": result}})
"""


def _answer(request: Received) -> Answer:
    messages = json.loads(request.body)["messages"] if request.is_whole else []
    if messages and messages[-1]["role"] == "tool":
        return scripted.json_answer(_chat({"role": "assistant", "content": "It is warm."}, "stop"))
    function: Json = {"name": "get_weather", "arguments": '{"city": "Oslo", "unit": "c"}'}
    call: Json = {"id": "call_1", "type": "function", "function": function}
    return scripted.json_answer(_chat({"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"))


def _chat(message: Json, finish: str) -> Json:
    choice: Json = {"index": 0, "message": message, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the recording of an agent that calls a tool once."""
    folder = tmp_path_factory.mktemp("recording")
    with running_upstream(_answer) as upstream:
        done = weaklink(folder, "run", "--upstream", upstream.url, "--", sys.executable, "-c", _AGENT)
    assert done.stdout == "It is warm.\n", done.stderr
    return folder


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("kind", "status"),
    [("malformed-json@turn2", "recovered"), ("S201", "recovered"), ("status=429", "ok"), ("delay=0.01", "ok")],
)
def test_the_inspection_finds_the_injected_fault_and_says_whether_the_agent_recovered(
    recording: Path, kind: str, status: str
) -> None:
    done = weaklink(recording, "replay", "latest", "--json", "--inject", kind, "--", sys.executable, "-c", _AGENT)
    result = json.loads(done.stderr)
    jsonschema.validate(result, schema_of("replay inject"))
    assert (result["was_sent"], result["status"], result["exit_code"]) == (True, status, 0), result
    assert done.stdout == "It is warm.\n"
    assert bool(result["found"]) == bool(result["rules"])
    repeated = ["C514"] if kind.startswith("status") else []  # the SDK repeated the request with success
    assert result["found"] == (repeated or result["rules"][:1])


def test_a_fault_without_a_place_is_refused(recording: Path) -> None:
    for word in ("wrong-format", "malformed-json@turn4", "status=429@turn1", "nonsense"):
        done = weaklink(recording, "replay", "latest", "--inject", word, "--", "true")
        assert done.returncode == 125, word


@pytest.mark.slow
def test_all_faults_give_a_table(recording: Path) -> None:
    words = ("replay", "latest", "--json", "--inject", "all", "--", sys.executable, "-c", _AGENT)
    rows = json.loads(weaklink(recording, *words).stdout)
    jsonschema.validate(rows, schema_of("replay inject all"))
    results = {row["kind"]: row for row in rows}
    assert {kind for kind, result in results.items() if result["status"] == "not possible"} == {
        "wrong-format",
        "drafted-in-reasoning",
        "unknown-key",  # the schema allows others
    }
    assert {result["status"] for result in results.values()} <= {"ok", "recovered", "not possible"}
    assert all(bool(result["found"]) == bool(result["rules"]) for result in results.values() if "found" in result)


_TEXT_AGENT = f"""
import http.client, json, os, re, urllib.request
address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
system = "You call functions within <tool_call></tool_call>. <tools>" + json.dumps({_TOOL!r}) + "</tools>"
messages = [{{"role": "system", "content": system}}, {{"role": "user", "content": "Is it warm in Oslo?"}}]
for attempt in range(8):
    body = json.dumps({{"model": "hermes-4", "messages": messages}}).encode()
    request = urllib.request.Request(address, body, {{"content-type": "application/json"}})
    try:
        text = json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
    except (OSError, ValueError, http.client.HTTPException):
        continue
    found = re.search("<tool_call>(.*?)</tool_call>", text, re.DOTALL)
    messages.append({{"role": "assistant", "content": text}})
    if found is None and text == "It is warm.":
        print(text)
        break
    messages.append({{"role": "user", "content": "<tool_response>12 degrees</tool_response>"}})
"""
_TEXT_CALL = """<think>I look.</think>
<tool_call>
{"name": "get_weather", "arguments": {"city": "Oslo", "unit": "c"}}
</tool_call>"""


@pytest.mark.slow
def test_all_faults_that_a_text_can_have_are_found_in_it(tmp_path: Path) -> None:
    def answer(request: Received) -> Answer:
        messages = json.loads(request.body)["messages"] if request.is_whole else []
        return scripted.chat_answer("It is warm." if len(messages) > 2 else _TEXT_CALL)

    with running_upstream(answer) as upstream:
        weaklink(tmp_path, "run", "--upstream", upstream.url, "--", sys.executable, "-c", _TEXT_AGENT)
    words = ("replay", "latest", "--json", "--inject", "all", "--", sys.executable, "-c", _TEXT_AGENT)
    results = {record["kind"]: record for record in json.loads(weaklink(tmp_path, *words).stdout)}
    assert {kind for kind, result in results.items() if result["status"] == "not possible"} == {"unknown-key"}
    assert all(bool(result["found"]) == bool(result["rules"]) for result in results.values() if "found" in result), (
        results
    )
    assert all(result["was_sent"] for result in results.values() if "was_sent" in result)


def test_an_agent_that_does_not_survive_a_fault_is_named(recording: Path) -> None:
    words = ("--inject", "malformed-json", "--", sys.executable, "-c", _AGENT, "careless")
    done = weaklink(recording, "replay", "latest", "--json", *words)
    result = json.loads(done.stderr)
    assert (done.returncode, result["exit_code"], result["status"]) == (7, 7, "broken")


def test_a_fork_goes_on_live_and_is_a_child_of_the_recording(recording: Path) -> None:
    def other(request: Received) -> Answer:
        return scripted.json_answer(_chat({"role": "assistant", "content": "It is cold."}, "stop"))

    with running_upstream(other) as upstream:
        words = ("--fork", "2", "--upstream", upstream.url, "--", sys.executable, "-c", _AGENT)
        done = weaklink(recording, "replay", "1", *words)
    assert (done.returncode, done.stdout) == (0, "It is cold.\n"), done.stderr
    assert len(upstream.requests) == 1
    assert "replayed 2 of 2 recorded requests; 1 request went upstream" in done.stderr
    with open_store(recording / "t.db") as store:
        parent = store.trace(1).external_ids[0]
        child = store.trace(2)
        assert child.parent is not None
        assert (child.parent.external_id, child.parent.why.value) == (parent, "fork")
        assert [turn.role.value for turn in child.turns] == ["user", "assistant", "tool", "assistant"]
        store.delete([2])  # the other tests replay the newest run
