"""When the spans of a trace began and ended, as far as its source kept times."""

from dataclasses import dataclass
from enum import StrEnum

from inspector.model import Trace


class Known(StrEnum):
    """Whether a span's times are the source's, or put between those of its neighbours because a span must have some."""

    RECORDED = "recorded"
    DERIVED = "derived"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Lasting:
    """From when to when, in seconds since 1970-01-01 UTC."""

    start_s: float
    end_s: float
    known: Known


@dataclass(frozen=True, slots=True)
class Times:
    """The times of a whole trace, and of each of its turns in order; a turn never begins before the one before it."""

    whole: Lasting
    turns: tuple[Lasting, ...]


def times_of(trace: Trace, *, unknown_at_s: float) -> Times:
    """The times of a trace; one whose source kept none stands at `unknown_at_s`, all of it."""
    generations = [turn.generation for turn in trace.turns]
    moments = [trace.started, *(moment for one in generations if one for moment in (one.started, one.ended))]
    known = [moment.at_s for moment in moments if moment is not None]
    at_s = min(known) if known else unknown_at_s
    whole = Lasting(at_s, max(known, default=at_s), Known.RECORDED if known else Known.UNKNOWN)
    turns: list[Lasting] = []
    for one in generations:
        started, ended = (one.started, one.ended) if one else (None, None)
        start_s = max(at_s, started.at_s) if started else at_s
        at_s = max(start_s, ended.at_s) if ended else start_s
        is_recorded = started is not None and ended is not None
        turns.append(
            Lasting(start_s, at_s, Known.RECORDED if is_recorded else Known.DERIVED if known else Known.UNKNOWN)
        )
    return Times(whole, tuple(turns))
