"""Agents whose action is code in the answer's text, recorded: smolagents' `CodeAgent`, mini-swe-agent without tools.

The bodies have the shapes of smolagents 1.26 and mini-swe-agent 2.4.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.ui.cli.test_answers_sent_back import exchange, imported
from tests.ui.conftest import Run

LOOK = '<code>\nprint(water_level("{}"))\n'
ANSWER = '<code>\nfinal_answer("{}")\n'
PRINTED = "Observation:\nExecution logs:\nhigh at 06:10\nLast output from code snippet:\nNone"
RAISED = "Call id: call_1\nError:\nCode execution failed at line '{}' due to: {}\nNow let's retry: take care."
NO_HARBOUR = RAISED.format('print(water_level("Osloo"))', "ValueError: no harbour named 'Osloo'")
READ_ONLY = RAISED.format('save_tide("06:10")', "PermissionError: the store is read-only")
BEFORE_ERROR = "Observation:\nExecution logs:\nsaving\n" + READ_ONLY
LIST = "THOUGHT: I look.\n\n```mswea_bash_command\nls src\n```"
SUBMIT = "THOUGHT: {}\n\n```mswea_bash_command\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```"
LISTED = "<returncode>0</returncode>\n<output>\nparser.py\n</output>"
NOT_BUILT = "<returncode>2</returncode>\n<output>\nmake: *** No rule to make target 'all'.  Stop.\n</output>"
REFUSED = "Format error:\n\n<error>\nExpected exactly 1 action, found {}.\n</error>\n\nOne action, please."
NO_CODE = "Error:\nError in code parsing:\nYour code snippet is invalid.\nNow let's retry: take care."


class Session(NamedTuple):
    """The answers of a run with what its agent sends after each, and the verdict: status, and each step."""

    said: Sequence[tuple[str, str]]
    status: str
    steps: Sequence[tuple[str, str, str | None]]


SESSIONS = {
    "a program that works": Session(
        [(LOOK.format("Oslo"), PRINTED), (ANSWER.format("At 06:10."), "")],
        "ok",
        [("python_interpreter", "ok", None), ("python_interpreter", "ok", None)],
    ),
    "a program that is corrected": Session(
        [(LOOK.format("Osloo"), NO_HARBOUR), (LOOK.format("Oslo"), PRINTED), (ANSWER.format("At 06:10."), "")],
        "recovered",
        [("python_interpreter", "error-result", "silent"), *[("python_interpreter", "ok", None)] * 2],
    ),
    "an answer without a program": Session(
        [("I should look it up.", NO_CODE), (LOOK.format("Oslo"), PRINTED), (ANSWER.format("At 06:10."), "")],
        "ok",
        [("python_interpreter", "ok", None)] * 2,
    ),
    "a program that fails, and the opposite is claimed": Session(
        [
            ('<code>\nprint("saving")\nsave_tide("06:10")\n', BEFORE_ERROR),
            (f"Done.\n{ANSWER.format('The tide was saved.')}", ""),
        ],
        "broken",
        [("python_interpreter", "error-result", "concealed"), ("python_interpreter", "ok", None)],
    ),
    "a program that is one call": Session(
        [("<code>\nwater_level(harbour='Oslo')\n", PRINTED), (ANSWER.format("At 06:10."), "")],
        "ok",
        [("water_level", "ok", None), ("python_interpreter", "ok", None)],
    ),
    "commands": Session([(LIST, LISTED), (SUBMIT.format("Done."), "")], "ok", [("bash", "ok", None)] * 2),
    "a command that fails, and is not mentioned": Session(
        [
            ("THOUGHT: I build.\n\n```mswea_bash_command\nmake all\n```", NOT_BUILT),
            (SUBMIT.format("`make all` passes."), ""),
        ],
        "broken",
        [("bash", "error-result", "concealed"), ("bash", "ok", None)],
    ),
    "two commands, which the agent refuses": Session(
        [
            (f"{LIST}\n\n```mswea_bash_command\npwd\n```", REFUSED.format(2)),
            (LIST, LISTED),
            (SUBMIT.format("Done."), ""),
        ],
        "recovered",
        [*[("bash", "error-result", "silent")] * 2, *[("bash", "ok", None)] * 2],
    ),
    "no command, which the agent refuses": Session(
        [("THOUGHT: I would look.", REFUSED.format(0)), (LIST, LISTED), (SUBMIT.format("Done."), "")],
        "ok",
        [("bash", "ok", None)] * 2,
    ),
}


def entries(question: str, said: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """The requests of a run, each with what was said before it."""
    messages = [{"role": "system", "content": "You solve tasks by code."}, {"role": "user", "content": question}]
    exchanges = []
    for number, (answer, sent) in enumerate(said):
        message = {"content": answer}
        exchanges.append(exchange(1 + number, list(messages), message, "stop"))
        messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": sent}]
    return exchanges


@pytest.mark.parametrize("session", SESSIONS.values(), ids=SESSIONS)
def test_code_in_an_answer_is_a_call_with_its_result(weaklink: Run, tmp_path: Path, session: Session) -> None:
    (shown,) = imported(weaklink, tmp_path, entries("When is the tide?", session.said))
    assert (shown["name"], shown["format"]) == ("When is the tide?", "code_action")
    assert [(step["tool"], step["outcome"], step["said"]) for step in shown["chain"]] == session.steps
    assert shown["status"] == session.status


def test_a_code_agent_at_its_step_limit_is_one_trace(weaklink: Run, tmp_path: Path) -> None:
    """smolagents asks for the answer under another system prompt, with each call again as words."""
    calling = "</code>\nCalling tools:\n[{'id': 'call_1', 'function': {'name': 'python_interpreter', 'arguments': ''}}]"
    question = {"role": "user", "content": "New task:\nWhen is the tide?"}
    said = [f"Thought: I look.\n{LOOK.format(harbour)}" for harbour in ("Osloo", "Oslu")]
    sent = [{"role": "user", "content": NO_HARBOUR}, {"role": "user", "content": f"{NO_HARBOUR}\n\nPlease answer."}]
    history = [question]
    exchanges = []
    for number, (answer, result) in enumerate(zip(said, sent, strict=True)):
        system = {"role": "system", "content": "You solve tasks by code."}
        exchanges.append(exchange(1 + number, [system, *history], {"content": answer}, "stop"))
        history = [*history, {"role": "assistant", "content": answer + calling}, result]
    stuck = {"role": "system", "content": "An agent got stuck; here is its memory."}
    exchanges.append(exchange(5, [stuck, *history], {"content": "I could not find the harbour."}, "stop"))
    (shown,) = imported(weaklink, tmp_path, exchanges)
    assert [step["outcome"] for step in shown["chain"]] == ["error-result"] * 2
    assert {step["said"] for step in shown["chain"]} == {"reported"}
