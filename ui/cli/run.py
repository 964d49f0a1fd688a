"""`weaklink run -- COMMAND`: record a command's requests to models without changing it, and print the result."""

import asyncio
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from threading import Lock
from typing import NoReturn

from msgspec.structs import replace

from inspector.capture.client_addresses import client_variables, routes
from inspector.capture.event_lines import EVENTS_PATH
from inspector.capture.events import ExchangeFacts, RecordEvent, TraceStarted
from inspector.capture.outbox_sink import OutboxSink
from inspector.capture.proxy import ProxyConfig, running_proxy
from inspector.capture.proxy.server import events_route
from inspector.capture.recorder import Recorder
from inspector.capture.redacting import Redacts
from inspector.diagnostics import Diagnostic
from inspector.errors import StoreError, WeaklinkError
from inspector.model import ExternalId, ParentTrace, Span, ToolCall
from inspector.rules.catalogue import find_rule
from inspector.sessions.exchange import ExchangeEnd
from storage import StoreSink, TraceSummary, open_store
from storage.exchanges import RUN_ID
from ui.cli.console import print_lines
from ui.cli.redaction_options import redactor_of
from ui.cli.supervisor import CommandEnd, Supervisor
from ui.views.styled_text import GLYPHS, Line, Run, Style, counted, style_of, visible_line
from ui.views.trace_summary import break_words, listed_status, listed_title

FAILED = 125
"""The exit code if weaklink itself failed."""
_MOST_LINES = 20
_TITLE = 60
SUMMED = 16
"""The number of blocks of traces that a recording sums up at its end; each takes a tenth of a second."""
_ENDS = {
    ExchangeEnd.UPSTREAM_DROPPED: "the upstream closed the connection",
    ExchangeEnd.CLIENT_LEFT: "the client disconnected",
    ExchangeEnd.NOT_CONNECTED: "the upstream could not be reached",
    ExchangeEnd.TIMED_OUT: "timed out",
    ExchangeEnd.NOT_STORED: "the recording stopped",
}


class RunSink:
    """A sink that adds the id of the run to every trace, and a parent if it has none."""

    def __init__(self, sink: StoreSink, run_id: str, parent: ParentTrace | None = None) -> None:
        self._sink, self._id, self._parent = sink, ExternalId(RUN_ID, run_id), parent

    def accept(self, event: RecordEvent) -> None:
        """Pass one event on."""
        if isinstance(event, TraceStarted):
            trace = event.trace
            ids = (*trace.external_ids, self._id)
            event = replace(event, trace=replace(trace, external_ids=ids, parent=trace.parent or self._parent))
        self._sink.accept(event)

    def close(self) -> None:
        """Close the sink, which writes what it has buffered."""
        self._sink.close()


def run(
    command: tuple[str, ...],
    upstream: str | None,
    patterns: tuple[str, ...],
    where: str | None,
    *,
    run_id: str | None,
    check: bool,
    quiet: bool,
    no_redact: bool,
    no_content: bool,
    color: str,
) -> None:
    """`weaklink run`; see its help."""
    run_command(
        command,
        upstream,
        where,
        redactor_of(patterns, no_redact=no_redact, no_content=no_content, environment=os.environ),
        run_id=run_id,
        check=check,
        quiet=quiet,
        color=color,
    )


def run_command(
    command: Sequence[str],
    upstream: str | None,
    where: str | None,
    redactor: Redacts,
    *,
    run_id: str | None = None,
    check: bool,
    quiet: bool,
    color: str,
) -> NoReturn:
    """Run a command, record it, print the result, and exit with its code."""
    try:
        paths, upstreams = routes(os.environ, upstream)
        supervisor = Supervisor()
        run_id = run_id or secrets.token_hex(6)
        with open_store(where) as store:
            sink = StoreSink(store)
            lines = RequestLines(lambda line: None, is_quiet=True)
            recorder = Recorder(RunSink(sink, run_id), redactor=redactor, watch=lines)
            try:
                config = ProxyConfig(upstreams=upstreams, port=0)
                ended = asyncio.run(_supervised(config, recorder, sink, supervisor, command=command, paths=paths))
            finally:
                recorder.close()
                sink.close()
            with suppress(StoreError):
                store.statistics.sum_pending(limit=SUMMED)
            found = store.traces(f"session:{run_id}", limit=_MOST_LINES + 1)
            is_broken = store.paging().count(f"session:{run_id} status:broken") > 0
            place = str(store.place)
    except (WeaklinkError, OSError) as error:
        sys.stderr.write(f"weaklink: {visible_line(str(error))}\n")
        raise SystemExit(FAILED) from error
    if ended.problem:
        sys.stderr.write(f"weaklink: cannot run `{visible_line(command[0])}`: {ended.problem}\n")
    elif not quiet:
        summary = [
            *farewell(lines.requests, lines.others, redactor.count, lost=list(lost_messages(recorder, sink))),
            *session_lines(found, place if where else ""),
        ]
        print_lines(summary if lines.requests else _no_requests(lines.others), color=color, stream=sys.stderr)
    raise SystemExit(1 if check and not ended.code and is_broken else ended.code)


async def _supervised(
    config: ProxyConfig,
    recorder: Recorder,
    sink: StoreSink,
    supervisor: Supervisor,
    *,
    command: Sequence[str],
    paths: Mapping[str, str],
) -> CommandEnd:
    """Run the command while the proxy serves it."""
    async with running_proxy(config, recorder, own_routes={EVENTS_PATH: events_route(sink)}) as address:
        supervisor.launch(command, client_variables(address, paths, os.environ))
        return await asyncio.to_thread(supervisor.wait)


def session_lines(found: Sequence[TraceSummary], where: str) -> Iterator[Line]:
    """A line for each session of a run: status, title, break, and the command that shows it."""
    for one in found[:_MOST_LINES]:
        words: list[Run] = [listed_status(one), Run(f"  {visible_line(listed_title(one)[:_TITLE])}")]
        if one.broken is not None:
            words += [Run("  "), *break_words(one.broken)]
        words.append(Run(f"  weaklink show {one.id}{f' --db {where}' if where else ''}", Style.DIM))
        yield tuple(words)
    if len(found) > _MOST_LINES:
        yield (Run(f"and more: weaklink list session:{dict(found[0].external_ids)[RUN_ID]}", Style.DIM),)


def _no_requests(others: int) -> Iterator[Line]:
    passed = f" ({counted(others, 'request')} of another kind passed through)" if others else ""
    yield (
        Run(
            f"weaklink: no request to a model came through the proxy{passed}: the command made none, or its code or "
            "settings name another address, and it does not read the environment."
        ),
    )


class RequestLines:
    """Prints a line per request to a model; counts the other requests."""

    def __init__(self, put: Callable[[Line], object], *, is_quiet: bool) -> None:
        self._put, self._is_quiet = put, is_quiet
        self._lock = Lock()
        self._is_storing = True
        self.requests = self.others = 0

    def span_closed(self, key: str, turn: int, part: str, span: Span, calls: Sequence[ToolCall]) -> None:
        """Print nothing: `weaklink tail` shows spans."""

    def fault_found(self, key: str, turn: int, diagnostic: Diagnostic) -> None:
        """Print nothing yet: the request's line counts faults."""

    def exchange_ended(self, facts: ExchangeFacts) -> None:
        """Count the request, and print its line."""
        if not facts.key:
            self.others += 1
            return
        self.requests += 1
        if not self._is_quiet:
            with self._lock:
                self._put(request_line(facts, datetime.now().astimezone().strftime("%H:%M:%S")))

    def trouble(self, message: str) -> None:
        """Print a problem of the recorder."""
        self._print(message)

    def storing(self, trouble: Exception | None, backlog: int, *, taker: str, where: str) -> None:
        """Print a message when `taker` begins to refuse the record, and when it accepts it again."""
        if trouble is not None and backlog and self._is_storing:
            self._is_storing = False
            self._print(f"{trouble}. The traffic continues; the record is queued {where}.")
        elif not backlog and not self._is_storing:
            self._is_storing = True
            self._print(f"The {taker} accepts the record again; the queue is empty.")

    def _print(self, message: str) -> None:
        with self._lock:
            sys.stderr.write(f"weaklink: {visible_line(message)}\n")
            sys.stderr.flush()


def request_line(facts: ExchangeFacts, time: str) -> Line:
    """The line of one request: time, method, path, model, status, durations, how it ended, and the answer's faults."""
    runs = [
        Run(f"{time} ", Style.DIM),
        Run(f"{facts.method} {visible_line(facts.target.partition('?')[0])} "),
        *((Run(f"{visible_line(facts.model)} ", Style.STRONG),) if facts.model else ()),
        _status(facts),
    ]
    runs += [Run(f", {fact}") for fact in _times(facts)]
    if facts.end in _ENDS and not _is_done(facts):
        runs += (Run(", "), Run(_ENDS[facts.end], Style.ERROR))
    runs += _faults(facts.faults)
    return tuple(runs)


def farewell(requests: int, others: int, redacted: int, *, lost: Sequence[str]) -> Iterator[Line]:
    """What a recording recorded and what it lost, printed when it ends."""
    text = f"weaklink: recorded {counted(requests, 'request')}"
    text += f", {others:,} others passed through" if others else ""
    text += f"; {counted(redacted, 'secret')} replaced" if redacted else ""
    yield (Run(f"{text}."),)
    for sentence in lost:
        yield (Run(f"{GLYPHS['warning']} {sentence}", Style.WARNING),)


def lost_messages(recorder: Recorder, sink: StoreSink | OutboxSink) -> Iterator[str]:
    """What a recording lost or nearly lost, one sentence each."""
    if recorder.dropped_bytes:
        yield f"{recorder.dropped_bytes:,} bytes arrived faster than they could be recorded; their turns report it."
    if recorder.refused_events:
        yield f"{counted(recorder.refused_events, 'event')} could not be passed to the database."
    if isinstance(sink, OutboxSink):
        if sink.backlog:
            waits = f"{counted(sink.backlog, 'batch', 'batches')} of events are queued in {sink.place}"
            yield f"{waits}; the next `weaklink record --to` sends them."
        if sink.dropped:
            yield f"{counted(sink.dropped, 'event')} were dropped: the queue was full, or the collector refused them."
    elif sink.trouble is not None:
        yield f"The database refused writes for a time: {visible_line(str(sink.trouble))}."


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


def _is_done(facts: ExchangeFacts) -> bool:
    """Whether the answer was complete although the client closed first, as openai's SDK does."""
    return facts.end is ExchangeEnd.CLIENT_LEFT and "C504" not in facts.faults


def _faults(faults: Mapping[str, int]) -> Iterator[Run]:
    for code, number in sorted(faults.items()):
        rule = find_rule(code)
        times = f" x{number}" if number > 1 else ""
        yield Run(f"  {GLYPHS[rule.severity.value]} {code} {rule.name}{times}", style_of(rule.severity))
