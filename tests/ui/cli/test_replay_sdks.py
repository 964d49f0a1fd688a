"""Agents of seven Python SDKs, of Node's and of Go are recorded and replay offline with the same output.

The Python agents are recorded by `run` and by `record`: each calls two tools at once, streamed and whole, is told to
slow down, asks in parallel, and starts a second process.
The SDKs are those that `make test-clients` installs.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.upstream import Answer, Received, Upstream, running_upstream
from tests.ui.cli.recordings import recording_process
from tests.ui.cli.test_replay import weaklink
from tests.ui.conftest import ROOT
from weaklink.inspector.capture.client_addresses import PROVIDERS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

_CLIENTS_FOLDER = ROOT / "build" / "clients"
_PYTHON = str(_CLIENTS_FOLDER / "bin" / "python") if _CLIENTS_FOLDER.exists() else sys.executable
_CITIES = ("Oslo", "Rome")
_WEATHER = "How is the weather in Oslo and in Rome?"

_COMMON = '''
import asyncio, concurrent.futures, json, subprocess, sys
WEATHER = "How is the weather in Oslo and in Rome?"
CITY = {"city": {"type": "string"}}
SCHEMA = {"type": "object", "properties": CITY, "required": ["city"], "additionalProperties": False}
def get_weather(city: str) -> str:
    """The weather.

    Args:
        city: A city.
    """
    return f"12 degrees in {city}"
'''
_MAIN = """
kind = sys.argv[1]
if kind == "all":
    print(agent(False), agent(True), flush=True)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        print(list(pool.map(lambda number: plain(f"Question {number}", number % 2 == 1), range(6))), flush=True)
    subprocess.run([sys.executable, __file__, "child"], check=True)
elif kind == "child":
    print(plain("Question 7", False))
else:
    print(agent(kind == "streamed"))
"""
_CLIENTS = {
    "openai": """
import openai
client = openai.OpenAI(api_key="none", max_retries=2)
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA, "strict": True}}
def ask(messages, is_streamed, **more):
    if not is_streamed:
        return client.chat.completions.create(model="m", messages=messages, **more).choices[0].message
    with client.chat.completions.stream(model="m", messages=messages, **more) as stream:
        return stream.get_final_completion().choices[0].message
def plain(text, is_streamed):
    return ask([{"role": "user", "content": text}], is_streamed).content
def agent(is_streamed):
    messages = [{"role": "user", "content": WEATHER}]
    while (said := ask(messages, is_streamed, tools=[TOOL])).tool_calls:
        kept = {"role", "content", "tool_calls"}
        parsed = {"tool_calls": {"__all__": {"function": {"parsed_arguments"}}}}
        messages.append(said.model_dump(include=kept, exclude=parsed))
        for one in said.tool_calls:
            result = get_weather(**json.loads(one.function.arguments))
            messages.append({"role": "tool", "tool_call_id": one.id, "content": result})
    return said.content
""",
    "anthropic": """
import anthropic
client = anthropic.Anthropic(api_key="none", max_retries=2)
def ask(messages, is_streamed, **more):
    if not is_streamed:
        return client.messages.create(model="m", max_tokens=99, messages=messages, **more)
    with client.messages.stream(model="m", max_tokens=99, messages=messages, **more) as stream:
        return stream.get_final_message()
def text_of(said):
    return "".join(one.text for one in said.content if one.type == "text")
def plain(text, is_streamed):
    return text_of(ask([{"role": "user", "content": text}], is_streamed))
def agent(is_streamed):
    messages = [{"role": "user", "content": WEATHER}]
    tools = [{"name": "get_weather", "input_schema": SCHEMA}]
    while (said := ask(messages, is_streamed, tools=tools)).stop_reason == "tool_use":
        kept = {"type", "id", "name", "input", "text"}
        messages.append({"role": "assistant", "content": [one.model_dump(include=kept) for one in said.content]})
        results = [
            {"type": "tool_result", "tool_use_id": one.id, "content": get_weather(**one.input)}
            for one in said.content if one.type == "tool_use"
        ]
        messages.append({"role": "user", "content": results})
    return text_of(said)
""",
    "ollama": """
import ollama
client = ollama.Client()
def ask(messages, is_streamed, **more):
    if not is_streamed:
        return client.chat(model="m", messages=messages, **more).message
    pieces = [one.message for one in client.chat(model="m", messages=messages, stream=True, **more)]
    calls = [call for one in pieces for call in one.tool_calls or ()]
    text = "".join(one.content or "" for one in pieces)
    return ollama.Message(role="assistant", content=text, tool_calls=calls or None)
def plain(text, is_streamed):
    return ask([{"role": "user", "content": text}], is_streamed).content
def agent(is_streamed):
    messages = [{"role": "user", "content": WEATHER}]
    while (said := ask(messages, is_streamed, tools=[get_weather])).tool_calls:
        messages.append(said)
        for one in said.tool_calls:
            result = get_weather(**one.function.arguments)
            messages.append({"role": "tool", "tool_name": one.function.name, "content": result})
    return said.content
""",
    "google": """
from google import genai
from google.genai import types
retries = types.HttpRetryOptions(attempts=3, initial_delay=0.01)
client = genai.Client(api_key="none", http_options=types.HttpOptions(retry_options=retries))
def ask(text, is_streamed, **more):
    if not is_streamed:
        return client.models.generate_content(model="m", contents=text, **more).text
    return "".join(one.text or "" for one in client.models.generate_content_stream(model="m", contents=text, **more))
def plain(text, is_streamed):
    return ask(text, is_streamed)
def agent(is_streamed):
    return ask(WEATHER, is_streamed, config=types.GenerateContentConfig(tools=[get_weather]))
""",
    "langchain": """
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
model = ChatOpenAI(model="m", api_key="none", max_retries=2)
def ask(runnable, messages, is_streamed):
    if not is_streamed:
        return runnable.invoke(messages)
    whole = None
    for piece in runnable.stream(messages):
        whole = piece if whole is None else whole + piece
    return whole
def plain(text, is_streamed):
    return ask(model, [HumanMessage(text)], is_streamed).content
def agent(is_streamed):
    bound, messages = model.bind_tools([tool(get_weather)]), [HumanMessage(WEATHER)]
    while (said := ask(bound, messages, is_streamed)).tool_calls:
        messages.append(said)
        messages += [ToolMessage(get_weather(**one["args"]), tool_call_id=one["id"]) for one in said.tool_calls]
    return said.content
""",
    "pydantic-ai": """
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
async def ask(agent, text, is_streamed):
    if not is_streamed:
        return (await agent.run(text)).output
    async with agent.run_stream(text) as stream:
        return await stream.get_output()
def plain(text, is_streamed):
    return asyncio.run(ask(Agent(OpenAIChatModel("m")), text, is_streamed))
def agent(is_streamed):
    return asyncio.run(ask(Agent(OpenAIChatModel("m"), tools=[get_weather]), WEATHER, is_streamed))
""",
    "agents": """
from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
set_tracing_disabled(True)
def new_agent(**more):
    return Agent(name="a", model=OpenAIResponsesModel("m", AsyncOpenAI(api_key="none", max_retries=2)), **more)
async def ask(agent, text, is_streamed):
    if not is_streamed:
        return (await Runner.run(agent, text)).final_output
    result = Runner.run_streamed(agent, text)
    async for _ in result.stream_events():
        pass
    return result.final_output
def plain(text, is_streamed):
    return asyncio.run(ask(new_agent(), text, is_streamed))
def agent(is_streamed):
    return asyncio.run(ask(new_agent(tools=[function_tool(get_weather)]), WEATHER, is_streamed))
""",
}
_MODULES = {
    "google": "google.genai",
    "langchain": "langchain_openai",
    "pydantic-ai": "pydantic_ai.models.openai",
}
_REQUESTS = 11
"""How many requests of an agent are answered: two conversations of two requests, six questions, the child's."""


@pytest.fixture(params=_CLIENTS)
def client(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The name of an SDK whose agent is `agent.py` in the test's folder."""
    name: str = request.param
    module = _MODULES.get(name, name)
    if not _has(module):
        pytest.skip(f"{module} is not installed; `make test-clients` installs it")
    (tmp_path / "agent.py").write_text(_COMMON + _CLIENTS[name] + _MAIN, encoding="utf-8")
    return name


@cache
def _has(module: str) -> bool:
    command = f"import importlib.util, sys; sys.exit(not importlib.util.find_spec({module!r}))"
    return subprocess.run([_PYTHON, "-c", command], check=False, capture_output=True).returncode == 0


class _Answers:
    """Answers for all APIs; whoever tries again was told so: each request fails once, but Ollama's."""

    def __init__(self) -> None:
        self._failed: set[tuple[str, bytes]] = set()
        self.retries = 0

    def __call__(self, request: Received) -> Answer:
        if not request.is_whole:
            return scripted.error(500, "Broken")
        path = request.target.partition("?")[0]
        body = json.loads(request.body)
        if not path.endswith("/api/chat") and (path, bytes(request.body)) not in self._failed:
            self._failed.add((path, bytes(request.body)))
            self.retries += 1
            refused = scripted.error(429, "Slow down")
            return replace(refused, headers=(*refused.headers, ("Retry-After-Ms", "5")))
        for end, answer in _BY_PATH.items():
            if path.endswith(end):
                return answer(body)
        return scripted.error(404, "Not found")


def _says(body: Any, has_results: bool) -> tuple[str, bool]:
    """What is answered, and whether by calls."""
    text = json.dumps(body)
    if _WEATHER in text:
        return ("12 degrees in both.", False) if has_results else ("", True)
    number = text.partition("Question ")[2][:1]
    return f"Answer {number}.", False


def _chat(body: Any) -> Answer:
    text, calls = _says(body, any(record["role"] == "tool" for record in body["messages"]))
    uses: list[Any] = []
    for city in _CITIES:
        function: Any = {"name": "get_weather", "arguments": json.dumps({"city": city})}
        uses.append({"id": f"call_{city}", "type": "function", "function": function})
    if body.get("stream"):
        if not calls:
            return scripted.chat_stream(text[:4], text[4:])
        deltas: list[Any] = [{"tool_calls": [{"index": index, **use}]} for index, use in enumerate(uses)]
        begin: Any = {"role": "assistant", "content": None}
        end = scripted.chat_chunk({}, finish_reason="tool_calls")
        return scripted.sse(scripted.chat_chunk(begin), *map(scripted.chat_chunk, deltas), end, b"data: [DONE]\n\n")
    message: Any = {"role": "assistant", "content": text or None, **({"tool_calls": uses} if calls else {})}
    choice: Any = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage: Any = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
    head: dict[str, Any] = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    return scripted.json_answer({**head, "choices": [choice], "usage": usage})


def _messages(body: Any) -> Answer:
    text, calls = _says(body, '"tool_result"' in json.dumps(body))
    blocks: list[Any] = [
        {"type": "tool_use", "id": f"toolu_{city}", "name": "get_weather", "input": {"city": city}} for city in _CITIES
    ]
    message: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
    stop: dict[str, Any] = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    usage: dict[str, Any] = {"input_tokens": 9, "output_tokens": 4}
    if not body.get("stream"):
        content: Any = blocks if calls else [{"type": "text", "text": text}]
        return scripted.json_answer({**message, "content": content, **stop, "usage": usage})
    if not calls:
        return scripted.messages_stream(text[:4], text[4:])
    pieces: list[bytes] = [_event({"type": "message_start", "message": {**message, "content": [], "usage": usage}})]
    for index, block in enumerate(blocks):
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        pieces += [
            _event({"type": "content_block_start", "index": index, "content_block": {**block, "input": {}}}),
            _event({"type": "content_block_delta", "index": index, "delta": delta}),
            _event({"type": "content_block_stop", "index": index}),
        ]
    pieces.append(_event({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 7}}))
    return scripted.sse(*pieces, _event({"type": "message_stop"}))


def _event(value: dict[str, Any]) -> bytes:
    return scripted.event(value, str(value["type"]))


def _ollama(body: Any) -> Answer:
    text, calls = _says(body, any(record["role"] == "tool" for record in body["messages"]))
    uses = [{"function": {"name": "get_weather", "arguments": {"city": city}}} for city in _CITIES]
    message: Any = {"role": "assistant", "content": text, **({"tool_calls": uses} if calls else {})}
    head: dict[str, Any] = {"model": "m", "created_at": "2026-01-01T00:00:00Z"}
    if not body.get("stream"):
        return scripted.json_answer({**head, "message": message, "done": True, "done_reason": "stop"})
    lines: list[Any] = [{**head, "message": message, "done": False}]
    lines.append({**head, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"})
    headers = (("Content-Type", "application/x-ndjson"),)
    return Answer(tuple(json.dumps(line).encode() + b"\n" for line in lines), headers=headers)


def _google(is_streamed: bool) -> Callable[[Any], Answer]:
    def answer(body: Any) -> Answer:
        text, calls = _says(body, "functionResponse" in json.dumps(body))
        uses: list[Any] = [{"functionCall": {"name": "get_weather", "args": {"city": city}}} for city in _CITIES]
        parts: Any = uses if calls else [{"text": text}]
        value: Any = {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}]
        }
        return scripted.sse(scripted.event(value)) if is_streamed else scripted.json_answer(value)

    return answer


def _responses(body: Any) -> Answer:
    text, calls = _says(body, "function_call_output" in json.dumps(body))
    said: Any = {"type": "output_text", "text": text, "annotations": []}
    output: list[Any] = [
        {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [said]}
    ]
    if calls:
        output = [
            {
                "type": "function_call",
                "id": f"fc_{city}",
                "call_id": f"call_{city}",
                "status": "completed",
                "name": "get_weather",
                "arguments": json.dumps({"city": city}),
            }
            for city in _CITIES
        ]
    details: Any = {"cached_tokens": 0, "cache_write_tokens": 0}
    usage: Any = {
        "input_tokens": 9,
        "input_tokens_details": details,
        "output_tokens": 4,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 13,
    }
    whole: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "error": None,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "temperature": 1.0,
        "top_p": 1.0,
    }
    if not body.get("stream"):
        return scripted.json_answer(whole)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[Any] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(output):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return scripted.sse(*(_event({**event, "sequence_number": index}) for index, event in enumerate(events)))


_BY_PATH: dict[str, Callable[[Any], Answer]] = {
    "/chat/completions": _chat,
    "/messages": _messages,
    "/api/chat": _ollama,
    ":generateContent": _google(is_streamed=False),
    ":streamGenerateContent": _google(is_streamed=True),
    "/responses": _responses,
}


@pytest.fixture
def upstream() -> Iterator[tuple[Upstream, _Answers]]:
    """A server of all APIs."""
    answers = _Answers()
    with running_upstream(answers) as running:
        yield running, answers


def _replays(folder: Path, kind: str, said: str, requests: int) -> None:
    for _ in range(2):
        again = weaklink(folder, "replay", "latest", "--", _PYTHON, "agent.py", kind)
        assert (again.returncode, again.stdout) == (0, said), again.stderr
        assert f"replayed {requests} of {requests} recorded requests" in again.stderr


def test_an_agent_that_run_recorded_replays(client: str, tmp_path: Path, upstream: tuple[Upstream, _Answers]) -> None:
    running, answers = upstream
    done = weaklink(tmp_path, "run", "--upstream", running.url, "--", _PYTHON, "agent.py", "all")
    assert done.returncode == 0, (done.stderr, done.stdout)
    both, answered, child = done.stdout.splitlines()
    assert both == "12 degrees in both. 12 degrees in both."
    assert answered == str([f"Answer {number}." for number in range(6)])
    assert child == "Answer 7."
    assert answers.retries == (0 if client == "ollama" else _REQUESTS)
    count = len(running.requests)
    assert count == _REQUESTS + answers.retries
    _replays(tmp_path, "all", done.stdout, count)
    assert len(running.requests) == count


@pytest.mark.parametrize("kind", ["whole", "streamed"])
def test_an_agent_that_record_recorded_replays(
    client: str, tmp_path: Path, upstream: tuple[Upstream, _Answers], kind: str
) -> None:
    running, _ = upstream
    with recording_process(tmp_path, "--upstream", running.url, "--db", "t.db") as recorder:
        given = {
            variable.name: recorder.url + variable.path for provider in PROVIDERS for variable in provider.variables
        }
        given |= dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "none")
        done = subprocess.run(
            [_PYTHON, "agent.py", kind],
            cwd=tmp_path,
            env={**os.environ, **given},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        recorder.stop()
    assert (done.returncode, done.stdout) == (0, "12 degrees in both.\n"), done.stderr
    _replays(tmp_path, kind, done.stdout, len(running.requests))


@pytest.mark.parametrize("kind", ["whole", "streamed"])
def test_each_fault_that_a_wire_can_carry_is_found(
    client: str, tmp_path: Path, upstream: tuple[Upstream, _Answers], kind: str
) -> None:
    if client not in _IMPOSSIBLE:
        pytest.skip("the wire is that of the openai SDK")
    words = ("--", _PYTHON, "agent.py", kind)
    done = weaklink(tmp_path, "run", "--upstream", upstream[0].url, *words)
    assert done.returncode == 0, done.stderr
    results = {
        record["kind"]: record
        for record in json.loads(weaklink(tmp_path, "replay", "latest", "--json", "--inject", "all", *words).stdout)
    }
    impossible = {fault_kind for fault_kind, result in results.items() if result["status"] == "not possible"}
    has_text = client == "anthropic" and kind == "streamed"  # whose arguments are sent as pieces of text
    assert impossible == _NEVER | (set() if has_text else _IMPOSSIBLE[client])
    assert all(bool(result["found"]) == bool(result["rules"]) for result in results.values() if "found" in result), (
        results
    )
    assert all(result["was_sent"] for result in results.values() if "was_sent" in result), results


_NEVER = {"enum-violation", "wrong-format", "drafted-in-reasoning"}
"""The schema has no enumeration, and the calls are in no text."""
_ANY_KEY = {"unknown-key"}
"""The SDK makes a schema that allows further keys."""
_OBJECTS = {"truncate-call", "malformed-json"}
"""The arguments of a whole answer are a JSON object."""
_IMPOSSIBLE: dict[str, set[str]] = {
    "openai": set(),
    "agents": set(),
    "anthropic": _OBJECTS,
    "ollama": _OBJECTS | _ANY_KEY,
    "google": _OBJECTS | _ANY_KEY,
}

_NODE = """
import OpenAI from "openai";
const client = new OpenAI({ apiKey: "none", maxRetries: 2 });
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = [{ type: "function", function: { name: "get_weather", parameters } }];
const ask = async (messages, streamed, more = {}) => {
  const body = { model: "m", messages, ...more };
  if (!streamed) return (await client.chat.completions.create(body)).choices[0].message;
  return (await client.chat.completions.stream(body).finalChatCompletion()).choices[0].message;
};
const agent = async (streamed) => {
  const messages = [{ role: "user", content: "How is the weather in Oslo and in Rome?" }];
  for (;;) {
    const said = await ask(messages, streamed, { tools });
    if (!said.tool_calls?.length) return said.content;
    const calls = said.tool_calls.map(({ id, type, function: { name, arguments: given } }) => (
      { id, type, function: { name, arguments: given } }));
    messages.push({ role: "assistant", content: said.content, tool_calls: calls });
    for (const one of calls) {
      const { city } = JSON.parse(one.function.arguments);
      messages.push({ role: "tool", tool_call_id: one.id, content: `12 degrees in ${city}` });
    }
  }
};
console.log(await agent(false), await agent(true));
const numbers = [0, 1, 2, 3, 4, 5];
const said = numbers.map((number) => ask([{ role: "user", content: `Question ${number}` }], number % 2 === 1));
console.log((await Promise.all(said)).map((one) => one.content).join(" "));
"""


def test_an_agent_of_node_replays(tmp_path: Path, upstream: tuple[Upstream, _Answers]) -> None:
    modules = _CLIENTS_FOLDER / "node_modules"
    if shutil.which("node") is None or not (modules / "openai").exists():
        pytest.skip("node or its package `openai` is not installed; `make test-clients` installs the package")
    running, answers = upstream
    (tmp_path / "agent.mjs").write_text(_NODE, encoding="utf-8")
    (tmp_path / "node_modules").symlink_to(modules)
    done = weaklink(tmp_path, "run", "--upstream", running.url, "--", "node", "agent.mjs")
    both = "12 degrees in both. 12 degrees in both.\n"
    assert done.stdout == both + " ".join(f"Answer {number}." for number in range(6)) + "\n", done.stderr
    assert answers.retries == _REQUESTS - 1
    count = len(running.requests)
    for _ in range(2):
        again = weaklink(tmp_path, "replay", "latest", "--", "node", "agent.mjs")
        assert (again.returncode, again.stdout) == (0, done.stdout), again.stderr
        assert f"replayed {count} of {count} recorded requests" in again.stderr
    assert len(running.requests) == count


_GO = """package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
)

func ask(number int) string {
	address := os.Getenv("OPENAI_BASE_URL") + "/chat/completions"
	body, _ := json.Marshal(map[string]any{
		"model": "m", "stream": number%2 == 1,
		"messages": []map[string]string{{"role": "user", "content": fmt.Sprintf("Question %d", number)}},
	})
	for {
		answer, err := http.Post(address, "application/json", bytes.NewReader(body))
		if err != nil {
			return err.Error()
		}
		said, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != 429 {
			return strings.TrimSpace(string(said))
		}
	}
}

func main() {
	said := make([]string, 6)
	var group sync.WaitGroup
	for number := range said {
		group.Add(1)
		go func(number int) { defer group.Done(); said[number] = ask(number) }(number)
	}
	group.Wait()
	fmt.Println(strings.Join(said, "\\n"))
}
"""


def test_a_program_of_go_replays(tmp_path: Path, upstream: tuple[Upstream, _Answers]) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("go is not installed")
    (tmp_path / "agent.go").write_text(_GO, encoding="utf-8")
    built = {**os.environ, "HOME": str(tmp_path), "GOCACHE": str(tmp_path / "cache"), "GO111MODULE": "off"}
    subprocess.run([go, "build", "-o", "agent", "agent.go"], cwd=tmp_path, env=built, check=True)
    running, answers = upstream
    done = weaklink(tmp_path, "run", "--upstream", running.url, "--", "./agent")
    assert done.returncode == 0, done.stderr
    assert "Answer 0." in done.stdout
    assert answers.retries == 6
    for _ in range(2):
        again = weaklink(tmp_path, "replay", "latest", "--", "./agent")
        assert (again.returncode, again.stdout) == (0, done.stdout), again.stderr
        assert "replayed 12 of 12 recorded requests" in again.stderr
