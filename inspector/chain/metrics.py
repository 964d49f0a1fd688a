"""What is measured over a set of traces, in the terms that function-calling work uses, each with its interval."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from inspector.chain.intervals import Difference, Interval, around, mean_difference, share_difference, wilson
from inspector.chain.metrics_tallies import Tally, tally_of

FEWEST = 5
"""Over fewer traces than this nothing is said of how far a number can be trusted."""


class Kind(Enum):
    """What a measure is, which decides how its interval is made."""

    SHARE_OF_TRACES = "share of traces"
    SHARE_OF_CALLS = "share of calls"
    MEAN = "mean"


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric: `hits` per `trials`, both names of counts of a trace; the trial `traces` is 1 for every trace.

    `title` names it in tables, `meaning` says in a clause what is counted among what.
    """

    name: str
    title: str
    kind: Kind
    hits: str
    trials: str
    meaning: str


MEASURES: tuple[Measure, ...] = (
    Measure("ok", "ok", Kind.SHARE_OF_TRACES, "is_ok", "traces", "traces in which nothing failed"),
    Measure(
        "recovered", "recovered", Kind.SHARE_OF_TRACES, "is_recovered", "traces", "traces whose failures were made good"
    ),
    Measure("broken", "broken", Kind.SHARE_OF_TRACES, "is_broken", "traces", "traces whose chain broke"),
    Measure("aborted", "aborted", Kind.SHARE_OF_TRACES, "is_aborted", "traces", "traces that were cut off"),
    Measure(
        "multi_step_success",
        "multi-step success",
        Kind.SHARE_OF_TRACES,
        "is_multi_step_success",
        "is_multi_step",
        "traces of two calls or more that are ok or recovered, and that their source does not count as failed",
    ),
    Measure(
        "source_success",
        "source's success",
        Kind.SHARE_OF_TRACES,
        "is_judged_success",
        "is_judged",
        "traces that their source counts as a success, among those it judges",
    ),
    Measure(
        "well_formed",
        "well-formed calls",
        Kind.SHARE_OF_CALLS,
        "well_formed",
        "calls",
        "calls that are strict in their own format and name a tool",
    ),
    Measure(
        "schema_compliance",
        "schema compliance",
        Kind.SHARE_OF_CALLS,
        "compliant",
        "checked",
        "well-formed calls that break nothing of their tool's schema, among calls whose schema is known",
    ),
    Measure(
        "tool_selection",
        "tool selection",
        Kind.SHARE_OF_CALLS,
        "right_tools",
        "expected_tools",
        "calls of the expected tool, among the expected calls or those made, whichever are more",
    ),
    Measure(
        "parameter_accuracy",
        "parameter accuracy",
        Kind.SHARE_OF_CALLS,
        "right_parameters",
        "expected_parameters",
        "arguments with the expected value, among those expected or given in calls of the expected tool",
    ),
    Measure(
        "error_results",
        "error results",
        Kind.SHARE_OF_CALLS,
        "error_results",
        "answered",
        "calls that a tool answered with an error, among those that it answered",
    ),
    Measure(
        "error_recovery",
        "error recovery",
        Kind.SHARE_OF_CALLS,
        "recovered",
        "failed",
        "failed calls that were made good, among all that failed",
    ),
    Measure(
        "parallel",
        "parallel turns",
        Kind.SHARE_OF_CALLS,
        "parallel_turns",
        "calling_turns",
        "turns with several calls, among those with any",
    ),
    Measure("calls_per_turn", "calls per turn", Kind.MEAN, "calls", "calling_turns", "calls in a turn that has any"),
    Measure("calls_per_trace", "calls per trace", Kind.MEAN, "calls", "traces", "calls in a trace"),
    Measure(
        "latency_ms",
        "tool latency (ms)",
        Kind.MEAN,
        "latency_ms",
        "timed",
        "milliseconds from a call's end to the next request, of calls alone in their turn",
    ),
)
"""Every measure, in the order of tables."""

BY_NAME: Mapping[str, Measure] = {measure.name: measure for measure in MEASURES}


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measure over some traces: its value with the 95 % interval, and the counts that it stands on.

    `value` is None where there was nothing to count. `interval` is None then too, and where fewer than the least number
    of traces (see FEWEST) have any trial. Trials of one trace are not independent: a share over calls is given Wilson's
    interval over trials discounted by their design effect, a mean Student's over traces (see `metrics_tallies`).
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
    return Estimate(measure, tally, value, _interval(measure.kind, tally))


def difference(measure: Measure, first: Tally, second: Tally, fewest: int = FEWEST) -> Difference | None:
    """How much larger a measure is over the first traces than over the second; None where either are too few."""
    if min(first.traces, second.traces) < max(fewest, 2):
        return None
    match measure.kind:
        case Kind.SHARE_OF_TRACES:
            return share_difference(first.share, second.share)
        case Kind.SHARE_OF_CALLS:
            return share_difference(first.clustered_share, second.clustered_share)
        case Kind.MEAN:
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


def _interval(kind: Kind, tally: Tally) -> Interval:
    match kind:
        case Kind.SHARE_OF_TRACES:
            return wilson(tally.share)
        case Kind.SHARE_OF_CALLS:
            return wilson(tally.clustered_share)
        case Kind.MEAN:
            return around(tally.ratio)
