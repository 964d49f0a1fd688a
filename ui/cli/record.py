"""`weaklink record`: the recording proxy, from the command line."""

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress

import click

from inspector.capture.events_route import events_route
from inspector.capture.events_wire import EVENTS_PATH
from inspector.capture.proxy import BoundAddress, ProxyConfig, parse_upstream, run_proxy
from inspector.capture.proxy.config import DEFAULT_PORT, TOKEN_PREFIX
from inspector.capture.recorder import Recorder
from inspector.errors import StoreError, WeaklinkError
from storage import IDLE_AFTER_S, StoreSink, open_store
from ui.cli.options import color_option, database_option
from ui.cli.paint import put, screen_width
from ui.cli.record_lines import RequestLines
from ui.cli.redaction_options import redaction_options, redactor_of
from ui.views.recording import banner, farewell
from ui.views.run import Line
from ui.views.visible import visible_line
from ui.views.wording import counted

_SWITCH_S = 0.001  # what any read or write of a stream may wait for while other threads make the record; else 5 ms
_SUMMED = 16  # blocks of traces; a tenth of a second each
_LOOK_S = 1.0  # how often the sink is asked for its troubles


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
            said = farewell(lines.requests, lines.others, redacts.count, lost=list(_lost(recorder, sink)))
            put(said, color=color, stream=sys.stderr)
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
            on_bound=lambda address: _greet(address, config, place, color),
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
        await asyncio.sleep(_LOOK_S)
        lines.storing(sink.trouble, sink.backlog)


def _greet(address: BoundAddress, config: ProxyConfig, place: str, color: str) -> None:
    url = f"{address.url}{TOKEN_PREFIX}/{config.token}" if config.token else address.url
    upstreams = [(upstream.prefix, upstream.url) for upstream in config.upstreams]
    put(banner(url, upstreams, place, width=screen_width()), color=color, stream=sys.stderr)
    sys.stderr.flush()


def _lost(recorder: Recorder, sink: StoreSink) -> Iterator[str]:
    if recorder.dropped_bytes:
        yield f"{recorder.dropped_bytes:,} bytes came faster than they could be recorded; their turns say so."
    if recorder.refused_events:
        yield f"{counted(recorder.refused_events, 'event')} could not be handed to the database."
    if sink.trouble is not None:
        yield f"The database refused what was written for a time: {visible_line(str(sink.trouble))}."


def _put(lines: list[Line], *, color: str) -> None:
    put(lines, color=color)
    sys.stdout.flush()
