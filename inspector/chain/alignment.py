"""The steps of two or more runs of one task side by side, and where the runs first part."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from inspector.chain.alignment_lcs import common_pairs
from inspector.chain.intent import intent_of
from inspector.chain.retries import call_key
from inspector.chain.steps import Step

_LONGEST_KEY = 2_000


class Sameness(StrEnum):
    """How a run's step compares with the first run's step of the same row: the first of these, in this order."""

    MISSING = "missing"  # the run made no such step
    CALL = "call"  # the same tool with other arguments
    RESULT = "result"  # the same call with another result
    OUTCOME = "outcome"  # the same result, judged otherwise: the tools that were offered differ
    SAME = "same"


@dataclass(frozen=True, slots=True)
class AlignedRow:
    """The steps that the runs have in one place, one for each run in their order, None where a run has none.

    At least one is there. `sameness` compares each with the first that is there.
    """

    steps: tuple[Step | None, ...]
    sameness: tuple[Sameness, ...]

    @property
    def first(self) -> Step:
        """The step of the first run that has one here: what the others are compared with."""
        return next(step for step in self.steps if step is not None)

    @property
    def is_same(self) -> bool:
        """Whether every run has this step, with the same call, result and outcome."""
        return all(one is Sameness.SAME for one in self.sameness)


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where runs first part: the index of the row, in what, and each run's step there, None where it had ended.

    Where a run has no step in the row, `steps` holds the next one that it made instead.
    """

    row: int
    what: Sameness
    steps: tuple[Step | None, ...]


@dataclass(frozen=True, slots=True)
class Alignment:
    """The rows in order: each step of each run stands in exactly one, and every run's steps ascend.

    `divergence` is None where the runs made the same steps with the same results.
    """

    rows: tuple[AlignedRow, ...]
    divergence: Divergence | None = None


def align(runs: Sequence[Sequence[Step]]) -> Alignment:
    """Align the steps of runs: as many identical calls as can be, then calls after the same thing, then of one tool.

    Identical calls are found by a longest common subsequence, those that are merely alike between them likewise.
    Further runs are aligned with the rows of those before them. Takes milliseconds for 2,000 steps.
    """
    rows: list[tuple[Step | None, ...]] = [(step,) for step in runs[0]] if runs else []
    for number, steps in enumerate(runs[1:], 1):
        rows = list(_with_run(rows, steps, number))
    aligned = tuple(AlignedRow(row, _sameness(row)) for row in rows)
    return Alignment(aligned, _divergence(aligned, len(runs)))


def _with_run(
    rows: Sequence[tuple[Step | None, ...]], steps: Sequence[Step], number: int
) -> Iterator[tuple[Step | None, ...]]:
    """The rows with one more run; steps that no row has get rows of their own."""
    stems = [next(step for step in row if step is not None) for row in rows]
    at_row = at_step = 0
    for row, step in [*_pairs(stems, steps, 0), (len(rows), len(steps))]:
        yield from ((*rows[index], None) for index in range(at_row, row))
        yield from ((None,) * number + (steps[index],) for index in range(at_step, step))
        if row < len(rows):
            yield (*rows[row], steps[step])
        at_row, at_step = row + 1, step + 1


def _pairs(stems: Sequence[Step], steps: Sequence[Step], level: int) -> Iterator[tuple[int, int]]:
    """The indexes of steps that belong together; between the equal ones of a level, those of the next."""
    if level == len(_KEYS) or not stems or not steps:
        return
    key = _KEYS[level]
    at_stem = at_step = 0
    found = common_pairs([key(step) for step in stems], [key(step) for step in steps])
    for stem, step in [*found, (len(stems), len(steps))]:
        inner = _pairs(stems[at_stem:stem], steps[at_step:step], level + 1)
        yield from ((at_stem + mine, at_step + theirs) for mine, theirs in inner)
        if stem < len(stems):
            yield stem, step
        at_stem, at_step = stem + 1, step + 1


def _same_call(step: Step) -> Hashable:
    return call_key(step.call)


def _same_target(step: Step) -> Hashable:
    """The tool and the value that identifies what it is to work on; of a call without one, nothing alike."""
    intent = intent_of(step.call)
    if step.call.name is None or not intent.sought:
        return object()
    return step.call.name, intent.tool, intent.sought[0].text[:_LONGEST_KEY]


def _same_tool(step: Step) -> Hashable:
    return step.call.name if step.call.name is not None else object()


_KEYS = (_same_call, _same_target, _same_tool)


def _sameness(row: Sequence[Step | None]) -> tuple[Sameness, ...]:
    first = next(step for step in row if step is not None)
    return tuple(Sameness.MISSING if step is None else _compared(first, step) for step in row)


def _compared(first: Step, step: Step) -> Sameness:
    if first is step:
        return Sameness.SAME
    if call_key(first.call) != call_key(step.call):
        return Sameness.CALL
    if result_text(first) != result_text(step):
        return Sameness.RESULT
    return Sameness.SAME if first.outcome is step.outcome else Sameness.OUTCOME


def result_text(step: Step) -> str | None:
    """A step's result without the white space around it; None where there is none."""
    return step.result.content.strip() if step.result is not None else None


def _divergence(rows: Sequence[AlignedRow], runs: int) -> Divergence | None:
    for index, row in enumerate(rows):
        if not row.is_same:
            what = min(row.sameness, key=list(Sameness).index)
            return Divergence(index, what, tuple(_next(rows, index, run) for run in range(runs)))
    return None


def _next(rows: Sequence[AlignedRow], index: int, run: int) -> Step | None:
    return next((step for row in rows[index:] if (step := row.steps[run]) is not None), None)
