"""History that a request brings along: marked as copied where it begins a trace, kept aside where it was rewritten."""

from collections.abc import Sequence
from dataclasses import replace

from inspector.model import Json, Part, Role, Turn, TurnFlag
from inspector.wire.json_text import compact_json

RESENT_PART = "wire:resent"
"""The part that keeps messages which a client sent back in other words than were recorded, as a JSON array.

Each is an object with `message` (its number in the request, from 1), `role`, `parts` (name to text) and `calls`
(`part`, `name`, `id`). It belongs to the first turn that came with them, and is no call of the chain.
"""

_COPIED = frozenset({TurnFlag.COPIED_CONTEXT})
_WRITTEN_BY_CLIENT = frozenset({TurnFlag.SYNTHETIC})


def marked_history(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns that begin a trace: those up to the last answer among them are copied, but for the system prompt."""
    answers = [at for at, turn in enumerate(turns[:-1]) if turn.role is Role.ASSISTANT]
    end = answers[-1] + 1 if answers else 0
    copied = [_flagged(turn, _COPIED) if turn.role is not Role.SYSTEM else turn for turn in turns[:end]]
    return (*copied, *marked_answers(turns[end:]))


def marked_answers(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns that go on with a trace: an answer among them was not given here.

    One at the very end is the beginning of the answer to come, which the client wrote itself: it is synthetic.
    """
    marked = [_flagged(turn, _COPIED) if turn.role is Role.ASSISTANT else turn for turn in turns]
    if turns and turns[-1].role is Role.ASSISTANT:
        marked[-1] = _flagged(turns[-1], _WRITTEN_BY_CLIENT)
    return tuple(marked)


def with_resent(turns: tuple[Turn, ...], resent: Sequence[tuple[int, Turn]]) -> tuple[Turn, ...]:
    """The turns, of which the first has the messages that were sent back rewritten, each with its number."""
    if not resent:
        return turns
    part = Part(RESENT_PART, compact_json([_written(number, turn) for number, turn in resent]))
    if not turns:
        return (Turn(Role.ASSISTANT, (part,), flags=_COPIED),)
    return (replace(turns[0], parts=(*turns[0].parts, part)), *turns[1:])


def _flagged(turn: Turn, flags: frozenset[TurnFlag]) -> Turn:
    return replace(turn, flags=turn.flags | flags)


def _written(number: int, turn: Turn) -> Json:
    calls: list[Json] = [{"part": call.part, "name": call.name, "id": call.id} for call in turn.calls]
    written: dict[str, Json] = {"message": number, "role": turn.source_role or turn.role.value}
    written["parts"] = {part.name: part.text for part in turn.parts}
    if calls:
        written["calls"] = calls
    if turn.result is not None:
        written["call_id"] = turn.result.call_id
    return written
