"""Rejection sampling: candidates in groups by prompt, how many pass, and which of them to keep.

`pass@k` is the chance that at least one of k candidates of a group passes, and `pass^k` that all of k do, each by the
unbiased estimators over the candidates there are: 1 - C(n-c, k) / C(n, k) (Chen et al. 2021, "Evaluating Large Language
Models Trained on Code") and C(c, k) / C(n, k) (Yao et al. 2024, tau-bench). The value of a set is the mean over its
groups of k candidates or more, with the 95 % interval of that mean: groups differ, candidates of one group are alike.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from math import comb, sqrt
from random import Random
from statistics import fmean

from msgspec import Struct, field

from inspector.chain.intervals import Interval, Mean, Share, around, wilson
from inspector.json_text import write_json
from inspector.model import Json

_PROMPTS = ("messages", "conversations", "conversation")
_FEWEST = 2


class ScoredCandidate(Struct, frozen=True):
    """A candidate of a group: which row it is, whether it passed, and its score, higher for better."""

    row: int
    passed: bool
    score: float


class CandidateGroup(Struct):
    """The candidates of one prompt, in the order of their rows."""

    key: str
    candidates: list[ScoredCandidate] = field(default_factory=list)

    @property
    def passed(self) -> int:
        """How many candidates passed."""
        return sum(one.passed for one in self.candidates)

    @property
    def has_signal(self) -> bool:
        """Whether some passed and some failed; a group without signal teaches a policy nothing."""
        return 0 < self.passed < len(self.candidates)

    def best(self, count: int, seed: int = 0) -> list[ScoredCandidate]:
        """The `count` passing candidates of the highest score; among equals the seed decides, always alike."""
        passing = [one for one in self.candidates if one.passed]
        Random(f"{seed}\0{self.key}").shuffle(passing)
        return sorted(passing, key=lambda one: -one.score)[:count]


class PassRate(Struct, frozen=True):
    """A share of a set for samples of `k` candidates: its value, its 95 % interval, and over how many groups.

    `interval` is None where one group alone tells nothing of others.
    """

    k: int
    value: float
    interval: Interval | None
    groups: int


def group_key(row: dict[str, Json]) -> str:
    """What the candidates of one prompt have in common: `prompt_id`, else the prompt itself.

    The prompt is `prompt`, else the messages without the last assistant's.
    """
    named = row.get("prompt_id")
    if isinstance(named, str | int):
        return str(named)
    prompt = row.get("prompt")
    if prompt is None:
        prompt = next((_without_answer(row[key]) for key in _PROMPTS if isinstance(row.get(key), list)), None)
    told = write_json([prompt, row.get("tools"), row.get("schema"), row.get("system")])
    return blake2b(told.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _without_answer(messages: Json) -> Json:
    assert isinstance(messages, list)
    last = messages[-1] if messages else None
    role = last.get("role", last.get("from")) if isinstance(last, dict) else None
    return messages[:-1] if role in ("assistant", "gpt", "model") else messages


def pass_at(groups: Iterable[CandidateGroup], k: int) -> PassRate | None:
    """`pass@k` over the groups of at least k candidates; None where there is no such group."""
    return _rate(
        ((1 - _of_k(len(one.candidates) - one.passed, len(one.candidates), k)) for one in _large(groups, k)), k
    )


def pass_all(groups: Iterable[CandidateGroup], k: int) -> PassRate | None:
    """`pass^k` over the groups of at least k candidates; None where there is no such group."""
    return _rate((_of_k(one.passed, len(one.candidates), k) for one in _large(groups, k)), k)


def _large(groups: Iterable[CandidateGroup], k: int) -> Iterator[CandidateGroup]:
    return (one for one in groups if len(one.candidates) >= k)


def _of_k(count: int, total: int, k: int) -> float:
    """The chance that k of `total` drawn without putting back are all of the `count`."""
    return comb(count, k) / comb(total, k)


def _rate(values: Iterable[float], k: int) -> PassRate | None:
    found = list(values)
    if not found:
        return None
    value = fmean(found)
    return PassRate(k, value, _interval(found, value), len(found))


def _interval(values: Sequence[float], value: float) -> Interval | None:
    count = len(values)
    if count < _FEWEST:
        return None
    if len(set(values)) == 1 or set(values) <= {0.0, 1.0}:  # all alike, or each a share of one
        return wilson(Share(value * count, count))
    spread = sqrt(sum((one - value) ** 2 for one in values) / (count - 1) / count)
    bounds = around(Mean(value, spread, count - 1))
    return Interval(max(bounds.low, 0.0), min(bounds.high, 1.0))
