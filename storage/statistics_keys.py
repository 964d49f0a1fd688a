"""By what a trace is grouped that is in no database: the same keys as a database would have."""

from dataclasses import dataclass
from datetime import date, timedelta
from itertools import takewhile
from math import floor

from inspector.chain.metrics_groups import TraceKeys
from inspector.inspection import Inspection
from inspector.model import Role, Trace
from storage.measures import measure_columns
from storage.packing.texts import texts_of
from storage.totals import at_s, totals_of

DAY_S = 86_400.0
"""Seconds of a day."""
A_BIT = 1e-9
"""Of a day: a tenth of a millisecond, so that midnight is on the new day however a database rounds."""
_HEAD, _LONGEST = 1_000, 80
_EPOCH = date(1970, 1, 1)


def keys_of(trace: Trace, inspection: Inspection) -> TraceKeys:
    """The keys of a trace and its inspection."""
    totals = totals_of(trace.turns)
    assistant = [number for number, turn in enumerate(trace.turns, 1) if turn.role is Role.ASSISTANT]
    started_s = at_s(trace.started)
    return TraceKeys(
        model=trace.model or totals.model,
        format=inspection.format,
        source=trace.provenance.source,
        reasoning=measure_columns(inspection, texts_of(trace), assistant)["reasoning"],
        prompt=totals.prompt_hash,
        day="" if started_s is None else day_named(floor(started_s / DAY_S + A_BIT)),
    )


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a prompt version is known by besides its hash: the first words of its system prompt, and how many tools."""

    words: str
    tools: int


def prompt_of(trace: Trace) -> Prompt:
    """The prompt that a trace began with, its words at most 80 code points and on one line."""
    before = list(takewhile(lambda turn: turn.role is not Role.ASSISTANT, trace.turns))
    first = trace.turns[len(before)].generation if len(before) < len(trace.turns) else None
    texts = (part.text[:_HEAD] for turn in before if turn.role is Role.SYSTEM for part in turn.parts)
    words = " ".join(" ".join(texts).split())
    return Prompt(words[:_LONGEST], len(first.tools) if first is not None else 0)


def day_named(day: int) -> str:
    """The date of a day, counted from 1970-01-01; `""` for one that no calendar has."""
    try:
        return (_EPOCH + timedelta(days=day)).isoformat()
    except OverflowError:
        return ""
