"""What a budget of tokens cuts from a set, and into how many sequences of that length the set is packed.

Trainers either cut each sample at the budget, or pack several into one sequence: `packed_sequences` counts the
sequences of best-fit decreasing, as in TRL's `packing_strategy="bfd"`: the longest sample first, each into the sequence
with the least room that still holds it. A longer sample is cut to the budget and fills one sequence.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable

from weaklink.inspector.model import Json


def budget_figures(lengths: Iterable[int], max_tokens: int) -> dict[str, Json]:
    """The samples that a budget cuts, the tokens that are lost, and the packed sequences."""
    listed = list(lengths)
    total = sum(listed)
    cut = sum(length - max_tokens for length in listed if length > max_tokens)
    sequences = packed_sequences(listed, max_tokens)
    return {
        "max_tokens": max_tokens,
        "samples_cut": sum(length > max_tokens for length in listed),
        "tokens": total,
        "tokens_cut": cut,
        "packed_sequences": sequences,
        "packed_fill": (total - cut) / (sequences * max_tokens) if sequences else None,
    }


def packed_sequences(lengths: Iterable[int], max_tokens: int) -> int:
    """The sequences of `max_tokens` that hold all samples, each cut to that length; none for empty samples."""
    rooms: list[int] = []  # the distinct rooms of open sequences, sorted
    counts: Counter[int] = Counter()
    sequences = 0
    for length in sorted((min(length, max_tokens) for length in lengths if length), reverse=True):
        index = bisect_left(rooms, length)
        if index == len(rooms):
            sequences += 1
            room = max_tokens
        else:
            room = rooms[index]
            counts[room] -= 1
            if not counts[room]:
                rooms.pop(index)
        left = room - length
        if left:
            if not counts[left]:
                insort(rooms, left)
            counts[left] += 1
    return sequences
