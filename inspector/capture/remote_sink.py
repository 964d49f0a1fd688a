"""The sink that sends events to a running `weaklink record` over HTTP, and repeats open traces when it restarts."""

import http.client
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from threading import Event, Thread
from urllib.parse import urlsplit

from msgspec import Struct, field

from inspector.capture.event_lines import BATCH, CONTENT_TYPE, EVENTS_PATH, INSTANCE, SENDER, event_line, header_line
from inspector.capture.events import ChunksArrived, RecordEvent, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from inspector.capture.send_queue import ROOM_BYTES, SendQueue, event_weight
from inspector.errors import SinkError

_TOGETHER_S = 0.1  # events within this time are sent together
_AT_ONCE = 256 * 1024
_TIMEOUT_S = 10.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
TAKEN = (HTTPStatus.OK, HTTPStatus.NO_CONTENT)
"""The statuses of a server that has accepted the body."""

NEVER = (
    *(HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    HTTPStatus.UNPROCESSABLE_ENTITY,
)
"""The statuses of a server that will never accept the body."""


class EventsClient:
    """A connection that posts bodies of events to the server at `url`; for one thread.

    `token` is sent as `Authorization: Bearer`. SinkError if `url` is no `http://` or `https://` address.
    """

    def __init__(self, url: str, *, token: str = "") -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError as error:
            raise SinkError(f"`{url}` is not an address of a server: {error}.") from error
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise SinkError(f"`{url}` is not an address of a server; `http://127.0.0.1:8788` is one.")
        connection_class = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = connection_class(parts.hostname, port, timeout=_TIMEOUT_S)
        self._path = parts.path.rstrip("/") + EVENTS_PATH
        self._headers = {"Content-Type": CONTENT_TYPE} | ({"Authorization": f"Bearer {token}"} if token else {})
        self.place = (
            f"{parts.scheme}://{parts.hostname}{f':{port}' if port else ''}"  # without the path: it may hold a token
        )

    def post(self, body: bytes, headers: Mapping[str, str]) -> tuple[int, str, str]:
        """The status, its meaning in words, and the server's id. OSError or HTTPException if no server answered."""
        headers = {**self._headers, **headers}
        is_new = self._connection.sock is None
        try:
            return self._exchange(body, headers)
        except (OSError, http.client.HTTPException):
            self._connection.close()
            if is_new:
                raise
        return self._exchange(body, headers)  # the server had closed the idle connection

    def close(self) -> None:
        """Close the connection; the next body opens another one."""
        self._connection.close()

    def _exchange(self, body: bytes, headers: dict[str, str]) -> tuple[int, str, str]:
        self._connection.request("POST", self._path, body, headers)
        with self._connection.getresponse() as answer:
            text = answer.read().decode("utf-8", "replace").strip()
            return answer.status, text or answer.reason, answer.getheader(INSTANCE, "")


class RemoteSink:
    """Sends events to the server at `url`, in order, about 100 ms after they came.

    The server may start later, and may restart: events wait, and are sent again if no answer came; numbered bodies
    ensure that none counts twice. A restarted server receives the open traces from their beginning, so nothing is lost
    that its predecessor had accepted and not written. Queued events and the journal of open traces are bounded by
    `room_bytes` each; `dropped` counts lost events, `trouble` is the error that prevents sending now. `close` continues
    sending for at most `closing_s` seconds.

    SinkError if `url` is no `http://` or `https://` address.
    """

    def __init__(self, url: str, *, room_bytes: int = ROOM_BYTES, closing_s: float = 10.0) -> None:
        self._server = EventsClient(url)
        self._queue = SendQueue(room_bytes)
        self._journal = ReplayJournal(room_bytes)
        self._sender, self._instance, self._number = secrets.token_hex(16), "", 1
        self._batch: list[RecordEvent] = []
        self._lost = 0
        self._closing_s, self._deadline_s = closing_s, float("inf")
        self._closing = Event()
        self.trouble: Exception | None = None
        self._thread = Thread(target=self._run, name="weaklink-remote", daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        """How many events were dropped or refused, plus open traces of which a new server receives only the end."""
        return self._queue.dropped + self._lost + self._journal.forgotten

    def accept(self, event: RecordEvent) -> None:
        """Take one event; never waits for the network and never raises."""
        self._queue.put(event)

    def close(self) -> None:
        """Send what is queued. SinkError if the server did not accept it in time; it is then lost."""
        if self._closing.is_set():
            return
        self._deadline_s = time.monotonic() + self._closing_s
        self._closing.set()
        self._queue.close()
        self._thread.join()
        self._server.close()
        left = len(self._batch) + len(self._queue)
        if left:
            self._lost += left
            raise SinkError(f"{self._server.place} did not accept {left} events: {self.trouble}") from self.trouble

    def _run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while self._next_batch():
            try:
                self._send()
            except (OSError, http.client.HTTPException, SinkError) as error:
                self._server.close()
                self.trouble = error
                left_s = self._deadline_s - time.monotonic()
                if left_s <= 0:
                    return
                # while closing, `wait` would return at once
                time.sleep(min(pause_s, left_s)) if self._closing.is_set() else self._closing.wait(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            else:
                self.trouble = None
                pause_s = _FIRST_PAUSE_S

    def _next_batch(self) -> bool:
        """Wait for something to send; False if nothing more will come."""
        while not self._batch:
            self._queue.wait()
            self._closing.wait(_TOGETHER_S)
            self._batch = self._queue.take(_AT_ONCE)
            if not self._batch and self._closing.is_set():
                return False
        return True

    def _send(self) -> None:
        status, reason, instance = self._post()
        if status in TAKEN:
            self._journal.note(self._batch)
            self._instance = instance
            self._done()
        elif status == HTTPStatus.CONFLICT and instance and instance != self._instance:
            self._instance = instance
            self._queue.put_back([*self._journal.replay(), *self._batch])
            self._journal.clear()
            self._done()
        elif status in NEVER:
            self._lost += len(self._batch)
            self._done()
            raise SinkError(f"{self._server.place} refuses the events ({status} {reason}).")
        else:
            raise SinkError(f"{self._server.place} does not accept record events ({status} {reason}).")

    def _done(self) -> None:
        self._batch = []
        self._number += 1

    def _post(self) -> tuple[int, str, str]:
        body = (header_line() + "".join(map(event_line, self._batch))).encode("ascii")
        headers = {SENDER: self._sender, BATCH: str(self._number)}
        if self._instance:
            headers[INSTANCE] = self._instance
        return self._server.post(body, headers)


class _JournalEntry(Struct):
    started: TraceStarted | None = None
    ended: dict[int, TurnEnded] = field(default_factory=dict)
    open: dict[int, list[TurnStarted | ChunksArrived]] = field(default_factory=dict)
    bytes: int = 0

    def note(self, event: TraceStarted | TurnStarted | ChunksArrived | TurnEnded) -> int:
        """Add an event; returns the change of the entry's size in bytes."""
        before = self.bytes
        self.bytes += event_weight(event)
        match event:
            case TraceStarted():
                self.started = event
            case TurnEnded(_, number):
                self.bytes -= sum(map(event_weight, self.open.pop(number, ())))
                self.ended[number] = event
            case _:
                self.open.setdefault(event.turn, []).append(event)
        return self.bytes - before


class ReplayJournal:
    """The events of open traces, shortened: a turn that ended needs no chunks.

    Above `room_bytes` the trace that began first is dropped and counted in `forgotten`.
    """

    def __init__(self, room_bytes: int) -> None:
        self._room = room_bytes
        self._traces: dict[str, _JournalEntry] = {}
        self._bytes = 0
        self.forgotten = 0

    def note(self, events: Iterable[RecordEvent]) -> None:
        """Add events that the server accepted."""
        for event in events:
            if isinstance(event, TraceEnded):
                self._forget(event.key)
            else:
                self._bytes += self._traces.setdefault(event.key, _JournalEntry()).note(event)
        while self._bytes > self._room and self._traces:
            self._forget(next(iter(self._traces)))
            self.forgotten += 1

    def replay(self) -> Iterator[RecordEvent]:
        """The events of the open traces from their beginning."""
        for entry in self._traces.values():
            if entry.started is not None:
                yield entry.started
            yield from entry.ended.values()
            for events in entry.open.values():
                yield from events

    def clear(self) -> None:
        """Forget everything: the server has accepted nothing."""
        self._traces.clear()
        self._bytes = 0

    def _forget(self, key: str) -> None:
        entry = self._traces.pop(key, None)
        self._bytes -= 0 if entry is None else entry.bytes
