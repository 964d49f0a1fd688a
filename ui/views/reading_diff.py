"""Two readings of one text side by side: their spans, calls and diagnostics, each on a line."""

from collections.abc import Hashable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from inspector.chain.sequence_diff import common_pairs
from inspector.diagnostics import Diagnostic
from inspector.json_text import write_json
from inspector.model import Span, ToolCall
from ui.views.status import UNNAMED
from ui.views.styled_text import GLYPHS, Line, Run, Style, padded, style_of, visible_line
from ui.views.wording import counted

_MOST = 4_000  # things of a reading that are told
_EXCERPT = 160

KeyedLine: TypeAlias = tuple[Hashable, Line]
"""A line, and what is equal where two lines are the same."""


class ReadingFacts(Struct, frozen=True):
    """What is compared of a reading."""

    spans: Sequence[Span] = ()
    calls: Sequence[ToolCall] = ()
    diagnostics: Sequence[Diagnostic] = ()


def reading_diff_lines(
    text: str, one: ReadingFacts, other: ReadingFacts, width: int, *, whole: bool = False
) -> Iterator[Line]:
    """Both readings beside each other, `-` and `+` before what only one has; equal lines in a row are one line.

    `whole` shows the equal lines too. Of readings with more than some thousand things the first are told.
    """
    yield from side_by_side(_keyed_lines(text, one), _keyed_lines(text, other), width, whole=whole)
    left_out = max(len(facts.spans) + len(facts.calls) + len(facts.diagnostics) for facts in (one, other)) - _MOST
    if left_out > 0:
        yield (Run(f"  … {left_out:,} more are not shown", Style.DIM),)


def side_by_side(mine: Sequence[KeyedLine], theirs: Sequence[KeyedLine], width: int, *, whole: bool) -> Iterator[Line]:
    """Two lists of lines beside each other, in `width` cells; lines with equal keys are the same."""
    room = (width - 3) // 2
    at_mine = at_theirs = 0
    same: list[Line] = []
    keys = [[key for key, _ in lines] for lines in (mine, theirs)]
    for left, right in [*common_pairs(*keys), (len(mine), len(theirs))]:
        gone, new = mine[at_mine:left], theirs[at_theirs:right]
        if gone or new:
            yield from _folded(same, room, whole=whole)
            same.clear()
        yield from _unlike([line for _, line in gone], [line for _, line in new], room)
        if left < len(mine):
            same.append(mine[left][1])
        at_mine, at_theirs = left + 1, right + 1
    yield from _folded(same, room, whole=whole)


def _folded(same: Sequence[Line], room: int, *, whole: bool) -> Iterator[Line]:
    if whole or len(same) <= 3:
        for line in same:
            side = _side("= ", line, Style.DIM, room)
            yield (*side, Run(" │ ", Style.GUTTER), *side)
    elif same:
        yield (Run(f"  … {counted(len(same), 'line')} the same", Style.DIM),)


def _unlike(gone: Sequence[Line], new: Sequence[Line], room: int) -> Iterator[Line]:
    for at in range(max(len(gone), len(new))):
        left = _side("- ", gone[at], Style.REMOVED, room) if at < len(gone) else (Run(" " * room),)
        right = _side("+ ", new[at], Style.ADDED, room) if at < len(new) else ()
        yield (*left, Run(" │ ", Style.GUTTER), *right)


def _side(sign: str, line: Line, style: Style, room: int) -> Line:
    return padded((Run(sign[:1], style), Run(sign[1:]), *line), room)


def _keyed_lines(text: str, facts: ReadingFacts) -> list[KeyedLine]:
    """Each thing as a line, with a key that is equal where the things are; a call is followed by its arguments."""
    told: list[KeyedLine] = [(_span_key(span), _span(text, span)) for span in facts.spans[:_MOST]]
    told += ((_call_key(call), _call(call)) for call in facts.calls[: _MOST - len(told)])
    told += ((one, _diagnostic(one)) for one in facts.diagnostics[: max(_MOST - len(told), 0)])
    return told


def _span_key(span: Span) -> Hashable:
    return span.kind, span.label, span.range, span.inner, span.closed, repr(span.children)


def _span(text: str, span: Span) -> Line:
    words = visible_line(text[span.inner.start : min(span.inner.end, span.inner.start + _EXCERPT)])
    is_open = Run(" open", Style.WARNING) if not span.closed else Run("")
    return (
        Run(f"{span.kind.value:<11}", style_of(span.kind)),
        Run(f" {span.range.start}–{span.range.end}", Style.GUTTER),
        is_open,
        Run(f"  {words}"),
    )


def _call_key(call: ToolCall) -> Hashable:
    value = write_json(call.arguments, ascii_only=True)[: _EXCERPT * 100]
    return call.name, value, call.raw_arguments, call.valid, call.recovered, call.range, call.id


def _call(call: ToolCall) -> Line:
    style = Style.OK if call.valid else Style.WARNING if call.recovered else Style.ERROR
    mark = {Style.OK: "✔", Style.WARNING: "▲"}.get(style, "✖")
    name = visible_line(call.name[:_EXCERPT]) if call.name else UNNAMED
    said = visible_line(call.raw_arguments[:_EXCERPT])
    return (Run(f"{mark} call", style), Run(f" {name}", Style.TOOL_CALL), Run(f" {said}"))


def _diagnostic(one: Diagnostic) -> Line:
    rule = one.rule
    place = f" {one.range.start}–{one.range.end}"
    return (
        Run(f"{GLYPHS[rule.severity.value]} {rule.code}", style_of(rule.severity)),
        Run(place, Style.GUTTER),
        Run(f" {visible_line(one.fault.message[: 4 * _EXCERPT])}"),
    )
