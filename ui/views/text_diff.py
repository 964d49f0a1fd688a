"""Text differences as screen rows: two texts by line and word, and two parses of one text side by side.

Theory of operation. `diff_texts` of the core gives the pieces of both texts that are the same, removed and added, each
of any length. They become rows in three steps. Take texts of six lines that differ in the last one, `meal: no` and
`meal: yes`:

1. `_hunks` splits the pieces at line feeds. A line that is the same in both is a hunk of its own; lines that replace
   each other are one hunk, whose pieces remember what changed within the line:
   `_Hunk(gone=[["meal: ", "no" changed]], new=[["meal: ", "yes" changed]])`.
2. `_folded_hunks` keeps two equal lines around each change and counts the others: `_Fold(lines=3)`.
3. `_hunk_rows` wraps the lines to the width, with carets below the changed pieces of a line that is partly the same:

       … 3 equal lines
         seats: 2
         class: first
       - meal: no
               ^^
       + meal: yes
               ^^^

Whatever the texts are, the rows are few unless `full`: long equal text within a line and long changes are shortened,
as are hunks of many lines, and after about sixty rows the changed lines are only counted.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct, field

from weaklink.inspector.chain.sequence_diff import DiffPieceKind, common_pairs, diff_texts
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Span, ToolCall
from weaklink.ui.views.status import GLYPHS, UNNAMED
from weaklink.ui.views.styled_text import (
    Line,
    Run,
    Style,
    cell_width,
    clipped,
    counted,
    fitting,
    padded,
    style_of,
    visible_line,
)

_CONTEXT_HUNKS = 2
_AROUND = 40  # code points of equal text shown on either side of a change within a long line
_MAX_CHANGED_CHARS = 600  # code points shown of one changed piece
_MAX_ROWS = 60
_MAX_HUNK_ROWS = 20
_MAX_PIECES = 4_000  # spans, calls and diagnostics of a parse that are shown
_EXCERPT_CHARS = 160
KeyedLine: TypeAlias = tuple[Hashable, Line]
"""A line and its key; lines with equal keys are the same."""


def text_diff_lines(
    before: str, after: str, width: int, *, full: bool = False, more: str = "--full shows all"
) -> Iterator[Line]:
    """The rows of a diff. Equal lines are folded except two around each change, as is long equal text within a line.

    Unless `full`, about sixty rows are shown and the rest is counted.
    """
    hunks = _folded_hunks(list(_hunks(before, after)), full=full)
    shown = 0
    for index, hunk in enumerate(hunks):
        for row in _hunk_rows(hunk, width, full=full):
            yield row
            shown += 1
        if shown >= _MAX_ROWS and not full:
            left = sum(len(rest.gone) + len(rest.new) for rest in hunks[index + 1 :] if isinstance(rest, _Hunk))
            if left:
                yield (Run(f"    … {counted(left, 'more changed line')}; {more}", Style.DIM),)
            return


class _TextPiece(Struct, frozen=True):
    text: str
    is_changed: bool


class _Hunk(Struct):
    """Lines that replace each other; `is_same` if they are equal."""

    gone: list[list[_TextPiece]] = field(default_factory=list)
    new: list[list[_TextPiece]] = field(default_factory=list)
    is_same: bool = False


class _Fold(Struct, frozen=True):
    lines: int


def _hunks(before: str, after: str) -> Iterator[_Hunk]:
    """The lines of both texts in order; each unchanged line is a hunk."""
    hunk = _Hunk([[]], [[]], is_same=True)
    for piece in diff_texts(before, after):
        for index, text in enumerate(piece.text.split("\n")):
            match piece.kind:
                case DiffPieceKind.SAME:
                    if index:
                        yield hunk
                        hunk = _Hunk([[]], [[]], is_same=True)
                    hunk.gone[-1] += _piece(text, is_changed=False)
                    hunk.new[-1] += _piece(text, is_changed=False)
                case DiffPieceKind.REMOVED:
                    hunk.is_same = False
                    hunk.gone += [[]] if index else []
                    hunk.gone[-1] += _piece(text, is_changed=True)
                case DiffPieceKind.ADDED:
                    hunk.is_same = False
                    hunk.new += [[]] if index else []
                    hunk.new[-1] += _piece(text, is_changed=True)
    yield hunk


def _piece(text: str, *, is_changed: bool) -> Iterable[_TextPiece]:
    return [_TextPiece(text, is_changed)] if text else []


def _folded_hunks(hunks: Sequence[_Hunk], *, full: bool) -> list[_Hunk | _Fold]:
    """The hunks without equal lines that are more than two lines away from a change."""
    if full:
        return list(hunks)
    near = [False] * len(hunks)
    for index, hunk in enumerate(hunks):
        if not hunk.is_same:
            for neighbour in range(max(index - _CONTEXT_HUNKS, 0), min(index + _CONTEXT_HUNKS + 1, len(hunks))):
                near[neighbour] = True
    kept: list[_Hunk | _Fold] = []
    for hunk, is_near in zip(hunks, near, strict=True):
        last = kept[-1] if kept else None
        if is_near:
            kept.append(hunk)
        elif isinstance(last, _Fold):
            kept[-1] = _Fold(last.lines + 1)
        else:
            kept.append(_Fold(1))
    return kept


def _hunk_rows(hunk: _Hunk | _Fold, width: int, *, full: bool) -> Iterator[Line]:
    if isinstance(hunk, _Fold):
        yield (Run(f"    … {counted(hunk.lines, 'equal line')}", Style.DIM),)
        return
    if hunk.is_same:
        for line in hunk.gone:
            yield from _rows("  ", line, Style.DIM, width, full=full)
        return
    yield from _diff_side("- ", hunk.gone, Style.REMOVED, width, full=full)
    yield from _diff_side("+ ", hunk.new, Style.ADDED, width, full=full)


def _diff_side(
    sign: str, lines: Sequence[Sequence[_TextPiece]], style: Style, width: int, *, full: bool
) -> Iterator[Line]:
    """The lines of a hunk from one text; only the first twenty of many, unless `full`."""
    if len(lines) == 1 and not lines[0]:
        return
    shown = lines if full or len(lines) <= _MAX_HUNK_ROWS + 5 else lines[:_MAX_HUNK_ROWS]
    for line in shown:
        yield from _rows(sign, line, style, width, full=full)
    if len(shown) < len(lines):
        note = f"    {sign}… {counted(len(lines) - len(shown), 'more line')}; --full shows all"
        yield clipped((Run(note, Style.DIM),), width)


def _rows(sign: str, line: Sequence[_TextPiece], style: Style, width: int, *, full: bool) -> Iterator[Line]:
    """A wrapped line, with carets if only a part of it changed."""
    lead = f"    {sign}"
    room = max(width - len(lead), 20)
    has_same = any(not piece.is_changed and piece.text.strip() for piece in line)
    row: list[tuple[str, bool]] = []
    taken = 0
    for piece in line:
        text = visible_line(piece.text) if full else _shortened(piece)
        while text:
            fits = fitting(text, room - taken)
            if not fits and taken:
                yield from _row(lead, row, style, has_carets=has_same)
                row, taken = [], 0
                continue
            row.append((text[: max(fits, 1)], piece.is_changed))
            taken += cell_width(row[-1][0])
            text = text[max(fits, 1) :]
    yield from _row(lead, row, style, has_carets=has_same)


def _row(lead: str, row: Sequence[tuple[str, bool]], style: Style, *, has_carets: bool) -> Iterator[Line]:
    sign = Run(lead, style)
    if style is Style.DIM:
        yield (sign, *(Run(text, Style.DIM) for text, _ in row))
        return
    yield (sign, *(Run(text, style if is_changed else Style.PLAIN) for text, is_changed in row))
    if has_carets and any(is_changed for _, is_changed in row):
        marks = "".join(("^" if is_changed else " ") * cell_width(text) for text, is_changed in row)
        yield (Run(" " * len(lead) + marks.rstrip(), style),)


def _shortened(piece: _TextPiece) -> str:
    """A shortened piece: of equal text both ends, of a change about a screenful."""
    text, most = piece.text, _MAX_CHANGED_CHARS if piece.is_changed else 2 * _AROUND
    if len(text) <= most + 20:
        return visible_line(text)
    head = most * 2 // 3 if piece.is_changed else _AROUND
    tail = most - head
    return f"{visible_line(text[:head])} …{len(text) - most:,} more… {visible_line(text[len(text) - tail :])}"


class ReadingFacts(Struct, frozen=True):
    """The parts of a parse that are compared."""

    spans: Sequence[Span] = ()
    calls: Sequence[ToolCall] = ()
    diagnostics: Sequence[Diagnostic] = ()


def reading_diff_lines(
    text: str, reading: ReadingFacts, other: ReadingFacts, width: int, *, whole: bool = False
) -> Iterator[Line]:
    """Both parses side by side, with `-` and `+` before lines that only one has; a run of equal lines is folded.

    With `whole`, equal lines are not folded. Only the first few thousand items of a parse are shown.
    """
    yield from side_by_side(_keyed_lines(text, reading), _keyed_lines(text, other), width, whole=whole)
    left_out = (
        max(len(facts.spans) + len(facts.calls) + len(facts.diagnostics) for facts in (reading, other)) - _MAX_PIECES
    )
    if left_out > 0:
        yield (Run(f"  … {left_out:,} more are not shown", Style.DIM),)


def side_by_side(first: Sequence[KeyedLine], second: Sequence[KeyedLine], width: int, *, whole: bool) -> Iterator[Line]:
    """Two lists of lines side by side in `width` cells; lines with equal keys are the same."""
    room = (width - 3) // 2
    at_first = at_second = 0
    same: list[Line] = []
    keys = [[key for key, _ in lines] for lines in (first, second)]
    for left, right in [*common_pairs(*keys), (len(first), len(second))]:
        gone, new = first[at_first:left], second[at_second:right]
        if gone or new:
            yield from _folded(same, room, whole=whole)
            same.clear()
        yield from _unlike([line for _, line in gone], [line for _, line in new], room)
        if left < len(first):
            same.append(first[left][1])
        at_first, at_second = left + 1, right + 1
    yield from _folded(same, room, whole=whole)


def _folded(same: Sequence[Line], room: int, *, whole: bool) -> Iterator[Line]:
    if whole or len(same) <= 3:
        for line in same:
            side = _side("= ", line, Style.DIM, room)
            yield (*side, Run(" │ ", Style.GUTTER), *side)
    elif same:
        yield (Run(f"  … {counted(len(same), 'line')} the same", Style.DIM),)


def _unlike(gone: Sequence[Line], new: Sequence[Line], room: int) -> Iterator[Line]:
    for index in range(max(len(gone), len(new))):
        left = _side("- ", gone[index], Style.REMOVED, room) if index < len(gone) else (Run(" " * room),)
        right = _side("+ ", new[index], Style.ADDED, room) if index < len(new) else ()
        yield (*left, Run(" │ ", Style.GUTTER), *right)


def _side(sign: str, line: Line, style: Style, room: int) -> Line:
    return padded((Run(sign[:1], style), Run(sign[1:]), *line), room)


def _keyed_lines(text: str, facts: ReadingFacts) -> list[KeyedLine]:
    """Each span, call and diagnostic as a line, with a key for comparison."""
    lines: list[KeyedLine] = [(_span_key(span), _span(text, span)) for span in facts.spans[:_MAX_PIECES]]
    lines += ((_call_key(call), _call(call)) for call in facts.calls[: _MAX_PIECES - len(lines)])
    lines += (
        (diagnostic, _diagnostic(diagnostic)) for diagnostic in facts.diagnostics[: max(_MAX_PIECES - len(lines), 0)]
    )
    return lines


def _span_key(span: Span) -> Hashable:
    return span.kind, span.label, span.range, span.inner, span.closed, repr(span.children)


def _span(text: str, span: Span) -> Line:
    words = visible_line(text[span.inner.start : min(span.inner.end, span.inner.start + _EXCERPT_CHARS)])
    is_open = Run(" open", Style.WARNING) if not span.closed else Run("")
    return (
        Run(f"{span.kind.value:<11}", style_of(span.kind)),
        Run(f" {span.range.start}–{span.range.end}", Style.GUTTER),
        is_open,
        Run(f"  {words}"),
    )


def _call_key(call: ToolCall) -> Hashable:
    value = write_json(call.arguments, ascii_only=True)[: _EXCERPT_CHARS * 100]
    return call.name, value, call.raw_arguments, call.valid, call.recovered, call.range, call.id


def _call(call: ToolCall) -> Line:
    style = Style.OK if call.valid else Style.WARNING if call.recovered else Style.ERROR
    mark = {Style.OK: "✔", Style.WARNING: "▲"}.get(style, "✖")
    name = visible_line(call.name[:_EXCERPT_CHARS]) if call.name else UNNAMED
    arguments = visible_line(call.raw_arguments[:_EXCERPT_CHARS])
    return (Run(f"{mark} call", style), Run(f" {name}", Style.TOOL_CALL), Run(f" {arguments}"))


def _diagnostic(diagnostic: Diagnostic) -> Line:
    rule = diagnostic.rule
    range_ = f" {diagnostic.range.start}–{diagnostic.range.end}"
    return (
        Run(f"{GLYPHS[rule.severity]} {rule.code}", style_of(rule.severity)),
        Run(range_, Style.GUTTER),
        Run(f" {visible_line(diagnostic.fault.message[: 4 * _EXCERPT_CHARS])}"),
    )
