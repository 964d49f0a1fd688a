"""Record events gathered to whole traces again, for places that take nothing less."""

from dataclasses import dataclass, field, replace
from typing import assert_never

from inspector.capture.events import ChunksArrived, RecordEvent, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from inspector.model import Chunk, Generation, Role, Trace, Turn
from inspector.model.arrivals import turn_so_far


@dataclass(slots=True)
class _GatheredTurn:
    role: Role = Role.ASSISTANT
    generation: Generation | None = None
    chunks: list[Chunk] = field(default_factory=list)

    def so_far(self) -> Turn:
        return turn_so_far(self.role, self.chunks, self.generation)


class GatheredTrace:
    """One trace while its events come; what was missed of it (its start, a turn's chunks) is simply not there."""

    def __init__(self) -> None:
        self._facts = Trace(())
        self._turns: dict[int, Turn] = {}
        self._open: dict[int, _GatheredTurn] = {}
        self.ended = False

    def take(self, event: RecordEvent) -> None:
        """One more event of this trace."""
        match event:
            case TraceStarted(_, trace):
                self._facts = replace(trace, turns=())
                self._turns |= dict(enumerate(trace.turns, 1))
            case TurnStarted(_, number, role, generation):
                self._open[number] = _GatheredTurn(role, generation)
            case ChunksArrived(_, number, chunks):
                self._open.setdefault(number, _GatheredTurn()).chunks += chunks
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
