"""Groups of traces compared with one of them: which differences are more than noise."""

from collections.abc import Sequence
from dataclasses import dataclass

from inspector.chain.intervals import NOISE, Difference, holm
from inspector.chain.metrics import FEWEST, difference
from inspector.chain.metrics_groups import GroupFigures
from inspector.chain.metrics_measures import BY_NAME, Measure

COMPARED = (
    *("broken", "multi_step_success", "well_formed", "schema_compliance", "tool_selection"),
    *("parameter_accuracy", "error_results", "error_recovery", "calls_per_turn"),
)
"""The measures that are compared, by name; those left out follow from them or say nothing of a model."""


@dataclass(frozen=True, slots=True)
class MeasureComparison:
    """One measure over one group against the same over the baseline.

    `difference` is the group's value less the baseline's, None where either has too few traces for an interval.
    `adjusted_p` is its p-value adjusted for all comparisons that were made at once, by Holm's method.
    """

    measure: Measure
    group: GroupFigures
    baseline: GroupFigures
    difference: Difference | None
    adjusted_p: float | None

    @property
    def is_more_than_noise(self) -> bool:
        """Whether the groups differ in this, with at most one error in twenty such sets of comparisons."""
        return self.adjusted_p is not None and self.adjusted_p < NOISE


def compared(groups: Sequence[GroupFigures], baseline: GroupFigures, fewest: int = FEWEST) -> list[MeasureComparison]:
    """Every group but the baseline compared with it, measure by measure, where both have a value at all."""
    pairs = [
        (BY_NAME[name], group, difference(BY_NAME[name], group.tally(name), baseline.tally(name), fewest))
        for group in groups
        if group is not baseline
        for name in COMPARED
        if group.tally(name).trials and baseline.tally(name).trials
    ]
    adjusted = iter(holm([found.p for _, _, found in pairs if found is not None]))
    return [
        MeasureComparison(measure, group, baseline, found, None if found is None else next(adjusted))
        for measure, group, found in pairs
    ]
