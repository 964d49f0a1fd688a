"""The sink that keeps sessions while they are recorded; its client never waits for the disk."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock, Thread

from msgspec.structs import replace

from inspector.capture.events import ChunksArrived, RecordEvent, TraceEnded, TraceStarted
from inspector.capture.send_queue import ROOM_BYTES
from inspector.errors import StoreError
from inspector.inspected import Inspection
from inspector.model import Trace
from storage.derived_rows import inspect_trace
from storage.liveness import IDLE_AFTER_S
from storage.running.rows import new_owner
from storage.running.session import BoundedBuffer, RecordedSession, SessionWrite
from storage.store import Store, open_store

_EVERY_S, _EVERY_CHUNKS = 0.12, 2_048  # a recorder gathers for 0.1 s: at most 250 ms are lost with it
_BEAT_S = 10.0  # how often an idle sink says that it lives; see `storage.running.rows`
_LONGEST_PAUSE_S = 5.0
_REST = 10  # times as long as running sessions were inspected, until they are again: a tenth of the time at most
_HELD_BYTES = 64 << 20  # turns that are written and held all the same, for the inspection when the next one ends
_REMEMBERED = 10_000  # keys of sessions that have ended, for which late events are left out
_LOG = logging.getLogger("weaklink")


class StoreSink:
    """Keeps recorded sessions in a store, open ones too; see `inspector.capture.events.Sink`.

    A thread writes, in one transaction for all sessions, an eighth of a second after something came or once 2,048
    chunks wait. A trace that has ended is then inspected and kept as `Store.save` would; running ones are inspected as
    their turns end, but for at most a tenth of the time, so that a long conversation costs no more than its length:
    what lists show of their faults may lag, while who reads a whole trace finds it inspected. `accept` only puts the
    event in line and never waits for the disk. While the database refuses to be written, `trouble` says why, events
    wait in memory and writing is tried again; the logging logger `weaklink` is told when that begins and when it is
    over. A database file that was moved away or deleted is made again, with what is still held of the running
    sessions: beyond 64 MiB, turns that are written are held no longer, and read back when their session is inspected
    again.

    What waits is bounded by `room_bytes`, an estimate of its size in memory (see `storage.running.session`). Beyond it
    chunks are dropped, which their turn's end makes good if there is room for that; else the turn is kept as far as
    its chunks came, as truncated, and the trace's provenance says so. `dropped` counts the events that were not taken
    as they were. `close` ends every session, cutting its open turn. A session whose turns have all ended is shown as
    idle when nothing came for `idle_after_s` seconds, and as running again with its next turn.

    Takes a store, or a place as `open_store` does and then closes what it opened. Sessions that another recorder left
    behind when it was killed are ended first. StoreError where the store cannot be opened.
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
        self._room, self._room_bytes = BoundedBuffer(room_bytes), room_bytes
        self._chunks_waiting = 0
        self._inspect_at_s = 0.0
        self._is_behind = False
        self._sessions: dict[str, RecordedSession] = {}
        self._ended: list[RecordedSession] = []
        self._over: dict[str, None] = {}
        self._wake, self._full, self._closing = Event(), Event(), Event()
        self._writes = Lock()
        self._refused = False
        self.trouble: Exception | None = None
        self._store.recover(self._careful)
        self._beat_at_s = time.monotonic()
        self._thread = Thread(target=self._run, name="weaklink-sink", daemon=True)
        self._thread.start()

    @property
    def backlog(self) -> int:
        """How many events wait that no transaction has begun to write."""
        return len(self._room)

    @property
    def is_full(self) -> bool:
        """Whether half of the room is taken: a sender that can wait should."""
        return self._room.held_bytes > self._room_bytes / 2

    @property
    def dropped(self) -> int:
        """How many events there was no room for: chunks, or the texts of turns."""
        return self._room.dropped

    def accept(self, event: RecordEvent) -> None:
        """Take one event, in well under a microsecond of waiting; StoreError once the sink is closed."""
        if self._closing.is_set():
            raise StoreError(f"{self._store.place}: the sink is closed")
        self._room.put(event)
        if isinstance(event, ChunksArrived):
            self._chunks_waiting += len(event.chunks)  # a hint: two threads may count as one
            if self._chunks_waiting >= _EVERY_CHUNKS and not self._full.is_set():
                self._full.set()
        if not self._wake.is_set():
            self._wake.set()

    def flush(self) -> None:
        """Write what was accepted, and inspect it; returns when it is committed. StoreError where it cannot be."""
        self._flush(may_lag=False)

    def close(self) -> None:
        """End all sessions and write them. StoreError where that fails; what was not yet written is then lost."""
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
        finally:
            if self._owns:
                self._store.close()

    def _run(self) -> None:
        pause_s = _EVERY_S
        while not self._closing.is_set():
            if self._wake.wait(self._idle_s()):
                self._full.wait(pause_s)
            if self._closing.is_set():
                return
            try:
                self._flush(may_lag=True)
            except Exception as error:  # noqa: BLE001  # the writer must live, and tells
                self._tell_trouble(error)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
                self._wake.set()
            else:
                self._tell_recovery()
                pause_s = _EVERY_S

    def _idle_s(self) -> float:
        """How long nothing may come until there is something to write all the same."""
        if not self._is_behind:
            return _BEAT_S
        return min(max(self._inspect_at_s - time.monotonic(), 0.0), _BEAT_S)

    def _flush(self, *, may_lag: bool) -> None:
        with self._writes:
            self._take_events()
            self._write(may_lag=may_lag and time.monotonic() < self._inspect_at_s)

    def _tell_trouble(self, error: Exception) -> None:
        self.trouble = error
        if not self._refused:
            self._refused = True
            _LOG.warning("What is recorded waits in memory, since it cannot be written: %s.", error)

    def _tell_recovery(self) -> None:
        if self._refused:
            self._refused = False
            lost = f"; {self.dropped:,} events had no room and were dropped" if self.dropped else ""
            _LOG.warning("What is recorded can be written again%s.", lost)

    def _take_events(self) -> None:
        self._wake.clear()  # before the events are taken: one that comes now wakes again
        self._full.clear()
        self._chunks_waiting = 0
        for event in self._room.take():
            session = self._sessions.get(event.key)
            if session is None:
                if isinstance(event, TraceEnded) or (event.key in self._over and not isinstance(event, TraceStarted)):
                    continue  # nothing came of it, or it has ended already
                session = self._sessions[event.key] = RecordedSession(Trace(()))
            session.take(event)
            if session.ended:
                self._ended.append(self._sessions.pop(event.key))
                self._over[event.key] = None
                if len(self._over) > _REMEMBERED:
                    del self._over[next(iter(self._over))]

    def _write(self, *, may_lag: bool) -> None:
        """Write what is new of every session."""
        sessions = [*self._ended, *self._sessions.values()]
        if self._store.make_again_if_gone():
            for session in sessions:
                session.forget_written()
        began_s = time.monotonic()
        steps = [
            (session, step)
            for session in sessions
            if (step := session.step(self._careful, self._store.turns_of_running, may_lag=may_lag)) is not None
        ]
        now_s = time.monotonic()
        if any(step.draft is not None for _, step in steps):
            self._inspect_at_s = now_s + _REST * (now_s - began_s)
        if steps or (sessions and now_s - self._beat_at_s >= _BEAT_S):
            self._keep(steps)
            self._beat_at_s = now_s
        self._room.written()
        self._is_behind = any(session.is_behind for session in self._sessions.values())
        if sum(session.weight for session in self._sessions.values()) > _HELD_BYTES:
            for session in self._sessions.values():
                session.let_go()

    def _keep(self, steps: list[tuple[RecordedSession, SessionWrite]]) -> None:
        ids = self._store.keep_running(self._owner, [step for _, step in steps], idle_after_s=self._idle_after_s)
        for (session, step), id_ in zip(steps, ids, strict=True):
            session.wrote(step, id_)
        lost = [session for (session, _), id_ in zip(steps, ids, strict=True) if id_ is None]
        self._ended = [session for session in self._ended if session in lost]
        if lost:  # deleted by somebody, or taken for broken off: written anew
            self._write(may_lag=False)

    def _careful(self, trace: Trace) -> Inspection:
        """The inspection that was asked for, or, where that fails, ours: the record must be kept."""
        try:
            return self._inspect(trace)
        except Exception as error:  # noqa: BLE001  # may call plug-ins; it is told
            self.trouble = error
            return inspect_trace(replace(trace, format=""))
