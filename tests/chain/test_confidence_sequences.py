"""Confidence sequences: what they promise is counted in simulated experiments that look after every trial."""

from collections.abc import Iterator
from random import Random

import pytest

from inspector.chain.intervals import ERROR, PairCounts, rate_sequence

_QUICK, _SLOW = 200, 1_000
_PAIRS = 120
_RATES = ((0.0, 0.0), (0.5, 0.5), (0.9, 0.9), (0.9, 0.2), (0.05, 0.3), (1.0, 0.6))


def _pairs(first: float, second: float, random: Random) -> Iterator[PairCounts]:
    """The counts after each pair of an experiment whose rates are known."""
    counts = PairCounts()
    for _ in range(_PAIRS):
        counts = counts.added(random.random() < first, random.random() < second)
        yield counts


def _misses(first: float, second: float, trials: int) -> int:
    """In how many experiments the interval of the difference misses it at any time."""
    random = Random(f"{first} {second}")
    return sum(any(not one.contains(first - second) for one in _pairs(first, second, random)) for _ in range(trials))


def _rate_misses(rate: float, trials: int) -> int:
    """In how many experiments the interval of a rate misses it at any time."""
    random, missed = Random(f"{rate}"), 0
    known = {(hits, n): rate_sequence(hits, n) for n in range(1, 61) for hits in range(n + 1)}
    for _ in range(trials):
        hits, is_missed = 0, False
        for n in range(1, 61):
            hits += random.random() < rate
            interval = known[hits, n]
            is_missed |= not interval.low <= rate <= interval.high
        missed += is_missed
    return missed


def test_the_difference_is_in_its_interval_at_all_times_as_often_as_promised() -> None:
    assert _misses(0.5, 0.5, _QUICK) <= ERROR * _QUICK
    assert _misses(0.05, 0.3, _QUICK) <= ERROR * _QUICK


def test_a_rate_is_in_its_interval_at_all_times_as_often_as_promised() -> None:
    assert _rate_misses(0.3, _QUICK) <= ERROR * _QUICK


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), _RATES)
def test_coverage_in_a_thousand_experiments(first: float, second: float) -> None:
    assert _misses(first, second, _SLOW) <= ERROR * _SLOW


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.0, 0.02, 0.3, 0.5, 0.97, 1.0])
def test_coverage_of_a_rate_in_a_thousand_experiments(rate: float) -> None:
    assert _rate_misses(rate, _SLOW) <= ERROR * _SLOW


def test_a_large_difference_ends_the_test_early_and_most_of_the_time() -> None:
    random = Random(26)
    stops = [next((len(one) for one in _pairs(0.9, 0.1, random) if one.differs()), 0) for _ in range(50)]
    assert all(stops)
    assert sum(stops) / len(stops) < 16


def test_looking_after_every_pair_with_an_ordinary_interval_would_be_wrong_more_often() -> None:
    """What the sequence is for: the same experiments, judged by the usual interval each time, stop far too often."""
    random, wrong = Random(7), 0
    for _ in range(_QUICK):
        seen = list(_pairs(0.5, 0.5, random))[9:]
        wrong += any(abs(one.difference) > 1.96 * ((one.first + one.second) ** 0.5) / len(one) for one in seen)
    assert wrong > 3 * ERROR * _QUICK


@pytest.mark.parametrize("counts", [PairCounts(3, 1, 9), PairCounts(0, 0, 5), PairCounts(20, 0, 0), PairCounts()])
def test_the_interval_holds_the_difference_and_agrees_with_what_it_contains(counts: PairCounts) -> None:
    interval = counts.interval()
    assert -1 <= interval.low <= counts.difference <= interval.high <= 1
    for at in range(-20, 21):
        mean = at / 20
        if abs(mean - interval.low) > 1e-9 and abs(mean - interval.high) > 1e-9:
            assert counts.contains(mean) == (interval.low <= mean <= interval.high)
    mirrored = counts.mirrored().interval()
    assert (mirrored.low, mirrored.high) == pytest.approx((-interval.high, -interval.low))


def test_intervals_narrow_with_the_trials() -> None:
    widths = [one.high - one.low for one in (rate_sequence(n // 4, n) for n in (4, 40, 400, 4000))]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.06
