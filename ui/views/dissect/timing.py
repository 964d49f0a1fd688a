"""Arrival times: the lanes below a stream row (chunks, token ids, log probabilities), and each answer's times."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import sub
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from weaklink.inspector.diagnostics import Location
from weaklink.inspector.model import Chunks, InstantSource, Part, Trace, Turn
from weaklink.inspector.model.columns import Column
from weaklink.inspector.text import Range
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.side import LazyLines, SideLine, SideLines, SideSource
from weaklink.ui.views.styled_text import Line, Run, Style, counted, wrapped_words

STALL_S = 0.5
"""A gap between two chunks that is marked, in seconds."""
_UNLIKELY = -4.0
_MAX_WORDS = 8
_PIECE = 65_536  # chunks between two calls of `is_left`
_LONG = 20_000  # an answer with more chunks has its times computed only once
_FEW = 200  # a trace with more turns is processed in the background


class StreamOptions(Struct, frozen=True):
    """`wrap` splits long lines into rows; the others show white space as glyphs, and lanes below the text.

    The lanes are the chunks of the text, the token ids, and their log probabilities.
    """

    wrap: bool = True
    white_space: bool = False
    chunks: bool = False
    ids: bool = False
    logprobs: bool = False


_Lane: TypeAlias = tuple[str, Line]


def lane_lines(part: Part, row: Range, cells: Sequence[int], options: StreamOptions, room: int) -> Iterator[_Lane]:
    """The lanes that are enabled and recorded, each line with its name."""
    chunks = part.chunks
    if chunks is None or not (options.chunks or options.ids or options.logprobs) or not len(row):
        return
    first = chunks.index_at(row.start) if row.start else 0
    last = chunks.index_at(row.end - 1)
    if options.chunks:
        drawn = _boundaries(chunks, row, cells, range(first, min(last + 1, len(chunks))), room)
        if drawn:
            yield "chunks", drawn
    begun = [index for index in range(first, min(last + 1, len(chunks))) if _start(chunks, index) >= row.start]
    if options.ids and chunks.token_ids is not None:
        words = (_ids(chunks.token_ids[index]) for index in begun)
        yield from _listed("ids", words, room, Style.KEY)
    if options.logprobs and chunks.logprobs is not None:
        words = (_logprobs(chunks.logprobs[index]) for index in begun)
        yield from _listed("logprob", words, room, Style.INFO)


def chunk_words(part: Part, offset: int) -> str:
    """The chunk of a character in words: its number, arrival time, token ids and log probabilities."""
    chunks = part.chunks
    if chunks is None or not len(chunks):
        return "text only"
    index = min(chunks.index_at(offset), len(chunks) - 1)
    words = [f"chunk {chunks.sequences[index]}"]
    at_s = chunks.offsets_s[index] if chunks.offsets_s else None
    if at_s is not None:
        gap = gap_before(chunks, index)
        after = f" ({_milliseconds(gap)} after the previous one)" if gap is not None else ""
        words.append(f"at {at_s:.3f} s{after}")
    if chunks.token_ids is not None and (ids := chunks.token_ids[index]):
        words.append(f"{'id' if len(ids) == 1 else 'ids'} {_short(ids)}")
    if chunks.logprobs is not None and (odds := chunks.logprobs[index]):
        words.append("logprob " + _short(f"{odd:.2f}" for odd in odds))
    return " · ".join(words)


def missing_lanes(part: Part, options: StreamOptions) -> str:
    """A sentence on the enabled lanes that the recording of a part does not have; empty if it has all."""
    chunks = part.chunks
    if not (options.chunks or options.ids or options.logprobs):
        return ""
    if chunks is None:
        return "The recording has only text: no chunks, token ids or log probabilities."
    missing = ["times of the chunks"] if options.chunks and chunks.offsets_s is None else []
    missing += ["token ids"] if options.ids and chunks.token_ids is None else []
    missing += ["log probabilities"] if options.logprobs and chunks.logprobs is None else []
    return f"The recording has no {' and no '.join(missing)}." if missing else ""


def gap_before(chunks: Chunks, index: int) -> float | None:
    """The seconds between a chunk and the previous one in the same part; None if a time is unknown."""
    if not index or chunks.offsets_s is None:
        return None
    now, before = chunks.offsets_s[index], chunks.offsets_s[index - 1]
    return None if now is None or before is None else now - before


def _boundaries(chunks: Chunks, row: Range, cells: Sequence[int], indices: range, room: int) -> Line:
    """A `│` below the first character of each chunk, and a `!` with the time after a stall."""
    drawn = [" "] * room
    stalls: list[tuple[int, str]] = []
    for index in indices:
        start = _start(chunks, index)
        if not row.start <= start < row.end or cells[start - row.start] >= room:
            continue
        cell = cells[start - row.start]
        drawn[cell] = "│"
        gap = gap_before(chunks, index)
        if gap is not None and gap >= STALL_S:
            stalls.append((cell, f"│{_milliseconds(gap).replace(' ', '')}!"))
    runs: list[Run] = []
    done = 0
    for cell, words in stalls:
        if cell >= done:
            runs += (Run("".join(drawn[done:cell]), Style.GUTTER), Run(words, Style.WARNING))
            done = cell + len(words)
    return tuple(run for run in (*runs, Run("".join(drawn[done:]).rstrip(), Style.GUTTER)) if run.text)


def _listed(name: str, words: Iterator[str], room: int, style: Style) -> Iterator[_Lane]:
    text = " ".join(words)
    for index, line in enumerate(wrapped_words(text, room) if text else ()):
        yield ("" if index else name), (Run(line, style),)


def _ids(ids: Sequence[int] | None) -> str:
    return "│" + (" ".join(map(str, ids)) if ids else "-")


def _logprobs(odds: Sequence[float] | None) -> str:
    """The log probabilities of a chunk, with a `!` after an unlikely one."""
    return "│" + (" ".join(f"{odd:.2f}{'!' if odd < _UNLIKELY else ''}" for odd in odds) if odds else "-")


def _short(words: Iterable[object]) -> str:
    """The first few of a chunk's values; it may have thousands."""
    shown = [str(word) for word in islice(words, _MAX_WORDS + 1)]
    return " ".join(shown[:_MAX_WORDS]) + (" …" if len(shown) > _MAX_WORDS else "")


def _start(chunks: Chunks, index: int) -> int:
    return chunks.ends[index - 1] if index else 0


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if abs(seconds) < 10 else f"{seconds:.1f} s"


class ChunkGap(NamedTuple):
    """A time between two chunks of a part, in seconds, and the sequence number of the later one."""

    seconds: float
    before: int


class _ChunkTimes(NamedTuple):
    """The arrival of an answer's first chunk, in seconds from its start, and its longest gap; None if unknown."""

    first_s: float | None
    gap: ChunkGap | None


class AnswerTimes(NamedTuple):
    """The numbers of the turns with answers of a model, and the times of answers with very many chunks."""

    turns: Sequence[int]
    long: Mapping[int, _ChunkTimes] = MappingProxyType({})


def are_cheap_to_compute(trace: Trace) -> bool:
    """Whether the times of a trace's answers can be computed without a noticeable delay."""
    if len(trace.turns) > _FEW:
        return False
    return sum(map(_chunks, trace.turns)) <= _LONG


def answer_times(trace: Trace, is_left: Callable[[], bool] = bool) -> AnswerTimes | None:
    """Compute the times of a trace's answers, which may take seconds. Returns None if `is_left` becomes true."""
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
    """A line for each answer of the model, with a link to the answer's start. A chunk is not a token.

    `times` are those of the trace, if the caller already has them.
    """
    known = times or answer_times(dissection.trace) or AnswerTimes(())
    if not known.turns:
        message = "The recording has no model answers, so there are no times."
        return SideLines([SideLine((Run(message, Style.DIM),))])
    turns, begins = dissection.trace.turns, _Begins(dissection.trace, known.turns)

    def line(index: int, _: int) -> Line:
        number = known.turns[index]
        return _line(number, turns[number - 1], known.long.get(number))

    def near(location: Location) -> int | None:
        index = bisect_left(known.turns, location.turn)
        is_there = index < len(begins) and known.turns[index] == location.turn and begins[index] is not None
        return index if is_there else None

    return LazyLines(begins, line, near)


class _Begins(Column[Location | None]):
    """The start of each answer; None for one without a text."""

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
    """The longest time between two chunks; None without times, or if `is_left` becomes true."""
    if chunks.offsets_s is None:
        return None
    offsets, start = iter(chunks.offsets_s), 0
    longest: tuple[float, int] | None = None
    row = tuple(islice(offsets, 1))
    while piece := tuple(islice(offsets, _PIECE)):
        if is_left():
            return None
        row = (row[-1], *piece)
        longest_of_piece = max(_gaps(row, start + 1), default=longest)
        longest = longest_of_piece if longest is None or longest_of_piece is None else max(longest, longest_of_piece)
        start += len(piece)
    return None if longest is None else ChunkGap(longest[0], chunks.sequences[longest[1]])


def _gaps(offsets: Sequence[float | None], first: int) -> Iterator[tuple[float, int]]:
    """The gaps between successive times, each with the index of the later one; `first` is that of the second time."""
    known = [offset for offset in offsets if offset is not None]
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
    firsts = (next((offset for offset in chunks.offsets_s or () if offset is not None), None) for chunks in kept)
    gaps = (gap for chunks in kept if (gap := longest_gap(chunks, is_left)) is not None)
    first_s = min((first for first in firsts if first is not None), default=None)
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
        return (*head, Run(" · ".join(facts)) if facts else Run("no times recorded", Style.DIM))
    is_stall = gap.seconds >= STALL_S
    gap_text = f"longest gap {_seconds(gap.seconds)} before chunk {gap.before}{'!' if is_stall else ''}"
    style = Style.WARNING if is_stall else Style.PLAIN
    return (*head, Run(" · ".join(facts)), Run(" · "), Run(gap_text, style))


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if abs(seconds) < 1 else f"{seconds:.2f} s"
