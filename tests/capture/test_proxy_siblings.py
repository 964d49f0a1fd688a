"""Real clients that ask at once through the proxy: parallel agents are traces of their own, retries are not."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.proxies import recording
from tests.capture.recordings import Call, ToldSink, user
from tests.capture.upstream import Answer, Pause, Received, running_upstream
from tests.lazy_module import LazyModule
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import ParentWhy, Trace
from weaklink.inspector.sessions.exchange import ExchangeEnd

if TYPE_CHECKING:
    import anthropic
    import openai
else:
    anthropic, openai = LazyModule("anthropic"), LazyModule("openai")

Speaks: TypeAlias = Callable[[list[dict[str, Any]]], Awaitable[str]]
"""Sends messages as one agent, and gives the words of the answer."""

OPENING = [user("Plan the week.")]
TIMEOUT_S = 3.0


def by_openai(url: str, agent: str) -> Speaks:
    async def speak(messages: list[Any]) -> str:
        made = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=2, timeout=TIMEOUT_S)
        async with made as client:
            stream = await client.chat.completions.create(model="m", messages=messages, user=agent, stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

    return speak


def by_anthropic(url: str, agent: str) -> Speaks:
    async def speak(messages: list[Any]) -> str:
        made = anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=2, timeout=TIMEOUT_S)
        async with made as client:
            got = await client.messages.create(model="m", max_tokens=9, messages=messages, metadata={"user_id": agent})
            return "".join(block.text for block in got.content if block.type == "text")

    return speak


CLIENTS = {"openai": by_openai, "anthropic": by_anthropic}


class Script:
    """Answers each agent in its own words; `fails` gives what its first request gets instead."""

    def __init__(self, client: str, fails: dict[str, Answer]) -> None:
        self._client, self._fails = client, dict(fails)
        self._chosen: dict[int, Answer] = {}
        self._lock = threading.Lock()

    def __call__(self, request: Received) -> Answer:
        if not request.is_whole:
            return Answer()
        with self._lock:
            return self._chosen.setdefault(id(request), self._answer(json.loads(request.body)))

    def _answer(self, body: dict[str, Any]) -> Answer:
        agent = body.get("user") or body["metadata"]["user_id"]
        if (failure := self._fails.pop(agent, None)) is not None:
            return failure
        text = f"{agent} says {len(body['messages'])}"
        return scripted.chat_stream(text) if self._client == "openai" else scripted.messages_answer(text)


def recorded(client: str, agents: list[str], fails: dict[str, Answer]) -> list[Trace]:
    """The traces of agents that begin at once, and each go on with what they were told."""
    sink = ToldSink()
    recorder = Recorder(sink)

    async def agent(speak: Speaks) -> None:
        first = await speak(OPENING)
        await speak([*OPENING, {"role": "assistant", "content": first}, user("Shorter.")])

    async def main(url: str) -> None:
        speaking = [CLIENTS[client](url, name) for name in agents]  # it takes long, and they are to begin at once
        await asyncio.gather(*map(agent, speaking))

    with running_upstream(Script(client, fails)) as upstream, recording(upstream, observes=recorder) as proxy:

        def release() -> None:
            upstream.wait_until(lambda: len(upstream.requests) >= len(agents))
            upstream.release("all")

        releasing = threading.Thread(target=release)
        releasing.start()
        asyncio.run(main(proxy.url))
        releasing.join()
    recorder.close()
    return sink.recorded()


def speaker(trace: Trace) -> set[str]:
    """The agents whose answers a trace holds."""
    texts = [part.text for turn in trace.turns if turn.generation for part in turn.parts if part.name == "text"]
    return {text.partition(" says ")[0] for text in texts if text}


def attempts(trace: Trace) -> list[int]:
    return [turn.generation.attempt for turn in trace.turns if turn.generation is not None]


@pytest.mark.parametrize("client", CLIENTS)
def test_agents_that_begin_at_once_are_traces_of_their_own(client: str) -> None:
    agents = ["ann", "bob", "eve"]
    held = {name: held_answer(client, name) for name in agents}
    traces = recorded(client, agents, held)
    assert sorted(map(str, map(speaker, traces))) == [str({name}) for name in agents]
    assert [attempts(trace) for trace in traces] == [[1, 1]] * 3
    first = traces[0].external_ids[0]
    assert [trace.parent and (trace.parent.external_id, trace.parent.why) for trace in traces] == [
        None,
        *[(first, ParentWhy.SIBLING)] * 2,
    ]
    for trace in traces:
        inspection = inspect_trace(trace)
        assert (inspection.chain.status.value, inspection.diagnostics) == ("ok", ())


def held_answer(client: str, name: str) -> Answer:
    """An agent's first answer, which waits until all agents have asked."""
    if client == "openai":
        return scripted.chat_stream(Pause("all"), f"{name} says 1")
    return held_until_all_asked(scripted.messages_answer(f"{name} says 1"))


def held_until_all_asked(answer: Answer) -> Answer:
    return replace(answer, pieces=(Pause("all"), *answer.pieces))


@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_client_sends_again_by_itself_stays_in_its_trace(client: str) -> None:
    """One agent is refused at once, and one gives up waiting: both clients try again, beside the others."""
    agents = ["ann", "bob", "eve", "max"]
    refused = held_until_all_asked(scripted.error(529, "Overloaded"))
    held = {name: held_answer(client, name) for name in ("ann", "eve")}
    traces = recorded(client, agents, {**held, "bob": refused, "max": Answer((Pause(),), bare=True)})
    assert sorted(map(str, map(speaker, traces))) == [str({name}) for name in agents]
    tried = {name: attempts(trace) for trace in traces for name in speaker(trace)}
    assert tried == {"ann": [1, 1], "bob": [1, 2, 1], "eve": [1, 1], "max": [1, 2, 1]}


def test_an_agent_goes_on_with_its_answer_before_the_end_of_it_was_noted() -> None:
    sink = ToldSink()
    recorder = Recorder(sink)
    calls = {name: Call(recorder, OPENING).answered().said(name, " says 1") for name in ("ann", "bob")}
    for name in ("bob", "ann"):
        said = {"role": "assistant", "content": f"{name} says 1"}
        Call(recorder, [*OPENING, said, user("Shorter.")]).answered().said(name, " says 3").done()
    for call in calls.values():
        call.done()
    recorder.close()
    assert [(speaker(trace), attempts(trace)) for trace in sink.recorded()] == [({"ann"}, [1, 1]), ({"bob"}, [1, 1])]


def test_a_login_page_that_came_with_200_is_tried_again() -> None:
    sink = ToldSink()
    recorder = Recorder(sink)
    page = Call(recorder, OPENING).answered(kind="text/html")
    page.sent(b"<html><body>Log in</body></html>").ended(ExchangeEnd.COMPLETE)
    Call(recorder, OPENING).answered().said("ann says 1").done()
    recorder.close()
    (trace,) = sink.recorded()
    assert attempts(trace) == [1, 2]
    assert [diagnostic.rule.code for diagnostic in inspect_trace(trace).diagnostics] == ["C512"]
