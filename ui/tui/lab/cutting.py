"""Ways to cut a stream: whole, as it came, into single characters, at random."""

import random
from collections.abc import Iterator
from enum import StrEnum

from inspector.model import Part

MOST_PIECES = 20_000
"""Pieces that a stream is cut into at most: reading it takes seconds, whatever its size."""
_LONGEST_PIECE = 24


class Chunking(StrEnum):
    """How a stream is cut, under the name that its column bears."""

    WHOLE = "whole"
    AS_CAME = "as received"
    SINGLE = "characters"
    RANDOM = "random"


def pieces_of(part: Part, cut: Chunking, seed: int) -> Iterator[str]:
    """The pieces that a part's text is cut into, one behind the other; none where it is not known how it came."""
    text = part.text
    match cut:
        case Chunking.WHOLE:
            yield text
        case Chunking.AS_CAME:
            yield from _as_came(part)
        case Chunking.SINGLE:
            size = single_size(text)
            yield from (text[at : at + size] for at in range(0, len(text), size))
        case Chunking.RANDOM:
            yield from _at_random(text, seed)


def single_size(text: str) -> int:
    """How many characters a piece of `characters` has: one, and more only where that were too many pieces."""
    return max(-(-len(text) // MOST_PIECES), 1)


def _as_came(part: Part) -> Iterator[str]:
    if part.chunks is None:
        return
    start = 0
    for end in part.chunks.ends:
        yield part.text[start:end]
        start = end
    if start < len(part.text):
        yield part.text[start:]


def _at_random(text: str, seed: int) -> Iterator[str]:
    chance = random.Random(seed)  # not for secrets
    longest = _LONGEST_PIECE * single_size(text)
    at = 0
    while at < len(text):
        end = at + chance.randint(1, longest)
        yield text[at:end]
        at = end
