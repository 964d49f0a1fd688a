"""`weaklink record`: the recording proxy on the command line, with a line for each request."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click
from click.core import ParameterSource

from weaklink.inspector.capture.proxy import BoundAddress, ProxyConfig, parse_upstream, run_proxy
from weaklink.inspector.capture.proxy.config import TOKEN_PREFIX
from weaklink.inspector.capture.recorder_process import RecorderProcess
from weaklink.inspector.errors import StoreError, WeaklinkError
from weaklink.inspector.segmentation import AUTO
from weaklink.storage.liveness import IDLE_AFTER_S
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_lines, screen_width
from weaklink.ui.cli.files import STDIN, chat_template_option
from weaklink.ui.cli.format_options import expected_format_name, expected_format_option, server_parser_option
from weaklink.ui.cli.log import FORM_CHOICES, log
from weaklink.ui.cli.recording import (
    RequestLines,
    no_default_upstreams_option,
    port_option,
    recording_summary,
    start_recording,
)
from weaklink.ui.cli.redaction_options import redaction_options, redactor_of
from weaklink.ui.cli.suggestions import suggested
from weaklink.ui.views.styled_text import Line, Run, Style, visible_line, wrapped


def banner(url: str, upstreams: Sequence[tuple[str, str]], database: str, tail: str, *, width: int) -> Iterator[Line]:
    """Where the proxy listens, what it forwards to, where the record goes, and how to configure clients.

    `upstreams` are pairs of path prefix and address; `url` is what clients use, with the token if one is needed; `tail`
    is the command that follows this recording.
    """
    yield (Run("weaklink records at "), Run(url, Style.STRONG))
    for prefix, address in upstreams:
        yield (Run(f"  {url}{prefix}", Style.KEY), Run(" -> "), Run(visible_line(address)))
    yield from wrapped(
        (Run(f"  into {visible_line(database)}; keys, tokens and passwords are replaced"),), width, indent=2
    )
    yield ()
    yield (Run("Point a client here:"),)
    for what, how in _instructions(url, upstreams):
        yield (Run(f"  {what:<15}"), Run(how, Style.KEY))
    yield ()
    yield (Run("In another terminal: "), Run(tail, Style.STRONG), Run("  (Ctrl-C ends the recording)"))
    yield ()


def _instructions(url: str, upstreams: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    base = f"{url}{upstreams[0][0]}"
    yield "openai SDK", f"OPENAI_BASE_URL={url}{_path_of('openai', upstreams)}/v1 python agent.py"
    yield "anthropic SDK", f"ANTHROPIC_BASE_URL={url}{_path_of('anthropic', upstreams)} python agent.py"
    yield "Ollama", f"OLLAMA_HOST={url}{_path_of('ollama', upstreams)} python agent.py"
    yield "vLLM, SGLang", f"OpenAI(base_url='{base}/v1', api_key='-')"
    yield "curl", f"curl {base}/v1/chat/completions -d @request.json"


def _path_of(client: str, upstreams: Sequence[tuple[str, str]]) -> str:
    """The path of the upstream that is a client's: with its name in the path, else in the address, else the first."""
    named = [prefix for prefix, _ in upstreams if client in prefix.lower()]
    named += [prefix for prefix, address in upstreams if client in address.lower()]
    return (*named, upstreams[0][0])[0]


class RecordingError(WeaklinkError):
    """The proxy cannot listen on its address."""


@declaring.command("record")
@click.argument("file", metavar="[FILE | -]", required=False)
@click.option(
    "--upstream",
    "upstreams",
    multiple=True,
    metavar="URL",
    help="The server to forward to; `PREFIX=URL` for requests below a path. Can be repeated.",
)
@port_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--token",
    default="",
    envvar="WEAKLINK_TOKEN",
    metavar="TEXT",
    help="A token that clients must send; required for addresses other than loopback.",
)
@click.option(
    "--connect-timeout",
    default=30.0,
    show_default=True,
    metavar="S",
    help="Seconds to wait for a connection to an upstream.",
)
@no_default_upstreams_option
@expected_format_option
@server_parser_option
@chat_template_option
@click.option("--read-timeout", default=None, type=float, metavar="S", help="Seconds to wait for more data.  [none]")
@click.option(
    "--idle-after",
    default=IDLE_AFTER_S,
    show_default=True,
    type=click.FloatRange(min=0),
    metavar="S",
    help="Seconds without an event after which a session is shown as idle.",
)
@declaring.removed_options(
    "--to-token",
    "--queue",
    "--queue-size",
    instead="recorders write to the team's PostgreSQL directly: use --db postgresql://HOST/NAME",
)
@click.option("--quiet", "-q", is_flag=True, help="Print no line per request; do not pass standard input on.")
@click.option(
    "--follow", "-F", is_flag=True, help="Keep reading while FILE grows, until Ctrl-C or until it is deleted."
)
@click.option("--model", default="", metavar="NAME", help="The model's name, which helps to detect the format.")
@click.option("--name", default="", metavar="NAME", help="A name for the trace.  [default: that of FILE]")
@click.option(
    "--prompt", default="", metavar="TEXT", help="The end of the prompt; a tag that it opens continues in the text."
)
@click.option("--tools", "tool_file", metavar="FILE", help="JSON file with the tools that were offered.")
@click.option(
    "--as",
    "form",
    type=click.Choice(FORM_CHOICES),
    default=AUTO,
    show_default=True,
    help="The content of FILE: text, or events as a provider streams them.",
)
@click.option("--to", metavar="PLACE", help="Record FILE into a database, or a trace file (*.jsonl).")
@click.option("--log", "reads_text", is_flag=True, hidden=True, help="What `weaklink log` was: FILE may be missing.")
@redaction_options
@declaring.database_option
@declaring.color_option
@click.pass_context
def record(ctx: click.Context, /, file: str | None, *, reads_text: bool, **options: Any) -> None:
    """Record requests to models while they pass through a proxy, or a model's raw output from a pipe or a file.

    Without FILE: point clients at this proxy instead of the server; they receive byte for byte what the server sends.
    Keys, tokens and passwords are redacted. One line per request shows its status and the faults found so far.

    FILE, or `-` for standard input, which is passed on unchanged, contains one model's output, recorded live as one
    turn: text, or events as a provider streams them, detected from the first bytes. Ctrl-C ends both.

    \b
    weaklink record --upstream http://127.0.0.1:8000
    ./server | weaklink record -
    weaklink record --follow out.txt
    """
    foreign = _PROXY_OPTIONS if file or reads_text else _TEXT_OPTIONS
    _refuse_mixed_options(ctx, foreign, file or reads_text)
    options = {name: value for name, value in options.items() if name not in foreign}
    if file or reads_text:
        log(ctx, file or STDIN, **options)
    else:
        _record_requests(**options)


_PROXY_OPTIONS = frozenset(
    ("upstreams", "port", "host", "token", "connect_timeout", "read_timeout", "no_default_upstreams", "idle_after")
)
_TEXT_OPTIONS = frozenset(("follow", "model", "name", "prompt", "tool_file", "form", "to"))


def _refuse_mixed_options(ctx: click.Context, names: frozenset[str], reads_text: object) -> None:
    """Raise UsageError for an option of the other way to record that is on the command line."""
    for param in ctx.command.params:
        if param.name in names and ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE:
            if reads_text:
                raise click.UsageError(f"{param.opts[0]} is for recording requests, which takes no FILE.")
            raise click.UsageError(
                f"{param.opts[0]} requires a FILE, or `-` for standard input. Requests are recorded into `--db`, "
                "a file or the team's PostgreSQL (postgresql://HOST/NAME)."
                if param.name == "to"
                else f"{param.opts[0]} requires a FILE, or `-` for standard input."
            )


def _record_requests(
    upstreams: tuple[str, ...],
    patterns: tuple[str, ...],
    where: str | None,
    *,
    port: int,
    host: str,
    token: str,
    connect_timeout: float,
    read_timeout: float | None,
    no_default_upstreams: bool,
    format: str,
    server_parser: str,
    chat_template: str | None,
    idle_after: float,
    quiet: bool,
    no_redact: bool,
    no_content: bool,
    color: str,
) -> None:
    """Run the proxy until the user ends it."""
    redacts = redactor_of(patterns, no_redact=no_redact, no_content=no_content)
    expected = expected_format_name(format, server_parser, chat_template)
    if not upstreams:
        raise click.UsageError(
            "Missing option '--upstream': the server to forward to. To record a command, use "
            "`weaklink run -- COMMAND`; to record a model's output, name its FILE, or `-`."
        )
    config = ProxyConfig(
        upstreams=tuple(map(parse_upstream, upstreams)),
        host=host,
        port=port,
        token=token,
        connect_timeout_s=connect_timeout,
        read_timeout_s=read_timeout,
    )
    recording = start_recording(
        where,
        redacts,
        lines=RequestLines(lambda line: _put([line], color=color), is_quiet=quiet),
        format=expected,
        idle_after_s=idle_after,
        reports_storing=True,
    )
    try:
        asyncio.run(_serve(config, recording, suggested("tail", where), color=color))
    finally:
        report = recording.close()
        print_lines(recording_summary(report), color=color, stream=sys.stderr)
    if report.problem:
        raise StoreError(report.problem)


async def _serve(config: ProxyConfig, recording: RecorderProcess, tail: str, *, color: str) -> None:
    """Forward until the user ends it."""
    until = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, until.set)
    try:
        await run_proxy(
            config,
            recording,
            until=until,
            on_bound=lambda address: _print_banner(address, config, recording.target, tail, color),
        )
    except OSError as error:
        code = error.errno or 0  # negative for a name that is not known
        why = os.strerror(code) if code > 0 else error.strerror or error  # asyncio's own sentence repeats the address
        raise RecordingError(
            f"{config.host}:{config.port}: the proxy cannot listen there: {why}; "
            "`--port` names another port, `--port 0` takes any free one"
        ) from error


def _print_banner(address: BoundAddress, config: ProxyConfig, database: str, tail: str, color: str) -> None:
    url = f"{address.url}{TOKEN_PREFIX}/{config.token}" if config.token else address.url
    upstreams = [(upstream.prefix, upstream.url) for upstream in config.upstreams]
    lines = banner(url, upstreams, database, tail, width=screen_width())
    print_lines(lines, color=color, stream=sys.stderr)
    sys.stderr.flush()


def _put(lines: list[Line], *, color: str) -> None:
    print_lines(lines, color=color)
    sys.stdout.flush()
