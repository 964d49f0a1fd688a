"""The figures of a trace as rows: what metrics over many traces add up, without reading those traces."""

from collections import Counter

from inspector.chain.metrics_counting import figures_of
from inspector.chain.metrics_figures import TraceFigures
from inspector.inspection import Inspection
from inspector.model import Trace
from storage.packing.escapes import key
from storage.rows import Row


def figures_in(trace: Trace, inspection: Inspection) -> TraceFigures:
    """The figures of a trace, as its inspection sees it."""
    definitions = ((part.turn, tool) for part in inspection.parts for tool in part.definitions)
    return figures_of(trace, inspection.chain, inspection.diagnostics, definitions)


def tool_rows(figures: TraceFigures) -> list[Row]:
    """What was counted over the calls of each tool; an unreadable name is an empty one."""
    return [{"name": key(tool), **figures.numbers_of(tool)} for tool in figures.tools]


def violation_rows(figures: TraceFigures) -> list[Row]:
    """Which places of which tool's schema were broken, by which rule."""
    times: Counter[tuple[str, str, str]] = Counter()
    for one in figures.violations:
        times[key(one.tool), key(one.path), one.code] += one.times
    return [{"tool": tool, "path": path, "code": code, "times": n} for (tool, path, code), n in times.items()]
