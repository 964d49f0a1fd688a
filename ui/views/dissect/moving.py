"""What comes next in a trace: the next fault, the next step, the next place where words stand."""

import re
from bisect import bisect_left, bisect_right

from inspector.chain.steps import Step
from inspector.diagnostics import Diagnostic, Location
from inspector.text import Range
from ui.views.dissect.dissection import Dissection, Order, Ordered


def next_fault(dissection: Dissection, location: Location, *, back: bool = False) -> Diagnostic | None:
    """The nearest diagnostic behind a place, or before it; None at the end."""
    index = _beside(dissection.fault_orders, dissection.order_of(location), back=back)
    return None if index is None else dissection.inspection.diagnostics[index]


def fault_at(dissection: Dissection, location: Location) -> Diagnostic | None:
    """The diagnostic at a place, the smallest of several, else the nearest behind it, else before; None for none."""
    part = dissection.part(location.turn, location.part)
    start = location.range.start
    here = [
        one
        for one in (part.diagnostics if part is not None else dissection.without_part(location.turn))
        if one.range.start <= start < max(one.range.end, one.range.start + 1)
    ]
    if here:
        return min(here, key=lambda one: len(one.range))
    return next_fault(dissection, location) or next_fault(dissection, location, back=True)


def next_step(dissection: Dissection, location: Location, *, back: bool = False) -> Step | None:
    """The nearest step whose call stands behind a place, or before it; None at the end."""
    steps, orders = dissection.inspection.chain.steps, dissection.step_orders
    here = (*dissection.order_of(location)[:3], 0)
    at = bisect_right(orders, here) - 1
    if at >= 0 and _is_in(location, steps[orders.indices[at]].location):
        here = orders[at]
    index = _beside(orders, here, back=back)
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


def _beside(ordered: Ordered, here: Order, *, back: bool) -> int | None:
    at = bisect_left(ordered, here) - 1 if back else bisect_right(ordered, here)
    return ordered.indices[at] if 0 <= at < len(ordered) else None


def _is_in(inner: Location, outer: Location) -> bool:
    same = (inner.turn, inner.part) == (outer.turn, outer.part)
    return same and outer.range.start <= inner.range.start < max(outer.range.end, outer.range.start + 1)
