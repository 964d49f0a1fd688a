"""What the source itself says of a session: whether its task was done, and a last answer that it did not keep."""

import math

import pytest

from tests.chain.building import chain_of
from weaklink.inspector.chain.endings import source_says_success, task_outcome
from weaklink.inspector.chain.steps import Status
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    BodyState,
    FinishReason,
    Generation,
    Outcome,
    Part,
    Role,
    TaskOutcome,
    Trace,
    Turn,
    Usage,
)


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


@pytest.mark.parametrize("body", [BodyState.COMPLETE, BodyState.NOT_STORED, BodyState.REDACTED])
def test_a_last_answer_that_is_empty_or_was_not_kept_cannot_be_judged(body: BodyState) -> None:
    last = Generation(body=body)
    assert chain_of("user: hi", "say: ", last=last).status == "unknown"
    assert chain_of("user: hi", "say: Hello.", last=Generation()).status == "ok"
    good = ('call: get {"city": "Oslo"}', "result: 4", "say: ")
    assert chain_of(*good, last=last).status == "unknown"
    failed = ('call: get {"city": "Oslo"}', "result: Error: no")
    assert chain_of(*failed, "say: ", last=last).status == "broken"
    assert chain_of(*failed, *good, last=last).status == "recovered"
    limited = Outcome(completed=False, exit_status="max_steps")
    assert chain_of(*good, last=last, outcome=limited).status == "aborted"


@pytest.mark.parametrize(("tokens", "thought", "is_told"), [(20, None, True), (20, 18, False), (2, None, False)])
def test_an_empty_first_answer_is_told_with_the_tokens_that_were_counted(
    tokens: int, thought: int | None, is_told: bool
) -> None:
    """What a client shows when a server's parser drops the only call: nothing."""
    usage = Usage(output_tokens=tokens, reasoning_tokens=thought)
    turns = (
        Turn(Role.USER, (Part("text", "Where is my order?"),)),
        Turn(Role.ASSISTANT, (Part("text", ""),), generation=Generation(finish=FinishReason.STOP, usage=usage)),
    )
    inspection = inspect_trace(Trace(turns))
    assert inspection.chain.status is Status.UNKNOWN
    (diagnostic,) = (diagnostic for diagnostic in inspection.diagnostics if diagnostic.rule.code == "T414")
    assert ("counted 20 tokens" in diagnostic.fault.message, diagnostic.fault.hint is not None) == (is_told, is_told)
    assert not inspect_trace(Trace(turns, is_open=True)).diagnostics


@pytest.mark.parametrize(
    ("parts", "codes"),
    [
        ((Part("reasoning", "Which order?"), Part("text", "")), ["T414"]),
        ((Part("text", "<think>\nWhich order?\n</think>\n"),), ["T414"]),
        ((Part("text", "<think>\nWhich order?\n</think>\nWhich one?"),), []),
        ((Part("text", '<think>\nOne.\n</think>\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'),), []),
    ],
)
def test_reasoning_alone_is_no_answer_whoever_took_it_apart(parts: tuple[Part, ...], codes: list[str]) -> None:
    """A server's parser, or weaklink."""
    turns = (Turn(Role.USER, (Part("text", "Where is my order?"),)), Turn(Role.ASSISTANT, parts))
    inspection = inspect_trace(Trace(turns), format="hermes")
    assert [diagnostic.rule.code for diagnostic in inspection.diagnostics] == codes
    assert (inspection.chain.status is Status.UNKNOWN) == bool(codes)
