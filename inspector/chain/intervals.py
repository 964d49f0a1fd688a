"""Confidence intervals of shares and means, and whether two of them differ by more than noise."""

from collections.abc import Sequence
from math import exp, inf, isinf, lgamma, log, sqrt
from statistics import NormalDist

from msgspec import Struct

Z_95 = NormalDist().inv_cdf(0.975)
"""How many standard errors of a normal distribution hold 95 % of it, half to each side."""

NOISE = 0.05
"""A difference with a p-value below this counts as more than noise."""

_MAX_TABLES = 20_000
_CLOSE = 1e-7  # two tables are equally rare if their weights differ by no more than rounding does
_TINY, _CLOSE_STUDENT_T, _MAX_TERMS = 1e-300, 3e-16, 500
_HALVINGS = 200
_NORMAL = NormalDist()


class Interval(Struct, frozen=True):
    """The bounds of a value with 95 % confidence."""

    low: float
    high: float


class Share(Struct, frozen=True):
    """`hits` of `trials` that are independent; not whole numbers if dependent trials were discounted."""

    hits: float
    trials: float

    @property
    def value(self) -> float:
        """The share itself."""
        return self.hits / self.trials


class Mean(Struct, frozen=True):
    """A mean, its standard error, and the degrees of freedom that the error was estimated with."""

    value: float
    error: float
    freedom: float


class Difference(Struct, frozen=True):
    """How much larger the first of two values is, its interval, and the p-value: the probability under noise alone."""

    value: float
    interval: Interval
    p: float


def wilson(share: Share, z: float = Z_95) -> Interval:
    """The score interval of a share: Wilson (1927), recommended by Newcombe (1998, method 3) and Brown et al. (2001).

    Unlike the usual `p ± z·error` it stays within 0 and 1, and keeps its confidence for small counts too.
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

    The p-value is that of Fisher's exact test, which is conservative for small counts.
    """
    return Difference(first.value - second.value, _newcombe(first, second), exact_p(first, second))


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
    """The p-values, in their order, adjusted for their number: Holm (1979).

    An adjusted p-value below 0.05 is more than noise, with at most one error in twenty such sets of comparisons.
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min((len(p_values) - rank) * p_values[index], 1.0))
        adjusted[index] = highest
    return adjusted


def exact_p(first: Share, second: Share) -> float:
    """The two-sided p-value of Fisher's (1935) exact test: of all tables with the same sums, those as rare or rarer.

    Fractional counts are rounded. If more than 20,000 tables are possible, the pooled z-test is used instead, which
    agrees at that size.
    """
    n, m = max(round(first.trials), 1), max(round(second.trials), 1)
    hits, others = min(round(first.hits), n), min(round(second.hits), m)
    low, high = max(0, hits + others - m), min(hits + others, n)
    if high - low > _MAX_TABLES:
        pooled = (hits + others) / (n + m)
        return 2 * NormalDist().cdf(-abs(hits / n - others / m) / sqrt(pooled * (1 - pooled) * (1 / n + 1 / m)))
    weights = _weights(n, m, hits + others, range(low, high + 1))
    as_rare = weights[hits - low] * (1 + _CLOSE)
    return min(sum(weight for weight in weights if weight <= as_rare) / sum(weights), 1.0)


def _weights(n: int, m: int, hits: int, possible: range) -> list[float]:
    """How likely each number of hits among the first `n` is, relative to the likeliest: hypergeometric."""
    mode = min(max((n + 1) * (hits + 1) // (n + m + 2), possible[0]), possible[-1])
    up, down = [1.0], [1.0]
    for k in range(mode, possible[-1]):
        up.append(up[-1] * (hits - k) * (n - k) / ((k + 1) * (m - hits + k + 1)))
    for k in range(mode, possible[0], -1):
        down.append(down[-1] * k * (m - hits + k) / ((hits - k + 1) * (n - k + 1)))
    return [*down[:0:-1], *up]


def _newcombe(first: Share, second: Share) -> Interval:
    p, q = first.value, second.value
    p_interval, q_interval = wilson(first), wilson(second)
    low = p - q - sqrt((p - p_interval.low) ** 2 + (q_interval.high - q) ** 2)
    high = p - q + sqrt((p_interval.high - p) ** 2 + (q - q_interval.low) ** 2)
    return Interval(low, high)


def two_sided_p(t: float, freedom: float) -> float:
    """The probability of a value at least as far from 0 as `t`, with `freedom` degrees of freedom (above 0).

    Computed with the regularised incomplete beta function: DLMF 8.17.1 and Abramowitz and Stegun 26.7.1.
    """
    if isinf(freedom):
        return 2 * _NORMAL.cdf(-abs(t))
    return regularised_beta(freedom / (freedom + t * t), freedom / 2, 0.5) if not isinf(t) else 0.0


def quantile_975(freedom: float) -> float:
    """The value that only one in forty exceeds: 12.706 with one degree of freedom, 1.960 with infinitely many."""
    low, high = 0.0, 1e6
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if two_sided_p(middle, freedom) > 0.05:
            low = middle
        else:
            high = middle
    return high


def regularised_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b) for `x` from 0 to 1: DLMF 8.17."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x))
    if x < (a + 1) / (a + b + 2):
        return front * _continued_fraction(x, a, b) / a
    return 1 - front * _continued_fraction(1 - x, b, a) / b


def _continued_fraction(x: float, a: float, b: float) -> float:
    """DLMF 8.17.22, by Lentz's method as modified by Thompson and Barnett (1986): no denominator becomes 0."""
    c, d = 1.0, 1 / _off_zero(1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, _MAX_TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _off_zero(1 + term * d)
            c = _off_zero(1 + term / c)
            fraction *= c * d
        if abs(c * d - 1) < _CLOSE_STUDENT_T:
            break
    return fraction


def _off_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def welch_freedom(first: tuple[float, float], second: tuple[float, float]) -> float:
    """The degrees of freedom of a difference: Welch (1947). Each pair is a standard error and its own degrees."""
    (error, freedom), (other, others) = first, second
    spread = error**4 / freedom + other**4 / others
    return (error**2 + other**2) ** 2 / spread if spread else inf


def standard_error(first: float, second: float) -> float:
    """The standard error of a difference of two independent values."""
    return sqrt(first**2 + second**2)
