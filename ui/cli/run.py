"""`weaklink run -- COMMAND`: record a command's requests to models without changing it, and print the result."""

import asyncio
import os
import re
import secrets
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from signal import SIGHUP, SIGINT, SIGQUIT, SIGTERM
from urllib.parse import urlsplit

import click
from msgspec import structs

from weaklink.inspector.capture.client_addresses import ClientRoutes, client_variables, routes
from weaklink.inspector.capture.proxy import ProxyConfig, Upstream, running_proxy
from weaklink.inspector.capture.proxy.config import DEFAULT_PORT
from weaklink.inspector.capture.recorder_process import RecorderProcess, RecorderReport
from weaklink.inspector.chain.steps import Status
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Outcome, Role
from weaklink.storage.store import Store, open_store
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_lines, print_notice, screen_width
from weaklink.ui.cli.files import chat_template_option
from weaklink.ui.cli.format_options import expected_format_name, expected_format_option, server_parser_option
from weaklink.ui.cli.recording import (
    RequestLines,
    RunSink,
    no_default_upstreams_option,
    recording_summary,
    start_recording,
)
from weaklink.ui.cli.redaction_options import redaction_options, redactor_of
from weaklink.ui.cli.suggestions import suggested
from weaklink.ui.cli.supervisor import CommandEnd, Supervisor
from weaklink.ui.views.styled_text import Line, Run, Style, counted, visible_line
from weaklink.ui.views.trace_columns import ListedTrace, trace_table
from weaklink.ui.views.trace_summary import reason_words

DEFAULT_HINT = "`--no-default-upstreams` refuses such requests."
"""The end of the sentence on a default upstream."""
FAILED = 125
"""The exit code if weaklink itself failed."""

# Not SIGKILL, which the kernel sends too.
_INTERRUPTIONS = {int(number): number.name for number in (SIGHUP, SIGINT, SIGQUIT, SIGTERM)}
_MAX_LINES = 20
_FAILED_LIMIT = 1_000
_MAX_COMMAND_CHARS = 120
_MAX_SCRIPT_BYTES, _MAX_ADDRESSES = 1 << 20, 3
# A server with a port, or one that serves `/v1`; anything else in a script is rarely a model's server.
_SERVER = re.compile(
    r"""
    https?:// [A-Za-z0-9.-]{1,100}
    (?: :\d{1,5} (?: /[\w./-]{0,100} )?             # with a port
      | / (?: [\w.-]{1,50}/ ){0,3} v1 )             # or a path that ends with the API's version
    (?![\w-])
    """,
    re.VERBOSE,
)
_SESSION_COLUMNS = ("status", "id", "title", "break")
_SIGNALLED = 128
"""An exit code above it is that of a signal, plus this number."""

_MAX_SIGNAL = 64  # on Linux; a program may end with a larger code itself (ssh with 255)


@declaring.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option("--upstream", metavar="URL", help="The server to forward to, for all clients.")
@click.option("--check", is_flag=True, help="Exit with 1 if the command succeeded but a trace is broken or aborted.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing at the end.")
@no_default_upstreams_option
@expected_format_option
@server_parser_option
@chat_template_option
@click.option("--run-id", hidden=True, help="The id of the run, for `weaklink doctor`.")
@click.option("--experiment", default="", hidden=True, help="The source of the traces, for `weaklink doctor`.")
@redaction_options
@declaring.database_option
@declaring.color_option
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
    chat_template: str | None,
    no_redact: bool,
    no_content: bool,
    color: str,
) -> None:
    """Run COMMAND and record its requests to models.

    Environment variables point the clients of model servers at a proxy, which forwards to the servers that they used
    before; docs/recording.md lists them. When the command ends, one line per session on stderr shows the result, and
    processes that it left behind are terminated.

    \b
    weaklink run -- python agent.py
    weaklink run --upstream http://localhost:8000 -- pytest tests/agents
    weaklink run --check -- ./evaluate.sh

    The exit code is the command's own; 128 plus the number of the signal that ended it, 125 if weaklink failed, 126
    and 127 if the command could not be started, 1 with --check.
    """
    redactor = redactor_of(patterns, no_redact=no_redact, no_content=no_content, environment=os.environ)
    expected = expected_format_name(format, server_parser, chat_template)
    try:
        clients = routes(os.environ, upstream)
        supervisor = Supervisor()
        run_id = run_id or secrets.token_hex(6)
        recording = start_recording(
            where,
            redactor,
            lines=RequestLines(lambda line: None, is_quiet=True),
            wrap=lambda sink: RunSink(sink, run_id, source=experiment),
            format=expected,
        )
        try:
            config = ProxyConfig(clients.upstreams, refuses_defaults=no_default_upstreams, port=0)
            for conflict in clients.conflicts:
                print_notice(conflict)
            ended = asyncio.run(_supervised(config, recording, supervisor, command=command, paths=clients.paths))
        finally:
            report = recording.close()
        if report.problem:
            raise WeaklinkError(report.problem)
        with open_store(where) as store:
            mark_interrupted(store, run_id, ended.code)
            sessions = list(session_lines(store, run_id, where))
            failed = store.traces(f"session:{run_id} status:broken,aborted", limit=_FAILED_LIMIT)
            is_broken = any(summary.abort_reason != "client" for summary in failed)
    except (WeaklinkError, OSError) as error:
        print_notice(str(error))
        raise SystemExit(FAILED) from error
    if ended.problem:
        print_notice(f"cannot run `{command[0]}`: {ended.problem}")
    elif not quiet:
        summary = [*recording_summary(report), *sessions]
        print_lines(
            summary if report.requests else _no_requests(report, ended.code, command, clients, where),
            color=color,
            stream=sys.stderr,
        )
    raise SystemExit(1 if check and not ended.code and is_broken else ended.code)


def mark_interrupted(store: Store, run_id: str, code: int) -> None:
    """Note in the sessions of a run that were not finished which signal ended the command, if somebody sent it.

    A call whose result is missing then is nobody's fault. `code` is the command's exit code. A crash, such as SIGSEGV,
    is no interruption, and neither is SIGKILL.
    """
    name = _INTERRUPTIONS.get(code - _SIGNALLED)
    if name is None:
        return
    outcome = Outcome(completed=False, exit_status=f"interrupted by {name}")
    for summary in store.traces(f"session:{run_id} status:broken,unknown", limit=_FAILED_LIMIT):
        trace, inspection = store.inspected(summary.id)
        steps = inspection.chain.steps
        if not steps or trace.outcome is not None:
            continue
        if trace.turns[-1].role is Role.TOOL or steps[-1].location.turn == len(trace.turns):  # it waited for a tool
            stopped = structs.replace(trace, outcome=outcome)
            store.save([(stopped, inspect_trace(stopped))])


async def _supervised(
    config: ProxyConfig,
    recording: RecorderProcess,
    supervisor: Supervisor,
    *,
    command: Sequence[str],
    paths: Mapping[str, str],
) -> CommandEnd:
    """Run the command while the proxy serves it."""
    async with running_proxy(
        config, recording, on_default=lambda upstream: print_notice(default_sentence(upstream))
    ) as address:
        supervisor.launch(command, client_variables(address, paths, os.environ))
        return await asyncio.to_thread(supervisor.wait, lambda: recording.pid)


def default_sentence(upstream: Upstream) -> str:
    """What to print before the first request goes to an upstream that nobody chose."""
    return (
        f"{upstream.variable} is not set, so requests of {upstream.default_of}'s clients go to their default, "
        f"{upstream.url}. Set {upstream.variable} or use `--upstream URL` for another server; "
        f"{DEFAULT_HINT}"
    )


def session_lines(store: Store, run_id: str, where: str | None) -> Iterator[Line]:
    """The totals of a run, its sessions in aligned columns, those that broke first, and one command to look further."""
    expression = f"session:{run_id}"
    total = store.paging().count(expression)
    if not total:
        return
    broken = store.paging().count(f"{expression} status:broken")
    shown = store.traces(f"{expression} status:broken", limit=_MAX_LINES)
    if len(shown) < _MAX_LINES:
        shown += store.traces(f"{expression} not status:broken", limit=_MAX_LINES - len(shown))
    yield (Run(f"{counted(total, 'trace')}, {broken} broken", Style.STRONG),)
    rows = [ListedTrace(summary, time.time(), None) for summary in shown]
    has_models = len({summary.model for summary in shown}) > 1  # which asked the same words, perhaps
    keys = (*_SESSION_COLUMNS[:-1], "model", _SESSION_COLUMNS[-1]) if has_models else _SESSION_COLUMNS
    _, *lines = trace_table(rows, width=screen_width(), keys=keys)
    yield from lines
    for summary in shown:
        if summary.status is Status.ABORTED:  # a server's reason is often longer than the column
            yield (Run(f"{summary.id} aborted: "), *reason_words(summary))
    further = f"show {shown[0].id}" if len(shown) == total or broken else f"list {expression}"
    yield (Run(suggested(further, where), Style.KEY),)


def _no_requests(
    report: RecorderReport, code: int, command: Sequence[str], clients: ClientRoutes, where: str | None
) -> Iterator[Line]:
    """Why nothing was recorded, and what to do about it; `code` is the command's exit code."""
    yield (Run("weaklink: no request to a model came through the proxy."),)
    if report.unanswered:
        yield (Run(f"  {counted(report.unanswered, 'request')} of another kind got no answer: {report.last_failure}."),)
    elif report.others:
        yield (Run(f"  {counted(report.others, 'request')} of another kind passed through."),)
    elif _SIGNALLED < code <= _SIGNALLED + _MAX_SIGNAL:
        yield (Run(f"  Signal {code - _SIGNALLED} ended the command, perhaps before it made one."),)
    else:
        yield from _ways_out(command, clients, where, code=code)


def _ways_out(command: Sequence[str], clients: ClientRoutes, where: str | None, *, code: int) -> Iterator[Line]:
    """Both ways to record a command that does not read the variables, with the addresses that its files name."""
    addresses = addresses_in(command)
    for file, address in addresses:
        yield (Run(f"  {visible_line(file)} names {visible_line(address)}, which no variable changes. Either:"),)
    if not addresses:
        made_none = f"ended with exit code {code} before it made one" if code else "made none"
        otherwise = "or its code or settings name an address, which no variable changes. Then:"
        yield (Run(f"  The command {made_none}, {otherwise}"),)
    upstream = clients.upstreams[0].url if clients.upstreams else ""
    address = addresses[0][1] if addresses else upstream
    parts = urlsplit(address)
    yield (Run("  - remove the address from the code, or read it from the environment, and run:"),)
    named = f"--upstream {address} " if addresses else ""
    words = shlex.join(command)
    again = visible_line(words) if len(words) <= _MAX_COMMAND_CHARS else "COMMAND"
    yield (Run(f"      {suggested('run', where)} {visible_line(named)}-- {again}", Style.KEY),)
    yield (Run("  - or start a proxy, and use its address in the code:"),)
    server = f"{parts.scheme}://{parts.netloc}"
    proxy = suggested(f"record --port {DEFAULT_PORT} --upstream {visible_line(server)}", where)
    yield (Run(f"      {proxy}", Style.KEY),)
    yield (Run(f"      http://127.0.0.1:{DEFAULT_PORT}{visible_line(parts.path)}", Style.KEY),)


def addresses_in(command: Sequence[str]) -> list[tuple[str, str]]:
    """The addresses of servers in the words of a command and in the files that they name, each with where it is."""
    addresses: dict[str, str] = {}
    for word in command:
        texts = [("the command", word)]
        with suppress(OSError, ValueError):
            path = Path(word)
            if path.is_file() and path.stat().st_size <= _MAX_SCRIPT_BYTES:
                texts.append((word, path.read_text("utf-8", "replace")))
        for name, text in texts:
            for match in _SERVER.finditer(text):
                addresses.setdefault(match[0].rstrip("/"), name)
    return [(name, address) for address, name in list(addresses.items())[:_MAX_ADDRESSES]]
