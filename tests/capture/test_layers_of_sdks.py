"""Real clients against a small server, recorded by `record` and by `TraceLogger` together, with planted faults."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.upstream import running_upstream
from tests.lazy_module import LazyModule
from weaklink.inspector import TraceLogger, inspect_trace
from weaklink.inspector.capture.client_recording import record, unrecord
from weaklink.inspector.chain.joining import join_traces
from weaklink.inspector.model import Trace
from weaklink.inspector.trace_file import read_trace_file

if TYPE_CHECKING:
    import anthropic
    import openai
else:
    anthropic, openai = LazyModule("anthropic"), LazyModule("openai")

_RESULT = "4 degrees and light rain until the evening, then snow from the north"
_ASK: Any = [{"role": "user", "content": "How warm is it in Oslo?"}]
_ID = "call_of_oslo"
_OSLO = '{"city": "Oslo", "days": "05"}'


def written(arguments: str) -> str:
    return f'<tool_call>\n{{"name": "weather", "arguments": {arguments}}}\n</tool_call>'


def parsed(arguments: str, id_: str = _ID) -> Any:
    return {"id": id_, "type": "function", "function": {"name": "weather", "arguments": arguments}}


class SmallServer:
    """What a model emits, and a server's parser between it and the client."""

    def __init__(self, parse: Callable[[str], tuple[str | None, Sequence[Any]]]) -> None:
        self._parse = parse

    def answer(self, emitted: str) -> Any:
        content, calls = self._parse(emitted)
        message = {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {})}
        choice: Any = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        return scripted.json_answer({"id": "c1", "object": "chat.completion", "model": "h", "choices": [choice]})


def keeping(emitted: str) -> tuple[str | None, Sequence[Any]]:
    """A parser that returns what was written."""
    arguments = json.loads(emitted.removeprefix("<tool_call>\n").removesuffix("\n</tool_call>"))["arguments"]
    return None, [parsed(json.dumps(arguments))]


def retyping(emitted: str) -> tuple[str | None, Sequence[Any]]:
    """A parser that makes numbers of texts, and leaves the content as it was."""
    return emitted, [parsed('{"city": "Oslo", "days": 5}')]


def run_agent(
    path: Path,
    parse: Callable[[str], tuple[str | None, Sequence[Any]]],
    *,
    ran: str = _OSLO,
    read: str = _RESULT,
    last: str = "4 degrees.",
) -> tuple[Trace, Trace]:
    """An agent of two requests: the trace of its client, and that of its own logger."""
    server = SmallServer(parse)
    answers = (server.answer(written(_OSLO)), scripted.chat_answer(last))
    with running_upstream(*answers) as upstream:
        sdk = openai.OpenAI(base_url=f"{upstream.url}/v1", api_key="sk-none", max_retries=0)
        client = record(sdk, path / "client.jsonl")
        first = client.chat.completions.create(model="h", messages=_ASK).choices[0].message
        with TraceLogger(path / "agent.jsonl") as log:
            log.user(_ASK[0]["content"])
            call: Any = (first.tool_calls or [])[0]
            with log.assistant() as turn:
                turn.call(call.function.name, call.function.arguments, id=call.id)
            log.tool(read, call_id=call.id, name="weather", executed=ran, returned=_RESULT)
        more: Any = [first.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": call.id, "content": read}]
        client.chat.completions.create(model="h", messages=[*_ASK, *more])
        unrecord(client)
        client.close()
    (of_client,) = read_trace_file(path / "client.jsonl")
    (of_agent,) = read_trace_file(path / "agent.jsonl")
    return of_client, of_agent


def codes(traces: tuple[Trace, Trace]) -> list[str]:
    inspection = inspect_trace(join_traces(*traces).trace, format="hermes")
    return [diagnostic.rule.code for diagnostic in inspection.diagnostics if diagnostic.rule.layer]


def test_without_a_planted_fault_no_layer_differs(tmp_path: Path) -> None:
    assert codes(run_agent(tmp_path, keeping)) == []


@pytest.mark.parametrize(
    ("parse", "planted", "expected"),
    [
        (keeping, {"last": written('{"city": "Bergen"}')}, ["L801"]),
        (retyping, {"ran": '{"city": "Oslo", "days": 5}'}, ["L803"]),
        (keeping, {"ran": '{"city": "Bergen"}'}, ["L805"]),
        (keeping, {"read": f"{_RESULT[:30]}[cut]"}, ["L809"]),
        (keeping, {"read": "9 degrees and sun"}, ["L808"]),
        (retyping, {"ran": '{"city": "Bergen"}', "read": _RESULT[:30]}, ["L803", "L805", "L809"]),
    ],
    ids=["a parser that drops", "a parser that re-types", "another run", "truncated", "another result", "all of them"],
)
def test_each_planted_fault_is_found_with_its_owner(
    parse: Callable[[str], tuple[str | None, Sequence[Any]]],
    planted: dict[str, str],
    expected: list[str],
    tmp_path: Path,
) -> None:
    assert codes(run_agent(tmp_path, parse, **planted)) == expected


_THOUGHT = {"type": "thinking", "thinking": "I look it up.", "signature": "c2lnbmF0dXJl"}
_TOOL_USE = {"type": "tool_use", "id": "toolu_of_oslo", "name": "weather", "input": {"city": "Oslo", "days": 5}}


def run_anthropic_agent(
    path: Path,
    *,
    ran: str = '{"city": "Oslo", "days": 5}',
    read: str = _RESULT,
    sent: Sequence[Any] = (_THOUGHT, _TOOL_USE),
) -> tuple[Trace, Trace]:
    """An agent on Anthropic's SDK, of two requests: `sent` is the first answer as it puts it into its history."""
    message: Any = {"id": "msg_1", "type": "message", "role": "assistant", "model": "c", "stop_sequence": None}
    usage = {"input_tokens": 9, "output_tokens": 9}
    first = message | {"content": [_THOUGHT, _TOOL_USE], "stop_reason": "tool_use", "usage": usage}
    last = message | {"content": [{"type": "text", "text": "4 degrees."}], "stop_reason": "end_turn", "usage": usage}
    with running_upstream(scripted.json_answer(first), scripted.json_answer(last | {"id": "msg_2"})) as upstream:
        sdk = anthropic.Anthropic(base_url=upstream.url, api_key="none", max_retries=0)
        client = record(sdk, path / "client.jsonl")
        answered = client.messages.create(model="c", max_tokens=99, messages=_ASK)
        (call,) = (block for block in answered.content if block.type == "tool_use")
        with TraceLogger(path / "agent.jsonl") as log:
            log.user(_ASK[0]["content"])
            with log.assistant() as turn:
                turn.call(call.name, json.dumps(call.input), id=call.id)
            log.tool(read, call_id=call.id, name="weather", executed=ran, returned=_RESULT)
        result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": read}]}
        more: Any = [{"role": "assistant", "content": list(sent)}, {"role": "user", "content": [result]}]
        client.messages.create(model="c", max_tokens=99, messages=[*_ASK, *more])
        unrecord(client)
        client.close()
    (of_client,) = read_trace_file(path / "client.jsonl")
    (of_agent,) = read_trace_file(path / "agent.jsonl")
    return of_client, of_agent


@pytest.mark.parametrize(
    ("planted", "expected"),
    [
        ({}, []),
        ({"ran": '{"city": "Bergen", "days": 5}'}, ["L805"]),
        ({"read": f"{_RESULT[:30]}[cut]"}, ["L809"]),
        ({"sent": (_TOOL_USE,)}, ["L814"]),
        ({"sent": (_THOUGHT, _TOOL_USE | {"input": {"city": "Bergen", "days": 5}})}, ["L806"]),
    ],
    ids=["no fault", "another run", "truncated", "thinking left out", "arguments changed in the history"],
)
def test_an_agent_on_anthropics_sdk_is_compared_layer_by_layer(
    planted: dict[str, Any], expected: list[str], tmp_path: Path
) -> None:
    assert codes(run_anthropic_agent(tmp_path, **planted)) == expected


async def agent_of_mcp(path: Path) -> None:
    """An agent whose tool is behind a server of the Model Context Protocol, and which changes an argument."""
    from mcp import Client  # noqa: PLC0415  # only this test needs it, and every worker collects it
    from mcp.server import MCPServer  # noqa: PLC0415  # the same

    server = MCPServer("weather")

    @server.tool()
    def weather(city: str) -> str:
        """The weather of a city."""
        return f"{city}: {_RESULT}"

    async with Client(server) as client, TraceLogger(path) as log:
        log.user("How warm is it in Oslo?")
        with log.assistant() as turn:
            turn.call("weather", '{"city": "Oslo"}', id=_ID)
        ran: dict[str, Any] = {"city": "Bergen"}  # the planted fault
        answered = await client.call_tool("weather", ran)
        returned = "".join(block.text for block in answered.content if block.type == "text")
        log.tool(returned, call_id=_ID, name="weather", executed=ran, returned=returned)


def test_a_tool_behind_mcp_is_recorded_as_it_ran(tmp_path: Path) -> None:
    path = tmp_path / "agent.jsonl"
    asyncio.run(agent_of_mcp(path))
    (trace,) = read_trace_file(path)
    assert trace.turns[2].run is not None
    assert trace.turns[2].run.result == f"Bergen: {_RESULT}"
    assert [diagnostic.rule.code for diagnostic in inspect_trace(trace).diagnostics if diagnostic.rule.layer] == [
        "L805"
    ]
