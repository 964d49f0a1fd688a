"""The schema that a call's arguments are checked against, with what they violate marked."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from inspector.diagnostics import Diagnostic, Location
from inspector.model import ToolCall, ToolDefinition
from ui.views.call import UNNAMED
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.pretty_json import pretty_json
from ui.views.dissect.schema_places import violated
from ui.views.dissect.selection import call_at, offered_at
from ui.views.dissect.side import SideLine, SideLines
from ui.views.palette import GLYPHS, Style, style_of
from ui.views.run import Run
from ui.views.visible import visible_line
from ui.views.wording import quoted, wrapped

_LONGEST = 400


def schema(dissection: Dissection, location: Location, width: int) -> SideLines:
    """The definition of the tool that the call at a place names; lines of violations lead to the argument."""
    return SideLines(_lines(dissection, location, width))


def _lines(dissection: Dissection, location: Location, width: int) -> Iterator[SideLine]:
    call = call_at(dissection, location)
    if call is None:
        yield SideLine((Run("Here is no call: select one to see the schema of its tool.", Style.DIM),))
        return
    offered = offered_at(dissection, location.turn)
    tool = next((one for one in reversed(offered) if one.name == call.name), None)
    wrong = _of_call(dissection, location, call)
    if tool is None:
        yield from _not_offered(call, offered, wrong, width)
        return
    yield from _defined(tool, width)
    if tool.parameters is None:
        yield SideLine((Run("The definition has no schema: any arguments are allowed.", Style.DIM),))
        return
    marks: defaultdict[str, list[Diagnostic]] = defaultdict(list)
    for pointer, one in violated(tool.parameters, wrong):
        marks[pointer].append(one)
    shown = list(pretty_json(tool.parameters, room=width - 4))
    printed = {one.pointer for one in shown if one.pointer is not None}
    for hidden in [one for one in marks if one not in printed]:
        marks[_nearest(hidden, printed)] += marks.pop(hidden)
    for line, at in shown:
        found = marks.get(at, []) if at is not None else []
        first = found[0] if found else None
        lead = Run(f"{GLYPHS[first.rule.severity.value]} ", style_of(first.rule.severity)) if first else Run("  ")
        content = tuple(Run(run.text, style_of(first.rule.severity)) for run in line) if first else line
        yield SideLine((lead, *content), first.location if first else tool_place(dissection, tool))
        for one in found:
            for said in wrapped(quoted(one.fault.message), width - 6, indent=2):
                yield SideLine((Run("    ^ ", style_of(one.rule.severity)), *said), one.location)


def tool_place(dissection: Dissection, tool: ToolDefinition) -> Location | None:
    """Where a tool is defined in the text of a turn; None where it came in a field of the request."""
    if tool.range is None:
        return None
    defining = (dissection.parts[index] for index in dissection.parts.defining)
    return next((part.location(tool.range) for part in defining if tool in part.found.definitions), None)


def _defined(tool: ToolDefinition, width: int) -> Iterator[SideLine]:
    yield SideLine((Run(visible_line(tool.name), Style.STRONG),))
    for line in (
        wrapped((Run(visible_line(tool.description[:_LONGEST]), Style.DIM),), width) if tool.description else ()
    ):
        yield SideLine(line)


def _not_offered(
    call: ToolCall, offered: Sequence[ToolDefinition], wrong: Sequence[Diagnostic], width: int
) -> Iterator[SideLine]:
    name = visible_line(call.name) if call.name else UNNAMED
    if not offered:
        said = f"No tool definitions were recorded for this request: `{name}` cannot be checked."
    else:
        said = f"No tool `{name}` was offered in this request, only: {', '.join(one.name for one in offered)}."
    for line in wrapped(quoted(said), width):
        yield SideLine(line)
    for one in wrong:
        if one.rule.code == "T401":
            for line in wrapped((Run("✖ ", Style.ERROR), *quoted(one.fault.message)), width, indent=2):
                yield SideLine(line, one.location)


def _of_call(dissection: Dissection, location: Location, call: ToolCall) -> Sequence[Diagnostic]:
    part = dissection.part(location.turn, location.part)
    return part.wrong_in(call.range) if part else ()


def _nearest(pointer: str, printed: set[str]) -> str:
    """The longest beginning of a pointer that stands on a line of its own."""
    while pointer and pointer not in printed:
        pointer = pointer.rpartition("/")[0]
    return pointer
