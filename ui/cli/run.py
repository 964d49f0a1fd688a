"""`weaklink run -- COMMAND`: record a command's requests to models without changing it, and print the result."""

import asyncio
import os
import secrets
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import NoReturn
from urllib.parse import urlsplit

from msgspec.structs import replace

from weaklink.inspector.capture.client_addresses import ClientRoutes, client_variables, routes
from weaklink.inspector.capture.events import ExchangeFacts, RecordEvent, TraceStarted
from weaklink.inspector.capture.proxy import ProxyConfig, Upstream, running_proxy
from weaklink.inspector.capture.proxy.config import DEFAULT_PORT
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.capture.redacting import Redacts
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.model import ExternalId, ParentTrace, Span, ToolCall
from weaklink.inspector.rules.catalogue import find_rule
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.sessions.exchange import ExchangeEnd
from weaklink.storage import StoreSink, TraceSummary, open_store
from weaklink.storage.exchanges import RUN_ID
from weaklink.ui.cli.console import print_lines
from weaklink.ui.cli.redaction_options import redactor_of
from weaklink.ui.cli.server_parser_options import expected_format_name
from weaklink.ui.cli.supervisor import CommandEnd, Supervisor
from weaklink.ui.views.status import GLYPHS
from weaklink.ui.views.styled_text import Line, Run, Style, counted, style_of, visible_line
from weaklink.ui.views.trace_summary import listed_status, listed_title, reason_words

DEFAULT_HINT = "`--no-default-upstreams` refuses such requests."
"""The end of the sentence on a default upstream."""
FAILED = 125
"""The exit code if weaklink itself failed."""
SWITCH_S = 0.001
"""How long a stream's bytes may wait for the threads that build the record, in seconds; Python's default is 5 ms."""

_MOST_LINES = 20
_FAILED_LIMIT = 1_000
_MAX_COMMAND_CHARS = 120
_MAX_SCRIPT_BYTES, _MAX_ADDRESSES = 1 << 20, 3
# A server with a port, or one that serves `/v1`; anything else in a script is rarely a model's server.
_SERVER = lazy_pattern(
    r"https?://[A-Za-z0-9.-]{1,100}(?::\d{1,5}(?:/[\w./-]{0,100})?|/(?:[\w.-]{1,50}/){0,3}v1)(?![\w-])"
)
_TITLE = 60
_ENDS = {
    ExchangeEnd.UPSTREAM_DROPPED: "the upstream closed the connection",
    ExchangeEnd.CLIENT_LEFT: "the client disconnected",
    ExchangeEnd.NOT_CONNECTED: "the upstream could not be reached",
    ExchangeEnd.TIMED_OUT: "timed out",
    ExchangeEnd.NOT_STORED: "the recording stopped",
}


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


def run(
    command: tuple[str, ...],
    upstream: str | None,
    patterns: tuple[str, ...],
    where: str | None,
    *,
    run_id: str | None,
    experiment: str,
    check: bool,
    quiet: bool,
    no_default_upstreams: bool,
    format: str,
    server_parser: str,
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
        experiment=experiment,
        check=check,
        quiet=quiet,
        no_default_upstreams=no_default_upstreams,
        format=expected_format_name(format, server_parser),
        color=color,
    )


def run_command(
    command: Sequence[str],
    upstream: str | None,
    where: str | None,
    redactor: Redacts,
    *,
    run_id: str | None = None,
    experiment: str = "",
    check: bool,
    quiet: bool,
    no_default_upstreams: bool,
    format: str = "",
    color: str,
) -> NoReturn:
    """Run a command, record it, print the result, and exit with its code."""
    try:
        clients = routes(os.environ, upstream)
        supervisor = Supervisor()
        sys.setswitchinterval(SWITCH_S)
        run_id = run_id or secrets.token_hex(6)
        with open_store(where) as store:
            sink = StoreSink(store)
            lines = RequestLines(lambda line: None, is_quiet=True)
            recorder = Recorder(RunSink(sink, run_id, source=experiment), redactor=redactor, watch=lines, format=format)
            try:
                config = ProxyConfig(clients.upstreams, refuses_defaults=no_default_upstreams, port=0)
                for conflict in clients.conflicts:
                    lines.trouble(conflict)
                ended = asyncio.run(
                    _supervised(config, recorder, sink, supervisor, command=command, paths=clients.paths, lines=lines)
                )
            finally:
                recorder.close()
                sink.close()
            found = store.traces(f"session:{run_id}", limit=_MOST_LINES + 1)
            failed = store.traces(f"session:{run_id} status:broken,aborted", limit=_FAILED_LIMIT)
            is_broken = any(one.abort_reason != "client" for one in failed)
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
        print_lines(
            summary if lines.requests else _no_requests(lines, command, clients), color=color, stream=sys.stderr
        )
    raise SystemExit(1 if check and not ended.code and is_broken else ended.code)


async def _supervised(
    config: ProxyConfig,
    recorder: Recorder,
    sink: StoreSink,
    supervisor: Supervisor,
    *,
    command: Sequence[str],
    paths: Mapping[str, str],
    lines: "RequestLines",
) -> CommandEnd:
    """Run the command while the proxy serves it."""
    async with running_proxy(config, recorder, on_default=lambda one: lines.trouble(default_sentence(one))) as address:
        supervisor.launch(command, client_variables(address, paths, os.environ))
        return await asyncio.to_thread(supervisor.wait)


def default_sentence(upstream: Upstream) -> str:
    """What to print before the first request goes to an upstream that nobody chose."""
    return (
        f"{upstream.variable} is not set, so requests of {upstream.default_of}'s clients go to their default, "
        f"{upstream.url}. Set {upstream.variable} or use `--upstream URL` for another server; "
        f"{DEFAULT_HINT}"
    )


def session_lines(found: Sequence[TraceSummary], where: str) -> Iterator[Line]:
    """A line for each session of a run: status, title, break, and the command that shows it."""
    for one in found[:_MOST_LINES]:
        words: list[Run] = [listed_status(one), Run(f"  {visible_line(listed_title(one)[:_TITLE])}")]
        if reason := reason_words(one):
            words += [Run("  "), *reason]
        words.append(Run(f"  weaklink show {one.id}{f' --db {where}' if where else ''}", Style.DIM))
        yield tuple(words)
    if len(found) > _MOST_LINES:
        yield (Run(f"and more: weaklink list session:{dict(found[0].external_ids)[RUN_ID]}", Style.DIM),)


def _no_requests(lines: "RequestLines", command: Sequence[str], clients: ClientRoutes) -> Iterator[Line]:
    """Why nothing was recorded, and what to do about it."""
    yield (Run("weaklink: no request to a model came through the proxy."),)
    if lines.unanswered:
        yield (Run(f"  {counted(lines.unanswered, 'request')} of another kind got no answer: {lines.last_failure}."),)
    elif lines.others:
        yield (Run(f"  {counted(lines.others, 'request')} of another kind passed through."),)
    else:
        yield from _ways_out(command, clients)


def _ways_out(command: Sequence[str], clients: ClientRoutes) -> Iterator[Line]:
    """Both ways to record a command that does not read the variables, with the addresses that its files name."""
    found = addresses_in(command)
    for file, address in found:
        yield (Run(f"  {visible_line(file)} names {visible_line(address)}, which no variable changes. Either:"),)
    if not found:
        yield (
            Run("  The command made none, or its code or settings name an address, which no variable changes. Then:"),
        )
    upstream = clients.upstreams[0].url if clients.upstreams else ""
    address = found[0][1] if found else upstream
    parts = urlsplit(address)
    yield (Run("  - remove the address from the code, or read it from the environment, and run:"),)
    named = f"--upstream {address} " if found else ""
    words = shlex.join(command)
    again = visible_line(words) if len(words) <= _MAX_COMMAND_CHARS else "COMMAND"
    yield (Run(f"      weaklink run {visible_line(named)}-- {again}", Style.KEY),)
    yield (Run("  - or start a proxy, and use its address in the code:"),)
    server = f"{parts.scheme}://{parts.netloc}"
    yield (Run(f"      weaklink record --port {DEFAULT_PORT} --upstream {visible_line(server)}", Style.KEY),)
    yield (Run(f"      http://127.0.0.1:{DEFAULT_PORT}{visible_line(parts.path)}", Style.KEY),)


def addresses_in(command: Sequence[str]) -> list[tuple[str, str]]:
    """The addresses of servers in the words of a command and in the files that they name, each with where it is."""
    found: dict[str, str] = {}
    for word in command:
        texts = [("the command", word)]
        with suppress(OSError, ValueError):
            path = Path(word)
            if path.is_file() and path.stat().st_size <= _MAX_SCRIPT_BYTES:
                texts.append((word, path.read_text("utf-8", "replace")))
        for name, text in texts:
            for match in _SERVER.finditer(text):
                found.setdefault(match[0].rstrip("/"), name)
    return [(name, address) for address, name in list(found.items())[:_MAX_ADDRESSES]]


class RequestLines:
    """Prints a line per request to a model; counts the other requests."""

    def __init__(self, put: Callable[[Line], object], *, is_quiet: bool) -> None:
        self._put, self._is_quiet = put, is_quiet
        self._lock = Lock()
        self._is_storing = True
        self.requests = self.others = self.unanswered = 0
        self.last_failure = ""

    def span_closed(self, key: str, turn: int, part: str, span: Span, calls: Sequence[ToolCall]) -> None:
        """Print nothing: `weaklink tail` shows spans."""

    def fault_found(self, key: str, turn: int, diagnostic: Diagnostic) -> None:
        """Print nothing yet: the request's line counts faults."""

    def exchange_ended(self, facts: ExchangeFacts) -> None:
        """Count the request, and print its line."""
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
        yield (Run(f"{GLYPHS[Severity.WARNING]} {sentence}", Style.WARNING),)


def lost_messages(recorder: Recorder, sink: StoreSink) -> Iterator[str]:
    """What a recording lost or nearly lost, one sentence each."""
    if recorder.dropped_bytes:
        yield f"{recorder.dropped_bytes:,} bytes arrived faster than they could be recorded; their turns report it."
    if recorder.refused_events:
        yield f"{counted(recorder.refused_events, 'event')} could not be passed to the database."
    if sink.trouble is not None:
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
        yield Run(f"  {GLYPHS[rule.severity]} {code} {rule.name}{times}", style_of(rule.severity))
