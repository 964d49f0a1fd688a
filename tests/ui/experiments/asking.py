"""A trace whose call is malformed, and servers that break a known share of their answers, on both wires."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

from click.testing import CliRunner, Result

from tests.capture import scripted_answers as scripted
from tests.capture.upstream import Answer, Received
from weaklink.inspector.apis.openai.messages import read_tools
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    CallHeader,
    ExternalId,
    Generation,
    Json,
    Part,
    Role,
    Trace,
    Turn,
    Usage,
)
from weaklink.storage.store import open_store
from weaklink.ui.cli.group import weaklink

BROKEN, GOOD = '{"city": "Oslo",}', '{"city": "Oslo"}'
TOOL: Json = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
APIS = {"openai": "chat.completions", "anthropic": "messages"}


def broken_trace(api: str) -> Trace:
    """A question that was answered with a malformed call."""
    generation = Generation(
        api=APIS[api],
        requested_model="small",
        parameters='{"temperature":0.7}',
        tools=read_tools([TOOL]),
        usage=Usage(input_tokens=50, output_tokens=9),
    )
    turns = (
        Turn(Role.SYSTEM, (Part("text", "You are terse."),), "system"),
        Turn(Role.USER, (Part("text", "Is it warm in Oslo?"),), "user"),
        Turn(
            Role.ASSISTANT,
            (Part("call:0", BROKEN),),
            "assistant",
            (CallHeader("call:0", "weather", "c1"),),
            generation=generation,
        ),
    )
    return Trace(turns, external_ids=(ExternalId("recording", f"parent-{api}"),))


def database(folder: Path, api: str = "openai") -> str:
    """A database with that trace alone."""
    location = str(folder / "t.db")
    trace = broken_trace(api)
    with open_store(location) as store:
        store.save([(trace, inspect_trace(trace))])
    return location


def said(api: str, *, broken: bool) -> Answer:
    """An answer with the call of the tool."""
    arguments = BROKEN if broken else GOOD
    if api == "openai":
        return scripted.chat_answer(None, tool="weather", arguments=arguments)
    return scripted.messages_stream("Let me look.", tool="weather", arguments=[arguments])


def server(api: str, rate_of: Callable[[Mapping[str, Json]], float], seed: int = 1) -> Callable[[Received], Answer]:
    """Answers requests; `rate_of` says for a request's body how often its answers break."""
    random, known = Random(seed), dict[int, Answer]()

    def answer(request: Received) -> Answer:
        if not request.is_whole:
            return said(api, broken=False)
        if id(request) not in known:
            known[id(request)] = said(api, broken=random.random() < rate_of(json.loads(request.body)))
        return known[id(request)]

    return answer


def run(*words: str) -> Result:
    """The command, in this process."""
    return CliRunner().invoke(weaklink, words, catch_exceptions=False)
