"""What holds for every chain: a story told is a story read, nothing raises, and time is linear."""

import json
import sys
from dataclasses import dataclass
from itertools import product
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chain.building import chain_of, codes, inspection_of, outcomes
from tests.examples import in_the_gate
from tests.strategies import traces
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Json, Trace

_CALLS = {"malformed": "f {'a'; 1", "other": "f {}"}
_RESULTS = {"malformed": "Error: bad JSON", "error-result": '{"error": "no"}', "ok": "fine"}


@dataclass(frozen=True)
class Round:
    """One turn of calls with the outcomes they are meant to have, and how its results come."""

    outcomes: tuple[str, ...]
    order: tuple[int, ...]
    has_ids: bool


@st.composite
def rounds(draw: st.DrawFn) -> Round:
    has_ids = draw(st.booleans())
    kinds = ["malformed", "error-result", "ok", *(["unanswered"] if has_ids else [])]
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4))
    order = range(len(chosen))
    return Round(tuple(chosen), tuple(draw(st.permutations(order)) if has_ids else order), has_ids)


def told(story: list[Round], *, pending: int) -> list[str]:
    """The lines of a story. Ids come again in every round, as real logs have them."""
    lines = ["user: Go"]
    for number, round_ in enumerate(story):
        stale = any("unanswered" in before.outcomes for before in story[:number])
        ids = [f" c{number if stale else 0}-{index}" if round_.has_ids else "" for index in range(len(round_.outcomes))]
        for index, outcome in enumerate(round_.outcomes):
            lines.append(f"{'also' if index else 'call'}{ids[index]}: {_CALLS.get(outcome, _CALLS['other'])}")
        lines += [
            f"result{ids[index]}: {_RESULTS[round_.outcomes[index]]}"
            for index in round_.order
            if round_.outcomes[index] in _RESULTS
        ]
        lines.append("say: Next.")
    return lines + ["call: f {}"] * (pending > 0) + ["also: f {}"] * (pending - 1)


@given(st.lists(rounds(), max_size=5), st.integers(0, 2))
def test_a_story_told_is_a_story_read(story: list[Round], pending: int) -> None:
    inspection = inspection_of(*told(story, pending=pending))
    assert outcomes(inspection.chain) == [o for round_ in story for o in round_.outcomes] + ["pending"] * pending
    assert not {"T402", "T403"} & set(codes(inspection))


@in_the_gate(20)  # each draws a whole trace and analyses it
@given(traces())
def test_nothing_raises_and_links_lead_somewhere(trace: Trace) -> None:
    chain = inspect_trace(trace, format="hermes").chain
    for number, step in enumerate(chain.steps, 1):
        assert step.number == number
        assert step.retry_of is None or step.retry_of < number
        assert step.recovered_by is None or number < step.recovered_by <= len(chain.steps)
        assert step.recovery is None or step.outcome.failed
    assert (chain.broken is not None) == (chain.status == "broken")


_TOOLS = ("Write", "edit_file", "read_file", "web_fetch", "bash", "get_order")
_ARGUMENTS: tuple[Json, ...] = (
    {},
    [],
    None,
    5,
    "",
    "view",
    ["view"],
    {"command": ["ls"]},
    "cat a.txt && rm b",
    "https://a.example/b",
)
_ENDS = ("ok", "no such file", "null", '{"status": ["failed"], "code": [1], "error": {"a": 1}}')
_HALF_PAIRS = ("\ud83d", '{"found": false, "next": "\ud83d"}', '[{"ref": "e1", "name": "\ud83d"}]')


@pytest.mark.parametrize("tool", _TOOLS)
@pytest.mark.parametrize("member", ["command", "path", "content", "unheard_of"])
def test_arguments_of_any_type_are_judged(tool: str, member: str) -> None:
    """A model may write any value as any argument, and mean the same by other tools and members after a failure."""
    for value, end in product(_ARGUMENTS, _ENDS):
        call = f"call a: {tool} {json.dumps({member: value})}"
        other = f"call b: f {json.dumps({'old_text': value})}"
        chain = chain_of("user: Do it.", call, f"result a: {end}", other, "result b: ok", "say: Done.")
        assert [step.call.name for step in chain.steps] == [tool, "f"]


@pytest.mark.parametrize("tool", _TOOLS)
def test_results_with_half_a_surrogate_pair_are_judged(tool: str) -> None:
    """JSON may write one as an escape, and so may the body of an answer."""
    for result, error in product(_HALF_PAIRS, (*_ENDS, *_HALF_PAIRS)):
        call = f"call b: {tool} {json.dumps({'ref': 'e1', 'path': 'a.txt'})}"
        again = f"call c: {tool} {json.dumps({'ref': 'e2', 'path': 'b.txt'})}"
        lines = (
            f"call a: {tool} {{}}",
            f"result a: {result}",
            call,
            f"result b!: {error}",
            again,
            f"result c: {result}",
        )
        chain = chain_of("user: Do it.", *lines, "say: It was not found.")
        assert [step.call.name for step in chain.steps] == [tool] * 3


def _lines_run(lines: list[str]) -> int:
    """How many lines of Python run for this trace: a measure of work that no busy machine disturbs."""
    count = 0

    def seen(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return seen

    before = sys.gettrace()
    sys.settrace(seen)
    try:
        chain_of(*lines)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.slow
def test_the_work_is_linear_in_the_steps() -> None:
    shapes = {
        "a loop": ['call: get {"city": "Oslo", "id": 4711}', "result: Error: no"],
        "failures": ['call: get_%d {"city": "Oslo", "id": "x%d"}', "result: Error: x%d"],
        "turns": ['call: get {"city": "Oslo %d"}', "result: Error: no", 'call: get {"city": "Paris %d"}', "result: 4"],
        "unanswered": ["call: get", "say: Hm %d"],
        "results": ["call: get", "result: 1", "result: 2"],
        "values": ['call: get {"id": "k-%d", "n": 4711}', 'result: {"id": "k-%d", "next": "n-%d", "xs": [4711, 812]}'],
        "echoes": ['call: get {"id": "k-4711 of u-%d"}', "result: Error: no k-4711"],
        "texts": ['call: run {"command": "cat a/%d.txt b/1.txt | wc"}', "result: a/%d.txt b/1.txt c/1.txt"],
        "parallel": ['also: get {"city": "Oslo"}'],
    }
    for name, lines in shapes.items():
        few, many = (
            ["call: start", *(line.replace("%d", str(n)) for n in range(size) for line in lines), "say: x"]
            for size in (100, 400)
        )
        assert _lines_run(many) < 5 * _lines_run(few), name
