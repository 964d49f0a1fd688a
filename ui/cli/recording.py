"""The recording behind a proxy: a recorder of the database in a process of its own, and what it prints."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from threading import Lock

import click
from msgspec.structs import replace

from weaklink.inspector.capture.events import ExchangeFacts, RecordEvent, Sink, TraceStarted
from weaklink.inspector.capture.proxy.config import DEFAULT_PORT
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.capture.recorder_process import ForwarderConnection, RecorderProcess, RecorderReport
from weaklink.inspector.capture.redacting import Redacts
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.model import ExternalId, ParentTrace, Span, ToolCall
from weaklink.inspector.rules.catalogue import find_rule
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.sessions.exchange import ExchangeEnd
from weaklink.storage.exchanges import RUN_ID
from weaklink.storage.live import StoreSink
from weaklink.storage.liveness import IDLE_AFTER_S
from weaklink.storage.store import open_store
from weaklink.ui.cli.console import print_notice
from weaklink.ui.views.status import GLYPHS
from weaklink.ui.views.styled_text import Line, Run, Style, counted, style_of, visible_line

_ENDS = {
    ExchangeEnd.UPSTREAM_DROPPED: "the upstream closed the connection",
    ExchangeEnd.CLIENT_LEFT: "the client disconnected",
    ExchangeEnd.NOT_CONNECTED: "the upstream could not be reached",
    ExchangeEnd.TIMED_OUT: "timed out",
    ExchangeEnd.NOT_STORED: "the recording stopped",
}

port_option = click.option(
    "--port", default=DEFAULT_PORT, show_default=True, metavar="N", help="The port to listen on; 0 for any free port."
)

no_default_upstreams_option = click.option(
    "--no-default-upstreams",
    is_flag=True,
    help="Refuse requests to servers that neither --upstream nor an environment variable names.",
)


def start_recording(
    where: str | None,
    redactor: Redacts,
    *,
    lines: "RequestLines",
    wrap: Callable[[StoreSink], Sink] = lambda sink: sink,
    format: str = "",
    idle_after_s: float = IDLE_AFTER_S,
    reports_storing: bool = False,
) -> RecorderProcess:
    """Start a process that records into the database; call it before the program has threads, since it forks.

    `lines` are printed there. `wrap` makes the recorder's sink from the database's. With `reports_storing`, `lines`
    also report when the database refuses the record. Raises WeaklinkError if the database cannot be opened.
    """

    def record(connection: ForwarderConnection) -> RecorderReport:
        with open_store(where) as store:
            sink = StoreSink(store, idle_after_s=idle_after_s)
            recorder = Recorder(wrap(sink), redactor=redactor, watch=lines, format=format)
            location = str(store.location)

            def poll() -> None:
                if reports_storing:
                    lines.storing(sink.trouble, sink.backlog)

            lines.on_ended = lambda: connection.report(_report(location, lines, redactor, recorder, sink))
            lines.on_ended()
            problem = ""
            try:
                connection.observe(recorder, poll)
            finally:
                recorder.close()
                try:
                    sink.close()
                except (WeaklinkError, OSError) as error:
                    problem = str(error)
            return replace(_report(location, lines, redactor, recorder, sink), problem=problem, is_last=True)

    return RecorderProcess(record, on_trouble=print_notice)


def _report(
    location: str, lines: "RequestLines", redactor: Redacts, recorder: Recorder, sink: StoreSink
) -> RecorderReport:
    return RecorderReport(
        target=location,
        requests=lines.requests,
        others=lines.others,
        unanswered=lines.unanswered,
        last_failure=lines.last_failure,
        redacted=redactor.count,
        dropped_bytes=recorder.dropped_bytes,
        refused_events=recorder.refused_events,
        trouble="" if sink.trouble is None else str(sink.trouble),
    )


class RunSink:
    """A sink that adds the id of the run to every trace, and a parent if it has none.

    With `source`, the traces have this source instead of the recorder's (see `EXPERIMENT_SOURCES`).
    """

    def __init__(self, sink: StoreSink, run_id: str, parent: ParentTrace | None = None, source: str = "") -> None:
        self._sink, self._id, self._parent, self._source = sink, ExternalId(RUN_ID, run_id), parent, source

    def accept(self, event: RecordEvent) -> None:
        """Pass one event on."""
        if isinstance(event, TraceStarted):
            trace = event.trace
            ids = (*trace.external_ids, self._id)
            provenance = replace(trace.provenance, source=self._source or trace.provenance.source)
            parent = trace.parent or self._parent
            trace = replace(trace, external_ids=ids, parent=parent, provenance=provenance)
            event = replace(event, trace=trace)
        self._sink.accept(event)

    def close(self) -> None:
        """Close the sink, which writes what it has buffered."""
        self._sink.close()


class RequestLines:
    """Prints a line per request to a model; counts the other requests. `on_ended` is called after each."""

    def __init__(self, put: Callable[[Line], object], *, is_quiet: bool) -> None:
        self._put, self._is_quiet = put, is_quiet
        self._lock = Lock()
        self._is_storing = True
        self.requests = self.others = self.unanswered = 0
        self.last_failure = ""
        self.on_ended: Callable[[], object] = lambda: None

    def span_closed(self, key: str, turn: int, part: str, span: Span, calls: Sequence[ToolCall]) -> None:
        """Print nothing: `weaklink tail` shows spans."""

    def fault_found(self, key: str, turn: int, diagnostic: Diagnostic) -> None:
        """Print nothing yet: the request's line counts faults."""

    def exchange_ended(self, facts: ExchangeFacts) -> None:
        """Count the request, and print its line."""
        self._count(facts)
        self.on_ended()

    def trouble(self, message: str) -> None:
        """Print a problem of the recorder."""
        self._print(message)

    def storing(self, trouble: Exception | None, backlog: int) -> None:
        """Print a message when the database begins to refuse the record, and when it accepts it again."""
        if trouble is not None and backlog and self._is_storing:
            self._is_storing = False
            self._print(f"{trouble}. The traffic continues; the record is queued in memory.")
        elif not backlog and not self._is_storing:
            self._is_storing = True
            self._print("The database accepts the record again; the queue is empty.")

    def _count(self, facts: ExchangeFacts) -> None:
        if not facts.key:
            self.others += 1
            if facts.status is None and facts.end in _ENDS:
                self.unanswered += 1
                self.last_failure = _ENDS[facts.end]
            return
        self.requests += 1
        if not self._is_quiet:
            with self._lock:
                self._put(request_line(facts, datetime.now().astimezone().strftime("%H:%M:%S")))

    def _print(self, message: str) -> None:
        with self._lock:
            print_notice(message)


def request_line(facts: ExchangeFacts, time: str) -> Line:
    """The line of one request: time, method, path, model, status, durations, how it ended, and the answer's faults."""
    runs = [
        Run(f"{time} ", Style.DIM),
        Run(f"{facts.method} {visible_line(facts.target.partition('?')[0])} "),
        *((Run(f"{visible_line(facts.model)} ", Style.STRONG),) if facts.model else ()),
        _status(facts),
    ]
    runs += [Run(f", {fact}") for fact in _times(facts)]
    # openai's SDK closes first: then the answer is complete, unless it was cut off.
    is_done = facts.end is ExchangeEnd.CLIENT_LEFT and "C504" not in facts.faults
    if facts.end in _ENDS and not is_done:
        runs += (Run(", "), Run(_ENDS[facts.end], Style.ERROR))
    runs += _faults(facts.faults)
    return tuple(runs)


def recording_summary(report: RecorderReport) -> Iterator[Line]:
    """What a recording recorded and what it lost, printed when it ends."""
    text = f"weaklink: recorded {counted(report.requests, 'request')}"
    text += f", {report.others:,} others passed through" if report.others else ""
    text += f"; {counted(report.redacted, 'secret')} replaced" if report.redacted else ""
    yield (Run(f"{text}."),)
    yield from loss_lines(report)


def loss_lines(report: RecorderReport) -> Iterator[Line]:
    """What a recording lost or nearly lost."""
    for sentence in _losses(report):
        yield (Run(f"{GLYPHS[Severity.WARNING]} {sentence}", Style.WARNING),)


def _losses(report: RecorderReport) -> Iterator[str]:
    if report.dropped_bytes:
        yield f"{report.dropped_bytes:,} bytes arrived faster than they could be recorded; their turns report it."
    if report.unrecorded:
        are = "is" if report.unrecorded == 1 else "are"
        yield f"{counted(report.unrecorded, 'request')} {are} not recorded, or only in part."
    if report.refused_events:
        yield f"{counted(report.refused_events, 'event')} could not be passed to the database."
    if report.trouble:
        yield f"The database refused writes for a time: {visible_line(report.trouble)}."


def _status(facts: ExchangeFacts) -> Run:
    if facts.status is None:
        return Run("no answer", Style.ERROR)
    return Run(str(facts.status), Style.OK if facts.status < 400 else Style.ERROR)


def _times(facts: ExchangeFacts) -> Iterator[str]:
    if facts.first_token_s is not None:
        yield f"first token {_seconds(facts.first_token_s)}"
    if facts.output_tokens is not None:
        yield counted(facts.output_tokens, "token")
    elif facts.chunks:
        yield counted(facts.chunks, "chunk")
    if facts.duration_s is not None:
        yield _seconds(facts.duration_s)


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _faults(faults: Mapping[str, int]) -> Iterator[Run]:
    for code, number in sorted(faults.items()):
        rule = find_rule(code)
        times = f" x{number}" if number > 1 else ""
        yield Run(f"  {GLYPHS[rule.severity]} {code} {rule.name}{times}", style_of(rule.severity))
