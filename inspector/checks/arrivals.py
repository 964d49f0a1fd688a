"""C501 and C502: what the numbers and the times of a turn's chunks say about its recording."""

from collections.abc import Iterator, Sequence
from itertools import pairwise, repeat
from operator import attrgetter

import msgspec

from inspector.diagnostics import Diagnostic, Fault
from inspector.model import Part, Turn
from inspector.rules.recording import SEQUENCE_GAP, STALLED_STREAM
from inspector.text import Range
from inspector.wire.events import WIRE_PREFIX

STALL_S = 10.0
"""How long nothing may come in the middle of a stream, in seconds."""


class _Arrival(msgspec.Struct, frozen=True, gc=False):
    sequence: int
    part: str
    place: Range
    offset_s: float | None


def check_arrivals(turn: Turn, number: int) -> Iterator[Diagnostic]:
    """The gaps and stalls in the stream of turn `number` (from 1), each at the chunk that came after it.

    Chunks that came again are told once, at the first: a recording that is joined with itself repeats them all.
    """
    arrivals = sorted(_arrivals(turn), key=attrgetter("sequence"))
    is_counted = all(part.chunks is not None or _may_be_uncounted(part) for part in turn.parts)
    if is_counted:
        repeated = [after for before, after in pairwise(arrivals) if after.sequence == before.sequence]
        if repeated:
            yield Fault(SEQUENCE_GAP, repeated[0].place, _repetition(repeated)).at(number, repeated[0].part)
    for before, after in pairwise(arrivals):
        message = _gap(before.sequence, after.sequence) if is_counted else None
        if message is not None:
            yield Fault(SEQUENCE_GAP, after.place, message).at(number, after.part)
        elif before.offset_s is not None and after.offset_s is not None:
            waited = after.offset_s - before.offset_s
            if waited > STALL_S:
                message = f"Nothing came for {waited:.1f} s before this, from {before.offset_s:.1f} s on."
                yield Fault(STALLED_STREAM, after.place, message).at(number, after.part)


def _may_be_uncounted(part: Part) -> bool:
    """Whether a part without chunks leaves no gap in the numbers of the others."""
    return not part.text or part.name.startswith(WIRE_PREFIX)


def _repetition(again: Sequence[_Arrival]) -> str:
    own = "every arrival has a number of its own."
    numbers = sorted({arrival.sequence for arrival in again})
    if len(numbers) > 1:
        return f"Chunk {numbers[0]} came more than once, and so did {len(numbers) - 1:,} more; {own}"
    return f"Chunk {numbers[0]} came more than once; {own}"


def _gap(before: int, after: int) -> str | None:
    missing = after - before - 1
    if missing < 1:
        return None
    joined = "and" if missing == 2 else "to"
    named = f"Chunk {before + 1} is" if missing == 1 else f"Chunks {before + 1} {joined} {after - 1} are"
    return f"{named} missing before this: the recording lost what came there."


def _arrivals(turn: Turn) -> Iterator[_Arrival]:
    for part in turn.parts:
        if part.chunks is None:
            continue
        start, chunks, offsets_s = 0, part.chunks, part.chunks.offsets_s or repeat(None)
        for end, sequence, offset_s in zip(chunks.ends, chunks.sequences, offsets_s, strict=False):
            yield _Arrival(sequence, part.name, Range(start, end), offset_s)
            start = end
