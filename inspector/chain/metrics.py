"""The measures over a set of traces: definitions, values with confidence intervals, differences of two sets.

Reports on function calling name schema compliance, parameter accuracy, tool selection accuracy, multi-step success and
error recovery, but seldom define what they count among what; each measure here does.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from math import sqrt

from msgspec import Struct, structs

from weaklink.inspector.chain import intervals

TASK_CASES = ("unbroken_success", "unbroken_failure", "broken_success", "broken_failure")
"""The measures that compare the chain with the source's own outcome; tables show them separately."""

FEWEST = 5
"""Over fewer traces than this, a measure gets no confidence interval."""


class MeasureKind(Enum):
    """What a measure is, which decides how its interval is computed."""

    SHARE_OF_TRACES = "share of traces"
    SHARE_OF_CALLS = "share of calls"
    MEAN = "mean"


class Measure(Struct, frozen=True):
    """One metric: `hits` per `trials`, both names of counts of a trace; the trial `traces` is 1 for every trace.

    `title` is its name in tables, `meaning` a clause that defines what is counted among what.
    """

    name: str
    title: str
    kind: MeasureKind
    hits: str
    trials: str
    meaning: str

    @property
    def absent(self) -> str:
        """The reason for a missing value if there is no trial."""
        return _ABSENT[self.trials]


_TRACES, _CALLS, _MEAN = MeasureKind
_ABSENT = {
    "traces": "no traces",
    "is_multi_step": "no trace has two calls",
    "is_judged": "no source states the outcome",
    "calls": "no calls",
    "checked": "no call of a tool whose schema is known",
    "expected_tools": "no expected calls known",
    "expected_parameters": "no expected calls known",
    "answered": "no call was answered",
    "failed": "no call failed",
    "calling_turns": "no calls",
    "timed": "no times were recorded",
}
MEASURES: tuple[Measure, ...] = (
    Measure("ok", "ok", _TRACES, "is_ok", "traces", "traces in which nothing failed"),
    Measure("recovered", "recovered", _TRACES, "is_recovered", "traces", "traces that recovered from every failure"),
    Measure("broken", "broken", _TRACES, "is_broken", "traces", "traces whose chain broke"),
    Measure("aborted", "aborted", _TRACES, "is_aborted", "traces", "traces that were cut off"),
    Measure(
        *("unknown", "not kept", _TRACES, "is_unknown", "traces"), "traces whose last answer the source did not keep"
    ),
    Measure(
        *("multi_step_success", "multi-step success", _TRACES, "is_multi_step_success", "is_multi_step"),
        "traces of two calls or more that are ok or recovered, and that their source does not count as failed",
    ),
    Measure(
        *("source_success", "source's success", _TRACES, "is_judged_success", "is_judged"),
        "traces that their source counts as a success, among those it judges",
    ),
    Measure(
        *("unbroken_success", "chain ok, task passed", _TRACES, "is_unbroken_success", "is_judged"),
        "traces whose chain is ok or recovered and that their source counts as a success, among those it judges",
    ),
    Measure(
        *("unbroken_failure", "chain ok, task failed", _TRACES, "is_unbroken_failure", "is_judged"),
        "traces whose chain is ok or recovered and that their source counts as failed, among those it judges",
    ),
    Measure(
        *("broken_success", "chain broken, task passed", _TRACES, "is_broken_success", "is_judged"),
        "traces whose chain broke and that their source counts as a success, among those it judges",
    ),
    Measure(
        *("broken_failure", "chain broken, task failed", _TRACES, "is_broken_failure", "is_judged"),
        "traces whose chain broke and that their source counts as failed, among those it judges",
    ),
    Measure(
        *("well_formed", "well-formed calls", _CALLS, "well_formed", "calls"),
        "calls that strictly follow their format and name a tool",
    ),
    Measure(
        *("schema_compliance", "schema compliance", _CALLS, "compliant", "checked"),
        "well-formed calls that do not violate their tool's schema, among calls whose schema is known",
    ),
    Measure(
        *("tool_selection", "tool selection", _CALLS, "right_tools", "expected_tools"),
        "calls of the expected tool, among the expected or the actual calls, whichever are more",
    ),
    Measure(
        *("parameter_accuracy", "parameter accuracy", _CALLS, "right_parameters", "expected_parameters"),
        "arguments with the expected value, among all arguments expected or passed in calls of the expected tool",
    ),
    Measure(
        *("error_results", "error results", _CALLS, "error_results", "answered"),
        "calls that a tool answered with an error, among answered calls",
    ),
    Measure(
        *("error_recovery", "error recovery", _CALLS, "recovered", "failed"),
        "failed calls that were recovered, among all failed calls",
    ),
    Measure(
        *("parallel", "parallel turns", _CALLS, "parallel_turns", "calling_turns"),
        "turns with several calls, among turns with calls",
    ),
    Measure(
        *("calls_per_turn", "calls per turn", _MEAN, "calls", "calling_turns"), "calls per turn, among turns with calls"
    ),
    Measure("calls_per_trace", "calls per trace", _MEAN, "calls", "traces", "calls per trace, among all traces"),
    Measure(
        *("latency_ms", "tool latency (ms)", _MEAN, "latency_ms", "timed"),
        "milliseconds from a call's end to the next request, for calls alone in their turn",
    ),
)
"""Every measure, in the order of tables."""

BY_NAME: Mapping[str, Measure] = {measure.name: measure for measure in MEASURES}


class Tally(Struct, frozen=True):
    """Hits and trials over traces, and the sums of squares that show how much the traces differ.

    `traces` counts those with any trial; `both` is the sum of hits times trials. All are whole numbers, so the tallies
    of parts add up to the tally of the whole in any order, also when a database adds them.
    """

    traces: int = 0
    hits: int = 0
    trials: int = 0
    hits_squared: int = 0
    both: int = 0
    trials_squared: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            *(mine + theirs for mine, theirs in zip(structs.astuple(self), structs.astuple(other), strict=True))
        )

    @property
    def share(self) -> intervals.Share:
        """The hits among trials that are independent; requires a trial."""
        return intervals.Share(self.hits, self.trials)

    @property
    def clustered_share(self) -> intervals.Share:
        """The hits among trials that may be correlated within a trace, discounted by that correlation.

        Both numbers are divided by the design effect, the variance of the share between traces over the one that
        independent trials would have: Rao and Scott (1992), "A simple method for the analysis of clustered binary
        data". An effect below 1 is taken as 1. A share of 0 or 1 shows no variance at all: each trace then counts as
        one trial.
        """
        if self.traces < 2 or self.hits <= 0 or self.hits >= self.trials:
            return intervals.Share(self.hits / self.trials * self.traces, self.traces)
        effect = max(self.design_effect, 1.0)
        return intervals.Share(self.hits / effect, self.trials / effect)

    @property
    def design_effect(self) -> float:
        """How many calls are worth one independent call; requires two traces with a trial, hits and misses."""
        share = self.hits / self.trials
        return self.ratio.error**2 / (share * (1 - share) / self.trials)

    @property
    def ratio(self) -> intervals.Mean:
        """Hits per trial, each trace one observation, by the ratio estimator: Cochran (1977), section 2.11.

        With one trial a trace it is the plain mean and its plain standard error. Requires two traces with a trial.
        """
        x, n = self.hits, self.trials
        # Integers up to the last step: the differences are small and the squares are large.
        spread = n * n * self.hits_squared - 2 * x * n * self.both + x * x * self.trials_squared
        variance = spread / n**4 * self.traces / (self.traces - 1)
        return intervals.Mean(x / n, sqrt(variance), self.traces - 1)


TALLIED = tuple(Tally.__struct_fields__)
"""The names of the sums, in order."""


def tally_of(hits: int, trials: int) -> Tally:
    """The tally of one trace; an empty one if it has no trial."""
    if not trials:
        return Tally()
    return Tally(1, hits, trials, hits * hits, hits * trials, trials * trials)


def total(tallies: Iterable[Tally]) -> Tally:
    """The tally of all."""
    return sum(tallies, Tally())


class Estimate(Struct, frozen=True):
    """A measure over some traces: its value with the 95 % interval, and the counts that it is based on.

    `value` is None if there is no trial. `interval` is None then too, if fewer than the least number of traces (see
    FEWEST) have any trial, and for a mean that is the same in every trace. Trials of one trace are not independent: a
    share over calls gets Wilson's interval over trials discounted by their design effect, a mean Student's over traces
    (see `Tally`).
    """

    measure: Measure
    tally: Tally
    value: float | None
    interval: intervals.Interval | None


def estimate(measure: Measure, tally: Tally, fewest: int = FEWEST) -> Estimate:
    """The estimate of a measure from its tally."""
    if not tally.trials:
        return Estimate(measure, tally, None, None)
    value = tally.hits / tally.trials
    if tally.traces < max(fewest, 2):
        return Estimate(measure, tally, value, None)
    return Estimate(measure, tally, value, None if _is_alike(measure, tally) else _interval(measure.kind, tally))


def difference(measure: Measure, first: Tally, second: Tally, fewest: int = FEWEST) -> intervals.Difference | None:
    """How much larger a measure is over the first traces than over the second; None if either are too few."""
    if min(first.traces, second.traces) < max(fewest, 2) or _is_alike(measure, first) or _is_alike(measure, second):
        return None
    match measure.kind:
        case MeasureKind.SHARE_OF_TRACES:
            return intervals.share_difference(first.share, second.share)
        case MeasureKind.SHARE_OF_CALLS:
            return intervals.share_difference(first.clustered_share, second.clustered_share)
        case MeasureKind.MEAN:
            return intervals.mean_difference(first.ratio, second.ratio)


def tallies_of(numbers: Mapping[str, int]) -> dict[str, Tally]:
    """The tally of every measure whose counts `numbers` of one trace has, by the measure's name."""
    counted = {"traces": 1, **numbers}
    return {
        measure.name: tally_of(counted[measure.hits], counted[measure.trials])
        for measure in MEASURES
        if measure.hits in counted and measure.trials in counted
    }


def added(groups: Iterable[Mapping[str, Tally]]) -> dict[str, Tally]:
    """The tallies of all, measure by measure."""
    sums: dict[str, Tally] = {}
    for tallies in groups:
        for name, tally in tallies.items():
            sums[name] = sums[name] + tally if name in sums else tally
    return sums


def _is_alike(measure: Measure, tally: Tally) -> bool:
    """Whether a mean is the same in every trace, so that its standard error cannot be estimated."""
    return measure.kind is MeasureKind.MEAN and tally.ratio.error == 0


def _interval(kind: MeasureKind, tally: Tally) -> intervals.Interval:
    match kind:
        case MeasureKind.SHARE_OF_TRACES:
            return intervals.wilson(tally.share)
        case MeasureKind.SHARE_OF_CALLS:
            return intervals.wilson(tally.clustered_share)
        case MeasureKind.MEAN:
            interval = intervals.around(tally.ratio)
            return intervals.Interval(
                max(interval.low, 0.0), interval.high
            )  # a mean of counts or times is never below 0
