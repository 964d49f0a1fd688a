"""`weaklink replay ID -- COMMAND` and `weaklink serve ID`: a recording answers in the place of model servers.

With `--inject`, a recorded answer is altered, and the report says whether the agent recovered.
"""

import asyncio
import json
import os
import secrets
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

import click
from msgspec import Struct, structs

from inspector.capture import replay_server
from inspector.capture.client_addresses import client_variables, routes
from inspector.capture.exchange_record import NO_CONTENT, masked_text
from inspector.capture.proxy import ProxyConfig, running_proxy
from inspector.capture.recorder import Recorder
from inspector.capture.redacting import Redacts
from inspector.capture.sinks import is_trace_file
from inspector.capture.trace_file_sink import TracesInMemory
from inspector.dataset.answer_faults import CALLS, DELIVERY, AnswerFault, InjectionError, answer_fault
from inspector.errors import StoreError, WeaklinkError
from inspector.inspected import Inspection
from inspector.inspection import inspect_trace
from inspector.model import ExternalId, Json, ParentTrace, ParentWhy, Trace
from inspector.model.exchange import RecordedExchange
from inspector.replay.canonical import BodyDifference, MatchLevel, body_value, canonical, digest
from inspector.replay.matching import Match, Recording, ReplayDivergence, Replayer, recording_of
from inspector.sessions.exchange import Observes
from inspector.text import Range
from inspector.trace_file.reading import read_recordings
from storage import StoreSink, open_store
from storage.exchanges import RUN_ID
from ui.cli.console import print_lines, print_notice
from ui.cli.redaction_options import redactor_of
from ui.cli.run import FAILED, RunSink, session_lines
from ui.cli.supervisor import CommandEnd, Supervisor
from ui.experiments.serving import ANY_PATH, serving
from ui.views.styled_text import GLYPHS, Line, Run, Style, counted, visible_line

_MOST = 20


class Loaded(Struct, frozen=True):
    """A recording with its traces, the id of their run (`""` where there is none), and the traces' ids in the store."""

    recording: Recording
    traces: tuple[tuple[Trace, tuple[RecordedExchange, ...]], ...]
    run: str = ""
    ids: tuple[int, ...] = ()


def load_recording(word: str, where: str | None) -> Loaded:
    """What a word names: a run, a trace, `latest` or the path of a trace file.

    StoreError, UnreadableFileError; StoreError too where nothing can be replayed.
    """
    run, ids = "", tuple[int, ...]()
    if is_trace_file(word) and Path(word).exists():
        found = tuple(read_recordings(word))
    else:
        with open_store(where, create=False) as store:
            kept = store.exchanges.of(word)
            run, ids = kept.run, tuple(kept.traces)
            found = tuple((store.trace(id_), some) for id_, some in kept.traces.items())
    if any(one.withheld == NO_CONTENT for _, some in found for one in some):
        raise StoreError(f"`{word}` was recorded with `--no-content`, so that it cannot be replayed")
    recording = recording_of(found)
    if not recording.exchanges:
        raise StoreError(f"`{word}` has no answers of a model that could be replayed")
    return Loaded(recording, found, run, ids)


class ReplayRun(Struct, frozen=True):
    """One run of a command; requests that go on live go to `upstream`."""

    server: replay_server.ReplayServer
    supervisor: Supervisor
    command: Sequence[str]
    upstream: str | None

    def wait(self, observes: Observes) -> CommandEnd:
        """Run the command to its end; `observes` is told of the requests that go on live."""
        return asyncio.run(self._supervised(observes))

    async def _supervised(self, observes: Observes) -> CommandEnd:
        paths, upstreams = routes(os.environ if self.upstream else {}, self.upstream)
        config = ProxyConfig(upstreams=upstreams if self.upstream else (*upstreams, ANY_PATH), port=0)
        async with running_proxy(config, observes, intercept=self.server.intercept) as address:
            self.supervisor.launch(self.command, client_variables(address, paths, os.environ))
            return await asyncio.to_thread(self.supervisor.wait)


class KeptDivergence(NamedTuple):
    """Where both requests of a divergence are kept: trace and turn of the recorded one, and of the live one.

    `place` names the database where a command has to.
    """

    trace: int
    turn: int
    live_trace: int
    live_turn: int
    place: str = ""

    def commands(self) -> tuple[str, str]:
        """What shows them side by side, on stdout and in the terminal's dissector."""
        place = f" --db {shlex.quote(self.place)}" if self.place else ""
        turns = f"--requests {self.turn},{self.live_turn}"
        return (
            f"weaklink diff {self.trace} {self.live_trace} {turns}{place}",
            f"weaklink tui {self.trace} --against {self.live_trace}{place}",
        )


def report_lines(
    server: replay_server.ReplayServer, never_made: tuple[ReplayDivergence, ...], kept: KeptDivergence | None = None
) -> Iterator[Line]:
    """The report for a terminal; texts of requests are made visible."""
    replayer = server.replayer
    said = f"weaklink: replayed {replayer.used} of {counted(len(replayer.exchanges), 'recorded request')}"
    said += f"; {counted(server.live_requests, 'request')} went upstream" if server.live_requests else ""
    yield (Run(f"{said}."),)
    ignored = replayer.ignored
    if ignored:
        yield (Run(f"weaklink: ignored {counted(len(ignored), 'difference')}:"),)
        for number, one in ignored[:_MOST]:
            yield (Run(f"  request {number}, {visible_line(replay_server.place(one))}", Style.DIM),)
        if len(ignored) > _MOST:
            yield (Run(f"  and {len(ignored) - _MOST} more", Style.DIM),)
    for divergence in (*server.divergences, *never_made)[:_MOST]:
        yield (Run(f"{GLYPHS['error']} {visible_line(replay_server.sentence(divergence))}", Style.ERROR),)
        for one in divergence.differences[1:_MOST]:
            yield (Run(f"  also {visible_line(replay_server.place(one))}", Style.DIM),)
    if kept is not None:
        yield (Run("weaklink: both requests side by side:"),)
        for command in kept.commands():
            yield (Run(f"  {visible_line(command)}", Style.DIM),)


def report_json(
    server: replay_server.ReplayServer,
    never_made: tuple[ReplayDivergence, ...],
    exit_code: int,
    kept: KeptDivergence | None = None,
) -> Json:
    """The same for programs; ranges are `[start, end]` in code points of the decoded text."""
    replayer = server.replayer
    return {
        "recorded": len(replayer.exchanges),
        "replayed": replayer.used,
        "requests": replayer.requests + max(0, server.live_requests - len(server.divergences)),
        "live": server.live_requests,
        "ignored": [{"request": number, **_difference(one)} for number, one in replayer.ignored],
        "divergences": [_divergence(one) for one in (*server.divergences, *never_made)],
        "traces": None if kept is None else {"recorded": kept.trace, "live": kept.live_trace},
        "exit_code": exit_code,
    }


def _divergence(one: ReplayDivergence) -> dict[str, Json]:
    return {
        "kind": one.kind.value,
        "request": one.number,
        "method": one.method,
        "path": one.path,
        "recorded_request": one.exchange or None,
        "turn": one.turn or None,
        "differences": [_difference(each) for each in one.differences],
    }


def _difference(one: BodyDifference) -> dict[str, Json]:
    return {
        "kind": one.kind.value,
        "pointer": one.pointer,
        "message": one.message,
        "recorded": one.recorded,
        "live": one.live,
        "recorded_range": _range(one.recorded_range),
        "live_range": _range(one.live_range),
    }


def _range(where: Range | None) -> Json:
    return None if where is None else [where.start, where.end]


DIVERGED = 3
"""The exit code of a replay that differed from its recording."""


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
) -> None:
    """`weaklink replay`; see its help."""
    if not upstream and (on_divergence == replay_server.OnDivergence.LIVE or fork_after is not None):
        raise click.UsageError("Requests that go on live need `--upstream`.")
    if inject == "all":
        inject_all(word, command, where, as_json=as_json, color=color)
    try:
        supervisor = Supervisor()
        redactor = redactor_of(patterns, no_redact=False, no_content=False)
        loaded = load_recording(word, where)
        replayer = _replayer(loaded.recording, redactor, strict=strict)
        server = replay_server.ReplayServer(replayer, redactor, pace, replay_server.OnDivergence(on_divergence))
        _announce(loaded.recording)
        run = ReplayRun(server, supervisor, command, upstream)
        if inject is not None:
            inject_one(run, loaded, inject, as_json=as_json, color=color)
        if fork_after is not None:
            server.fork_after = fork_after
            raise SystemExit(_fork(run, _parent(loaded), where, quiet=quiet, color=color))
        ended = run.wait(replay_server.IgnoringObserver())
    except (WeaklinkError, OSError) as error:
        sys.stderr.write(f"weaklink: {visible_line(str(error))}\n")
        raise SystemExit(FAILED) from error
    if ended.problem:
        sys.stderr.write(f"weaklink: cannot run `{visible_line(command[0])}`: {ended.problem}\n")
        raise SystemExit(ended.code)
    kept = _kept_divergence(server, loaded, where)
    _end(server, ended.code, kept, allow_unused=allow_unused, as_json=as_json, quiet=quiet, color=color)


def serve(
    word: str,
    port: int,
    patterns: tuple[str, ...],
    where: str | None,
    *,
    pace: bool,
    strict: bool,
    allow_unused: bool,
    as_json: bool,
    color: str,
) -> None:
    """`weaklink serve`; see its help."""
    redactor = redactor_of(patterns, no_redact=False, no_content=False)
    recording = load_recording(word, where).recording
    server = replay_server.ReplayServer(_replayer(recording, redactor, strict=strict), redactor, pace)
    _announce(recording)
    asyncio.run(_served(server, port))
    _end(server, 0, None, allow_unused=allow_unused, as_json=as_json, quiet=False, color=color)


def _replayer(recording: Recording, redactor: Redacts, *, strict: bool) -> Replayer:
    return Replayer(recording, is_strict=strict, mask=lambda body: masked_text(body, redactor))


def _announce(recording: Recording) -> None:
    """Say before the start which answers are not those that the server sent."""
    if recording.redacted:
        print_notice(f"{counted(recording.redacted, 'recorded answer')} held secrets; the replay sends them redacted.")
    if recording.rebuilt:
        said = f"{counted(recording.rebuilt, 'answer')} of {len(recording.exchanges)}"
        print_notice(f"the bytes of {said} were not recorded; the replay sends them whole, rebuilt from the trace.")


def _parent(loaded: Loaded) -> ExternalId | None:
    """An id by which the recorded trace, or its run, is found."""
    ids = [one for trace, _ in loaded.traces for one in trace.external_ids]
    return next((one for one in ids if one.name != RUN_ID), ids[0] if ids else None)


def _fork(run: ReplayRun, parent: ExternalId | None, where: str | None, *, quiet: bool, color: str) -> int:
    """Record the run, whose first turns the recording answers, as a child; the command's exit code."""
    run_id = secrets.token_hex(6)
    with open_store(where) as store:
        sink = StoreSink(store)
        source = ParentTrace(parent, ParentWhy.FORK) if parent is not None else None
        recorder = Recorder(RunSink(sink, run_id, source), redactor=run.server.redactor)
        run.server.observes = recorder
        try:
            ended = run.wait(recorder)
        finally:
            recorder.close()
            sink.close()
        found = store.traces(f"session:{run_id}", limit=21)
        said = [*report_lines(run.server, ()), *session_lines(found, str(store.place) if where else "")]
    if not quiet:
        print_lines(said, color=color, stream=sys.stderr)
    return ended.code


async def _served(server: replay_server.ReplayServer, port: int) -> None:
    until, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, until.set)
    async with serving(server, port) as variables:
        for name, value in variables.items():
            sys.stdout.write(f"{name}={value}\n")
        sys.stdout.flush()
        await until.wait()


def _kept_divergence(server: replay_server.ReplayServer, loaded: Loaded, where: str | None) -> KeptDivergence | None:
    """Keep the request that stopped the replay as a child of the recorded trace; None where nothing is to be kept."""
    first = server.divergences[0] if server.divergences else None
    live = (
        replay_server.diverged_trace(first)
        if first is not None and server.on_divergence is replay_server.OnDivergence.STOP
        else None
    )
    if first is None or live is None or not first.exchange or not loaded.ids:
        return None
    exchange = loaded.recording.exchanges[first.exchange - 1]
    turn = loaded.recording.turns[first.exchange - 1]
    for id_, (trace, own) in zip(loaded.ids, loaded.traces, strict=True):
        if any(one is exchange for one in own) or (not own and turn in trace.turns):
            ids = [one for one in trace.external_ids if one.name != RUN_ID] or [*trace.external_ids]
            parent = ParentTrace(ids[0], ParentWhy.FORK) if ids else None
            asked = canonical(body_value(first.live), MatchLevel.CANONICAL)
            same = ExternalId("divergence", digest(asked).hex()[:16])  # so that the same request is kept once
            child = structs.replace(live, parent=parent, external_ids=(same,))
            with suppress(StoreError), open_store(where) as store:  # one that cannot be written is no divergence
                (saved,) = store.save([(child, inspect_trace(child))])
                return KeptDivergence(id_, first.turn, saved.id, len(live.turns), str(store.place) if where else "")
    return None


def _end(
    server: replay_server.ReplayServer,
    code: int,
    kept: KeptDivergence | None,
    *,
    allow_unused: bool,
    as_json: bool,
    quiet: bool,
    color: str,
) -> NoReturn:
    """Report, and exit with the code."""
    never_made = () if allow_unused or server.divergences else server.replayer.never_made()
    exit_code = DIVERGED if server.divergences or never_made else code
    if as_json:
        sys.stderr.write(json.dumps(report_json(server, never_made, exit_code, kept)) + "\n")
    elif not quiet:
        print_lines(list(report_lines(server, never_made, kept)), color=color, stream=sys.stderr)
    raise SystemExit(exit_code)


class InjectionResult(Struct, frozen=True):
    """What became of an injected fault: the codes that were found in its turn, and the status of the agent's chain."""

    kind: str
    turn: int
    rules: tuple[str, ...]
    found: tuple[str, ...]
    status: str
    exit_code: int
    was_sent: bool

    @property
    def as_json(self) -> dict[str, Json]:
        """For programs."""
        return {
            "kind": self.kind,
            "turn": self.turn,
            "rules": list(self.rules),
            "found": list(self.found),
            "status": self.status,
            "exit_code": self.exit_code,
            "was_sent": self.was_sent,
        }


class _Injection:
    """Gives the answer of one exchange its fault, the first time; the exchange then answers again as it was."""

    def __init__(self, run: ReplayRun, fault: AnswerFault, target: RecordedExchange) -> None:
        self._replayer, self._fault, self._target = run.server.replayer, fault, target
        self.was_sent = False

    def fault_of(self, match: Match) -> AnswerFault | None:
        if self.was_sent or match.exchange is not self._target:
            return None
        self.was_sent = True
        self._replayer.put_back(match)
        return self._fault


def inject_one(run: ReplayRun, loaded: Loaded, word: str, *, as_json: bool, color: str) -> NoReturn:
    """Replay with one fault, report, and exit with the command's code. InjectionError where it has no place."""
    fault, target = _placed(word, loaded)
    injection, sink = _Injection(run, fault, target), TracesInMemory()
    recorder = Recorder(sink)
    run.server.fault_of, run.server.observes = injection.fault_of, recorder
    run.server.on_divergence = replay_server.OnDivergence.LIVE if run.upstream else replay_server.OnDivergence.NEAREST
    try:
        ended = run.wait(recorder)
    finally:
        recorder.close()
    inspections = [(trace, inspect_trace(trace)) for trace in sink.traces()]
    found = {one.rule.code for _, each in inspections for one in each.diagnostics}
    result = InjectionResult(
        word,
        fault.turn,
        fault.rules,
        tuple(sorted(found & set(fault.rules))),
        _worst(inspections),
        ended.code,
        injection.was_sent,
    )
    if as_json:
        sys.stderr.write(json.dumps(result.as_json) + "\n")
    else:
        print_lines([_line(result)], color=color, stream=sys.stderr)
    raise SystemExit(ended.code)


def inject_all(word: str, command: Sequence[str], where: str | None, *, as_json: bool, color: str) -> NoReturn:
    """Replay once with each kind of fault; a table on stdout says which the agent survives."""
    results: list[dict[str, Json]] = []
    for kind in (*DELIVERY, *CALLS):
        place = ("--db", where) if where else ()
        words = ("-m", "weaklink", "replay", word, "--json", "--inject", kind, *place, "--", *command)
        done = subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        try:
            results.append(json.loads(last))
        except ValueError:
            results.append(not_possible(kind, last.removeprefix("weaklink: ")))
    if as_json:
        sys.stdout.write(json.dumps(results) + "\n")
    else:
        print_lines(list(map(_row, results)), color=color)
    raise SystemExit(0)


def not_possible(kind: str, reason: str) -> dict[str, Json]:
    """For programs: a fault that has no place in the recording."""
    return {"kind": kind, "status": "not possible", "reason": reason}


def _placed(word: str, loaded: Loaded) -> tuple[AnswerFault, RecordedExchange]:
    """The fault, and the exchange whose answer gets it: of the first trace that offers a place."""
    problem: InjectionError | None = None
    for trace, own in loaded.traces:
        try:
            fault = answer_fault(word, trace, inspect_trace(trace), frozenset(one.turn for one in own if one.is_stream))
        except InjectionError as error:
            problem = problem or error
            continue
        for exchange, turn in zip(loaded.recording.exchanges, loaded.recording.turns, strict=True):
            is_own = any(exchange is one for one in own) or (not own and turn == trace.turns[fault.turn - 1])
            if exchange.turn == fault.turn and is_own:
                return fault, exchange
    raise problem or InjectionError(f"`{word}` has no place in this recording")


def _worst(inspections: Sequence[tuple[Trace, Inspection]]) -> str:
    """The status that says most of what went wrong, of all traces."""
    order = ("broken", "aborted", "recovered", "ok")
    statuses = {each.chain.status.value for _, each in inspections}
    return next((status for status in order if status in statuses), next(iter(statuses), "none"))


def _line(result: InjectionResult) -> Line:
    if not result.was_sent:
        return (
            Run(f"weaklink: the request of turn {result.turn} was never made, so nothing was injected.", Style.ERROR),
        )
    rules = f" ({', '.join(result.found or result.rules)})" if result.rules else ""
    found = "" if result.found or not result.rules else ", not found by the inspection"
    return (
        Run(f"weaklink: injected {visible_line(result.kind)} into turn {result.turn}{rules}{found}; the run is "),
        Run(result.status, Style.OK if result.status in ("ok", "recovered") else Style.ERROR),
        Run(f", exit code {result.exit_code}."),
    )


def _row(result: dict[str, Json]) -> Line:
    kind, status = str(result["kind"]), str(result["status"])
    if "reason" in result:
        reason = visible_line(str(result["reason"]))
        return (Run(f"{kind:<22}"), Run(f"{status:<14}", Style.DIM), Run(reason, Style.DIM))
    survived = status in ("ok", "recovered") and result["exit_code"] == 0
    codes = ", ".join(map(str, result["found"] or ())) if isinstance(result["found"], list) else ""
    verdict = Run(f"{'survived' if survived else 'failed':<14}", Style.OK if survived else Style.ERROR)
    return (
        Run(f"{kind:<22}"),
        verdict,
        Run(f"{status:<11}exit {result['exit_code']:<5}turn {result['turn']}  {codes}".rstrip()),
    )
