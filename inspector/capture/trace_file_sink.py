"""The sink that appends each trace to a trace file when it ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

from inspector.capture.events import RecordEvent
from inspector.capture.gathering import GatheredTrace
from inspector.capture.trace_file_end import check_end
from inspector.capture.waiting import ROOM_BYTES, Waiting
from inspector.errors import SinkError
from inspector.model import Trace
from inspector.trace_file.writing import header_line, trace_lines

_TAKEN_AT_ONCE = 1024 * 1024
_AGAIN_S = 1.0


class TraceFileSink:
    """Appends traces to a trace file, which is made where there is none, readable by its owner only.

    A trace is written when it ends, whole and in one piece, under a lock, so that several processes may share a file;
    `close` writes those that are open, their open turns cut. A killed process leaves in the file what had ended; the
    traces that were open are lost, so record into a database where that matters. Traces are held in memory until they
    are written; events in line are bounded by `room_bytes`, and `dropped` counts what was turned away. Where the file
    cannot be written, `trouble` says why, traces wait, and writing is tried again each second.

    SinkError where the file cannot be opened, is no trace file of this version, or ends within a trace.
    """

    def __init__(self, path: str | Path, *, room_bytes: int = ROOM_BYTES) -> None:
        self._path = Path(path)
        self._room = room_bytes
        self._waiting = Waiting(room_bytes)
        self._open: dict[str, GatheredTrace] = {}
        self._ended: list[bytes] = []
        self._lost = 0
        self._again = Event()
        self.trouble: Exception | None = None
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise SinkError(f"{self._path} cannot be opened: {error.strerror or error}.") from error
        try:
            self._begin()
        except BaseException:
            os.close(self._file)
            raise
        self._thread = Thread(target=self._run, name="weaklink-trace-file", daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        """How many events were turned away, and traces lost because there was no room for them."""
        return self._waiting.dropped + self._lost

    def accept(self, event: RecordEvent) -> None:
        """Take one event; never waits for the disk and never raises."""
        self._waiting.put(event)

    def close(self) -> None:
        """Write what is held. SinkError where that fails; it is then lost."""
        if self._waiting.closing.is_set():
            return
        self._waiting.close()
        self._again.set()
        self._thread.join()
        try:
            self._take()
            self._ended += [_encoded(gathered.trace()) for gathered in self._open.values()]
            self._open.clear()
            self._write()
        except OSError as error:
            self._lost += len(self._ended)
            what = "1 trace" if len(self._ended) == 1 else f"{len(self._ended)} traces"
            raise SinkError(f"{self._path}: {what} could not be written: {error.strerror or error}.") from error
        finally:
            os.close(self._file)

    def _begin(self) -> None:
        with _locked(self._file):
            if os.fstat(self._file).st_size:
                check_end(self._path, self._file)
                return
            try:
                self._append(header_line().encode("ascii"))
            except OSError as error:
                raise SinkError(f"{self._path} cannot be written: {error.strerror or error}.") from error

    def _run(self) -> None:
        while not self._waiting.closing.is_set():
            self._waiting.wait(_AGAIN_S if self._ended else None)
            self._take()
            try:
                self._write()
            except OSError as error:
                self.trouble = error
                self._make_room()
                self._again.wait(_AGAIN_S)
            else:
                self.trouble = None

    def _take(self) -> None:
        while events := self._waiting.take(_TAKEN_AT_ONCE):
            for event in events:
                gathered = self._open.setdefault(event.key, GatheredTrace())
                gathered.take(event)
                if gathered.ended:
                    self._ended.append(_encoded(self._open.pop(event.key).trace()))

    def _write(self) -> None:
        while self._ended:
            with _locked(self._file):
                self._append(self._ended[0])
            del self._ended[0]

    def _append(self, raw: bytes) -> None:
        """Append all of it or nothing."""
        before = os.fstat(self._file).st_size
        rest = memoryview(raw)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file, before)
            raise

    def _make_room(self) -> None:
        """Let go of the oldest traces beyond the bound."""
        while len(self._ended) > 1 and sum(map(len, self._ended)) > self._room:
            del self._ended[0]
            self._lost += 1


@contextmanager
def _locked(file: int) -> Iterator[None]:
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _encoded(trace: Trace) -> bytes:
    return "".join(trace_lines(trace)).encode("ascii")
