"""What differs between two texts, in words: what is gone, what is new, and what is the same."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from inspector.chain.alignment_lcs import anchored_pairs

# From coarse to fine: lines, clauses, words. What differs at one grain is looked at with the next.
_GRAINS = (
    re.compile(r"[^\n]*\n|[^\n]+"),
    re.compile(r"[^,;{}\n]{0,400}[,;{}\n]|[^,;{}\n]{1,400}"),
    re.compile(r"\w+|\s+|[^\w\s]"),
)
_MOST_WORK = 2_000_000_000  # bits of the table: about a second
_GLUE = re.compile(r"[\W_]{1,2}")


class PieceKind(StrEnum):
    """Whether a piece stands in both texts, only in the first, or only in the other."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class AlignedText:
    """A piece of one text or of both."""

    kind: PieceKind
    text: str


def text_pieces(one: str, other: str) -> list[AlignedText]:
    """The pieces of two texts: those that are not `added` make up `one`, those that are not `removed` the `other`.

    Whole words, and neighbouring changes are one. Texts of a million characters take seconds at most: what is too much
    to compare counts as replaced.
    """
    return _joined(list(_compared(one, other, 0)))


def _compared(one: str, other: str, grain: int) -> Iterator[AlignedText]:
    if one == other:
        yield from _piece(PieceKind.SAME, one)
        return
    if grain == len(_GRAINS) or not one or not other:
        yield from _piece(PieceKind.REMOVED, one)
        yield from _piece(PieceKind.ADDED, other)
        return
    mine, theirs = _GRAINS[grain].findall(one), _GRAINS[grain].findall(other)
    at_mine = at_theirs = 0
    for left, right in [*anchored_pairs(mine, theirs, _MOST_WORK), (len(mine), len(theirs))]:
        yield from _compared("".join(mine[at_mine:left]), "".join(theirs[at_theirs:right]), grain + 1)
        if left < len(mine):
            yield AlignedText(PieceKind.SAME, mine[left])
        at_mine, at_theirs = left + 1, right + 1


def _piece(kind: PieceKind, text: str) -> Iterator[AlignedText]:
    if text:
        yield AlignedText(kind, text)


def _joined(pieces: Sequence[AlignedText]) -> list[AlignedText]:
    """Equal pieces in a row as one; a mere blank or sign between two changes belongs to them."""
    joined: list[AlignedText] = []
    gone: list[str] = []
    new: list[str] = []
    same: list[str] = []
    for index, piece in enumerate(pieces):
        if piece.kind is not PieceKind.SAME:
            joined += _piece(PieceKind.SAME, "".join(same))
            same.clear()
            (gone if piece.kind is PieceKind.REMOVED else new).append(piece.text)
        elif gone and new and _is_glue(pieces, index):
            gone.append(piece.text)
            new.append(piece.text)
        else:
            joined += (*_piece(PieceKind.REMOVED, "".join(gone)), *_piece(PieceKind.ADDED, "".join(new)))
            gone.clear()
            new.clear()
            same.append(piece.text)
    joined += (*_piece(PieceKind.REMOVED, "".join(gone)), *_piece(PieceKind.ADDED, "".join(new)))
    return [*joined, *_piece(PieceKind.SAME, "".join(same))]


def _is_glue(pieces: Sequence[AlignedText], index: int) -> bool:
    """Whether an equal piece is one blank or sign with a change right behind it."""
    behind = pieces[index + 1].kind if index + 1 < len(pieces) else PieceKind.SAME
    text = pieces[index].text
    return behind is not PieceKind.SAME and "\n" not in text and _GLUE.fullmatch(text) is not None
