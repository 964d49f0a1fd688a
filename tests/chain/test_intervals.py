"""Intervals and tests of difference, against published values and against SciPy's.

`cases/statistics/scipy.jsonl` was written once with SciPy 1.17.1: `binomtest(...).proportion_ci(method="wilson")`,
`t.ppf`, `t.sf`, `special.betainc`, `t.interval` with `sem`, `ttest_ind(..., equal_var=False)` over counts drawn
from Poisson distributions, and `fisher_exact`.
"""

import json
from pathlib import Path
from statistics import mean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.chain.intervals import (
    Mean,
    Share,
    around,
    exact_p,
    holm,
    mean_difference,
    quantile_975,
    regularised_beta,
    share_difference,
    two_sided_p,
    wilson,
)
from weaklink.inspector.chain.metrics import Tally, tally_of, total

_RECORDED = Path(__file__).parents[1] / "cases" / "statistics" / "scipy.jsonl"
CASES = [json.loads(line) for line in _RECORDED.read_text("utf-8").splitlines()]
# Newcombe (1998), "Two-sided confidence intervals for the single proportion", table I, method 3.
SINGLE = (
    (81, 263, 0.2553, 0.3662),
    (15, 148, 0.0624, 0.1605),
    (0, 20, 0.0000, 0.1611),
    (1, 29, 0.0061, 0.1718),
)
# Newcombe (1998), "Interval estimation for the difference between independent proportions", table II, method 10.
DIFFERENCES = (
    (Share(56, 70), Share(48, 80), 0.0524, 0.3339),
    (Share(9, 10), Share(3, 10), 0.1705, 0.8090),
    (Share(6, 7), Share(2, 7), 0.0582, 0.8062),
    (Share(5, 56), Share(0, 29), -0.0381, 0.1926),
    (Share(0, 10), Share(0, 20), -0.1611, 0.2775),
    (Share(0, 10), Share(0, 10), -0.2775, 0.2775),
    (Share(10, 10), Share(0, 20), 0.6791, 1.0000),
    (Share(10, 10), Share(0, 10), 0.6075, 1.0000),
)
# Weil (1970): rats that lived of each litter, the example of Rao and Scott (1992).
CONTROL = "13/13 12/12 9/9 9/9 8/8 8/8 12/13 11/12 9/10 9/10 8/9 11/13 4/5 5/7 7/10 7/10"
TREATED = "12/12 11/11 10/10 9/9 10/11 9/10 9/10 8/9 8/9 4/5 7/9 4/7 5/10 3/6 3/10 0/7"

counts = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(lambda two: (min(two), max(two))), max_size=30)


def of(name: str) -> list[dict[str, object]]:
    cases = [case for case in CASES if case["of"] == name]
    assert cases
    return cases


@pytest.mark.parametrize(("hits", "trials", "low", "high"), SINGLE)
def test_a_share_has_the_interval_that_newcombe_printed(hits: int, trials: int, low: float, high: float) -> None:
    interval = wilson(Share(hits, trials))
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


@pytest.mark.parametrize(("first", "second", "low", "high"), DIFFERENCES)
def test_a_difference_has_the_interval_that_newcombe_printed(
    first: Share, second: Share, low: float, high: float
) -> None:
    interval = share_difference(first, second).interval
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


@pytest.mark.parametrize("case", of("wilson"))
def test_a_share_has_scipys_interval(case: dict[str, float]) -> None:
    interval = wilson(Share(case["hits"], case["trials"]))
    assert (interval.low, interval.high) == pytest.approx((case["low"], case["high"]), abs=1e-12)


@pytest.mark.parametrize("case", of("quantile_975"))
def test_students_quantile_is_scipys(case: dict[str, float]) -> None:
    assert quantile_975(case["freedom"]) == pytest.approx(case["value"], rel=1e-9)


@pytest.mark.parametrize("case", of("two_sided_p"))
def test_students_tail_is_scipys(case: dict[str, float]) -> None:
    assert two_sided_p(case["t"], case["freedom"]) == pytest.approx(case["value"], rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("case", of("regularised_beta"))
def test_the_incomplete_beta_function_is_scipys(case: dict[str, float]) -> None:
    assert regularised_beta(case["x"], case["a"], case["b"]) == pytest.approx(case["value"], rel=1e-10)


@pytest.mark.parametrize("case", of("mean"))
def test_a_mean_over_traces_has_scipys_interval(case: dict[str, list[int]]) -> None:
    interval = around(total(tally_of(hits, 1) for hits in case["values"]).ratio)
    assert (interval.low, interval.high) == pytest.approx((case["low"], case["high"]), rel=1e-9)


@pytest.mark.parametrize("case", of("welch"))
def test_two_means_differ_as_scipys_welch_says(case: dict[str, list[int]]) -> None:
    first, second = (total(tally_of(hits, 1) for hits in case[name]).ratio for name in ("first", "second"))
    difference = mean_difference(first, second)
    assert (difference.interval.low, difference.interval.high, difference.p) == pytest.approx(
        (case["low"], case["high"], case["p"])
    )


@pytest.mark.parametrize(("litters", "effect", "trials"), [(CONTROL, 1.2325, 128.2), (TREATED, 3.9529, 36.7)])
def test_the_design_effect_of_weils_litters_is_that_of_rao_and_scott(
    litters: str, effect: float, trials: float
) -> None:
    tally = total(tally_of(*map(int, litter.split("/"))) for litter in litters.split())
    assert round(tally.design_effect, 4) == effect
    assert round(tally.clustered_share.trials, 1) == trials


def test_calls_that_are_copies_of_each_other_count_about_once_a_trace() -> None:
    tally = total(tally_of(10 * (number % 2), 10) for number in range(40))
    assert tally.clustered_share.trials == pytest.approx(39)


def test_a_share_without_a_miss_counts_each_trace_once() -> None:
    assert total(tally_of(10, 10) for _ in range(8)).clustered_share == Share(8, 8)


@given(counts, counts)
def test_tallies_of_parts_add_up_to_the_tally_of_the_whole(
    some: list[tuple[int, int]], others: list[tuple[int, int]]
) -> None:
    whole = total(tally_of(*part) for part in some + others)
    assert total(tally_of(*part) for part in some) + total(tally_of(*part) for part in others) == whole
    assert (whole.hits, whole.trials) == (
        sum(hits for hits, _ in some + others),
        sum(trials for _, trials in some + others),
    )


@given(counts)
def test_the_ratio_has_the_error_of_its_definition(some: list[tuple[int, int]]) -> None:
    tried = [(hits, trials) for hits, trials in some if trials]
    if len(tried) < 2:
        return
    hits, trials = (sum(column) for column in zip(*tried, strict=True))
    spread = sum((x - hits / trials * n) ** 2 for x, n in tried)
    expected = (spread / trials**2 * len(tried) / (len(tried) - 1)) ** 0.5
    assert total(tally_of(*part) for part in tried).ratio.error == pytest.approx(expected, rel=1e-6, abs=1e-7)


@given(st.lists(st.integers(0, 60), min_size=2, max_size=30))
def test_with_one_trial_a_trace_the_ratio_is_the_plain_mean(values: list[int]) -> None:
    ratio = total(tally_of(value, 1) for value in values).ratio
    assert ratio.value == pytest.approx(mean(values))
    assert ratio.error == pytest.approx(stdev(values) / len(values) ** 0.5, abs=1e-9)


@given(counts, counts)
def test_a_difference_lies_within_its_interval(some: list[tuple[int, int]], others: list[tuple[int, int]]) -> None:
    first, second = (total(tally_of(*part) for part in group) for group in (some, others))
    if not first.trials or not second.trials:
        return
    difference = share_difference(first.clustered_share, second.clustered_share)
    back = share_difference(second.clustered_share, first.clustered_share)
    assert -1 <= difference.interval.low <= difference.value <= difference.interval.high <= 1
    assert 0 <= difference.p <= 1
    assert difference.p == pytest.approx(back.p)


@pytest.mark.parametrize("case", of("fisher"))
def test_two_shares_differ_as_scipys_exact_test_says(case: dict[str, float]) -> None:
    p = exact_p(Share(case["a"], case["n"]), Share(case["b"], case["m"]))
    assert p == pytest.approx(case["p"], rel=1e-6, abs=1e-300)


def test_counts_beyond_bounds_are_tested_without_trying_every_table() -> None:
    exact = exact_p(Share(10_100, 20_000), Share(9_900, 20_000))
    assert exact_p(Share(10_101, 20_001), Share(9_900, 20_000)) == pytest.approx(exact, rel=0.05)


def test_holm_multiplies_the_smallest_by_how_many_there_are() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_two_equal_means_without_spread_do_not_differ() -> None:
    still = Mean(1.0, 0.0, 4)
    assert mean_difference(still, still).p == 1.0
    assert mean_difference(still, Mean(2.0, 0.0, 4)).p == 0.0


def test_an_empty_tally_adds_nothing() -> None:
    assert tally_of(0, 0) == Tally()
    assert Tally() + tally_of(2, 3) == tally_of(2, 3)
