"""Known chains come back as they were planned: their edges, outcomes, recoveries, break, reaction and status."""

import pytest
from hypothesis import event, given

from tests.chain.building import codes
from tests.chain.known_chains import Story, stories
from tests.chain.telling import told
from tests.examples import in_the_gate
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace

# Each draws a whole trace: some hundreds in the gate, all that were asked for in `make fuzz`.
FEW = in_the_gate(40)


@pytest.mark.invariants
@FEW
@given(stories())
def test_a_known_chain_comes_back_as_it_was_planned(story: Story) -> None:
    found = inspect_trace(told(story))
    steps = found.chain.steps[: len(story.steps)]
    event(story.status)
    event(story.format or "structured")
    planned = story.steps
    assert [step.outcome.value for step in steps] == [one.outcome for one in planned]
    assert [step.call.name for step in steps] == [one.tool for one in planned]
    assert [step.certainty for step in steps] == [one.certainty for one in planned]
    assert [set(step.depends_on) for step in steps] == [one.uses for one in planned]
    assert [step.retry_of for step in steps] == [one.retry_of for one in planned]
    assert [step.recovery for step in steps] == [one.recovery for one in planned]
    made_good_by = [number + one.by if one.by is not None else None for number, one in enumerate(planned, 1)]
    assert [step.recovered_by for step in steps] == made_good_by
    assert found.chain.status == story.status
    assert (found.chain.broken.step if found.chain.broken else None) == story.broken
    if found.chain.broken is None or found.chain.broken.reaction != "concealed":
        assert [number for number in found.chain.caused if number <= len(planned)] == story.caused
    _takes_it_as_planned(story, found)
    _finds_the_planted_arguments(story, found)


def _takes_it_as_planned(story: Story, found: Inspection) -> None:
    if found.chain.broken is not None and story.end != "ignores":
        assert found.chain.broken.reaction == "reported"
    elif found.chain.broken is not None and not any(one.invented for one in story.steps):
        assert found.chain.broken.reaction in ("ignored", "concealed")  # it says that what failed is settled
    if found.chain.status == "aborted":
        assert found.chain.abort_reason == story.cut


def _finds_the_planted_arguments(story: Story, found: Inspection) -> None:
    said = codes(found)
    assert said.count("T412") == sum(one.invented for one in story.steps)
    assert said.count("T411") == sum(one.placeholders for one in story.steps)
    assert "T403" not in said
    silent = [one for one in story.steps if one.outcome == "ok" and one.result in ("", "[]")]
    assert said.count("T407") == len(silent)
