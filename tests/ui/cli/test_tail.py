"""`weaklink tail`: what another process records is told while it happens, on a real terminal and as JSON."""

import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import ioctl
from functools import partial
from pathlib import Path
from termios import TIOCSWINSZ
from typing import Any

import pytest
from msgspec.structs import replace

from tests.storage.samples import BAD_CALL, GOOD_CALL, TOOLS, trace
from tests.storage.templates import put_empty_database
from tests.storage.test_live import events_of, streamed
from tests.ui.conftest import ROOT, START, Run, environment
from weaklink.inspector.capture.events import ChunksArrived, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    Chunk,
    FinishReason,
    Generation,
    Part,
    ResultHeader,
    Role,
    Turn,
)
from weaklink.storage.live import StoreSink
from weaklink.storage.store import open_store
from weaklink.ui.cli.tail import TailReader
from weaklink.ui.views import live

SGR = re.compile(rb"\x1b\[[\d;]*m")
GENERATION = Generation(answered_model="hermes-4", tools=TOOLS, finish=FinishReason.STOP, finish_reason="stop")
SAMPLES = sorted((ROOT / "sample_traces").glob("*.jsonl"))


class Tail:
    """The command on a terminal, and what it wrote so far."""

    def __init__(self, process: "subprocess.Popen[bytes]", screen: int) -> None:
        self._process, self._screen = process, screen
        self.raw = b""

    @property
    def text(self) -> str:
        return SGR.sub(b"", self.raw).decode().replace("\r\n", "\n")

    def shows(self, words: str) -> bool:
        """Whether it writes these words, within what anybody would wait for."""
        until = time.monotonic() + 20
        while words not in self.text and time.monotonic() < until:
            if select.select([self._screen], [], [], 0.1)[0]:
                try:
                    self.raw += os.read(self._screen, 65_536)
                except OSError:  # Linux: the other end is closed
                    break
        if words not in self.text:
            sys.stdout.write(self.text)  # pytest shows it where a test fails
        return words in self.text

    def interrupt(self) -> int:
        """Press Ctrl-C; the exit code."""
        os.write(self._screen, b"\x03")
        return self._process.wait(30)


@contextmanager
def tailing(folder: Path, *words: str, columns: int = 100) -> Iterator[Tail]:
    """The command on a terminal of its own, which it is controlled by."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        ["setsid", "--ctty", *START, "tail", "--db", "t.db", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env=environment(folder, TERM="xterm"),
    )
    os.close(theirs)
    try:
        yield Tail(process, ours)
    finally:
        process.kill()
        process.wait(30)
        os.close(ours)


@pytest.fixture
def sink(tmp_path: Path) -> Iterator[StoreSink]:
    opened = StoreSink(str(tmp_path / "t.db"))
    yield opened
    opened.close()


def feed(sink: StoreSink, key: str, turn: int, text: str) -> None:
    sink.accept(ChunksArrived(key, turn, tuple(Chunk(index, "text", text[index]) for index in range(len(text)))))


def begun(sink: StoreSink, key: str, *texts: str) -> None:
    whole = trace(key)
    sink.accept(TraceStarted(key, replace(whole, turns=())))
    for number, text in enumerate((*texts, ""), 1):
        if text:
            sink.accept(TurnEnded(key, number, Turn(Role.USER, (Part("text", text),))))
        else:
            sink.accept(TurnStarted(key, number, Role.ASSISTANT, GENERATION))


def test_spans_and_faults_are_told_while_the_model_speaks(sink: StoreSink, tmp_path: Path) -> None:
    with tailing(tmp_path) as tail:
        assert tail.shows("following")
        begun(sink, "a", "what is the weather?")
        assert tail.shows("1       ▸ running  a")
        assert tail.shows("1/1     user        what is the weather?")
        feed(sink, "a", 2, f"<think>I look it up.</think>{GOOD_CALL}")
        assert tail.shows("1/2     reasoning   I look it up.")
        assert tail.shows('1/2     tool_call   get_weather(city: "Oslo")')  # nobody knows yet whether it succeeds
        feed(sink, "a", 2, BAD_CALL)
        assert tail.shows("1/2     error[J104] trailing-comma: A comma appears before `}`, but nothing follows it.")
        assert tail.shows("1           help: Delete the comma.")
        assert "turn" not in tail.text
        text = f"<think>I look it up.</think>{GOOD_CALL}{BAD_CALL}"
        sink.accept(TurnEnded("a", 2, Turn(Role.ASSISTANT, (Part("text", text),), generation=GENERATION)))
        assert tail.shows(f"1/2     turn        ended, {len(text)} characters · hermes-4 · finish stop")
        result = ResultHeader(None, "get_weather", is_error=True)
        sink.accept(TurnEnded("a", 3, Turn(Role.TOOL, (Part("text", "no such city"),), result=result)))
        assert tail.shows("1/3     tool        get_weather · error: no such city")
        sink.accept(TurnStarted("a", 4, Role.ASSISTANT, GENERATION))
        feed(sink, "a", 4, "I am so")
        sink.accept(TraceEnded("a"))
        assert tail.shows("1/4     turn        … truncated after 7 characters")
        assert tail.shows("1       ✖ broken  #1 T406 error-result get_weather  4 turns, 2 calls, 1 error")
        assert tail.text.count("tool_call") == 2
        assert tail.text.count("J104") == 1
        assert b"\x1b[1;31merror[J104]\x1b[0m" in tail.raw
        assert tail.interrupt() == 0


def test_traces_that_run_beside_each_other_are_told_apart(sink: StoreSink, tmp_path: Path) -> None:
    with tailing(tmp_path, columns=60) as tail:
        assert tail.shows("following")
        for key in ("a", "b"):
            begun(sink, key, "question " * 40)
        for index in range(3):
            for key in ("a", "b"):
                feed(sink, key, 2, f"<think>thought {index} of {key}</think>")
        assert tail.shows("2/2     reasoning   thought 2 of b")
        lines = tail.text.splitlines()[1:]
        assert max(map(len, lines)) <= 60
        for number, key in enumerate("ab", 1):
            mine = [line for line in lines if line.startswith(f"{number}/2")]
            assert mine == [f"{number}/2     reasoning   thought {index} of {key}" for index in range(3)]


def test_a_hostile_stream_does_not_reach_the_terminal(sink: StoreSink, tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x9b31m\u202e\udcff\r"
    with tailing(tmp_path) as tail:
        assert tail.shows("following")
        begun(sink, "a", f"user {evil}")
        feed(sink, "a", 2, f"<think>{evil}</think>")
        feed(sink, "a", 2, f'<tool_call>{{"name": "{evil}", "arguments": {{"{evil}": 1,}}}}</tool_call>')
        sink.accept(TraceEnded("a"))
        assert tail.shows("1       ✖ broken")
        shown = SGR.sub(b"", tail.raw).replace(b"\r\n", b"\n")
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", shown)
    assert "\u202e" not in shown.decode()
    assert "␛]0;owned␇\\x9b31m" in shown.decode() or "␛]0;owned␇\\u009b31m" in shown.decode()


def test_a_database_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    with tailing(tmp_path) as tail:
        assert tail.shows("there is no database at")
        assert tail.shows("yet; waiting until something is recorded into it")
        sink = StoreSink(str(tmp_path / "t.db"))
        assert tail.shows("following")
        begun(sink, "a", "hello")
        assert tail.shows("1/1     user        hello")
        sink.close()
        assert tail.interrupt() == 0


def test_it_can_be_interrupted_while_it_waits(tmp_path: Path) -> None:
    with tailing(tmp_path) as tail:
        assert tail.shows("waiting")
        assert tail.interrupt() == 0


def test_a_filter_chooses_traces(sink: StoreSink, tmp_path: Path) -> None:
    with tailing(tmp_path, "--filter", "code:J104") as tail:
        assert tail.shows("following")
        for key, call in (("good", GOOD_CALL), ("bad", BAD_CALL)):
            for event in events_of(streamed(trace(key, call)), key):
                sink.accept(event)
        assert tail.shows("2       ✖ broken")
        assert "2/1     user        what is the weather?" in tail.text
        assert not re.search("^1", tail.text, re.MULTILINE)


@pytest.mark.parametrize(("options", "told"), [((), False), (("--all",), True)])
def test_what_ran_already_is_told_when_it_is_asked_for(
    sink: StoreSink, tmp_path: Path, options: tuple[str, ...], told: bool
) -> None:
    begun(sink, "a", "before")
    sink.flush()
    with tailing(tmp_path, *options) as tail:
        feed(sink, "a", 2, "<think>now</think>")
        assert tail.shows("1/2     reasoning   now")
        assert ("before" in tail.text) is told


@pytest.mark.slow
def test_a_killed_recorders_turn_is_told_as_cut(tmp_path: Path) -> None:
    open_store(tmp_path / "t.db").close()
    command = [START[0], "-m", "tests.storage.processes", "stream", str(tmp_path / "t.db"), "60"]
    with tailing(tmp_path) as tail:
        assert tail.shows("following")
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as recorder:
            assert tail.shows("1       ▸ running")
            recorder.send_signal(signal.SIGKILL)
        assert tail.shows("… truncated after")
        assert tail.shows("1       … aborted  C504 the answer ended without an end sign  2 turns")


def test_json_is_an_object_a_line(sink: StoreSink, tmp_path: Path) -> None:
    with tailing(tmp_path, "--json", columns=4000) as tail:
        assert tail.shows("following")
        for event in events_of(streamed(trace("a", BAD_CALL)), "a"):
            sink.accept(event)
        assert tail.shows('"trace_ended"')
        assert tail.shows('"codes": ["J104"]}}\n')
        objects: list[dict[str, Any]] = [json.loads(line) for line in tail.text.splitlines() if line.startswith("{")]
    assert {record["trace"] for record in objects} == {1}
    kinds = [record["event"] for record in objects]
    assert kinds == ["trace_began", "turn_ended", "span_closed", "fault_found", "turn_ended", "trace_ended"]
    assert (objects[2]["kind"], objects[2]["tool_calls"][0]["name"]) == ("tool_call", "get_weather")
    assert (objects[3]["code"], objects[3]["line"], objects[3]["column"]) == ("J104", 2, 53)
    assert (objects[4]["role"], objects[4]["characters"]) == ("assistant", len(BAD_CALL))
    assert objects[5]["summary"]["break"]["code"] == "J104"


def test_a_filter_that_cannot_be_read_ends_it(weaklink: Run) -> None:
    done = weaklink("tail", "--db", "t.db", "--filter", "status:strange")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"weaklink: filter, character 8: status must be one of" in done.stderr


def _tell(told: list[live.LiveEvent], _: str, event: live.LiveEvent) -> None:
    told.append(event)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.slow] if index % 4 else []) for index, path in enumerate(SAMPLES)],
    ids=lambda path: path.stem,
)
def test_every_fault_and_every_text_of_a_sample_is_told(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weaklink.storage.live._EVERY_S", 1e6)
    for number, whole in enumerate(read_source(path).records):
        assert not isinstance(whole, Skipped)
        with open_store(put_empty_database(tmp_path / f"{number}.db")) as store:
            sink, following, told = StoreSink(store), store.follow(), list[live.LiveEvent]()
            reading = TailReader(store, partial(_tell, told))
            for event in events_of(streamed(whole) if all(turn.parts for turn in whole.turns) else whole):
                sink.accept(event)
                sink.flush()
                reading.consume(following.poll())
            kept, inspection = store.inspected(1)
            sink.close()
        assert inspection == inspect_trace(kept)
        ended = [event.number for event in told if isinstance(event, live.TurnReported)]
        assert ended == list(range(1, len(whole.turns) + 1))
        faults = [event.diagnostic for event in told if isinstance(event, live.FaultReported)]
        assert {(fault.rule.code, fault.location) for fault in faults} >= {
            (diagnostic.rule.code, diagnostic.location) for diagnostic in inspection.diagnostics
        }
        for span in (event for event in told if isinstance(event, live.SpanReported)):
            part = kept.turns[span.location.turn - 1].part(span.location.part)
            assert part is not None
            assert span.span.inner.of(part.text) == span.text
        last = told[-1]
        assert isinstance(last, live.EndReported)
        assert last.summary is not None
        assert last.summary.status == inspection.chain.status
