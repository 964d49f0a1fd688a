"""Fault injection: a replay with an altered answer, and whether the agent recovers."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.capture.recorder_process import ForwarderConnection, RecorderProcess, RecorderReport
from weaklink.inspector.capture.redacting import Redacts
from weaklink.inspector.capture.replay_server import OnDivergence
from weaklink.inspector.capture.trace_file_sink import TraceFileSink
from weaklink.inspector.dataset.answer_faults import CALLS, DELIVERY, AnswerFault, InjectionError, answer_fault
from weaklink.inspector.errors import SinkError
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Trace
from weaklink.inspector.model.exchange import RecordedExchange
from weaklink.inspector.replay.matching import Match
from weaklink.inspector.trace_file.reading import read_recordings
from weaklink.ui.cli.console import print_lines, print_notice
from weaklink.ui.cli.replaying import LoadedRecording, ReplayRun
from weaklink.ui.json_types.runs import InjectionJson, InjectionRowJson
from weaklink.ui.views.styled_text import Line, Run, Style, visible_line


class _Injection:
    """Puts the fault into the first answer of one exchange; the exchange can then be answered again, unaltered."""

    def __init__(self, run: ReplayRun, fault: AnswerFault, target: RecordedExchange) -> None:
        self._replayer, self._fault, self._target = run.server.replayer, fault, target
        self.was_sent = False

    def fault_of(self, match: Match) -> AnswerFault | None:
        if self.was_sent or match.exchange is not self._target:
            return None
        self.was_sent = True
        self._replayer.put_back(match)
        return self._fault


def inject_one(run: ReplayRun, loaded: LoadedRecording, word: str, *, as_json: bool, color: str) -> NoReturn:
    """Replay with one fault, report, and exit with the command's code. Raises InjectionError if it has no place."""
    fault, target = _placed(word, loaded)
    injection = _Injection(run, fault, target)
    run.server.fault_of = injection.fault_of
    run.server.on_divergence = OnDivergence.LIVE if run.upstream else OnDivergence.NEAREST
    with TemporaryDirectory(prefix="weaklink-") as folder:
        file = Path(folder) / "run.trace.jsonl"
        recording = RecorderProcess(_record_into(file, run.server.redactor), on_trouble=print_notice)
        run.server.observes = recording
        try:
            ended = run.wait(recording, lambda: recording.pid)
        finally:
            report = recording.close()
        if report.problem:
            raise SinkError(report.problem)
        inspections = [(trace, inspect_trace(trace)) for trace, _ in read_recordings(file)]
    codes = {diagnostic.rule.code for _, each in inspections for diagnostic in each.diagnostics}
    result: InjectionJson = {
        "kind": word,
        "turn": fault.turn,
        "rules": list(fault.rules),
        "found": sorted(codes & set(fault.rules)),
        "status": _worst(inspections),
        "exit_code": ended.code,
        "was_sent": injection.was_sent,
    }
    if as_json:
        sys.stderr.write(json.dumps(result) + "\n")
    else:
        print_lines([_line(result)], color=color, stream=sys.stderr)
    raise SystemExit(ended.code)


def _record_into(file: Path, redactor: Redacts) -> Callable[[ForwarderConnection], RecorderReport]:
    def record(connection: ForwarderConnection) -> RecorderReport:
        sink = TraceFileSink(file)
        recorder = Recorder(sink, redactor=redactor)
        connection.report(RecorderReport(target=str(file)))
        try:
            connection.observe(recorder)
        finally:
            recorder.close()
            sink.close()
        return RecorderReport(target=str(file), is_last=True)

    return record


def inject_all(word: str, command: Sequence[str], where: str | None, *, as_json: bool, color: str) -> NoReturn:
    """Replay once with each kind of fault, and print a table of those that the agent survives."""
    results: list[InjectionRowJson] = []
    for kind in (*DELIVERY, *CALLS):
        options = ("--db", where) if where else ()
        words = ("-m", "weaklink", "replay", word, "--json", "--inject", kind, *options, "--", *command)
        done = subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        try:
            results.append(json.loads(last))
        except ValueError:
            results.append({"kind": kind, "status": "not possible", "reason": last.removeprefix("weaklink: ")})
    if as_json:
        sys.stdout.write(json.dumps(results) + "\n")
    else:
        print_lines(list(map(_row, results)), color=color)
    raise SystemExit(0)


def _placed(word: str, loaded: LoadedRecording) -> tuple[AnswerFault, RecordedExchange]:
    """The fault, and the exchange whose answer it alters, in the first trace with a place for it."""
    problem: InjectionError | None = None
    for trace, own in loaded.traces:
        try:
            fault = answer_fault(
                word, trace, inspect_trace(trace), frozenset(exchange.turn for exchange in own if exchange.is_stream)
            )
        except InjectionError as error:
            problem = problem or error
            continue
        for exchange, turn in zip(loaded.recording.exchanges, loaded.recording.turns, strict=True):
            is_own = any(exchange is own_file for own_file in own) or (not own and turn == trace.turns[fault.turn - 1])
            if exchange.turn == fault.turn and is_own:
                return fault, exchange
    raise problem or InjectionError(f"`{word}` cannot be injected into this recording")


def _worst(inspections: Sequence[tuple[Trace, Inspection]]) -> str:
    """The worst status among all traces."""
    order = ("broken", "aborted", "recovered", "ok")
    statuses = {each.chain.status.value for _, each in inspections}
    return next((status for status in order if status in statuses), next(iter(statuses), "none"))


def _line(result: InjectionJson) -> Line:
    if not result["was_sent"]:
        return (
            Run(
                f"weaklink: the request of turn {result['turn']} was never made, so nothing was injected.", Style.ERROR
            ),
        )
    rules = f" ({', '.join(result['found'] or result['rules'])})" if result["rules"] else ""
    note = "" if result["found"] or not result["rules"] else ", not found by the inspection"
    return (
        Run(f"weaklink: injected {visible_line(result['kind'])} into turn {result['turn']}{rules}{note}; the run is "),
        Run(result["status"], Style.OK if result["status"] in ("ok", "recovered") else Style.ERROR),
        Run(f", exit code {result['exit_code']}."),
    )


def _row(result: InjectionRowJson) -> Line:
    kind, status = result["kind"], result["status"]
    if "reason" in result:
        reason = visible_line(result["reason"])
        return (Run(f"{kind:<22}"), Run(f"{status:<14}", Style.DIM), Run(reason, Style.DIM))
    survived = status in ("ok", "recovered") and result.get("exit_code") == 0
    codes = ", ".join(result.get("found", ()))
    verdict = Run(f"{'survived' if survived else 'failed':<14}", Style.OK if survived else Style.ERROR)
    return (
        Run(f"{kind:<22}"),
        verdict,
        Run(f"{status:<11}exit {result.get('exit_code', ''):<5}turn {result.get('turn', '')}  {codes}".rstrip()),
    )
