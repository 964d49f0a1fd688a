"""A session while it is recorded: the events received, the part already stored, and what each transaction writes.

Theory of operation. Recording must never wait for a disk, and a killed recorder must lose at most the last moment. So
an event takes three steps:

    put      the recorded program's thread adds it to a `BoundedBuffer`, which never waits
    take     the writer's thread gives it to its `RecordedSession`, which changes in memory only
    step     what to write now, as a value; after the transaction `mark_written` says that it is stored

A session is written as it grows. While a turn is open, its chunks go into `live_piece` in pieces, each once:

    turn 3   piece 0: role, facts, tools    piece 1: 40 chunks    piece 2: 12 chunks

When it ends, its row and those of its parts replace the pieces. Mostly turns are added at the end; then `grown` has
their rows alone, and the inspection lags behind (`NOT_INSPECTED`), since inspecting all turns after each one would take
quadratic time. Whatever is not at the end (a turn of before ends again, the trace's facts change) makes a `draft`: the
whole trace with its inspection, of which the first `kept` turns, which are unchanged, are not written again.

What may fail, and what then holds:

* Writing: `step` changes nothing, so the next one has the same and what came meanwhile. The buffer counts an event
  until it is written; beyond its bound texts are dropped, the turn is marked as incomplete, and the trace names it.
* The trace is deleted by somebody else: `mark_written` gets no id, and all that is in memory is written again.
* Memory: `release` lets go of turns that the database has; `recall` reads them for the next inspection.
* The database is gone at the end: `unsaved` returns the session for a trace file.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import RLock
from typing import TypeAlias, assert_never

from msgspec import Struct, field, structs

from weaklink.inspector.capture.events import (
    ChunksArrived,
    RecordEvent,
    TraceEnded,
    TraceStarted,
    TurnEnded,
    TurnStarted,
    event_weight,
    with_losses,
)
from weaklink.inspector.capture.spill import UnsavedTrace
from weaklink.inspector.errors import StoreError
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import BodyState, Chunk, ExternalId, Generation, Part, Role, Trace, Turn
from weaklink.inspector.model.exchange import RecordedExchange, with_exchanges
from weaklink.inspector.model.trace import parts_of, turn_so_far
from weaklink.inspector.trace_file.lines import ExchangePacker
from weaklink.storage.engine import DAMAGE_ERRORS
from weaklink.storage.exchanges import pack_exchange, unpacked_exchanges
from weaklink.storage.packing.blobs import from_blob, text_from_bytes, text_to_bytes, to_blob
from weaklink.storage.packing.chunks import pack_chunks, unpack_chunks
from weaklink.storage.packing.records import pack_facts, tool_facts, tool_from, turn_facts, turn_from, unpack_facts
from weaklink.storage.packing.values import pack, unpack
from weaklink.storage.record_rows import NOTHING, RecordRows, record_rows
from weaklink.storage.writing import TraceRows, trace_rows

_FOR_CHUNKS = 0.75  # share of the buffer; the rest is for the ends of turns, which contain their chunks again
_FOR_SHORTENED = 1.25  # the same for what replaces a dropped event: it is small, and without it a turn would stay open
_GAP_BYTES = 500  # of the note that chunks of a turn were dropped


class TurnPiece(Struct, frozen=True):
    """A piece of an open turn on its way into the database; number 0 is the turn's opening."""

    turn: int
    number: int
    body: bytes


class SessionWrite(Struct, frozen=True):
    """What one transaction writes of a session.

    `id` is the trace's, None if it is not stored yet. Its first `kept` turns are already in the database, unchanged.
    `draft` is the trace with its inspection; or `grown` has the turns after the first `kept`, not inspected yet; or
    both are None if no turn has ended since the last step. `closed` are the turns whose pieces are to be deleted.
    `ended` is true if the trace is no longer open, `waits` if a turn is open, `is_idle` if the session had no event for
    so long that it is judged as if it had ended. `exchanges` are packed, with their numbers.
    """

    id: int | None
    draft: TraceRows | None
    grown: RecordRows | None
    kept: int
    pieces: tuple[TurnPiece, ...]
    closed: tuple[int, ...]
    ended: bool
    waits: bool
    exchanges: tuple[tuple[int, bytes], ...] = ()
    is_idle: bool = False


class RunningTurn(Struct):
    """A turn that has begun; its first `written` chunks are in the database, in `pieces` pieces with the opening."""

    role: Role
    generation: Generation | None = None
    chunks: list[Chunk] = field(default_factory=list)
    written: int = 0
    pieces: int = 0

    def so_far(self) -> Turn:
        """The turn so far, marked as truncated."""
        return turn_so_far(self.role, self.chunks, self.generation)

    def new_pieces(self, number: int) -> Iterator[TurnPiece]:
        """The pieces that are not in the database yet; `number` is the turn's."""
        if not self.pieces:
            yield TurnPiece(number, 0, opening(self.role, self.generation))
        new = self.chunks[self.written :]
        if new:
            yield TurnPiece(number, self.pieces or 1, piece(new))


def opening(role: Role, generation: Generation | None) -> bytes:
    """A turn's first piece: what is known when it begins."""
    tools = [tool_facts(tool) for tool in generation.tools] if generation else []
    return to_blob(pack([role.value, pack_facts(turn_facts(Turn(role, (), generation=generation))), tools]))


def piece(chunks: Iterable[Chunk]) -> bytes:
    """Chunks of a turn as a piece, grouped by part."""
    parts = parts_of(chunks)
    return to_blob(
        pack([[part.name, text_to_bytes(part.text), pack_chunks(part.chunks)] for part in parts if part.chunks])
    )


def opened_turn(opened: bytes) -> Turn:
    """The turn of an opening, without parts."""
    role, facts, tools = unpack(from_blob(opened))
    return turn_from(role, unpack_facts(facts), (), tuple(map(tool_from, tools)))


def chunks_in(blob: bytes) -> list[Chunk]:
    """The chunks of a piece, each part's in the order they arrived."""
    return [
        chunk
        for name, text, columns in unpack(from_blob(blob))
        for chunk in Part(name, text_from_bytes(text), unpack_chunks(columns)).arrivals()
    ]


def read_so_far(pieces: Sequence[tuple[int, bytes]]) -> Turn:
    """The turn of these numbered pieces, truncated at the end of the last one.

    If some are damaged, or the opening is missing, the turn has the others, and a sentence on the loss.
    """
    opened = Turn(Role.ASSISTANT, (), generation=Generation())
    chunks: list[Chunk] = []
    damaged = int(all(number for number, _ in pieces))
    for number, blob in pieces:
        try:
            if number:
                chunks += chunks_in(blob)
            else:
                opened = opened_turn(blob)
        except DAMAGE_ERRORS:
            damaged += 1
    turn = turn_so_far(opened.role, chunks, opened.generation)
    lost = [f"In the database, {damaged} of its pieces {'is' if damaged == 1 else 'are'} damaged."] if damaged else []
    return with_losses(turn, lost, is_gap=True)


class ShortenedEvent(Struct, frozen=True):
    """Replaces an event whose texts did not fit into the buffer.

    Its turns have no parts: of an open turn, only the chunks received before are stored.
    """

    event: TraceStarted | TurnEnded

    @property
    def key(self) -> str:
        """The key of the event's trace."""
        return self.event.key


class DroppedChunks(Struct, frozen=True):
    """From here on, the chunks of a turn are dropped: only its beginning is stored."""

    key: str
    turn: int


BufferedEvent: TypeAlias = RecordEvent | ShortenedEvent | DroppedChunks


class BoundedBuffer:
    """A bounded queue of events for the writer. Thread-safe; `put` never waits for anything but the lock.

    An event counts against the bound from `put` until `written` confirms that all taken events are in the database;
    sizes are those of `inspector.capture.events.event_weight`. Chunks may use three quarters of the bound, other
    events all of it. If the end of a turn or the start of a trace does not fit, it is shortened to its facts, which may
    exceed the bound by a quarter; beyond that, only the ends of traces are accepted. If the buffer is empty, it accepts
    such an event of any size. `dropped` counts the events that were shortened or not accepted.
    """

    def __init__(self, room_bytes: int) -> None:
        self._room = room_bytes
        self._line: deque[tuple[BufferedEvent, int]] = deque()
        self._lock = RLock()  # reentrant, because a signal handler may record too
        self._held = self._taken = 0
        self._gaps: set[DroppedChunks] = set()
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._line)

    @property
    def held_bytes(self) -> int:
        """The size of the events that are in the buffer, or taken and not written yet."""
        return self._held

    def put(self, event: RecordEvent) -> None:
        """Add an event, or the part of it that fits."""
        size = event_weight(event)
        with self._lock:
            match event:
                case ChunksArrived(key, turn):
                    self._put_chunks(event, size, DroppedChunks(key, turn))
                case TraceEnded(key):
                    self._gaps = {gap for gap in self._gaps if gap.key != key} if self._gaps else self._gaps
                    self._add(event, size)
                case TraceStarted() | TurnEnded():
                    self._put_texts(event, size)
                case _ if not self._add_within(self._room, event, size):
                    self.dropped += 1

    def _put_chunks(self, event: ChunksArrived, size: int, gap: DroppedChunks) -> None:
        if gap not in self._gaps and self._add_within(self._room * _FOR_CHUNKS, event, size):
            return
        self.dropped += 1
        if gap not in self._gaps and self._add_within(self._room * _FOR_SHORTENED, gap, _GAP_BYTES):
            self._gaps.add(gap)

    def _put_texts(self, event: TraceStarted | TurnEnded, size: int) -> None:
        if isinstance(event, TurnEnded):
            self._gaps.discard(DroppedChunks(event.key, event.turn))
        room = self._room if self._held else size
        if not self._add_within(room, event, size):
            self.dropped += 1
            short = _shortened(event)
            self._add_within(self._room * _FOR_SHORTENED, short, event_weight(short.event))

    def drain(self) -> Iterator[BufferedEvent]:
        """The queued events in order, until none is left; they count against the bound until `written`."""
        while self._line:
            with self._lock:
                event, size = self._line.popleft()
                self._taken += size
            yield event

    def written(self) -> None:
        """Confirm that all taken events are in the database, or held by the caller."""
        with self._lock:
            self._held -= self._taken
            self._taken = 0

    def _add_within(self, room: float, event: BufferedEvent, size: int) -> bool:
        if self._held + size > room:
            return False
        self._add(event, size)
        return True

    def _add(self, event: BufferedEvent, size: int) -> None:
        self._line.append((event, size))
        self._held += size


def _shortened(event: TraceStarted | TurnEnded) -> ShortenedEvent:
    if isinstance(event, TurnEnded):
        return ShortenedEvent(structs.replace(event, value=without_texts(event.value), exchanges=()))
    return ShortenedEvent(
        structs.replace(event, trace=structs.replace(event.trace, turns=tuple(map(without_texts, event.trace.turns))))
    )


def without_texts(turn: Turn) -> Turn:
    """The turn without its parts; a model's turn is marked as truncated and loses its tools."""
    generation = turn.generation
    if turn.role is Role.ASSISTANT:
        generation = structs.replace(generation or Generation(), body=BodyState.TRUNCATED, tools=())
    return structs.replace(turn, parts=(), generation=generation)


def with_warning(trace: Trace, numbers: Iterable[int]) -> Trace:
    """The trace with a warning in its provenance that names the incomplete turns."""
    turns = sorted(numbers)
    if not turns:
        return trace
    named = f"turn {turns[0]}" if len(turns) == 1 else f"turns {', '.join(map(str, turns[:20]))}"
    more = f" and {len(turns) - 20} others" if len(turns) > 20 else ""
    warning = f"Incomplete {named}{more}: the database was not writable for too long."
    return structs.replace(
        trace, provenance=structs.replace(trace.provenance, warnings=(*trace.provenance.warnings, warning))
    )


class RecordedSession:
    """One session: each turn is written when it has ended, and inspected with all turns before it, possibly later.

    The turns are held in memory until `release`. `step` returns what to write and changes nothing, so that it can be
    called again if writing failed; `mark_written` records that it was written.
    """

    def __init__(self, trace: Trace) -> None:
        self._facts = trace
        self._turns: dict[int, Turn | None] = {}  # None: only the database has it
        self._written: list[int] = []
        self.weight = 0
        """About how much memory the ended turns take; see `inspector.capture.events.event_weight`."""
        self._open: dict[int, RunningTurn] = {}
        self._closed: list[int] = []
        self._lossy: set[int] = set()
        self._id: int | None = None
        self._kept = 0
        self._totals = NOTHING
        self._changed = True
        self._grew = self._is_inspected = False
        self._packer = ExchangePacker()
        self._exchanges: list[tuple[int, bytes]] = []
        self.ended = self._is_idle = False
        self._start(trace)

    def add(self, event: BufferedEvent) -> None:
        """Process one event of this session; for a turn that has already ended, everything but a new end is ignored."""
        if self._is_idle:
            self._is_idle, self._changed = False, True
        match event:
            case TraceStarted(_, trace):
                self._start(trace)
            case TurnStarted(_, number, role, generation):
                self._open_turn(number, role, generation)
            case ChunksArrived(_, number, chunks):
                if (opened := self._open_turn(number)) is not None:
                    opened.chunks += chunks
            case TurnEnded(_, number, turn, exchanges):
                self._exchanges += [pack_exchange(self._packer.line(exchange)) for exchange in exchanges]
                self._lossy.discard(number)
                self._end_turn(number, turn)
            case ShortenedEvent(short):
                self._take_shortened(short)
            case DroppedChunks(_, number):
                self._lossy |= {number} - self._turns.keys()
            case TraceEnded(_, outcome):
                self._facts = self._facts if outcome is None else structs.replace(self._facts, outcome=outcome)
                self.end()
            case _:
                assert_never(event)

    def end(self) -> None:
        """End the session: open turns are truncated."""
        for number, turn in tuple(self._open.items()):
            self._end_turn(number, turn.so_far())
        self.ended = self._changed = True

    @property
    def may_become_idle(self) -> bool:
        """Whether the session waits for its next request, and was not judged as an idle one yet."""
        return not (self._open or self.ended or self._is_idle)

    def become_idle(self) -> None:
        """Judge the session as if it had ended, until its next event."""
        self._is_idle = self._changed = True

    @property
    def is_behind(self) -> bool:
        """Whether turns have ended since the session was inspected."""
        return self._grew or not self._is_inspected

    def step(
        self,
        inspect: Callable[[Trace], Inspection],
        recall: Callable[[int], Sequence[Turn] | None],
        *,
        may_lag: bool = False,
    ) -> SessionWrite | None:
        """What to write now; None if there is nothing to write.

        With `may_lag`, a trace that only got more turns at its end is written without an inspection, at the cost of
        those turns alone. `recall` returns the stored turns of a trace, None if the trace was deleted.
        """
        draft: TraceRows | None = None
        grown: RecordRows | None = None
        if self._changed or (self._grew and not self._totals.has_answer) or (self.is_behind and not may_lag):
            trace = self._trace(recall)
            is_open = not (self.ended or self._is_idle)
            draft = trace_rows(trace, inspect(structs.replace(trace, is_open=is_open)))
        elif self._grew:
            new = tuple(turn for number in sorted(self._turns)[self._kept :] if (turn := self._turns[number]))
            grown = record_rows(with_warning(structs.replace(self._facts, turns=new), self._lossy), after=self._totals)
        pieces = tuple(piece for number, turn in self._open.items() for piece in turn.new_pieces(number))
        if draft is None and grown is None and not pieces:
            return None
        return SessionWrite(
            self._id,
            draft,
            grown,
            self._kept,
            pieces,
            tuple(self._closed),
            self.ended,
            bool(self._open),
            tuple(self._exchanges),
            self._is_idle,
        )

    def mark_written(self, step: SessionWrite, id_: int | None) -> None:
        """Record that `step` is stored under this id; None if the trace was deleted, so that all is written again."""
        if id_ is None:
            self.forget_written()
            return
        self._id = id_
        self._closed = []
        del self._exchanges[: len(step.exchanges)]
        for piece in step.pieces:
            turn = self._open[piece.turn]
            turn.pieces = piece.number + 1
            turn.written = len(turn.chunks) if piece.number else 0
        record = step.draft.record if step.draft is not None else step.grown
        if record is not None:
            self._written = sorted(self._turns)
            self._kept, self._totals = len(self._written), record.totals
            self._changed = self._grew = False
            self._is_inspected = step.draft is not None

    def _open_turn(
        self, number: int, role: Role = Role.ASSISTANT, generation: Generation | None = None
    ) -> RunningTurn | None:
        """The open turn with this number, which begins now if it was not open; None if it has already ended."""
        if number in self._turns:
            return None
        return self._open.setdefault(number, RunningTurn(role, generation))

    def release(self) -> None:
        """Release the turns that the database has; they are read again when the session is inspected."""
        if self._id is not None and not self._changed and not self._grew:
            self._turns = dict.fromkeys(self._turns)
            self.weight = 0

    def forget_written(self) -> None:
        """Nothing of the session is in the database any more: write again everything that is held in memory."""
        self._lossy |= {number for number, turn in self._turns.items() if turn is None}
        self._turns = {number: turn for number, turn in self._turns.items() if turn is not None}
        self._id, self._kept, self._changed, self._closed = None, 0, True, []
        self._packer.forget()
        for turn in self._open.values():
            turn.written = turn.pieces = 0

    def unsaved(
        self,
        recall: Callable[[int], Sequence[Turn] | None],
        recall_exchanges: Callable[[int, Sequence[tuple[int, bytes]]], Sequence[RecordedExchange]],
    ) -> UnsavedTrace | None:
        """The whole session, if not all of it is stored; for a database that can no longer be written.

        If the database cannot be read either, turns that only it has are missing. The session then gets another
        identity, so that an import adds it to the stored ones and replaces none.
        """
        stored = set(self._written) if self._id is not None else set[int]()
        waiting = [turn for number, turn in self._turns.items() if number not in stored and turn is not None]
        if not waiting and not self._exchanges:
            return None
        try:
            exchanges = recall_exchanges(self._id, self._exchanges) if self._id is not None else self._own_exchanges()
            trace = self._trace(recall)
        except StoreError:
            exchanges, trace = self._own_exchanges(), self._rest()
        requests = sum(turn.role is Role.ASSISTANT for turn in waiting)
        return UnsavedTrace(with_exchanges(trace, exchanges), requests)

    def _own_exchanges(self) -> tuple[RecordedExchange, ...]:
        return unpacked_exchanges([body for _, body in self._exchanges])

    def _rest(self) -> Trace:
        """The turns in memory, as a trace of its own if others are stored only."""
        is_whole = None not in self._turns.values()
        self.forget_written()
        trace = self._trace(lambda _: None)
        if is_whole:
            return trace
        return structs.replace(trace, external_ids=(*trace.external_ids, ExternalId("part", "unsaved")))

    def _take_shortened(self, event: TraceStarted | TurnEnded) -> None:
        """Process an event without its texts; the chunks received before replace them."""
        if isinstance(event, TraceStarted):
            self._lossy.update(range(1, len(event.trace.turns) + 1))
            self._start(event.trace)
            return
        opened = self._open.get(event.turn)
        self._lossy.add(event.turn)
        self._end_turn(event.turn, structs.replace(event.value, parts=parts_of(opened.chunks) if opened else ()))

    def _start(self, trace: Trace) -> None:
        self._facts = structs.replace(trace, turns=())
        for number, turn in enumerate(trace.turns, 1):
            if self._turns.get(number) != turn:
                self._end_turn(number, turn)
        self._changed = True

    def _end_turn(self, number: int, turn: Turn) -> None:
        opened = self._open.pop(number, None)
        if opened is not None and opened.pieces:
            self._closed.append(number)
        if number <= max(self._turns, default=0):
            # Not at the end: the stored turns after it no longer have the right position.
            self._kept = min(self._kept, sum(turn < number for turn in self._turns))
            self._changed = True
        self._turns[number] = turn
        self.weight += event_weight(TurnEnded("", number, turn))
        self._grew = True

    def _trace(self, recall: Callable[[int], Sequence[Turn] | None]) -> Trace:
        recalled: dict[int, Turn] = {}
        if self._id is not None and None in self._turns.values():
            stored = recall(self._id)
            if stored is None or len(stored) != len(self._written):
                self.forget_written()
            else:
                recalled = dict(zip(self._written, stored, strict=True))
        turns = (self._turns[number] or recalled[number] for number in sorted(self._turns))
        return with_warning(structs.replace(self._facts, turns=tuple(turns)), self._lossy)
