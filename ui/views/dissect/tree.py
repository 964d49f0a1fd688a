"""The tree of a trace as screen rows: which rows are expanded, and which row contains a place."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, takewhile
from operator import attrgetter
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from weaklink.inspector.diagnostics import Location
from weaklink.inspector.memory import LruCache
from weaklink.inspector.model import Span, SpanKind, ToolCall, ToolDefinition, ToolResult
from weaklink.inspector.model.columns import LazyColumn
from weaklink.inspector.text import Range
from weaklink.ui.views.dissect.dissection import DissectedPart, Dissection
from weaklink.ui.views.dissect.stream_rows import span_word
from weaklink.ui.views.dissect.tree_rows import MAX_CHILDREN, TreeRow, bundled, call_row, fault_mark, result_row
from weaklink.ui.views.status import step_glyph
from weaklink.ui.views.styled_text import Line, Run, Style, clipped, counted, style_of, visible_line

MAX_PARSED_CHARS = 400_000
"""The number of characters of JSON that are parsed automatically; more would delay a key press noticeably."""

_MAX_CHILDREN = 256  # cached rows of turns
_STEPS = 8  # entries that are scanned before a binary search
_PREVIEW_CHARS, _MAX_LABEL_CHARS = 512, 120
RowKey = tuple[str | int, ...]
_RowOrTurn: TypeAlias = TreeRow | int
"""A row, or the number of a turn whose row is created on access."""


class Tree:
    """The visible rows of a trace, in order. Rows and their children are created on access."""

    def __init__(self, dissection: Dissection) -> None:
        self._rows: list[_RowOrTurn] = list(range(1, len(dissection.trace.turns) + 1))
        self._turns = LruCache(partial(turn_row, dissection), lambda _: 1, _MAX_CHILDREN)
        self._grown: dict[RowKey, list[TreeRow]] = {}
        self._open: set[RowKey] = set()

    @property
    def count(self) -> int:
        """The number of visible rows."""
        return len(self._rows)

    @property
    def rows(self) -> list[TreeRow]:
        """All visible rows; slow if there are many."""
        return [self.row(index) for index in range(self.count)]

    def row(self, index: int) -> TreeRow:
        """A visible row."""
        row = self._rows[index]
        return self._turns(row) if isinstance(row, int) else row

    def find(self, key: RowKey) -> int | None:
        """The index of the visible row with this key."""
        first = bisect_left(self._rows, key[0], key=_turn)
        of_turn = takewhile(lambda index: _turn(self._rows[index]) == key[0], range(first, self.count))
        return next((index for index in of_turn if self._key(index) == key), None)

    def line(self, index: int, width: int) -> Line:
        """A row as a line: indentation by depth, a sign whether it can be expanded, and its label."""
        row = self.row(index)
        sign = " " if not row.expandable else "▾" if self.is_open(row) else "▸"
        return clipped((Run("  " * min(row.depth, 12)), Run(f"{sign} ", Style.GUTTER), *row.label), width)

    def is_open(self, row: TreeRow) -> bool:
        """Whether a row is expanded."""
        return row.key in self._open

    def is_heavy(self, row: TreeRow) -> bool:
        """Whether expanding a row takes long and should happen in the background; see `grow`."""
        return row.heavy > MAX_PARSED_CHARS and row.key not in self._grown

    def grow(self, row: TreeRow) -> list[TreeRow]:
        """The children of a row, created once; may be called from another thread before `expand`."""
        if row.key not in self._grown:
            self._grown[row.key] = list(row.grow()) if row.grow is not None else []
        return self._grown[row.key]

    def expand(self, index: int) -> bool:
        """Show the children of a row. Returns whether anything changed."""
        row = self.row(index)
        if not row.expandable or self.is_open(row):
            return False
        self._open.add(row.key)
        self._rows[index + 1 : index + 1] = self._visible(self.grow(row))
        return True

    def collapse(self, index: int) -> bool:
        """Hide the children of a row. Returns whether anything changed."""
        row = self.row(index)
        if not self.is_open(row):
            return False
        self._open.discard(row.key)
        end = index + 1
        while end < self.count and _depth(self._rows[end]) > row.depth:
            end += 1
        del self._rows[index + 1 : end]
        return True

    def parent(self, index: int) -> int | None:
        """The index of a row's parent; None for a turn."""
        depth = _depth(self._rows[index])
        return next((above for above in range(index - 1, -1, -1) if _depth(self._rows[above]) < depth), None)

    def reveal(self, location: Location) -> int | None:
        """Expand rows to show the innermost row that contains a place. Returns its index, or None.

        Rows that are slow to expand stay collapsed: then the index of such a row is returned.
        """
        index = self.find((location.turn,))
        while index is not None and self.row(index).expandable and not self.is_heavy(self.row(index)):
            inside = _holding(self.grow(self.row(index)), location)
            if inside is None:
                break
            self.expand(index)
            index = next(below for below in range(index + 1, self.count) if self._rows[below] is inside)
        return index

    def _key(self, index: int) -> RowKey:
        row = self._rows[index]
        return (row,) if isinstance(row, int) else row.key

    def _visible(self, rows: Iterable[TreeRow]) -> list[_RowOrTurn]:
        """The rows, each with its children if it was expanded before."""
        shown: list[_RowOrTurn] = []
        for row in rows:
            shown.append(row)
            if self.is_open(row):
                shown += self._visible(self.grow(row))
        return shown


def _turn(row: _RowOrTurn) -> str | int:
    """The turn that contains a row: the first item of its key."""
    return row if isinstance(row, int) else row.key[0]


def _depth(row: _RowOrTurn) -> int:
    return 0 if isinstance(row, int) else row.depth


def _near(rows: Sequence[TreeRow], offset: int) -> Iterator[TreeRow]:
    """The rows without bundles that are elsewhere, because each bundle's place must be computed."""
    bundles = [row for row in rows if row.is_bundle]
    yield from (row for row in rows if not row.is_bundle)
    yield from bundles[max(bisect_right(bundles, offset, key=_start) - 1, 0) :][:1]


def _start(row: TreeRow) -> int:
    return row.location.range.start if row.location is not None else 0


def _holding(rows: Sequence[TreeRow], location: Location) -> TreeRow | None:
    """The smallest row that contains the first character of a place, or None."""
    smallest: TreeRow | None = None
    offset = location.range.start
    for row in _near(rows, offset):
        held = row.location
        if held is None or held.turn != location.turn or held.part != location.part:
            continue
        if not held.range.start <= offset < max(held.range.end, held.range.start + 1):
            continue
        if smallest is None or smallest.location is None or len(held.range) < len(smallest.location.range):
            smallest = row
    return smallest


_Item = TypeVar("_Item", bound=ToolCall | ToolResult)


class ItemsBySpan(Generic[_Item]):
    """Finds the calls or results of a part by the index of their span; fastest for access in order."""

    def __init__(self, items: tuple[_Item, ...]) -> None:
        self._items, self._next = items, 0

    def of(self, span: int) -> Sequence[_Item]:
        """The items of a span, in order."""
        first = self._first_from(self._next, span)
        near = range(first, min(first + _STEPS, len(self._items)))
        last = next((index for index in near if self._items[index].span > span), None)
        if last is None:
            last = bisect_right(self._items, span, first, key=attrgetter("span"))
        self._next = last
        return (
            self._items[first:last]
            if last - first <= _STEPS
            else LazyColumn(range(first, last), self._items.__getitem__)
        )

    def _first_from(self, hint: int, span: int) -> int:
        """The index of the first item of this span or a later one, searched near a hint first."""
        if not hint or self._items[hint - 1].span < span:
            near = range(hint, min(hint + _STEPS, len(self._items)))
            first = next((index for index in near if self._items[index].span >= span), None)
            if first is not None or near.stop == len(self._items):
                return near.stop if first is None else first
        return bisect_left(self._items, span, key=attrgetter("span"))


def turn_rows(dissection: Dissection, first: int = 1, last: int | None = None) -> Iterator[TreeRow]:
    """A row for each turn from `first` to `last`, by number from 1."""
    count = len(dissection.trace.turns)
    for number in range(max(first, 1), min(count if last is None else last, count) + 1):
        yield turn_row(dissection, number)


def turn_row(dissection: Dissection, number: int) -> TreeRow:
    """The row of a turn, by its number from 1."""
    turn = dissection.trace.turns[number - 1]
    parts = dissection.parts_of(number)
    wrong = dissection.wrong_in_turn(number)
    head = (Run(f"{number} ", Style.GUTTER), Run(turn.role.value, Style.STRONG), Run(" "), *fault_mark(wrong))
    brief = tuple(_brief(dissection, parts)) or ((Run("empty", Style.DIM),) if not parts else ())
    location = parts[0].location() if parts else None
    is_leaf = not parts or (len(parts) == 1 and _is_only_words(parts[0]))
    grow = None if is_leaf else (lambda: _of_turn(dissection, dissection.parts_of(number), (number,)))
    answered = dissection.steps.answered_in(number)
    return TreeRow((number,), (*head, *brief), location, answered[0].number if answered else None, None, grow, wrong)


def _brief(dissection: Dissection, parts: Sequence[DissectedPart]) -> Iterator[Run]:
    """A turn in a few words: its calls with their outcomes, or else the beginning of its text."""
    calls = sum(len(part.inspection.calls) for part in parts)
    first = islice(((part, call) for part in parts for call in part.inspection.calls), 4)
    for call_part, call in first:
        step = dissection.steps.of_call(call_part.turn, call_part.name, call)
        yield step_glyph(step) if step is not None else Run("·")
        yield Run(f" {visible_line((call.name or '?')[:_MAX_LABEL_CHARS])} ", Style.TOOL_CALL)
    if calls > 4:
        yield Run(f"… {counted(calls, 'call')}", Style.DIM)
    if not calls and parts:
        part = parts[0]
        spans = islice(part.inspection.spans, MAX_CHILDREN)
        content = next((span for span in spans if span.kind is not SpanKind.MARKUP and len(span.inner)), None)
        yield Run(_words(part, content.inner if content else Range(0, len(part.text))), Style.DIM)


def _of_turn(dissection: Dissection, parts: Sequence[DissectedPart], key: tuple[str | int, ...]) -> Iterator[TreeRow]:
    for part in parts:
        shown = _shown(part)
        if len(parts) == 1:
            yield from _spans(dissection, part, shown, key)
        elif len(shown) == 1:
            yield _span(dissection, _PartItems.of(part), shown[0], (*key, part.name), part.name)
        else:
            yield _part(dissection, part, shown, (*key, part.name))


def _shown(part: DissectedPart) -> Sequence[int]:
    """The indices of the spans of a part that have a row: all except gaps, or simply all if there are too many."""
    spans = part.inspection.spans
    if len(spans) > MAX_CHILDREN:
        return range(len(spans))
    return [index for index, span in enumerate(spans) if not _is_gap(part, span)]


def _part(dissection: Dissection, part: DissectedPart, shown: Sequence[int], key: tuple[str | int, ...]) -> TreeRow:
    wrong = part.wrong_in(Range(0, len(part.text)))
    if part.inspection.calls and not shown:
        return call_row(dissection, part, part.inspection.calls[0], key, Range(0, len(part.text)))
    label = (Run(f"{visible_line(part.name)} ", Style.KEY), *fault_mark(wrong))
    size = Run(counted(len(shown), "span") if shown else "empty", Style.DIM)
    grow = (lambda: _spans(dissection, part, shown, key)) if shown else None
    return TreeRow(key, (*label, size), part.location(), None, None, grow, wrong)


class _PartItems(NamedTuple):
    """The calls and the results of a part, by their spans."""

    part: DissectedPart
    calls: ItemsBySpan[ToolCall]
    results: ItemsBySpan[ToolResult]

    @classmethod
    def of(cls, part: DissectedPart) -> "_PartItems":
        """The items of a part."""
        return cls(part, ItemsBySpan(part.inspection.calls), ItemsBySpan(part.inspection.results))


def _spans(
    dissection: Dissection, part: DissectedPart, shown: Sequence[int], key: tuple[str | int, ...]
) -> Iterator[TreeRow]:
    read = _PartItems.of(part)
    yield from bundled(
        shown,
        key,
        lambda parent_key, index: _span(dissection, read, index, (*parent_key, index)),
        lambda some: part.location(
            Range(part.inspection.spans[some[0]].range.start, part.inspection.spans[some[-1]].range.end)
        ),
    )


def _span(dissection: Dissection, read: _PartItems, index: int, key: tuple[str | int, ...], name: str = "") -> TreeRow:
    """A top-level span; if it has a single call or result, the row of that."""
    part = read.part
    span = part.inspection.spans[index]
    inside, results = read.calls.of(index), read.results.of(index)
    if span.kind is SpanKind.TOOL_CALL and len(inside) == 1 and not span.children:
        return call_row(dissection, part, inside[0], key, span.range)
    if len(results) == 1 and not inside and not span.children:
        return result_row(dissection, part, results[0], key, span.range)
    tools = _tools_in(part, span)
    label = span.label if span.label not in ("", span.kind.value) else ""
    return _any_span(dissection, part, span, key, (inside, results, tools), name=name if name != "text" else label)


def _any_span(
    dissection: Dissection,
    part: DissectedPart,
    span: Span,
    key: tuple[str | int, ...],
    items: tuple[Sequence[ToolCall], Sequence[ToolResult], Sequence[ToolDefinition]],
    *,
    name: str = "",
) -> TreeRow:
    calls, results, tools = items
    wrong = part.wrong_in(span.range)
    kind = span_word(span.kind, part.role)
    label: list[Run] = [Run(f"{kind} ", style_of(span.kind)), *fault_mark(wrong)]
    if name and name != kind:
        label.append(Run(f"{visible_line(name[:_MAX_LABEL_CHARS])}  ", Style.KEY))
    if not span.closed:
        label.append(Run("open  ", Style.WARNING))
    label.append(_content(part, span, calls, tools))
    count = len(calls) + len(results) + len(tools) + len(span.children)

    def grow() -> Iterator[TreeRow]:
        for number, child in enumerate(span.children):
            yield _any_span(dissection, part, child, (*key, f"child {number}"), ((), (), ()), name=child.label)
        yield from bundled(
            range(len(calls)),
            key,
            lambda parent_key, number: call_row(
                dissection, part, calls[number], (*parent_key, f"call {number}"), calls[number].range
            ),
            lambda some: part.location(Range(calls[some[0]].range.start, calls[some[-1]].range.end)),
        )
        for number, result in enumerate(results):
            yield result_row(dissection, part, result, (*key, f"result {number}"), result.range)
        for number, tool in enumerate(tools):
            named = (
                Run("tool ", Style.TOOL_DEFINITIONS),
                Run(visible_line(tool.name[:_MAX_LABEL_CHARS]), Style.STRONG),
            )
            yield TreeRow((*key, f"tool {number}"), named, part.location(tool.range))

    return TreeRow(key, tuple(label), part.location(span.range), None, None, grow if count else None, wrong)


def _tools_in(part: DissectedPart, span: Span) -> list[ToolDefinition]:
    if span.kind is not SpanKind.TOOL_DEFINITIONS:
        return []
    return [
        definition
        for definition in part.inspection.definitions
        if definition.range is not None and span.range.covers(definition.range)
    ]


def _content(part: DissectedPart, span: Span, calls: Sequence[ToolCall], tools: Sequence[ToolDefinition]) -> Run:
    if calls:
        return Run(counted(len(calls), "call"), Style.DIM)
    if tools:
        return Run(counted(len(tools), "tool"), Style.DIM)
    return Run(_words(part, span.inner if len(span.inner) else span.range), Style.DIM)


def _words(part: DissectedPart, range_: Range) -> str:
    """The beginning of a text, on one line."""
    begun = part.text[range_.start : min(range_.end, range_.start + _PREVIEW_CHARS)]
    return visible_line(" ".join(begun.split())[:_MAX_LABEL_CHARS])


def _is_only_words(part: DissectedPart) -> bool:
    """Whether a part contains nothing but one text."""
    inspection = part.inspection
    is_plain = (
        len(inspection.spans) <= 1 and not inspection.calls and not inspection.results and not inspection.definitions
    )
    return is_plain and not any(span.children for span in inspection.spans)


def _is_gap(part: DissectedPart, span: Span) -> bool:
    """Whether a span is only white space between two others."""
    return span.kind is SpanKind.TEXT and len(span.range) <= _PREVIEW_CHARS and not span.range.of(part.text).strip()
