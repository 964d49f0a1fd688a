"""Sums over traces from which a share or a mean follows with its interval, although calls of one trace are alike."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from math import sqrt

from inspector.chain.intervals import Mean, Share


@dataclass(frozen=True, slots=True)
class Tally:
    """Hits and trials over traces, and the sums of squares that say how unlike the traces are.

    `traces` counts those with any trial; `both` is the sum of hits times trials. All are whole numbers, so tallies of
    parts add up to the tally of the whole, whatever the order and whoever adds, a database too.
    """

    traces: int = 0
    hits: int = 0
    trials: int = 0
    hits_squared: int = 0
    both: int = 0
    trials_squared: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    @property
    def share(self) -> Share:
        """The hits among trials that know nothing of each other; there must be a trial."""
        return Share(self.hits, self.trials)

    @property
    def clustered_share(self) -> Share:
        """The hits among trials of which those of one trace may be alike, discounted by how alike they are.

        Both numbers are divided by the design effect, the variance of the share between traces over the one that
        independent trials would have: Rao and Scott (1992), "A simple method for the analysis of clustered binary
        data". An effect below 1 is taken as 1. A share of 0 or 1 shows no variance at all: each trace then counts as
        one trial.
        """
        if self.traces < 2 or self.hits <= 0 or self.hits >= self.trials:
            return Share(self.hits / self.trials * self.traces, self.traces)
        effect = max(self.design_effect, 1.0)
        return Share(self.hits / effect, self.trials / effect)

    @property
    def design_effect(self) -> float:
        """How many calls are worth one independent call; two traces with a trial, some hits and some misses needed."""
        share = self.hits / self.trials
        return self.ratio.error**2 / (share * (1 - share) / self.trials)

    @property
    def ratio(self) -> Mean:
        """Hits per trial, each trace one observation, by the ratio estimator: Cochran (1977), section 2.11.

        With one trial a trace it is the plain mean and its plain standard error. Two traces with a trial are needed.
        """
        x, n = self.hits, self.trials
        # Whole numbers to the last step: the differences are small and the squares are not.
        spread = n * n * self.hits_squared - 2 * x * n * self.both + x * x * self.trials_squared
        variance = spread / n**4 * self.traces / (self.traces - 1)
        return Mean(x / n, sqrt(variance), self.traces - 1)


TALLIED = tuple(field.name for field in fields(Tally))
"""The names of the sums, in order."""


def tally_of(hits: int, trials: int) -> Tally:
    """The tally of one trace; nothing where it has no trial."""
    if not trials:
        return Tally()
    return Tally(1, hits, trials, hits * hits, hits * trials, trials * trials)


def total(tallies: Iterable[Tally]) -> Tally:
    """The tally of all."""
    return sum(tallies, Tally())
