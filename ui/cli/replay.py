"""`weaklink replay ID -- COMMAND` and `weaklink replay ID --serve`: a recording answers instead of model servers."""

import asyncio
import json
import secrets
import signal
import sys
from contextlib import suppress
from typing import NamedTuple, NoReturn

import click
from msgspec.structs import replace

from weaklink.inspector.capture.event_buffer import IgnoringObserver
from weaklink.inspector.capture.exchange_record import masked_text
from weaklink.inspector.capture.redacting import Redacts
from weaklink.inspector.capture.replay_server import OnDivergence, ReplayServer, diverged_trace
from weaklink.inspector.errors import StoreError, WeaklinkError
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import ExternalId, ParentTrace, ParentWhy
from weaklink.inspector.replay.canonical import MatchLevel, body_value, canonical, digest
from weaklink.inspector.replay.matching import Recording, Replayer
from weaklink.storage.exchanges import RUN_ID
from weaklink.storage.store import open_store
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_lines, print_notice
from weaklink.ui.cli.recording import RequestLines, RunSink, loss_lines, port_option, start_recording
from weaklink.ui.cli.redaction_options import redactor_of
from weaklink.ui.cli.replaying import (
    KeptDivergence,
    LoadedRecording,
    ReplayRun,
    load_recording,
    report_json,
    report_lines,
)
from weaklink.ui.cli.run import FAILED, session_lines
from weaklink.ui.cli.supervisor import Supervisor
from weaklink.ui.experiments.serving import serving
from weaklink.ui.views.styled_text import counted

REPLAY = "replay"
"""The source of traces that a replay recorded."""

DIVERGED = 3
"""The exit code of a replay that differed from its recording."""


@declaring.command("replay")
@click.argument("word", metavar="ID")
@click.option("--pace", is_flag=True, help="Send answers at the recorded pace.")
@click.option("--strict", is_flag=True, help="Require identical JSON bodies.")
@click.option("--allow-unused", is_flag=True, help="Accept recorded requests that are never made.")
@click.option(
    "--on-divergence",
    type=click.Choice([choice.value for choice in OnDivergence]),
    default="stop",
    show_default=True,
    help="The answer to a request that matches nothing: an error, the most similar answer, or the upstream's.",
)
@click.option("--upstream", metavar="URL", help="The server for requests that continue live.")
@click.option(
    "--fork", "fork_after", type=click.IntRange(min=0), metavar="N", help="Answer up to turn N, then continue live."
)
@click.option("--inject", metavar="KIND[@turnN]", help="Put a fault into a recorded answer; `all` tries every kind.")
@click.option(
    "--redact",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="A `--redact` pattern that was used for the recording.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Write the report as one line of JSON to stderr; `weaklink schema` has its schema.",
)
@click.option("--serve", is_flag=True, help="Print addresses for clients as variables, and answer them until Ctrl-C.")
@port_option
@click.option("--quiet", "-q", is_flag=True, help="Print nothing at the end.")
@declaring.database_option
@declaring.color_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
def replay(
    word: str,
    *,
    command: tuple[str, ...],
    on_divergence: str,
    upstream: str | None,
    fork_after: int | None,
    inject: str | None,
    patterns: tuple[str, ...],
    where: str | None,
    pace: bool,
    strict: bool,
    allow_unused: bool,
    as_json: bool,
    quiet: bool,
    color: str,
    serve: bool,
    port: int,
) -> None:
    """Run COMMAND again, or answer any client (--serve), from a recording.

    ID is a run, a trace, a trace file, or `latest`, the last run. Every request is answered with the recorded bytes;
    nothing is sent to a server. Requests are matched by their content; ids of calls, `user`, `metadata`, and dates in
    system texts may differ.

    \b
    weaklink run -- python agent.py
    weaklink replay latest -- python agent.py
    weaklink replay latest --serve

    The exit code is the command's own, or 3 if a request is not in the recording; see `weaklink help exit-codes`.
    """
    ending = _Ending(allow_unused, as_json, quiet, color)
    if serve:
        if command or upstream or fork_after is not None or inject is not None or on_divergence != OnDivergence.STOP:
            raise click.UsageError("--serve excludes COMMAND, --on-divergence, --upstream, --fork and --inject.")
        redactor = redactor_of(patterns, no_redact=False, no_content=False)
        server = _server(load_recording(word, where).recording, redactor, strict=strict, pace=pace)
        asyncio.run(_served(server, port))
        ending.report(server, 0, None)
    if not command:
        raise click.UsageError("Missing argument '-- COMMAND...', or `--serve` to answer any client.")
    if not upstream and (on_divergence == OnDivergence.LIVE or fork_after is not None):
        raise click.UsageError("Requests that continue live require `--upstream`.")
    if inject == "all":
        from weaklink.ui.cli.replay_injection import inject_all  # noqa: PLC0415  # fault injection is loaded only when it is used

        inject_all(word, command, where, as_json=as_json, color=color)
    try:
        supervisor = Supervisor()
        redactor = redactor_of(patterns, no_redact=False, no_content=False)
        loaded = load_recording(word, where)
        server = _server(loaded.recording, redactor, on_divergence, strict=strict, pace=pace)
        run = ReplayRun(server, supervisor, command, upstream)
        if inject is not None:
            from weaklink.ui.cli.replay_injection import inject_one  # noqa: PLC0415  # as above

            inject_one(run, loaded, inject, as_json=as_json, color=color)
        if fork_after is not None:
            server.fork_after = fork_after
            raise SystemExit(_fork(run, loaded, where, quiet=quiet, color=color))
        ended = run.wait(IgnoringObserver())
    except (WeaklinkError, OSError) as error:
        print_notice(str(error))
        raise SystemExit(FAILED) from error
    if ended.problem:
        print_notice(f"cannot run `{command[0]}`: {ended.problem}")
        raise SystemExit(ended.code)
    ending.report(server, ended.code, _kept_divergence(server, loaded, where))


def _server(
    recording: Recording, redactor: Redacts, on_divergence: str = OnDivergence.STOP, *, strict: bool, pace: bool
) -> ReplayServer:
    """The server that answers from a recording; prints which answers differ from those that were recorded."""
    if recording.redacted:
        print_notice(
            f"{counted(recording.redacted, 'recorded answer')} contained secrets; the replay sends them redacted."
        )
    if recording.rebuilt:
        answers = f"{counted(recording.rebuilt, 'answer')} of {len(recording.exchanges)}"
        print_notice(f"the bytes of {answers} were not recorded; the replay sends them whole, rebuilt from the trace.")
    replayer = Replayer(recording, is_strict=strict, mask=lambda body: masked_text(body, redactor))
    return ReplayServer(replayer, redactor, pace, OnDivergence(on_divergence))


def _fork(run: ReplayRun, loaded: LoadedRecording, where: str | None, *, quiet: bool, color: str) -> int:
    """Record the run, whose first turns the recording answers, as a child. Returns the command's exit code."""
    run_id = secrets.token_hex(6)
    ids = [external_id for trace, _ in loaded.traces for external_id in trace.external_ids]
    parent = next((external_id for external_id in ids if external_id.name != RUN_ID), ids[0] if ids else None)
    source = ParentTrace(parent, ParentWhy.FORK) if parent is not None else None
    recording = start_recording(
        where,
        run.server.redactor,
        lines=RequestLines(lambda line: None, is_quiet=True),
        wrap=lambda sink: RunSink(sink, run_id, source, REPLAY),
    )
    run.server.observes = recording
    try:
        ended = run.wait(recording, lambda: recording.pid)
    finally:
        report = recording.close()
    if report.problem:
        raise StoreError(report.problem)
    with open_store(where) as store:
        sessions = session_lines(store, run_id, where)
        lines = [*report_lines(run.server, ()), *loss_lines(report), *sessions]
    if not quiet:
        print_lines(lines, color=color, stream=sys.stderr)
    return ended.code


async def _served(server: ReplayServer, port: int) -> None:
    until, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, until.set)
    async with serving(server, port) as variables:
        for name, value in variables.items():
            sys.stdout.write(f"{name}={value}\n")
        sys.stdout.flush()
        await until.wait()


def _kept_divergence(server: ReplayServer, loaded: LoadedRecording, where: str | None) -> KeptDivergence | None:
    """Save the request that stopped the replay as a child of the recorded trace; None if nothing is saved."""
    first = server.divergences[0] if server.divergences else None
    live = diverged_trace(first) if first is not None and server.on_divergence is OnDivergence.STOP else None
    if first is None or live is None or not first.exchange or not loaded.ids:
        return None
    exchange = loaded.recording.exchanges[first.exchange - 1]
    turn = loaded.recording.turns[first.exchange - 1]
    for id_, (trace, own) in zip(loaded.ids, loaded.traces, strict=True):
        if any(recorded is exchange for recorded in own) or (not own and turn in trace.turns):
            ids = [external_id for external_id in trace.external_ids if external_id.name != RUN_ID] or [
                *trace.external_ids
            ]
            parent = ParentTrace(ids[0], ParentWhy.FORK) if ids else None
            request = canonical(body_value(first.live), MatchLevel.CANONICAL)
            same = ExternalId("divergence", digest(request).hex()[:16])  # so that the same request is saved only once
            provenance = replace(live.provenance, source=REPLAY)
            child = replace(live, parent=parent, external_ids=(same,), provenance=provenance)
            with suppress(StoreError), open_store(where) as store:  # a failure to save is not reported
                (saved,) = store.save([(child, inspect_trace(child))])
                return KeptDivergence(id_, first.turn, saved.id, len(live.turns), str(store.location) if where else "")
    return None


class _Ending(NamedTuple):
    """How the report at the end is printed."""

    allow_unused: bool
    as_json: bool
    quiet: bool
    color: str

    def report(self, server: ReplayServer, code: int, kept: KeptDivergence | None) -> NoReturn:
        """Print the report, and exit."""
        never_made = () if self.allow_unused or server.divergences else server.replayer.never_made()
        exit_code = DIVERGED if server.divergences or never_made else code
        if self.as_json:
            sys.stderr.write(json.dumps(report_json(server, never_made, exit_code, kept)) + "\n")
        elif not self.quiet:
            print_lines(list(report_lines(server, never_made, kept)), color=self.color, stream=sys.stderr)
        raise SystemExit(exit_code)
