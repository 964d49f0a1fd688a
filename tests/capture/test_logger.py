"""TraceLogger: what the agent's code gives is recorded as it comes, and nothing ever reaches the agent."""

import asyncio
import gc
import logging
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from threading import Barrier, Thread

import pytest

from tests.capture.events import Remembering, traces_of, wait_until
from weaklink.inspector.capture.events import ChunksArrived, RecordEvent, TraceEnded, TraceStarted, TurnEnded
from weaklink.inspector.capture.logger import TraceLogger
from weaklink.inspector.errors import SinkError, UnknownFormatError
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    BodyState,
    CallHeader,
    ErrorPhase,
    FinishReason,
    Generation,
    Outcome,
    RecordedRun,
    ResultHeader,
    Role,
    ToolDefinition,
    Turn,
    Usage,
)
from weaklink.inspector.trace_file import read_trace_file
from weaklink.storage.store import open_store

TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


def facts(turn: Turn) -> Generation:
    assert turn.generation is not None
    return turn.generation


def text_of(turn: Turn, part: str = "text") -> str:
    recorded_part = turn.part(part)
    assert recorded_part is not None
    return recorded_part.text


def test_a_session_is_recorded_as_it_was_told() -> None:
    sink = Remembering()
    with TraceLogger(sink, name="run 1", model="Hermes-4", format="hermes", tools=[TOOL]) as log:
        log.system("You have tools.")
        log.user("How warm is it in Oslo?")
        with log.assistant(parameters={"temperature": 0}) as turn:
            turn.feed("Let me see", part="reasoning")
            turn.feed("<tool_", token_ids=[5], logprobs=[-0.5])
            turn.feed("call>", token_ids=(6, 7))
            turn.finish("stop", usage={"prompt_tokens": 9, "completion_tokens": 3}, model="Hermes-4-70B")
        log.tool({"celsius": 3}, call_id="c1", name="weather", is_error=False)
        log.outcome(completed=True, reward=1)
    trace = sink.trace()
    assert (trace.name, trace.model, trace.format, trace.provenance.source) == ("run 1", "Hermes-4", "hermes", "logger")
    assert trace.outcome == Outcome(completed=True, reward=1.0)
    assert [turn.role for turn in trace.turns] == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL]
    answer, result = trace.turns[2:]
    assert text_of(answer) == "<tool_call>"
    assert text_of(answer, "reasoning") == "Let me see"
    (reasoning, text) = answer.parts
    assert reasoning.chunks is not None
    assert text.chunks is not None
    assert text.chunks.ends == (6, 11)
    assert (reasoning.chunks.sequences, text.chunks.sequences) == ((0,), (1, 2))
    assert text.chunks.token_ids == ((5,), (6, 7))
    assert text.chunks.logprobs == ((-0.5,), None)
    assert text.chunks.offsets_s is not None
    assert all(index is not None and index >= 0 for index in text.chunks.offsets_s)
    generation = facts(answer)
    assert (generation.requested_model, generation.answered_model) == ("Hermes-4", "Hermes-4-70B")
    assert generation.parameters == '{"temperature":0}'
    assert [tool.name for tool in generation.tools] == ["weather"]
    assert (generation.finish_reason, generation.finish) == ("stop", FinishReason.STOP)
    assert generation.usage == Usage(9, 3)
    assert generation.started is not None
    assert generation.first_token is not None
    assert generation.ended is not None
    assert generation.started.at_s <= generation.first_token.at_s <= generation.ended.at_s
    assert text_of(result) == '{"celsius":3}'
    assert result.result == ResultHeader("c1", "weather", is_error=False)
    assert log.mistakes.count == log.dropped == 0
    assert not sink.closed


def test_what_ran_and_what_it_returned_are_kept_and_compared(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    secret = "sk-proj-" + "a1B2" * 12
    with TraceLogger(path, format="hermes") as log:
        log.user("How warm is it in Oslo?")
        with log.assistant() as turn:
            turn.feed('<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>')
        log.tool("4 degrees and rai", name="weather", executed={"city": "Bergen"}, returned="4 degrees and rain " * 9)
        log.tool("none", name="other", executed={"key": secret})
        log.tool("none", name="third")
    trace = next(iter(read_trace_file(path)))
    runs = [turn.run for turn in trace.turns if turn.role is Role.TOOL]
    assert runs[0] == RecordedRun("logger", "weather", None, '{"city":"Bergen"}', "4 degrees and rain " * 9)
    assert runs[1] is not None
    assert secret not in str(runs[1])
    assert runs[2] is None
    codes = {diagnostic.rule.code for diagnostic in inspect_trace(trace).diagnostics}
    assert codes >= {"L805", "L809"}


def test_chunks_reach_the_sink_while_the_turn_is_open() -> None:
    sink = Remembering()
    with TraceLogger(sink) as log, log.assistant() as turn:
        turn.feed("Hel")
        turn.feed("lo")
        (before,) = traces_of(sink.events).values()
        assert text_of(before.turns[0]) == "Hello"
        assert facts(before.turns[0]).body is BodyState.TRUNCATED
    assert facts(sink.trace().turns[0]).body is BodyState.COMPLETE


def test_calls_as_fields_have_their_parts() -> None:
    sink = Remembering()
    with TraceLogger(sink) as log, log.assistant() as turn:
        turn.call("weather", {"city": "Oslo"}, id="c1")
        turn.call("search")
        turn.feed('{"q": ', part="call:1")
        turn.feed("1}", part="call:1")
    (answer,) = sink.trace().turns
    assert answer.calls == (CallHeader("call:0", "weather", "c1"), CallHeader("call:1", "search", None))
    assert [text_of(answer, f"call:{index}") for index in (0, 1)] == ['{"city":"Oslo"}', '{"q": 1}']


def test_an_exception_of_the_agent_aborts_the_turn_and_goes_on() -> None:
    sink = Remembering()
    with pytest.raises(ZeroDivisionError, match="by zero"), TraceLogger(sink) as log, log.assistant() as turn:  # noqa: PT012
        turn.feed("half a ")
        _ = 1 / 0
    trace = sink.trace()
    (answer,) = trace.turns
    generation = facts(answer)
    assert text_of(answer) == "half a "
    assert generation.body is BodyState.TRUNCATED
    assert generation.error is not None
    assert (generation.error.phase, generation.error.message) == (
        ErrorPhase.CLIENT_ABORT,
        "ZeroDivisionError: division by zero",
    )
    assert trace.outcome == Outcome(completed=False, exit_status="ZeroDivisionError")


def test_nothing_that_is_wrong_reaches_the_agent(caplog: pytest.LogCaptureFixture) -> None:
    sink = Remembering()
    with caplog.at_level(logging.WARNING, "weaklink"), TraceLogger(sink) as log:
        with log.assistant(tools=[3]) as turn:  # type: ignore[list-item]
            turn.feed(b"raw")  # type: ignore[arg-type]
            turn.feed("a", token_ids=["x"])  # type: ignore[list-item]
            turn.put([1])
            turn.feed("kept")
            turn.finish(usage=3)  # type: ignore[arg-type]
        turn.feed("late")
        turn.feed("late again")
        log.user(None)  # type: ignore[arg-type]
        log.user(3)  # type: ignore[arg-type]
    log.user("after the end")
    log.assistant().feed("after the end")
    assert text_of(sink.trace().turns[0]) == "kept"
    assert log.mistakes.count == 12
    assert isinstance(log.mistakes.last, SinkError)
    said = [record.getMessage() for record in caplog.records]
    assert len([words for words in said if "`feed`" in words]) == 3
    assert not [words for words in said if "`_" in words]
    assert "weaklink could not record `feed` (TypeError: expected a text, not bytes); the agent continues." in said


class Broken:
    """A sink that raises."""

    def accept(self, event: RecordEvent) -> None:
        raise OSError(f"no room for {type(event).__name__}")

    def close(self) -> None:
        raise OSError("no end either")


def test_a_sink_that_raises_does_not_reach_the_agent() -> None:
    with TraceLogger(Broken()) as log:
        log.user("a")
        with log.assistant() as turn:
            turn.feed("b")
    assert log.mistakes.count >= 4


def test_opening_says_in_words_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(UnknownFormatError, match="hermse"):
        TraceLogger(Remembering(), format="hermse")
    with pytest.raises(TypeError, match="expected a tool definition or a JSON object, not int"):
        TraceLogger(Remembering(), tools=[3])  # type: ignore[list-item]
    with pytest.raises(SinkError, match="cannot be opened"):
        TraceLogger(tmp_path / "none" / "runs.jsonl")
    with pytest.raises(SinkError, match="No installed package provides a sink for `http://`"):
        TraceLogger("http://")
    with pytest.raises(SinkError, match="No installed package provides a sink for `gopher://`"):
        TraceLogger("gopher://hole")


def test_a_recording_of_nothing_leaves_nothing() -> None:
    sink = Remembering()
    with TraceLogger(sink):
        pass
    assert sink.events == []


@pytest.mark.parametrize("entered", [True, False])
def test_a_wrapped_stream_passes_through(entered: bool) -> None:
    sink = Remembering()
    pieces = ["Hel", "lo", "\ud83d"]
    with TraceLogger(sink) as log:
        turn = log.assistant()
        if entered:
            with turn:
                assert list(turn.wrap(iter(pieces))) == pieces
                turn.finish("length")
        else:
            assert list(turn.wrap(pieces)) == pieces
    (answer,) = sink.trace().turns
    assert text_of(answer) == "Hello\ud83d"
    assert facts(answer).finish_reason == ("length" if entered else None)
    assert facts(answer).body is BodyState.COMPLETE


def test_an_asynchronous_stream_passes_through() -> None:
    sink = Remembering()

    async def pieces() -> AsyncIterator[tuple[str, int]]:
        yield "a", 1
        await asyncio.sleep(0)
        yield "b", 2

    async def run() -> list[tuple[str, int]]:
        async with TraceLogger(sink) as log, log.assistant() as turn:
            return [piece async for piece in turn.wrap(pieces(), text=lambda piece: piece[0])]

    assert asyncio.run(run()) == [("a", 1), ("b", 2)]
    assert text_of(sink.trace().turns[0]) == "ab"
    assert isinstance(sink.events[-1], TraceEnded)


def test_chunks_of_llama_cpp_are_read_as_the_api_has_them() -> None:
    sink = Remembering()
    chunks: list[dict[str, object]] = [
        {"object": "chat.completion.chunk", "model": "h", "choices": [{"index": 0, "delta": {"role": "assistant"}}]},
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Hi"}}]},
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    with TraceLogger(sink) as log:
        assert list(log.assistant().wrap(chunks)) == chunks
    (answer,) = sink.trace().turns
    generation = facts(answer)
    assert text_of(answer) == "Hi"
    assert (generation.api, generation.answered_model, generation.finish) == (
        "chat.completions",
        "h",
        FinishReason.STOP,
    )
    assert generation.error is None
    assert log.mistakes.count == 0


def test_a_stream_that_breaks_or_is_left_is_aborted_with_its_text() -> None:
    sink = Remembering()

    def breaking() -> Iterator[str]:
        yield "half"
        raise ConnectionError("gone")

    with TraceLogger(sink) as log:
        with pytest.raises(ConnectionError, match="gone"):
            list(log.assistant().wrap(breaking()))
        left = log.assistant().wrap(iter(["one", "two"]))
        next(left)
        left.close()  # type: ignore[attr-defined]
    broke, was_left = sink.trace().turns
    assert (text_of(broke), text_of(was_left)) == ("half", "one")
    assert [facts(turn).body for turn in (broke, was_left)] == [BodyState.TRUNCATED] * 2
    errors = [facts(turn).error for turn in (broke, was_left)]
    assert [error.message for error in errors if error] == [
        "ConnectionError: gone",
        "The stream was closed before its end.",
    ]


class Letters:
    """A tokenizer of bytes: token 0 opens a thought, every other is its byte."""

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool = True) -> str:
        assert not skip_special_tokens
        raw = b"".join(b"<think>" if token == 0 else bytes([token]) for token in token_ids)
        return raw.decode("utf-8", "replace")


class Tensor:
    """A tensor of one sequence, as far as it is asked."""

    def __init__(self, values: list[int], *, batch: bool = False) -> None:
        self._values: list[object] = [values] if batch else [*values]

    def tolist(self) -> list[object]:
        return self._values


def test_a_turn_is_a_streamer_for_transformers() -> None:
    sink = Remembering()
    with TraceLogger(sink) as log:
        turn = log.assistant(tokenizer=Letters())
        turn.put(Tensor([*b"Hello\n", 0], batch=True))
        for token in "é</think>Hi 😀".encode():
            turn.put(Tensor([token]))
        turn.end()
    (answer,) = sink.trace().turns
    text = answer.part("text")
    assert text is not None
    assert text.text == "é</think>Hi 😀"
    assert text.chunks is not None
    assert text.chunks.token_ids is not None
    assert text.chunks.token_ids[0] == (0xC3, 0xA9)
    assert text.chunks.token_ids[-1] == tuple("😀".encode())
    assert text_of(answer, "wire:prompt") == "Hello\n<think>"
    assert log.mistakes.count == 0


@pytest.mark.parametrize(("prompt", "names"), [("...<think>\n", []), ("", ["reasoning-opened-by-prompt"])])
def test_what_the_prompt_left_open_belongs_to_the_turn(prompt: str, names: list[str]) -> None:
    sink = Remembering()
    with TraceLogger(sink, format="hermes") as log, log.assistant(prompt=prompt) as turn:
        turn.feed("I think.</think>Yes.")
    assert [diagnostic.rule.name for diagnostic in inspect_trace(sink.trace()).diagnostics] == names


def test_threads_that_hammer_one_logger_lose_nothing() -> None:
    sink = Remembering()
    threads, turns, pieces = 8, 20, 25
    begin = Barrier(threads)

    def run(log: TraceLogger, name: int) -> None:
        begin.wait()
        for index in range(turns):
            with log.assistant() as turn:
                for piece in range(pieces):
                    turn.feed(f"{name}.{index}.{piece} ")
            log.tool(f"{name}.{index}")

    with TraceLogger(sink) as log:
        running = [Thread(target=run, args=(log, name)) for name in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    trace = sink.trace()
    assert log.mistakes.count == 0
    assert len(trace.turns) == 2 * threads * turns
    answers = [text_of(turn) for turn in trace.turns if turn.role is Role.ASSISTANT]
    wanted = {
        "".join(f"{n}.{index}.{piece} " for piece in range(pieces)) for n in range(threads) for index in range(turns)
    }
    assert set(answers) == wanted
    arrived = [chunk for event in sink.events if isinstance(event, ChunksArrived) for chunk in event.chunks]
    assert len(arrived) == threads * turns * pieces
    by_turn: dict[int, list[int]] = {}
    for event in sink.events:
        if isinstance(event, ChunksArrived):
            by_turn.setdefault(event.turn, []).extend(chunk.sequence for chunk in event.chunks)
    assert all(later == earlier + 1 for sequence in by_turn.values() for earlier, later in pairwise(sequence))


def test_one_thread_may_feed_a_turn_that_another_began() -> None:
    sink = Remembering()
    with TraceLogger(sink) as log, log.assistant() as turn:
        running = [Thread(target=lambda: [turn.feed("x") for _ in range(100)]) for _ in range(8)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    (answer,) = sink.trace().turns
    assert text_of(answer) == "x" * 800
    assert answer.parts[0].chunks is not None
    assert answer.parts[0].chunks.sequences == tuple(range(800))


class Stars:
    """Redacts the letter `k`; holds back nothing."""

    count = 0
    keeps_content = True

    def url(self, url: str) -> str:
        return url

    def turn(self, turn: Turn) -> Turn:
        parts = tuple(type(part)(part.name, part.text.replace("k", "*"), part.chunks) for part in turn.parts)
        return Turn(turn.role, parts, generation=turn.generation)

    def trace(self, trace):  # type: ignore[no-untyped-def]
        return trace

    def text(self, text: str) -> str:
        return text.replace("k", "*")

    def new_turn(self, tools: Iterable[ToolDefinition] = ()) -> "Stars":
        return self

    def feed(self, chunks):  # type: ignore[no-untyped-def]
        return tuple(
            type(chunk)(chunk.sequence, chunk.part, chunk.text.replace("k", "*"), chunk.offset_s) for chunk in chunks
        )

    def close(self):  # type: ignore[no-untyped-def]
        return ()


def test_nothing_leaves_the_process_unredacted() -> None:
    sink = Remembering()
    with TraceLogger(sink, redactor=Stars()) as log:
        log.user("a key")
        with log.assistant() as turn:
            turn.feed("k")
            turn.feed("k!")
    assert [text_of(turn) for turn in sink.trace().turns] == ["a *ey", "**!"]
    assert [chunk.text for event in sink.events if isinstance(event, ChunksArrived) for chunk in event.chunks] == [
        "*",
        "*!",
    ]
    assert "k" not in "".join(text_of(event.value) for event in sink.events if isinstance(event, TurnEnded))


def test_a_tool_may_be_given_as_a_definition() -> None:
    sink = Remembering()
    with TraceLogger(sink) as log, log.assistant(tools=[ToolDefinition("f")]):
        pass
    assert isinstance(sink.events[0], TraceStarted)
    assert facts(sink.trace().turns[0]).tools == (ToolDefinition("f"),)


FORGOTTEN = """
import sys
from weaklink.inspector import TraceLogger
log = TraceLogger(sys.argv[1], name="forgotten")
log.user("Hello")
turn = log.assistant()
turn.feed("half")
"""


def test_a_logger_that_nobody_closed_is_closed_at_the_end_of_the_process(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", FORGOTTEN, str(path)], cwd=root, check=True, timeout=120)
    (trace,) = read_trace_file(path)
    assert [text_of(turn) for turn in trace.turns] == ["Hello", "half"]
    assert facts(trace.turns[1]).body is BodyState.TRUNCATED


FORKED = """
import os, sys, time
from weaklink import TraceLogger

place = sys.argv[1]
log = TraceLogger(place, name="parent")
log.user("before")
if os.fork():
    os.wait()
    log.user("after")
else:
    began_s = time.monotonic()
    log.user("lost")
    log.assistant().feed("lost")
    with TraceLogger(place, name="child") as own:
        own.user("kept")
    log.close()
    print(log.mistakes.count, log.mistakes.last, time.monotonic() - began_s < 20, flush=True)
"""


@pytest.mark.one_in(2)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("name", ["log.jsonl", "log.db"])
def test_a_forked_process_records_nothing_with_the_logger_that_it_inherited(name: str, tmp_path: Path) -> None:
    destination = tmp_path / name
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(destination)],
        cwd=root,
        check=True,
        timeout=120,
        capture_output=True,
        text=True,
    )
    assert re.fullmatch(r"[23] The recording belongs to process \d+; .* must open its own\. True\n", done.stdout), done
    if destination.suffix == ".db":
        with open_store(destination) as store:
            traces = [store.trace(row.id) for row in store.traces()]
    else:
        traces = list(read_trace_file(destination))
    texts = {trace.name: [part.text for turn in trace.turns for part in turn.parts] for trace in traces}
    assert (texts, len(traces)) == ({"parent": ["before", "after"], "child": ["kept"]}, 2)


def test_a_logger_that_nobody_holds_any_more_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    TraceLogger(path).user("Hello")
    gc.collect()
    wait_until(lambda: len(list(read_trace_file(path))) == 1)


def test_a_turn_keeps_its_logger(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    turn = TraceLogger(path).assistant()
    gc.collect()
    turn.feed("Hello")
    turn.finish()
    assert turn.mistakes.count == 0
    del turn
    gc.collect()
    wait_until(lambda: len(list(read_trace_file(path))) == 1)
    (trace,) = read_trace_file(path)
    assert text_of(trace.turns[0]) == "Hello"


@pytest.mark.parametrize(
    ("error", "ends"),
    [
        (TimeoutError("no answer"), ("broken", "T404")),
        (RuntimeError("bug"), ("broken", "T404")),
        (KeyboardInterrupt(), ("aborted", None)),  # somebody stopped it, so nobody failed to answer
    ],
)
def test_an_agent_that_dies_in_its_tool_leaves_a_call_without_a_result(
    error: BaseException, ends: tuple[str, str | None]
) -> None:
    sink = Remembering()
    with pytest.raises(type(error)), TraceLogger(sink, tools=[TOOL]) as log:  # noqa: PT012
        log.user("How warm is it?")
        with log.assistant() as turn:
            turn.call("weather", {"city": "Oslo"}, id="1")
        raise error
    chain = inspect_trace(sink.trace()).chain
    assert (chain.status, chain.broken and chain.broken.code) == ends


def test_an_agent_that_dies_without_an_open_call_stopped_itself() -> None:
    sink = Remembering()
    with pytest.raises(RuntimeError), TraceLogger(sink) as log:  # noqa: PT012
        log.user("How warm is it?")
        with log.assistant() as turn:
            turn.feed("Let me think.")
        raise RuntimeError
    chain = inspect_trace(sink.trace()).chain
    assert (chain.status, chain.abort_reason) == ("aborted", "client")


def test_an_exception_of_the_agent_is_not_said_to_be_a_lost_connection() -> None:
    sink = Remembering()
    with pytest.raises(RuntimeError), TraceLogger(sink) as log:  # noqa: PT012
        log.user("How warm is it?")
        with log.assistant() as turn:
            turn.feed("Let me")
            raise RuntimeError("out of memory")
    (diagnostic,) = inspect_trace(sink.trace()).diagnostics
    assert diagnostic.fault.message == "The client stopped here: `RuntimeError: out of memory`."
