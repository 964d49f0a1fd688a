"""What stands for each character of a stream, and how many cells that takes: the same for drawing and for pointing."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from inspector.text import Range
from ui.views.cells import cell_width
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.visible import LINE_FEED, TAB, visible_line, visible_runs

OPEN, CLOSE = "⟨", "⟩"
"""What stands around a marker: they are no characters of the stream."""

_BLANKS = re.compile(r"\s+")
_TAB_BLANK = " " * len(TAB)


def glyph(character: str, *, white_space: bool) -> str:
    """What is drawn for one character: what takes no ink shows itself only if `white_space` does."""
    if character == "\n":
        return LINE_FEED if white_space else ""
    if character == "\t":
        return TAB if white_space else _TAB_BLANK
    if character == " ":
        return "·" if white_space else " "
    shown = visible_line(character)
    if white_space and shown == character and character.isspace():
        return "⍽" + " " * (cell_width(character) - 1)
    return shown


def glyph_runs(text: str, style: Style, *, white_space: bool) -> Line:
    """The glyphs of a text as runs; what stands for something else is styled apart."""
    if not white_space:
        return visible_runs(text.replace("\n", "").replace("\t", _TAB_BLANK), style)
    runs: list[Run] = []
    at = 0
    for match in _BLANKS.finditer(text):
        runs += visible_runs(text[at : match.start()], style)
        runs.append(Run("".join(glyph(one, white_space=True) for one in match[0]), Style.DIM))
        at = match.end()
    return (*runs, *visible_runs(text[at:], style))


def is_plain(text: str) -> bool:
    """Whether every character of a text takes one cell and is its own glyph, blanks aside."""
    return text.isascii() and text.isprintable()


def edges(text: str, place: Range, boxes: Sequence[Range], *, white_space: bool) -> Sequence[int]:
    """The cells at which the characters of a row begin, and last where the row ends; from 0.

    A box's opening bracket belongs to its first character, its closing one to its last.
    """
    shown = place.of(text)
    inside = [box for box in boxes if box.start < place.end and place.start < box.end]
    if not inside and is_plain(shown):
        return range(len(shown) + 1)
    widths = [_width(one, white_space=white_space) for one in shown]
    for box in inside:
        if box.start >= place.start:
            widths[box.start - place.start] += 1
        if box.end <= place.end:
            widths[box.end - 1 - place.start] += 1
    return list(accumulate(widths, initial=0))


def row_end(text: str, start: int, limit: int, room: int, boxes: Sequence[Range], *, white_space: bool) -> int:
    """Where a row that begins at `start` ends so that it takes at most `room` cells; at least one character on.

    It ends behind a blank where there is one in its second half. A line feed takes no room, and ends the row.
    """
    piece = text[start : min(limit, start + room + 1)]
    in_box = any(box.start < start + len(piece) and start < box.end for box in boxes)
    if in_box or not is_plain(piece.removesuffix("\n")):
        end = start + _fitting(text, start, limit, room, boxes, white_space=white_space)
    else:
        end = start + len(piece) if len(piece) <= room or piece.endswith("\n") else start + room
    if end >= limit or text[end - 1] == "\n":
        return end
    blank = text.rfind(" ", start + room // 2, end)
    return blank + 1 if blank >= 0 and not _cuts(boxes, blank + 1) else end


def _fitting(text: str, start: int, limit: int, room: int, boxes: Sequence[Range], *, white_space: bool) -> int:
    opened = {box.start for box in boxes}
    closed = {box.end - 1 for box in boxes}
    taken = 0
    for at in range(start, limit):
        character = text[at]
        if character == "\n":
            return at + 1 - start
        taken += _width(character, white_space=white_space) + (at in opened) + (at in closed)
        if taken > room:
            return max(at - start, 1)
    return limit - start


def _width(character: str, *, white_space: bool) -> int:
    if " " <= character <= "~":
        return 1
    return cell_width(glyph(character, white_space=white_space))


def _cuts(boxes: Sequence[Range], at: int) -> bool:
    return any(box.start < at < box.end for box in boxes)


def pieces(place: Range, cuts: Iterable[int]) -> Iterator[Range]:
    """A range in pieces, cut at every offset of `cuts` that lies within."""
    at = place.start
    for cut in sorted({one for one in cuts if place.start < one < place.end}):
        yield Range(at, cut)
        at = cut
    if at < place.end:
        yield Range(at, place.end)
