"""Rows of the tree for calls, results and JSON values, each with its exact characters, created when expanded."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from weaklink.inspector.chain.steps import StepOutcome
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.json_scanner import JsonKind, JsonMember, JsonNode, read_json
from weaklink.inspector.model import Parameter, ToolCall, ToolResult
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import Range
from weaklink.ui.views.dissect.dissection import NO_FAULTS, DissectedPart, Dissection, Faults
from weaklink.ui.views.status import GLYPHS, UNNAMED, outcome_words, step_glyph
from weaklink.ui.views.styled_text import Line, Run, Style, counted, style_of, visible_line

_MAX_LABEL_CHARS = 200
_PREVIEW_CHARS, _MAX_NAME_CHARS = 512, 120
_MAX_VALUE_CHARS = 200

_STYLES = {
    JsonKind.STRING: Style.ADDED,
    JsonKind.NUMBER: Style.INFO,
    JsonKind.TRUE: Style.INFO,
    JsonKind.FALSE: Style.INFO,
    JsonKind.NULL: Style.DIM,
    JsonKind.OTHER: Style.WARNING,
}

MAX_CHILDREN = 500
"""The maximum number of children of a row."""

ExpandRow = Callable[[], Iterable["TreeRow"]]


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One row of the tree; `key` is its path from the root, which is stable across readings of the trace.

    `origin` is the location of its characters, or a function that computes it; None if it has none. `step` is the
    number of its step, and `pointer` its JSON Pointer within that call's arguments, or None if it is not an
    argument. `grow` creates its children, or is None if there are none; `heavy` is the number of characters that
    `grow` has to parse. `named` is its place including its name, if it has one: a member with its key.
    """

    key: tuple[str | int, ...]
    label: Line
    origin: Location | Callable[[], Location] | None = None
    step: int | None = None
    pointer: str | None = None
    grow: ExpandRow | None = field(default=None, compare=False, repr=False)
    wrong: Faults = NO_FAULTS
    heavy: int = 0
    named: Location | None = None

    @property
    def location(self) -> Location | None:
        """The place of its characters, or None."""
        return self.origin() if callable(self.origin) else self.origin

    @property
    def is_bundle(self) -> bool:
        """Whether its place has to be computed; bundles are in the order of their places."""
        return callable(self.origin)

    @property
    def depth(self) -> int:
        """The number of its ancestors."""
        return len(self.key) - 1

    @property
    def expandable(self) -> bool:
        """Whether it has children."""
        return self.grow is not None

    @property
    def faults(self) -> int:
        """The number of diagnostics in it."""
        return len(self.wrong)

    @property
    def worst(self) -> Severity | None:
        """The highest severity of its diagnostics."""
        return self.wrong.worst


def fault_mark(wrong: Faults) -> Line:
    """The glyph of the worst of some faults, with their number if there is more than one; empty without faults."""
    worst = wrong.worst
    if worst is None:
        return ()
    number = f"{len(wrong):,}" if len(wrong) > 1 else ""
    return (Run(f"{GLYPHS[worst]}{number} ", style_of(worst)),)


def call_row(
    dissection: Dissection, part: DissectedPart, call: ToolCall, key: tuple[str | int, ...], range_: Range
) -> TreeRow:
    """A call with its outcome; `range_` is the range of its characters, markers included."""
    step = dissection.steps.of_call(part.turn, part.name, call)
    wrong = part.wrong_in(range_)
    label: list[Run] = [Run("call ", Style.TOOL_CALL), *fault_mark(wrong)]
    label.append(Run(visible_line(call.name[:_MAX_LABEL_CHARS]) if call.name else UNNAMED, Style.STRONG))
    if step is not None:
        label.append(Run(f"  step {step.number}", Style.DIM))
        if step.outcome is not StepOutcome.OK:
            glyph = step_glyph(step)
            label += (Run(" "), Run(f"{glyph.text} {outcome_words(step)}", glyph.style))
    number = step.number if step is not None else None
    return TreeRow(
        key, tuple(label), part.location(range_), number, None, lambda: _children(part, call, key, number), wrong
    )


def _children(part: DissectedPart, call: ToolCall, key: tuple[str | int, ...], step: int | None) -> Iterator[TreeRow]:
    if call.name_range is not None:
        name: Line = (
            Run("name  ", Style.KEY),
            Run(visible_line((call.name or UNNAMED)[:_MAX_LABEL_CHARS]), Style.STRONG),
        )
        yield TreeRow((*key, "name"), name, part.location(call.name_range), step)
    if call.id:
        yield TreeRow((*key, "id"), (Run("id  ", Style.KEY), Run(visible_line(call.id[:_MAX_LABEL_CHARS]))), None, step)
    yield _arguments(part, call, (*key, "arguments"), step)


def _arguments(part: DissectedPart, call: ToolCall, key: tuple[str | int, ...], step: int | None) -> TreeRow:
    range_ = call.arguments_range or call.range
    wrong = part.wrong_in(range_) if len(range_) else NO_FAULTS
    label = (Run("arguments  ", Style.KEY), *fault_mark(wrong), *_arguments_brief(call))
    grows = bool(call.parameters) or call.raw_arguments.lstrip()[:1] not in ("", '"')
    grow = (lambda: _values(part, call, key, step)) if grows else None
    return TreeRow(
        key, label, part.location(range_), step, "", grow, wrong, 0 if call.parameters else len(call.raw_arguments)
    )


def _arguments_brief(call: ToolCall) -> Line:
    if isinstance(call.arguments, dict):
        return (Run(f"{{…}} {len(call.arguments)}" if call.arguments else "{}", Style.DIM),)
    return (Run(visible_line(call.raw_arguments[:_MAX_LABEL_CHARS].strip()), Style.DIM),)


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
    """An argument in its own tags: parsed as JSON if possible, otherwise a text."""
    pointer = f"/{parameter.name.replace('~', '~0').replace('/', '~1')}"
    name: Line = (Run(visible_line(parameter.name[:_MAX_LABEL_CHARS]), Style.KEY), Run("  "))
    node = _json_in(parameter)
    if node is not None:
        rows = JsonRows(part, parameter.text, lambda within: within.moved(parameter.range.start), step)
        return rows.row(key, name, node, pointer, node.range)
    range_ = parameter.range if len(parameter.range) or parameter.name_range is None else parameter.name_range
    wrong = part.wrong_in(range_)
    value = Run(visible_line(parameter.text[:_MAX_LABEL_CHARS]) or "(empty)", Style.ADDED)
    begin = parameter.name_range.start if parameter.name_range is not None else range_.start
    named = part.location(Range(min(begin, range_.start), range_.end))
    label = (*name, *fault_mark(wrong), value)
    return TreeRow(key, label, part.location(range_), step, pointer, None, wrong, named=named)


def _json_in(parameter: Parameter) -> JsonNode | None:
    """The object or array in a parameter's text, if the text is in the stream character for character."""
    if len(parameter.text) != len(parameter.range) or parameter.text.lstrip()[:1] not in ("{", "["):
        return None
    nodes = read_json(parameter.text).nodes
    return nodes[0] if len(nodes) == 1 and nodes[0].kind in (JsonKind.OBJECT, JsonKind.ARRAY) else None


def result_row(
    dissection: Dissection, part: DissectedPart, result: ToolResult, key: tuple[str | int, ...], range_: Range
) -> TreeRow:
    """A result and the step that it answers; `range_` is the range of its characters, markers included."""
    step = dissection.steps.of_result(part.turn, part.name, result.range)
    wrong = part.wrong_in(range_)
    label: list[Run] = [Run("result ", Style.TOOL_RESULT), *fault_mark(wrong)]
    if step is not None:
        label += (Run(f"of step {step.number} ", Style.DIM), step_glyph(step), Run(" "))
    name = result.name or (step.call.name if step is not None else None)
    if name:
        label.append(Run(f"{visible_line(name[:_MAX_NAME_CHARS])}  ", Style.STRONG))
    if result.is_error:
        label.append(Run("error  ", Style.ERROR))
    begun = " ".join(result.content[:_PREVIEW_CHARS].split())[:_MAX_NAME_CHARS]
    label.append(Run(visible_line(begun) if begun else "empty", Style.DIM))
    number = step.number if step is not None else None
    is_json = result.content.lstrip()[:1] in ("{", "[") and len(result.content) == len(result.range)
    grow = (lambda: _result_values(part, result, key, number)) if is_json else None
    heavy = len(result.content) if is_json else 0
    return TreeRow(key, tuple(label), part.location(range_), number, None, grow, wrong, heavy)


def _result_values(
    part: DissectedPart, result: ToolResult, key: tuple[str | int, ...], step: int | None
) -> Iterator[TreeRow]:
    start = result.range.start
    rows = JsonRows(part, result.content, lambda within: within.moved(start), step, is_argument=False)
    for index, node in enumerate(read_json(result.content).nodes):
        if node.kind in (JsonKind.OBJECT, JsonKind.ARRAY):
            yield from rows.children((*key, index), node, "")


class JsonRows(Struct, frozen=True):
    """Creates rows of JSON values: `text` is their source, and `to_part` maps its ranges to ranges of the part.

    For arguments, `step` and the beginning of the `pointer` are those of the call; values of a result have no pointer.
    """

    part: DissectedPart
    text: str
    to_part: Callable[[Range], Range]
    step: int | None = None
    is_argument: bool = True

    def row(self, key: tuple[str | int, ...], name: Line, node: JsonNode, pointer: str, whole: Range) -> TreeRow:
        """The row of a value; `whole` is the range that selects it, including its key if it has one."""
        value = self.to_part(node.range)
        wrong = self.part.wrong_in(self.to_part(whole))
        children = node.members or node.items
        return TreeRow(
            key,
            (*name, *fault_mark(wrong), *_value(self.text, node)),
            self.part.location(value),
            self.step,
            pointer if self.is_argument else None,
            (lambda: self.children(key, node, pointer)) if children else None,
            wrong,
            named=self.part.location(self.to_part(whole)),
        )

    def children(self, key: tuple[str | int, ...], node: JsonNode, pointer: str) -> Iterator[TreeRow]:
        """The members of an object or the elements of an array, in bundles if there are many."""
        children: Sequence[JsonMember | JsonNode] = node.members or node.items
        if len(children) <= MAX_CHILDREN:
            yield from self._some(key, children, 0, pointer)
            return
        for start in range(0, len(children), MAX_CHILDREN):
            yield self._bundle(key, children[start : start + MAX_CHILDREN], start, pointer)

    def _bundle(
        self, key: tuple[str | int, ...], some: Sequence[JsonMember | JsonNode], start: int, pointer: str
    ) -> TreeRow:
        bundle_key = (*key, f"{start}…")
        covered = Range(_whole(some[0]).start, _whole(some[-1]).end)
        wrong = self.part.wrong_in(self.to_part(covered))
        label = (Run(f"{start:,} … {start + len(some) - 1:,}", Style.DIM), Run(" "), *fault_mark(wrong))
        location = self.part.location(self.to_part(covered))
        return TreeRow(
            bundle_key, label, location, self.step, None, lambda: self._some(bundle_key, some, start, pointer), wrong
        )

    def _some(
        self, key: tuple[str | int, ...], some: Sequence[JsonMember | JsonNode], start: int, pointer: str
    ) -> Iterator[TreeRow]:
        for index, child in enumerate(some, start):
            if isinstance(child, JsonMember):
                name = (Run(visible_line(child.key[:_MAX_VALUE_CHARS]), Style.KEY), Run("  "))
                below = f"{pointer}/{child.key.replace('~', '~0').replace('/', '~1')}"
                yield self.row((*key, index), name, child.value, below, _whole(child))
            else:
                name = (Run(f"{index}", Style.DIM), Run("  "))
                yield self.row((*key, index), name, child, f"{pointer}/{index}", child.range)


def _whole(child: JsonMember | JsonNode) -> Range:
    return Range(child.key_range.start, child.value.range.end) if isinstance(child, JsonMember) else child.range


def _value(text: str, node: JsonNode) -> Line:
    if node.kind is JsonKind.OBJECT:
        return (Run(f"{{…}} {counted(len(node.members), 'member')}" if node.members else "{}", Style.DIM),)
    if node.kind is JsonKind.ARRAY:
        return (Run(f"[…] {counted(len(node.items), 'element')}" if node.items else "[]", Style.DIM),)
    written = text[node.range.start : min(node.range.end, node.range.start + _MAX_VALUE_CHARS)]
    more = (Run(f"… {counted(len(node.range), 'character')}", Style.DIM),) if len(node.range) > _MAX_VALUE_CHARS else ()
    return (Run(visible_line(written), _STYLES[node.kind]), *more)


def bundled(
    items: Sequence[int],
    key: tuple[str | int, ...],
    row: Callable[[tuple[str | int, ...], int], TreeRow],
    around: Callable[[Sequence[int]], Location],
) -> Iterator[TreeRow]:
    """The rows of numbered items in the row `key`, in bundles if there are many.

    `row` creates one row, given the key of its parent; `around` computes the place of a bundle, and is only called on
    access. The items are in the order of their places.
    """
    if len(items) <= MAX_CHILDREN:
        yield from (row(key, number) for number in items)
        return
    for start in range(0, len(items), MAX_CHILDREN):
        yield _bundle(items[start : start + MAX_CHILDREN], (*key, f"{start}…"), row, around)


def _bundle(
    some: Sequence[int],
    key: tuple[str | int, ...],
    row: Callable[[tuple[str | int, ...], int], TreeRow],
    around: Callable[[Sequence[int]], Location],
) -> TreeRow:
    label = (Run(f"{some[0] + 1:,} … {some[-1] + 1:,}", Style.DIM),)
    return TreeRow(key, label, lambda: around(some), grow=lambda: (row(key, number) for number in some))
