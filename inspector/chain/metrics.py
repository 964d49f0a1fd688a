"""Measures over a set of traces, each with its value and its interval, and the differences between two sets."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from inspector.chain.intervals import Difference, Interval, around, mean_difference, share_difference, wilson
from inspector.chain.metrics_measures import MEASURES, Measure, MeasureKind
from inspector.chain.metrics_tallies import Tally, tally_of

FEWEST = 5
"""Over fewer traces than this nothing is said of how far a number can be trusted."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measure over some traces: its value with the 95 % interval, and the counts that it stands on.

    `value` is None where there was nothing to count. `interval` is None then too, where fewer than the least number of
    traces (see FEWEST) have any trial, and for a mean that is the same in every trace. Trials of one trace are not
    independent: a share over calls is given Wilson's interval over trials discounted by their design effect, a mean
    Student's over traces (see `metrics_tallies`).
    """

    measure: Measure
    tally: Tally
    value: float | None
    interval: Interval | None


def estimate(measure: Measure, tally: Tally, fewest: int = FEWEST) -> Estimate:
    """What a tally says of a measure."""
    if not tally.trials:
        return Estimate(measure, tally, None, None)
    value = tally.hits / tally.trials
    if tally.traces < max(fewest, 2):
        return Estimate(measure, tally, value, None)
    return Estimate(measure, tally, value, None if _is_alike(measure, tally) else _interval(measure.kind, tally))


def difference(measure: Measure, first: Tally, second: Tally, fewest: int = FEWEST) -> Difference | None:
    """How much larger a measure is over the first traces than over the second; None where either are too few."""
    if min(first.traces, second.traces) < max(fewest, 2) or _is_alike(measure, first) or _is_alike(measure, second):
        return None
    match measure.kind:
        case MeasureKind.SHARE_OF_TRACES:
            return share_difference(first.share, second.share)
        case MeasureKind.SHARE_OF_CALLS:
            return share_difference(first.clustered_share, second.clustered_share)
        case MeasureKind.MEAN:
            return mean_difference(first.ratio, second.ratio)


def tallies_of(numbers: Mapping[str, int]) -> dict[str, Tally]:
    """The tally of every measure whose counts are among those of one trace, by the measure's name."""
    counted = {"traces": 1, **numbers}
    return {
        measure.name: tally_of(counted[measure.hits], counted[measure.trials])
        for measure in MEASURES
        if measure.hits in counted and measure.trials in counted
    }


def added(groups: Iterable[Mapping[str, Tally]]) -> dict[str, Tally]:
    """The tallies of all, measure by measure."""
    found: dict[str, Tally] = {}
    for tallies in groups:
        for name, tally in tallies.items():
            found[name] = found[name] + tally if name in found else tally
    return found


def _is_alike(measure: Measure, tally: Tally) -> bool:
    """Whether a mean is the same in every trace: nothing then tells how far it can be trusted."""
    return measure.kind is MeasureKind.MEAN and tally.ratio.error == 0


def _interval(kind: MeasureKind, tally: Tally) -> Interval:
    match kind:
        case MeasureKind.SHARE_OF_TRACES:
            return wilson(tally.share)
        case MeasureKind.SHARE_OF_CALLS:
            return wilson(tally.clustered_share)
        case MeasureKind.MEAN:
            interval = around(tally.ratio)
            return Interval(max(interval.low, 0.0), interval.high)  # a mean of counts or times is never below 0
