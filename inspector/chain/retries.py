"""Identical calls made again: which run a call belongs to, and whether repeating it went in circles."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from inspector.chain.steps import Step, StepOutcome
from inspector.chain.tool_kinds import ToolKind, kind_of
from inspector.checks.repetition import FEWEST_IN_TURN, call_key


def link_retries(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps with `retry_of` set, which names the first of a run of identical calls.

    A call is a retry when the one before it in the same words failed or gave the same result; the same call that gives
    something new is a new request.
    """
    last: dict[str, Step] = {}
    for step in steps:
        key = call_key(step.call)
        before = last.get(key)
        linked = step
        if before is not None and (before.outcome.failed or same_result(before, step)):
            linked = replace(step, retry_of=before.retry_of or before.number)
        last[key] = linked
        yield linked


@dataclass(frozen=True, slots=True)
class Repetition:
    """A call that repeats `first` in the same words and came no further; it is the `count`-th of its run."""

    step: Step
    first: Step
    count: int


def repetitions(steps: Sequence[Step]) -> Iterator[Repetition]:
    """The steps that went in circles.

    Such a step makes the same call with the same result again, or fails again with nothing done between. A good call
    is made again with reason where a new call of another kind than looking up stands between, which may have changed
    something.
    """
    last: dict[int, Step] = {}
    counts: dict[int, int] = {}
    latest_ok = latest_change = 0
    for step in steps:
        first = step.retry_of or step.number
        counts[first] = counts.get(first, 0) + 1
        before = last.get(first)
        if before is not None:
            nothing_between = step.outcome.failed and before.outcome.failed and latest_ok < before.number
            looks_again = step.outcome is StepOutcome.OK and latest_change > before.number
            if nothing_between or (same_result(before, step) and not looks_again):
                yield Repetition(step, steps[first - 1], counts[first])
        last[first] = step
        if step.outcome is StepOutcome.OK:
            latest_ok = step.number
        if step.retry_of is None and kind_of(step.call.name or "") is not ToolKind.READS:
            latest_change = step.number


def loops_in_turns(steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
    """The identical calls of one turn, where there are at least `FEWEST_IN_TURN` of them: the model did not stop."""
    calls: dict[tuple[int, str], list[Step]] = {}
    for step in steps:
        calls.setdefault((step.location.turn, call_key(step.call)), []).append(step)
    return (same for same in calls.values() if len(same) >= FEWEST_IN_TURN)


def run_lengths(steps: Iterable[Step]) -> Mapping[int, int]:
    """How many calls each run has, by the number of its first step."""
    counts: dict[int, int] = {}
    for step in steps:
        first = step.retry_of or step.number
        counts[first] = counts.get(first, 0) + 1
    return MappingProxyType(counts)


def same_result(one: Step, other: Step) -> bool:
    """Whether two steps were answered in the same words."""
    return one.result is not None and other.result is not None and one.result.content == other.result.content
