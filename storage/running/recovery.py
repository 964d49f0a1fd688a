"""Running traces whose recorder is no more: found, and ended where they broke off."""

import os
import socket
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from uuid import uuid4

import sqlalchemy as sa

from inspector.inspection import Inspection
from inspector.model import Trace, Turn
from inspector.model.columns import Entries
from storage import tables
from storage.drafts import draft
from storage.liveness import SILENT_S
from storage.reading import read_trace
from storage.running.pieces import read_so_far
from storage.running.rows import settle

_live, _piece = tables.live.c, tables.live_piece.c


def new_owner() -> str:
    """A name for one recorder, by which others see whether its process lives."""
    return f"{socket.gethostname()} {os.getpid()} {uuid4().hex}"


def broken_off(connection: sa.Connection, now_s: float) -> list[int]:
    """The running traces whose recorder has ended without ending them."""
    rows = connection.execute(sa.select(_live.trace_id, _live.owner, _live.beat_at_s).order_by(_live.trace_id)).all()
    return [id_ for id_, owner, beat_at_s in rows if now_s - beat_at_s > SILENT_S or not _lives(owner)]


def end_where_it_broke(
    connection: sa.Connection, inspect: Callable[[Trace], Inspection], id_: int, now_s: float
) -> int:
    """End a running trace with what is kept of its open turns, cut; the id under which it is kept from now on."""
    begun = read_trace(connection, id_)
    still_open = read_open_turns(connection, id_)
    whole = replace(begun, turns=_in_order(begun.turns, still_open))
    kept = min([len(begun.turns), *(number - 1 for number in still_open)])
    return settle(connection, id_, draft(whole, inspect(whole)), kept, now_s)


def read_open_turns(connection: sa.Connection, id_: int) -> dict[int, Turn]:
    """The turns of a running trace that have begun and not ended, by number, cut where the last piece ends."""
    found: defaultdict[int, list[bytes]] = defaultdict(list)
    wanted = sa.select(_piece.turn, _piece.body).where(_piece.trace_id == id_).order_by(_piece.turn, _piece.number)
    for turn, body in connection.execute(wanted):
        found[turn].append(body)
    return {number: read_so_far(pieces[0], pieces[1:]) for number, pieces in found.items()}


def _in_order(ended: Entries[Turn], still_open: dict[int, Turn]) -> tuple[Turn, ...]:
    """All turns, each open one at its number among those that have ended."""
    turns = list(ended)
    for number, turn in sorted(still_open.items()):
        turns.insert(number - 1, turn)
    return tuple(turns)


def _lives(owner: str) -> bool:
    """Whether the recorder's process may live: only a process of this machine can be seen to be gone."""
    host, pid, _ = owner.rsplit(" ", 2)
    if host != socket.gethostname():
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
