"""By what a trace is grouped that is in no database: the same keys as a database would have."""

from datetime import date, timedelta
from math import floor

from inspector.chain.metrics_groups import TraceKeys
from inspector.inspection import Inspection
from inspector.model import Role, Trace
from storage.measures import measure_columns
from storage.packing.inspections import texts_of
from storage.totals import at_s, totals_of

DAY_S = 86_400.0
"""Seconds of a day."""
A_BIT = 1e-9
"""Of a day: a tenth of a millisecond, so that midnight is on the new day however a database rounds."""
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


def day_named(day: int) -> str:
    """The date of a day, counted from 1970-01-01; `""` for one that no calendar has."""
    try:
        return (_EPOCH + timedelta(days=day)).isoformat()
    except OverflowError:
        return ""
