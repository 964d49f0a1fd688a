"""When what came: for each answer the time to its first token, its length, its speed and its longest gap."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from operator import sub
from types import MappingProxyType
from typing import NamedTuple

from inspector.diagnostics import Location
from inspector.model import Chunks, InstantSource, Trace, Turn
from inspector.model.columns import Column
from inspector.text import Range
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.lanes import STALL_S
from ui.views.dissect.side import LazyLines, SideLine, SideLines, SideSource
from ui.views.styled_text import Line, Run, Style
from ui.views.wording import counted

_PIECE = 65_536  # chunks between two looks whether anybody still waits
_LONG = 20_000  # chunks of an answer that are not gone through again whenever its line comes into sight
_FEW = 200  # turns of a trace that is gone through at once


class ChunkGap(NamedTuple):
    """A time between two chunks of a part, in seconds, and the sequence number of the later one."""

    seconds: float
    before: int


class _ChunkTimes(NamedTuple):
    """When the first chunk of an answer came, in seconds from its beginning, and its longest gap; None for unknown."""

    first_s: float | None
    gap: ChunkGap | None


class AnswerTimes(NamedTuple):
    """The turns with answers of a model, by number, and what is known of those with very many chunks."""

    turns: Sequence[int]
    long: Mapping[int, _ChunkTimes] = MappingProxyType({})


def are_cheap_to_compute(trace: Trace) -> bool:
    """Whether the times of a trace's answers are found before anybody notices."""
    if len(trace.turns) > _FEW:
        return False
    return sum(map(_chunks, trace.turns)) <= _LONG


def answer_times(trace: Trace, is_left: Callable[[], bool] = bool) -> AnswerTimes | None:
    """Go through the times of a trace's answers, which may take seconds; None where that `is_left` meanwhile."""
    turns, long = array("L"), dict[int, _ChunkTimes]()
    for number, turn in enumerate(trace.turns, 1):
        if is_left():
            return None
        if turn.generation is not None:
            turns.append(number)
            if _chunks(turn) > _LONG:
                long[number] = _times(turn, is_left)
    return None if is_left() else AnswerTimes(turns, long)


def timing(dissection: Dissection, times: AnswerTimes | None = None) -> SideSource:
    """A line for each answer of the model; it leads to the answer's beginning. A chunk is not a token.

    `times` are those of the trace, where somebody has gone through them already.
    """
    known = times or answer_times(dissection.trace) or AnswerTimes(())
    if not known.turns:
        said = "The recording knows no answer of a model, so there are no times."
        return SideLines([SideLine((Run(said, Style.DIM),))])
    turns, begins = dissection.trace.turns, _Begins(dissection.trace, known.turns)

    def line(index: int, _: int) -> Line:
        number = known.turns[index]
        return _line(number, turns[number - 1], known.long.get(number))

    def near(place: Location) -> int | None:
        index = bisect_left(known.turns, place.turn)
        is_there = index < len(begins) and known.turns[index] == place.turn and begins[index] is not None
        return index if is_there else None

    return LazyLines(begins, line, near)


class _Begins(Column[Location | None]):
    """Where the answers begin; None for one without a text."""

    __slots__ = ("_numbers", "_trace")

    def __init__(self, trace: Trace, numbers: Sequence[int]) -> None:
        self._trace, self._numbers = trace, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def _at(self, index: int) -> Location | None:
        number = self._numbers[index]
        parts = self._trace.turns[number - 1].parts
        return Location(number, parts[0].name, Range(0, 0)) if parts else None


def longest_gap(chunks: Chunks, is_left: Callable[[], bool] = bool) -> ChunkGap | None:
    """The longest time between two chunks; None without times, or where `is_left` says that nobody waits any more."""
    if chunks.offsets_s is None:
        return None
    offsets, at = iter(chunks.offsets_s), 0
    longest: tuple[float, int] | None = None
    row = tuple(islice(offsets, 1))
    while piece := tuple(islice(offsets, _PIECE)):
        if is_left():
            return None
        row = (row[-1], *piece)
        found = max(_gaps(row, at + 1), default=longest)
        longest = found if longest is None or found is None else max(longest, found)
        at += len(piece)
    return None if longest is None else ChunkGap(longest[0], chunks.sequences[longest[1]])


def _gaps(offsets: Sequence[float | None], first: int) -> Iterator[tuple[float, int]]:
    """The times from each to the next, with the index of that one, which is `first` for the second."""
    known = [one for one in offsets if one is not None]
    if len(known) == len(offsets):
        yield from zip(map(sub, known[1:], known), range(first, first + len(known)), strict=False)
        return
    for index, now in enumerate(offsets[1:]):
        before = offsets[index]
        if now is not None and before is not None:
            yield now - before, first + index


def _chunks(turn: Turn) -> int:
    return sum(len(part.chunks) for part in turn.parts if part.chunks is not None)


def _times(turn: Turn, is_left: Callable[[], bool] = bool) -> _ChunkTimes:
    kept = [part.chunks for part in turn.parts if part.chunks is not None]
    firsts = (next((one for one in chunks.offsets_s or () if one is not None), None) for chunks in kept)
    gaps = (gap for chunks in kept if (gap := longest_gap(chunks, is_left)) is not None)
    first_s = min((one for one in firsts if one is not None), default=None)
    return _ChunkTimes(first_s, max(gaps, key=lambda gap: gap.seconds, default=None))


def _line(number: int, turn: Turn, known: _ChunkTimes | None) -> Line:
    generation = turn.generation
    head: Line = (Run(f"turn {number:<4}", Style.STRONG),)
    if generation is None:
        return head
    facts: list[str] = []
    first_s, gap = known or _times(turn)
    if generation.first_token is not None and generation.started is not None:
        first_s = generation.first_token.at_s - generation.started.at_s
    if first_s is not None:
        facts.append(f"first token {_seconds(first_s)}")
    if generation.started is not None and generation.ended is not None:
        whole = generation.ended.at_s - generation.started.at_s
        derived = InstantSource.DERIVED in (generation.started.source, generation.ended.source)
        facts.append(f"{_seconds(whole)}{' (derived)' if derived else ''}")
        tokens = generation.usage.output_tokens
        if tokens is not None:
            facts.append(counted(tokens, "token") + (f", {tokens / whole:.0f}/s" if whole > 0 else ""))
    chunks = _chunks(turn)
    if chunks:
        facts.append(counted(chunks, "chunk"))
    if gap is None:
        return (*head, Run(" · ".join(facts)) if facts else Run("no times were kept", Style.DIM))
    is_stall = gap.seconds >= STALL_S
    said = f"longest gap {_seconds(gap.seconds)} before chunk {gap.before}{'!' if is_stall else ''}"
    style = Style.WARNING if is_stall else Style.PLAIN
    return (*head, Run(" · ".join(facts)), Run(" · "), Run(said, style))


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if abs(seconds) < 1 else f"{seconds:.2f} s"
