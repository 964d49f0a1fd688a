"""ReAct's headings in turns that the model does not write: instructions are no calls, observations are results."""

import pytest

from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Part, Role, Trace, Turn
from weaklink.inspector.rules.markers import NEAR_MARKER
from weaklink.inspector.segmentation import segment_whole

_INSTRUCTIONS = """Use this format:

Thought: what to do next
Action: the action to take, one of [ferry_times]
Action Input: the input to the action
Observation: the result of the action
"""


def _near_markers(role: Role, text: str = _INSTRUCTIONS) -> list[int]:
    trace = Trace((Turn(role, (Part("text", text),)),))
    diagnostics = inspect_trace(trace, format="react").diagnostics
    return [diagnostic.location.range.start for diagnostic in diagnostics if diagnostic.rule is NEAR_MARKER]


def test_instructions_in_a_prompt_are_no_attempt() -> None:
    assert _near_markers(Role.SYSTEM) == []
    assert _near_markers(Role.USER) == []


def test_an_input_without_an_action_in_an_answer_is_one() -> None:
    assert _near_markers(Role.ASSISTANT, 'Thought: I look.\nAction Input: {"port": "Moss"}') == [17]


@pytest.mark.parametrize("role", [Role.USER, Role.TOOL])
@pytest.mark.parametrize("opening", ["Observation:", "\n  Observation: ", "**Observation:** ", "**Observation**:\n"])
def test_an_observation_that_an_agents_loop_sends_is_the_calls_result(role: Role, opening: str) -> None:
    turns = (
        Turn(Role.ASSISTANT, (Part("text", 'Thought: Look.\nAction: search\nAction Input: {"q": "harbour"}'),)),
        Turn(role, (Part("text", f"{opening}Bergen, as it was.\nAction: none of the model's"),)),
        Turn(Role.ASSISTANT, (Part("text", "Thought: Found.\nFinal Answer: Bergen."),)),
    )
    inspection = inspect_trace(Trace(turns), format="react")
    assert inspection.chain.status == "ok"
    assert list(inspection.diagnostics) == []
    (step,) = inspection.chain.steps
    assert step.result is not None
    assert [result.content.strip() for part in inspection.parts for result in part.results] == [
        "Bergen, as it was.\nAction: none of the model's"
    ]


def test_an_observation_within_a_users_words_is_none() -> None:
    segmentation = segment_whole("My last one.\nObservation: it rains.", find_format("react"), role=Role.USER)
    assert not segmentation.results
