"""The sink that sends a recording to a team's collector, through a queue on disk that survives both processes."""

import fcntl
import http.client
import os
import secrets
import shutil
import time
from collections import deque
from http import HTTPStatus
from pathlib import Path
from threading import Event, Lock, Thread

from msgspec import Struct

from inspector.capture.event_lines import BATCH, INSTANCE, PACKED_TYPE, SENDER, pack_body, read_events, unpack_body
from inspector.capture.events import RecordEvent
from inspector.capture.remote_sink import NEVER, TAKEN, EventsClient, ReplayJournal
from inspector.capture.send_queue import ROOM_BYTES, SendQueue
from inspector.errors import SinkError

_LOCK = "lock"
_SUFFIX = ".events"
_DIGITS = 12
QUEUE_BYTES = 1_000_000_000
"""The default size limit of the queue on disk."""


class QueuedBody(Struct, frozen=True):
    """A queued body: its sender, its number, and its file."""

    sender: str
    number: int
    path: Path
    size_bytes: int


class Outbox:
    """The queue of bodies below `folder`, the oldest first; at most `most_bytes` in total. Thread-safe.

    SinkError if the folder cannot be created or written.
    """

    def __init__(self, folder: Path, most_bytes: int = QUEUE_BYTES) -> None:
        self.place = folder
        self.sender = secrets.token_hex(16)
        self._most_bytes = most_bytes
        self._folder = folder / self.sender
        self._guard = Lock()
        self._number = 0
        self._locks: list[tuple[Path, int]] = []
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._bodies = deque(self._leftover_bodies())
            self._folder.mkdir(mode=0o700)
            self._lock_folder(self._folder)
        except OSError as error:
            raise SinkError(f"{folder}: the queue cannot be created there: {error.strerror or error}") from error
        self._bytes = sum(one.size_bytes for one in self._bodies)

    def __len__(self) -> int:
        return len(self._bodies)

    @property
    def size_bytes(self) -> int:
        """The size of all queued bodies."""
        return self._bytes

    def put(self, body: bytes) -> bool:
        """Queue a body; False if there is no room for it. OSError if it cannot be written to disk."""
        with self._guard:
            if self._bodies and self._bytes + len(body) > self._most_bytes:
                return False
            self._number += 1
            path = self._folder / f"{self._number:0{_DIGITS}}{_SUFFIX}"
            partial = path.with_suffix(".part")
            partial.write_bytes(body)
            partial.replace(path)
            self._bodies.append(QueuedBody(self.sender, self._number, path, len(body)))
            self._bytes += len(body)
            return True

    def oldest(self) -> QueuedBody | None:
        """The body to send next; None if the queue is empty."""
        return self._bodies[0] if self._bodies else None

    def done(self, body: QueuedBody) -> None:
        """Remove the oldest body: the server has it, or will never accept it."""
        with self._guard:
            self._bodies.popleft()
            self._bytes -= body.size_bytes
            body.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Release the folders, so others can send what is left; folders without a body are removed."""
        for folder, lock in self._locks:
            if not any(folder.glob(f"*{_SUFFIX}")):
                shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
        self._locks.clear()

    def _leftover_bodies(self) -> list[QueuedBody]:
        """The bodies of senders that no longer run, those of each sender in order."""
        found: list[QueuedBody] = []
        folders = (one for one in self.place.iterdir() if one.is_dir())
        for folder in sorted(folders, key=lambda one: one.stat().st_mtime):
            if not self._lock_folder(folder):
                continue
            for path in sorted(folder.glob(f"*{_SUFFIX}")):
                if path.stem.isascii() and path.stem.isdecimal():
                    found.append(QueuedBody(folder.name, int(path.stem), path, path.stat().st_size))
        return found

    def _lock_folder(self, folder: Path) -> bool:
        """Lock a folder; False if its sender is running."""
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        self._locks.append((folder, lock))
        return True


_TOGETHER_S = 0.1  # events within this time are sent together
_AT_ONCE = 1024 * 1024
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
_FULL_PAUSE_S = 0.5
_PACKED = {"Content-Type": PACKED_TYPE}


class OutboxSink:
    """Sends events to the collector at `url`, in order; what cannot be sent waits in an outbox.

    One thread writes packed events to disk, about 100 ms after they came; another thread sends what is there. So a
    collector may be down for as long as the outbox has room, and a recorder may be killed: the next one with the same
    outbox sends the rest. Numbered bodies ensure that none counts twice. A restarted collector receives the open traces
    from their beginning, as from `RemoteSink`. If the outbox is full, events wait in memory, bounded by `room_bytes`;
    `dropped` counts the events beyond that. `trouble` is the error that prevents sending now, `backlog` the number of
    queued bodies. `close` continues sending for at most `closing_s` seconds; the rest stays in the outbox.

    `outbox` is closed with the sink. SinkError if `url` is no `http://` or `https://` address.
    """

    def __init__(
        self, url: str, outbox: Outbox, *, token: str = "", room_bytes: int = ROOM_BYTES, closing_s: float = 10.0
    ) -> None:
        self._server = EventsClient(url, token=token)
        self._outbox = outbox
        self._queue = SendQueue(room_bytes)
        self._journal = ReplayJournal(room_bytes)
        self._instance, self._replays = "", 0
        self._lost = 0
        self._closing_s, self._deadline_s = closing_s, float("inf")
        self._closing, self._stored, self._sends = Event(), Event(), Event()
        self.trouble: Exception | None = None
        self._threads = (
            Thread(target=self._store, name="weaklink-outbox", daemon=True),
            Thread(target=self._send_all, name="weaklink-collect", daemon=True),
        )
        for thread in self._threads:
            thread.start()

    @property
    def dropped(self) -> int:
        """How many events were dropped, plus open traces of which a new collector receives only the end."""
        return self._queue.dropped + self._lost + self._journal.forgotten

    @property
    def place(self) -> Path:
        """The folder of the queue."""
        return self._outbox.place

    @property
    def backlog(self) -> int:
        """How many bodies are queued on disk."""
        return len(self._outbox)

    def accept(self, event: RecordEvent) -> None:
        """Take one event; never waits for the disk or the network and never raises."""
        self._queue.put(event)

    def close(self) -> None:
        """Write what is queued to disk and send it, for a limited time; the next recording sends the rest.

        SinkError if it could not be written to disk; it is then lost.
        """
        if self._closing.is_set():
            return
        self._deadline_s = time.monotonic() + self._closing_s
        self._closing.set()
        self._queue.close()
        self._sends.set()
        for thread in self._threads:
            thread.join()
        self._server.close()
        left = len(self._queue)
        self._outbox.close()
        if left:
            self._lost += left
            raise SinkError(f"{self._outbox.place} did not accept {left} events: {self.trouble}") from self.trouble

    def _store(self) -> None:
        """Write events to disk, until the sink is closed and none is left."""
        try:
            while True:
                self._queue.wait()
                self._closing.wait(_TOGETHER_S)
                events = self._queue.take(_AT_ONCE)
                if events:
                    if not self._put(events):
                        self._queue.put_back(events)
                        return
                elif self._closing.is_set():
                    return
        finally:
            self._stored.set()
            self._sends.set()

    def _put(self, events: list[RecordEvent]) -> bool:
        """Write a body to disk as soon as there is room; False if there was none before the closing deadline."""
        body = pack_body(events)
        while True:
            try:
                if self._outbox.put(body):
                    self._sends.set()
                    return True
                full = f"the queue in {self._outbox.place} is full ({self._outbox.size_bytes:,} bytes)"
                self.trouble = SinkError(full)
            except OSError as error:
                self.trouble = error
            if time.monotonic() >= self._deadline_s:
                return False
            time.sleep(_FULL_PAUSE_S)

    def _send_all(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while True:
            body = self._outbox.oldest()
            if body is None:
                if self._stored.is_set():
                    return
                self._sends.wait()
                self._sends.clear()
                continue
            try:
                self._send(body)
            except (OSError, http.client.HTTPException, SinkError) as error:
                self._server.close()
                self.trouble = self._as_sink_error(error)
                left_s = self._deadline_s - time.monotonic()
                if left_s <= 0:
                    return
                time.sleep(min(pause_s, left_s)) if self._closing.is_set() else self._closing.wait(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            else:
                self.trouble = None
                pause_s = _FIRST_PAUSE_S

    def _send(self, body: QueuedBody) -> None:
        try:
            packed = body.path.read_bytes()
        except FileNotFoundError:
            self._lost += 1
            self._outbox.done(body)
            raise
        is_own = body.sender == self._outbox.sender
        headers = {SENDER: body.sender, BATCH: str(body.number), **_PACKED}
        if is_own and self._instance:
            headers[INSTANCE] = self._instance
        status, reason, instance = self._server.post(packed, headers)
        if status in TAKEN:
            if is_own:
                self._note(packed)
                self._instance = instance
            self._outbox.done(body)
        elif status == HTTPStatus.CONFLICT and instance and instance != self._instance:
            self._replay(instance)
        elif status in NEVER:
            self._lost += 1
            self._outbox.done(body)
            raise SinkError(f"{self._server.place} refuses the events ({status} {reason})")
        else:
            raise SinkError(f"{self._server.place} does not accept record events ({status} {reason})")

    def _as_sink_error(self, error: OSError | http.client.HTTPException | SinkError) -> SinkError:
        if isinstance(error, SinkError):
            return error
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return SinkError(f"{self._server.place} cannot be reached: {why}")

    def _note(self, packed: bytes) -> None:
        """Remember the events of a body that a new collector must receive again."""
        plain = unpack_body(packed)
        if plain is not None:
            self._journal.note(read_events(plain))

    def _replay(self, instance: str) -> None:
        """Send a restarted collector the open traces from their beginning, before what is queued."""
        events = list(self._journal.replay())
        if events:
            self._replays += 1
            headers = {SENDER: f"{self._outbox.sender}.{self._replays}", BATCH: "1", INSTANCE: instance, **_PACKED}
            status, reason, _ = self._server.post(pack_body(events), headers)
            if status not in TAKEN:
                raise SinkError(f"{self._server.place} does not accept record events ({status} {reason})")
        self._instance = instance
