"""Chunks put together to the parts they are of, as they came one by one: the way back from `Part.arrivals`."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from inspector.model.generation import BodyState, Generation
from inspector.model.turn import Chunk, Chunks, Part, Role, Turn

_Value = TypeVar("_Value")


def parts_of(chunks: Iterable[Chunk]) -> tuple[Part, ...]:
    """The parts that these chunks make, in the order in which the parts began."""
    by_part: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_part.setdefault(chunk.part, []).append(chunk)
    return tuple(_part(name, of_part) for name, of_part in by_part.items())


def turn_so_far(role: Role, chunks: Iterable[Chunk], generation: Generation | None = None) -> Turn:
    """The turn that these chunks begin; of one that a model was generating it says that it is cut off."""
    if role is Role.ASSISTANT:
        generation = replace(generation or Generation(), body=BodyState.TRUNCATED)
    return Turn(role, parts_of(chunks), generation=generation)


def _part(name: str, chunks: list[Chunk]) -> Part:
    ends, length = [], 0
    for chunk in chunks:
        length += len(chunk.text)
        ends.append(length)
    columns = Chunks(
        tuple(ends),
        tuple(chunk.sequence for chunk in chunks),
        _column(chunk.offset_s for chunk in chunks),
        _column(chunk.token_ids for chunk in chunks),
        _column(chunk.logprobs for chunk in chunks),
    )
    return Part(name, "".join(chunk.text for chunk in chunks), columns)


def _column(values: Iterable[_Value | None]) -> tuple[_Value | None, ...] | None:
    """A column of chunks, None where no chunk has a value."""
    column = tuple(values)
    return None if all(value is None for value in column) else column
