"""What a completion is made of, in the order the model gave it, and what writing it in a format comes to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from inspector.model import ToolCall


@dataclass(frozen=True, slots=True)
class Words:
    """What the model says to the user; a format's own line ends around it are no part of it."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What the model thinks, without the tags of any format."""

    text: str


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls that stand together; never none."""

    calls: tuple[ToolCall, ...]


Piece: TypeAlias = Words | Reasoning | Calls


@dataclass(frozen=True, slots=True)
class Completion:
    """The exact text that a model of a format would emit.

    `prompt` is the end of the prompt that this text continues, where a completion of the format begins inside a header
    or inside reasoning; else "". `dropped` says in a sentence each what the format cannot hold, and why.
    """

    text: str
    prompt: str = ""
    dropped: tuple[str, ...] = ()


def tidy(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """The pieces without the white space that a format puts between them, and neighbours of one kind joined.

    Words that stand alone are kept to the last space: nothing but the model put it there.
    """
    joined: list[Piece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        match last, piece:
            case Words(), Words():
                joined[-1] = Words(last.text + piece.text)
            case Reasoning(), Reasoning():
                joined[-1] = Reasoning(f"{last.text}\n{piece.text}")
            case Calls(), Calls():
                joined[-1] = Calls(last.calls + piece.calls)
            case Calls(), Words() if not piece.text.strip():
                pass
            case _:
                joined.append(piece)
    if len(joined) == 1 and isinstance(joined[0], Words):
        return tuple(joined) if joined[0].text else ()
    return tuple(stripped for piece in joined if (stripped := _stripped(piece)) is not None)


def _stripped(piece: Piece) -> Piece | None:
    if isinstance(piece, Calls):
        return piece
    text = piece.text.strip()
    return type(piece)(text) if text else None


def calls_of(pieces: Iterable[Piece]) -> tuple[ToolCall, ...]:
    """Every call, in order."""
    return tuple(call for piece in pieces if isinstance(piece, Calls) for call in piece.calls)


def without_reasoning(pieces: Sequence[Piece], format: str) -> tuple[tuple[Piece, ...], tuple[str, ...]]:
    """The pieces that a family without reasoning can hold, and the sentence about what it cannot."""
    count = sum(isinstance(piece, Reasoning) for piece in pieces)
    if not count:
        return tuple(pieces), ()
    sentence = f"The reasoning: `{format}` has no place for it."
    return tuple(piece for piece in pieces if not isinstance(piece, Reasoning)), (sentence,)
