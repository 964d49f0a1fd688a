"""What turns say of waiting, and of the prompt they began with: the measures of a trace that need no inspection."""

from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise, takewhile
from math import isfinite

from inspector.model import Part, Role, Turn
from storage.offered import packed_tools
from storage.packing.blobs import text_to_bytes

_DIGITS = 12


def first_token_s(turn: Turn) -> float | None:
    """From the generation's start to its first token, or to the first chunk of any part; None where no time says."""
    generation = turn.generation
    if generation is None:
        return None
    if generation.started is not None and generation.first_token is not None:
        return _finite(generation.first_token.at_s - generation.started.at_s)
    offsets = [chunks.offsets_s for part in turn.parts if (chunks := part.chunks) is not None]
    return min((at_s for some in offsets if some for at_s in some if at_s is not None and isfinite(at_s)), default=None)


def max_gap_s(part: Part) -> float | None:
    """The longest time between two chunks that follow each other in a part; None where no times say."""
    offsets = part.chunks.offsets_s if part.chunks is not None else None
    if not offsets:
        return None
    gaps = (after - before for before, after in pairwise(offsets) if before is not None and after is not None)
    return max(filter(isfinite, gaps), default=None)


def prompt_hash(turns: Sequence[Turn]) -> str:
    """Twelve hexadecimal digits for the system prompt and the tools of the first generation; `""` without both."""
    before = list(takewhile(lambda turn: turn.role is not Role.ASSISTANT, turns))
    first = turns[len(before)].generation if len(before) < len(turns) else None
    texts = [text_to_bytes(part.text) for turn in before if turn.role is Role.SYSTEM for part in turn.parts]
    tools = packed_tools(first.tools)[0] if first is not None and first.tools else b""
    if not texts and not tools:
        return ""
    hashed = sha256(tools)
    for text in texts:
        hashed.update(b"%d " % len(text) + text)
    return hashed.hexdigest()[:_DIGITS]


def _finite(seconds: float) -> float | None:
    return seconds if isfinite(seconds) else None
