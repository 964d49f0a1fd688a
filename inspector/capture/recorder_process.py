"""A recorder in a process of its own: who forwards traffic never waits for what is recorded of it.

The process that forwards keeps what it observes in a queue, and its event loop writes the queue into a pipe every few
milliseconds, as far as the pipe takes it: it copies bytes and decodes nothing. The recorder's process reads the pipe
and reports each exchange to a `Recorder`, which decodes, redacts and stores it there. A second pipe brings back a
report at the start, after each exchange and at the end.

    client <-> proxy (event loop) -> queue -> pipe -> MessageReader -> Recorder -> sink
                                        <- reports <-

* Bounds: the queue has at most `max_waiting_bytes`; beyond that, bytes are dropped, and the turn states it. The
  recorder's process stops reading while much is waiting there, so a slow recorder fills the queue and nothing else.
* End: `close` writes what is left and closes the pipe; the recorder then processes everything and sends its last
  report. If this process is killed, the pipe closes too, and the recorder stores what it has. Signals to the process
  group, such as Ctrl-C, do not reach the recorder: it ends with the pipe.
* If the recorder's process dies, another one takes over with what is still in the queue, at most `_MAX_STARTS` times
  in all. Exchanges that the dead process knew and had not reported are stored up to that moment or not at all; they
  are counted and reported, as are those that no process is left to record. Forwarding goes on in any case.
* The process is forked, and replaces all files and sockets of its parent by /dev/null: a connection that the proxy
  closes must be closed, and a number that an object of the parent still knows must not name another file.
"""

import asyncio
import json
import logging
import os
import selectors
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from msgspec import Struct, structs

from weaklink.inspector.capture.event_buffer import PER_EXCHANGE, PER_PIECE, IgnoringObserver
from weaklink.inspector.capture.exchange_messages import (
    AnswerArrived,
    AnswerBegan,
    BytesDropped,
    ExchangeBegan,
    ExchangeEnded,
    ExchangeMessage,
    MessageReader,
    RequestArrived,
    began_message,
    frame_of,
    raw_headers,
    raw_text,
)
from weaklink.inspector.capture.recorder import MAX_WAITING_BYTES, Recorder
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.sessions.exchange import ExchangeEnd, ExchangeObserver, Headers, RequestHead
from weaklink.inspector.text import counted

_LOG = logging.getLogger("weaklink")
_GATHER_S = 0.02
_BATCH_BYTES = 1 << 18  # encoded and written in one step of the event loop: about 0.1 ms
_PIPE_BYTES = 1 << 20  # the most that Linux allows every user; other systems have their own size
_READ_BYTES = 1 << 20
_MAX_UNPROCESSED_BYTES = 64 << 20  # in the recorder's process, before it stops reading
_FULL_PAUSE_S = 0.01
_POLL_S = 1.0
_MAX_STARTS = 4
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


class RecorderReport(Struct, frozen=True):
    """What a recorder's process has done so far.

    `requests` are those to models, `others` those to anything else, of which `unanswered` got no answer,
    `last_failure` says why. `redacted` counts secrets, `dropped_bytes` and `refused_events` what was lost,
    `unrecorded` the requests that were lost with a process. `trouble` is the last error of the sink. `problem` is why
    recording could not begin or not be completed.
    """

    target: str = ""
    requests: int = 0
    others: int = 0
    unanswered: int = 0
    last_failure: str = ""
    redacted: int = 0
    dropped_bytes: int = 0
    refused_events: int = 0
    unrecorded: int = 0
    trouble: str = ""
    problem: str = ""
    is_last: bool = False


class ForwarderConnection:
    """The recorder's end of the pipes: reads what the other process observed, and sends reports."""

    def __init__(self, messages: int, reports: int) -> None:
        self._messages, self._reports = messages, reports

    def report(self, report: RecorderReport) -> None:
        """Send a report; if the other process has ended, the logger `weaklink` logs its problem, if there is one."""
        try:
            os.write(self._reports, json.dumps(structs.asdict(report)).encode() + b"\n")
        except OSError:
            if report.problem:
                _LOG.warning("%s", report.problem)

    def observe(self, recorder: Recorder, poll: Callable[[], object] = lambda: None) -> None:
        """Report all exchanges to the recorder until the other process ends; calls `poll` about once a second."""
        reader = MessageReader(recorder)
        polled_at_s = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self._messages, selectors.EVENT_READ)
            while True:
                is_full = recorder.waiting_bytes > _MAX_UNPROCESSED_BYTES
                if is_full:
                    time.sleep(_FULL_PAUSE_S)
                elif selector.select(_POLL_S):
                    piece = os.read(self._messages, _READ_BYTES)
                    if not piece:
                        return
                    reader.feed(piece)
                if time.monotonic() - polled_at_s >= _POLL_S:
                    polled_at_s = time.monotonic()
                    poll()


class RecorderProcess:
    """Observes exchanges for a recorder in another process; see the module's docstring and `Observes`.

    `record` runs there: it reports once it can record, passes a recorder to `ForwarderConnection.observe`, and returns
    its last report after everything is stored. `on_trouble` receives sentences on a process that died. Exchanges must
    begin and be reported in one event loop. `close` must be called after that loop has ended.

    Raises WeaklinkError if the process reports a problem before it can record.
    """

    def __init__(
        self,
        record: Callable[[ForwarderConnection], RecorderReport],
        *,
        on_trouble: Callable[[str], object],
        max_waiting_bytes: int = MAX_WAITING_BYTES,
    ) -> None:
        self.dropped_exchanges = 0
        self._record, self._on_trouble = record, on_trouble
        self._max_waiting_bytes = max_waiting_bytes
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queue: deque[ExchangeMessage] = deque()
        self._waiting_bytes = 0
        self._unsent = memoryview(b"")
        self._is_scheduled = self._is_closing = False
        self._last_number = 0
        self._open: set[int] = set()  # exchanges that the process knows and whose end it does not
        self._lost: set[int] = set()  # exchanges that a dead process knew: nothing more of them is sent
        self._starts = 0
        self._unrecorded = 0
        self.pid = 0
        self._is_sent = False
        self._earlier: list[RecorderReport] = []  # the last reports of dead processes
        self._start()
        self._wait_until_ready()

    @property
    def target(self) -> str:
        """Where the recorder stores."""
        return self._report.target

    def began(self, head: RequestHead) -> ExchangeObserver:
        """An observer for an exchange that begins; one that keeps nothing if too much is waiting, or nobody records."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._reports, self._read_reports)
        if not self.pid:
            self._unrecorded += 1
            return IgnoringObserver()
        if not self.admits(PER_EXCHANGE):
            self.dropped_exchanges += 1
            return IgnoringObserver()
        self._last_number += 1
        self.send(began_message(self._last_number, head))
        return _ExchangeSender(self._last_number, self)

    def admits(self, size: int) -> bool:
        """Whether there is room in the queue for so many bytes; if so, they count as waiting."""
        if self._waiting_bytes + size > self._max_waiting_bytes:
            return False
        self._waiting_bytes += size
        return True

    def send(self, message: ExchangeMessage) -> None:
        """Put a message into the queue; the caller has checked its bytes with `admits`."""
        if message.number in self._lost or not self.pid:
            if isinstance(message, ExchangeEnded):
                self._lost.discard(message.number)
            self._waiting_bytes -= _cost(message)
            return
        self._queue.append(message)
        if not self._is_scheduled and self._loop is not None:
            self._is_scheduled = True
            self._loop.call_later(_GATHER_S, self._write)

    def close(self) -> RecorderReport:
        """Send what is waiting; returns the recorder's last report, once it has stored everything."""
        self._loop, self._is_closing = None, True
        with selectors.DefaultSelector() as selector:
            while self.pid:
                if not self._is_sent and not self._queue and not self._unsent:
                    self._is_sent = True
                    os.close(self._messages)
                self._continue_closing(selector)
        return self._total()

    def _continue_closing(self, selector: selectors.BaseSelector) -> None:
        """Wait until a pipe is ready, and read or write once."""
        selector.register(self._reports, selectors.EVENT_READ)
        if not self._is_sent:
            selector.register(self._messages, selectors.EVENT_WRITE)
        ready = {key.fd for key, _ in selector.select()}
        for number in tuple(selector.get_map()):
            selector.unregister(number)
        if self._reports in ready:
            self._read_reports()
        else:
            self._write_once()

    def _start(self) -> None:
        """Fork the recorder's process."""
        messages, self._messages = os.pipe()
        self._reports, reports = os.pipe()
        _flush()
        self._starts += 1
        self._began = 0
        self._report = RecorderReport()
        self._unread = b""
        self._is_sent = False
        self.pid = os.fork()
        if not self.pid:
            _run_recorder(self._record, messages, reports)
        os.close(messages)
        os.close(reports)
        os.set_blocking(self._messages, False)
        _enlarge(self._messages)

    def _wait_until_ready(self) -> None:
        while b"\n" not in self._unread and (piece := os.read(self._reports, _READ_BYTES)):
            self._unread += piece
        self._take_reports()
        if self._report.is_last or not self._report.target:
            self._end_process()
            raise WeaklinkError(self._report.problem or "the recorder's process ended before it could record")
        os.set_blocking(self._reports, False)

    def _write(self) -> None:
        """Write a batch, and plan the next: in the event loop."""
        loop = self._loop
        self._is_scheduled = False
        if loop is None or not self.pid or not self._write_once():
            return
        if self._unsent:
            self._is_scheduled = True
            loop.add_writer(self._messages, self._write)
            return
        loop.remove_writer(self._messages)
        if self._queue:
            self._is_scheduled = True
            loop.call_soon(self._write)

    def _write_once(self) -> bool:
        """Write what the pipe takes of one batch; False if the recorder's process is gone."""
        if not self._unsent and self._queue:
            self._unsent = memoryview(frame_of(self._take_batch()))
        try:
            self._unsent = self._unsent[os.write(self._messages, self._unsent) :]
        except BlockingIOError:
            pass
        except OSError:
            self._process_died()
            return False
        return True

    def _take_batch(self) -> Sequence[ExchangeMessage]:
        batch: list[ExchangeMessage] = []
        size = 0
        while self._queue and size < _BATCH_BYTES:
            message = self._queue.popleft()
            batch.append(message)
            size += _cost(message)
            if isinstance(message, ExchangeBegan):
                self._began += 1
                self._open.add(message.number)
            elif isinstance(message, ExchangeEnded):
                self._open.discard(message.number)
        self._waiting_bytes -= size
        return batch

    def _read_reports(self) -> None:
        try:
            piece = os.read(self._reports, _READ_BYTES)
        except BlockingIOError:
            return
        if piece:
            self._unread += piece
            self._take_reports()
        elif self._is_sent and self._report.is_last:
            self._end_process()
        else:
            self._process_died()

    def _take_reports(self) -> None:
        *lines, self._unread = self._unread.split(b"\n")
        if lines:
            self._report = RecorderReport(**json.loads(lines[-1]))  # not msgspec: a path may have lone surrogates

    def _end_process(self) -> int:
        """Forget the process, which has ended; its exit code, negative for a signal."""
        if self._loop is not None:
            self._loop.remove_writer(self._messages)
            self._loop.remove_reader(self._reports)
        os.close(self._reports)
        if not self._is_sent:
            os.close(self._messages)
        pid, self.pid = self.pid, 0
        try:
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        except ChildProcessError:
            return 0

    def _process_died(self) -> None:
        """Report that the recorder's process is gone, and start another one."""
        code = self._end_process()
        lost = max(self._began - self._report.requests - self._report.others, 0)
        self._unrecorded += lost
        self._earlier.append(self._report)
        self._report = RecorderReport(target=self._report.target)
        kept = {message.number for message in self._queue if isinstance(message, ExchangeBegan)}
        self._lost |= self._open
        self._open.clear()
        self._queue = deque(message for message in self._queue if message.number in kept)
        self._waiting_bytes = sum(map(_cost, self._queue))
        self._unsent = memoryview(b"")
        self._is_scheduled = False
        why = _why_ended(code, self._earlier[-1].problem)
        if lost:
            why += f"; {counted(lost, 'request')} {'is' if lost == 1 else 'are'} not recorded, or only in part"
        if self._is_closing and not self._queue:
            self._on_trouble(f"{why}.")
        elif self._starts < _MAX_STARTS and self._start_again():
            self._on_trouble(f"{why}. A new one records from now on.")
        else:
            self._unrecorded += len(kept)
            self._queue.clear()
            self._on_trouble(f"{why}. The traffic continues, and nothing is recorded from now on.")

    def _start_again(self) -> bool:
        """Start another process; whether there is one."""
        try:
            self._start()
        except OSError:  # no processes or pipes are left
            return False
        os.set_blocking(self._reports, False)
        if self._loop is not None:
            self._loop.add_reader(self._reports, self._read_reports)
            self._is_scheduled = True
            self._loop.call_soon(self._write)
        return True

    def _total(self) -> RecorderReport:
        reports = [*self._earlier, self._report]
        return RecorderReport(
            target=self._report.target,
            requests=sum(report.requests for report in reports),
            others=sum(report.others for report in reports),
            unanswered=sum(report.unanswered for report in reports),
            last_failure=next((report.last_failure for report in reversed(reports) if report.last_failure), ""),
            redacted=sum(report.redacted for report in reports),
            dropped_bytes=sum(report.dropped_bytes for report in reports),
            refused_events=sum(report.refused_events for report in reports),
            unrecorded=self._unrecorded + self.dropped_exchanges,
            trouble=next((report.trouble for report in reversed(reports) if report.trouble), ""),
            problem=self._report.problem,
            is_last=True,
        )


class _ExchangeSender:
    """Observes one exchange; see `ExchangeObserver`."""

    __slots__ = ("_answer_dropped", "_dropped", "_number", "_process", "_request_dropped")

    def __init__(self, number: int, process: RecorderProcess) -> None:
        self._number, self._process = number, process
        self._request_dropped = self._answer_dropped = False
        self._dropped = [0, 0]  # bytes of the request and of the answer that are not yet reported

    def request_arrived(self, raw: bytes) -> None:
        """More of the request's body."""
        if self._request_dropped or not self._process.admits(len(raw) + PER_PIECE):
            self._dropped[0] += len(raw)
            if not self._request_dropped:
                self._request_dropped = True
                self._report_dropped()
        else:
            self._process.send(RequestArrived(self._number, raw))

    def answer_began(self, status: int, headers: Headers, at_s: float | None) -> None:
        """The answer's status and headers came."""
        self._process.send(AnswerBegan(self._number, status, raw_headers(headers), at_s))

    def answer_arrived(self, raw: bytes, at_s: float | None) -> None:
        """More of the answer's body."""
        if self._answer_dropped or not self._process.admits(len(raw) + PER_PIECE):
            self._dropped[1] += len(raw)
            if not self._answer_dropped:
                self._answer_dropped = True
                self._report_dropped()
        else:
            self._process.send(AnswerArrived(self._number, raw, at_s))

    def ended(self, end: ExchangeEnd, at_s: float | None, message: str = "") -> None:
        """The exchange has ended."""
        if any(self._dropped):
            self._report_dropped()
        self._process.send(ExchangeEnded(self._number, end, at_s, raw_text(message)))

    def _report_dropped(self) -> None:
        of_request, of_answer = self._dropped
        self._dropped = [0, 0]
        self._process.send(BytesDropped(self._number, of_request, of_answer))


def _cost(message: ExchangeMessage) -> int:
    """How many bytes of the queue a message counts for."""
    match message:
        case ExchangeBegan():
            return PER_EXCHANGE
        case RequestArrived() | AnswerArrived():
            return len(message.raw) + PER_PIECE
        case _:
            return 0  # three to an exchange, which counts for more than it needs


def _run_recorder(record: Callable[[ForwarderConnection], RecorderReport], messages: int, reports: int) -> NoReturn:
    """The process of the recorder."""
    try:
        signal.set_wakeup_fd(-1)
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        _leave_files_of_parent({messages, reports})
        connection = ForwarderConnection(messages, reports)
        connection.report(_last_report(record, connection))
        _flush()
    finally:
        os._exit(0)


def _last_report(
    record: Callable[[ForwarderConnection], RecorderReport], connection: ForwarderConnection
) -> RecorderReport:
    try:
        return record(connection)
    except (WeaklinkError, OSError) as error:
        return RecorderReport(problem=str(error), is_last=True)
    except Exception as error:  # noqa: BLE001  # the other process reports it
        return RecorderReport(problem=f"the recorder failed: {type(error).__name__}: {error}", is_last=True)


def _flush() -> None:
    """Print what is waiting to be printed: after a fork, both processes would."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads it any more
            stream.flush()


def _leave_files_of_parent(own: set[int]) -> None:
    """Replace all files but the standard streams and `own` by /dev/null; see the module's docstring."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in [int(path.name) for path in Path("/dev/fd").iterdir()]:
        if number > 2 and number != null and number not in own:
            with suppress(OSError):  # the listing's own
                os.fstat(number)
                os.dup2(null, number, inheritable=False)


def _enlarge(pipe: int) -> None:
    """Give a pipe more room, where the system can: fewer writes of a giant body."""
    if sys.platform == "linux":
        import fcntl  # noqa: PLC0415  # fcntl is not on every system

        with suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _why_ended(code: int, problem: str) -> str:
    if problem:
        return f"The recorder's process ended: {problem.rstrip('.')}"
    if code < 0:
        return f"The recorder's process was ended by signal {-code} ({signal.strsignal(-code)})"
    return "The recorder's process ended"
