"""When what came: for each answer the time to its first token, its length, its speed and its longest gap."""

from itertools import pairwise

from inspector.diagnostics import Location
from inspector.model import Chunks, InstantSource, Part, Turn
from inspector.text import Range
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.lanes import STALL_S
from ui.views.dissect.side import LazyLines, SideLine, SideLines, SideSource
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.wording import counted


def timing(dissection: Dissection) -> SideSource:
    """A line for each answer of the model; it leads to the answer's beginning. A chunk is not a token."""
    turns = [(number, turn) for number, turn in enumerate(dissection.trace.turns, 1) if turn.generation is not None]
    if not turns:
        said = "The recording knows no answer of a model, so there are no times."
        return SideLines([SideLine((Run(said, Style.DIM),))])
    places = [_begin(number, turn) for number, turn in turns]
    return LazyLines(places, lambda index, width: _line(*turns[index]))


def longest_gap(part: Part) -> tuple[float, int] | None:
    """The longest time between two chunks of a part, in seconds, and the later one's index; None without times."""
    chunks = part.chunks
    if chunks is None or chunks.offsets_s is None:
        return None
    neighbours = enumerate(pairwise(chunks.offsets_s), 1)
    gaps = ((now - before, index) for index, (before, now) in neighbours if before is not None and now is not None)
    return max(gaps, default=None)


def _line(number: int, turn: Turn) -> Line:
    generation = turn.generation
    head: Line = (Run(f"turn {number:<4}", Style.STRONG),)
    if generation is None:
        return head
    facts: list[str] = []
    first = _first_token_s(turn)
    if first is not None:
        facts.append(f"first token {_seconds(first)}")
    if generation.started is not None and generation.ended is not None:
        whole = generation.ended.at_s - generation.started.at_s
        derived = InstantSource.DERIVED in (generation.started.source, generation.ended.source)
        facts.append(f"{_seconds(whole)}{' (derived)' if derived else ''}")
        tokens = generation.usage.output_tokens
        if tokens is not None:
            facts.append(counted(tokens, "token") + (f", {tokens / whole:.0f}/s" if whole > 0 else ""))
    chunks = sum(len(part.chunks) for part in turn.parts if part.chunks is not None)
    if chunks:
        facts.append(counted(chunks, "chunk"))
    gaps = [(found, part) for part in turn.parts if (found := longest_gap(part)) is not None]
    if not gaps:
        return (*head, Run(" · ".join(facts)) if facts else Run("no times were kept", Style.DIM))
    (gap, index), part = max(gaps, key=lambda one: one[0])
    said = f"longest gap {_seconds(gap)} before chunk {part.chunks.sequences[index] if part.chunks else index}"
    style = Style.WARNING if gap >= STALL_S else Style.PLAIN
    return (*head, Run(" · ".join(facts)), Run(" · "), Run(said + ("!" if gap >= STALL_S else ""), style))


def _first_token_s(turn: Turn) -> float | None:
    """Seconds from the request to the first token, as recorded, else to the first chunk with a time."""
    generation = turn.generation
    if generation is not None and generation.first_token is not None and generation.started is not None:
        return generation.first_token.at_s - generation.started.at_s
    firsts = (_first_offset(part.chunks) for part in turn.parts if part.chunks is not None)
    return min((one for one in firsts if one is not None), default=None)


def _first_offset(chunks: Chunks) -> float | None:
    return next((one for one in chunks.offsets_s or () if one is not None), None)


def _begin(number: int, turn: Turn) -> Location | None:
    return Location(number, turn.parts[0].name, Range(0, 0)) if turn.parts else None


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if abs(seconds) < 1 else f"{seconds:.2f} s"
