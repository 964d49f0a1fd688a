"""The request and response as recorded, with JSON formatted and coloured; and the schema that a call violates."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import islice, starmap
from typing import NamedTuple

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String, is_token_subtype
from pygments.token import _TokenType as TokenType

from weaklink.inspector.diagnostics import Diagnostic, Location
from weaklink.inspector.formats.server_parsers import sentences, wrong_predictions
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Generation, Instant, Json, Role, ToolCall, ToolDefinition, Turn
from weaklink.inspector.text import Range
from weaklink.inspector.wire.events import WIRE_PREFIX
from weaklink.ui.views.context import context_diff_lines, context_rows
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.navigation import call_at, call_place, layered_step, offered_at
from weaklink.ui.views.dissect.side import SideLine, SideLines
from weaklink.ui.views.layers import layer_lines
from weaklink.ui.views.status import GLYPHS, UNNAMED
from weaklink.ui.views.styled_text import (
    Line,
    LineKind,
    Run,
    Style,
    counted,
    folded_middle,
    quoted,
    style_of,
    visible_line,
    visible_runs,
    wrapped,
)
from weaklink.ui.views.turn import error_words

_NAME, _MAX_JSON_CHARS = 12, 4_000
_MAX_CONTEXT_LINES = 200  # lines
_MAX_JSON_WIDTH = 110  # cells of a flat value on one line
_MAX_DEPTH, _MAX_TEXT_CHARS = 24, 2_000
_MAX_FAULTS = 64  # of a part, that are searched for attempted calls
MAX_HIGHLIGHTED_CHARS = 100_000
"""The number of characters that are highlighted; the rest of a longer text is shown plain."""
# The first entry that contains the token's type counts.
_STYLES: tuple[tuple[TokenType, Style], ...] = (
    (Comment, Style.DIM),
    (Name.Tag, Style.KEY),
    (Name.Attribute, Style.KEY),
    (Name.Function, Style.TOOL_CALL),
    (Name.Class, Style.TOOL_CALL),
    (Name.Builtin, Style.TOOL_CALL),
    (Keyword, Style.REASONING),
    (Operator.Word, Style.REASONING),
    (Number, Style.INFO),
    (String, Style.OK),
)
_MAX_DESCRIPTION_CHARS = 400
_KEYWORDS = {"S201": "required", "S202": "type", "S204": "enum", "S206": "type", "S209": "format"}


def raw(dissection: Dissection, location: Location, width: int) -> SideLines:
    """The layers of the call at a place, and the metadata of its turn's request and answer.

    Layers link to their places, parts of the wire to their text.
    """
    turn = location.turn
    step = layered_step(dissection, location)
    layers = layer_lines(dissection.layers.of(step), width) if step is not None else ()
    return SideLines(
        (
            *starmap(SideLine, layers),
            *_predicted(dissection, location, width),
            *_lines(dissection.trace.turns[turn - 1], turn, width),
        )
    )


def context(dissection: Dissection, location: Location, width: int) -> SideLines:
    """The changes in a turn's request, and its messages; for a turn without a request, those of the next request.

    That is the first request that can contain the turn. A message links to its turn.
    """
    turns = dissection.trace.turns
    answering = (number for number in range(location.turn, len(turns) + 1) if turns[number - 1].generation is not None)
    number = next(answering, location.turn)
    differences = dissection.layers.differences.get(number, ())
    changed = context_diff_lines(dissection.trace, number, width=width, differences=differences)
    lines = [SideLine(line) for line in islice(changed, _MAX_CONTEXT_LINES)]
    rows = list(islice(context_rows(dissection.trace, number, width=width), _MAX_CONTEXT_LINES))
    if [line for line, _ in rows] == [line.line for line in lines]:  # both only note that it was not recorded
        return SideLines(lines)
    for index, (line, turn) in enumerate(rows):
        parts = turns[turn - 1].parts if turn is not None else ()
        target = Location(turn, parts[0].name, Range(0, 0)) if turn is not None and parts else None
        lines.append(SideLine(line, target, LineKind.FACT if index else LineKind.SENTENCE))
    return SideLines(lines)


def _predicted(dissection: Dissection, location: Location, width: int) -> Iterator[SideLine]:
    """What the parsers of common servers would return for an answer's text, if they find another number of calls."""
    part = dissection.part(location.turn, "text")
    if part is None or part.role is not Role.ASSISTANT or dissection.trace.turns[location.turn - 1].calls:
        return
    faults = [diagnostic.fault for diagnostic in islice(dissection.wrong_in_part(location.turn, "text"), _MAX_FAULTS)]
    if len(faults) == _MAX_FAULTS:
        return
    inspection = part.inspection
    wrong = wrong_predictions(part.text, dissection.inspection.format, inspection.spans, inspection.calls, faults)
    for sentence in sentences(wrong):
        for line in wrapped((Run(visible_line(sentence), Style.WARNING),), width, indent=4):
            yield SideLine(line, part.location(Range(0, 0)))


def _lines(turn: Turn, number: int, width: int) -> Iterator[SideLine]:
    yield from _fact("turn", f"{number} {turn.role.value}", width)
    if turn.source_role and turn.source_role != turn.role.value:
        yield from _fact("source role", turn.source_role, width)
    if turn.flags:
        yield from _fact("flags", ", ".join(sorted(flag.value for flag in turn.flags)), width)
    if turn.result is not None:
        fields = {"call id": turn.result.call_id, "name": turn.result.name, "error": turn.result.is_error}
        yield from _fact(
            "result", ", ".join(f"{key} {value}" for key, value in fields.items() if value is not None), width
        )
    for header in turn.calls:
        yield from _fact(header.part, f"{header.name or '(no name)'}{f', id {header.id}' if header.id else ''}", width)
    if turn.generation is None:
        yield SideLine((Run("No request was recorded for this turn.", Style.DIM),))
    else:
        yield from _generation(turn.generation, width)
    for part in turn.parts:
        if part.name.startswith(WIRE_PREFIX):
            location = Location(number, part.name, Range(0, 0))
            for line in _fact(part.name.removeprefix(WIRE_PREFIX), part.text, width):
                yield line._replace(location=location)


def _generation(generation: Generation, width: int) -> Iterator[SideLine]:
    yield from _fact("endpoint", generation.api, width)
    yield from _fact("requested", generation.requested_model, width)
    yield from _fact("answered", generation.answered_model, width)
    if generation.attempt > 1 or generation.retry_of:
        yield from _fact(
            "attempt", f"{generation.attempt}{f', repeats {generation.retry_of}' if generation.retry_of else ''}", width
        )
    if generation.tools:
        origin = f" in the {generation.tools_origin.value.replace('_', ' ')}" if generation.tools_origin else ""
        names = ", ".join(tool.name for tool in generation.tools)
        yield from _fact("tools", f"{counted(len(generation.tools), 'tool')}{origin}: {names}", width)
    finish = generation.finish_reason or (generation.finish.value if generation.finish else "")
    normal = f" ({generation.finish.value})" if generation.finish and generation.finish.value != finish else ""
    yield from _fact("finish", f"{finish}{normal}" if finish else "", width)
    yield from _fact("usage", _usage(generation), width)
    yield from _fact("body", generation.body.value.replace("_", " "), width)
    for name, instant in (
        ("started", generation.started),
        ("first token", generation.first_token),
        ("ended", generation.ended),
    ):
        yield from _fact(name, _moment(instant), width)
    if generation.error is not None:
        for line in wrapped(error_words(generation.error), width, indent=4):
            yield SideLine(line)
    yield from _parameters(generation.parameters, width)


def _parameters(written: str, width: int) -> Iterator[SideLine]:
    if not written:
        return
    try:
        value = json.loads(written[: 1 << 20])
    except (ValueError, RecursionError):
        yield from _fact("parameters", written, width)
        return
    yield SideLine((Run("parameters", Style.DIM),))
    for line, _ in pretty_json(value, room=min(width, _MAX_JSON_WIDTH) - 2):
        yield SideLine((Run("  "), *line), kind=LineKind.COLUMNS)


def _fact(name: str, value: str, width: int) -> Iterator[SideLine]:
    if not value:
        return
    lead = Run(f"{name:<{_NAME}} ", Style.DIM)
    more = f" … {len(value):,} characters" if len(value) > _MAX_JSON_CHARS else ""
    for line in wrapped((Run(visible_line(value[:_MAX_JSON_CHARS] + more)),), max(width - _NAME - 1, 12)):
        yield SideLine((lead, *line), kind=LineKind.FACT)
        lead = Run(" " * (_NAME + 1))


def _usage(generation: Generation) -> str:
    usage = generation.usage
    known = {
        "in": usage.input_tokens,
        "out": usage.output_tokens,
        "reasoning": usage.reasoning_tokens,
        "cached": usage.cached_tokens,
    }
    counts = ", ".join(f"{number:,} {name}" for name, number in known.items() if number is not None)
    return f"{counts} (counted by weaklink)" if counts and usage.computed else counts


def _moment(instant: Instant | None) -> str:
    if instant is None:
        return ""
    try:
        time = datetime.fromtimestamp(instant.at_s, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"
    except (OverflowError, ValueError, OSError):  # not a valid calendar date
        time = f"{instant.at_s:.3f} s since 1970"
    return f"{time}, {instant.source.value}"


class PrettyLine(NamedTuple):
    """One line; `pointer` is the JSON Pointer of the value that begins in it, or None if a value only ends."""

    line: Line
    pointer: str | None


def pretty_json(value: Json, *, room: int) -> Iterator[PrettyLine]:
    """The lines of a value, indented by two spaces per level; a flat value within `room` characters is on one line."""
    yield from _value_lines(value, "", (), room=max(room, 20))


def _value_lines(
    value: Json, pointer: str, name: Line, *, room: int, comma: str = "", depth: int = 0
) -> Iterator[PrettyLine]:
    lead = Run("  " * depth)
    short = _on_one_line(value, room - 2 * depth - sum(len(run.text) for run in name), depth)
    if short is not None:
        yield PrettyLine((lead, *name, *syntax_line(short, "json"), Run(comma)), pointer)
        return
    is_object = isinstance(value, dict)
    yield PrettyLine((lead, *name, Run("{" if is_object else "[")), pointer)
    items = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value if isinstance(value, list) else ()))
    )
    for index, (key, child) in enumerate(items, 1):
        named = (
            (Run(visible_line(write_json(key, ascii_only=False)[:_MAX_TEXT_CHARS]), Style.KEY), Run(": "))
            if is_object
            else ()
        )
        below = f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
        separator = "," if index < len(items) else ""
        yield from _value_lines(child, below, named, room=room, comma=separator, depth=depth + 1)
    yield PrettyLine((lead, Run(("}" if is_object else "]") + comma)), None)


def _on_one_line(value: Json, room: int, depth: int) -> str | None:
    """The value as one line; None if it is an object or array that needs several."""
    if not isinstance(value, dict | list) or not value or depth >= _MAX_DEPTH:
        return folded_middle(write_json(value, ascii_only=False), _MAX_TEXT_CHARS)
    if any(isinstance(child, dict | list) for child in (value.values() if isinstance(value, dict) else value)):
        return None
    written = write_json(value, ascii_only=False) if len(value) <= room else ""
    return written if written and len(written) <= room else None


def syntax_line(text: str, language: str) -> Line:
    """A text on one line, highlighted by Pygments' lexer of this name, with control characters made visible."""
    return tuple(run for piece, style in _pieces(text, language) for run in visible_runs(piece, style))


def _pieces(text: str, language: str) -> Iterator[tuple[str, Style]]:
    """The pieces of the text with their styles; together they are the whole text."""
    for _, kind, piece in _lexer(language).get_tokens_unprocessed(text[:MAX_HIGHLIGHTED_CHARS]):
        yield piece, next((style for type_, style in _STYLES if is_token_subtype(kind, type_)), Style.PLAIN)
    if len(text) > MAX_HIGHLIGHTED_CHARS:
        yield text[MAX_HIGHLIGHTED_CHARS:], Style.PLAIN


@cache
def _lexer(language: str) -> Lexer:
    return get_lexer_by_name(language)


def schema(dissection: Dissection, location: Location, width: int) -> SideLines:
    """The definition of the tool that the call at a place names; lines of violations link to the argument."""
    return SideLines(_schema_lines(dissection, location, width))


def _schema_lines(dissection: Dissection, location: Location, width: int) -> Iterator[SideLine]:
    location = call_place(dissection, location)
    call = call_at(dissection, location)
    if call is None:
        yield SideLine((Run("No call selected: select one to see the schema of its tool.", Style.DIM),))
        return
    offered = offered_at(dissection, location.turn)
    tool = next((definition for definition in reversed(offered) if definition.name == call.name), None)
    wrong = _of_call(dissection, location, call)
    if tool is None:
        yield from _not_offered(call, offered, wrong, width)
        return
    yield from _defined(tool, width)
    if tool.parameters is None:
        yield SideLine((Run("The definition has no schema: any arguments are allowed.", Style.DIM),))
        return
    marks: defaultdict[str, list[Diagnostic]] = defaultdict(list)
    for pointer, diagnostic in violated(tool.parameters, wrong):
        marks[pointer].append(diagnostic)
    shown = list(pretty_json(tool.parameters, room=min(width, _MAX_JSON_WIDTH) - 4))
    printed = {line.pointer for line in shown if line.pointer is not None}
    for hidden in [mark for mark in marks if mark not in printed]:
        marks[_nearest(hidden, printed)] += marks.pop(hidden)
    for line, line_pointer in shown:
        diagnostics = marks.get(line_pointer, []) if line_pointer is not None else []
        first = diagnostics[0] if diagnostics else None
        lead = Run(f"{GLYPHS[first.rule.severity]} ", style_of(first.rule.severity)) if first else Run("  ")
        content = tuple(Run(run.text, style_of(first.rule.severity)) for run in line) if first else line
        target = first.location if first else tool_place(dissection, tool)
        yield SideLine((lead, *content), target, LineKind.COLUMNS)
        for diagnostic in diagnostics:
            for message_line in wrapped(quoted(diagnostic.fault.message), width - 6, indent=2):
                yield SideLine((Run("    ^ ", style_of(diagnostic.rule.severity)), *message_line), diagnostic.location)


def tool_place(dissection: Dissection, tool: ToolDefinition) -> Location | None:
    """The place where a tool is defined in the text of a turn; None if it came in a field of the request."""
    if tool.range is None:
        return None
    defining = (dissection.parts[index] for index in dissection.parts.defining)
    return next((part.location(tool.range) for part in defining if tool in part.inspection.definitions), None)


def _defined(tool: ToolDefinition, width: int) -> Iterator[SideLine]:
    yield SideLine((Run(visible_line(tool.name), Style.STRONG),))
    for line in (
        wrapped((Run(visible_line(tool.description[:_MAX_DESCRIPTION_CHARS]), Style.DIM),), width)
        if tool.description
        else ()
    ):
        yield SideLine(line)


def _not_offered(
    call: ToolCall, offered: Sequence[ToolDefinition], wrong: Sequence[Diagnostic], width: int
) -> Iterator[SideLine]:
    name = visible_line(call.name) if call.name else UNNAMED
    if not offered:
        message = f"No tool definitions were recorded for this request: `{name}` cannot be checked."
    else:
        names = ", ".join(definition.name for definition in offered)
        message = f"No tool `{name}` was offered in this request, only: {names}."
    for line in wrapped(quoted(message), width):
        yield SideLine(line)
    for diagnostic in wrong:
        if diagnostic.rule.code == "T401":
            for line in wrapped((Run("✖ ", Style.ERROR), *quoted(diagnostic.fault.message)), width, indent=2):
                yield SideLine(line, diagnostic.location)


def _of_call(dissection: Dissection, location: Location, call: ToolCall) -> Sequence[Diagnostic]:
    part = dissection.part(location.turn, location.part)
    return part.wrong_in(call.range) if part else ()


def _nearest(pointer: str, printed: set[str]) -> str:
    """The longest prefix of a pointer that has a line of its own."""
    while pointer and pointer not in printed:
        pointer = pointer.rpartition("/")[0]
    return pointer


def violated(schema: Json, diagnostics: Iterable[Diagnostic]) -> Iterator[tuple[str, Diagnostic]]:
    """For each schema diagnostic, the JSON Pointer of the violated keyword in the schema."""
    for diagnostic in diagnostics:
        if diagnostic.rule.code.startswith("S2"):
            yield _pointer(schema, diagnostic), diagnostic


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
    """Follow a value's path while the schema describes it: the schema there, its pointer, and the remaining path."""
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
    """The target of a reference within the schema; the reference itself if its target is missing or circular."""
    seen: set[str] = set()
    while isinstance(node, dict) and isinstance(target := node.get("$ref"), str) and target.startswith("#/"):
        value: Json = schema
        for token in target[2:].split("/"):
            name = token.replace("~1", "/").replace("~0", "~")
            value = value.get(name) if isinstance(value, dict) else None
        if value is None or target in seen:
            break
        seen.add(target)
        node, pointer = value, target[1:]
    return node, pointer
