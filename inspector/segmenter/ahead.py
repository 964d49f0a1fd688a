"""What must follow a marker for it to count: an expression that also knows when a text ends too soon to tell."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Repeat:
    """From `least` to `most` characters of a class such as `[a-z]`."""

    of: str
    least: int = 0
    most: int = 8


@dataclass(frozen=True, slots=True)
class Unless:
    """Nothing of a class such as `[^=]` may come next; the text's end may. Only as the last of the pieces."""

    of: str


@dataclass(frozen=True, slots=True, init=False)
class OneOf:
    """One of several sequences of pieces; only as the last of the pieces."""

    ways: tuple[tuple["Piece", ...], ...]

    def __init__(self, *ways: tuple["Piece", ...]) -> None:
        object.__setattr__(self, "ways", ways)


Piece: TypeAlias = str | Repeat | tuple[str, ...] | Unless | OneOf
"""Literal text, a run of characters, one of several literal texts, or what may not follow."""


class Ahead:
    """A look ahead behind a marker: `pieces` must follow it, one behind the other.

    `counts` answers with True or False, and with None where the text ends before that is known. `longest` is how many
    characters it may need to see, which bounds how much a machine holds back for it. `whole` matches the pieces, and
    has a group for each that varies; `cut_short` matches any beginning of them that the text ends in.
    """

    def __init__(self, *pieces: Piece) -> None:
        self._pieces = pieces
        self._may_be_undone = any(isinstance(piece, Unless | OneOf) for piece in pieces)
        self.longest = sum(map(_longest, pieces)) + self._may_be_undone

    @cached_property
    def whole(self) -> re.Pattern[str]:
        """Matches the pieces, with a group for each that varies."""
        return re.compile("".join(map(_whole, self._pieces)))

    @cached_property
    def cut_short(self) -> re.Pattern[str]:
        """Matches any beginning of the pieces that the text ends in."""
        return re.compile(_cut_short(self._pieces))

    def counts(self, text: str, at: int, *, final: bool) -> bool | None:
        """Whether the pieces stand in `text` at `at`; `final` says that nothing follows `text`."""
        whole = self.whole.match(text, at)
        if whole is not None and (final or not self._may_be_undone or whole.end() < len(text)):
            return True
        if final or len(text) - at > self.longest:
            return False
        return None if self.cut_short.match(text, at) is not None else False


def _whole(piece: Piece) -> str:
    match piece:
        case str():
            return re.escape(piece)
        case Repeat():
            return f"({piece.of}{{{piece.least},{piece.most}}})"
        case tuple():
            return "(" + "|".join(map(re.escape, piece)) + ")"
        case Unless():
            return f"(?!{piece.of})"
        case OneOf():
            return "(?:" + "|".join("".join(map(_whole, way)) for way in piece.ways) + ")"


def _longest(piece: Piece) -> int:
    match piece:
        case str():
            return len(piece)
        case Repeat():
            return piece.most
        case tuple():
            return max(map(len, piece))
        case Unless():
            return 1
        case OneOf():
            return max(sum(map(_longest, way)) for way in piece.ways)


def _cut_short(pieces: tuple[Piece, ...]) -> str:
    """An expression for every text that is a beginning of the pieces and ends there."""
    if not pieces:
        return r"\Z"
    first, rest = pieces[0], pieces[1:]
    match first:
        case str():
            return _cut_literal(first, _cut_short(rest))
        case Repeat():
            return rf"{first.of}{{0,{first.most}}}(?:\Z|{_cut_short(rest)})"
        case tuple():
            return "(?:" + "|".join(_cut_literal(literal, _cut_short(rest)) for literal in first) + ")"
        case Unless():
            return r"\Z"
        case OneOf():
            return "(?:" + "|".join(_cut_short((*way, *rest)) for way in first.ways) + ")"


def _cut_literal(literal: str, rest: str) -> str:
    if not literal:
        return rest
    return rf"(?:\Z|{re.escape(literal[0])}{_cut_literal(literal[1:], rest)})"
