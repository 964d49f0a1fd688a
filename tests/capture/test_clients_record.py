"""`record(client)`: one line, and the conversation stands in a trace with its chunks, its calls and its errors."""

import asyncio
import gc
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.conftest import ROOT
from tests.capture.events import Remembering, wait_until
from tests.capture.upstream import Drop, running_upstream
from tests.lazy_module import LazyModule
from weaklink import inspector
from weaklink.inspector.capture.client_recording import is_observed, record, recorded, unrecord
from weaklink.inspector.capture.safeguards import CloseOnce
from weaklink.inspector.errors import SinkError
from weaklink.inspector.model import BodyState, CallHeader, ErrorPhase, FinishReason, Role, Trace
from weaklink.inspector.trace_file import read_trace_file
from weaklink.storage.store import open_store

if TYPE_CHECKING:
    import anthropic
    import openai
else:
    anthropic, openai = LazyModule("anthropic"), LazyModule("openai")

MESSAGES: Any = [{"role": "user", "content": "How warm is it in Oslo?"}]
CALL: Any = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}


def client_of(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=url + "/v1", api_key="sk-none", max_retries=0)


def texts_of(trace: Trace) -> list[str]:
    return ["".join(part.text for part in turn.parts if part.name == "text") for turn in trace.turns]


def test_a_conversation_is_one_trace_with_its_calls_and_chunks(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    tool = scripted.chat_tool_stream("weather", '{"city": ', '"Oslo"}')
    with running_upstream(tool, scripted.chat_stream("Three ", "degrees.")) as upstream:
        client = record(client_of(upstream.url), path)
        for _ in client.chat.completions.create(model="h", messages=MESSAGES, stream=True):
            pass
        result = {"role": "tool", "tool_call_id": "call_1", "content": "3"}
        more: Any = [{"role": "assistant", "tool_calls": [CALL]}, result]
        for _ in client.chat.completions.create(model="h", messages=[*MESSAGES, *more], stream=True):
            pass
        unrecord(client)
        assert not is_observed(client)
        client.close()
    (trace,) = read_trace_file(path)
    assert [turn.role for turn in trace.turns] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    assert texts_of(trace)[3] == "Three degrees."
    assert trace.turns[1].calls == (CallHeader("call:0", "weather", "call_1"),)
    answer = trace.turns[3]
    part = answer.part("text")
    assert part is not None
    assert part.chunks is not None
    assert part.chunks.offsets_s is not None
    assert answer.generation is not None
    assert answer.generation.finish is FinishReason.STOP
    assert answer.generation.body is BodyState.COMPLETE
    assert answer.generation.error is None


@pytest.mark.usefixtures("installed_store")
def test_an_asynchronous_client_is_recorded_into_a_database(tmp_path: Path) -> None:
    async def run(url: str) -> None:
        async with anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as client:
            with recorded(client, tmp_path / "runs.db"):
                async with client.messages.stream(model="h", max_tokens=9, messages=MESSAGES) as events:
                    assert "".join([text async for text in events.text_stream]) == "Hello"

    with running_upstream(scripted.messages_stream("Hel", "lo")) as upstream:
        asyncio.run(run(upstream.url))
    with open_store(tmp_path / "runs.db", create=False) as store:
        (summary,) = store.traces(limit=2)
        trace, _ = store.inspected(summary.id)
    assert texts_of(trace) == ["How warm is it in Oslo?", "Hello"]


def test_a_dropped_stream_is_an_aborted_turn_with_its_text() -> None:
    sink = Remembering()
    with running_upstream(scripted.chat_stream("half a ", Drop(reset=False), "word")) as upstream:
        left = pytest.raises(Exception, match=r"peer closed|Connection|reset|incomplete")
        with client_of(upstream.url) as client, recorded(client, sink), left:
            for _ in client.chat.completions.create(model="h", messages=MESSAGES, stream=True):
                pass
    answer = sink.trace().turns[-1]
    assert texts_of(sink.trace())[-1] == "half a "
    assert answer.generation is not None
    assert answer.generation.body is BodyState.TRUNCATED
    assert answer.generation.error is not None
    assert answer.generation.error.phase is ErrorPhase.TRANSPORT
    assert not sink.closed


def test_clients_that_share_a_transport_are_recorded_together() -> None:
    sink = Remembering()
    with running_upstream(scripted.chat_answer("Hello")) as upstream:
        client = client_of(upstream.url)
        other = client.with_options(timeout=30)
        with client, recorded(client, sink):
            assert record(other, sink) is other
            with pytest.raises(ValueError, match="already recorded"):
                record(other, Remembering())
            other.chat.completions.create(model="h", messages=MESSAGES)
    assert texts_of(sink.trace())[-1] == "Hello"


def test_two_models_that_share_a_client_unknown_to_the_agent_are_recorded_once(tmp_path: Path) -> None:
    destination = tmp_path / "runs.jsonl"
    with running_upstream(scripted.chat_answer("Hello")) as upstream, client_of(upstream.url) as client:
        other = client.with_options(timeout=30)
        record(client, destination)
        record(other, str(destination))
        with pytest.raises(ValueError, match="already recorded"):
            record(other, tmp_path / "others.jsonl")
        other.chat.completions.create(model="h", messages=MESSAGES)
        unrecord(other)
        client.chat.completions.create(model="h", messages=MESSAGES)
    (trace,) = read_trace_file(destination)
    assert texts_of(trace)[-1] == "Hello"
    assert not (tmp_path / "others.jsonl").exists()


@pytest.mark.parametrize("name", ["client", "root_client", "async_client"])
def test_the_member_of_a_frameworks_model_that_can_be_recorded_is_named(name: str, tmp_path: Path) -> None:
    model = SimpleNamespace(**{name: client_of("http://127.0.0.1:9")})
    with pytest.raises(TypeError, match=f"has none in `_client`; its member `{name}` can be recorded"):
        record(model, tmp_path / "runs.jsonl")


def test_what_cannot_be_recorded_opens_nothing(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="A str cannot be recorded"):
        record("client", tmp_path / "runs.jsonl")
    assert list(tmp_path.iterdir()) == []
    client = client_of("http://127.0.0.1:9")
    with pytest.raises(SinkError, match="cannot be opened"):
        record(client, tmp_path / "none" / "runs.jsonl")
    assert not is_observed(client)
    unrecord(client)
    client.close()


def test_a_client_that_nobody_holds_any_more_ends_its_record(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    with running_upstream(scripted.chat_answer("Hello")) as upstream:
        client = record(client_of(upstream.url), path)
        client.chat.completions.create(model="h", messages=MESSAGES)
        client.close()
        del client
        gc.collect()
        wait_until(lambda: path.read_bytes().count(b"\n") > 1)
    (trace,) = read_trace_file(path)
    assert texts_of(trace)[-1] == "Hello"


FORGOTTEN = """
import sys, openai, inspector
client = inspector.record(openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none"), sys.argv[2])
answer = client.chat.completions.create(model="h", messages=[{"role": "user", "content": "Hi"}])
print(answer.choices[0].message.content)
"""


def test_a_client_that_nobody_closed_is_recorded_to_the_end_of_the_process(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    with running_upstream(scripted.chat_answer("Hello")) as upstream:
        start = [sys.executable, "-c", FORGOTTEN, upstream.url, str(path)]
        done = subprocess.run(start, cwd=ROOT, check=True, timeout=120, capture_output=True, text=True)
    assert done.stdout == "Hello\n"
    (trace,) = read_trace_file(path)
    assert texts_of(trace) == ["Hi", "Hello"]


def test_the_names_are_public() -> None:
    assert {"TraceLogger", "record", "recorded", "unrecord"} <= set(inspector.__all__)
    assert inspector.record is record


def test_a_close_that_another_thread_has_begun_is_waited_for() -> None:
    """The garbage collector may run in a daemon thread, and what it starts there ends with the process."""
    owner, begun, may_end, closed = Thread(), Event(), Event(), Event()

    def close() -> None:
        begun.set()
        may_end.wait(30)
        closed.set()

    closing = CloseOnce(owner, close)
    Thread(target=closing.now, daemon=True).start()
    assert begun.wait(30)
    second = Thread(target=closing.now)
    second.start()
    second.join(0.2)
    assert second.is_alive()
    may_end.set()
    second.join(30)
    assert closed.is_set()
