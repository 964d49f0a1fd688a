"""Traces as rows of a listing: how each ended, what it is, and where it broke come first, so that phones show them."""

import time
from collections.abc import Sequence

from storage import TraceSummary
from ui.views.amounts import short_count, short_duration, short_time
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.status import task_run
from ui.views.trace_list import break_words, listed_status, listed_title
from ui.views.visible import visible_line
from ui.web.components import Column, Room, Row
from ui.web.minimaps import minimaps

_LONGEST = 200
_NONE: Line = (Run("-", Style.DIM),)
TRACE_COLUMNS = (
    *(Column("status"), Column("name"), Column("break"), Column("map", mono=True, room=Room.WIDE)),
    *(Column("model", room=Room.MEDIUM), Column("calls", "end", room=Room.WIDE)),
    *(Column("tokens", "end", room=Room.WIDE), Column("took", "end", room=Room.WIDE)),
    *(Column("time", room=Room.MEDIUM), Column("id", "end", room=Room.MEDIUM)),
)
"""The columns of `trace_rows`, what matters most first."""


def trace_rows(traces: Sequence[TraceSummary]) -> list[Row]:
    """Traces as rows; the key of each is the trace's number."""
    maps = minimaps(traces)
    return [trace_row(one, maps.get(one.id, ())) for one in traces]


def trace_row(one: TraceSummary, minimap: Line = ()) -> Row:
    """A trace as a row; its key is the trace's number."""
    tokens = [count for count in (one.input_tokens, one.output_tokens) if count is not None]
    cells: tuple[Line, ...] = (
        (listed_status(one), *((Run(" · ", Style.DIM), task) if (task := task_run(one.outcome)) else ())),
        (*((Run("● ", Style.KEY),) if one.marked else ()), Run(title_of(one))),
        break_words(one.broken) if one.broken else _NONE,
        minimap,
        (Run(visible_line(one.model)),) if one.model else _NONE,
        (Run(short_count(one.tool_calls)),),
        (Run(short_count(sum(tokens))),) if tokens else _NONE,
        (Run(short_duration(one.duration_s)),) if one.duration_s is not None else _NONE,
        (Run(short_time(one.started_at_s, time.time()), Style.DIM),) if one.started_at_s is not None else _NONE,
        (Run(str(one.id), Style.DIM),),
    )
    return Row(str(one.id), cells)


def title_of(one: TraceSummary) -> str:
    """What a trace is known by, on one line."""
    return visible_line(listed_title(one)[:_LONGEST])
