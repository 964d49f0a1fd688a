"""A process that has the command's modules loaded, and becomes a new process for each run of it.

Starting Python and loading those modules takes most of the time of a short command. What is forked here runs the same
last line as a command that was started anew, in its own folder, environment and pipes. It ends as Python ends, but for
the modules: to take them down one by one takes longer than most commands, and the system frees their memory at once.
"""

import atexit
import gc
import logging
import os
import pkgutil
import pty
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fcntl import ioctl
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from termios import OPOST, TCSANOW, TIOCSWINSZ, tcgetattr, tcsetattr
from types import TracebackType
from typing import NamedTuple, Self

import msgspec
from click.testing import CliRunner

LAST_LINE = "from weaklink.command import main; main()"
_LOADED = ("weaklink.inspector", "weaklink.storage", "weaklink.ui.cli", "weaklink.ui.views", "weaklink.ui.importing")
_LEFT_OUT = ("weaklink.storage.migrations", "weaklink.inspector.pytest_plugin")
_MORE = ("alembic.operations", "alembic.runtime.migration", "datasketch", "sqlalchemy.dialects.sqlite", "sqlite3")
_NUMBER = struct.Struct("!q")
_STREAMS = 3
_WRITER_TIMEOUT_S = 2.0  # not the five seconds of a command: many tests have a named pipe that nothing writes to


class _Asked(NamedTuple):
    words: list[str]
    folder: str
    variables: dict[str, str]


class _Ending:
    """Notes with which status a command ends, and ends the process with it once Python has run its exit functions."""

    def __init__(self) -> None:
        self._status: int | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self._status = 0
        elif isinstance(error, SystemExit) and isinstance(error.code, int | None):
            self._status = error.code or 0

    def end(self) -> None:
        if self._status is None:
            return  # an exception or a sentence, which Python writes
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            return  # Python has a status of its own for that
        logging.shutdown()
        os._exit(self._status)


ending = _Ending()


class Started:
    """Runs commands that begin with their modules loaded; `start` is what runs a line of Python, without the line."""

    def __init__(self, start: Sequence[str], variables: Mapping[str, str]) -> None:
        self._ours, theirs = socket.socketpair()
        script = f"from tests.ui.started import become, ending; become({theirs.fileno()})\nwith ending: {LAST_LINE}"
        pipe = subprocess.PIPE  # Python's own streams are made for what they begin with; nothing goes through these
        self._process = subprocess.Popen(
            [*start, script], stdin=pipe, stdout=pipe, stderr=pipe, env=dict(variables), pass_fds=[theirs.fileno()]
        )
        theirs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ours.close()
        self._process.communicate(timeout=30)

    def run(
        self, words: Sequence[str], *, stdin: bytes, folder: Path, variables: Mapping[str, str], timeout_s: float
    ) -> "subprocess.CompletedProcess[bytes]":
        """As `subprocess.run` with these words behind the last line; TimeoutError where it does not end."""
        (input_end, fed), (out, output_end), (err, error_end) = os.pipe(), os.pipe(), os.pipe()
        pid = self._begin(words, folder, variables, [input_end, output_end, error_end])
        with ThreadPoolExecutor(_STREAMS) as threads:
            feeding, *reading = (
                threads.submit(_feed, fed, stdin),
                threads.submit(_drain, out),
                threads.submit(_drain, err),
            )
            status = self._status(pid, timeout_s)
            feeding.result()
            written, said = (future.result() for future in reading)
        return subprocess.CompletedProcess(list(words), status, written, said)

    def run_on_terminal(
        self, words: Sequence[str], *, columns: int, folder: Path, variables: Mapping[str, str], timeout_s: float
    ) -> "subprocess.CompletedProcess[bytes]":
        """As `run`, on a terminal of this width, whose text is the output; nothing can be typed."""
        ours, theirs = pty.openpty()
        ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        settings = tcgetattr(theirs)
        settings[1] &= ~OPOST  # lines end as they were written
        tcsetattr(theirs, TCSANOW, settings)
        with Path(os.devnull).open("rb") as nothing:
            pid = self._begin(words, folder, variables, [os.dup(nothing.fileno()), os.dup(theirs), theirs])
        with ThreadPoolExecutor(1) as threads:
            reading = threads.submit(_drain_terminal, ours)
            status = self._status(pid, timeout_s)
            return subprocess.CompletedProcess(list(words), status, reading.result(), b"")

    def _begin(self, words: Sequence[str], folder: Path, variables: Mapping[str, str], streams: list[int]) -> int:
        """The id of a process that begins with these words and streams, which are closed here."""
        asked = msgspec.msgpack.encode(_Asked(list(words), str(folder), dict(variables)))
        socket.send_fds(self._ours, [_NUMBER.pack(len(asked))], streams)
        self._ours.sendall(asked)
        for stream in streams:
            os.close(stream)
        (pid,) = _NUMBER.unpack(_received(self._ours, _NUMBER.size))
        return int(pid)

    def _status(self, pid: int, timeout_s: float) -> int:
        """The exit code of a process once it has ended; TimeoutError where it does not, and it is killed."""
        self._ours.settimeout(timeout_s)
        try:
            (status,) = _NUMBER.unpack(_received(self._ours, _NUMBER.size))
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            self._ours.settimeout(None)
            _received(self._ours, _NUMBER.size)  # how it ended, which the next run shall not take for its own
            raise
        return os.waitstatus_to_exitcode(status)


def become(channel: int) -> None:
    """Load what commands load; return in a new process for each that is asked for, and never in this one."""
    atexit.register(ending.end)  # before the modules, whose exit functions run before it then
    for name in _MORE + tuple(_modules()):
        import_module(name)
    vars(import_module("weaklink.ui.cli.files"))["WRITER_TIMEOUT_S"] = _WRITER_TIMEOUT_S
    _make_what_is_made_once()
    gc.freeze()  # what all of them have is looked through by none of them
    streams: list[int] = []
    with socket.socket(fileno=channel) as line:
        while True:
            try:
                head, streams, _, _ = socket.recv_fds(line, _NUMBER.size, _STREAMS)
            except ConnectionError:
                head = b""
            if not head:
                os._exit(0)
            asked = msgspec.msgpack.decode(_received(line, *_NUMBER.unpack(head)), type=_Asked)
            pid = os.fork()
            if not pid:
                break
            for stream in streams:
                os.close(stream)
            line.sendall(_NUMBER.pack(pid))
            line.sendall(_NUMBER.pack(os.waitpid(pid, 0)[1]))
    for descriptor, stream in enumerate(streams):
        os.dup2(stream, descriptor)
        os.close(stream)
    if os.isatty(1):
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # a text file, as Python made it
    os.chdir(asked.folder)
    os.environ.clear()
    os.environ.update(asked.variables)
    sys.argv = [sys.argv[0], *asked.words]


def _make_what_is_made_once() -> None:
    """Inspect, store and list the sample traces, and run the commonest commands.

    Patterns, tables and statements are made where they are first used. The commands here save the ones that follow a
    fifth to a half of their CPU time: `check` takes 24 ms instead of 45, `show` 45 instead of 59 (1 December 2026).
    """
    read_source = import_module("weaklink.inspector.importers.reading").read_source
    inspect_trace = import_module("weaklink.inspector.inspection").inspect_trace
    trace = import_module("weaklink.inspector.model").Trace
    samples = Path(str(import_module("weaklink.sample_traces").__file__)).parent
    import_module("weaklink.inspector.dataset.lint.texts").require_detector()
    weaklink = import_module("weaklink.ui.cli.group").weaklink
    with (
        TemporaryDirectory() as folder,
        import_module("weaklink.storage.store").open_store(Path(folder, "w.db")) as store,
    ):
        records = [record for path in sorted(samples.glob("*.jsonl")) for record in read_source(path).records]
        store.save([(record, inspect_trace(record)) for record in records if isinstance(record, trace)])
        for summary in store.traces("status:broken Oslo"):
            store.inspected(summary.id)
        sample, database = str(samples / "unknown-tool.jsonl"), ("--db", str(Path(folder, "other.db")))
        for words in (
            ("check", sample),
            ("import", sample, *database),
            ("list", *database),
            ("show", "1", *database),
            ("stats", *database),
        ):
            done = CliRunner().invoke(weaklink, words)
            assert done.exception is None or isinstance(done.exception, SystemExit), done.exception


def _modules() -> list[str]:
    collected: list[str] = []
    for name in _LOADED:
        package = import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not module.name.startswith(_LEFT_OUT):
                collected.append(module.name)
    return collected


def _received(line: socket.socket, length: int) -> bytes:
    received = b""
    while len(received) < length:
        received += (piece := line.recv(length - len(received)))
        if not piece:
            raise ConnectionError("The process that starts commands has ended.")
    return received


def _feed(file: int, given: bytes) -> None:
    try:
        with open(file, "wb", buffering=0) as stream:
            stream.write(given)
    except BrokenPipeError:
        pass  # as `subprocess` has it: a command need not read all


def _drain_terminal(file: int) -> bytes:
    """All that is written on a terminal until its last writer has closed it, which Linux reports as an error."""
    pieces = []
    with open(file, "rb", buffering=0) as stream, suppress(OSError):
        while piece := stream.read(65_536):
            pieces.append(piece)
    return b"".join(pieces)


def _drain(file: int) -> bytes:
    with open(file, "rb") as stream:
        return stream.read()
