"""Cuts a trace into blocks that can be laid out one by one, without reading its text through."""

from collections.abc import Iterator
from typing import NamedTuple

from inspector.model import Trace

BLOCK = 4096
"""How many characters of one part a block holds at most."""


class Block(NamedTuple):
    """A piece of one part's text, or a turn's heading where `part` is None.

    `part` is the part's index in the dissection, `end` what follows the block's last character, `is_first` whether
    the part begins with it.
    """

    turn: int
    part: int | None
    start: int = 0
    end: int = 0
    is_first: bool = False
    is_last: bool = False


def blocks_of(trace: Trace) -> Iterator[Block]:
    """The blocks of a trace in order: for each turn its heading, then its parts, cut behind line feeds where it can.

    There is at least one, that of turn 0 for a trace without turns.
    """
    index = 0
    if not trace.turns:
        yield Block(0, None)
    for number, turn in enumerate(trace.turns, 1):
        yield Block(number, None)
        for part in turn.parts:
            yield from _of_text(part.text, number, index)
            index += 1


def _of_text(text: str, turn: int, part: int) -> Iterator[Block]:
    at, length = 0, len(text)
    while at + BLOCK < length:
        feed = text.rfind("\n", at + BLOCK // 4, at + BLOCK)
        end = feed + 1 if feed >= 0 else at + BLOCK
        yield Block(turn, part, at, end, is_first=not at)
        at = end
    yield Block(turn, part, at, length, is_first=not at, is_last=True)
