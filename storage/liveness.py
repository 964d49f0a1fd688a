"""Whether an open trace is running or idle; computed when it is read.

For each open trace, a recorder writes the time from which the trace is idle unless more events arrive
(`live.idle_at_s`, NULL while a response is in progress), and its own heartbeat (`live.beat_at_s`). So a trace becomes
idle without any write, and a trace whose recorder was killed is neither running nor idle a minute later.
"""

import time
from collections.abc import Iterable

import sqlalchemy as sa
from msgspec.structs import replace

from weaklink.inspector.model import Liveness, Trace
from weaklink.storage import tables
from weaklink.storage.tables import in_groups

SILENT_S = 60.0
"""A recorder without a heartbeat for this many seconds is considered dead."""

IDLE_AFTER_S = 300.0
"""Default number of seconds without an event after which a trace is idle; a recorder may use another."""

_live = tables.live.c


def traces_in(state: Liveness, now_s: float) -> sa.Select[int]:
    """The ids of the open traces in this state."""
    return sa.select(_live.trace_id).where(_live.beat_at_s >= now_s - SILENT_S, _is_in(state, now_s))


def liveness(connection: sa.Connection, ids: Iterable[int], now_s: float) -> dict[int, Liveness]:
    """The states of those of these traces that are open; traces whose recorder is dead are left out."""
    states: dict[int, Liveness] = {}
    for group in in_groups(ids):
        for state in Liveness:
            states |= dict.fromkeys(connection.scalars(traces_in(state, now_s).where(_live.trace_id.in_(group))), state)
    return states


def with_openness(connection: sa.Connection, id_: int, trace: Trace) -> Trace:
    """The trace with this id, marked as open if it is running now."""
    is_open = liveness(connection, [id_], time.time()).get(id_) is Liveness.RUNNING
    return replace(trace, is_open=is_open)


def _is_in(state: Liveness, now_s: float) -> sa.ColumnElement[bool]:
    is_idle = sa.func.coalesce(_live.idle_at_s <= now_s, sa.false())
    return is_idle if state is Liveness.IDLE else sa.not_(is_idle)
