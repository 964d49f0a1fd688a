"""The schema that a call's arguments are checked against, with the keywords that they violate marked."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from inspector.diagnostics import Diagnostic, Location
from inspector.model import Json, ToolCall, ToolDefinition
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.navigation import call_at, call_place, offered_at
from ui.views.dissect.raw import pretty_json
from ui.views.dissect.side import SideLine, SideLines
from ui.views.status import UNNAMED
from ui.views.styled_text import GLYPHS, Run, Style, style_of, visible_line
from ui.views.wording import quoted, wrapped

_LONGEST = 400
_KEYWORDS = {"S201": "required", "S202": "type", "S204": "enum", "S206": "type", "S209": "format"}


def schema(dissection: Dissection, location: Location, width: int) -> SideLines:
    """The definition of the tool that the call at a place names; lines of violations lead to the argument."""
    return SideLines(_lines(dissection, location, width))


def _lines(dissection: Dissection, location: Location, width: int) -> Iterator[SideLine]:
    location = call_place(dissection, location)
    call = call_at(dissection, location)
    if call is None:
        yield SideLine((Run("No call selected: select one to see the schema of its tool.", Style.DIM),))
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


def violated(schema: Json, diagnostics: Iterable[Diagnostic]) -> Iterator[tuple[str, Diagnostic]]:
    """For each diagnostic by schema the JSON Pointer, into the schema, of what is violated."""
    for one in diagnostics:
        if one.rule.code.startswith("S2"):
            yield _pointer(schema, one), one


def _pointer(schema: Json, diagnostic: Diagnostic) -> str:
    tokens = (diagnostic.fault.path or "").split("/")[1:]
    node, pointer, rest = _walked(schema, tokens)
    if diagnostic.rule.code == "S203":
        word = "additionalProperties" if isinstance(node, dict) and "additionalProperties" in node else "properties"
    elif rest:
        return pointer
    else:
        word = _KEYWORDS.get(diagnostic.rule.code, "")
    return f"{pointer}/{word}" if word and isinstance(node, dict) and word in node else pointer


def _walked(schema: Json, tokens: list[str]) -> tuple[Json, str, list[str]]:
    """As far as the schema says what a value's path leads to: the schema there, its pointer, and what is left."""
    node, pointer = _resolved(schema, schema, "")
    for index, token in enumerate(tokens):
        name = token.replace("~1", "/").replace("~0", "~")
        properties = node.get("properties") if isinstance(node, dict) else None
        if isinstance(properties, dict) and name in properties:
            node, pointer = properties[name], f"{pointer}/properties/{token}"
        elif isinstance(node, dict) and token.isdecimal() and isinstance(node.get("items"), dict):
            node, pointer = node["items"], f"{pointer}/items"
        else:
            return node, pointer, tokens[index:]
        node, pointer = _resolved(schema, node, pointer)
    return node, pointer, []


def _resolved(schema: Json, node: Json, pointer: str) -> tuple[Json, str]:
    """What a reference within the schema leads to; the reference itself where it leads nowhere or in a circle."""
    seen: set[str] = set()
    while isinstance(node, dict) and isinstance(target := node.get("$ref"), str) and target.startswith("#/"):
        found: Json = schema
        for token in target[2:].split("/"):
            name = token.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None
        if found is None or target in seen:
            break
        seen.add(target)
        node, pointer = found, target[1:]
    return node, pointer
