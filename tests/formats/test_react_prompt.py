"""ReAct's instructions in a prompt: they name the headings of a call, and make none."""

from inspector.inspection import inspect_trace
from inspector.model import Part, Role, Trace, Turn
from inspector.rules.markers import NEAR_MARKER

_INSTRUCTIONS = """Use this format:

Thought: what to do next
Action: the action to take, one of [ferry_times]
Action Input: the input to the action
Observation: the result of the action
"""


def _near_markers(role: Role, text: str = _INSTRUCTIONS) -> list[int]:
    trace = Trace((Turn(role, (Part("text", text),)),))
    found = inspect_trace(trace, format="react").diagnostics
    return [one.location.range.start for one in found if one.rule is NEAR_MARKER]


def test_instructions_in_a_prompt_are_no_attempt() -> None:
    assert _near_markers(Role.SYSTEM) == []
    assert _near_markers(Role.USER) == []


def test_an_input_without_an_action_in_an_answer_is_one() -> None:
    assert _near_markers(Role.ASSISTANT, 'Thought: I look.\nAction Input: {"port": "Moss"}') == [17]
