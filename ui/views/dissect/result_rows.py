"""A tool's result as rows of the tree: JSON down to the last value where it is that, else a text."""

from collections.abc import Iterator

from inspector.json_scanner import JsonKind, read_json
from inspector.model import ToolResult
from inspector.text import Range
from ui.views.dissect.dissected_part import DissectedPart
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.json_rows import JsonRows
from ui.views.dissect.tree_row import TreeRow, fault_mark
from ui.views.palette import Style
from ui.views.run import Run
from ui.views.status import step_glyph
from ui.views.visible import visible_line

_GLANCE, _LONGEST = 512, 120


def result_row(
    dissection: Dissection, part: DissectedPart, result: ToolResult, key: tuple[str | int, ...], place: Range
) -> TreeRow:
    """A result and the step that it answers; `place` are the characters that it is shown by, markers included."""
    step = dissection.steps.of_result(part.turn, part.name, result.range)
    wrong = part.wrong_in(place)
    label: list[Run] = [Run("result ", Style.TOOL_RESULT), *fault_mark(wrong)]
    if step is not None:
        label += (Run(f"of step {step.number} ", Style.DIM), step_glyph(step), Run(" "))
    name = result.name or (step.call.name if step is not None else None)
    if name:
        label.append(Run(f"{visible_line(name[:_LONGEST])}  ", Style.STRONG))
    if result.is_error:
        label.append(Run("error  ", Style.ERROR))
    begun = " ".join(result.content[:_GLANCE].split())[:_LONGEST]
    label.append(Run(visible_line(begun) if begun else "empty", Style.DIM))
    number = step.number if step is not None else None
    is_json = result.content.lstrip()[:1] in ("{", "[") and len(result.content) == len(result.range)
    grow = (lambda: _values(part, result, key, number)) if is_json else None
    heavy = len(result.content) if is_json else 0
    return TreeRow(key, tuple(label), part.location(place), number, None, grow, wrong, heavy)


def _values(part: DissectedPart, result: ToolResult, key: tuple[str | int, ...], step: int | None) -> Iterator[TreeRow]:
    start = result.range.start
    rows = JsonRows(part, result.content, lambda within: _moved(within, start), step, is_argument=False)
    for index, node in enumerate(read_json(result.content).nodes):
        if node.kind in (JsonKind.OBJECT, JsonKind.ARRAY):
            yield from rows.children((*key, index), node, "")


def _moved(within: Range, distance: int) -> Range:
    return within.moved(distance)
