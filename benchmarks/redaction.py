"""The share of redaction in a recorder's CPU time by kind of answer, counted around its calls.

The chunks come as they do from the paced streams of `benchmarks.proxy`: so many streams at once, and of each as many
chunks as arrive before the recorder's thread takes them up. The goal is for prose and the recorder with its store, as
`weaklink record` runs it; the recorder alone is printed beside it, and other kinds of answers with the store: code and
counts of tokens in an answer, and the arguments of calls as JSON.
"""

import json
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle, islice
from pathlib import Path

from benchmarks.corpus import coding_arguments
from benchmarks.measuring import goal, print_line
from weaklink.inspector.capture.events import RecordEvent, Sink
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.capture.redacting import RedactsChunks
from weaklink.inspector.model import Chunk, ToolDefinition, Trace, Turn
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.sessions.exchange import ExchangeEnd, ExchangeObserver, RequestHead
from weaklink.storage.live import StoreSink

_STREAMS, _CHUNKS, _AT_ONCE = 40, 250, 5
_WAIT_S = 0.12  # the recorder's thread takes up what came every 0.1 seconds
_ROUNDS = 3
_MAX_SHARE = 0.15
_PROSE = """The harbour lies on the north side of the island, where the water is deep enough for larger boats. In the
morning the fishermen sort what they have caught; most of it is sold before nine o'clock, and the rest goes to the two
restaurants at the end of the quay. Visitors usually arrive with the ferry at half past ten, walk up to the lighthouse,
and are surprised how far one can see from there: on a clear day, the mountains of the mainland. The museum is small
but well kept. It shows tools, maps and photographs from 1890 to 1960, and there is a room for the children, who may
try to tie knots. """


class _TimedChunks:
    """Counts the CPU time that the redaction of one turn takes."""

    def __init__(self, inner: RedactsChunks, timed: "_Timed") -> None:
        self._inner, self._timed = inner, timed

    def feed(self, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
        with self._timed:
            return self._inner.feed(chunks)

    def close(self) -> tuple[Chunk, ...]:
        with self._timed:
            return self._inner.close()


class _Timed:
    """A redactor that counts the CPU time that it takes of the thread that calls it."""

    def __init__(self) -> None:
        self._inner = Redactor()
        self.count = 0
        self.keeps_content = True
        self._began_s = 0.0
        self.clocks_s = 0.0
        """What reading the clock took of all."""
        self.spent_s = 0.0

    def __enter__(self) -> None:
        self._began_s = time.thread_time()

    def __exit__(self, *_: object) -> None:
        ended_s = time.thread_time()
        clock_s = time.thread_time() - ended_s  # what reading the clock takes here: more than in a loop
        self.spent_s += ended_s - self._began_s - clock_s
        self.clocks_s += 3 * clock_s

    def text(self, text: str) -> str:
        with self:
            return self._inner.text(text)

    def url(self, url: str) -> str:
        with self:
            return self._inner.url(url)

    def turn(self, turn: Turn) -> Turn:
        with self:
            return self._inner.turn(turn)

    def trace(self, trace: Trace) -> Trace:
        with self:
            return self._inner.trace(trace)

    def new_turn(self, tools: Iterable[ToolDefinition] = ()) -> _TimedChunks:
        with self:
            return _TimedChunks(self._inner.new_turn(tools), self)


class _Nowhere:
    """A sink that keeps nothing, so that the recorder's own time is all there is."""

    def accept(self, event: RecordEvent) -> None:
        """Forget an event."""

    def close(self) -> None:
        """Nothing to end."""


def redaction_share() -> None:
    """Print which share of a recorder's CPU time redaction takes, with and without a store behind it."""
    kinds = _kinds()
    prose = kinds.pop("prose")
    _recorded(_Nowhere(), prose)  # patterns are compiled once
    with tempfile.TemporaryDirectory() as folder:
        alone = _say("prose, recorder alone", [_recorded(_Nowhere(), prose) for _ in range(_ROUNDS)])
        storing = _say("prose, recorder and store", [_recorded(sink, prose) for sink in _stores(folder, "prose")])
        for kind, events in kinds.items():
            share = _say(f"{kind}, recorder and store", [_recorded(sink, events) for sink in _stores(folder, kind)])
            print_line(f"redaction's share of the CPU time of recorder and store, {kind}: {share:.2f}")
    print_line(f"redaction's share of the CPU time of the recorder alone: {alone:.2f}")
    print_line(f"redaction's share of the CPU time of recorder and store: {goal(storing, _MAX_SHARE, at_least=False)}")


def _kinds() -> dict[str, list[bytes]]:
    """The events of each kind of answer, a word of it each."""
    rng = random.Random(0)
    calls = "".join(json.dumps(coding_arguments(rng)[1]) for _ in range(100))
    code = Path(__file__).read_text("utf-8")
    counts = "".join(json.dumps({"prompt_tokens": index * 7, "cached_tokens": index % 5}) for index in range(300))
    texts: dict[str, tuple[list[str], Callable[[str], object]]] = {
        "prose": ([f" {word}" for word in _PROSE.split(" ")], lambda text: {"content": text}),
        "code": (re.findall(r"\s*\w+|\s*[^\w\s]+", code), lambda text: {"content": text}),
        "counts of tokens": (re.findall(r"\s*\w+|\s*[^\w\s]+", counts), lambda text: {"content": text}),
        "arguments": (
            re.findall(r"\s*\w+|\s*[^\w\s]+", calls),
            lambda text: {"tool_calls": [{"index": 0, "function": {"arguments": text}}]},
        ),
    }
    return {kind: [_event(delta(word)) for word in words] for kind, (words, delta) in texts.items()}


def _stores(folder: str, kind: str) -> Iterable[StoreSink]:
    return (StoreSink(Path(folder) / f"{kind} {index}.db") for index in range(_ROUNDS))


def _say(name: str, rounds: list[tuple[float, float]]) -> float:
    """Print what a chunk takes in the fastest round; the share of redaction in it."""
    spent_s, whole_s = min(rounds, key=lambda times: times[1])
    chunks = _STREAMS * _CHUNKS
    print_line(f"{name}: {whole_s * 1e6 / chunks:.1f} us of CPU a chunk, {spent_s * 1e6 / chunks:.2f} for redaction")
    return spent_s / whole_s


def _recorded(sink: Sink, events: Sequence[bytes]) -> tuple[float, float]:
    """The CPU time of redaction, and of all of this process while a recorder takes the streams."""
    timed = _Timed()
    recorder = Recorder(sink, redactor=timed)
    began_s = time.process_time()
    observers = [_asked(recorder, number) for number in range(_STREAMS)]
    words = cycle(events)
    for _ in range(_CHUNKS // _AT_ONCE):
        for observer in observers:
            for event in islice(words, _AT_ONCE):
                observer.answer_arrived(event, time.time())
        time.sleep(_WAIT_S)
    for observer in observers:
        observer.answer_arrived(b"data: [DONE]\n\n", time.time())
        observer.ended(ExchangeEnd.COMPLETE, time.time())
    recorder.close()
    whole_s = time.process_time() - began_s - timed.clocks_s
    sink.close()
    return timed.spent_s, whole_s


def _asked(recorder: Recorder, number: int) -> ExchangeObserver:
    observer = recorder.began(RequestHead("POST", "/v1/chat/completions", client=f"client {number}", at_s=time.time()))
    message = {"role": "user", "content": f"Tell me of the island, part {number}."}
    observer.request_arrived(json.dumps({"model": "Hermes-4-70B", "stream": True, "messages": [message]}).encode())
    observer.answer_began(200, (("Content-Type", "text/event-stream"),), time.time())
    return observer


def _event(delta: object) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"
