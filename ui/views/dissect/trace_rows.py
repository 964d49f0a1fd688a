"""A trace as rows of the tree: its turns, and in each its parts, spans, calls, results and tools."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from inspector.model import Role, Span, SpanKind, ToolCall, ToolDefinition, ToolResult
from inspector.text import Range
from ui.views.dissect.bundles import MOST_CHILDREN, bundled
from ui.views.dissect.call_rows import call_row
from ui.views.dissect.dissected_part import DissectedPart
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.of_spans import OfSpans
from ui.views.dissect.result_rows import result_row
from ui.views.dissect.stream_rows import LABELS
from ui.views.dissect.tree_row import TreeRow, fault_mark
from ui.views.palette import Style, style_of
from ui.views.run import Run
from ui.views.status import step_glyph
from ui.views.visible import visible_line
from ui.views.wording import counted

_GLANCE, _LONGEST = 512, 120


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
            yield _span(dissection, _Read.of(part), shown[0], (*key, part.name), part.name)
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


class _Read(NamedTuple):
    """The calls and the results of a part by the spans that they were read from."""

    part: DissectedPart
    calls: OfSpans[ToolCall]
    results: OfSpans[ToolResult]

    @classmethod
    def of(cls, part: DissectedPart) -> "_Read":
        """Those of a part."""
        return cls(part, OfSpans(part.found.calls), OfSpans(part.found.results))


def _spans(
    dissection: Dissection, part: DissectedPart, shown: Sequence[int], key: tuple[str | int, ...]
) -> Iterator[TreeRow]:
    read = _Read.of(part)
    yield from bundled(
        shown,
        key,
        lambda own, index: _span(dissection, read, index, (*own, index)),
        lambda some: part.location(Range(part.found.spans[some[0]].range.start, part.found.spans[some[-1]].range.end)),
    )


def _span(dissection: Dissection, read: _Read, index: int, key: tuple[str | int, ...], name: str = "") -> TreeRow:
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
    """Whether nothing lies in a part but one text."""
    found = part.found
    is_plain = len(found.spans) <= 1 and not found.calls and not found.results and not found.definitions
    return is_plain and not any(span.children for span in found.spans)


def _is_gap(part: DissectedPart, span: Span) -> bool:
    """Whether a span is only the blank text between two others."""
    return span.kind is SpanKind.TEXT and len(span.range) <= _GLANCE and not span.range.of(part.text).strip()
