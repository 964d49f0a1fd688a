"""What came of a break: which steps went on with what it returned, and what the agent said of it."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain as one_by_one

from inspector.chain.speech import HEARD, admission
from inspector.chain.steps import Chain, Reaction, Step
from inspector.inspection import Inspection, PartInspection
from inspector.model import Role, Span, SpanKind, Trace

_MOST_NAMED = 8


def consequence(chain: Chain, step: Step) -> str:
    """What the break at `step` caused, in a sentence."""
    run = step.retry_of or step.number
    if all(later.retry_of == run for later in _behind(chain, step)):
        return "No other call came after it."
    if not chain.caused:
        return "Nothing later used it." if step.result is not None else "It returned nothing for a later call to use."
    used = any(step.number in later.depends_on for later in _behind(chain, step))
    went_on = "went on with what it returned" if used else "went on with what was made up in its place"
    return f"{_named(chain.caused)} {went_on}."


def words_on_break(trace: Trace, inspection: Inspection) -> tuple[int, str] | None:
    """The turn and the words in which the agent owned up to the break, or else its last words after it."""
    chain = inspection.chain
    if chain.broken is None or chain.broken.reaction is None:
        return None
    step = chain.steps[chain.broken.step - 1]
    known = (step.result_location or step.location).turn
    first = bisect_right(inspection.parts, known, key=_turn)
    last = next(_speeches(trace, inspection, range(len(inspection.parts) - 1, first - 1, -1)), None)
    if last is None or chain.broken.reaction is not Reaction.REPORTED:
        return last
    spoken = one_by_one((last,), _speeches(trace, inspection, range(first, len(inspection.parts))))
    admitted = ((turn, words) for turn, text in spoken if (words := admission(text)) is not None)
    return next(admitted, None)


def _behind(chain: Chain, step: Step) -> Iterator[Step]:
    return map(chain.steps.__getitem__, range(step.number, len(chain.steps)))


def _named(numbers: Sequence[int]) -> str:
    """Steps as a sentence names them: `Steps 5, 7 and 9`."""
    if len(numbers) == 1:
        return f"Step {numbers[0]}"
    shown, left = [f"{number}" for number in numbers[:_MOST_NAMED]], len(numbers) - _MOST_NAMED
    last = f"{left} more" if left > 0 else shown.pop()
    return f"Steps {', '.join(shown)} and {last}"


def _speeches(trace: Trace, inspection: Inspection, indices: Iterable[int]) -> Iterator[tuple[int, str]]:
    """What the agent said in some of the parts: the turn, and how its words begin."""
    for found in map(inspection.parts.__getitem__, indices):
        turn = trace.turns[found.turn - 1] if found.part == "text" else None
        part = turn.part(found.part) if turn is not None and turn.role is Role.ASSISTANT else None
        said = _beginning(part.text, found.spans) if part is not None else ""
        if said.strip():
            yield found.turn, said


def _beginning(text: str, spans: Iterable[Span]) -> str:
    """The first words of some spans, as many as anybody looks at: a text may have millions."""
    said: list[str] = []
    room = HEARD
    for span in spans:
        if room <= 0:
            break
        if span.kind is SpanKind.TEXT:
            said.append(text[span.inner.start : min(span.inner.end, span.inner.start + room)])
            room -= len(said[-1])
    return "".join(said)


def _turn(part: PartInspection) -> int:
    return part.turn
