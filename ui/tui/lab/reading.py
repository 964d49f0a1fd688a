"""Reads a sample by a format in pieces, and says how that compares with the stored reading."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from inspector.diagnostics import Diagnostic
from inspector.formats.format import Format
from inspector.model import Span, ToolCall
from inspector.model.columns import Entries
from inspector.segmentation import Segmentation, Segmenter
from ui.tui.lab.cutting import Chunking, pieces_of
from ui.tui.lab.sample import LabSample

_LOOKED_AFTER = 256  # pieces after which a reader looks whether anybody still waits for it


class Likeness(StrEnum):
    """How a reading compares with the stored one; `UNCUT`: nobody knows how the stream came."""

    SAME = "same"
    DIFFERS = "differs"
    ERROR = "error"
    UNCUT = "not kept"


@dataclass(frozen=True, slots=True)
class Cell:
    """What one reading came to: how many spans, calls and diagnostics, and what its reader raised, if it did."""

    likeness: Likeness
    spans: int = 0
    calls: int = 0
    diagnostics: int = 0
    raised: str = ""


@dataclass(frozen=True, slots=True)
class LabResult:
    """What a reading holds, as it is compared."""

    spans: Entries[Span]
    calls: Entries[ToolCall]
    diagnostics: Sequence[Diagnostic]


class LeftError(Exception):
    """Nobody waits for the reading any more."""


def read(
    sample: LabSample, format: Format, cut: Chunking, seed: int, is_left: Callable[[], bool]
) -> Segmentation | str:
    """The sample read by a format; a sentence where that is a plug-in and raised. LeftError once `is_left`."""
    try:
        segmenter = Segmenter(
            format, prompt=sample.prompt, tools=sample.tools, role=sample.role, turn=sample.turn, part=sample.part.name
        )
        for number, piece in enumerate(pieces_of(sample.part, cut, seed)):
            if number % _LOOKED_AFTER == 0 and is_left():
                raise LeftError
            segmenter.feed(piece)
        segmenter.close()
        return segmenter.segmentation(sample.text)
    except LeftError:
        raise
    except Exception as error:  # noqa: BLE001  # the reader of a plug-in is foreign code
        return f"The reader of `{format.name}` raised {type(error).__name__}: {error}."


class Comparing:
    """Compares readings with the stored one. Of its diagnostics those count that a reading of this text can have.

    `beyond` counts the others: what only the whole trace shows, such as an answer that was cut off.
    """

    def __init__(self, sample: LabSample, own: Segmentation | str) -> None:
        found = own.diagnostics if isinstance(own, Segmentation) else ()
        codes = {one.rule.code for one in found}
        known = tuple(one for one in sample.diagnostics if one.rule.code in codes)
        self.stored = LabResult(sample.stored.spans, sample.stored.calls, known)
        self.beyond = len(sample.diagnostics) - len(known)

    def cell(self, reading: Segmentation | str) -> Cell:
        """How a reading compares."""
        if isinstance(reading, str):
            return Cell(Likeness.ERROR, raised=reading)
        stored = self.stored
        is_same = (
            reading.spans == stored.spans
            and reading.calls == stored.calls
            and set(reading.diagnostics) == set(stored.diagnostics)
        )
        likeness = Likeness.SAME if is_same else Likeness.DIFFERS
        return Cell(likeness, len(reading.spans), len(reading.calls), len(reading.diagnostics))


def uncut(sample: LabSample, cut: Chunking) -> bool:
    """Whether a sample cannot be cut so."""
    return cut is Chunking.AS_CAME and sample.part.chunks is None
