"""The work on one block: its answers in pieces, tried again after an error, set aside after several."""

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct

from inspector.importers.blocks import Block

ATTEMPTS = 3
"""How often a block is tried before it is set aside."""

_Answer = TypeVar("_Answer")
_PIECE = 100

BlockWork: TypeAlias = Callable[[Block], Iterable[_Answer]]
"""What is done with a block: a function of a module, a partial of one, or a value that pickles. Deterministic."""


class Piece(Struct, Generic[_Answer], frozen=True):
    """Some answers of a block, in order. `number` counts the pieces of the block from 0; `is_last` ends it.

    `failed` is the reason where the block was set aside; what it gave before stays.
    """

    block: Block
    number: int
    answers: tuple[_Answer, ...] = ()
    is_last: bool = False
    failed: str = ""


def pieces_of(work: BlockWork[_Answer], block: Block) -> Iterator[Piece[_Answer]]:
    """The pieces of one block, as its work gives them; whatever it raises comes through."""
    answers = iter(work(block))
    number = 0
    while batch := tuple(islice(answers, _PIECE)):
        yield Piece(block, number, batch)
        number += 1
    yield Piece(block, number, is_last=True)


def attempted_pieces(work: BlockWork[_Answer], block: Block, skip: int = 0) -> Iterator[Piece[_Answer]]:
    """The same; after an error the block is read again, and set aside when it has failed `ATTEMPTS` times.

    `skip` is how many pieces are handed over already.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            for piece in pieces_of(work, block):
                if piece.number >= skip:
                    yield piece
                    skip += 1
            return  # the loop goes on only after an error
        except Exception as error:  # noqa: BLE001  # whatever a block holds, the others go on
            if attempt == ATTEMPTS:
                yield Piece(
                    block, skip, is_last=True, failed=f"{' '.join(str(error).split())} ({type(error).__name__})"
                )
            elif isinstance(error, OSError):
                time.sleep(0.2 * 4**attempt)  # a store that is busy
    return
