"""Agents that write all that happened into the text of their only message: LangChain's `{agent_scratchpad}`.

Each of their requests has one message, which is the one before with the answer and the observation added.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.ui.cli.test_answers_sent_back import exchange
from tests.ui.conftest import Run

FRAME = """Answer as best you can. You have these tools:

get_weather(city: str) -> str - The weather of a city.

Use this format:

Question: the question
Thought: what to do
Action: one of [get_weather]
Action Input: its input
Observation: its result

Begin!

Question: {question}
Thought:{scratchpad}"""
STRUCTURED = "{question}\n\n{scratchpad}\n (reminder to respond in a JSON blob no matter what)"


class Step(NamedTuple):
    """An answer, what the agent writes of it into its prompt, and the observation behind it."""

    answer: str
    observation: str = ""
    written: str = "{answer}"


def react(thought: str, city: str) -> str:
    return f" {thought}\nAction: get_weather\nAction Input: {city}"


def blob(city: str) -> str:
    return f'Thought: I look.\nAction:\n```\n{{"action": "get_weather", "action_input": {{"city": "{city}"}}}}\n```'


HEALED = [
    Step(react("I look up Osla.", "Osla"), "Error: no such city: Osla"),
    Step(react("I misspelt it.", "Oslo"), "4 degrees in Oslo"),
    Step(" Oslo has 4 degrees.", "Invalid Format: Missing 'Action:' after 'Thought:'"),
    Step(" I know it now.\nFinal Answer: 4 degrees in Oslo, after I misspelt it at first (no such city)."),
]
BROKEN = [
    Step(react("I look up Osla.", "Osla"), "Error: no such city: Osla"),
    Step(" I know it now.\nFinal Answer: 4 degrees in Oslo."),
]
REFUSED = "Could not parse LLM output: {answer}\nFor troubleshooting, visit: https://docs.example/parsing "
BLOBS = [
    Step(blob("Oslo"), "4 degrees in Oslo"),
    Step("Now Voss.", "Invalid or incomplete response", REFUSED),
    Step(blob("Voss"), "6 degrees in Voss"),
    Step('Action:\n```\n{"action": "Final Answer", "action_input": "4 and 6 degrees."}\n```'),
]


def requests(template: str, question: str, steps: Sequence[Step]) -> Iterator[tuple[str, str]]:
    """The text of each request's message, and its answer."""
    scratchpad = ""
    for step in steps:
        yield template.format(question=question, scratchpad=scratchpad), step.answer
        scratchpad += step.written.format(answer=step.answer) + f"\nObservation: {step.observation}\nThought: "


def archive(path: Path, *runs: Iterable[tuple[str, str]]) -> None:
    """Write runs to a HAR archive: their first exchanges begin in one second and overlap, and so do their next ones."""
    entries = [
        exchange(second, [{"role": "user", "content": text}], {"content": answer}, "stop")
        for second, at_once in enumerate(zip_longest(*runs))
        for text, answer in filter(None, at_once)
    ]
    log = {"log": {"version": "1.2", "creator": {"name": "test", "version": "1"}, "entries": entries}}
    path.write_text(json.dumps(log), encoding="utf-8")


def traces(weaklink: Run) -> list[dict[str, Any]]:
    """What `list` and `show` say of each trace of the archive, in the order of their beginnings."""
    assert weaklink("import", "session.har", "--db", "t.db").returncode == 0
    rows = map(json.loads, weaklink("list", "--db", "t.db", "--json").stdout.splitlines())
    shown = (json.loads(weaklink("show", str(row["id"]), "--db", "t.db", "--json").stdout) for row in rows)
    return sorted(shown, key=lambda trace: int(trace["id"]))


class Expected(NamedTuple):
    """A run, and what is to be said of it: its status, its tools, and the codes of its diagnostics."""

    template: str
    steps: Sequence[Step]
    status: str
    tools: list[str]
    codes: set[str]


RUNS = {
    "healed": Expected(FRAME, HEALED, "recovered", ["get_weather"] * 2, {"T406"}),
    "broken": Expected(FRAME, BROKEN, "broken", ["get_weather"], {"T406"}),
    "before the last line": Expected(STRUCTURED, BLOBS, "ok", ["get_weather"] * 2, set()),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_run_is_one_trace_whose_calls_have_their_observations(weaklink: Run, tmp_path: Path, run: Expected) -> None:
    archive(tmp_path / "session.har", requests(run.template, "How warm is it in Oslo?", run.steps))
    (trace,) = traces(weaklink)
    assert trace["status"] == run.status
    assert [step["tool"] for step in trace["chain"]] == run.tools
    assert all(step["result"] for step in trace["chain"])
    assert {diagnostic["code"] for diagnostic in trace["diagnostics"]} == run.codes
    assert trace["name"] == "How warm is it in Oslo?"


def test_what_the_agent_writes_is_kept(weaklink: Run, tmp_path: Path) -> None:
    archive(tmp_path / "session.har", requests(STRUCTURED, "How warm is it?", BLOBS))
    (trace,) = traces(weaklink)
    texts = [turn["parts"][0]["text"] for turn in trace["turns"]]
    assert texts[0] == STRUCTURED.format(question="How warm is it?", scratchpad="")
    assert texts[1::2] == [step.answer for step in BLOBS]
    assert texts[4] == (
        "Could not parse LLM output: \nFor troubleshooting, visit: https://docs.example/parsing "
        "\nObservation: Invalid or incomplete response\nThought: "
    )


def test_two_agents_at_once_have_a_trace_each(weaklink: Run, tmp_path: Path) -> None:
    first = requests(FRAME, "How warm is it in Oslo?", HEALED)
    archive(tmp_path / "session.har", first, requests(FRAME, "How warm is it in Voss?", BROKEN))
    assert [trace["status"] for trace in traces(weaklink)] == ["recovered", "broken"]


def test_prompts_that_begin_like_another_and_its_answer_stay_apart(weaklink: Run, tmp_path: Path) -> None:
    asked = [("1", "0"), ("10 plus 2?", "12"), ("10 plus 2?1", "?"), ("10 plus 2?12", "\n")]
    archive(tmp_path / "session.har", asked)
    assert [len(trace["turns"]) for trace in traces(weaklink)] == [2] * len(asked)
