"""What the source itself says of a session: whether its task was done, and a last answer that it did not keep."""

import math

import pytest

from tests.chain.building import chain_of
from weaklink.inspector.chain.endings import source_says_success, task_outcome
from weaklink.inspector.model import BodyState, Generation, Outcome, TaskOutcome, Trace


@pytest.mark.parametrize(
    ("said", "task"),
    [
        (None, "unknown"),
        (Outcome(), "unknown"),
        (Outcome(reward=1.0), "success"),
        (Outcome(reward=0.25), "success"),
        (Outcome(reward=0.0), "failure"),
        (Outcome(reward=-1.0, completed=True), "failure"),
        (Outcome(reward=math.nan), "unknown"),
        (Outcome(reward=math.nan, completed=True), "unknown"),
        (Outcome(reward=1.0, completed=False), "success"),
        (Outcome(completed=True), "unknown"),
        (Outcome(completed=False), "failure"),
        (Outcome(exit_status="Submitted"), "unknown"),
        (Outcome(completed=True, exit_status="success"), "unknown"),
        (Outcome(exit_status="resolved"), "success"),
        (Outcome(exit_status="0"), "unknown"),
        (Outcome(exit_status="1"), "failure"),
        (Outcome(exit_status="exit_cost"), "failure"),
        (Outcome(completed=True, exit_status="limit: token"), "failure"),
        (Outcome(completed=False, exit_status="submitted"), "failure"),
        (Outcome(exit_status="something else"), "unknown"),
        (Outcome(completed=True, exit_status="something else"), "unknown"),
    ],
    ids=str,
)
def test_the_task_as_the_source_judges_it(said: Outcome | None, task: str) -> None:
    assert task_outcome(said) == task
    known = {TaskOutcome.SUCCESS: True, TaskOutcome.FAILURE: False, TaskOutcome.UNKNOWN: None}
    assert source_says_success(Trace((), outcome=said)) is known[TaskOutcome(task)]


@pytest.mark.parametrize(
    ("body", "status"),
    [(BodyState.COMPLETE, "ok"), (BodyState.NOT_STORED, "unknown"), (BodyState.REDACTED, "unknown")],
)
def test_a_last_answer_that_was_not_kept_cannot_be_judged(body: BodyState, status: str) -> None:
    last = Generation(body=body)
    assert chain_of("user: hi", "say: ", last=last).status == status
    good = ('call: get {"city": "Oslo"}', "result: 4", "say: ")
    assert chain_of(*good, last=last).status == status
    failed = ('call: get {"city": "Oslo"}', "result: Error: no")
    assert chain_of(*failed, "say: ", last=last).status == "broken"
    assert chain_of(*failed, *good, last=last).status == "recovered"
    limited = Outcome(completed=False, exit_status="max_steps")
    assert chain_of(*good, last=last, outcome=limited).status == "aborted"
