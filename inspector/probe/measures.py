"""Measures of a probe: counts and shares with 95 % intervals, by records alone, so a file of results gives the same.

Shares have Wilson's intervals. F1 is `2TP / (2TP + FP + FN)`, which is no share; but with `J = TP / (TP + FP + FN)`,
a share of the requests where either side has a call, it is `2J / (1 + J)`, which grows with J. So the bounds of J's
interval give those of F1. Medians have the interval of order statistics, which assumes no distribution: between the
values of ranks `n/2 ± 0.98·√n` (Conover, Practical Nonparametric Statistics, 3.2).

Two endpoints are compared on the requests that both answered: the difference of two paired shares has Newcombe's
interval for paired data (Newcombe 1998, Statistics in Medicine 17, 2635-2650, method 10), and McNemar's exact test.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, comb, floor, sqrt
from types import MappingProxyType

from msgspec import Struct

from weaklink.inspector.chain.intervals import Z_95, Difference, Interval, Share, wilson
from weaklink.inspector.model import Json
from weaklink.inspector.probe.judging import Owner
from weaklink.inspector.probe.results import ProbeMode, ProbeRecord, verifier_summary

_Judge = Callable[[ProbeRecord], bool | None]


class ProbeMeasure(Struct, frozen=True):
    """A share of results: its name, what it counts, and how one record counts (None: not at all)."""

    name: str
    title: str
    judge: _Judge


def _accepted(record: ProbeRecord) -> bool | None:
    return not record.refused if record.answered or record.refused else None


def _schema(record: ProbeRecord) -> bool | None:
    return bool(record.tool_calls_valid) if record.answered and record.calls else None


def _tool_calls(record: ProbeRecord) -> bool | None:
    kinds = (record.invalid_json, record.unknown_name, record.schema_mismatch)
    if not record.answered or not record.has_tools or None in kinds:
        return None
    return not any(kinds)


MEASURES = (
    ProbeMeasure("answered", "requests answered", lambda record: record.answered),
    ProbeMeasure("accepted", "requests accepted (not refused)", _accepted),
    ProbeMeasure("right", "right answers", lambda record: record.right),
    ProbeMeasure("schema", "answers with calls that all follow their schemas", _schema),
    ProbeMeasure("tool-calls", "requests with tools and without a tool-call error", _tool_calls),
    ProbeMeasure("stream", "streamed answers equal to the whole ones", lambda record: record.streamed_equals_whole),
    ProbeMeasure("api", "answers of the form that the API promises", lambda record: record.promises_kept),
)
"""The shares; the larger, the better. `calls` (F1) is computed apart."""

CALLS = "calls"


def failed_measures(record: ProbeRecord) -> tuple[str, ...]:
    """The names of the measures that an answer makes lower, by the suite."""
    names = [measure.name for measure in MEASURES if measure.judge(record) is False]
    has_wrong_calls = record.answered and record.wants_call is not None and record.calls is not record.wants_call
    return tuple(names + [CALLS] * has_wrong_calls)


FAIL_UNDER = MappingProxyType(
    {**{measure.name: measure.title for measure in MEASURES}, CALLS: "F1 of calls where one was wanted"}
)
"""The names that `--fail-under` takes, each with what it measures."""

ERROR_KINDS = ("invalid_json", "unknown_name", "schema_mismatch")


class MeasuredShare(Struct, frozen=True):
    """A measure of one endpoint: `hits` of `trials`; the interval is (0, 1) if there are no trials."""

    name: str
    title: str
    hits: int
    trials: int
    value: float | None
    interval: Interval


class MeasuredMedian(Struct, frozen=True):
    """The median of `trials` values; None if there are none."""

    name: str
    title: str
    trials: int
    value: float | None
    interval: Interval | None


class ProbeMeasures(Struct, frozen=True):
    """Everything that is measured of one endpoint."""

    shares: tuple[MeasuredShare, ...]
    medians: tuple[MeasuredMedian, ...]
    errors: Mapping[str, int]
    findings: Mapping[str, Mapping[str, int]]

    def value_of(self, name: str) -> float | None:
        """The value of a share, None if nothing was measured."""
        return next((share.value for share in self.shares if share.name == name), None)


def measure(records: Sequence[ProbeRecord], baseline: Sequence[ProbeRecord] = ()) -> ProbeMeasures:
    """The measures of an endpoint's records; `baseline` says where calls are wanted, if it is given.

    `findings` counts, by kind, the findings of each owner.
    """
    shares = [
        _share(criterion.name, criterion.title, [criterion.judge(record) for record in records])
        for criterion in MEASURES
    ]
    shares.insert(2, call_f1(records, baseline))
    errors = {kind: sum(getattr(record, kind) is True for record in records) for kind in ERROR_KINDS}
    counts: dict[str, Counter[str]] = {}
    for record in records:
        for finding in record.findings:
            counts.setdefault(finding.kind, Counter())[finding.owner.value] += 1
    medians = (
        _median("first-token", "milliseconds to the first token", [record.first_token_ms for record in records]),
        _median("speed", "tokens per second after it", [record.tokens_per_s for record in records]),
    )
    return ProbeMeasures(tuple(shares), medians, errors, dict(sorted(counts.items())))


def _share(name: str, title: str, values: Iterable[bool | None]) -> MeasuredShare:
    counted = [value for value in values if value is not None]
    if not counted:
        return MeasuredShare(name, title, 0, 0, None, Interval(0.0, 1.0))
    share = Share(sum(counted), len(counted))
    return MeasuredShare(name, title, sum(counted), len(counted), share.value, wilson(share))


def call_f1(records: Sequence[ProbeRecord], baseline: Sequence[ProbeRecord] = ()) -> MeasuredShare:
    """The F1 of calls, as K2-Vendor-Verifier defines it, by the baseline's answers, else by the suite.

    An answer has a call if its finish reason is `tool_calls`. `hits` are those where both have one, `trials` those
    where either has.
    """
    known = {record.key: record.calls for record in baseline if record.answered}
    pairs = [
        (record.calls, known.get(record.key) if baseline else record.wants_call)
        for record in records
        if record.answered
    ]
    both = sum(has and bool(wants) for has, wants in pairs if wants is not None)
    either = sum(has or bool(wants) for has, wants in pairs if wants is not None)
    title = "F1 of calls against the baseline" if baseline else "F1 of calls where one was wanted"
    if not either:
        return MeasuredShare(CALLS, title, 0, 0, None, Interval(0.0, 1.0))
    share = Share(both, either)
    bounds = wilson(share)
    return MeasuredShare(CALLS, title, both, either, _f1(share.value), Interval(_f1(bounds.low), _f1(bounds.high)))


def _f1(jaccard: float) -> float:
    return 2 * jaccard / (1 + jaccard)


def _median(name: str, title: str, values: Iterable[float | None]) -> MeasuredMedian:
    ordered = sorted(value for value in values if value is not None)
    if not ordered:
        return MeasuredMedian(name, title, 0, None, None)
    count = len(ordered)
    half = Z_95 * sqrt(count) / 2
    low, high = max(floor(count / 2 - half), 0), min(ceil(count / 2 + half), count - 1)
    middle = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    return MeasuredMedian(name, title, count, middle, Interval(ordered[low], ordered[high]))


class PairedShare(Struct, frozen=True):
    """A measure of two endpoints on the same requests: how many are right for both, only for one, for neither."""

    name: str
    title: str
    both: int
    only_first: int
    only_second: int
    neither: int
    difference: Difference | None

    @property
    def trials(self) -> int:
        """The number of requests that count for both."""
        return self.both + self.only_first + self.only_second + self.neither


def compare_endpoints(first: Sequence[ProbeRecord], second: Sequence[ProbeRecord]) -> list[PairedShare]:
    """Each measure of both endpoints on the requests that count for both; a difference above 0 favours the first."""
    others = {record.key: record for record in second}
    pairs = [(record, others[record.key]) for record in first if record.key in others]
    return [
        _paired(criterion, [(criterion.judge(left), criterion.judge(right)) for left, right in pairs])
        for criterion in (
            *MEASURES,
            ProbeMeasure("calls", "answers with a call exactly if one was wanted", _called_as_wanted),
        )
    ]


def _called_as_wanted(record: ProbeRecord) -> bool | None:
    return record.calls == record.wants_call if record.answered and record.wants_call is not None else None


def _paired(of: ProbeMeasure, values: Iterable[tuple[bool | None, bool | None]]) -> PairedShare:
    counts = Counter((left, right) for left, right in values if left is not None and right is not None)
    both, only_first = counts[(True, True)], counts[(True, False)]
    only_second, neither = counts[(False, True)], counts[(False, False)]
    difference = paired_difference(both, only_first, only_second, neither)
    return PairedShare(of.name, of.title, both, only_first, only_second, neither, difference)


def paired_difference(both: int, only_first: int, only_second: int, neither: int) -> Difference | None:
    """The difference of two paired shares, its interval and p-value (see the module); None without pairs."""
    n = both + only_first + only_second + neither
    if not n:
        return None
    first, second = Share(both + only_first, n), Share(both + only_second, n)
    interval, other = wilson(first), wilson(second)
    phi = _correlation(both, only_first, only_second, neither)
    p, q = first.value, second.value
    low = _root(p - interval.low, other.high - q, phi)
    high = _root(interval.high - p, q - other.low, phi)
    return Difference(p - q, Interval(p - q - low, p - q + high), _mcnemar(only_first, only_second))


def _root(first: float, other: float, phi: float) -> float:
    return sqrt(max(first * first - 2 * phi * first * other + other * other, 0.0))


def _correlation(both: int, only_first: int, only_second: int, neither: int) -> float:
    """Newcombe's phi, with his correction for continuity."""
    product = (both + only_first) * (only_second + neither) * (both + only_second) * (only_first + neither)
    if not product:
        return 0.0
    n = both + only_first + only_second + neither
    covered = both * neither - only_first * only_second
    return (max(covered - n / 2, 0.0) if covered > 0 else float(covered)) / sqrt(product)


def _mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided test: under the null hypothesis each discordant pair favours either side with 1/2."""
    n, fewer = only_first + only_second, min(only_first, only_second)
    return min(sum(comb(n, k) for k in range(fewer + 1)) / float(2 ** (n - 1)), 1.0) if n else 1.0


def summary_json(
    records: Sequence[ProbeRecord], measures: ProbeMeasures, *, url: str, model: str, suite: Json
) -> dict[str, Json]:
    """`summary.json`: the verifier's counts, and `weaklink` with every measure."""
    shares: list[Json] = [
        {
            "measure": share.name,
            "title": share.title,
            "hits": share.hits,
            "of": share.trials,
            "value": _rounded(share.value),
            "interval": [_rounded(share.interval.low), _rounded(share.interval.high)],
        }
        for share in measures.shares
    ]
    medians: list[Json] = [
        {
            "measure": median.name,
            "title": median.title,
            "of": median.trials,
            "median": _rounded(median.value),
            "interval": [_rounded(median.interval.low), _rounded(median.interval.high)] if median.interval else None,
        }
        for median in measures.medians
    ]
    findings: list[Json] = [
        {"kind": kind, **{owner.value: owners.get(owner.value, 0) for owner in Owner}}
        for kind, owners in measures.findings.items()
    ]
    own: Json = {
        "url": url,
        "suite": suite,
        "results": len(records),
        "whole": sum(record.mode is ProbeMode.WHOLE for record in records),
        "streamed": sum(record.mode is ProbeMode.STREAMED for record in records),
        "measures": shares,
        "medians": medians,
        "tool_call_errors": dict(measures.errors),
        "findings": findings,
    }
    return {**verifier_summary(records, model), "weaklink": own}


def paired_json(compared: Iterable[PairedShare]) -> list[Json]:
    """The comparison of two endpoints as JSON."""
    return [
        {
            "measure": share.name,
            "title": share.title,
            "of": share.trials,
            "both": share.both,
            "only_first": share.only_first,
            "only_second": share.only_second,
            "neither": share.neither,
            "difference": _rounded(share.difference.value) if share.difference else None,
            "interval": [_rounded(share.difference.interval.low), _rounded(share.difference.interval.high)]
            if share.difference
            else None,
            "p": _rounded(share.difference.p) if share.difference else None,
        }
        for share in compared
    ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
