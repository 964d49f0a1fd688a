"""Real coding agents against a scripted model: what their logs hold, and what `weaklink run` records of the same run.

The server knows what it sent; a recording must have exactly that. A log has what the agent kept: `KEPT` says what that
is for calls that are malformed or name no tool, as measured. The agents are those that `make test-agents` installs.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.agents import start
from tests.agents.scripted_server import ANSWER, EDIT, MISSING_FILE, UNKNOWN_TOOL, Served, scripted_server
from tests.agents.start import AGENTS
from tests.ui.cli.recordings import recording_process
from tests.ui.conftest import START, environment
from weaklink.inspector.chain.steps import Status, Step, StepOutcome
from weaklink.inspector.model import ParentWhy, Role
from weaklink.storage.store import open_store

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class KeptCall(NamedTuple):
    """A call in a log: its arguments, parsed, or `None` if the log has the model's own text; and its outcome."""

    arguments: object
    outcome: StepOutcome


KEPT = {
    ("pi", "malformed"): KeptCall({"command": "echo broken"}, StepOutcome.OK),
    ("pi", "cut-arguments"): KeptCall({"command": "echo"}, StepOutcome.OK),
    ("opencode", "malformed"): KeptCall(None, StepOutcome.MALFORMED),
    ("opencode", "cut-arguments"): KeptCall(None, StepOutcome.MALFORMED),
    ("opencode", "unknown-tool"): KeptCall({}, StepOutcome.ERROR_RESULT),
    **{
        (agent, story): KeptCall(None, StepOutcome.MALFORMED)
        for agent in ("claude-code", "codex")
        for story in ("malformed", "cut-arguments")
    },
    ("openclaw", "unknown-tool"): KeptCall({"x": 1}, StepOutcome.UNKNOWN_TOOL),  # its trajectory lists the tools
    ("llm-database", "unknown-tool"): KeptCall({"x": 1}, StepOutcome.UNKNOWN_TOOL),  # its log lists the tools
    ("hermes-sessions", "malformed"): KeptCall({"command": "echo broken"}, StepOutcome.OK),
    ("cline", "malformed"): KeptCall({"commands": ["echo broken"]}, StepOutcome.OK),
    **{
        (agent, story): KeptCall({}, StepOutcome.ERROR_RESULT)
        for agent, story in (
            ("cline", "cut-arguments"),
            ("continue", "malformed"),
            ("continue", "cut-arguments"),
            ("copilot-cli", "malformed"),
            ("copilot-cli", "cut-arguments"),
        )
    },
    ("qwen-code", "malformed"): KeptCall(
        {"command": "echo broken", "description": "Look.", "is_background": False}, StepOutcome.OK
    ),
    ("qwen-code", "cut-arguments"): KeptCall(
        {"command": "echo broken", "description": "Look.", "is_background": None}, StepOutcome.ERROR_RESULT
    ),
}
"""What is left of the last call in an agent's log, where it is not what the model sent."""


MEASURED = sorted({agent for agent, story in KEPT if story == "malformed"})
"""The agents of which it was measured what they keep of a malformed call."""

_CASES = [(agent, "unknown-tool") for agent in AGENTS] + [
    (agent, story) for agent in MEASURED for story in ("malformed", "cut-arguments")
]


class AgentRun(NamedTuple):
    """The steps of one run as recorded and as logged, their statuses, what the server sent, and the log's last text."""

    served: Served
    recorded: tuple[Step, ...]
    logged: tuple[Step, ...]
    statuses: tuple[Status, Status]
    last_text: str


def _steps(database: Path) -> tuple[tuple[Step, ...], Status, str]:
    """The steps of all traces, and the longest trace's status and last text: agents also ask for titles.

    Qwen Code sends its first request again if it cannot read a call: in a recording that is a sibling.
    """
    with open_store(database, read_only=True) as store:
        traces = [store.inspected(summary.id) for summary in reversed(store.traces())]
    if not traces:
        return (), Status.UNKNOWN, ""
    trace, inspection = max(traces, key=lambda pair: (len(pair[1].chain.steps), len(pair[0].turns)))
    last = trace.turns[-1].parts
    steps = tuple(step for _, inspected in traces for step in inspected.chain.steps)
    return steps, inspection.chain.status, last[-1].text if last else ""


def _run(agent: str, story: str, home: Path) -> AgentRun:
    assert start.is_installed(agent), f"{agent} is not installed; `make test-agents` installs it"
    folder = home / "harbour"
    folder.mkdir()
    recorded, logged = home / "recorded.db", home / "logged.db"
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in a shell's background it is ignored, also by agents
    with scripted_server() as served:
        command = [*START, "run", "--upstream", served.url, "--db", str(recorded), "--"]
        variables = environment(home, TERM="dumb", LANG="C.UTF-8", PWD=str(folder))  # OpenCode works where `PWD` is
        with subprocess.Popen(
            [*command, sys.executable, str(Path(start.__file__)), agent, story],
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                if story == "abort":
                    assert served.is_waiting.wait(120)
                    os.killpg(process.pid, signal.SIGINT)
                output, _ = process.communicate(timeout=240)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        words = [agent] if agent != "aider" else [".aider.chat.history.md", "requests.history"]
        done = subprocess.run(
            [*START, "import", *words, "--db", str(logged)], cwd=folder, env=variables, capture_output=True, check=False
        )
    assert done.returncode == 0, (output, done.stderr)
    recorded_steps, recorded_status, _ = _steps(recorded)
    logged_steps, logged_status, last_text = _steps(logged)
    return AgentRun(served, recorded_steps, logged_steps, (recorded_status, logged_status), last_text)


def _calls(steps: tuple[Step, ...]) -> list[tuple[str | None, str | None, str]]:
    return [(step.call.id, step.call.name, step.call.raw_arguments) for step in steps]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("story", ["failing", "two-calls"])
def test_a_log_and_a_recording_have_what_the_model_sent(agent: str, story: str, tmp_path: Path) -> None:
    run = _run(agent, story, tmp_path)
    assert _calls(run.recorded) == run.served.calls
    assert [(step.call.id, step.call.name) for step in run.logged] == [call[:2] for call in run.served.calls]
    assert [step.call.arguments for step in run.logged] == [json.loads(call.arguments) for call in run.served.calls]
    assert [step.outcome for step in run.logged] == [step.outcome for step in run.recorded]
    assert run.statuses[0] == run.statuses[1]
    assert run.last_text == ANSWER
    for step in (*run.recorded, *run.logged):
        assert step.result is not None
        assert (MISSING_FILE in step.result.content) == (story == "failing")


@pytest.mark.parametrize(("agent", "story"), _CASES)
def test_what_a_log_hides_a_recording_shows(agent: str, story: str, tmp_path: Path) -> None:
    run = _run(agent, story, tmp_path)
    sent = run.served.calls[-1]
    assert _calls(run.recorded) == run.served.calls
    # A request lists the tools that there are; a log does not.
    expected = StepOutcome.UNKNOWN_TOOL if story == "unknown-tool" else StepOutcome.MALFORMED
    assert {step.outcome for step in run.recorded} == {expected}
    default = KeptCall({"x": 1}, StepOutcome.ERROR_RESULT) if story == "unknown-tool" else None
    kept = KEPT.get((agent, story), default)
    assert kept is not None
    logged = run.logged[-1]
    assert (logged.call.id, logged.call.name) == (sent.id, sent.name)
    assert (logged.call.name == UNKNOWN_TOOL) == (story == "unknown-tool")
    assert logged.outcome is kept.outcome
    if kept.arguments is None:
        assert logged.call.raw_arguments == sent.arguments
    else:
        assert logged.call.arguments == kept.arguments


@pytest.mark.parametrize("story", ["malformed", "cut-arguments"])
def test_openclaw_asks_again_and_logs_no_malformed_call(story: str, tmp_path: Path) -> None:
    run = _run("openclaw", story, tmp_path)
    assert _calls(run.recorded) == run.served.calls
    assert len(run.served.calls) == 4
    assert {step.outcome for step in run.recorded} == {StepOutcome.MALFORMED}
    assert run.logged == ()
    assert run.statuses == (Status.BROKEN, Status.ABORTED)


@pytest.mark.parametrize("story", ["malformed", "cut-arguments"])
def test_llm_ends_at_a_malformed_call_and_logs_nothing_of_it(story: str, tmp_path: Path) -> None:
    run = _run("llm-database", story, tmp_path)
    assert _calls(run.recorded) == run.served.calls
    assert [step.outcome for step in run.recorded] == [StepOutcome.MALFORMED]
    assert run.logged == ()


def test_mini_swe_agents_trajectory_has_the_calls_and_the_answers_that_it_refused(tmp_path: Path) -> None:
    run = _run("mini-swe-agent", "failing", tmp_path)
    assert [step.call.id for step in run.logged] == [call.id for call in run.served.calls]
    assert [step.call.raw_arguments for step in run.logged] == [call.arguments for call in run.served.calls]
    assert run.recorded[0].call.raw_arguments == run.logged[0].call.raw_arguments
    with open_store(tmp_path / "logged.db", read_only=True) as store:
        (trace,) = (store.trace(summary.id) for summary in store.traces())
    answers = [turn for turn in trace.turns if turn.role is Role.ASSISTANT]
    assert [turn.parts[-1].text for turn in answers[1:]] == [ANSWER] * (len(answers) - 1)
    assert len(answers) > 2


@pytest.mark.parametrize("agent", sorted(AGENTS.keys() - {"continue", "llm-database"}))  # these write no log then
def test_an_aborted_run_is_no_success(agent: str, tmp_path: Path) -> None:
    """In some runs Qwen Code logs the answer so far as a whole one, so its log alone cannot show it."""
    run = _run(agent, "abort", tmp_path)
    assert _calls(run.recorded) == run.served.calls
    assert [(step.call.id, step.call.name) for step in run.logged] == [call[:2] for call in run.served.calls]
    assert Status.OK not in (run.statuses[:1] if agent == "qwen-code" else run.statuses)


def test_agents_that_run_at_once_on_one_recorder_have_a_trace_each(tmp_path: Path) -> None:
    """They are asked the same, and their calls have the same ids."""
    agents = ("claude-code", "hermes-sessions", "llm-database", "pi")
    database = tmp_path / "recorded.db"
    with (
        scripted_server() as served,
        recording_process(tmp_path, "--upstream", served.url, "--db", str(database)) as recording,
        ExitStack() as running,
    ):
        addresses = {"OPENAI_BASE_URL": f"{recording.url}/v1", "ANTHROPIC_BASE_URL": recording.url}
        for agent in agents:
            home = tmp_path / agent
            home.mkdir()
            process = subprocess.Popen(
                [sys.executable, str(Path(start.__file__)), agent, "two-calls"],
                cwd=home,
                env=environment(home, TERM="dumb", LANG="C.UTF-8", PWD=str(home), **addresses),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            running.callback(process.wait, 200)
        running.close()
        assert recording.stop() == 0
    with open_store(database, read_only=True) as store:
        inspected = [store.inspected(summary.id) for summary in store.traces()]
    inspected = [(trace, inspection) for trace, inspection in inspected if inspection.chain.steps]
    recorded = sorted(_calls(inspection.chain.steps) for _, inspection in inspected)
    assert recorded == sorted([*served.calls[at : at + 2]] for at in range(0, len(served.calls), 2))
    assert len(recorded) == len(agents)
    for trace, inspection in inspected:
        assert inspection.chain.status is Status.OK
        assert trace.turns[-1].parts[-1].text == ANSWER
        assert trace.parent is None or trace.parent.why is not ParentWhy.FORK


def test_aiders_histories_have_what_the_model_wrote(tmp_path: Path) -> None:
    _run("aider", "edit", tmp_path)
    assert (tmp_path / "harbour" / "tides.py").read_text() == "OFFSET_HOURS = 1\n"
    answers: list[set[str]] = []
    for name in ("recorded.db", "logged.db"):
        with open_store(tmp_path / name, read_only=True) as store:
            traces = [store.trace(summary.id) for summary in store.traces()]
        texts = [turn.parts[0].text for trace in traces for turn in trace.turns if turn.role is Role.ASSISTANT]
        answers.append({text.strip() for text in texts if "SEARCH" in text})
        if name == "logged.db":  # one of the chat, one of the request
            assert len(traces) == 2
    assert EDIT.strip() in answers[0] & answers[1]
