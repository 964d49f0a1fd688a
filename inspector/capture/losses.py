"""What of an exchange is not in its record, and why: said in a part of the turn, and in the state of its body."""

from dataclasses import replace

from inspector.model import BodyState, Generation, Part, Turn
from inspector.wire.events import WIRE_PREFIX

RECORDING_PART = f"{WIRE_PREFIX}recording"
"""The part that says, a sentence a line, what of an exchange was not kept, and why."""


def with_losses(turn: Turn, lost: list[str], *, is_gap: bool) -> Turn:
    """The turn with sentences on what its record lacks; `is_gap` says that bytes of the answer came and are not kept.

    A body with a gap is not stored, whatever its decoder took it for: nobody cut the stream but we.
    """
    if not lost:
        return turn
    generation = turn.generation or Generation()
    if is_gap:
        generation = replace(generation, body=BodyState.NOT_STORED)
    return replace(turn, parts=(*turn.parts, Part(RECORDING_PART, "\n".join(lost))), generation=generation)
