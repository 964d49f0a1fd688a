"""Record events gathered to whole traces again, for places that take nothing less."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar, assert_never

from inspector.capture.events import ChunksArrived, RecordEvent, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from inspector.model import BodyState, Chunk, Chunks, Generation, Part, Role, Trace, Turn

_Value = TypeVar("_Value")


@dataclass(slots=True)
class _OpenTurn:
    role: Role = Role.ASSISTANT
    generation: Generation | None = None
    chunks: list[Chunk] = field(default_factory=list)

    def so_far(self) -> Turn:
        turn = Turn(self.role, parts_of(self.chunks), generation=self.generation)
        if self.role is not Role.ASSISTANT:
            return turn
        return replace(turn, generation=replace(self.generation or Generation(), body=BodyState.TRUNCATED))


class GatheredTrace:
    """One trace while its events come; what was missed of it (its start, a turn's chunks) is simply not there."""

    def __init__(self) -> None:
        self._facts = Trace(())
        self._turns: dict[int, Turn] = {}
        self._open: dict[int, _OpenTurn] = {}
        self.ended = False

    def take(self, event: RecordEvent) -> None:
        """One more event of this trace."""
        match event:
            case TraceStarted(_, trace):
                self._facts = replace(trace, turns=())
                self._turns |= dict(enumerate(trace.turns, 1))
            case TurnStarted(_, number, role, generation):
                self._open[number] = _OpenTurn(role, generation)
            case ChunksArrived(_, number, chunks):
                self._open.setdefault(number, _OpenTurn()).chunks += chunks
            case TurnEnded(_, number, turn):
                self._open.pop(number, None)
                self._turns[number] = turn
            case TraceEnded(_, outcome):
                self._facts = self._facts if outcome is None else replace(self._facts, outcome=outcome)
                self.ended = True
            case _:
                assert_never(event)

    def trace(self) -> Trace:
        """The trace as far as it is known; a turn that is open is cut where it has come to."""
        turns = {number: turn.so_far() for number, turn in self._open.items()} | self._turns
        return replace(self._facts, turns=tuple(turns[number] for number in sorted(turns)))


def parts_of(chunks: Iterable[Chunk]) -> tuple[Part, ...]:
    """Chunks put together to parts, in the order in which the parts began."""
    by_part: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_part.setdefault(chunk.part, []).append(chunk)
    return tuple(_part(name, of_part) for name, of_part in by_part.items())


def _part(name: str, chunks: list[Chunk]) -> Part:
    ends, length = [], 0
    for chunk in chunks:
        length += len(chunk.text)
        ends.append(length)
    columns = Chunks(
        tuple(ends),
        tuple(chunk.sequence for chunk in chunks),
        _column(chunk.offset_s for chunk in chunks),
        _column(chunk.token_ids for chunk in chunks),
        _column(chunk.logprobs for chunk in chunks),
    )
    return Part(name, "".join(chunk.text for chunk in chunks), columns)


def _column(values: Iterable[_Value | None]) -> tuple[_Value | None, ...] | None:
    column = tuple(values)
    return None if all(value is None for value in column) else column
