"""Writes running traces to the database, finishes them when they end, and ends those whose recorder is gone."""

import os
import secrets
import socket
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import uuid4

import sqlalchemy as sa
from msgspec.structs import replace

from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import Trace, Turn
from weaklink.inspector.model.trace import RECORDING_ID
from weaklink.storage import tables, writing
from weaklink.storage.exchanges import move_exchanges, put_exchanges
from weaklink.storage.liveness import IDLE_AFTER_S, SILENT_S
from weaklink.storage.marks import move_marks
from weaklink.storage.reading import NOT_INSPECTED
from weaklink.storage.record_rows import RecordRows
from weaklink.storage.running.session import SessionWrite, read_so_far
from weaklink.storage.salvage import read_stored
from weaklink.storage.search import remove_from_index
from weaklink.storage.tables import Row, in_groups

# From its first step on, a running trace has a row in `trace`, with a random identity. When it ends, it is saved like
# any other trace: it gets its real identity, or is merged into the trace that already has this identity.


_live, _piece = tables.live.c, tables.live_piece.c


def write_steps(
    connection: sa.Connection,
    owner: str,
    steps: Sequence[SessionWrite],
    now_s: float,
    *,
    idle_after_s: float = IDLE_AFTER_S,
) -> list[int | None]:
    """Write the steps of the sessions that `owner` records; the trace id of each, None for a trace that was deleted.

    Most steps are chunks of open turns; one statement writes those of all sessions.
    """
    connection.execute(sa.update(tables.live).where(_live.owner == owner).values(beat_at_s=now_s))
    running: set[int | None] = set()
    for group in in_groups(step.id for step in steps if step.id is not None):
        running |= set(connection.scalars(sa.select(_live.trace_id).where(_live.trace_id.in_(group))))
    running.add(None)
    ids = [_write(connection, owner, step, now_s) if step.id in running else None for step in steps]
    still_open = [(id_, step) for id_, step in zip(ids, steps, strict=True) if id_ is not None and not step.ended]
    _note_idle(connection, still_open, now_s, idle_after_s)
    _put_pieces(connection, still_open)
    return ids


def finish_trace(connection: sa.Connection, id_: int, draft: writing.TraceRows, kept: int, now_s: float) -> int:
    """End a running trace whose first `kept` turns are stored already; the id that it has from now on."""
    trace = tables.trace.c
    identity = draft.record.identity
    other = connection.scalar(sa.select(trace.id).where(trace.identity == identity, trace.id != id_))
    if other is not None:
        move_marks(connection, id_, other)
        move_exchanges(connection, id_, other)
        writing.delete_traces(connection, [id_])
        return writing.write(connection, [draft], now_s)[0].id
    _replace(connection, id_, draft, kept, identity)
    writing.delete_rows(connection, (tables.live_piece, tables.live), [id_])
    return id_


def _write(connection: sa.Connection, owner: str, step: SessionWrite, now_s: float) -> int:
    id_ = step.id
    if id_ is None:
        assert step.draft is not None  # a session's first step has its trace
        if step.ended:
            id_ = writing.write(connection, [step.draft], now_s)[0].id
            put_exchanges(connection, id_, step.exchanges)
            return id_
        id_ = _begin(connection, owner, step, step.draft, now_s)
    elif step.draft is not None and step.ended:
        put_exchanges(connection, id_, step.exchanges)
        return finish_trace(connection, id_, step.draft, step.kept, now_s)
    elif step.draft is not None:
        _replace(connection, id_, step.draft, step.kept)
    elif step.grown is not None:
        _put_turns(connection, id_, step.grown, step.kept, {"inspector_version": NOT_INSPECTED})
    put_exchanges(connection, id_, step.exchanges)
    return id_


def _note_idle(
    connection: sa.Connection, written: Sequence[tuple[int, SessionWrite]], now_s: float, idle_after_s: float
) -> None:
    """Store the time from which each of these traces is idle; none while a turn is open; an idle one stays idle."""
    for group in in_groups(id_ for id_, step in written if step.is_idle):
        is_later = sa.or_(_live.idle_at_s.is_(None), _live.idle_at_s > now_s)
        now_idle = sa.update(tables.live).where(_live.trace_id.in_(group), is_later)
        connection.execute(now_idle.values(idle_at_s=now_s))
    written = [(id_, step) for id_, step in written if not step.is_idle]
    for group in in_groups(id_ for id_, step in written if step.waits):
        resumed = sa.update(tables.live).where(_live.trace_id.in_(group), _live.idle_at_s.is_not(None))
        connection.execute(resumed.values(idle_at_s=None))
    for group in in_groups(id_ for id_, step in written if not step.waits):
        connection.execute(
            sa.update(tables.live).where(_live.trace_id.in_(group)).values(idle_at_s=now_s + idle_after_s)
        )


def _put_pieces(connection: sa.Connection, written: Sequence[tuple[int, SessionWrite]]) -> None:
    """Insert the new pieces of open turns, and delete those of turns that have ended."""
    for id_, step in written:
        for group in in_groups(step.closed):
            connection.execute(sa.delete(tables.live_piece).where(_piece.trace_id == id_, _piece.turn.in_(group)))
    rows = [
        {"trace_id": id_, "turn": piece.turn, "number": piece.number, "body": piece.body}
        for id_, step in written
        for piece in step.pieces
    ]
    if rows:
        connection.execute(sa.insert(tables.live_piece), rows)


def _begin(connection: sa.Connection, owner: str, step: SessionWrite, draft: writing.TraceRows, now_s: float) -> int:
    identity = secrets.token_bytes(32)
    id_ = _interrupted_trace(connection, draft.record, step)
    if id_ is None:
        (id_,) = writing.insert_traces(connection, {identity: draft}, now_s).values()
        writing.insert_records(connection, [(id_, draft.record)])
        writing.insert_derived(connection, [(id_, writing.sort_at_s(draft.record, now_s), draft.derived)])
    else:
        _replace(connection, id_, draft, 0, identity)
    connection.execute(sa.insert(tables.live), {"trace_id": id_, "owner": owner, "beat_at_s": now_s})
    return id_


def _interrupted_trace(connection: sa.Connection, record: RecordRows, step: SessionWrite) -> int | None:
    """The ended trace of the same recording, which this session continues; None if there is none.

    Another process recorded it and was killed; the recorder then sent the whole trace again from its beginning. The
    stored trace must not have more turns than this session.
    """
    if not any(row["name"] == RECORDING_ID for row in record.external_ids):
        return None
    trace = tables.trace.c
    turns = len(record.turns) + sum(piece.number == 0 for piece in step.pieces)
    ended = trace.id.not_in(sa.select(_live.trace_id))
    return connection.scalar(sa.select(trace.id).where(trace.identity == record.identity, trace.turns <= turns, ended))


def _replace(
    connection: sa.Connection, id_: int, draft: writing.TraceRows, kept: int, identity: bytes | None = None
) -> None:
    """Replace a trace with a longer version of it; the rows of the first `kept` turns stay as they are."""
    at_s = writing.sort_at_s(draft.record, writing.imported_at_s(connection, id_))
    columns = draft.derived.trace | {"sort_at_s": at_s} | ({"identity": identity} if identity else {})
    _put_turns(connection, id_, _rows_after(draft.record, kept), kept, columns)
    writing.delete_rows(connection, tables.DERIVED, [id_])
    writing.insert_derived(connection, [(id_, at_s, draft.derived)])


def _put_turns(connection: sa.Connection, id_: int, new: RecordRows, kept: int, columns: Row) -> None:
    """Replace all turns of a trace after the first `kept` with these."""
    remove_from_index(connection, [id_])
    writing.delete_rows(connection, [tables.search_pending, tables.external_id], [id_])
    for table, number in ((tables.turn, tables.turn.c.number), (tables.part, tables.part.c.turn)):
        connection.execute(sa.delete(table).where(table.c.trace_id == id_, number > kept))
    writing.update_traces(connection, [new.trace | columns | {"fingerprint": new.fingerprint, "trace_id": id_}])
    writing.insert_records(connection, [(id_, new)])


def _rows_after(record: RecordRows, kept: int) -> RecordRows:
    """The record without the rows of the first `kept` turns."""
    turns = [row for row in record.turns if row["number"] > kept]
    used = {row["toolset"] for row in turns}
    return replace(
        record,
        turns=turns,
        parts=[row for row in record.parts if row["turn"] > kept],
        toolsets={digest: toolset for digest, toolset in record.toolsets.items() if digest in used},
    )


def new_owner() -> str:
    """A name for one recorder, from which other processes can see whether its process is alive."""
    return f"{socket.gethostname()} {os.getpid()} {uuid4().hex}"


def orphaned_traces(connection: sa.Connection, now_s: float) -> list[int]:
    """The running traces whose recorder has stopped without ending them."""
    existing = tables.live.join(tables.trace)  # a recorder of an earlier version leaves rows of deleted traces
    running = sa.select(_live.trace_id, _live.owner, _live.beat_at_s).select_from(existing).order_by(_live.trace_id)
    rows = connection.execute(running).all()
    return [id_ for id_, owner, beat_at_s in rows if now_s - beat_at_s > SILENT_S or not _lives(owner)]


def end_orphaned_trace(
    connection: sa.Connection, inspect: Callable[[Trace], Inspection], id_: int, now_s: float
) -> int:
    """End a running trace with the stored parts of its open turns, truncated; the id that it has from now on.

    Its turns are written anew: another version of weaklink, which may encode them otherwise, can have recorded them. Of
    a damaged trace they stay as they are.
    """
    trace = read_stored(connection, id_)
    stored = trace.trace
    still_open = read_open_turns(connection, id_)
    whole = replace(stored, turns=_in_order(stored.turns, still_open))
    kept = 0 if trace.is_complete else min([len(stored.turns), *(number - 1 for number in still_open)])
    return finish_trace(connection, id_, writing.trace_rows(whole, inspect(whole)), kept, now_s)


def read_open_turns(connection: sa.Connection, id_: int) -> dict[int, Turn]:
    """The open turns of a running trace by number, truncated at the end of the last stored piece.

    A turn with a damaged piece has the others, and a sentence on the loss.
    """
    turns: defaultdict[int, list[tuple[int, bytes]]] = defaultdict(list)
    query = sa.select(_piece.turn, _piece.number, _piece.body).where(_piece.trace_id == id_)
    for turn, number, body in connection.execute(query.order_by(_piece.turn, _piece.number)):
        turns[turn].append((number, body))
    return {turn: read_so_far(pieces) for turn, pieces in turns.items()}


def _in_order(ended: tuple[Turn, ...], still_open: dict[int, Turn]) -> tuple[Turn, ...]:
    """All turns in order: the open ones inserted by number among those that have ended."""
    turns = list(ended)
    for number, turn in sorted(still_open.items()):
        turns.insert(number - 1, turn)
    return tuple(turns)


def _lives(owner: str) -> bool:
    """Whether the recorder's process may be alive; for a process on another machine always true."""
    host, pid, _ = owner.rsplit(" ", 2)
    if host != socket.gethostname():
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not has_ended(int(pid))


def has_ended(pid: int) -> bool:
    """Whether a process has ended, even if its parent has not reaped it yet; always False where only `ps` knows."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"
