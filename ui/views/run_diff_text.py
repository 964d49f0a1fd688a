"""What differs between two texts, as rows of a screen: `-` and `+` with carets under the words that changed."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field

from inspector.chain.sequence_diff import DiffPieceKind, diff_texts
from ui.views.styled_text import Line, Run, Style, cell_width, clipped, fitting, visible_line
from ui.views.wording import counted

_CONTEXT = 2
_AROUND = 40  # how much of equal text is shown on either side of a change within a long line
_MOST_CHANGED = 600  # of one changed piece
_MOST_ROWS = 60
_MOST_OF_A_HUNK = 20


def text_diff_lines(
    one: str, other: str, width: int, *, full: bool = False, more: str = "--full shows all"
) -> Iterator[Line]:
    """The rows of a diff. Equal lines are folded but for two around each change, long equal text within a line too.

    About sixty rows unless `full`; what is missing is counted.
    """
    hunks = _folded(list(_hunks(one, other)), full=full)
    shown = 0
    for index, hunk in enumerate(hunks):
        for row in _hunk_rows(hunk, width, full=full):
            yield row
            shown += 1
        if shown >= _MOST_ROWS and not full:
            left = sum(len(rest.gone) + len(rest.new) for rest in hunks[index + 1 :] if isinstance(rest, _Hunk))
            if left:
                yield (Run(f"    … {counted(left, 'more changed line')}; {more}", Style.DIM),)
            return


class _TextPiece(Struct, frozen=True):
    text: str
    is_changed: bool


class _Hunk(Struct):
    """Lines that stand in the place of each other; `is_same` where they are equal."""

    gone: list[list[_TextPiece]] = field(default_factory=list)
    new: list[list[_TextPiece]] = field(default_factory=list)
    is_same: bool = False


class _Fold(Struct, frozen=True):
    lines: int


def _hunks(one: str, other: str) -> Iterator[_Hunk]:
    """The lines of both texts in order: where neither holds a change, one hunk a line."""
    hunk = _Hunk([[]], [[]], is_same=True)
    for piece in diff_texts(one, other):
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


def _folded(hunks: Sequence[_Hunk], *, full: bool) -> list[_Hunk | _Fold]:
    """Without the equal lines that lie further than two from a change."""
    if full:
        return list(hunks)
    near = [False] * len(hunks)
    for index, hunk in enumerate(hunks):
        if not hunk.is_same:
            for at in range(max(index - _CONTEXT, 0), min(index + _CONTEXT + 1, len(hunks))):
                near[at] = True
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
    yield from _side("- ", hunk.gone, Style.REMOVED, width, full=full)
    yield from _side("+ ", hunk.new, Style.ADDED, width, full=full)


def _side(sign: str, lines: Sequence[Sequence[_TextPiece]], style: Style, width: int, *, full: bool) -> Iterator[Line]:
    """The lines of a hunk that one text has; the first twenty of many, unless `full`."""
    if len(lines) == 1 and not lines[0]:
        return
    shown = lines if full or len(lines) <= _MOST_OF_A_HUNK + 5 else lines[:_MOST_OF_A_HUNK]
    for line in shown:
        yield from _rows(sign, line, style, width, full=full)
    if len(shown) < len(lines):
        said = f"    {sign}… {counted(len(lines) - len(shown), 'more line')}; --full shows all"
        yield clipped((Run(said, Style.DIM),), width)


def _rows(sign: str, line: Sequence[_TextPiece], style: Style, width: int, *, full: bool) -> Iterator[Line]:
    """A line in as many rows as it needs; carets where only a part of it changed."""
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
    """A piece in the length that helps: of equal text its ends, of a change as much as a screen holds."""
    text, most = piece.text, _MOST_CHANGED if piece.is_changed else 2 * _AROUND
    if len(text) <= most + 20:
        return visible_line(text)
    head = most * 2 // 3 if piece.is_changed else _AROUND
    tail = most - head
    return f"{visible_line(text[:head])} …{len(text) - most:,} more… {visible_line(text[len(text) - tail :])}"
