"""The trace file sink: whole traces, appended when they end, whatever the disk says."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.capture.conftest import ROOT
from tests.capture.events import wait_until
from weaklink.inspector.capture.events import (
    ChunksArrived,
    RecordEvent,
    TraceEnded,
    TraceStarted,
    TurnEnded,
    TurnStarted,
)
from weaklink.inspector.capture.logger import TraceLogger
from weaklink.inspector.capture.trace_file_sink import TraceFileSink
from weaklink.inspector.errors import SinkError
from weaklink.inspector.model import BodyState, Chunk, Outcome, Part, Role, Trace, Turn
from weaklink.inspector.trace_file import read_trace_file, write_trace_file

USER = Turn(Role.USER, (Part("text", "Hello\0 \ud83d"),))


def session(key: str, *, said: str = "Hi.") -> list[RecordEvent]:
    """A trace of two turns, the second not at its end."""
    return [
        TraceStarted(key, Trace((), name=key)),
        TurnEnded(key, 1, USER),
        TurnStarted(key, 2, Role.ASSISTANT),
        ChunksArrived(key, 2, (Chunk(0, "text", said, 0.5), Chunk(1, "reasoning", "?", 0.75))),
    ]


def give(sink: TraceFileSink, *events: RecordEvent) -> None:
    for event in events:
        sink.accept(event)


def traces_in(path: Path) -> list[Trace]:
    return list(read_trace_file(path))


def test_a_trace_is_in_the_file_as_soon_as_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    sink = TraceFileSink(path)
    answer = Turn(Role.ASSISTANT, (Part("text", "Hi."),))
    give(sink, *session("a"), *session("b"), TurnEnded("a", 2, answer), TraceEnded("a", Outcome(completed=True)))
    wait_until(lambda: b'"a"' in path.read_bytes() and path.read_bytes().endswith(b"\n"))
    assert traces_in(path) == [Trace((USER, answer), name="a", outcome=Outcome(completed=True))]
    assert path.stat().st_mode & 0o777 == 0o600
    sink.close()
    _, cut = traces_in(path)
    assert cut.name == "b"
    assert [part.text for part in cut.turns[1].parts] == ["Hi.", "?"]
    assert cut.turns[1].generation is not None
    assert cut.turns[1].generation.body is BodyState.TRUNCATED
    assert sink.dropped == 0


def test_a_file_that_is_there_grows(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    write_trace_file(path, [Trace((USER,), name="before")])
    for name in ("one", "two"):
        sink = TraceFileSink(path)
        give(sink, *session(name))
        sink.close()
    assert [trace.name for trace in traces_in(path)] == ["before", "one", "two"]


def test_two_sinks_may_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    sinks = [TraceFileSink(path), TraceFileSink(path)]
    for index in range(50):
        for number, sink in enumerate(sinks):
            give(sink, *session(f"{number}-{index}", said="x" * 10_000), TraceEnded(f"{number}-{index}"))
    for sink in sinks:
        sink.close()
    assert {trace.name for trace in traces_in(path)} == {
        f"{number}-{index}" for number in (0, 1) for index in range(50)
    }


def whole_file(tmp_path: Path) -> bytes:
    path = tmp_path / "whole.jsonl"
    write_trace_file(path, [Trace((USER, USER), name="x" * 70_000)])
    return path.read_bytes()


def test_a_file_that_nothing_can_be_appended_to_is_refused_in_words(tmp_path: Path) -> None:
    whole = whole_file(tmp_path)
    cases = {
        b"some words\n": "is not a trace file",
        b'{"weaklink_trace_file": 1}\n': "is a trace file of version 1, but version 3 is written",
        whole[:-1]: "ends within a trace",
        whole[: whole[:-1].rindex(b"\n") + 1]: "ends within a trace",
        whole[:-5]: "ends within a trace",
        whole + b'{"trace"': "ends within a trace",
    }
    for held, says in cases.items():
        path = tmp_path / "runs.jsonl"
        path.write_bytes(held)
        with pytest.raises(SinkError, match=says):
            TraceFileSink(path)
        assert path.read_bytes() == held


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match=r"none/runs\.jsonl cannot be opened: No such file or directory\."):
        TraceFileSink(tmp_path / "none" / "runs.jsonl")


READ_ONLY = """
import os, sys
from weaklink.inspector.capture.logger import TraceLogger
if os.getuid() == 0:
    os.setuid(65_534)  # nothing is read-only for root
TraceLogger(sys.argv[1] + "/runs.jsonl")
"""


def test_a_read_only_folder_is_named() -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are closed to others
        Path(folder).chmod(0o555)
        start = [sys.executable, "-c", READ_ONLY, folder]
        done = subprocess.run(start, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
        Path(folder).chmod(0o755)
    assert f"SinkError: {folder}/runs.jsonl cannot be opened: Permission denied." in done.stderr


FULL = """
import resource, signal, sys
from pathlib import Path
from tests.capture.test_sinks_trace_file import session, give, traces_in, wait_until
from weaklink.inspector.capture import trace_file_sink
from weaklink.inspector.capture.events import TraceEnded
from weaklink.inspector.capture.trace_file_sink import TraceFileSink

trace_file_sink._RETRY_S = 0.1
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))
path = Path(sys.argv[1])
sink = TraceFileSink(path, room_bytes=400_000)
give(sink, *session("first", said="x" * 20_000), TraceEnded("first"))
wait_until(lambda: path.stat().st_size > 20_000)
give(sink, *session("second", said="x" * 20_000), TraceEnded("second"))
wait_until(lambda: sink.trouble is not None)
assert [trace.name for trace in traces_in(path)] == ["first"]
for at in range(40):
    give(sink, *session(str(at), said="x" * 20_000), TraceEnded(str(at)))
    if at % 10 == 9:
        wait_until(lambda: sink._queue.held_bytes == 0)
wait_until(lambda: sink.dropped > 0)
if sys.argv[2] == "mended":
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    give(sink, *session("last"))
sink.close()
"""


def on_a_full_disk(path: Path, then: str) -> "subprocess.CompletedProcess[str]":
    start = [sys.executable, "-B", "-c", FULL, str(path), then]  # -B: byte code would be cut, and stay so
    env = {**os.environ, "XDG_DATA_HOME": str(path.parent / "data")}
    return subprocess.run(start, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False)


def _said(done: "subprocess.CompletedProcess[str]") -> str:
    return done.stderr.rpartition("SinkError: ")[2]


def test_a_full_disk_leaves_whole_traces_and_what_waited_follows_when_there_is_room(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    done = on_a_full_disk(path, "mended")
    names = [trace.name for trace in traces_in(path)]
    assert (names[0], names[-1]) == ("first", "last")
    elsewhere = re.findall(r"(\d+) requests of \d+ sessions (?:are lost|could not be stored)", _said(done))
    assert sum(map(int, elsewhere)) == 43 - len(names)
    assert "1 request of `second`, 1 request of `0`, 1 request of `1`," in _said(done)


def test_what_a_full_disk_did_not_take_is_told_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    done = on_a_full_disk(path, "full")
    assert done.returncode == 1
    assert [trace.name for trace in traces_in(path)] == ["first"]
    lost = [int(count) for count in re.findall(r"(\d+) requests of \d+ sessions are lost", _said(done))]
    assert sum(lost) == 41


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.capture.test_sinks_trace_file import session, give, traces_in, wait_until
from weaklink.inspector.capture.events import TraceEnded
from weaklink.inspector.capture.trace_file_sink import TraceFileSink

sink = TraceFileSink(sys.argv[1])
give(sink, *session("ended"), TraceEnded("ended"), *session("open"))
wait_until(lambda: len(traces_in(Path(sys.argv[1]))) == 1)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_what_had_ended(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    start = [sys.executable, "-c", KILLED, str(path)]
    done = subprocess.run(start, cwd=ROOT, capture_output=True, timeout=120, check=False)
    assert done.returncode == -9, done.stderr
    assert [trace.name for trace in traces_in(path)] == ["ended"]
    sink = TraceFileSink(path)
    give(sink, *session("later"))
    sink.close()
    assert [trace.name for trace in traces_in(path)] == ["ended", "later"]


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of its own with room for 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a file system needs root; the tests above limit the size of files instead")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_what_a_full_disk_does_not_take_is_in_a_trace_file_of_the_user(
    full_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weaklink.inspector.capture.spill.user_folder", lambda: tmp_path / "data")
    sink = TraceFileSink(full_disk / "runs.jsonl")
    give(sink, *session("small"), TraceEnded("small"))
    wait_until(lambda: [trace.name for trace in traces_in(full_disk / "runs.jsonl")] == ["small"])
    give(sink, *session("large", said="x" * 200_000), TraceEnded("large"), *session("open"))
    with pytest.raises(SinkError) as raised:
        sink.close()
    (file,) = (tmp_path / "data").iterdir()
    assert str(raised.value) == (
        f"{full_disk}/runs.jsonl: No space left on device. 2 requests of 2 sessions could not be stored and are in the "
        f"trace file {file} instead."
    )
    assert [trace.name for trace in traces_in(file)] == ["large", "open"]
    assert [trace.name for trace in traces_in(full_disk / "runs.jsonl")] == ["small"]
    assert list(full_disk.iterdir()) == [full_disk / "runs.jsonl"]
    assert sink.dropped == 0


def test_a_logger_names_the_file_that_has_what_its_own_did_not_take(
    full_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weaklink.inspector.capture.spill.user_folder", lambda: tmp_path / "data")
    logger = TraceLogger(full_disk / "runs.jsonl", name="agent")
    logger.user("Hello")
    with logger.assistant() as turn:
        turn.feed("x" * 200_000)
    logger.close()
    assert logger.mistakes.count == 1
    assert "1 request of 1 session could not be stored and is in the trace file" in str(logger.mistakes.last)
    (file,) = (tmp_path / "data").iterdir()
    (trace,) = traces_in(file)
    assert (trace.name, len(trace.turns[1].parts[0].text)) == ("agent", 200_000)


def test_more_than_memory_holds_goes_into_other_files_while_the_recording_goes_on(
    full_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weaklink.inspector.capture.spill.user_folder", lambda: tmp_path / "data")
    monkeypatch.setattr("weaklink.inspector.capture.trace_file_sink._RETRY_S", 0.1)
    sink = TraceFileSink(full_disk / "runs.jsonl", room_bytes=400_000)
    for number in range(12):
        give(sink, *session(str(number), said="x" * 70_000), TraceEnded(str(number)))
        wait_until(lambda: sink._queue.held_bytes == 0)
    with pytest.raises(SinkError, match="could not be stored and are in the trace file"):
        sink.close()
    files = sorted((tmp_path / "data").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    assert len(files) > 1
    assert {trace.name for file in files for trace in traces_in(file)} == {str(number) for number in range(12)}
    assert sink.dropped == 0
