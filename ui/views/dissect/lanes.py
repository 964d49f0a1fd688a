"""The lanes below a row of the stream (chunks, token ids, log probabilities), and the options that switch them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from msgspec import Struct

from inspector.model import Chunks, Part
from inspector.text import Range
from ui.views.styled_text import Line, Run, Style, wrapped_words

STALL_S = 0.5
"""A gap between two chunks that is marked, in seconds."""

_UNLIKELY = -4.0
_MOST_SHOWN = 8


class StreamOptions(Struct, frozen=True):
    """`wrap` cuts long lines into rows; the others draw blanks as glyphs, and lanes below the text.

    The lanes are the chunks that the text arrived in, the token ids, and their log probabilities.
    """

    wrap: bool = True
    white_space: bool = False
    chunks: bool = False
    ids: bool = False
    logprobs: bool = False


_Lane: TypeAlias = tuple[str, Line]


def lane_lines(part: Part, place: Range, cells: Sequence[int], options: StreamOptions, room: int) -> Iterator[_Lane]:
    """The lanes that are switched on and that the recording has, each line with its name."""
    chunks = part.chunks
    if chunks is None or not (options.chunks or options.ids or options.logprobs) or not len(place):
        return
    first = chunks.at(place.start) if place.start else 0
    last = chunks.at(place.end - 1)
    if options.chunks:
        drawn = _boundaries(chunks, place, cells, range(first, min(last + 1, len(chunks))), room)
        if drawn:
            yield "chunks", drawn
    begun = [index for index in range(first, min(last + 1, len(chunks))) if _start(chunks, index) >= place.start]
    if options.ids and chunks.token_ids is not None:
        words = (_ids(chunks.token_ids[index]) for index in begun)
        yield from _listed("ids", words, room, Style.KEY)
    if options.logprobs and chunks.logprobs is not None:
        words = (_logprobs(chunks.logprobs[index]) for index in begun)
        yield from _listed("logprob", words, room, Style.INFO)


def chunk_words(part: Part, offset: int) -> str:
    """What is known of the chunk that brought a character: its number, when it came, its token ids and their odds."""
    chunks = part.chunks
    if chunks is None or not len(chunks):
        return "text only"
    index = min(chunks.at(offset), len(chunks) - 1)
    said = [f"chunk {chunks.sequences[index]}"]
    at_s = chunks.offsets_s[index] if chunks.offsets_s else None
    if at_s is not None:
        gap = gap_before(chunks, index)
        said.append(f"at {at_s:.3f} s" + (f" ({_milliseconds(gap)} after the one before)" if gap is not None else ""))
    if chunks.token_ids is not None and (ids := chunks.token_ids[index]):
        said.append(f"{'id' if len(ids) == 1 else 'ids'} {_short(ids)}")
    if chunks.logprobs is not None and (odds := chunks.logprobs[index]):
        said.append("logprob " + _short(f"{one:.2f}" for one in odds))
    return " · ".join(said)


def missing_lanes(part: Part, options: StreamOptions) -> str:
    """A sentence on the lanes that are switched on and that the recording of a part has not; empty where it has all."""
    chunks = part.chunks
    if not (options.chunks or options.ids or options.logprobs):
        return ""
    if chunks is None:
        return "The recording kept the text only: there are no chunks, token ids or log probabilities to show."
    missing = ["times of the chunks"] if options.chunks and chunks.offsets_s is None else []
    missing += ["token ids"] if options.ids and chunks.token_ids is None else []
    missing += ["log probabilities"] if options.logprobs and chunks.logprobs is None else []
    return f"The recording kept no {' and no '.join(missing)}." if missing else ""


def gap_before(chunks: Chunks, index: int) -> float | None:
    """The seconds between a chunk and the one before it in the same part; None where a time is not known."""
    if not index or chunks.offsets_s is None:
        return None
    now, before = chunks.offsets_s[index], chunks.offsets_s[index - 1]
    return None if now is None or before is None else now - before


def _boundaries(chunks: Chunks, place: Range, cells: Sequence[int], indices: range, room: int) -> Line:
    """A `│` below the first character of each chunk, a `!` with the time where it kept the reader waiting."""
    drawn = [" "] * room
    stalls: list[tuple[int, str]] = []
    for index in indices:
        start = _start(chunks, index)
        if not place.start <= start < place.end or cells[start - place.start] >= room:
            continue
        at = cells[start - place.start]
        drawn[at] = "│"
        gap = gap_before(chunks, index)
        if gap is not None and gap >= STALL_S:
            stalls.append((at, f"│{_milliseconds(gap).replace(' ', '')}!"))
    runs: list[Run] = []
    done = 0
    for at, words in stalls:
        if at >= done:
            runs += (Run("".join(drawn[done:at]), Style.GUTTER), Run(words, Style.WARNING))
            done = at + len(words)
    return tuple(run for run in (*runs, Run("".join(drawn[done:]).rstrip(), Style.GUTTER)) if run.text)


def _listed(name: str, words: Iterator[str], room: int, style: Style) -> Iterator[_Lane]:
    said = " ".join(words)
    for index, line in enumerate(wrapped_words(said, room) if said else ()):
        yield ("" if index else name), (Run(line, style),)


def _ids(ids: Sequence[int] | None) -> str:
    return "│" + (" ".join(map(str, ids)) if ids else "-")


def _logprobs(odds: Sequence[float] | None) -> str:
    """The log probabilities of a chunk; an unlikely one bears a `!`."""
    return "│" + (" ".join(f"{one:.2f}{'!' if one < _UNLIKELY else ''}" for one in odds) if odds else "-")


def _short(words: Iterable[object]) -> str:
    """The first few of a chunk's values, which may be thousands."""
    shown = [str(word) for word in islice(words, _MOST_SHOWN + 1)]
    return " ".join(shown[:_MOST_SHOWN]) + (" …" if len(shown) > _MOST_SHOWN else "")


def _start(chunks: Chunks, index: int) -> int:
    return chunks.ends[index - 1] if index else 0


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if abs(seconds) < 10 else f"{seconds:.1f} s"
