"""A call as rows of the tree: its name, and each of its arguments down to the last value, with its characters."""

from collections.abc import Iterator

from inspector.chain.steps import StepOutcome
from inspector.json_scanner import JsonKind, JsonNode, read_json
from inspector.model import Parameter, ToolCall
from inspector.text import Range
from ui.views.call import UNNAMED
from ui.views.dissect.dissected_part import DissectedPart
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.faults import NO_FAULTS
from ui.views.dissect.json_rows import JsonRows
from ui.views.dissect.tree_row import TreeRow, fault_mark
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.status import outcome_words, step_glyph
from ui.views.visible import visible_line

_LONGEST = 200


def call_row(
    dissection: Dissection, part: DissectedPart, call: ToolCall, key: tuple[str | int, ...], place: Range
) -> TreeRow:
    """A call with what became of it; `place` are the characters that it is shown by, markers included."""
    step = dissection.steps.of_call(part.turn, part.name, call)
    wrong = part.wrong_in(place)
    label: list[Run] = [Run("call ", Style.TOOL_CALL), *fault_mark(wrong)]
    label.append(Run(visible_line(call.name[:_LONGEST]) if call.name else UNNAMED, Style.STRONG))
    if step is not None:
        label.append(Run(f"  step {step.number}", Style.DIM))
        if step.outcome is not StepOutcome.OK:
            glyph = step_glyph(step)
            label += (Run(" "), Run(f"{glyph.text} {outcome_words(step)}", glyph.style))
    number = step.number if step is not None else None
    return TreeRow(
        key,
        tuple(label),
        part.location(place),
        number,
        None,
        lambda: _children(part, call, key, number),
        wrong,
    )


def _children(part: DissectedPart, call: ToolCall, key: tuple[str | int, ...], step: int | None) -> Iterator[TreeRow]:
    if call.name_range is not None:
        name: Line = (Run("name  ", Style.KEY), Run(visible_line((call.name or UNNAMED)[:_LONGEST]), Style.STRONG))
        yield TreeRow((*key, "name"), name, part.location(call.name_range), step)
    if call.id:
        yield TreeRow((*key, "id"), (Run("id  ", Style.KEY), Run(visible_line(call.id[:_LONGEST]))), None, step)
    yield _arguments(part, call, (*key, "arguments"), step)


def _arguments(part: DissectedPart, call: ToolCall, key: tuple[str | int, ...], step: int | None) -> TreeRow:
    place = call.arguments_range or call.range
    wrong = part.wrong_in(place) if len(place) else NO_FAULTS
    label = (Run("arguments  ", Style.KEY), *fault_mark(wrong), *_said(call))
    grows = bool(call.parameters) or call.raw_arguments.lstrip()[:1] not in ("", '"')
    grow = (lambda: _values(part, call, key, step)) if grows else None
    return TreeRow(
        key, label, part.location(place), step, "", grow, wrong, 0 if call.parameters else len(call.raw_arguments)
    )


def _said(call: ToolCall) -> Line:
    if isinstance(call.arguments, dict):
        return (Run(f"{{…}} {len(call.arguments)}" if call.arguments else "{}", Style.DIM),)
    return (Run(visible_line(call.raw_arguments[:_LONGEST].strip()), Style.DIM),)


def _values(part: DissectedPart, call: ToolCall, key: tuple[str | int, ...], step: int | None) -> Iterator[TreeRow]:
    if call.parameters:
        for index, parameter in enumerate(call.parameters):
            yield _parameter(part, parameter, (*key, index), step)
        return
    nodes = read_json(call.raw_arguments).nodes
    rows = JsonRows(part, call.raw_arguments, call.place, step)
    if len(nodes) == 1 and (nodes[0].members or nodes[0].items):
        yield from rows.children(key, nodes[0], "")
        return
    for index, node in enumerate(nodes):
        yield rows.row((*key, index), (), node, "", node.range)


def _parameter(part: DissectedPart, parameter: Parameter, key: tuple[str | int, ...], step: int | None) -> TreeRow:
    """An argument in tags of its own: JSON where it is that, else a text."""
    pointer = f"/{parameter.name.replace('~', '~0').replace('/', '~1')}"
    name: Line = (Run(visible_line(parameter.name[:_LONGEST]), Style.KEY), Run("  "))
    node = _json_in(parameter)
    if node is not None:
        rows = JsonRows(part, parameter.text, lambda within: within.moved(parameter.range.start), step)
        return rows.row(key, name, node, pointer, node.range)
    place = parameter.range if len(parameter.range) or parameter.name_range is None else parameter.name_range
    wrong = part.wrong_in(place)
    value = Run(visible_line(parameter.text[:_LONGEST]) or "(empty)", Style.ADDED)
    begin = parameter.name_range.start if parameter.name_range is not None else place.start
    named = part.location(Range(min(begin, place.start), place.end))
    label = (*name, *fault_mark(wrong), value)
    return TreeRow(key, label, part.location(place), step, pointer, None, wrong, named=named)


def _json_in(parameter: Parameter) -> JsonNode | None:
    """The object or array that a parameter's text is, if its characters stand in the stream as they are."""
    if len(parameter.text) != len(parameter.range) or parameter.text.lstrip()[:1] not in ("{", "["):
        return None
    nodes = read_json(parameter.text).nodes
    return nodes[0] if len(nodes) == 1 and nodes[0].kind in (JsonKind.OBJECT, JsonKind.ARRAY) else None
