"""Compares all runs of one task with a typical good run: where the bad ones diverge from it most often."""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from weaklink.inspector.chain.alignment import Sameness, align
from weaklink.inspector.chain.endings import task_outcome
from weaklink.inspector.chain.steps import Status, Step, StepOutcome
from weaklink.inspector.model import TaskOutcome
from weaklink.ui.json_types.runs import TaskDiffJson
from weaklink.ui.views.run_diff import ComparedRun
from weaklink.ui.views.run_diff_overview import differing_call
from weaklink.ui.views.styled_text import Line, Run, Style, counted, quoted, visible_line, wrapped

_MAX_DIFFERENCES = 10
_MAX_VARIANTS = 4
_CALL_CELLS = 70
_DECISIONS = frozenset({Sameness.MISSING, Sameness.CALL})
_SUCCESSES = frozenset({Status.OK, Status.RECOVERED})
_FAILURES = frozenset({Status.BROKEN, Status.ABORTED})


class RunParting(Struct, frozen=True):
    """The divergence of one run from the reference run.

    `step` is the number of the reference's step at which the calls first differ; None if the reference has no further
    step. `did` describes what the run does instead.
    """

    run: ComparedRun
    is_good: bool
    step: int | None
    did: str


class TaskDiff(Struct, frozen=True):
    """The runs of a task: good, bad and unknown ones, and their divergences from `reference`.

    `partings` are the runs whose calls differ from the reference somewhere. `by_outcome` means that the runs are
    divided by the outcomes in the sources, not by the chains' statuses.
    """

    good: tuple[ComparedRun, ...]
    bad: tuple[ComparedRun, ...]
    unknown: tuple[ComparedRun, ...]
    by_outcome: bool
    reference: ComparedRun
    partings: tuple[RunParting, ...]

    @property
    def partings_by_step(self) -> list[tuple[int | None, list[RunParting]]]:
        """The partings by step of the reference; the step with the most bad runs first."""
        groups: dict[int | None, list[RunParting]] = {}
        for parting in self.partings:
            groups.setdefault(parting.step, []).append(parting)
        return sorted(
            groups.items(), key=lambda item: (-sum(not parting.is_good for parting in item[1]), -len(item[1]))
        )


def compare_task(runs: Sequence[ComparedRun]) -> TaskDiff:
    """Divide runs of one task into good and bad, and compare each with the most typical good run.

    They are divided by the sources' outcomes if any source has one, otherwise by the statuses of the chains. Without a
    good run, the most typical of all runs is the reference. The cost is one alignment per run.
    """
    outcomes = [task_outcome(run.trace.outcome) for run in runs]
    by_outcome = any(outcome is not TaskOutcome.UNKNOWN for outcome in outcomes)
    verdicts = [
        _by_outcome(outcome) if by_outcome else _by_status(run.inspection.chain.status)
        for run, outcome in zip(runs, outcomes, strict=True)
    ]
    good, bad, unknown = (
        tuple(run for run, verdict in zip(runs, verdicts, strict=True) if verdict is expected)
        for expected in (True, False, None)
    )
    reference = _most_typical(good or tuple(runs))
    judged = [*((run, True) for run in good), *((run, False) for run in bad)]
    partings = (_parting(reference, run, is_good=is_good) for run, is_good in judged if run is not reference)
    return TaskDiff(
        good, bad, unknown, by_outcome, reference, tuple(parting for parting in partings if parting is not None)
    )


def _by_outcome(outcome: TaskOutcome) -> bool | None:
    return None if outcome is TaskOutcome.UNKNOWN else outcome is TaskOutcome.SUCCESS


def _by_status(status: Status) -> bool | None:
    return True if status in _SUCCESSES else False if status in _FAILURES else None


def _most_typical(runs: Sequence[ComparedRun]) -> ComparedRun:
    """The first run with the most frequent sequence of tools."""
    shapes = [tuple(step.call.name for step in run.steps) for run in runs]
    counts = Counter(shapes)
    return max(zip(runs, shapes, strict=True), key=lambda pair: counts[pair[1]])[0]


def _parting(reference: ComparedRun, run: ComparedRun, *, is_good: bool) -> RunParting | None:
    """The first difference between the run's calls and the reference's, or None."""
    rows = align([reference.steps, run.steps]).rows
    index = next((number for number, row in enumerate(rows) if not _DECISIONS.isdisjoint(row.sameness)), None)
    if index is None:
        return None
    reference_step, run_step = rows.first_step(0, index), rows.first_step(1, index)
    return RunParting(
        run, is_good, reference_step.number if reference_step is not None else None, _did(run_step, reference_step)
    )


def _did(step: Step | None, reference: Step | None) -> str:
    if step is None:
        return "no further call"
    words = f"`{differing_call(step, [reference, step], _CALL_CELLS)}`"
    return words if step.outcome is StepOutcome.OK else f"{words} ({step.outcome.value})"


def task_diff_lines(diff: TaskDiff, width: int) -> Iterator[Line]:
    """The lines of `weaklink diff --task`: the number of good runs, and where the others diverge from the reference."""
    basis = "the source's outcome" if diff.by_outcome else "the status of the chain"
    counts = [f"{len(diff.good):,} good", f"{len(diff.bad):,} bad"]
    counts += [f"{len(diff.unknown):,} without a verdict"] if diff.unknown else []
    runs = counted(len(diff.good) + len(diff.bad) + len(diff.unknown), "run")
    yield from wrapped((Run(f"{runs}: {', '.join(counts)}", Style.STRONG), Run(f", by {basis}")), width)
    kind = "good run" if diff.good else "run (there is no good one)"
    steps = counted(len(diff.reference.steps), "step")
    yield from wrapped(quoted(f"Compared with the most typical {kind}: {diff.reference.called}, {steps}."), width)
    same = len(diff.bad) - sum(not parting.is_good for parting in diff.partings)
    if diff.good and same:
        yield (Run(f"{counted(same, 'bad run makes', 'bad runs make')} the same calls."),)
    if not diff.partings:
        yield (Run("No run makes different calls."),)
        return
    for step, group in diff.partings_by_step[:_MAX_DIFFERENCES]:
        yield ()
        yield from _place_lines(diff, step, group, width)
    rest = diff.partings_by_step[_MAX_DIFFERENCES:]
    if rest:
        yield (Run(f"… {counted(len(rest), 'more place')} with {sum(len(group) for _, group in rest):,} runs"),)
    example = next(
        (parting for _, group in diff.partings_by_step for parting in group if not parting.is_good),
        diff.partings_by_step[0][1][0],
    )
    yield ()
    yield from wrapped(
        quoted(f"`weaklink diff {diff.reference.called} {example.run.called}` shows one of them."), width
    )


def _place_lines(diff: TaskDiff, step: int | None, group: Sequence[RunParting], width: int) -> Iterator[Line]:
    bad, good = ([parting for parting in group if parting.is_good is expected] for expected in (False, True))
    title = "after the last step" if step is None else f"step {step}"
    counts = f"{len(bad):,} of {len(diff.bad):,} bad, {len(good):,} of {len(diff.good):,} good runs diverge here"
    yield from wrapped((Run(f"{title}: ", Style.STRONG), Run(counts, Style.ERROR if bad else Style.DIM)), width, 4)
    if step is not None:
        call = differing_call(diff.reference.steps[step - 1], room=_CALL_CELLS)
        yield from wrapped((Run(f"    {diff.reference.called} calls "), *quoted(f"`{visible_line(call)}`")), width, 6)
    for label, sign, ones in (("bad", Run("  ✖ ", Style.ERROR), bad), ("good", Run("  ✔ ", Style.OK), good)):
        variants: dict[str, list[RunParting]] = {}
        for parting in ones:
            variants.setdefault(parting.did, []).append(parting)
        ranked = sorted(variants.items(), key=lambda item: -len(item[1]))
        for did, same in ranked[:_MAX_VARIANTS]:
            called = ", ".join(parting.run.called for parting in same[:5]) + (", …" if len(same) > 5 else "")
            yield from wrapped((sign, Run(f"{len(same):,} {label}: "), *quoted(did), Run(f"  [{called}]")), width, 6)
        if len(ranked) > _MAX_VARIANTS:
            yield (Run(f"      … {counted(len(ranked) - _MAX_VARIANTS, 'more variant')}", Style.DIM),)


def task_diff_object(diff: TaskDiff) -> TaskDiffJson:
    """The JSON of `weaklink diff --task --json`."""
    return {
        "divided_by": "outcome" if diff.by_outcome else "status",
        "good": _called(diff.good),
        "bad": _called(diff.bad),
        "unknown": _called(diff.unknown),
        "reference": diff.reference.called,
        "places": [
            {
                "step": step,
                "bad": sum(not parting.is_good for parting in group),
                "good": sum(parting.is_good for parting in group),
                "runs": [
                    {"called": parting.run.called, "good": parting.is_good, "did": parting.did} for parting in group
                ],
            }
            for step, group in diff.partings_by_step
        ],
    }


def _called(runs: Sequence[ComparedRun]) -> list[str]:
    return [run.called for run in runs]
