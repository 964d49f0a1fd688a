"""What the turns of a trace come to, turn by turn: a trace that grows is not counted anew."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TypeVar

from inspector.model import Instant, Turn
from storage.identity import TraceExtent
from storage.waits import first_token_s, max_gap_s, prompt_hash

_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, slots=True)
class TurnTotals:
    """Of some turns in their order; those of two stretches of turns, one behind the other, can be added.

    `model` is the first that answered, or else was asked. Tokens are None where no turn says a number; times, seconds
    since 1970-01-01 UTC, where none has one. `first_token_s` is the longest time from a generation's start to its first
    token, `max_gap_s` the longest between two chunks of one part; None where no times were kept. `prompt_hash` stands
    for the system prompt and the tools of the first generation; it is that of the first stretch of turns.
    `checksum` is the sum of the turns' checksums (`storage.checksums`), which only their rows give.
    """

    turns: int = 0
    characters: int = 0
    chunks: int = 0
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    first_start_s: float | None = None
    last_end_s: float | None = None
    first_token_s: float | None = None
    max_gap_s: float | None = None
    prompt_hash: str = ""
    checksum: int = 0

    def __add__(self, other: "TurnTotals") -> "TurnTotals":
        return TurnTotals(
            self.turns + other.turns,
            self.characters + other.characters,
            self.chunks + other.chunks,
            self.model or other.model,
            _known_sum((self.input_tokens, other.input_tokens)),
            _known_sum((self.output_tokens, other.output_tokens)),
            min(_known((self.first_start_s, other.first_start_s)), default=None),
            max(_known((self.last_end_s, other.last_end_s)), default=None),
            max(_known((self.first_token_s, other.first_token_s)), default=None),
            max(_known((self.max_gap_s, other.max_gap_s)), default=None),
            self.prompt_hash if self.turns else other.prompt_hash,
            self.checksum + other.checksum,
        )

    @property
    def extent(self) -> TraceExtent:
        """How much of a session these turns hold."""
        return TraceExtent(self.turns, self.characters, self.chunks)

    @property
    def duration_s(self) -> float | None:
        """From the first start to the last end, where both are known."""
        if self.first_start_s is None or self.last_end_s is None:
            return None
        return self.last_end_s - self.first_start_s


NOTHING = TurnTotals()
"""Of no turns."""


def totals_of(turns: Sequence[Turn]) -> TurnTotals:
    """What these turns come to."""
    parts = [part for turn in turns for part in turn.parts]
    generations = [turn.generation for turn in turns if turn.generation is not None]
    return TurnTotals(
        len(turns),
        sum(len(part.text) for part in parts),
        sum(len(part.chunks) for part in parts if part.chunks is not None),
        next(filter(None, (one.answered_model or one.requested_model for one in generations)), ""),
        _known_sum(one.usage.input_tokens for one in generations),
        _known_sum(one.usage.output_tokens for one in generations),
        min(_known(at_s(one.started) for one in generations), default=None),
        max(_known(at_s(one.ended) for one in generations), default=None),
        max(_known(map(first_token_s, turns)), default=None),
        max(_known(map(max_gap_s, parts)), default=None),
        prompt_hash(turns),
    )


def at_s(instant: Instant | None) -> float | None:
    """The time as a column can hold it; None where it is not known, or not finite."""
    return instant.at_s if instant is not None and isfinite(instant.at_s) else None


def sum_of(counts: Iterable[int | None]) -> int | None:
    """The sum of what is known, None where nothing is or where no column could hold it."""
    total = _known_sum(counts)
    return total if total is not None and -(2**63) <= total < 2**63 else None


def _known_sum(counts: Iterable[int | None]) -> int | None:
    known = list(_known(counts))
    return sum(known) if known else None


def _known(values: Iterable[_Number | None]) -> Iterable[_Number]:
    return (value for value in values if value is not None)
