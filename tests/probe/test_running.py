"""Runs: bounds, busy servers, interrupts, keys, and the files that they leave."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.probe.model_server import Fault, ModelServer, running
from tests.probe.test_planted_faults import BOTH_MODES
from weaklink.inspector.capture.resending import SpendingBounds
from weaklink.inspector.probe.builtin_suite import builtin_suite
from weaklink.inspector.probe.measures import measure
from weaklink.inspector.probe.results import read_results
from weaklink.inspector.probe.running import ProbedAnswer, ProbePlan, ProbeRun, ProbeState, endpoint_target
from weaklink.storage.store import open_store
from weaklink.ui.reports.probe_report import ProbeReport, report_lines
from weaklink.ui.views.styled_text import plain

_KEY = "sk-probe-0123456789abcdef"


def _run(server: ModelServer, answers: list[ProbedAnswer], **bounds: Any) -> ProbeRun:
    plan = ProbePlan(server.url, builtin_suite()[:4], model="m", concurrency=1)
    target = endpoint_target(server.url, {"OPENAI_API_KEY": _KEY})
    return ProbeRun(plan, target, answers.extend, bounds=SpendingBounds(**bounds))


def _state(fault: Fault | None = None, **bounds: Any) -> tuple[ProbeState, list[ProbedAnswer], ModelServer]:
    async def run() -> tuple[ProbeState, list[ProbedAnswer], ModelServer]:
        answers: list[ProbedAnswer] = []
        async with running(fault) as server:
            return await _run(server, answers, **bounds).run(), answers, server

    return asyncio.run(run())


def test_bounds_end_a_run_and_keep_its_answers() -> None:
    state, answers, server = _state(max_requests=5)
    assert "limit of 5 requests" in state.stop
    assert len(server.requests) == 5
    assert len(answers) == 4  # a request counts when both of its answers are there
    state, answers, _ = _state(max_tokens=1)
    assert "limit of 1 tokens" in state.stop
    assert answers == []


def test_a_busy_server_gets_the_request_again_after_the_time_that_it_asks_for() -> None:
    async def run() -> tuple[ProbeState, list[ProbedAnswer]]:
        answers: list[ProbedAnswer] = []
        async with running() as server:
            server.busy = [(429, {"retry-after": "0.01"}), (503, {"retry-after": "0.01"})]
            return await _run(server, answers).run(), answers

    state, recorded = asyncio.run(run())
    assert state.bounds.requests == 8 + 2
    assert len(recorded) == 8
    assert all(answer.record.answered for answer in recorded)


def test_a_server_that_answers_nothing_but_errors_ends_the_run_with_the_reason() -> None:
    async def run() -> tuple[ProbeState, list[ProbedAnswer], int]:
        answers: list[ProbedAnswer] = []
        async with running() as server:
            server.busy = [(503, {"retry-after": "0.001"})] * 200
            return await _run(server, answers).run(), answers, 200 - len(server.busy)

    state, recorded, asked = asyncio.run(run())
    assert state.stop == "none of 4 requests got an answer; the server answered 503: busy"
    assert len(recorded) == 2  # a request has two modes; the second one is not judged
    assert asked == 4 * 6


@pytest.mark.parametrize("status", [401, 403, 404, 405])
def test_a_server_that_refuses_everything_alike_ends_the_run_with_the_reason(status: int) -> None:
    """A wrong key or path: the usual mistakes."""
    state, answers, server = _state(Fault(status=lambda _: status, refusal="no"))
    assert state.stop == f"all of 4 requests were refused; the server answered {status}: no"
    assert len(server.requests) == 4
    assert len(answers) == 2  # as above


@pytest.mark.parametrize("statuses", [[400], [422], [404, 403], [403, 200, 403, 403, 403]])
def test_refusals_that_may_be_about_one_request_end_no_run(statuses: list[int]) -> None:
    """A parameter, a tool, a model of the server's own list: other requests may be answered."""
    left = iter(statuses * 8)
    state, answers, server = _state(Fault(status=lambda _: next(left)))
    assert state.stop == ""
    assert len(server.requests) >= 8
    assert len(answers) == 8


def test_a_request_without_an_answer_among_others_ends_no_run() -> None:
    async def run() -> ProbeState:
        async with running() as server:
            probe = _run(server, [])
            server.busy = [(503, {"retry-after": "0.001"})] * 6
            return await probe.run()

    assert asyncio.run(run()).stop == ""


def test_the_key_is_sent_and_never_kept() -> None:
    """Not even if the server repeats it in its answers and errors."""
    fault = Fault(
        whole=lambda value, _: {**value, "echo": _KEY},
        text=lambda right, _: _KEY,
    )
    _, state, server = _state(fault)
    assert server.headers["Authorization"] == f"Bearer {_KEY}"
    assert state
    for answer in state:
        assert _KEY not in answer.judged.answer.raw.decode()
        assert _KEY not in str(answer.record)


@pytest.mark.parametrize(("concurrency", "most"), [(1, 1), (1, 2), (4, 1), (4, 2)])
def test_a_server_that_is_not_there_ends_the_run_with_the_reason(concurrency: int, most: int) -> None:
    async def run() -> ProbeState:
        plan = ProbePlan("http://127.0.0.1:9", builtin_suite()[:4], model="m", concurrency=concurrency)
        probe = ProbeRun(plan, endpoint_target(plan.url, {}), lambda answers: None)
        probe.state.bounds.max_requests = most
        return await probe.run()

    state = asyncio.run(run())
    assert "connection refused" in state.stop
    assert state.done == 0
    report = ProbeReport("http://127.0.0.1:9", "m", (), measure(()))
    assert [plain(line) for line in report_lines(report, width=100)][1:] == ["No answer came, so nothing was measured."]


@contextmanager
def _served(fault: Fault | None = None) -> Iterator[ModelServer]:
    """A server in a thread, for commands in processes of their own."""
    ready, loop = threading.Event(), asyncio.new_event_loop()
    servers: list[ModelServer] = []
    stop = asyncio.Event()

    async def serve() -> None:
        async with running(fault) as server:
            servers.append(server)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    ready.wait()
    try:
        yield servers[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def _command(tmp_path: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "weaklink", "probe", *words, "--db", str(tmp_path / "w.db")]


def _ended(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(_command(tmp_path, *words), env=_environment(), capture_output=True, text=True, check=False)


def _environment() -> dict[str, str]:
    return {**os.environ, "OPENAI_API_KEY": _KEY, "COLUMNS": "120"}


def test_a_probe_from_the_command_line(tmp_path: Path) -> None:
    results, junit, page, summary = (tmp_path / name for name in ("r.jsonl", "j.xml", "p.html", "s.json"))
    files = ["-o", str(results), "--junit", str(junit), "--html", str(page), "--summary", str(summary)]
    with _served(BOTH_MODES["numbers as text"][0]) as server:
        words = [server.url, "--model", "m", "--yes", *files, "--fail-under", "schema=0.99"]
        done = subprocess.run(
            _command(tmp_path, *words), env=_environment(), capture_output=True, text=True, check=False
        )
        again = subprocess.run(
            _command(tmp_path, *words), env=_environment(), capture_output=True, text=True, check=False
        )
    assert done.returncode == 1, done.stderr
    assert "124 requests (about " in done.stderr
    assert "`schema` is 0.8125, below 0.99" in done.stderr
    assert re.search(r"schema +81\.2 % +72\.3 % to 87\.8 % +78/96", done.stdout)
    assert again.returncode == 2
    assert "continue it with `--resume`" in again.stderr
    records = read_results(results)
    assert len(records) == 124
    failed = [record for record in records if record.findings]
    tree = ET.parse(junit).getroot()
    assert len(tree.findall(".//failure")) == len(failed) == 22
    measured = {record["measure"]: record for record in json.loads(summary.read_text())["weaklink"]["measures"]}
    assert measured["schema"]["hits"] == 78
    assert "wrong-type" in page.read_text()
    assert "<script" not in page.read_text()
    with open_store(str(tmp_path / "w.db")) as store:
        (trace,) = store.traces(f"session:{failed[0].session}")
        assert trace.status == "broken"
        assert trace.broken is not None
        assert trace.broken.code == "S202"
        assert store.traces("forks:no") == []  # a probe is no session of an agent
        (kept,) = store.probe_runs.latest()
        assert failed[0].session.startswith(kept.session)
        assert json.loads(kept.summary) == json.loads(summary.read_text())
    assert all(_KEY not in path.read_bytes().decode("utf-8", "replace") for path in tmp_path.iterdir())


def test_an_interrupt_loses_nothing_and_the_run_continues(tmp_path: Path) -> None:
    results = tmp_path / "r.jsonl"
    words = ["--model", "m", "--yes", "-o", str(results), "--concurrency", "1", "--no-traces"]
    with _served(_Slow()) as server:
        with subprocess.Popen(
            _command(tmp_path, server.url, *words), env=_environment(), stderr=subprocess.PIPE, text=True
        ) as process:
            while not results.exists() or results.read_text().count("\n") < 6:
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, told = process.communicate()
        assert process.returncode == 130
        assert "`--resume` continues" in told
        kept = read_results(results)
        assert 6 <= len(kept) < 124
        with results.open("a") as file:
            file.write('{"data_index": 99, "requ')  # as a crash leaves it
        before = len(server.requests)
        server.fault = Fault()
        done = subprocess.run(
            _command(tmp_path, server.url, *words, "--resume"), env=_environment(), capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert len(server.requests) - before == 124 - len(kept)
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    assert len({line["hash"] for line in lines}) == len(lines) == 124


class _Slow(Fault):
    """A server that takes its time."""

    def __init__(self) -> None:
        super().__init__(status=self._wait)

    @staticmethod
    def _wait(_: Any) -> int:
        time.sleep(0.05)
        return 200


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["http://a", "--model", "m"], "confirm with --yes"),
        (["http://a", "--yes"], "--model is required"),
        (["http://a", "--model", "m", "--fail-under", "speed=1"], "is not NAME=SHARE"),
        (["http://a", "--model", "m", "--resume"], "name it with --output"),
        (["http://a", "http://b", "http://c", "--model", "m"], "at most two"),
    ],
)
def test_a_wrong_command_line_sends_nothing(tmp_path: Path, words: list[str], sentence: str) -> None:
    done = _ended(tmp_path, *words)
    assert done.returncode == 2
    assert sentence in done.stderr
