"""Agents with a model without tools of its own: tools in the prompt, calls in the text, results as the user's words.

OpenHands' bodies have the shapes of openhands-sdk 1.58: llm/mixins/fn_call_converter.py and fn_call_examples.py.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.ui.cli.test_answers_sent_back import exchange, imported
from tests.ui.conftest import Run

SYSTEM = "You are an agent.\nYou have access to the following functions:\n\n---- BEGIN FUNCTION #1: terminal ----\n..."
TASK = (
    "Here's a running example.\n\n--------------------- START OF EXAMPLE ---------------------\n\nUSER: Make a list."
    "\n\nASSISTANT: <function=terminal>\n<parameter=command>\nls\n</parameter>\n</function>\n\n"
    "USER: EXECUTION RESULT of [terminal]:\napp.py\n--------------------- END OF EXAMPLE ---------------------\n\n"
    "--------------------- NEW TASK DESCRIPTION ---------------------\nBuild the parser.\n"
    "--------------------- END OF NEW TASK DESCRIPTION ---------------------\n"
)
CALL = "{}\n\n<function=terminal>\n<parameter=command>\n{}\n</parameter>\n"
SENT_BACK = "{}\n\n<function=terminal>\n<parameter=command>{}</parameter>\n</function>"
NOT_MADE = "make: *** No rule to make target 'all'.  Stop.\n[The command completed with exit code 2.]"
MADE = "cc -o parser parser.c\n[The command completed with exit code 0.]"
REFUSAL = "Missing required parameters for function 'terminal': {'command'}"


class Round(NamedTuple):
    """Words and the command of an answer, and what the agent sends after it."""

    words: str
    command: str
    result: str


class Session(NamedTuple):
    """The rounds of a run, its last words, and the verdict: status, and each step's outcome and what was said."""

    rounds: Sequence[Round]
    end: str
    status: str
    steps: Sequence[tuple[str, str | None]]


SESSIONS = {
    "a command that is corrected": Session(
        [Round("I build.", "make all", NOT_MADE), Round("There is no `all`.", "make", MADE)],
        "The parser is built; `make all` has no rule.",
        "recovered",
        [("error-result", "reported"), ("ok", None)],
    ),
    "a command that fails, and the opposite is claimed": Session(
        [Round("I build.", "make all", NOT_MADE)],
        "Done: `make all` passes.",
        "broken",
        [("error-result", "concealed")],
    ),
    "a command that works": Session([Round("I build.", "make", MADE)], "It is built.", "ok", [("ok", None)]),
}


def text(content: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": content}]


def answered(second: int, messages: Sequence[dict[str, Any]], content: str) -> dict[str, Any]:
    return exchange(second, list(messages), {"content": content}, "stop", stop=["</function"])


def entries(session: Session) -> list[dict[str, Any]]:
    """The requests of a run: each call is sent back as the agent writes it, with the tag that the server left out."""
    messages = [{"role": "system", "content": text(SYSTEM)}, {"role": "user", "content": text(TASK)}]
    exchanges = []
    for number, (words, command, result) in enumerate(session.rounds, 1):
        exchanges.append(answered(number, messages, CALL.format(words, command)))
        messages += [
            {"role": "assistant", "content": text(SENT_BACK.format(words, command))},
            {"role": "user", "content": text(f"EXECUTION RESULT of [terminal]:\n{result}")},
        ]
    return [*exchanges, answered(9, messages, session.end)]


@pytest.mark.parametrize("session", SESSIONS.values(), ids=SESSIONS)
def test_a_call_in_the_text_has_the_result_that_the_agent_sends_as_the_users_words(
    weaklink: Run, tmp_path: Path, session: Session
) -> None:
    (shown,) = imported(weaklink, tmp_path, entries(session))
    assert shown["name"] == "Build the parser."
    assert [(step["outcome"], step["said"]) for step in shown["chain"]] == session.steps
    assert shown["status"] == session.status
    codes = {diagnostic["code"] for diagnostic in shown["diagnostics"]}
    assert codes <= {"T406", "T413"}  # not: unclosed, without its opener, rewritten, without result


def test_a_call_that_the_agent_refuses_has_its_words_as_the_result(weaklink: Run, tmp_path: Path) -> None:
    """The answer is left out of the next requests, in which the words are behind the user's own."""
    system = {"role": "system", "content": text(SYSTEM)}
    asked = [system, {"role": "user", "content": text(TASK)}]
    malformed = "I build.\n\n<function=terminal>\n<parameter=cmd>\nmake\n</parameter>\n"
    told = TASK.replace("Build the parser.\n", f"Build the parser.\n{REFUSAL}\n")
    again = [system, {"role": "user", "content": text(told)}]
    last = [
        *again,
        {"role": "assistant", "content": text(SENT_BACK.format("I build.", "make"))},
        {"role": "user", "content": text(f"EXECUTION RESULT of [terminal]:\n{MADE}")},
    ]
    exchanges = [
        answered(1, asked, malformed),
        answered(2, again, CALL.format("I build.", "make")),
        answered(3, last, "The parser is built."),
    ]
    (shown,) = imported(weaklink, tmp_path, exchanges)
    assert [step["outcome"] for step in shown["chain"]] == ["error-result", "ok"]
    assert shown["status"] == "recovered"


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (
            "OBSERVATION:\nmake: *** No rule to make target 'all'.  Stop.",
            "make: *** No rule to make target 'all'.  Stop.",
        ),
        (
            "Exit code: 2\nExecution output of [bash]:\nmake: *** No rule to make target 'all'.  Stop.",
            "make: *** No rule to make target 'all'.  Stop.",
        ),
        ("Exit code: 3\nExecution output of [bash]:\nthe disk is away", "the disk is away"),
        ("Your action could not be parsed properly: no such argument", "Your action could not be parsed properly"),
    ],
    ids=["SWE-agent", "R2E-Gym", "only a code says it", "a refusal of SWE-agent"],
)
def test_results_of_agents_with_the_same_calls_are_read(weaklink: Run, tmp_path: Path, result: str, line: str) -> None:
    """SWE-agent's `xml_function_calling`, which it advises for Qwen, and R2E-Gym: neither has a stop word."""
    call = SENT_BACK.format("I build.", "make all")
    asked = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Build the parser."}]
    last = [*asked, {"role": "assistant", "content": call}, {"role": "user", "content": result}]
    exchanges = [
        exchange(1, list(asked), {"content": call}, "stop"),
        exchange(2, last, {"content": "Done: `make all` passes."}, "stop"),
    ]
    (shown,) = imported(weaklink, tmp_path, exchanges)
    assert [(step["outcome"], step["said"]) for step in shown["chain"]] == [("error-result", "concealed")]
    assert line in shown["chain"][0]["error"]


@pytest.mark.parametrize("words", ["Your action could not be parsed properly: no call", "OBSERVATION:\nmore"])
def test_words_after_an_answer_without_a_call_are_no_result_of_an_earlier_call(
    weaklink: Run, tmp_path: Path, words: str
) -> None:
    call = SENT_BACK.format("I build.", "make")
    asked = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Build the parser."}]
    second = [*asked, {"role": "assistant", "content": call}, {"role": "user", "content": f"OBSERVATION:\n{MADE}"}]
    third = [*second, {"role": "assistant", "content": "Now I think."}, {"role": "user", "content": words}]
    exchanges = [
        exchange(1, list(asked), {"content": call}, "stop"),
        exchange(2, list(second), {"content": "Now I think."}, "stop"),
        exchange(3, third, {"content": "The parser is built."}, "stop"),
    ]
    (shown,) = imported(weaklink, tmp_path, exchanges)
    assert [step["outcome"] for step in shown["chain"]] == ["ok"]
    assert shown["diagnostics"] == []


def test_two_agents_with_one_task_each_have_their_answers(weaklink: Run, tmp_path: Path) -> None:
    sessions = (SESSIONS["a command that works"], SESSIONS["a command that is corrected"])
    first, second = map(entries, sessions)
    mixed = [first[0], second[0], second[1], first[1], second[2]]
    for number, entry in enumerate(mixed, 1):
        entry["startedDateTime"] = f"2026-01-02T03:04:{number:02}.000Z"
    assert sorted(shown["status"] for shown in imported(weaklink, tmp_path, mixed)) == ["ok", "recovered"]


def test_what_ends_before_a_stop_word_is_whole_and_what_ends_elsewhere_is_not(weaklink: Run, tmp_path: Path) -> None:
    hermes = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    question = [{"role": "user", "content": "How warm?"}]
    stopped = exchange(1, question, {"content": hermes}, "stop", stop="</tool_call>")
    cut = exchange(2, [{"role": "user", "content": "And?"}], {"content": hermes}, "length", stop="</tool_call>")
    without = exchange(3, [{"role": "user", "content": "Now?"}], {"content": hermes}, "stop")
    codes = [
        {diagnostic["code"] for diagnostic in shown["diagnostics"]} & {"F301"}
        for shown in imported(weaklink, tmp_path, [stopped, cut, without])
    ]
    assert sorted(map(len, codes)) == [0, 1, 1]
