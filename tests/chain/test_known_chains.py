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
    inspection = inspect_trace(told(story))
    steps = inspection.chain.steps[: len(story.steps)]
    event(story.status)
    event(story.format or "structured")
    planned = story.steps
    assert [step.outcome.value for step in steps] == [known.outcome for known in planned]
    assert [step.call.name for step in steps] == [known.tool for known in planned]
    assert [step.certainty for step in steps] == [known.certainty for known in planned]
    assert [set(step.depends_on) for step in steps] == [known.uses for known in planned]
    assert [step.retry_of for step in steps] == [known.retry_of for known in planned]
    assert [step.recovery for step in steps] == [known.recovery for known in planned]
    made_good_by = [number + known.by if known.by is not None else None for number, known in enumerate(planned, 1)]
    assert [step.recovered_by for step in steps] == made_good_by
    assert inspection.chain.status == story.status
    assert (inspection.chain.broken.step if inspection.chain.broken else None) == story.broken
    if inspection.chain.broken is None or inspection.chain.broken.reaction != "concealed":
        assert [number for number in inspection.chain.caused if number <= len(planned)] == story.caused
    _takes_it_as_planned(story, inspection)
    _finds_the_planted_arguments(story, inspection)


def _takes_it_as_planned(story: Story, inspection: Inspection) -> None:
    if inspection.chain.broken is not None and story.end != "ignores":
        assert inspection.chain.broken.reaction == "reported"
    elif inspection.chain.broken is not None and not any(known.invented for known in story.steps):
        assert inspection.chain.broken.reaction in ("ignored", "concealed")  # it says that what failed is settled
    if inspection.chain.status == "aborted":
        assert inspection.chain.abort_reason == story.cut


def _finds_the_planted_arguments(story: Story, inspection: Inspection) -> None:
    said = codes(inspection)
    assert said.count("T412") == sum(known.invented for known in story.steps)
    assert said.count("T411") == sum(known.placeholders for known in story.steps)
    assert "T403" not in said
    silent = [known for known in story.steps if known.outcome == "ok" and known.result in ("", "[]")]
    assert said.count("T407") == len(silent)
