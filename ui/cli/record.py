"""`weaklink record`: the recording proxy from the command line, with a line for each request."""

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from threading import Lock

import click

from inspector.capture.event_lines import EVENTS_PATH
from inspector.capture.events import ExchangeFacts
from inspector.capture.events_route import events_route
from inspector.capture.proxy import BoundAddress, ProxyConfig, parse_upstream, run_proxy
from inspector.capture.proxy.config import DEFAULT_PORT, TOKEN_PREFIX
from inspector.capture.recorder import Recorder
from inspector.diagnostics import Diagnostic
from inspector.errors import StoreError, WeaklinkError
from inspector.model import Span, ToolCall
from inspector.rules.catalogue import find_rule
from inspector.sessions.exchange import ExchangeEnd
from storage import IDLE_AFTER_S, StoreSink, open_store
from ui.cli.console import color_option, database_option, print_lines, screen_width
from ui.cli.redaction_options import redaction_options, redactor_of
from ui.views.styled_text import GLYPHS, Line, Run, Style, style_of, visible_line
from ui.views.wording import counted, wrapped

_ENDS = {
    ExchangeEnd.UPSTREAM_DROPPED: "the upstream dropped it",
    ExchangeEnd.CLIENT_LEFT: "the client left",
    ExchangeEnd.NOT_CONNECTED: "the upstream was not reached",
    ExchangeEnd.TIMED_OUT: "timed out",
    ExchangeEnd.NOT_STORED: "the recording stopped",
}

_SWITCH_S = 0.001  # what any read or write of a stream may wait for while other threads make the record; else 5 ms
_SUMMED = 16  # blocks of traces; a tenth of a second each
_POLL_S = 1.0  # how often the sink is asked for its troubles


class RequestLines:
    """Puts a line per request to a model; the other requests are only counted."""

    def __init__(self, put: Callable[[Line], object], *, is_quiet: bool) -> None:
        self._put, self._is_quiet = put, is_quiet
        self._lock = Lock()
        self._is_storing = True
        self.requests = self.others = 0

    def span_closed(self, key: str, turn: int, part: str, span: Span, calls: Sequence[ToolCall]) -> None:
        """Nothing to say: `weaklink tail` shows spans."""

    def fault_found(self, key: str, turn: int, diagnostic: Diagnostic) -> None:
        """Nothing to say yet: the request's line counts them."""

    def exchange_ended(self, facts: ExchangeFacts) -> None:
        """Say it."""
        if not facts.key:
            self.others += 1
            return
        self.requests += 1
        if not self._is_quiet:
            with self._lock:
                self._put(request_line(facts, datetime.now().astimezone().strftime("%H:%M:%S")))

    def trouble(self, message: str) -> None:
        """Say what keeps the recorder from its work."""
        self._say(message)

    def storing(self, trouble: Exception | None, backlog: int) -> None:
        """Say, when it changes, that the database refuses what is written, or takes it again."""
        if trouble is not None and backlog and self._is_storing:
            self._is_storing = False
            self._say(f"{trouble}. The traffic goes on; what is recorded waits in memory.")
        elif not backlog and not self._is_storing:
            self._is_storing = True
            self._say("The database takes the record again; nothing waits.")

    def _say(self, message: str) -> None:
        with self._lock:
            sys.stderr.write(f"weaklink: {visible_line(message)}\n")
            sys.stderr.flush()


def banner(url: str, upstreams: Sequence[tuple[str, str]], place: str, *, width: int) -> Iterator[Line]:
    """Where the proxy listens, what it forwards to, where the record goes, and how clients are pointed at it.

    `upstreams` are pairs of path prefix and address; `url` is what clients write, with the token where one is needed.
    """
    yield (Run("weaklink records at "), Run(url, Style.STRONG))
    for prefix, address in upstreams:
        yield (Run(f"  {url}{prefix}", Style.KEY), Run(" -> "), Run(visible_line(address)))
    yield from wrapped(
        (Run(f"  into {visible_line(place)}; keys, tokens and passwords are replaced"),), width, indent=2
    )
    yield ()
    yield (Run("Point a client here:"),)
    base = f"{url}{upstreams[0][0]}"
    for what, how in _instructions(base):
        yield (Run(f"  {what:<15}"), Run(how, Style.KEY))
    yield ()
    yield (Run("In another terminal: "), Run("weaklink tail", Style.STRONG), Run("  (Ctrl-C ends the recording)"))
    yield ()


def request_line(facts: ExchangeFacts, time: str) -> Line:
    """One request: time, method, path, model, how it ended, how long it took, and what is wrong with the answer."""
    runs = [
        Run(f"{time} ", Style.DIM),
        Run(f"{facts.method} {visible_line(facts.target.partition('?')[0])} "),
        *((Run(f"{visible_line(facts.model)} ", Style.STRONG),) if facts.model else ()),
        _status(facts),
    ]
    runs += [Run(f", {said}") for said in _times(facts)]
    if facts.end in _ENDS and not _is_done(facts):
        runs += (Run(", "), Run(_ENDS[facts.end], Style.ERROR))
    runs += _faults(facts.faults)
    return tuple(runs)


def farewell(requests: int, others: int, redacted: int, *, lost: Sequence[str]) -> Iterator[Line]:
    """What a recording has kept when it ends, and what it lost."""
    said = f"weaklink: recorded {counted(requests, 'request')}"
    said += f", {others:,} others passed through" if others else ""
    said += f"; {counted(redacted, 'secret')} replaced" if redacted else ""
    yield (Run(f"{said}."),)
    for sentence in lost:
        yield (Run(f"{GLYPHS['warning']} {sentence}", Style.WARNING),)


def _instructions(base: str) -> Iterator[tuple[str, str]]:
    yield "openai SDK", f"OPENAI_BASE_URL={base}/v1 python agent.py"
    yield "anthropic SDK", f"ANTHROPIC_BASE_URL={base} python agent.py"
    yield "Ollama", f"OLLAMA_HOST={base} python agent.py"
    yield "vLLM, SGLang", f"OpenAI(base_url='{base}/v1', api_key='-')"
    yield "curl", f"curl {base}/v1/chat/completions -d @request.json"


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
    """Whether the answer was whole although the client closed first, as openai's SDK does."""
    return facts.end is ExchangeEnd.CLIENT_LEFT and "C504" not in facts.faults


def _faults(faults: Mapping[str, int]) -> Iterator[Run]:
    for code, number in sorted(faults.items()):
        rule = find_rule(code)
        times = f" x{number}" if number > 1 else ""
        yield Run(f"  {GLYPHS[rule.severity.value]} {code} {rule.name}{times}", style_of(rule.severity))


class RecordingError(WeaklinkError):
    """The proxy cannot listen where it was told to."""


@click.command("record")
@click.option(
    "--upstream",
    "upstreams",
    multiple=True,
    required=True,
    metavar="URL",
    help="The server to forward to; `PREFIX=URL` for requests below a path. May be given several times.",
)
@click.option("--port", default=DEFAULT_PORT, show_default=True, metavar="N", help="The port to listen on; 0: any.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--token", default="", envvar="WEAKLINK_TOKEN", metavar="TEXT", help="What clients must name beyond loopback."
)
@click.option("--connect-timeout", default=30.0, show_default=True, metavar="S", help="Seconds to reach an upstream.")
@click.option("--read-timeout", default=None, type=float, metavar="S", help="Seconds between two arrivals.  [none]")
@click.option(
    "--idle-after",
    default=IDLE_AFTER_S,
    show_default=True,
    type=click.FloatRange(min=0),
    metavar="S",
    help="Seconds without an event after which a session is shown as idle.",
)
@click.option("--quiet", "-q", is_flag=True, help="No line per request.")
@redaction_options
@database_option
@color_option
def record(
    upstreams: tuple[str, ...],
    patterns: tuple[str, ...],
    where: str | None,
    *,
    port: int,
    host: str,
    token: str,
    connect_timeout: float,
    read_timeout: float | None,
    idle_after: float,
    quiet: bool,
    no_redact: bool,
    no_content: bool,
    color: str,
) -> None:
    """Record every request to a model while it passes through.

    Clients are pointed at this proxy instead of the server; they see byte for byte what the server sends. What passes
    is kept as it arrives, chunk by chunk, with keys, tokens and passwords replaced. A line per request tells status,
    time to the first token, tokens and the faults that were found while the model was still speaking. Loggers in other
    processes may send their events here too. Ctrl-C ends it.
    """
    redacts = redactor_of(patterns, no_redact=no_redact, no_content=no_content)
    config = ProxyConfig(
        upstreams=tuple(map(parse_upstream, upstreams)),
        host=host,
        port=port,
        token=token,
        connect_timeout_s=connect_timeout,
        read_timeout_s=read_timeout,
    )
    sys.setswitchinterval(_SWITCH_S)
    with open_store(where) as store:
        sink = StoreSink(store, idle_after_s=idle_after)
        lines = RequestLines(lambda line: _put([line], color=color), is_quiet=quiet)
        recorder = Recorder(sink, redactor=redacts, watch=lines)
        try:
            asyncio.run(_serve(config, recorder, sink, lines, place=str(store.place), color=color))
        finally:
            recorder.close()
            sink.close()
            said = farewell(lines.requests, lines.others, redacts.count, lost=list(_lost_messages(recorder, sink)))
            print_lines(said, color=color, stream=sys.stderr)
        with suppress(StoreError):  # it only makes reading faster, and whatever imports next does it
            store.sum_pending(limit=_SUMMED)


async def _serve(
    config: ProxyConfig, recorder: Recorder, sink: StoreSink, lines: RequestLines, *, place: str, color: str
) -> None:
    until = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, until.set)
    looking = asyncio.create_task(_look(sink, lines))
    try:
        await run_proxy(
            config,
            recorder,
            until=until,
            own_routes={EVENTS_PATH: events_route(sink)},
            on_bound=lambda address: _print_banner(address, config, place, color),
        )
    except OSError as error:
        raise RecordingError(
            f"{config.host}:{config.port}: the proxy cannot listen there: {error.strerror or error}; "
            "`--port` names another port, `--port 0` takes any free one"
        ) from error
    finally:
        looking.cancel()


async def _look(sink: StoreSink, lines: RequestLines) -> None:
    """Tell, once each, what keeps the sink from writing, and that it writes again."""
    while True:
        await asyncio.sleep(_POLL_S)
        lines.storing(sink.trouble, sink.backlog)


def _print_banner(address: BoundAddress, config: ProxyConfig, place: str, color: str) -> None:
    url = f"{address.url}{TOKEN_PREFIX}/{config.token}" if config.token else address.url
    upstreams = [(upstream.prefix, upstream.url) for upstream in config.upstreams]
    print_lines(banner(url, upstreams, place, width=screen_width()), color=color, stream=sys.stderr)
    sys.stderr.flush()


def _lost_messages(recorder: Recorder, sink: StoreSink) -> Iterator[str]:
    if recorder.dropped_bytes:
        yield f"{recorder.dropped_bytes:,} bytes came faster than they could be recorded; their turns say so."
    if recorder.refused_events:
        yield f"{counted(recorder.refused_events, 'event')} could not be handed to the database."
    if sink.trouble is not None:
        yield f"The database refused what was written for a time: {visible_line(str(sink.trouble))}."


def _put(lines: list[Line], *, color: str) -> None:
    print_lines(lines, color=color)
    sys.stdout.flush()
