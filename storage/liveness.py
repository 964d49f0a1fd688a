"""Whether an open trace is running or idle, decided when it is read.

A recorder writes for each open trace from when on it is idle if nothing more comes (`live.idle_at_s`, NULL while an
answer is on its way), and a sign of life for itself (`live.beat_at_s`). So nothing has to be written for a trace to
become idle, and a trace whose recorder was killed is neither running nor idle a minute later, whoever reads it.
"""

from collections.abc import Iterable

import sqlalchemy as sa

from inspector.model import Liveness
from storage import tables
from storage.tables import in_groups

SILENT_S = 60.0
"""A recorder gives a sign of life more often than after so many seconds."""

IDLE_AFTER_S = 300.0
"""After so many seconds without an event a trace is idle, unless its recorder has another number."""

_live = tables.live.c


def traces_in(state: Liveness, now_s: float) -> sa.Select[int]:
    """The ids of the open traces in that state."""
    return sa.select(_live.trace_id).where(_live.beat_at_s >= now_s - SILENT_S, _is_in(state, now_s))


def liveness(connection: sa.Connection, ids: Iterable[int], now_s: float) -> dict[int, Liveness]:
    """The state of each of these traces that is open; those whose recorder is gone are left out."""
    found: dict[int, Liveness] = {}
    for group in in_groups(ids):
        for state in Liveness:
            found |= dict.fromkeys(connection.scalars(traces_in(state, now_s).where(_live.trace_id.in_(group))), state)
    return found


def _is_in(state: Liveness, now_s: float) -> sa.ColumnElement[bool]:
    is_idle = sa.func.coalesce(_live.idle_at_s <= now_s, sa.false())
    return is_idle if state is Liveness.IDLE else sa.not_(is_idle)
