"""The sink that keeps sessions while they are recorded; its client never waits for the disk."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event, Lock, Thread

from inspector.capture.events import ChunksArrived, RecordEvent, TraceStarted
from inspector.errors import StoreError
from inspector.inspection import Inspection, inspect_trace
from inspector.model import Trace
from storage.running.recovery import new_owner
from storage.running.session import Session, Step
from storage.store import Store, open_store

_EVERY_S, _EVERY_CHUNKS = 0.25, 2_048
_BEAT_S = 10.0  # how often an idle sink says that it lives; see `storage.running.recovery`
_LONGEST_PAUSE_S = 5.0


class StoreSink:
    """Keeps recorded sessions in a store, open ones too; see `inspector.capture.events.Sink`.

    A thread writes, in one transaction for all sessions, about 250 ms after something came or once 2,048 chunks wait;
    what ended is then inspected and kept as `Store.save` would. `accept` only puts the event in line: it neither
    waits nor loses anything. What is bounded is the calls for the writer, of which one at most is pending; while the
    database refuses to be written, events stay in memory (`backlog` counts them), `trouble` says why, and writing is
    tried again. `close` ends every session, cutting its open turn.

    Takes a store, or a place as `open_store` does and then closes what it opened. Sessions that another recorder left
    behind when it was killed are ended first. StoreError where the store cannot be opened.
    """

    def __init__(
        self, store: Store | str | Path | None = None, inspect: Callable[[Trace], Inspection] = inspect_trace
    ) -> None:
        self._owns = not isinstance(store, Store)
        self._store = store if isinstance(store, Store) else open_store(store)
        self._inspect = inspect
        self._owner = new_owner()
        self._events: deque[RecordEvent] = deque()
        self._chunks_waiting = 0
        self._sessions: dict[str, Session] = {}
        self._ended: list[Session] = []
        self._wake, self._full, self._closing = Event(), Event(), Event()
        self._writes = Lock()
        self.trouble: Exception | None = None
        self._store.recover(self._careful)
        self._beat_at_s = time.monotonic()
        self._thread = Thread(target=self._run, name="weaklink-sink", daemon=True)
        self._thread.start()

    @property
    def backlog(self) -> int:
        """How many events wait that no transaction has begun to write."""
        return len(self._events)

    def accept(self, event: RecordEvent) -> None:
        """Take one event, in well under a microsecond of waiting; StoreError once the sink is closed."""
        if self._closing.is_set():
            raise StoreError(f"{self._store.place}: the sink is closed")
        self._events.append(event)
        if isinstance(event, ChunksArrived):
            self._chunks_waiting += len(event.chunks)  # a hint: two threads may count as one
            if self._chunks_waiting >= _EVERY_CHUNKS and not self._full.is_set():
                self._full.set()
        if not self._wake.is_set():
            self._wake.set()

    def flush(self) -> None:
        """Write what was accepted, now; returns when it is committed. StoreError where it cannot be written."""
        with self._writes:
            self._take_events()
            self._write()

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
                self._write()
        finally:
            if self._owns:
                self._store.close()

    def _run(self) -> None:
        pause_s = _EVERY_S
        while not self._closing.is_set():
            if self._wake.wait(_BEAT_S):
                self._full.wait(pause_s)
            if self._closing.is_set():
                return
            try:
                self.flush()
            except Exception as error:  # noqa: BLE001  # the writer must live, and tells
                self.trouble = error
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
                self._wake.set()
            else:
                pause_s = _EVERY_S

    def _take_events(self) -> None:
        self._wake.clear()  # before the events are taken: one that comes now wakes again
        self._full.clear()
        self._chunks_waiting = 0
        while self._events:
            event = self._events.popleft()
            session = self._sessions.get(event.key)
            if session is not None:
                session.take(event)
            else:
                started = isinstance(event, TraceStarted)
                session = self._sessions[event.key] = Session(event.trace if started else Trace(()))  # type: ignore[union-attr]  # started says which
                if not started:
                    session.take(event)
            if session.ended:
                self._ended.append(self._sessions.pop(event.key))

    def _write(self) -> None:
        """Write what is new of every session."""
        sessions = [*self._ended, *self._sessions.values()]
        steps = [(session, step) for session in sessions if (step := session.step(self._careful)) is not None]
        now_s = time.monotonic()
        if steps or (sessions and now_s - self._beat_at_s >= _BEAT_S):
            self._keep(steps)
            self._beat_at_s = now_s

    def _keep(self, steps: list[tuple[Session, Step]]) -> None:
        ids = self._store.keep_running(self._owner, [step for _, step in steps])
        for (session, step), id_ in zip(steps, ids, strict=True):
            session.wrote(step, id_)
        lost = [session for (session, _), id_ in zip(steps, ids, strict=True) if id_ is None]
        self._ended = [session for session in self._ended if session in lost]
        if lost:  # deleted by somebody, or taken for broken off: written anew
            self._write()

    def _careful(self, trace: Trace) -> Inspection:
        """The inspection that was asked for, or, where that fails, ours: the record must be kept."""
        try:
            return self._inspect(trace)
        except Exception as error:  # noqa: BLE001  # may call plug-ins; it is told
            self.trouble = error
            return inspect_trace(replace(trace, format=""))
