"""Student's t: the distribution of a mean whose spread is itself only estimated."""

from math import exp, inf, isinf, lgamma, log, sqrt
from statistics import NormalDist

_TINY, _CLOSE, _MOST = 1e-300, 3e-16, 500
_HALVINGS = 200
_NORMAL = NormalDist()


def two_sided_p(t: float, freedom: float) -> float:
    """How likely a value is that lies at least as far from 0 as `t`, with so many degrees of freedom (above 0).

    As the regularised incomplete beta function says it: DLMF 8.17.1 and Abramowitz and Stegun 26.7.1.
    """
    if isinf(freedom):
        return 2 * _NORMAL.cdf(-abs(t))
    return regularised_beta(freedom / (freedom + t * t), freedom / 2, 0.5) if not isinf(t) else 0.0


def quantile_975(freedom: float) -> float:
    """The value that only one in forty exceeds: 12.706 with one degree of freedom, 1.960 with endlessly many."""
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
    """DLMF 8.17.22, by Lentz's method as Thompson and Barnett (1986) have it: no denominator becomes 0."""
    c, d = 1.0, 1 / _off_zero(1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, _MOST):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _off_zero(1 + term * d)
            c = _off_zero(1 + term / c)
            found *= c * d
        if abs(c * d - 1) < _CLOSE:
            break
    return found


def _off_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def welch_freedom(first: tuple[float, float], second: tuple[float, float]) -> float:
    """The degrees of freedom of a difference: Welch (1947). Each pair is a standard error and its own degrees."""
    (error, freedom), (other, others) = first, second
    spread = error**4 / freedom + other**4 / others
    return (error**2 + other**2) ** 2 / spread if spread else inf


def standard_error(first: float, second: float) -> float:
    """The standard error of a difference of two values that know nothing of each other."""
    return sqrt(first**2 + second**2)
