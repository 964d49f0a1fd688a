"""`weaklink run` sends requests to servers that the user chose, or says so first; it records those that failed."""

import json
import shlex
import sys
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture import scripted_answers as scripted
from tests.capture.chat_client import CHAT_CLIENT
from tests.capture.upstream import Answer, Received, running_upstream
from tests.ui.conftest import ROOT, run_text
from weaklink.inspector.capture.client_addresses import PROVIDERS, ClientVariable, routes
from weaklink.inspector.capture.proxy.config import leaves_root
from weaklink.inspector.chain.steps import Status
from weaklink.inspector.model import Json
from weaklink.storage.store import open_store

_VARIABLES = {variable.name: (provider, variable) for provider in PROVIDERS for variable in provider.variables}
_ANNOUNCED = "is not set, so requests of"
_NOBODY = "http://127.0.0.1:9"  # nothing listens there

_AGENTS = {
    "openai": (
        "import openai\n"
        "openai.OpenAI(api_key='none', max_retries=0).chat.completions.create(model='m', messages=MESSAGES)"
    ),
    "anthropic": (
        "import anthropic\n"
        "client = anthropic.Anthropic(api_key='none', max_retries=0)\n"
        "client.messages.create(model='m', max_tokens=9, messages=MESSAGES)"
    ),
    "ollama": "import ollama\nollama.Client().chat(model='m', messages=MESSAGES)",
    "langchain": (
        "from langchain_openai import ChatOpenAI\nChatOpenAI(model='m', api_key='none', max_retries=0).invoke('Hi')"
    ),
    "pydantic-ai": (
        "from pydantic_ai import Agent\n"
        "from pydantic_ai.models.openai import OpenAIChatModel\n"
        "Agent(OpenAIChatModel('m')).run_sync('Hi')"
    ),
    "openai-agents": (
        "from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled\n"
        "import openai\n"
        "set_tracing_disabled(True)\n"
        "model = OpenAIChatCompletionsModel('m', openai.AsyncOpenAI(max_retries=0))\n"
        "Runner.run_sync(Agent(name='a', model=model), 'Hi')"
    ),
    "google-genai": (
        "from google import genai\n"
        "client = genai.Client(api_key='none')\n"
        "client.models.generate_content(model='m', contents='Hi')"
    ),
}
_PROVIDER_OF = {"anthropic": "anthropic", "ollama": "ollama", "google-genai": "gemini"}
_IN_ENVIRONMENT = ("openai", "anthropic", "ollama")
_CLIENTS = ROOT / "build" / "clients" / "bin" / "python"
_KEYS = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"), "none")


def _answer(request: Received) -> Answer:
    if "/messages" in request.target:
        return scripted.messages_answer("Hi.")
    if "/api/chat" in request.target:
        done: dict[str, Json] = {"model": "m", "message": {"role": "assistant", "content": "Hi."}, "done": True}
        return scripted.json_answer({**done, "done_reason": "stop"})
    if ":generateContent" in request.target:
        content: Json = {"content": {"role": "model", "parts": [{"text": "Hi."}]}, "finishReason": "STOP", "index": 0}
        return scripted.json_answer({"candidates": [content]})
    return scripted.chat_answer("Hi.")


def _run(folder: Path, agent: str, *options: str, **variables: str) -> tuple[int, str]:
    """Run an agent under `weaklink run`; the exit code, and what was written to stderr."""
    python = sys.executable if agent in _IN_ENVIRONMENT else str(_CLIENTS)
    code = f"MESSAGES = [{{'role': 'user', 'content': 'Hi'}}]\n{_AGENTS[agent]}"
    done = run_text(folder, "run", "--db", "t.db", *options, "--", python, "-c", code, **_KEYS, **variables)
    return done.returncode, done.stderr


def _cases() -> Iterable[Any]:
    """Each agent with each variable of its provider; where another case has the agent, and one the variable, slow."""
    every = [
        (agent, variable.name)
        for agent, provider in product(_AGENTS, PROVIDERS)
        if provider.prefix == _PROVIDER_OF.get(agent, "openai")
        for variable in provider.variables
        if not variable.is_optional
    ]
    agents, names = ({case[index]: case for case in reversed(every)}.values() for index in (0, 1))
    return [pytest.param(*case, marks=() if case in (*agents, *names) else pytest.mark.slow) for case in every]


@pytest.mark.one_in(11)
@pytest.mark.parametrize(("agent", "name"), _cases())
def test_any_variable_of_a_provider_leads_every_client_to_the_chosen_server(
    tmp_path: Path, agent: str, name: str
) -> None:
    if agent not in _IN_ENVIRONMENT and not _CLIENTS.exists():
        pytest.skip("`make test-clients` installs this client")
    with running_upstream(_answer) as upstream:
        address = f"{upstream.url}/chosen{_VARIABLES[name][1].path}"
        code, said = _run(tmp_path, agent, "--no-default-upstreams", "--check", **{name: address})
    assert code == 0, said
    assert [request.target.startswith("/chosen/") for request in upstream.requests] == [True]
    assert "weaklink: recorded 1 request.\n" in said
    assert _ANNOUNCED not in said


@pytest.mark.one_in(3)
@pytest.mark.parametrize("agent", _IN_ENVIRONMENT)
def test_a_default_that_nobody_chose_is_refused_clearly_and_recorded(tmp_path: Path, agent: str) -> None:
    code, said = _run(tmp_path, agent, "--no-default-upstreams", "--check")
    assert code == 1
    provider = next(known for known in PROVIDERS if known.prefix == _PROVIDER_OF.get(agent, "openai"))
    assert f"`{provider.variables[0].name}` is not set" in said  # the client printed the proxy's answer
    assert "weaklink: recorded 1 request.\n" in said
    with open_store(tmp_path / "t.db") as store:
        (summary,) = store.traces()
        (fault,) = [
            diagnostic for diagnostic in store.inspected(summary.id)[1].diagnostics if diagnostic.rule.code == "C505"
        ]
    assert summary.status is Status.ABORTED
    assert "--no-default-upstreams" in fault.fault.message
    assert f"{provider.default}{provider.variables[0].path}" in fault.fault.message


def test_a_default_that_nobody_chose_is_announced_once_before_it_is_used(tmp_path: Path) -> None:
    twice = f"{CHAT_CLIENT}for _ in range(2):\n    try: create(model='m', messages=[])\n    except OSError: pass\n"
    done = run_text(tmp_path, "run", "--db", "t.db", "--", sys.executable, "-c", twice)
    sentence = "weaklink: OPENAI_BASE_URL is not set, so requests of OpenAI's clients go to their default, https://api"
    assert done.stderr.startswith(sentence)
    assert done.stderr.count(_ANNOUNCED) == 1


@pytest.mark.slow
def test_contradicting_variables_are_announced_and_each_is_followed(tmp_path: Path) -> None:
    with running_upstream(_answer) as upstream, running_upstream(_answer) as other:
        variables = {"ANTHROPIC_BASE_URL": upstream.url, "ANTHROPIC_API_URL": other.url}
        code, said = _run(tmp_path, "anthropic", "--no-default-upstreams", **variables)
    assert code == 0
    assert said.startswith(f"weaklink: ANTHROPIC_BASE_URL is {upstream.url} and ANTHROPIC_API_URL is {other.url}: ")
    assert (len(upstream.requests), len(other.requests)) == (1, 0)


@pytest.mark.parametrize(
    ("variables", "upstream", "name", "goes_to"),
    [
        ({}, None, "OPENAI_BASE_URL", "https://api.openai.com/v1"),
        ({}, None, "OPENROUTER_API_BASE", "https://openrouter.ai/api/v1"),
        ({"OPENAI_BASE_URL": "http://h:1/a/v1/"}, None, "OPENAI_BASE_URL", "http://h:1/a/v1"),
        ({"OPENAI_BASE_URL": "http://h:1/v1"}, None, "OPENAI_API_BASE", "http://h:1/v1"),
        ({"OPENAI_BASE_URL": "http://h:1/v4"}, None, "OPENAI_API_BASE", "http://h:1/v4"),
        ({"OPENAI_API_BASE": "http://h:1/v1", "OPENAI_BASE_URL": ""}, None, "OPENAI_BASE_URL", "http://h:1/v1"),
        ({"ANTHROPIC_API_BASE": "http://h:1"}, None, "ANTHROPIC_API_URL", "http://h:1"),
        ({"OLLAMA_BASE_URL": "http://h:1/v1"}, None, "OLLAMA_HOST", "http://h:1"),
        ({"OLLAMA_BASE_URL": "http://h:1/v1"}, None, "OLLAMA_BASE_URL", "http://h:1/v1"),
        ({"GROQ_API_BASE": "http://h/openai/v1"}, None, "GROQ_BASE_URL", "http://h"),
        ({"AZURE_OPENAI_ENDPOINT": "https://a.example"}, None, "AZURE_OPENAI_ENDPOINT", "https://a.example"),
        ({"OLLAMA_HOST": "h:11434"}, None, "OLLAMA_HOST", "http://h:11434"),
        ({"OLLAMA_HOST": "h"}, None, "OLLAMA_HOST", "http://h:11434"),
        ({"OLLAMA_HOST": "http://h"}, None, "OLLAMA_HOST", "http://h"),
        ({"OLLAMA_HOST": "0.0.0.0"}, None, "OLLAMA_HOST", "http://127.0.0.1:11434"),
        ({"OLLAMA_HOST": "http://[::]:80"}, None, "OLLAMA_HOST", "http://127.0.0.1:80"),
        ({"OLLAMA_HOST": "http://h"}, "http://u:2", "OLLAMA_HOST", "http://u:2"),
        ({"OPENAI_API_BASE": "http://h"}, "http://u:2", "OPENAI_API_BASE", "http://u:2/v1"),
        ({}, "http://u:2", "OPENAI_BASE_URL", "http://u:2/v1"),
        ({}, "http://u:2", "OPENROUTER_API_BASE", "http://u:2/v1"),
        ({}, "http://u:2/api", "OPENAI_BASE_URL", "http://u:2/api"),
        ({}, "http://u:2", "ANTHROPIC_BASE_URL", "http://u:2"),
        ({}, "http://u:2/v1", "ANTHROPIC_BASE_URL", "http://u:2"),
    ],
)
def test_each_client_has_a_path_to_its_own_server(
    variables: Mapping[str, str], upstream: str | None, name: str, goes_to: str
) -> None:
    routing = routes(variables, upstream)
    assert {proxied.prefix: proxied.url for proxied in routing.upstreams}[routing.paths[name]] == goes_to


def _value(variable: ClientVariable, number: int) -> str:
    return f"http://127.0.0.1:{8000 + number}/x{variable.path}"


@given(st.dictionaries(st.sampled_from(sorted(_VARIABLES)), st.integers(0, 2)), st.booleans())
def test_no_choice_of_variables_sends_a_client_to_a_server_that_is_not_named(
    chosen: dict[str, int], has_upstream: bool
) -> None:
    variables = {name: _value(_VARIABLES[name][1], number) for name, number in chosen.items()}
    routing = routes(variables, "http://127.0.0.1:7000" if has_upstream else None)
    upstreams = {proxied.prefix: proxied for proxied in routing.upstreams}
    for provider in PROVIDERS:
        given_numbers = {chosen[variable.name] for variable in provider.variables if variable.name in chosen}
        for address_variable in provider.variables:
            if address_variable.name not in routing.paths:
                assert address_variable.name not in chosen
                assert address_variable.is_optional or not provider.default
                continue
            upstream = upstreams[routing.paths[address_variable.name]]
            is_default = not given_numbers and not has_upstream
            assert bool(upstream.default_of) == is_default
            if is_default:
                assert upstream.url == f"{provider.default}{address_variable.path}"
            elif has_upstream:
                assert upstream.url.startswith("http://127.0.0.1:7000")
            elif address_variable.name in chosen:
                assert upstream.url == variables[address_variable.name]
            else:
                assert upstream.url in {_value(address_variable, number) for number in given_numbers}
        conflicts = [conflict for conflict in routing.conflicts if f"clients of {provider.title} read" in conflict]
        assert len(conflicts) == (len(given_numbers) > 1 and not has_upstream)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("agent", _IN_ENVIRONMENT)
def test_an_upstream_that_cannot_be_reached_is_a_recorded_trace_with_the_reason(tmp_path: Path, agent: str) -> None:
    code, said = _run(tmp_path, agent, "--check", "--upstream", _NOBODY)
    assert code == 1
    assert "weaklink: recorded 1 request.\n" in said
    assert "no request to a model" not in said
    with open_store(tmp_path / "t.db") as store:
        (summary,) = store.traces()
        assert summary.status is Status.ABORTED
        trace, inspection = store.inspected(summary.id)
    assert [diagnostic.rule.code for diagnostic in inspection.diagnostics] == ["C505"]
    assert "connection refused`." in inspection.diagnostics[0].fault.message
    assert trace.turns[0].parts[0].text == "Hi"


def test_check_fails_for_a_command_that_ended_well_although_nothing_answered(tmp_path: Path) -> None:
    agent = (
        f"{CHAT_CLIENT}try: create(model='m', messages=[{{'role': 'user', 'content': 'Hi'}}])\nexcept OSError: pass\n"
    )
    words = ("--upstream", _NOBODY, "--", sys.executable, "-c", agent)
    assert run_text(tmp_path, "run", "--check", "--db", "t.db", *words).returncode == 1
    assert run_text(tmp_path, "run", "--db", "t.db", *words).returncode == 0


def test_an_address_in_the_code_is_named_with_both_ways_out(tmp_path: Path) -> None:
    code = "client = dict(base_url='http://localhost:8000/v1', api_key='none')\n"
    (tmp_path / "agent.py").write_text(code)
    done = run_text(tmp_path, "run", "--db", "t.db", "--", sys.executable, "agent.py")
    said = done.stderr.splitlines()
    assert said[0] == "weaklink: no request to a model came through the proxy."
    assert "agent.py names http://localhost:8000/v1" in said[1]
    commands = [line.strip() for line in said if line.startswith("      ")]
    database = shlex.quote(str(tmp_path / "t.db"))
    assert commands == [
        f"weaklink run --db {database} --upstream http://localhost:8000/v1 -- {sys.executable} agent.py",
        f"weaklink record --port 8788 --upstream http://localhost:8000 --db {database}",
        "http://127.0.0.1:8788/v1",
    ]


def test_a_path_cannot_leave_the_path_of_its_upstream(tmp_path: Path) -> None:
    agent = (
        "import http.client, os, sys, urllib.parse\n"
        "base = urllib.parse.urlsplit(os.environ['OPENAI_BASE_URL'])\n"
        "for path in sys.argv[1:]:\n"
        "    connection = http.client.HTTPConnection(base.netloc)\n"
        "    connection.request('POST', base.path + path, '{}')\n"
        "    print(connection.getresponse().status)\n"
    )
    leaving = ("/../../admin", "/%2e%2e/%2E%2E/admin", "/x/..%2f..%2fadmin", "/%252e%252e/admin")
    with running_upstream(_answer) as upstream:
        words = ("--", sys.executable, "-c", agent, *leaving, "/x/../chat/completions")
        done = run_text(tmp_path, "run", "--db", "t.db", *words, OPENAI_BASE_URL=f"{upstream.url}/team/v1")
    assert done.stdout.split() == ["400"] * len(leaving) + ["200"], done.stderr
    assert len(upstream.requests) == 1
    assert upstream.requests[0].target.startswith("/team/v1/")


@given(st.lists(st.sampled_from(["..", ".", "a", "", "%2e%2e", "%2E.", "..."]), max_size=8))
def test_a_path_leaves_its_root_exactly_if_it_resolves_above_it(segments: list[str]) -> None:
    depth, leaves = 0, False
    for segment in segments:
        plain = segment.lower().replace("%2e", ".")
        depth += {"..": -1, ".": 0, "": 0}.get(plain, 1)
        leaves = leaves or depth < 0
    assert leaves_root("".join(f"/{segment}" for segment in segments) + "?q=/../..") == leaves


def test_the_answer_of_a_refusal_is_json_that_says_what_to_do(tmp_path: Path) -> None:
    agent = (
        "import os, urllib.request, urllib.error\n"
        "request = urllib.request.Request(os.environ['OPENAI_BASE_URL'] + '/chat/completions', b'{}')\n"
        "try: urllib.request.urlopen(request)\n"
        "except urllib.error.HTTPError as error: print(error.read().decode())\n"
    )
    done = run_text(tmp_path, "run", "--no-default-upstreams", "--db", "t.db", "--", sys.executable, "-c", agent)
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "default_upstream_refused"
    assert "Set `OPENAI_BASE_URL`, or name the server with `--upstream URL`." in error["message"]
