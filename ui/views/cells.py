"""How many cells of a terminal a visible text takes."""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache


def cell_width(text: str) -> int:
    """The cells that `text`, free of control characters, takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def fitting(text: str, room: int) -> int:
    """How many code points of `text` fit into `room` cells; combining characters stay with their base."""
    if text.isascii():
        return min(len(text), max(room, 0))
    taken = 0
    for index, character in enumerate(text):
        taken += _width(character)
        if taken > room:
            return index
    return len(text)


def wrapped_words(text: str, room: int) -> Iterator[str]:
    """`text` in pieces of at most `room` cells, cut at blanks where it can be; a longer word is cut within."""
    room = max(room, 2)
    at = 0
    while cell_width(piece := text[at : at + 4 * room]) > room or at + len(piece) < len(text):
        hard = max(fitting(piece, room), 1)
        soft = piece.rfind(" ", 1, hard + 1)
        cut = soft if soft > 0 else hard
        yield piece[:cut].rstrip(" ")
        at += cut
        while text.startswith(" ", at):
            at += 1
    yield text[at:]


@lru_cache(maxsize=65_536)
def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
