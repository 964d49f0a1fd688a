"""What comes next in a trace: the next fault, the next step, the next place where words stand."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from inspector.chain.steps import Step
from inspector.diagnostics import Diagnostic, Location
from inspector.text import Range
from ui.views.dissect.dissection import Dissection

Order = tuple[int, int, int, int]
"""Where a place stands among all: turn, part, beginning, end; before a turn's parts what lies in none."""


def order_of(dissection: Dissection, location: Location) -> Order:
    """Where a place stands among all."""
    part = dissection.part(location.turn, location.part)
    return location.turn, part.index if part else -1, location.range.start, location.range.end


def next_fault(dissection: Dissection, location: Location, *, back: bool = False) -> Diagnostic | None:
    """The nearest diagnostic behind a place, or before it; None at the end."""
    found = dissection.inspection.diagnostics
    index = _beside([order_of(dissection, one.location) for one in found], order_of(dissection, location), back=back)
    return None if index is None else found[index]


def next_step(dissection: Dissection, location: Location, *, back: bool = False) -> Step | None:
    """The nearest step whose call stands behind a place, or before it; None at the end."""
    steps = dissection.inspection.chain.steps
    orders = [(*order_of(dissection, step.location)[:3], 0) for step in steps]
    here = order_of(dissection, location)
    around = next((step for step in steps if _is_in(location, step.location)), None)
    if around is not None:
        here = order_of(dissection, around.location)
    index = _beside(orders, (*here[:3], 0), back=back)
    return None if index is None else steps[index]


def find(dissection: Dissection, words: str, location: Location, *, back: bool = False) -> Location | None:
    """Where words stand next behind a place, or before it, and from the other end on where they stand nowhere else.

    Words without capitals are found in any spelling. None where the trace does not hold them.
    """
    parts = dissection.parts
    if not words or not parts:
        return None
    pattern = re.compile(re.escape(words), 0 if words != words.lower() else re.IGNORECASE)
    here = dissection.part(location.turn, location.part) or parts[0]
    at = location.range.start
    for distance in range(len(parts) + 1):
        part = parts[(here.index + (-distance if back else distance)) % len(parts)]
        found = _last(pattern, part.text, at if not distance else None) if back else None
        if not back:
            match = pattern.search(part.text, at + 1 if not distance else 0)
            found = Range(*match.span()) if match else None
        if found is not None:
            return part.location(found)
    return None


def _last(pattern: re.Pattern[str], text: str, before: int | None) -> Range | None:
    """The last match that begins before an offset, or the last of all."""
    last = None
    for match in pattern.finditer(text):
        if before is not None and match.start() >= before:
            break
        last = match
    return Range(*last.span()) if last else None


def _beside(orders: Sequence[Order], here: Order, *, back: bool) -> int | None:
    ascending = sorted(range(len(orders)), key=orders.__getitem__)
    keys = [orders[index] for index in ascending]
    at = bisect_left(keys, here) - 1 if back else bisect_right(keys, here)
    return ascending[at] if 0 <= at < len(ascending) else None


def _is_in(inner: Location, outer: Location) -> bool:
    same = (inner.turn, inner.part) == (outer.turn, outer.part)
    return same and outer.range.start <= inner.range.start < max(outer.range.end, outer.range.start + 1)
