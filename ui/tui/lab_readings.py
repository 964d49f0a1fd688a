"""Read a stored stream again with any format and any chunking, and compare the result with the stored one."""

import random
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from itertools import islice

from msgspec import Struct

from weaklink.inspector.checks.tools import OfferedTools
from weaklink.inspector.diagnostics import Diagnostic, Location
from weaklink.inspector.formats.detection import SAMPLE_CHARS
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.model import Part, Role, Span, ToolCall, Trace, Turn
from weaklink.inspector.segmentation import Segmentation, Segmenter
from weaklink.inspector.wire.events import PROMPT_PART
from weaklink.storage.store import Store
from weaklink.ui.views.trace import title_of

MAX_PIECES = 20_000
"""The maximum number of pieces of a stream, so that reading it takes only seconds, whatever its size."""

_MAX_PIECE_CHARS = 24
TEXT = "text"
_PIECES_PER_CHECK = 256  # pieces between checks whether the result is still needed


class Chunking(StrEnum):
    """The ways to cut a stream, with the names of their columns."""

    WHOLE = "whole"
    AS_RECEIVED = "as received"
    SINGLE = "characters"
    RANDOM = "random"


def pieces_of(part: Part, cut: Chunking, seed: int) -> Iterator[str]:
    """The pieces into which a part's text is cut, in order; none if its chunks were not kept."""
    text = part.text
    match cut:
        case Chunking.WHOLE:
            yield text
        case Chunking.AS_RECEIVED:
            yield from _as_recorded(part)
        case Chunking.SINGLE:
            size = single_size(text)
            yield from (text[start : start + size] for start in range(0, len(text), size))
        case Chunking.RANDOM:
            yield from _at_random(text, seed)


def single_size(text: str) -> int:
    """The number of characters in a piece of `characters`: one, or more if that would be too many pieces."""
    return max(-(-len(text) // MAX_PIECES), 1)


def _as_recorded(part: Part) -> Iterator[str]:
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
    longest = _MAX_PIECE_CHARS * single_size(text)
    start = 0
    while start < len(text):
        end = start + chance.randint(1, longest)
        yield text[start:end]
        start = end


class LabSample(Struct, frozen=True):
    """A text, its chunks, what the request says about reading it, and its stored inspection.

    `diagnostics` are all of the stored inspection in this part, including those that only the whole trace shows.
    """

    id: int
    title: str
    turn: int
    part: Part
    role: Role
    prompt: str
    tools: OfferedTools
    stored: PartInspection
    diagnostics: tuple[Diagnostic, ...]

    @property
    def text(self) -> str:
        """The exact text."""
        return self.part.text

    def candidates(self) -> list[tuple[Format, float]]:
        """Every format with its confidence: that of the stored reading first, then the likeliest ones."""
        text = self.text[:SAMPLE_CHARS]
        weighed = [(format_, format_.confidence(text)) for format_ in formats()]
        return sorted(weighed, key=lambda pair: (pair[0].name != self.stored.format, -pair[1], pair[0].name))


def sample_of(store: Store, *, id: int, location: Location | None) -> LabSample | None:
    """The text at a place, else at the break, else of the longest answer; None if there is none. Raises StoreError."""
    trace, inspection = store.inspected(id, may_lag=True)
    number = _turn(trace, inspection, location)
    part = trace.turns[number - 1].part(TEXT) if number else None
    if part is None:
        return None
    turn = trace.turns[number - 1]
    first = bisect_left(inspection.parts, number, key=lambda part: part.turn)
    of_turn = (inspection.parts[index] for index in range(first, len(inspection.parts)))
    unread = PartInspection(number, TEXT, inspection.format, ())  # for a running trace that is not inspected yet
    stored = next((part for part in of_turn if (part.turn, part.part) == (number, TEXT)), unread)
    prompt = turn.part(PROMPT_PART)
    wrong = [
        diagnostic
        for diagnostic in inspection.diagnostics
        if diagnostic.location.turn == number and diagnostic.location.part == TEXT
    ]
    return LabSample(
        id,
        title_of(trace),
        number,
        part,
        turn.role,
        prompt.text if prompt else "",
        _tools(trace, inspection, number),
        stored,
        tuple(wrong),
    )


def _turn(trace: Trace, inspection: Inspection, location: Location | None) -> int:
    """The number of the turn whose text is read; 0 if there is none."""
    numbers = [location.turn] if location is not None else []
    failed = (step for step in inspection.chain.steps if step.outcome.failed)
    numbers += [step.location.turn for step in islice(failed, 1)]
    for number in numbers:
        if 0 < number <= len(trace.turns) and _has_text(trace.turns[number - 1]):
            return number
    spoken = ((_size_rank(turn), number) for number, turn in enumerate(trace.turns, 1) if _has_text(turn))
    return max(spoken, key=lambda choice: choice[0], default=(None, 0))[1]


def _has_text(turn: Turn) -> bool:
    part = turn.part(TEXT)
    return part is not None and bool(part.text)


def _size_rank(turn: Turn) -> tuple[bool, int]:
    part = turn.part(TEXT)
    return turn.role is Role.ASSISTANT, len(part.text) if part is not None else 0


def _tools(trace: Trace, inspection: Inspection, number: int) -> OfferedTools:
    """The tools that the turn's request offered, else those that the texts before it define."""
    generation = trace.turns[number - 1].generation
    if generation is not None and generation.tools:
        return OfferedTools(generation.tools)
    before = (part for part in inspection.parts if part.turn < number and part.definitions)
    defining = [part for part in before if trace.turns[part.turn - 1].role in (Role.SYSTEM, Role.USER)]
    return OfferedTools([tool for part in defining for tool in part.definitions])


class ResultMatch(StrEnum):
    """How a reading compares with the stored one; `UNCUT`: the chunks of the stream were not kept."""

    SAME = "same"
    DIFFERS = "differs"
    ERROR = "error"
    UNCUT = "not kept"


class ResultCounts(Struct, frozen=True):
    """The result of one reading: its numbers of spans, calls and diagnostics, or the error that its reader raised."""

    likeness: ResultMatch
    spans: int = 0
    calls: int = 0
    diagnostics: int = 0
    raised: str = ""


class LabResult(Struct, frozen=True):
    """The content of a reading, for comparison."""

    spans: tuple[Span, ...]
    calls: tuple[ToolCall, ...]
    diagnostics: Sequence[Diagnostic]


class ResultNotNeededError(Exception):
    """The reading is no longer needed."""


def read_sample(
    sample: LabSample, format: Format, cut: Chunking, seed: int, is_left: Callable[[], bool]
) -> Segmentation | str:
    """The sample read by a format; a sentence if its reader raised. Raises ResultNotNeededError once `is_left`."""
    try:
        segmenter = Segmenter(
            format, prompt=sample.prompt, tools=sample.tools, role=sample.role, turn=sample.turn, part=sample.part.name
        )
        for number, piece in enumerate(pieces_of(sample.part, cut, seed)):
            if number % _PIECES_PER_CHECK == 0 and is_left():
                raise ResultNotNeededError
            segmenter.feed(piece)
        segmenter.close()
        return segmenter.segmentation(sample.text)
    except ResultNotNeededError:
        raise
    except Exception as error:  # noqa: BLE001  # the reader of a plug-in is foreign code
        return f"The reader of `{format.name}` raised {type(error).__name__}: {error}."


class ResultComparison:
    """Compares readings with the stored one, by the stored diagnostics that a reading of this text can have.

    `beyond` is the number of the others, which only the whole trace shows, such as for an answer that was cut off.
    """

    def __init__(self, sample: LabSample, reading: Segmentation | str) -> None:
        diagnostics = reading.diagnostics if isinstance(reading, Segmentation) else ()
        codes = {diagnostic.rule.code for diagnostic in diagnostics}
        known = tuple(diagnostic for diagnostic in sample.diagnostics if diagnostic.rule.code in codes)
        self.stored = LabResult(sample.stored.spans, sample.stored.calls, known)
        self.beyond = len(sample.diagnostics) - len(known)

    def cell(self, reading: Segmentation | str) -> ResultCounts:
        """The result of comparing a reading."""
        if isinstance(reading, str):
            return ResultCounts(ResultMatch.ERROR, raised=reading)
        stored = self.stored
        is_same = (
            reading.spans == stored.spans
            and reading.calls == stored.calls
            and set(reading.diagnostics) == set(stored.diagnostics)
        )
        likeness = ResultMatch.SAME if is_same else ResultMatch.DIFFERS
        return ResultCounts(likeness, len(reading.spans), len(reading.calls), len(reading.diagnostics))


def has_no_chunks(sample: LabSample, cut: Chunking) -> bool:
    """Whether a sample cannot be cut this way, because its chunks were not kept."""
    return cut is Chunking.AS_RECEIVED and sample.part.chunks is None
