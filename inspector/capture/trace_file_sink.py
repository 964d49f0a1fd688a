"""The sink that appends each trace to a trace file when it ends.

A trace file has whole traces, one after the other, so that any reader can stop after any of them. Events of many
traces arrive mixed, from threads that must not wait. So there are three stages, each with its own bound:

    accept(event)      any thread      SendQueue: events in order, at most `room_bytes`; chunks are dropped first
    _assemble          the writer      TraceAssembler for each open trace, by its key:
                                         TraceStarted   facts, no turns yet
                                         TurnStarted    {2: open turn, no text}
                                         ChunksArrived  {2: open turn, "<tool_call>..."}
                                         TurnEnded      {2: the whole turn}; its chunks are no longer needed
                                         TraceEnded     to the traces that wait to be written
    _write             the writer      the lines of the first trace that waits:
                                         {"trace": {..., "turns": 2}}
                                         {"turn": ...}
                                         {"turn": ...}

The lines of a trace are appended as a whole or not at all: under a lock of the file, since several processes may have
it open, and cut off again if the disk fills. If the file cannot be written, the traces wait and it is tried again each
second; those that would take more than `room_bytes` go into another file (`spill`), and `close` says where they are.

An existing file is continued only if its first line has today's version and its last trace as many turns as it says;
else SinkError is raised before anything is written.
"""

import fcntl
import json
import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, RLock, Thread
from typing import assert_never

from msgspec import Struct, field, structs

from weaklink.inspector.capture.events import (
    ROOM_BYTES,
    ChunksArrived,
    RecordEvent,
    TraceEnded,
    TraceStarted,
    TurnEnded,
    TurnStarted,
    event_weight,
)
from weaklink.inspector.capture.spill import UnsavedTrace, spill
from weaklink.inspector.errors import SinkError
from weaklink.inspector.model import Chunk, Generation, Role, Trace, Turn
from weaklink.inspector.model.exchange import RecordedExchange, RecordedTrace, with_exchanges
from weaklink.inspector.model.trace import turn_so_far
from weaklink.inspector.trace_file.lines import HEADER_KEY, VERSION
from weaklink.inspector.trace_file.writing import header_line, trace_lines

_BATCH_BYTES = 1024 * 1024
_RETRY_S = 1.0
_BLOCK_BYTES = 65_536
_TRACE = b'\n{"trace":'
_FOR_CHUNKS = 0.75  # of the queue's room: the rest is for the ends of turns, which contain their chunks again


class SendQueue:
    """A queue of events between the threads that record and one thread that writes.

    `put` never waits for more than the lock. If less than a quarter of the room is left, chunks are dropped, which
    loses nothing in the end: the end of their turn contains them again. If no room is left, every event is dropped.
    `dropped` counts dropped events. Sizes are estimates of what the events take in memory.
    """

    def __init__(self, room_bytes: int = ROOM_BYTES) -> None:
        self._room = room_bytes
        self._events: deque[tuple[RecordEvent, int]] = deque()
        self._lock = RLock()  # a signal handler may record too
        self._wake = Event()
        self._held = 0
        self.closing = Event()
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._events)

    @property
    def held_bytes(self) -> int:
        """The size of the queued events."""
        return self._held

    def put(self, event: RecordEvent) -> None:
        """Queue one event, or count it as dropped."""
        size = event_weight(event)
        room = self._room * _FOR_CHUNKS if isinstance(event, ChunksArrived) else self._room
        with self._lock:
            if self.closing.is_set() or self._held + size > room:
                self.dropped += 1
                return
            self._events.append((event, size))
            self._held += size
        self._wake.set()

    def pop(self, max_bytes: int) -> list[RecordEvent]:
        """Remove the first events of the queue, as many as fit into that size, but at least one if there is any."""
        popped: list[RecordEvent] = []
        with self._lock:
            self._wake.clear()
            size = 0
            while self._events and (not popped or size + self._events[0][1] <= max_bytes):
                event, weighs = self._events.popleft()
                popped.append(event)
                size += weighs
            self._held -= size
        return popped

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until an event was queued since the last `pop`, or the queue is closed."""
        if not self._events and not self.closing.is_set():
            self._wake.wait(timeout_s)

    def close(self) -> None:
        """Accept nothing more."""
        self.closing.set()
        self._wake.set()


class TraceFileSink:
    """Appends traces to a trace file; a new file is readable by its owner only.

    A trace is written when it ends, whole and in one piece, under a lock, so several processes may share a file.
    `close` writes the traces that are open, with their open turns truncated. If the process is killed, the open traces
    are lost, so record into a database where that matters. Traces are held in memory until they are written; queued
    events are bounded by `room_bytes`, and `dropped` counts the events beyond it. If the file cannot be written,
    `trouble` is the error, traces wait, and the sink tries again each second. If they take more than `room_bytes`, or
    the file still cannot be written at the end, they go into another trace file (see `inspector.capture.spill`).

    SinkError if the file cannot be opened, is no trace file of this version, or ends within a trace.
    """

    def __init__(self, path: str | Path, *, room_bytes: int = ROOM_BYTES) -> None:
        self._path = Path(path)
        self._room = room_bytes
        self._queue = SendQueue(room_bytes)
        self._open: dict[str, TraceAssembler] = {}
        self._ended: list[UnsavedTrace] = []
        self._spilled: list[str] = []
        self._lost = 0
        self._retry_now = Event()
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
        """How many events were dropped, plus how many traces were lost, because there was no room for them."""
        return self._queue.dropped + self._lost

    def accept(self, event: RecordEvent) -> None:
        """Take one event; never waits for the disk and never raises."""
        self._queue.put(event)

    def close(self) -> None:
        """Write what is held.

        SinkError if not all of the recording is in the file. It says how many requests of how many sessions are in
        which other trace file, or lost.
        """
        if self._queue.closing.is_set():
            return
        self._queue.close()
        self._retry_now.set()
        self._thread.join()
        try:
            self._assemble()
            self._ended += [_unsaved(assembler) for assembler in self._open.values()]
            self._open.clear()
            self._write()
        except OSError as error:
            self._spill(error)
        finally:
            os.close(self._file)
        if self._spilled:
            raise SinkError(" ".join(self._spilled))

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
        while not self._queue.closing.is_set():
            self._queue.wait(_RETRY_S if self._ended else None)
            self._assemble()
            try:
                self._write()
            except OSError as error:
                self.trouble = error
                if sum(map(_weight, self._ended)) > self._room:
                    self._spill(error)
                self._retry_now.wait(_RETRY_S)
            else:
                self.trouble = None

    def _assemble(self) -> None:
        while events := self._queue.pop(_BATCH_BYTES):
            for event in events:
                assembler = self._open.setdefault(event.key, TraceAssembler())
                assembler.add(event)
                if assembler.ended:
                    self._ended.append(_unsaved(self._open.pop(event.key)))

    def _write(self) -> None:
        while self._ended:
            trace = self._ended[0].trace
            lines = "".join(trace_lines(trace, _exchanges_of(trace))).encode("ascii")
            with _locked(self._file):
                self._append(lines)
            del self._ended[0]

    def _append(self, raw: bytes) -> None:
        """Append all bytes or none."""
        before = os.fstat(self._file).st_size
        rest = memoryview(raw)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file, before)
            raise

    def _spill(self, error: OSError) -> None:
        """Put the traces that wait into another file, because of this error."""
        result = spill(self._ended, self._path.absolute().parent)
        self._spilled.append(f"{self._path}: {error.strerror or error}. {result.sentence}")
        self._lost += len(self._ended) if result.path is None else 0
        self._ended.clear()


@contextmanager
def _locked(file: int) -> Iterator[None]:
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _unsaved(assembler: "TraceAssembler") -> UnsavedTrace:
    trace = assembler.trace()
    requests = sum(turn.role is Role.ASSISTANT for turn in trace.turns)
    return UnsavedTrace(with_exchanges(trace, assembler.exchanges), requests)


def _exchanges_of(trace: Trace) -> tuple[RecordedExchange, ...]:
    return trace.exchanges if isinstance(trace, RecordedTrace) else ()


def _weight(ended: UnsavedTrace) -> int:
    """About how many bytes a trace takes in memory."""
    exchanges = _exchanges_of(ended.trace)
    return event_weight(TraceStarted("", ended.trace)) + sum(exchange.size_bytes for exchange in exchanges)


def check_end(path: Path, file: int) -> None:
    """SinkError for a file that is no trace file of this version, or that ends within a trace.

    Reads the first line, and from the end backwards to the beginning of the last trace.
    """
    version = _version(os.pread(file, _BLOCK_BYTES, 0))
    if version is None:
        raise SinkError(f"{path} exists and is not a trace file, so nothing is appended to it; name another file.")
    if version != VERSION:
        raise SinkError(
            f"{path} is a trace file of version {version}, but version {VERSION} is written; name another file."
        )
    tail = _last_trace(file)
    if not tail.endswith(b"\n") or _turns_missing(tail):
        raise SinkError(f"{path} ends within a trace, so nothing can be appended to it; name another file.")


def _version(start: bytes) -> int | None:
    try:
        record = json.loads(start.partition(b"\n")[0].decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    version = record.get(HEADER_KEY) if isinstance(record, dict) else None
    return version if isinstance(version, int) else None


def _last_trace(file: int) -> bytes:
    """The file from its last trace's line on, or the whole file if it has no trace yet."""
    blocks: list[bytes] = []
    offset = os.fstat(file).st_size
    while offset > 0:
        begin = max(0, offset - _BLOCK_BYTES)
        blocks.append(os.pread(file, offset - begin, begin))
        offset = begin
        # A marker may span two blocks, so the first bytes of the following block are searched with this one.
        seen = blocks[-1] + (blocks[-2][: len(_TRACE)] if len(blocks) > 1 else b"")
        start = seen.rfind(_TRACE)
        if start >= 0:
            return b"".join(reversed(blocks))[start + 1 :]
    return b"".join(reversed(blocks))


def _turns_missing(tail: bytes) -> bool:
    first, _, rest = tail.partition(b"\n")
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return True
    trace = record.get("trace")
    return isinstance(trace, dict) and trace.get("turns") != rest.count(b"\n")


class _PartialTurn(Struct):
    role: Role = Role.ASSISTANT
    generation: Generation | None = None
    chunks: list[Chunk] = field(default_factory=list)

    def so_far(self) -> Turn:
        return turn_so_far(self.role, self.chunks, self.generation)


class TracesInMemory:
    """A sink that keeps traces in memory."""

    def __init__(self) -> None:
        self._open: dict[str, TraceAssembler] = {}

    def accept(self, event: RecordEvent) -> None:
        """Take one event."""
        self._open.setdefault(event.key, TraceAssembler()).add(event)

    def close(self) -> None:
        """Do nothing: there is no file to write."""

    def traces(self) -> list[Trace]:
        """All traces, as far as they are known."""
        return [assembler.trace() for assembler in self._open.values()]


class TraceAssembler:
    """Assembles one trace from its events; what missing events contained (its start, a turn's chunks) is left out."""

    def __init__(self) -> None:
        self._facts = Trace(())
        self._turns: dict[int, Turn] = {}
        self._open: dict[int, _PartialTurn] = {}
        self.exchanges: list[RecordedExchange] = []
        self.ended = False

    def add(self, event: RecordEvent) -> None:
        """Add an event of this trace."""
        match event:
            case TraceStarted(_, trace):
                self._facts = structs.replace(trace, turns=())
                self._turns |= dict(enumerate(trace.turns, 1))
            case TurnStarted(_, number, role, generation):
                self._open[number] = _PartialTurn(role, generation)
            case ChunksArrived(_, number, chunks):
                self._open.setdefault(number, _PartialTurn()).chunks += chunks
            case TurnEnded(_, number, turn, exchanges):
                self.exchanges += exchanges
                self._open.pop(number, None)
                self._turns[number] = turn
            case TraceEnded(_, outcome):
                self._facts = self._facts if outcome is None else structs.replace(self._facts, outcome=outcome)
                self.ended = True
            case _:
                assert_never(event)

    def trace(self) -> Trace:
        """The trace as far as it is known; an open turn has the text that has arrived."""
        turns = {number: turn.so_far() for number, turn in self._open.items()} | self._turns
        return structs.replace(self._facts, turns=tuple(turns[number] for number in sorted(turns)))
