"""The values of a trace's calls as rows, each with the exact characters that it was read from."""

from collections.abc import Iterator

from inspector.inspection import Inspection, PartInspection
from inspector.json_scanner import JsonKind, JsonNode, read_json
from inspector.json_text import write_json
from inspector.model import Json, ToolCall
from inspector.text import Range
from ui.views.call import UNNAMED
from ui.views.status import step_glyph
from ui.views.step_places import StepPlaces
from ui.views.visible import visible_line
from ui.web.stream_data import Window, place, runs

MOST_ROWS = 5_000
_IN_ROW = 80


def value_rows(inspection: Inspection, window: Window) -> list[Json]:
    """The calls of the window's turns: name, each argument, nested values; at most `MOST_ROWS` of them."""
    steps = StepPlaces(inspection.chain)
    rows: list[Json] = []
    for part in inspection.parts:
        if not window.first <= part.turn <= window.last:
            continue
        for call in part.calls:
            for row in _call(part, call, steps):
                if len(rows) == MOST_ROWS:
                    return [*rows, {"depth": 0, "runs": runs(("dim", f"… {MOST_ROWS:,} values are shown"))}]
                rows.append(row)
    return rows


def _call(part: PartInspection, call: ToolCall, steps: StepPlaces) -> Iterator[Json]:
    step = steps.of_call(part.turn, part.part, call)
    mark = ("ok", "✔ ") if call.valid else ("error", "✖ ")
    if step is not None:
        glyph = step_glyph(step)
        mark = (glyph.style.value, f"{glyph.text} ")
    head = runs(mark, ("strong", visible_line(call.name or UNNAMED)), ("dim", f"  step {step.number}" if step else ""))
    yield {**place(part.turn, part.part, call.range), "depth": 0, "runs": head}
    if call.name_range is not None:
        yield _row(part, call.name_range, 1, "name", write_json(call.name, ascii_only=False))
    if call.parameters:
        for one in call.parameters:
            yield _row(part, one.range, 1, one.name, one.text)
    elif call.arguments_range is not None:
        yield from _arguments(part, call)


def _arguments(part: PartInspection, call: ToolCall) -> Iterator[Json]:
    """The values in the text of the arguments, each at its place."""
    nodes = read_json(call.raw_arguments).nodes
    whole = call.place(Range(0, len(call.raw_arguments)))
    if not nodes or nodes[0].kind not in (JsonKind.OBJECT, JsonKind.ARRAY):
        yield _row(part, whole, 1, "arguments", call.raw_arguments)
        return
    yield _row(part, call.place(nodes[0].range), 1, "arguments", _brief(nodes[0], call))
    waiting = list(reversed(list(_below(nodes[0], 2))))
    while waiting:  # a loop, since hostile arguments nest deeper than calls may
        name, node, depth = waiting.pop()
        yield _row(part, call.place(node.range), depth, name, _brief(node, call))
        waiting += reversed(list(_below(node, depth + 1)))


def _below(node: JsonNode, depth: int) -> Iterator[tuple[str, JsonNode, int]]:
    for member in node.members:
        yield member.key, member.value, depth
    for index, item in enumerate(node.items):
        yield str(index), item, depth


def _brief(node: JsonNode, call: ToolCall) -> str:
    if node.kind is JsonKind.OBJECT:
        return f"{{{len(node.members)}}}"
    if node.kind is JsonKind.ARRAY:
        return f"[{len(node.items)}]"
    return node.range.of(call.raw_arguments)


def _row(part: PartInspection, where: Range, depth: int, name: str, words: str) -> Json:
    shown = visible_line(words[:_IN_ROW]) + ("…" if len(words) > _IN_ROW else "")
    return {
        **place(part.turn, part.part, where),
        "depth": min(depth, 12),
        "runs": runs(("key", visible_line(name[:_IN_ROW])), ("dim", ": "), ("", shown)),
    }
