"""What comes next in a trace: the next fault, the next step, the next place where words stand."""

import re
from collections.abc import Sequence

from inspector.chain.steps import Step
from inspector.diagnostics import Diagnostic, Location
from inspector.model import Part
from inspector.text import Range
from ui.views.dissect.dissection import Dissection


def next_fault(dissection: Dissection, location: Location, *, back: bool = False) -> Diagnostic | None:
    """The nearest diagnostic behind a place, or before it; None at the end."""
    index = dissection.faults.places.beside(dissection.order_of(location), back=back)
    return None if index is None else dissection.inspection.diagnostics[index]


def fault_at(dissection: Dissection, location: Location) -> Diagnostic | None:
    """The diagnostic at a place, the smallest of several, else the nearest behind it, else before; None for none."""
    here = dissection.wrong_in_part(location.turn, location.part).smallest_at(location.range.start)
    return here or next_fault(dissection, location) or next_fault(dissection, location, back=True)


def next_step(dissection: Dissection, location: Location, *, back: bool = False) -> Step | None:
    """The nearest step whose call stands behind a place, or before it; None at the end."""
    calls = dissection.steps.calls
    here = (*dissection.order_of(location)[:3], 0)
    at = calls.first_behind(here) - 1
    index = calls.beside(calls.order(at) if at >= 0 and calls.is_held(here, at) else here, back=back)
    return None if index is None else dissection.inspection.chain.steps[index]


def find(dissection: Dissection, words: str, location: Location, *, back: bool = False) -> Location | None:
    """Where words stand next behind a place, or before it, and from the other end on where they stand nowhere else.

    Words without capitals are found in any spelling. None where the trace does not hold them.
    """
    parts, trace = dissection.outline.parts, dissection.trace
    if not words or not len(parts):
        return None
    pattern = re.compile(re.escape(words), 0 if words != words.lower() else re.IGNORECASE)
    first = max(parts.number(location.turn, location.part), 0)
    texts: Sequence[Part] = ()
    at, turn = location.range.start, 0
    for distance in range(len(parts) + 1):
        part = (first + (-distance if back else distance)) % len(parts)
        if part not in parts.of_turn(turn):
            turn = parts.turn_of(part)
            texts = trace.turns[turn - 1].parts
        source = texts[part - parts.of_turn(turn).start]
        found = _last(pattern, source.text, at if not distance else None) if back else None
        if not back:
            match = pattern.search(source.text, at + 1 if not distance else 0)
            found = Range(*match.span()) if match else None
        if found is not None:
            return Location(turn, source.name, found)
    return None


def _last(pattern: re.Pattern[str], text: str, before: int | None) -> Range | None:
    """The last match that begins before an offset, or the last of all."""
    last = None
    for match in pattern.finditer(text):
        if before is not None and match.start() >= before:
            break
        last = match
    return Range(*last.span()) if last else None
