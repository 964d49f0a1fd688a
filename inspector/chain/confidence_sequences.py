"""Intervals that may be looked at after every trial: confidence sequences of a rate and of a difference of two rates.

An ordinary 95 % interval is wrong more often than once in twenty if somebody looks again and again and stops when it
pleases. A confidence sequence contains the true value at all times together with probability 0.95 at least, so that an
experiment may stop at any moment, for any reason, and the last interval still holds what it promises.

* A rate: the beta-binomial mixture of Robbins (1970), "Statistical methods related to the law of the iterated
  logarithm", with Jeffreys' prior; `rate_sequence`. The likelihood ratio of a Beta(1/2, 1/2) mixture against a rate p
  is a martingale if p is true, and by Ville's inequality it exceeds 1/0.05 at any time with probability 0.05 at most.
* A difference of two rates that are tried in pairs: betting against each possible mean of the paired differences,
  which are -1, 0 or 1, with stakes on a grid (grid Kelly), of Waudby-Smith and Ramdas (2024), "Estimating means of
  bounded random variables by betting", JRSS B 86; `PairCounts.interval`. Two bets, each at 0.025: that the mean is
  higher, and that it is lower.

`PairCounts.differs` is the sequential test: it stops at the first time at which the interval excludes 0. Where both
rates are equal, it ever does so with probability 0.05 at most, however long it runs. What it needs of the trials is
that a pair's expected difference does not depend on the pairs before, so pairs are counted in the order in which they
were planned, never in the order in which answers arrive. The library `confseq` has both, but as a C++ extension that
needs Boost and a compiler.
"""

from collections.abc import Callable
from math import exp, inf, lgamma, log

from msgspec import Struct

from inspector.chain.intervals import Interval

ERROR = 0.05
"""The probability with which a confidence sequence misses the true value at any time."""

_PRIOR = 0.5
_HALVINGS = 60
_STAKES = tuple((number + 0.5) / 24 for number in range(24))
"""Shares of the capital that are staked, each with an equal part of it."""


def rate_sequence(hits: int, trials: int, error: float = ERROR) -> Interval:
    """The interval of a rate of which `hits` of `trials` are known; 0 to 1 before the first trial."""
    if not trials:
        return Interval(0.0, 1.0)
    misses = trials - hits
    mixture = _log_beta(_PRIOR + hits, _PRIOR + misses) - _log_beta(_PRIOR, _PRIOR)

    def is_possible(rate: float) -> bool:
        likelihood = _times_log(hits, rate) + _times_log(misses, 1 - rate)
        return mixture - likelihood < -log(error)

    middle = hits / trials
    return Interval(
        _border(middle, 0.0, is_possible) if hits else 0.0, _border(middle, 1.0, is_possible) if misses else 1.0
    )


class PairCounts(Struct, frozen=True):
    """Pairs of trials, one of each setting: where only the first hit, where only the second did, and the others."""

    first: int = 0
    second: int = 0
    equal: int = 0

    def __len__(self) -> int:
        return self.first + self.second + self.equal

    @property
    def difference(self) -> float:
        """By how much the first setting's rate is higher; 0 before the first pair."""
        return (self.first - self.second) / len(self) if len(self) else 0.0

    def added(self, first: bool, second: bool) -> "PairCounts":  # noqa: FBT001  # two trials, not options
        """The counts with one more pair."""
        return PairCounts(
            self.first + (first and not second), self.second + (second and not first), self.equal + (first == second)
        )

    def interval(self, error: float = ERROR) -> Interval:
        """The confidence sequence of the difference; -1 to 1 before the first pair."""
        if not len(self):
            return Interval(-1.0, 1.0)
        limit = log(2 / error)
        middle = self.difference
        return Interval(
            _border(middle, -1.0, lambda mean: _log_wealth(self, mean) < limit),
            _border(middle, 1.0, lambda mean: _log_wealth(self.mirrored(), -mean) < limit),
        )

    def contains(self, mean: float, error: float = ERROR) -> bool:
        """Whether the interval contains a value; cheaper than the interval."""
        limit = log(2 / error)
        return _log_wealth(self, mean) < limit and _log_wealth(self.mirrored(), -mean) < limit

    def differs(self, error: float = ERROR) -> bool:
        """Whether the test stops: the interval excludes 0."""
        return not self.contains(0.0, error)

    def mirrored(self) -> "PairCounts":
        """The pairs with the settings exchanged."""
        return PairCounts(self.second, self.first, self.equal)


def _log_wealth(counts: PairCounts, mean: float) -> float:
    """The logarithm of the capital that bets on a higher difference than `mean` have made of 1; it falls with `mean`.

    A stake s multiplies the capital by 1 - s + s (d + 1) / (mean + 1), whose expectation is 1 if `mean` is true.
    """
    if mean <= -1:
        return inf if counts.first or counts.equal else 0.0
    scale = 1 / (1 + mean)
    logs = [
        counts.first * log(1 - stake + 2 * stake * scale)
        + counts.equal * log(1 - stake + stake * scale)
        + counts.second * log(1 - stake)
        for stake in _STAKES
    ]
    most = max(logs)
    return most + log(sum(exp(one - most) for one in logs) / len(logs))


def _border(inside: float, outside: float, is_possible: Callable[[float], bool]) -> float:
    """How far from `inside` towards `outside` values are possible; rounded outwards."""
    if is_possible(outside):
        return outside
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if is_possible(middle):
            inside = middle
        else:
            outside = middle
    return outside


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def _times_log(count: int, rate: float) -> float:
    if not count:
        return 0.0
    return count * log(rate) if rate > 0 else -inf
