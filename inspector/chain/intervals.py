"""How far a counted share or a mean can be trusted, and whether two of them differ by more than noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

from inspector.chain.student_t import quantile_975, standard_error, two_sided_p, welch_freedom

Z_95 = NormalDist().inv_cdf(0.975)
"""How many standard errors of a normal distribution hold 95 % of it, half to each side."""
NOISE = 0.05
"""A difference whose p-value lies below is taken to be more than noise."""
_HALVINGS = 80
_FARTHEST = 37.0  # standard errors; beyond, a p-value is 0 to every digit


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a value lies with 95 % confidence."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Share:
    """`hits` of `trials` that know nothing of each other; not whole numbers where trials that do were discounted."""

    hits: float
    trials: float

    @property
    def value(self) -> float:
        """The share itself."""
        return self.hits / self.trials


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean, its standard error, and the degrees of freedom that the error was estimated with."""

    value: float
    error: float
    freedom: float


@dataclass(frozen=True, slots=True)
class Difference:
    """How much larger the first of two values is, in which bounds, and how likely noise alone would make it so."""

    value: float
    interval: Interval
    p: float


def wilson(share: Share, z: float = Z_95) -> Interval:
    """The score interval of a share: Wilson (1927), recommended by Newcombe (1998, method 3) and Brown et al. (2001).

    Unlike the usual `p ± z·error` it stays within 0 and 1 and holds what it promises for small counts too.
    """
    n, p = share.trials, share.value
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(max(p * (1 - p), 0.0) / n + z * z / (4 * n * n))
    low = 0.0 if share.hits <= 0 else max(middle - half, 0.0)
    high = 1.0 if share.hits >= n else min(middle + half, 1.0)
    return Interval(low, high)


def around(mean: Mean) -> Interval:
    """Student's (1908) interval of a mean."""
    half = quantile_975(mean.freedom) * mean.error
    return Interval(mean.value - half, mean.value + half)


def share_difference(first: Share, second: Share) -> Difference:
    """The difference of two shares: Newcombe (1998), "Interval estimation for the difference", method 10.

    The p-value is the one at which that interval only just holds 0, so that interval and verdict never contradict.
    """
    return Difference(first.value - second.value, _newcombe(first, second, Z_95), _touching_p(first, second))


def mean_difference(first: Mean, second: Mean) -> Difference:
    """The difference of two means whose spreads may differ: Welch (1947)."""
    value = first.value - second.value
    error = standard_error(first.error, second.error)
    if error == 0:
        return Difference(value, Interval(value, value), 0.0 if value else 1.0)
    freedom = welch_freedom((first.error, first.freedom), (second.error, second.freedom))
    interval = around(Mean(value, error, freedom))
    return Difference(value, interval, two_sided_p(value / error, freedom))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values, in their order, adjusted for how many there are: Holm (1979).

    One that stays below 0.05 is more than noise with at most one error in twenty such sets of comparisons.
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min((len(p_values) - rank) * p_values[index], 1.0))
        adjusted[index] = highest
    return adjusted


def _newcombe(first: Share, second: Share, z: float) -> Interval:
    p, q = first.value, second.value
    one, other = wilson(first, z), wilson(second, z)
    low = p - q - sqrt((p - one.low) ** 2 + (other.high - q) ** 2)
    high = p - q + sqrt((one.high - p) ** 2 + (q - other.low) ** 2)
    return Interval(low, high)


def _touching_p(first: Share, second: Share) -> float:
    if first.value < second.value:
        first, second = second, first
    low, high = 0.0, _FARTHEST
    for _ in range(_HALVINGS):
        z = (low + high) / 2
        if _newcombe(first, second, z).low > 0:
            low = z
        else:
            high = z
    return 2 * NormalDist().cdf(-(low + high) / 2)
