"""The tree of a trace as the rows of a screen: what is expanded, and which row a position belongs to."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, takewhile
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from inspector.diagnostics import Location
from inspector.memory import LruCache
from inspector.model import Role, Span, SpanKind, ToolCall, ToolDefinition, ToolResult
from inspector.model.columns import Entries, LazyColumn
from inspector.text import Range
from ui.views.dissect.dissection import DissectedPart, Dissection
from ui.views.dissect.stream_rows import LABELS
from ui.views.dissect.tree_rows import MOST_CHILDREN, TreeRow, bundled, call_row, fault_mark, result_row
from ui.views.status import step_glyph
from ui.views.styled_text import Line, Run, Style, clipped, counted, style_of, visible_line

HEAVY = 400_000
"""How many characters of JSON are read at once without being asked for: more take longer than a key should."""

_MOST = 256  # rows of turns that are kept near
_STEPS = 8  # entries that are looked at one by one before they are searched
_GLANCE, _LONGEST = 512, 120
RowKey = tuple[str | int, ...]
_RowOrTurn: TypeAlias = TreeRow | int
"""A row, or the number of a turn, whose row is made when somebody looks."""


class Tree:
    """The visible rows of a trace, in order. None is made before it is looked at, nor what is in it."""

    def __init__(self, dissection: Dissection) -> None:
        self._rows: list[_RowOrTurn] = list(range(1, len(dissection.trace.turns) + 1))
        self._turns = LruCache(partial(turn_row, dissection), lambda _: 1, _MOST)
        self._grown: dict[RowKey, list[TreeRow]] = {}
        self._open: set[RowKey] = set()

    @property
    def count(self) -> int:
        """How many rows are visible."""
        return len(self._rows)

    @property
    def rows(self) -> list[TreeRow]:
        """All of them, which takes a while where they are many."""
        return [self.row(index) for index in range(self.count)]

    def row(self, index: int) -> TreeRow:
        """A visible row."""
        row = self._rows[index]
        return self._turns(row) if isinstance(row, int) else row

    def find(self, key: RowKey) -> int | None:
        """The index of the visible row with this key."""
        first = bisect_left(self._rows, key[0], key=_turn)
        of_turn = takewhile(lambda at: _turn(self._rows[at]) == key[0], range(first, self.count))
        return next((at for at in of_turn if self._key(at) == key), None)

    def line(self, index: int, width: int) -> Line:
        """A row as a line: its depth, whether it can be expanded, and its label."""
        row = self.row(index)
        sign = " " if not row.expandable else "▾" if self.is_open(row) else "▸"
        return clipped((Run("  " * min(row.depth, 12)), Run(f"{sign} ", Style.GUTTER), *row.label), width)

    def is_open(self, row: TreeRow) -> bool:
        """Whether what is in a row is visible."""
        return row.key in self._open

    def is_heavy(self, row: TreeRow) -> bool:
        """Whether expanding a row takes a while, and should be done where nobody waits: see `grow`."""
        return row.heavy > HEAVY and row.key not in self._grown

    def grow(self, row: TreeRow) -> list[TreeRow]:
        """What is in a row, made once; may be called from another thread before `expand`."""
        if row.key not in self._grown:
            self._grown[row.key] = list(row.grow()) if row.grow is not None else []
        return self._grown[row.key]

    def expand(self, index: int) -> bool:
        """Show what is in a row; whether that changed anything."""
        row = self.row(index)
        if not row.expandable or self.is_open(row):
            return False
        self._open.add(row.key)
        self._rows[index + 1 : index + 1] = self._visible(self.grow(row))
        return True

    def collapse(self, index: int) -> bool:
        """Hide what is in a row; whether that changed anything."""
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
        """The index of the row that a row is in; None for a turn."""
        depth = _depth(self._rows[index])
        return next((at for at in range(index - 1, -1, -1) if _depth(self._rows[at]) < depth), None)

    def reveal(self, location: Location) -> int | None:
        """Expand what is needed to see the innermost row that holds a place, and say which it is; None without one.

        What would take a while to expand stays as it is: the row that holds it is the answer then.
        """
        index = self.find((location.turn,))
        while index is not None and self.row(index).expandable and not self.is_heavy(self.row(index)):
            inside = _holding(self.grow(self.row(index)), location)
            if inside is None:
                break
            self.expand(index)
            index = next(at for at in range(index + 1, self.count) if self._rows[at] is inside)
        return index

    def _key(self, index: int) -> RowKey:
        row = self._rows[index]
        return (row,) if isinstance(row, int) else row.key

    def _visible(self, rows: Iterable[TreeRow]) -> list[_RowOrTurn]:
        """Rows with what is in those that were open when they were last seen."""
        shown: list[_RowOrTurn] = []
        for row in rows:
            shown.append(row)
            if self.is_open(row):
                shown += self._visible(self.grow(row))
        return shown


def _turn(row: _RowOrTurn) -> str | int:
    """The turn that a row is in: its key begins with it."""
    return row if isinstance(row, int) else row.key[0]


def _depth(row: _RowOrTurn) -> int:
    return 0 if isinstance(row, int) else row.depth


def _near(rows: Sequence[TreeRow], at: int) -> Iterator[TreeRow]:
    """The rows without those bundles that lie elsewhere: their places are found out one by one."""
    bundles = [row for row in rows if row.is_bundle]
    yield from (row for row in rows if not row.is_bundle)
    yield from bundles[max(bisect_right(bundles, at, key=_start) - 1, 0) :][:1]


def _start(row: TreeRow) -> int:
    return row.location.range.start if row.location is not None else 0


def _holding(rows: Sequence[TreeRow], location: Location) -> TreeRow | None:
    """The row that holds the first character of a place, the smallest where several do."""
    found: TreeRow | None = None
    at = location.range.start
    for row in _near(rows, at):
        place = row.location
        if place is None or place.turn != location.turn or place.part != location.part:
            continue
        if not place.range.start <= at < max(place.range.end, place.range.start + 1):
            continue
        if found is None or found.location is None or len(place.range) < len(found.location.range):
            found = row
    return found


_Found = TypeVar("_Found", bound=ToolCall | ToolResult)


class ItemsBySpan(Generic[_Found]):
    """What is in the order of the spans of a part, by the index of the span; quickest where those come in order."""

    def __init__(self, found: Entries[_Found]) -> None:
        self._found, self._behind = found, 0

    def of(self, span: int) -> Sequence[_Found]:
        """What was read from a span, in order."""
        first = self._first_from(self._behind, span)
        near = range(first, min(first + _STEPS, len(self._found)))
        last = next((at for at in near if self._found[at].span > span), None)
        if last is None:
            last = bisect_right(self._found, span, first, key=_span_of)
        self._behind = last
        return (
            self._found[first:last]
            if last - first <= _STEPS
            else LazyColumn(range(first, last), self._found.__getitem__)
        )

    def _first_from(self, hint: int, span: int) -> int:
        """The first entry that is not of a span before this one, near a hint if it is there."""
        if not hint or self._found[hint - 1].span < span:
            near = range(hint, min(hint + _STEPS, len(self._found)))
            at = next((at for at in near if self._found[at].span >= span), None)
            if at is not None or near.stop == len(self._found):
                return near.stop if at is None else at
        return bisect_left(self._found, span, key=_span_of)


def _span_of(found: ToolCall | ToolResult) -> int:
    return found.span


def turn_rows(dissection: Dissection, first: int = 1, last: int | None = None) -> Iterator[TreeRow]:
    """A row for each turn, or for each from the first up to the last of some, by number from 1."""
    count = len(dissection.trace.turns)
    for number in range(max(first, 1), min(count if last is None else last, count) + 1):
        yield turn_row(dissection, number)


def turn_row(dissection: Dissection, number: int) -> TreeRow:
    """The row of a turn, by its number from 1."""
    turn = dissection.trace.turns[number - 1]
    parts = dissection.parts_of(number)
    wrong = dissection.wrong_in_turn(number)
    head = (Run(f"{number} ", Style.GUTTER), Run(turn.role.value, Style.STRONG), Run(" "), *fault_mark(wrong))
    said = tuple(_brief(dissection, parts)) or ((Run("nothing came", Style.DIM),) if not parts else ())
    location = parts[0].location() if parts else None
    is_leaf = not parts or (len(parts) == 1 and _is_only_words(parts[0]))
    grow = None if is_leaf else (lambda: _of_turn(dissection, dissection.parts_of(number), (number,)))
    answered = dissection.steps.answered_in(number)
    return TreeRow((number,), (*head, *said), location, answered[0].number if answered else None, None, grow, wrong)


def _brief(dissection: Dissection, parts: Sequence[DissectedPart]) -> Iterator[Run]:
    """A turn in a few words: its calls with what became of them, else how its text begins."""
    calls = sum(len(part.found.calls) for part in parts)
    first = islice(((part, call) for part in parts for call in part.found.calls), 4)
    for holds, call in first:
        step = dissection.steps.of_call(holds.turn, holds.name, call)
        yield step_glyph(step) if step is not None else Run("·")
        yield Run(f" {visible_line((call.name or '?')[:_LONGEST])} ", Style.TOOL_CALL)
    if calls > 4:
        yield Run(f"… {counted(calls, 'call')}", Style.DIM)
    if not calls and parts:
        part = parts[0]
        spans = islice(part.found.spans, MOST_CHILDREN)
        telling = next((span for span in spans if span.kind is not SpanKind.MARKUP and len(span.inner)), None)
        yield Run(_words(part, telling.inner if telling else Range(0, len(part.text))), Style.DIM)


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
    """The spans of a part that have a row, by index: without gaps, or all where they are too many to look at each."""
    spans = part.found.spans
    if len(spans) > MOST_CHILDREN:
        return range(len(spans))
    return [index for index, span in enumerate(spans) if not _is_gap(part, span)]


def _part(dissection: Dissection, part: DissectedPart, shown: Sequence[int], key: tuple[str | int, ...]) -> TreeRow:
    wrong = part.wrong_in(Range(0, len(part.text)))
    if part.found.calls and not shown:
        return call_row(dissection, part, part.found.calls[0], key, Range(0, len(part.text)))
    label = (Run(f"{visible_line(part.name)} ", Style.KEY), *fault_mark(wrong))
    said = Run(counted(len(shown), "span") if shown else "empty", Style.DIM)
    grow = (lambda: _spans(dissection, part, shown, key)) if shown else None
    return TreeRow(key, (*label, said), part.location(), None, None, grow, wrong)


class _PartItems(NamedTuple):
    """The calls and the results of a part by the spans that they were read from."""

    part: DissectedPart
    calls: ItemsBySpan[ToolCall]
    results: ItemsBySpan[ToolResult]

    @classmethod
    def of(cls, part: DissectedPart) -> "_PartItems":
        """Those of a part."""
        return cls(part, ItemsBySpan(part.found.calls), ItemsBySpan(part.found.results))


def _spans(
    dissection: Dissection, part: DissectedPart, shown: Sequence[int], key: tuple[str | int, ...]
) -> Iterator[TreeRow]:
    read = _PartItems.of(part)
    yield from bundled(
        shown,
        key,
        lambda own, index: _span(dissection, read, index, (*own, index)),
        lambda some: part.location(Range(part.found.spans[some[0]].range.start, part.found.spans[some[-1]].range.end)),
    )


def _span(dissection: Dissection, read: _PartItems, index: int, key: tuple[str | int, ...], name: str = "") -> TreeRow:
    """A top-level span: a single call or result in it is shown as that."""
    part = read.part
    span = part.found.spans[index]
    inside, results = read.calls.of(index), read.results.of(index)
    if span.kind is SpanKind.TOOL_CALL and len(inside) == 1 and not span.children:
        return call_row(dissection, part, inside[0], key, span.range)
    if len(results) == 1 and not inside and not span.children:
        return result_row(dissection, part, results[0], key, span.range)
    tools = _tools_in(part, span)
    told = span.label if span.label not in ("", span.kind.value) else ""
    return _any_span(dissection, part, span, key, (inside, results, tools), name=name if name != "text" else told)


def _any_span(
    dissection: Dissection,
    part: DissectedPart,
    span: Span,
    key: tuple[str | int, ...],
    holds: tuple[Sequence[ToolCall], Sequence[ToolResult], Sequence[ToolDefinition]],
    *,
    name: str = "",
) -> TreeRow:
    calls, results, tools = holds
    wrong = part.wrong_in(span.range)
    kind = "result" if part.role is Role.TOOL and span.kind is SpanKind.TEXT else LABELS[span.kind]
    label: list[Run] = [Run(f"{kind} ", style_of(span.kind)), *fault_mark(wrong)]
    if name and name != kind:
        label.append(Run(f"{visible_line(name[:_LONGEST])}  ", Style.KEY))
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
            lambda own, number: call_row(
                dissection, part, calls[number], (*own, f"call {number}"), calls[number].range
            ),
            lambda some: part.location(Range(calls[some[0]].range.start, calls[some[-1]].range.end)),
        )
        for number, result in enumerate(results):
            yield result_row(dissection, part, result, (*key, f"result {number}"), result.range)
        for number, tool in enumerate(tools):
            named = (Run("tool ", Style.TOOL_DEFINITIONS), Run(visible_line(tool.name[:_LONGEST]), Style.STRONG))
            yield TreeRow((*key, f"tool {number}"), named, part.location(tool.range))

    return TreeRow(key, tuple(label), part.location(span.range), None, None, grow if count else None, wrong)


def _tools_in(part: DissectedPart, span: Span) -> list[ToolDefinition]:
    if span.kind is not SpanKind.TOOL_DEFINITIONS:
        return []
    return [one for one in part.found.definitions if one.range is not None and span.range.covers(one.range)]


def _content(part: DissectedPart, span: Span, calls: Sequence[ToolCall], tools: Sequence[ToolDefinition]) -> Run:
    if calls:
        return Run(counted(len(calls), "call"), Style.DIM)
    if tools:
        return Run(counted(len(tools), "tool"), Style.DIM)
    return Run(_words(part, span.inner if len(span.inner) else span.range), Style.DIM)


def _words(part: DissectedPart, place: Range) -> str:
    """How a text begins, on one line."""
    begun = part.text[place.start : min(place.end, place.start + _GLANCE)]
    return visible_line(" ".join(begun.split())[:_LONGEST])


def _is_only_words(part: DissectedPart) -> bool:
    """Whether nothing is in a part but one text."""
    found = part.found
    is_plain = len(found.spans) <= 1 and not found.calls and not found.results and not found.definitions
    return is_plain and not any(span.children for span in found.spans)


def _is_gap(part: DissectedPart, span: Span) -> bool:
    """Whether a span is only the blank text between two others."""
    return span.kind is SpanKind.TEXT and len(span.range) <= _GLANCE and not span.range.of(part.text).strip()
