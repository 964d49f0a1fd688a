"""`weaklink record FILE`: a pipe or a growing file is recorded live, passed on unchanged, its faults reported."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.events import wait_until
from tests.ui.conftest import START, Run, environment
from weaklink.inspector.model import BodyState, ErrorPhase, Trace
from weaklink.inspector.trace_file import read_trace_file
from weaklink.storage.store import open_store
from weaklink.ui.cli.log import Form, StandardInput, detect_form

CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1,}}\n</tool_call>'
RAW = f"<think>Hm\0 \x1b[31m é</think>{CALL}".encode() + b"\xff"


def traces_in(path: Path) -> list[Trace]:
    return list(read_trace_file(path))


def text_of(trace: Trace) -> str:
    part = trace.turns[-1].part("text")
    assert part is not None
    return part.text


@contextmanager
def logging(tmp_path: Path, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """The command while it runs; whoever uses it ends it."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [*START, "record", *words],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        cwd=tmp_path,
        env=environment(tmp_path),
        bufsize=0,
    )
    try:
        yield process
    finally:
        process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            stream.close()
        process.wait(60)


def feed(process: "subprocess.Popen[bytes]", raw: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(raw)


def said_until(process: "subprocess.Popen[bytes]", wanted: str) -> str:
    """What it says on stderr, up to the line that holds the wanted words."""
    assert process.stderr is not None
    lines: list[str] = []
    for line in iter(process.stderr.readline, b""):
        lines.append(line.decode())
        if wanted in lines[-1]:
            return "".join(lines)
    raise AssertionError(f"`{wanted}` was not said, but: {''.join(lines)}")


def test_a_pipe_is_recorded_and_passed_on_unchanged(weaklink: Run, tmp_path: Path) -> None:
    done = weaklink("record", "-", "--format", "hermes", "--db", "runs.db", "--name", "piped", stdin=RAW)
    assert (done.returncode, done.stdout) == (0, RAW)
    said = done.stderr.decode()
    assert "J104" in said
    assert "<stdin>:2:" in said
    assert "weaklink: recorded one turn as hermes: 1 call," in said
    assert "\x1b" not in said
    with open_store(tmp_path / "runs.db", create=False) as store:
        (summary,) = store.traces(limit=5)
        trace, inspection = store.inspected(summary.id)
    assert (trace.name, summary.running) == ("piped", False)
    assert text_of(trace).encode("utf-8", "surrogateescape") == RAW
    assert "J104" in {diagnostic.rule.code for diagnostic in inspection.diagnostics}


def test_bytes_are_passed_on_although_nobody_records_them_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    (to_read, to_write), (copy_to_read, copy_to_write) = os.pipe(), os.pipe()
    with os.fdopen(to_read, "rb") as stdin, os.fdopen(copy_to_write, "wb") as stdout, os.fdopen(copy_to_read) as copy:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stdout", stdout)
        os.write(to_write, b"one ")
        pieces = iter(StandardInput(passes_on=True))
        assert next(pieces) == b"one "
        assert os.read(copy.fileno(), 4) == b"one "
        os.write(to_write, b"two")
        assert os.read(copy.fileno(), 3) == b"two"
        os.close(to_write)
        assert list(pieces) == [b"two"]


def test_an_output_that_fails_ends_the_trace(weaklink: Run, tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        words = [*START, "record", "-", "--db", "a.db"]
        pipe, own = subprocess.PIPE, environment(tmp_path)
        done = subprocess.run(words, input=b"Hello.", stdout=full, stderr=pipe, cwd=tmp_path, env=own, check=False)
    assert done.returncode != 0
    assert b"Traceback" not in done.stderr
    assert b"No space left on device" in weaklink("show", "1", "--db", "a.db", "--json").stdout


def test_quiet_passes_nothing_on_and_an_empty_input_leaves_no_trace_and_is_reported(
    weaklink: Run, tmp_path: Path
) -> None:
    done = weaklink("record", "-", "--quiet", "--to", "a.jsonl", stdin=b"Hello")
    assert (done.returncode, done.stdout) == (0, b"")
    (tmp_path / "empty.txt").touch()
    for file, name in (("-", b"standard input"), ("empty.txt", b"empty.txt")):
        empty = weaklink("record", file, "--to", "a.jsonl")
        said = b"weaklink: " + name + b" is empty; nothing was recorded\n"
        assert (empty.returncode, empty.stdout, empty.stderr) == (0, b"", said)
    assert [text_of(trace) for trace in traces_in(tmp_path / "a.jsonl")] == ["Hello"]


def test_faults_are_told_and_bytes_passed_on_while_the_model_still_writes(tmp_path: Path) -> None:
    with logging(tmp_path, "-", "-f", "hermes", "--to", "a.jsonl") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        feed(process, CALL.encode())
        assert process.stdout.read(len(CALL)) == CALL.encode()
        assert "J104" in said_until(process, "J104")
        feed(process, b" and \xf0\x9f")
        feed(process, b"\x98\x80")
        process.stdin.close()
        assert process.wait(60) == 0
    (trace,) = traces_in(tmp_path / "a.jsonl")
    (part,) = trace.turns[0].parts
    assert part.text == f"{CALL} and 😀"
    assert part.chunks is not None
    assert part.chunks.offsets_s is not None
    assert len(part.chunks) >= 2
    assert list(part.chunks.offsets_s) == sorted(part.chunks.offsets_s)  # type: ignore[type-var]  # each was timed


@pytest.mark.one_in(2)
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_trace_as_aborted(tmp_path: Path, by: signal.Signals) -> None:
    with logging(tmp_path, "-", "-f", "hermes", "--to", "a.jsonl") as process:
        feed(process, b"half a ")
        assert process.stdout is not None
        assert process.stdout.read(7) == b"half a "
        process.send_signal(by)
        assert process.wait(60) == 130
    (trace,) = traces_in(tmp_path / "a.jsonl")
    generation = trace.turns[0].generation
    assert text_of(trace) == "half a "
    assert generation is not None
    assert generation.body is BodyState.TRUNCATED
    assert generation.error is not None
    assert (generation.error.phase, generation.error.message) == (ErrorPhase.CLIENT_ABORT, "Interrupted.")


_SIGNALED_WHILE_IT_WAITS = """
import os, signal, sys, threading
from weaklink.ui.cli.log import StandardInput
pieces = StandardInput(passes_on=True)
signal.signal(signal.SIGINT, lambda *_: pieces.interrupt())
try:
    for piece in pieces:
        # The thread that reads gets the signal, so that nothing wakes the one that waits for the next piece.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
except KeyboardInterrupt:
    sys.exit(7)  # Python itself would end by a signal, which is blocked here
"""


def test_an_interrupt_that_does_not_end_the_wait_for_input_is_noticed_all_the_same() -> None:
    words = [sys.executable, "-c", _SIGNALED_WHILE_IT_WAITS]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"half a ")
        process.stdin.flush()
        try:
            assert process.wait(60) == 7
        finally:
            process.kill()


@pytest.mark.slow
def test_a_reader_that_left_ends_the_trace_quietly(tmp_path: Path) -> None:
    with logging(tmp_path, "-", "-f", "hermes", "--to", "a.jsonl") as process:
        assert process.stdout is not None
        process.stdout.close()
        feed(process, b"unread")
        assert process.wait(60) == 0
        assert b"Traceback" not in (process.stderr.read() if process.stderr else b"")
    (trace,) = traces_in(tmp_path / "a.jsonl")
    assert text_of(trace) == "unread"
    assert trace.turns[0].generation is not None
    assert trace.turns[0].generation.body is BodyState.TRUNCATED


STREAM = scripted.chat_tool_stream("weather", '{"city": ', '"Oslo",}')


@pytest.mark.parametrize(
    ("body", "words", "api"),
    [
        (STREAM.body, (), "chat.completions"),
        (scripted.ollama_stream("Hel", "lo").body, (), "ollama.chat"),
        (scripted.messages_stream("Hel", "lo").body, ("--as", "sse"), "messages"),
    ],
)
def test_a_captured_stream_is_decoded(
    weaklink: Run, tmp_path: Path, body: bytes, words: tuple[str, ...], api: str
) -> None:
    done = weaklink("record", "-", *words, "--to", "a.jsonl", stdin=body)
    assert (done.returncode, done.stdout) == (0, body)
    (trace,) = traces_in(tmp_path / "a.jsonl")
    (turn,) = trace.turns
    assert turn.generation is not None
    assert turn.generation.api == api
    if api == "chat.completions":
        assert [call.name for call in turn.calls] == ["weather"]
        assert "J104" in done.stderr.decode()
    else:
        assert text_of(trace) == "Hello"


def test_calls_are_checked_against_the_tools_that_were_offered(weaklink: Run, tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text('[{"name": "weather", "parameters": {"type": "object"}}]')
    raw = b'<tool_call>\n{"name": "wether", "arguments": {}}\n</tool_call>'
    done = weaklink("record", "-", "--tools", "tools.json", "--to", "a.jsonl", stdin=raw)
    assert "T401" in done.stderr.decode()
    (trace,) = traces_in(tmp_path / "a.jsonl")
    assert trace.turns[0].generation is not None
    assert [tool.name for tool in trace.turns[0].generation.tools] == ["weather"]


def test_as_text_keeps_a_stream_as_it_stands(weaklink: Run, tmp_path: Path) -> None:
    body = scripted.chat_stream("Hello").body
    weaklink("record", "-", "--as", "text", "--to", "a.jsonl", stdin=body)
    assert text_of(traces_in(tmp_path / "a.jsonl")[0]).encode() == body


def test_a_file_is_read_to_its_end_and_not_printed(weaklink: Run, tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_bytes(RAW)
    done = weaklink("record", "out.txt", "--to", "a.jsonl")
    assert (done.returncode, done.stdout) == (0, b"")
    assert "out.txt:2:" in done.stderr.decode()
    (trace,) = traces_in(tmp_path / "a.jsonl")
    assert (trace.name, text_of(trace)) == ("out.txt", RAW.decode("utf-8", "surrogateescape"))


def test_a_file_that_grows_is_followed_through_truncation_and_rotation_until_it_is_deleted(tmp_path: Path) -> None:
    path, to = tmp_path / "out.txt", tmp_path / "a.jsonl"
    path.write_bytes(b"first ")
    with logging(tmp_path, "out.txt", "--follow", "-f", "hermes", "--to", "a.jsonl") as process:
        with path.open("ab") as grows:
            grows.write(CALL.encode())
        said_until(process, "J104")
        path.write_bytes(b"short")
        said_until(process, "recorded one turn")
        wait_until(lambda: len(traces_in(to)) == 1)
        path.rename(tmp_path / "out.txt.1")
        with (tmp_path / "out.txt.1").open("ab") as old:
            old.write(b" and more")
        path.write_bytes(b"third")
        said_until(process, "recorded one turn")
        path.unlink()
        said_until(process, "recorded one turn")
        assert process.wait(60) == 0
    texts = [text_of(trace) for trace in traces_in(to)]
    assert texts[0] == "first " + CALL
    assert texts[1].startswith("short")
    assert texts[2] == "third"


def test_an_interrupt_is_how_following_ends(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_bytes(CALL.encode())
    with logging(tmp_path, "out.txt", "-F", "-f", "hermes", "--to", "a.jsonl") as process:
        said_until(process, "J104")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    (trace,) = traces_in(tmp_path / "a.jsonl")
    assert trace.turns[0].generation is not None
    assert trace.turns[0].generation.body is BodyState.COMPLETE


def test_a_named_pipe_ends_with_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with logging(tmp_path, "pipe", "--follow", "--to", "a.jsonl") as process:
        with (tmp_path / "pipe").open("wb") as writer:
            writer.write(b"Hello")
        assert process.wait(60) == 0
    assert [text_of(trace) for trace in traces_in(tmp_path / "a.jsonl")] == ["Hello"]


def test_a_full_disk_stops_no_pipe_and_is_told_at_the_end(tmp_path: Path) -> None:
    raw = b"a long story " * 50_000
    env = environment(tmp_path, PYTHONDONTWRITEBYTECODE="1")  # Python would leave cut byte code behind, for everyone
    start = ["sh", "-c", 'ulimit -f 16; exec "$@"', "sh", *START, "record", "-", "-f", "hermes", "--to", "a.jsonl"]
    done = subprocess.run(start, input=raw, capture_output=True, cwd=tmp_path, env=env, timeout=120, check=False)
    assert (done.returncode, done.stdout == raw) == (2, True)
    said = " ".join(done.stderr.decode().split())
    assert "a.jsonl: File too large. 1 request of 1 session is lost, since no folder can be written (" in said
    assert f"({tmp_path}: File too large): 1 request of `recording=" in said
    assert traces_in(tmp_path / "a.jsonl") == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--follow",), "--follow requires a FILE"),
        (("--db", "a.db", "--to", "b.jsonl"), "--db and --to exclude each other."),
        (("none.txt",), "cannot read none.txt: No such file or directory"),
        (("--format", "hermse"), "did you mean `hermes`"),
        (("--to", "none/a.jsonl"), "none/a.jsonl cannot be opened: No such file or directory."),
        (("--to", "http://127.0.0.1:8788"), "a place is a database (a file, or `postgresql://HOST/NAME` for several"),
        (("--to", "gopher://x"), "No installed package provides a sink for `gopher://`"),
    ],
)
def test_what_cannot_run_says_why(weaklink: Run, words: tuple[str, ...], says: str) -> None:
    done = weaklink("record", *(() if words == ("none.txt",) else ("-",)), *words, stdin=b"Hello")
    assert (done.returncode, done.stdout) == (2, b"")
    assert says in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


LINE = json.dumps({"name": "f", "arguments": {}}).encode()


@pytest.mark.parametrize(
    ("start", "form"),
    [
        (b"data: {}", Form.SSE),
        (b"\xef\xbb\xbf\n: OPENROUTER PROCESSING", Form.SSE),
        (b"event: message_start", Form.SSE),
        (b"dat", None),
        (b"", None),
        (b"date", Form.TEXT),
        (b"idea", Form.TEXT),
        (LINE, None),
        (LINE + b"\n", Form.TEXT),
        (b'{"done": false, "response": "a"}\n', Form.NDJSON),
        (b'{"choices"' + b" " * 70_000, Form.TEXT),
        (b"[" * 70_000, Form.TEXT),
        (b"{" * 70_000, Form.TEXT),
        (b"{\xff\n", Form.TEXT),
    ],
)
def test_the_first_bytes_tell_what_it_is(start: bytes, form: Form | None) -> None:
    assert detect_form(start) is form
    assert detect_form(start, at_end=True) is (form or Form.TEXT)
