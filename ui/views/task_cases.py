"""The chain against the source's own outcome: traces by how the chain ended and whether the task was done."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inspector.chain.metrics_groups import GroupFigures

HEADS = ("chain", "task passed", "task failed", "no outcome")
"""The titles of the columns."""


@dataclass(frozen=True, slots=True)
class TaskCase:
    """One row: how the chain ended, and how many of those traces the source counts as passed, failed or neither."""

    chain: str
    passed: int
    failed: int
    unjudged: int

    @property
    def counts(self) -> tuple[int, int, int]:
        """The numbers in the order of the columns."""
        return self.passed, self.failed, self.unjudged


def task_cases(whole: GroupFigures) -> Sequence[TaskCase]:
    """The rows of the table; none where no source says how its traces ended.

    A chain is ok where its status is `ok` or `recovered`. Traces that were cut off, or whose last answer was not kept,
    have a row of their own where there are any.
    """
    judged = whole.tally("source_success")
    if not judged.trials:
        return ()
    return tuple(_rows(whole, judged.hits, judged.trials))


def _rows(whole: GroupFigures, passed: int, judged: int) -> Iterator[TaskCase]:
    done = {name: whole.tally(name).hits for name in ("ok", "recovered", "broken", "aborted", "unknown")}
    ok = _case("ok", whole, "unbroken", done["ok"] + done["recovered"])
    broken = _case("broken", whole, "broken", done["broken"])
    yield ok
    yield broken
    others = done["aborted"] + done["unknown"]
    if others:
        others_passed = passed - ok.passed - broken.passed
        others_failed = judged - passed - ok.failed - broken.failed
        yield TaskCase("cut or not kept", others_passed, others_failed, others - others_passed - others_failed)


def _case(name: str, whole: GroupFigures, chain: str, traces: int) -> TaskCase:
    passed, failed = whole.tally(f"{chain}_success").hits, whole.tally(f"{chain}_failure").hits
    return TaskCase(name, passed, failed, traces - passed - failed)
