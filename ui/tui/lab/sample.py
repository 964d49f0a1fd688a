"""The stream that the lab reads again: one part of a stored trace, and what the stored reading found in it."""

from bisect import bisect_left
from dataclasses import dataclass
from itertools import islice

from inspector.checks.tools import OfferedTools
from inspector.diagnostics import Diagnostic, Location
from inspector.formats.format import Format
from inspector.formats.registry import formats
from inspector.inspection import Inspection, PartInspection
from inspector.model import Part, Role, Trace, Turn
from inspector.wire.events import PROMPT_PART
from storage import Store
from ui.views.trace import title_of

_SAMPLE = 65_536
TEXT = "text"


@dataclass(frozen=True, slots=True)
class LabSample:
    """A text, how it came, what the request gave to read it by, and what is stored of it.

    `diagnostics` are all that the stored inspection has in this part, also those that only the whole trace shows.
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
        """Every format and how much the text looks like it: that of the stored reading first, then the likeliest."""
        text = self.text[:_SAMPLE]
        weighed = [(one, one.confidence(text)) for one in formats()]
        return sorted(weighed, key=lambda pair: (pair[0].name != self.stored.format, -pair[1], pair[0].name))


def sample_of(store: Store, *, id: int, place: Location | None) -> LabSample | None:
    """The text at a place, else that of the break, else the longest answer; None where nothing was said. StoreError."""
    trace, inspection = store.inspected(id, in_columns=True)
    number = _turn(trace, inspection, place)
    part = trace.turns[number - 1].part(TEXT) if number else None
    if part is None:
        return None
    turn = trace.turns[number - 1]
    first = bisect_left(inspection.parts, number, key=lambda one: one.turn)
    of_turn = (inspection.parts[index] for index in range(first, len(inspection.parts)))
    unread = PartInspection(number, TEXT, inspection.format, ())  # of a running trace that nobody has inspected so far
    stored = next((one for one in of_turn if (one.turn, one.part) == (number, TEXT)), unread)
    prompt = turn.part(PROMPT_PART)
    wrong = [one for one in inspection.diagnostics if one.location.turn == number and one.location.part == TEXT]
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


def _turn(trace: Trace, inspection: Inspection, place: Location | None) -> int:
    """The number of the turn whose text is to be read; 0 where there is none."""
    wanted = [place.turn] if place is not None else []
    failed = (step for step in inspection.chain.steps if step.outcome.failed)
    wanted += [step.location.turn for step in islice(failed, 1)]
    for number in wanted:
        if 0 < number <= len(trace.turns) and _has_text(trace.turns[number - 1]):
            return number
    spoken = ((_worth(turn), number) for number, turn in enumerate(trace.turns, 1) if _has_text(turn))
    return max(spoken, key=lambda one: one[0], default=(None, 0))[1]


def _has_text(turn: Turn) -> bool:
    part = turn.part(TEXT)
    return part is not None and bool(part.text)


def _worth(turn: Turn) -> tuple[bool, int]:
    part = turn.part(TEXT)
    return turn.role is Role.ASSISTANT, len(part.text) if part is not None else 0


def _tools(trace: Trace, inspection: Inspection, number: int) -> OfferedTools:
    """The tools that the turn's request offered, else those that the texts before it define."""
    generation = trace.turns[number - 1].generation
    if generation is not None and generation.tools:
        return OfferedTools(generation.tools)
    before = (one for one in inspection.parts if one.turn < number and one.definitions)
    told = [one for one in before if trace.turns[one.turn - 1].role in (Role.SYSTEM, Role.USER)]
    return OfferedTools([tool for one in told for tool in one.definitions])
