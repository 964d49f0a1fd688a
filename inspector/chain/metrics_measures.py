"""What is measured over a set of traces, in the terms that function-calling work uses.

Schema compliance, parameter accuracy, tool selection accuracy, multi-step success and error recovery are what reports
on function calling name. They seldom say what they count among what; each measure here does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class MeasureKind(Enum):
    """What a measure is, which decides how its interval is made."""

    SHARE_OF_TRACES = "share of traces"
    SHARE_OF_CALLS = "share of calls"
    MEAN = "mean"


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric: `hits` per `trials`, both names of counts of a trace; the trial `traces` is 1 for every trace.

    `title` names it in tables, `meaning` says in a clause what is counted among what, `absent` why there is no value
    where there is no trial.
    """

    name: str
    title: str
    kind: MeasureKind
    hits: str
    trials: str
    meaning: str
    absent: str


MEASURES: tuple[Measure, ...] = (
    Measure(
        "ok",
        "ok",
        MeasureKind.SHARE_OF_TRACES,
        "is_ok",
        "traces",
        "traces in which nothing failed",
        "no traces",
    ),
    Measure(
        "recovered",
        "recovered",
        MeasureKind.SHARE_OF_TRACES,
        "is_recovered",
        "traces",
        "traces whose failures were made good",
        "no traces",
    ),
    Measure(
        "broken",
        "broken",
        MeasureKind.SHARE_OF_TRACES,
        "is_broken",
        "traces",
        "traces whose chain broke",
        "no traces",
    ),
    Measure(
        "aborted",
        "aborted",
        MeasureKind.SHARE_OF_TRACES,
        "is_aborted",
        "traces",
        "traces that were cut off",
        "no traces",
    ),
    Measure(
        "unknown",
        "not kept",
        MeasureKind.SHARE_OF_TRACES,
        "is_unknown",
        "traces",
        "traces whose last answer the source did not keep",
        "no traces",
    ),
    Measure(
        "multi_step_success",
        "multi-step success",
        MeasureKind.SHARE_OF_TRACES,
        "is_multi_step_success",
        "is_multi_step",
        "traces of two calls or more that are ok or recovered, and that their source does not count as failed",
        "no trace has two calls",
    ),
    Measure(
        "source_success",
        "source's success",
        MeasureKind.SHARE_OF_TRACES,
        "is_judged_success",
        "is_judged",
        "traces that their source counts as a success, among those it judges",
        "no source says how it ended",
    ),
    Measure(
        "unbroken_success",
        "chain ok, task passed",
        MeasureKind.SHARE_OF_TRACES,
        "is_unbroken_success",
        "is_judged",
        "traces whose chain is ok or recovered and that their source counts as a success, among those it judges",
        "no source says how it ended",
    ),
    Measure(
        "unbroken_failure",
        "chain ok, task failed",
        MeasureKind.SHARE_OF_TRACES,
        "is_unbroken_failure",
        "is_judged",
        "traces whose chain is ok or recovered and that their source counts as failed, among those it judges",
        "no source says how it ended",
    ),
    Measure(
        "broken_success",
        "chain broken, task passed",
        MeasureKind.SHARE_OF_TRACES,
        "is_broken_success",
        "is_judged",
        "traces whose chain broke and that their source counts as a success, among those it judges",
        "no source says how it ended",
    ),
    Measure(
        "broken_failure",
        "chain broken, task failed",
        MeasureKind.SHARE_OF_TRACES,
        "is_broken_failure",
        "is_judged",
        "traces whose chain broke and that their source counts as failed, among those it judges",
        "no source says how it ended",
    ),
    Measure(
        "well_formed",
        "well-formed calls",
        MeasureKind.SHARE_OF_CALLS,
        "well_formed",
        "calls",
        "calls that are strict in their own format and name a tool",
        "no calls",
    ),
    Measure(
        "schema_compliance",
        "schema compliance",
        MeasureKind.SHARE_OF_CALLS,
        "compliant",
        "checked",
        "well-formed calls that break nothing of their tool's schema, among calls whose schema is known",
        "no call of a tool whose schema is known",
    ),
    Measure(
        "tool_selection",
        "tool selection",
        MeasureKind.SHARE_OF_CALLS,
        "right_tools",
        "expected_tools",
        "calls of the expected tool, among the expected calls or those made, whichever are more",
        "no expected calls known",
    ),
    Measure(
        "parameter_accuracy",
        "parameter accuracy",
        MeasureKind.SHARE_OF_CALLS,
        "right_parameters",
        "expected_parameters",
        "arguments with the expected value, among those expected or given in calls of the expected tool",
        "no expected calls known",
    ),
    Measure(
        "error_results",
        "error results",
        MeasureKind.SHARE_OF_CALLS,
        "error_results",
        "answered",
        "calls that a tool answered with an error, among those that it answered",
        "no call was answered",
    ),
    Measure(
        "error_recovery",
        "error recovery",
        MeasureKind.SHARE_OF_CALLS,
        "recovered",
        "failed",
        "failed calls that were made good, among all that failed",
        "no call failed",
    ),
    Measure(
        "parallel",
        "parallel turns",
        MeasureKind.SHARE_OF_CALLS,
        "parallel_turns",
        "calling_turns",
        "turns with several calls, among those with any",
        "no calls",
    ),
    Measure(
        "calls_per_turn",
        "calls per turn",
        MeasureKind.MEAN,
        "calls",
        "calling_turns",
        "calls in a turn that has any",
        "no calls",
    ),
    Measure(
        "calls_per_trace",
        "calls per trace",
        MeasureKind.MEAN,
        "calls",
        "traces",
        "calls in a trace",
        "no traces",
    ),
    Measure(
        "latency_ms",
        "tool latency (ms)",
        MeasureKind.MEAN,
        "latency_ms",
        "timed",
        "milliseconds from a call's end to the next request, of calls alone in their turn",
        "no times were recorded",
    ),
)
"""Every measure, in the order of tables."""

TASK_CASES = ("unbroken_success", "unbroken_failure", "broken_success", "broken_failure")
"""The measures that set the chain against the source's own outcome; tables show them apart from the others."""

BY_NAME: Mapping[str, Measure] = {measure.name: measure for measure in MEASURES}
