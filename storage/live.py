"""The sink that stores sessions while they are recorded; its caller never waits for the disk.

Theory of operation. The recorder's threads only append to a buffer. One thread of the sink takes all events at once,
lets each session add its own, and writes what is new of all sessions in one transaction, an eighth of a second after an
event or once 2,048 chunks are waiting:

    accept(ChunksArrived("k", 2, chunks))        the event is in the `BoundedBuffer`
    session.add(event)                           the `RecordedSession` of "k" has the chunks in its open turn 2
    step = session.step(...)                     a `SessionWrite`: the turns and pieces that are not in the database yet
    ids = store.keep_running(owner, [step])      one transaction; the id of the trace, or None if it was deleted
    session.mark_written(step, id)               the next step begins after this one

A trace that has ended is then inspected and stored as `Store.save` would. Running traces are inspected as their turns
end, but for at most a tenth of the time, so that the cost of a long conversation is proportional to its length: the
faults in lists may lag behind, but a trace that is read whole is always inspected. Beyond 64 MiB, written turns are
released from memory, and read back when their session is inspected again.

While the database cannot be written, events wait in the buffer and writing is retried; the logger `weaklink` logs when
that begins and when it is over. The buffer is bounded by an estimate of its size (see `storage.running.session`).
Beyond that, chunks are dropped; the end of their turn restores them if there is room for it, otherwise the turn is
stored as truncated, with the chunks received, and the trace's provenance has a warning. A database file that was moved
or deleted is created again, with the part of the running sessions that is still in memory.
"""

import logging
import math
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock, Thread

from msgspec.structs import replace

from weaklink.inspector.capture.events import ROOM_BYTES, ChunksArrived, RecordEvent, TraceEnded, TraceStarted
from weaklink.inspector.capture.spill import spill
from weaklink.inspector.errors import StoreError
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import Trace
from weaklink.storage.derived_rows import inspect_trace
from weaklink.storage.liveness import IDLE_AFTER_S
from weaklink.storage.running.rows import new_owner
from weaklink.storage.running.session import BoundedBuffer, RecordedSession, SessionWrite
from weaklink.storage.store import Store, open_store

_EVERY_S, _EVERY_CHUNKS = 0.12, 2_048  # a recorder buffers for 0.1 s, so a crash loses at most 250 ms
_BEAT_S = 10.0  # heartbeat interval of an idle sink; see `storage.running.rows`
_MAX_PAUSE_S = 5.0
_PAUSE_FACTOR = 10  # pause between inspections of running sessions, as a multiple of their duration
_HELD_BYTES = 64 << 20  # written turns that stay in memory, for the inspection when the next turn ends
_REMEMBERED = 10_000  # keys of ended sessions, whose late events are ignored
_LOG = logging.getLogger("weaklink")


class StoreSink:
    """Stores recorded sessions, including open ones; see `inspector.capture.events.Sink`.

    `accept` only adds the event to a buffer of at most `room_bytes` and never waits for the disk. `trouble` is the
    error while the database cannot be written, and `dropped` counts the events that were dropped or shortened. `close`
    ends every session and truncates its open turn. A session whose turns have all ended is shown as idle after
    `idle_after_s` seconds without an event, and as running again with its next turn.

    Takes a store, or a place as `open_store` does; in that case `close` also closes the store. Sessions of another
    recorder that was killed are ended first. StoreError if the store cannot be opened.
    """

    def __init__(
        self,
        store: Store | str | Path | None = None,
        inspect: Callable[[Trace], Inspection] = inspect_trace,
        *,
        room_bytes: int = ROOM_BYTES,
        idle_after_s: float = IDLE_AFTER_S,
    ) -> None:
        self._owns = not isinstance(store, Store)
        self._store = store if isinstance(store, Store) else open_store(store)
        self._inspect = inspect
        self._owner = new_owner()
        self._idle_after_s = idle_after_s
        self._buffer = BoundedBuffer(room_bytes)
        self._chunks_waiting = 0
        self._inspect_at_s, self._idle_at_s = 0.0, math.inf
        self._is_behind = False
        self._sessions: dict[str, RecordedSession] = {}
        self._heard_at_s: dict[str, float] = {}
        self._ended: list[RecordedSession] = []
        self._past: dict[str, None] = {}
        self._wake, self._full, self._closing = Event(), Event(), Event()
        self._writes = Lock()
        self._refused = False
        self.trouble: Exception | None = None
        self._store.recover(self._inspect_safely)
        self._beat_at_s = time.monotonic()
        self._thread = Thread(target=self._run, name="weaklink-sink", daemon=True)
        self._thread.start()

    @property
    def backlog(self) -> int:
        """The number of events that wait and that no transaction has begun to write."""
        return len(self._buffer)

    @property
    def dropped(self) -> int:
        """The number of events that did not fit into the buffer: chunks, or the texts of turns."""
        return self._buffer.dropped

    def accept(self, event: RecordEvent) -> None:
        """Accept one event, with well under a microsecond of waiting; StoreError once the sink is closed."""
        if self._closing.is_set():
            raise StoreError(f"{self._store.location}: the sink is closed")
        self._buffer.put(event)
        if isinstance(event, ChunksArrived):
            self._chunks_waiting += len(event.chunks)  # approximate: two threads may count as one
            if self._chunks_waiting >= _EVERY_CHUNKS and not self._full.is_set():
                self._full.set()
        if not self._wake.is_set():
            self._wake.set()

    def flush(self) -> None:
        """Write and inspect all accepted events; returns after the commit. StoreError if they cannot be written."""
        self._flush(may_lag=False)

    def close(self) -> None:
        """End all sessions and write them.

        If that fails, what is not stored goes into a trace file beside the database or, if no file can be written
        there, in the user's data folder or that for temporary files. StoreError then says how many requests of how many
        sessions are in which file, and which command imports it; or, if no folder takes it, what is lost.
        """
        if self._closing.is_set():
            return
        self._closing.set()
        self._full.set()
        self._wake.set()
        self._thread.join()
        try:
            with self._writes:
                self._take_events()
                for session in self._sessions.values():
                    session.end()
                self._write(may_lag=False)
        except Exception as error:
            raise StoreError(f"{error}. {self._spill()}") from error
        finally:
            if self._owns:
                self._store.close()

    def _spill(self) -> str:
        """Write to a trace file what the database does not have; a sentence on it."""
        traces = (
            session.unsaved(self._store.turns_of_running, self._store.exchanges.with_unsaved)
            for session in (*self._ended, *self._sessions.values())
        )
        location = self._store.location
        beside = location.path.parent if location.path is not None else None
        unsaved = [trace for trace in traces if trace is not None]
        if not unsaved:
            return "All requests are stored; the next command that reads the database ends the open sessions."
        return spill(unsaved, beside, database=str(location)).sentence

    def _run(self) -> None:
        pause_s = _EVERY_S
        while not self._closing.is_set():
            if self._wake.wait(self._idle_s()):
                self._full.wait(pause_s)
            if self._closing.is_set():
                return
            try:
                self._flush(may_lag=True)
            except Exception as error:  # noqa: BLE001  # the writer must survive, and reports the error
                self._report_trouble(error)
                pause_s = min(2 * pause_s, _MAX_PAUSE_S)
                self._wake.set()
            else:
                self._report_recovery()
                pause_s = _EVERY_S

    def _idle_s(self) -> float:
        """How long to wait for events until there is something to write without one."""
        at_s = min(self._idle_at_s, self._inspect_at_s if self._is_behind else math.inf)
        return min(max(at_s - time.monotonic(), 0.0), _BEAT_S)

    def _flush(self, *, may_lag: bool) -> None:
        with self._writes:
            self._take_events()
            self._write(may_lag=may_lag and time.monotonic() < self._inspect_at_s)

    def _report_trouble(self, error: Exception) -> None:
        self.trouble = error
        if not self._refused:
            self._refused = True
            _LOG.warning("Cannot write to the database; recorded events wait in memory: %s.", error)

    def _report_recovery(self) -> None:
        if self._refused:
            self._refused = False
            lost = f"; {self.dropped:,} events were dropped because the buffer was full" if self.dropped else ""
            _LOG.warning("The database is writable again%s.", lost)

    def _take_events(self) -> None:
        self._wake.clear()  # before the events are taken: a new event from now on sets it again
        self._full.clear()
        self._chunks_waiting = 0
        for event in self._buffer.drain():
            session = self._sessions.get(event.key)
            if session is None:
                if isinstance(event, TraceEnded) or (event.key in self._past and not isinstance(event, TraceStarted)):
                    continue  # the trace never started, or has already ended
                session = self._sessions[event.key] = RecordedSession(Trace(()))
            session.add(event)
            self._heard_at_s[event.key] = time.monotonic()
            if session.ended:
                self._ended.append(self._sessions.pop(event.key))
                del self._heard_at_s[event.key]
                self._past[event.key] = None
                if len(self._past) > _REMEMBERED:
                    del self._past[next(iter(self._past))]

    def _write(self, *, may_lag: bool) -> None:
        """Write the new part of every session."""
        sessions = [*self._ended, *self._sessions.values()]
        if self._store.recreate_if_missing():
            for session in sessions:
                session.forget_written()
        began_s = time.monotonic()
        self._judge_idle(began_s)
        steps = [
            (session, step)
            for session in sessions
            if (step := session.step(self._inspect_safely, self._store.turns_of_running, may_lag=may_lag)) is not None
        ]
        now_s = time.monotonic()
        if any(step.draft is not None for _, step in steps):
            self._inspect_at_s = now_s + _PAUSE_FACTOR * (now_s - began_s)
        if steps or (sessions and now_s - self._beat_at_s >= _BEAT_S):
            self._write_steps(steps)
            self._beat_at_s = now_s
        self._buffer.written()
        self._is_behind = any(session.is_behind for session in self._sessions.values())
        if sum(session.weight for session in self._sessions.values()) > _HELD_BYTES:
            for session in self._sessions.values():
                session.release()

    def _judge_idle(self, now_s: float) -> None:
        """Judge the sessions that had no event for too long, and note when the next ones will be idle."""
        waiting = [
            (self._heard_at_s[key] + self._idle_after_s, session)
            for key, session in self._sessions.items()
            if session.may_become_idle
        ]
        for at_s, session in waiting:
            if at_s <= now_s:
                session.become_idle()
        self._idle_at_s = min((at_s for at_s, _ in waiting if at_s > now_s), default=math.inf)

    def _write_steps(self, steps: list[tuple[RecordedSession, SessionWrite]]) -> None:
        ids = self._store.keep_running(self._owner, [step for _, step in steps], idle_after_s=self._idle_after_s)
        for (session, step), id_ in zip(steps, ids, strict=True):
            session.mark_written(step, id_)
        lost = [session for (session, _), id_ in zip(steps, ids, strict=True) if id_ is None]
        self._ended = [session for session in self._ended if session in lost]
        if lost:  # deleted, or ended by another process as orphaned: write them again
            self._write(may_lag=False)

    def _inspect_safely(self, trace: Trace) -> Inspection:
        """The given inspection or, if it fails, the default one: the record must be stored in any case."""
        try:
            return self._inspect(trace)
        except Exception as error:  # noqa: BLE001  # may call plug-ins; reported as `trouble`
            self.trouble = error
            return inspect_trace(replace(trace, format=""))
