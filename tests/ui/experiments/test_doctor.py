"""`weaklink doctor`: each planted source of difference is found at its place, and none in a deterministic agent."""

import json
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.chat_client import CHAT_CLIENT
from tests.capture.upstream import Answer, Received, running_upstream
from tests.ui.conftest import run_text
from tests.ui.experiments import differing_agent
from tests.ui.experiments.asking import run
from tests.ui.experiments.differing_agent import PLANTED, answer_of, calls_of, run_agent
from weaklink.inspector.apis.providers import decoder_for
from weaklink.inspector.chain.steps import Status
from weaklink.inspector.model.exchange import RecordedExchange
from weaklink.inspector.replay.matching import DifferenceSource, RunDivergence, RunExchange, parting
from weaklink.inspector.wire.events import TurnAssembly
from weaklink.ui.experiments.doctor import CommandRun, compare_runs, comparison_json, comparison_lines
from weaklink.ui.views.styled_text import plain

WIRES = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}


def recorded(planted: str, wire: str, number: int) -> tuple[RunExchange, ...]:
    """The exchanges of one run of the agent, without a network."""
    run_exchanges: list[RunExchange] = []

    def send(body: dict[str, Any]) -> list[dict[str, Any]]:
        answer = answer_of(planted, wire, number, is_last=bool(run_exchanges))
        raw = json.dumps(answer).encode()
        decoder = decoder_for(WIRES[wire], body, "application/json", status=200)
        assembly = TurnAssembly(decoder.api, streamed=decoder.streamed)
        assembly.extend([*decoder.feed(raw, None), *decoder.close()])
        exchange = RecordedExchange("POST", WIRES[wire], len(run_exchanges), 200, (), json.dumps(body).encode(), raw)
        run_exchanges.append(RunExchange(number, exchange, assembly.decoded().turn))
        return calls_of(answer)

    run_agent(planted, wire, number, send)
    return tuple(run_exchanges)


def _parting(planted: str, wire: str) -> RunDivergence:
    result = parting(recorded(planted, wire, 1), recorded(planted, wire, 2))
    assert result is not None
    return result


@pytest.mark.parametrize("wire", list(WIRES))
@pytest.mark.parametrize("planted", PLANTED)
def test_each_planted_source_is_found(planted: str, wire: str) -> None:
    result = _parting(planted, wire)
    assert result.source == DifferenceSource(planted)
    assert result.request == (2 if planted in ("answer", "tool-result", "order") else 1)
    assert result.differences


@pytest.mark.parametrize("wire", list(WIRES))
def test_a_deterministic_agent_has_none_though_ids_of_calls_and_callers_differ(wire: str) -> None:
    runs = [CommandRun(number, "r", 0, (), recorded("none", wire, number)) for number in range(1, 6)]
    assert runs[0].exchanges[0].exchange.request != runs[1].exchanges[0].exchange.request
    compared = compare_runs(runs)
    assert compared.groups == ((1, 2, 3, 4, 5),)
    assert not compared.has_findings
    assert compared.first is None


def test_the_place_is_named_with_its_characters() -> None:
    differences = _parting("tool-result", "openai").differences[0]
    assert (differences.pointer, differences.message, differences.recorded, differences.live) == (
        "/messages/3/content",
        4,
        "13 degrees",
        "12 degrees",
    )
    clock = _parting("clock", "anthropic").differences[0]
    assert clock.pointer == "/system"
    assert clock.live.endswith("2023-11-16")


@pytest.mark.parametrize(
    ("first", "other", "source"),
    [
        ("At 1700000000 and on", "At 1700086400 and on", "clock"),
        ("It is 10:42 now", "It is 10:43 now", "clock"),
        ("run 3f9a8c7d21", "run 77aa01bc9e", "id"),
        ("At 2026-01-01, run 3f9a8c7d21", "At 2026-01-02, run 77aa01bc9e", "clock"),
        ("run 3f9a8c7d21 at 2026-01-01", "run 77aa01bc9e at 2026-01-02", "id"),
        ("first second", "second first", "order"),
        ("Be terse.", "Be verbose.", "prompt"),
    ],
)
def test_the_source_of_a_changed_text(first: str, other: str, source: str) -> None:
    def asked(text: str) -> list[RunExchange]:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
        return [RunExchange(1, RecordedExchange("POST", "/v1/chat/completions", request=body))]

    result = parting(asked(first), asked(other))
    assert result is not None
    assert result.source == DifferenceSource(source)


def test_runs_that_stop_early_or_ask_more_part_there() -> None:
    whole = recorded("none", "openai", 1)
    shorter, longer = parting(whole, whole[:1]), parting(whole[:1], whole)
    assert shorter is not None
    assert (shorter.source, shorter.request, shorter.second) == (DifferenceSource.END, 2, None)
    assert longer is not None
    assert (longer.source, longer.request, longer.first) == (DifferenceSource.PROMPT, 2, None)


def test_overlapping_requests_may_come_in_any_order() -> None:
    def asked(*texts: str) -> list[RunExchange]:
        bodies = [json.dumps({"messages": [{"role": "user", "content": text}]}).encode() for text in texts]
        return [RunExchange(1, RecordedExchange("POST", "/v1/chat/completions", request=body)) for body in bodies]

    assert parting(asked("a", "b", "c"), asked("c", "a", "b")) is None


def test_the_report_counts_equal_and_broken_runs_and_names_the_earliest_parting() -> None:
    runs = [CommandRun(number, "r", 0, ((number, Status.OK),), recorded("clock", "openai", 1)) for number in (1, 2, 3)]
    runs.append(CommandRun(4, "r", 1, ((4, Status.BROKEN),), recorded("clock", "openai", 2)))
    compared = compare_runs(runs)
    assert (compared.equal.hits, compared.broken.hits) == (3, 1)
    text = "\n".join(map(plain, comparison_lines(compared)))
    assert "4 runs: 3 of 4 (" in text
    assert "Runs 1 and 4 first diverge at request 1: a date or time in the prompt." in text
    assert "run 4: 1" not in text.splitlines()[0]
    report = comparison_json(compared)
    assert (report["source"], report["groups"]) == ("clock", [[1, 2, 3], [4]])


def test_the_report_of_equal_runs_says_so() -> None:
    runs = [CommandRun(number, "r", 0, ((number, Status.OK),), recorded("none", "openai", 1)) for number in (1, 2)]
    text = [plain(line) for line in comparison_lines(compare_runs(runs))]
    assert text[-1] == "✔ Every run made the same requests and got the same answers."


def test_equal_runs_without_requests_or_answers_are_not_called_right() -> None:
    nothing = [CommandRun(number, "r", 0, (), ()) for number in (1, 2)]
    assert plain([*comparison_lines(compare_runs(nothing))][-1]) == "▲ No run made a request to a model."
    exchange = RecordedExchange("POST", WIRES["openai"], 0.0, None, (), b"{}", None)
    runs = [CommandRun(number, "r", 0, (), (RunExchange(number, exchange, None),)) for number in (1, 2)]
    text = plain([*comparison_lines(compare_runs(runs))][-1])
    assert text == "✖ Every run made the same requests, and no server answered."


@pytest.mark.one_in(2)
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_the_command_reports_equal_runs(tmp_path: Path, options: tuple[str, ...]) -> None:
    code = f"{CHAT_CLIENT}create(model='m', messages=[{{'role': 'user', 'content': 'Hi'}}])"
    with running_upstream(scripted.chat_answer("Hi.")) as upstream:
        words = ("--upstream", upstream.url, "--db", "t.db", "--", sys.executable, "-c", code)
        done = run_text(tmp_path, "doctor", "-n", "2", *options, *words)
    assert done.returncode == 0, done.stderr
    if options:
        assert json.loads(done.stdout)["groups"] == [[1, 2]]
    else:
        assert "✔ Every run made the same requests and got the same answers." in done.stdout


def _server(planted: str, wire: str) -> Any:
    """Answers as the planted agent's server: its first of two answers has calls."""
    runs, known = count(2), dict[int, Answer]()

    def answer(request: Received) -> Answer:
        if not request.is_whole:
            return scripted.json_answer({})
        if id(request) not in known:
            is_last = len(json.loads(request.body)["messages"]) > 2
            known[id(request)] = scripted.json_answer(answer_of(planted, wire, next(runs) // 2, is_last=is_last))
        return known[id(request)]

    return answer


def _doctor(planted: str, wire: str, folder: Path, *options: str) -> tuple[int, dict[str, Any]]:
    with running_upstream(_server(planted, wire)) as upstream:
        command = (sys.executable, differing_agent.__file__, planted, wire)
        with pytest.MonkeyPatch.context() as patched:
            patched.chdir(folder)
            done = run(
                *("doctor", "--upstream", upstream.url, "--json", "--db", str(folder / "t.db"), *options, "--"),
                *command,
            )
    return done.exit_code, json.loads(done.stdout)


@pytest.mark.slow  # two processes each for two runs
def test_the_command_runs_and_compares(tmp_path: Path) -> None:
    code, report = _doctor("tool-result", "openai", tmp_path, "-n", "2", "--fail-on-findings")
    assert (code, report["source"], report["groups"]) == (1, "tool-result", [[1], [2]])
    assert [len(record["traces"]) for record in report["runs"]] == [1, 1]
    assert report["partings"][0]["first"] == {"trace": 1, "turn": 6}


@pytest.mark.slow
@pytest.mark.parametrize("wire", list(WIRES))
@pytest.mark.parametrize("planted", [*PLANTED, "none"])
def test_the_command_finds_each_planted_source(planted: str, wire: str, tmp_path: Path) -> None:
    code, report = _doctor(planted, wire, tmp_path, "-n", "2")
    assert code == 0
    assert report["source"] == (None if planted == "none" else planted)
    assert all(record["requests"] == 2 for record in report["runs"])
